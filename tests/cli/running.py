"""Runs command lines in this process and in others, with streams that can be looked at."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from console.cli.command import Outside
from console.cli.entry import carry_out, run
from console.cli.parser import build_parser, parse
from console.cli.registry import COMMANDS

ROOT = Path(__file__).parents[2]


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def isolated(folder: Path, **more: str) -> dict[str, str]:
    """An environment in which nothing of this machine's is found."""
    return {
        "HOME": str(folder),
        "QUARTERDECK_CONFIG_DIR": str(folder / "config"),
        "QUARTERDECK_STATE_DIR": str(folder / "state"),
        "KUBECONFIG": str(folder / "no-kubeconfig"),
        "DOCKER_CONFIG": str(folder / "no-docker"),
        "DOCKER_HOST": f"unix://{folder}/no.sock",
        "PATH": os.environ.get("PATH", ""),
        **more,
    }


def command(*arguments: str, env: Mapping[str, str], terminal: bool = False) -> Ran:
    """Run a command line in this process."""
    out, err = (Terminal() if terminal else io.StringIO()), io.StringIO()
    code = run(list(arguments), Outside(env=env, out=out, err=err))
    return Ran(code, out.getvalue(), err.getvalue())


def process(*arguments: str, env: Mapping[str, str]) -> Ran:
    """Run a command line in another process."""
    ended = subprocess.run(
        [sys.executable, "-m", "console", *arguments],
        cwd=ROOT,
        env={**env, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=60,
    )
    return Ran(ended.returncode, ended.stdout, ended.stderr)


async def awaited(*arguments: str, env: Mapping[str, str], terminal: bool = False) -> Ran:
    """Run a command line on this loop, so that a test can own the servers that it talks to."""
    out, err = (Terminal() if terminal else io.StringIO()), io.StringIO()
    options = parse(build_parser(COMMANDS), list(arguments))
    code = await carry_out(options, Outside(env=env, out=out, err=err))
    return Ran(code, out.getvalue(), err.getvalue())
