"""Which real servers can run here, and what happens to a test when one cannot.

By default its tests are skipped with a sentence saying why. `QUARTERDECK_REQUIRE=swarm,docker,ssh,kubernetes,registry,flux` (or
`all`) turns the skip into a failure for the servers it names: continuous integration must not pass by testing nothing.
`all` means `argocd`, `source-controller` and `flux-cli` only where they were built: that takes long, and what they need can't
be fetched everywhere.
"""

import os
import shutil
from collections.abc import Callable
from functools import cache

import pytest

from tests.real.binaries import ARGOCD, FLUX, SOURCE_CONTROLLER
from tests.real.engine import why_no_engine
from tests.real.prepare import why_no_argocd, why_no_flux, why_no_flux_cli, why_no_kubernetes, why_no_source_controller

VARIABLE = "QUARTERDECK_REQUIRE"


def _why_no_registry() -> str:
    missing = [tool for tool in ("docker-registry", "htpasswd") if not shutil.which(tool)]
    return f"not installed: {', '.join(missing)}" if missing else ""


def _why_no_ssh() -> str:
    if os.getuid() != 0:
        return "the ssh server needs root to log in as this user"
    missing = [tool for tool in ("/usr/sbin/sshd", "ssh", "ssh-keygen") if not shutil.which(tool)]
    return f"not installed: {', '.join(missing)}" if missing else ""


def _why_no_git() -> str:
    return "" if shutil.which("git") else "not installed: git"


_PROBES: dict[str, Callable[[], str]] = {
    "swarm": why_no_engine,
    "docker": why_no_engine,
    "registry": _why_no_registry,
    "ssh": _why_no_ssh,
    "kubernetes": why_no_kubernetes,
    "flux": why_no_flux,
    "git": _why_no_git,
    "argocd": why_no_argocd,
    "source-controller": why_no_source_controller,
    "flux-cli": why_no_flux_cli,
}

_WHERE_BUILT = {"argocd": ARGOCD, "source-controller": SOURCE_CONTROLLER, "flux-cli": FLUX}

SERVERS = tuple(_PROBES)
"""The names `QUARTERDECK_REQUIRE` knows."""


def required() -> frozenset[str]:
    """The servers that must run, from the environment; raises `pytest.UsageError` for a name that is none."""
    names = {name.strip() for name in os.environ.get(VARIABLE, "").split(",") if name.strip()}
    if "all" in names:
        return frozenset(name for name in SERVERS if name not in _WHERE_BUILT or _WHERE_BUILT[name].find())
    if unknown := names - set(SERVERS):
        raise pytest.UsageError(f"{VARIABLE}: unknown: {', '.join(sorted(unknown))}; known: {', '.join(SERVERS)}, all")
    return frozenset(names)


@cache
def why_not(server: str) -> str:
    """Why a server can't run on this machine; an empty string when it can."""
    return _PROBES[server]()


def need(*servers: str) -> None:
    """Skip the test unless all these servers can run here; fail it instead when the environment requires one of them."""
    for server in servers:
        reason = why_not(server)
        if not reason:
            continue
        if server in required():
            pytest.fail(f"{VARIABLE} wants {server}, which can't run here: {reason}", pytrace=False)
        pytest.skip(f"no {server} here: {reason}")
