"""Builds and fetches what the real servers need and no package manager brings; quick when all is there.

`python -m tests.real.prepare`: 10 to 30 minutes on two cores the first time. Standard library only.
"""

import shutil
import sys
import time

from tests.real.binaries import (
    APISERVER,
    ARGOCD,
    ETCD,
    FLUX,
    KUSTOMIZE_CONTROLLER,
    SOURCE_CONTROLLER,
    BuildFailed,
    NotFetched,
    Program,
    build,
)
from tests.real.modules import fetch

WELCOME = (FLUX, ARGOCD, SOURCE_CONTROLLER)
"""Big programs that a run does without where they can't be built."""

PATIENCE = 1500.0
"""Seconds that building all of `WELCOME` may take, so that a slow machine still has time for its tests."""


def why_no_kubernetes() -> str:
    """Why no Kubernetes API server can run here, or an empty string."""
    return _missing(ETCD, APISERVER)


def why_no_flux() -> str:
    """Why Flux's kustomize-controller can't run here, or an empty string."""
    return _missing(ETCD, APISERVER, KUSTOMIZE_CONTROLLER)


def why_no_argocd() -> str:
    """Why Argo CD can't run here, or an empty string."""
    if absent := [tool for tool in ("redis-server", "git") if not shutil.which(tool)]:
        return f"not installed: {', '.join(absent)}"
    return _missing(ETCD, APISERVER, ARGOCD)


def why_no_source_controller() -> str:
    """Why Flux's source-controller can't run here, or an empty string."""
    return why_no_flux() or _missing(SOURCE_CONTROLLER)


def why_no_flux_cli() -> str:
    """Why Flux's command line can't run here beside its controller, or an empty string."""
    return why_no_flux() or _missing(FLUX)


def _missing(*programs: Program) -> str:
    missing = [program.command for program in programs if program.find() is None]
    if missing:
        return f"not built: {', '.join(missing)} (python -m tests.real.prepare builds them)"
    try:
        fetch()
    except NotFetched as failure:
        return str(failure)
    return ""


def main() -> int:
    """Build and fetch everything that is missing, with a line and a time for each; the exit code is 1 when something failed.

    What is only welcome may fail: the tests that want it are skipped then.
    """
    failures = sum(not _built(program) for program in (ETCD, APISERVER, KUSTOMIZE_CONTROLLER))
    try:
        print(f"{len(fetch())} custom resource definitions", flush=True)
    except NotFetched as failure:
        failures += 1
        print(failure, file=sys.stderr, flush=True)
    deadline = time.monotonic() + PATIENCE
    for program in WELCOME:
        if not _built(program, max(deadline - time.monotonic(), 1)):
            print(f"without {program.command}: the tests that want it will be skipped", file=sys.stderr, flush=True)
    return 1 if failures else 0


def _built(program: Program, patience: float | None = None) -> bool:
    started = time.monotonic()
    try:
        path = build(program, patience)
    except BuildFailed as failure:
        print(failure, file=sys.stderr, flush=True)
        return False
    print(f"{program.command} {program.version}: {path} ({time.monotonic() - started:.0f} s)", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
