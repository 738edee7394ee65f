"""Builds and fetches what the real servers need and no package manager brings; quick when all is there.

`python -m tests.real.prepare`: 4 to 10 minutes on two cores the first time. Standard library only.
"""

import sys
import time

from tests.real.binaries import APISERVER, ETCD, KUSTOMIZE_CONTROLLER, BuildFailed, Program, build
from tests.real.modules import NotFetched, fetch


def why_no_kubernetes() -> str:
    """Why no Kubernetes API server can run here, or an empty string."""
    return _missing(ETCD, APISERVER)


def why_no_flux() -> str:
    """Why Flux's kustomize-controller can't run here, or an empty string."""
    return _missing(ETCD, APISERVER, KUSTOMIZE_CONTROLLER)


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
    """Build and fetch everything that is missing, with a line and a time for each; the exit code is 1 when something failed."""
    failures = 0
    for program in (ETCD, APISERVER, KUSTOMIZE_CONTROLLER):
        started = time.monotonic()
        try:
            path = build(program)
        except BuildFailed as failure:
            failures += 1
            print(failure, file=sys.stderr, flush=True)
        else:
            print(f"{program.command} {program.version}: {path} ({time.monotonic() - started:.0f} s)", flush=True)
    try:
        print(f"{len(fetch())} custom resource definitions", flush=True)
    except NotFetched as failure:
        failures += 1
        print(failure, file=sys.stderr, flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
