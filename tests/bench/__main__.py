"""``python -m tests.bench [NAME...]``: print a table of figures. ``--list`` names the benchmarks."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from tests.bench.catalogue import BENCHES
from tests.bench.figures import line, load


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named benchmarks (all by default), one after the other; returns 1 if one of them could not be run."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Print figures: speed, memory, bytes.")
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*(bench.name for bench in BENCHES), []])
    parser.add_argument("--list", action="store_true", help="name the benchmarks and end")
    options = parser.parse_args(arguments)
    if options.list:
        for bench in BENCHES:
            print(f"{bench.name:<12}{bench.about}")
        return 0
    failed = 0
    for bench in BENCHES:
        if options.names and bench.name not in options.names:
            continue
        began = time.monotonic()
        print(f"-- {bench.name} ({load()})", flush=True)
        try:
            figures = bench.run()
        except (OSError, RuntimeError, TimeoutError, LookupError) as error:
            print(f"not measured: {error}")
            failed = 1
            continue
        for figure in figures:
            print(line(figure))
        print(f"   took {time.monotonic() - began:.0f} s, {load()}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
