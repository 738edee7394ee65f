"""The command line: arguments, exit codes, headless output. One module a command; :mod:`console.cli.registry` lists them."""


def main() -> int:
    """The console script; returns the exit code."""
    import sys

    from console.cli.entry import run

    return run(sys.argv[1:])
