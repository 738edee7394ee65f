"""Builds and fetches what the real servers need and no package manager brings; quick when all is there.

`python -m tests.real.prepare`: 4 to 8 minutes on two cores the first time, mostly kube-apiserver. Standard library only.
"""

import sys
import time

from tests.real.binaries import APISERVER, ETCD, BuildFailed, build
from tests.real.modules import NotFetched, fetch


def why_no_kubernetes() -> str:
    """Why no Kubernetes API server can run here, or an empty string."""
    missing = [program.command for program in (ETCD, APISERVER) if program.find() is None]
    if missing:
        return f"not built: {', '.join(missing)} (python -m tests.real.prepare builds them)"
    try:
        fetch()
    except NotFetched as failure:
        return str(failure)
    return ""


def main() -> int:
    """Build and fetch everything that is missing, with a line and a time for each; the exit code is 1 when something failed."""
    try:
        for program in (ETCD, APISERVER):
            started = time.monotonic()
            path = build(program)
            print(f"{program.command} {program.version}: {path} ({time.monotonic() - started:.0f} s)", flush=True)
        started = time.monotonic()
        print(f"{len(fetch())} custom resource definitions ({time.monotonic() - started:.0f} s)", flush=True)
    except (BuildFailed, NotFetched) as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
