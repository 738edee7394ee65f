"""Programs started as children: never on our terminal, always with a deadline, their words kept.

A child gets no standard input, a session of its own (so that it has no terminal to ask on) and files for its output: a pipe
would stay open as long as some grandchild lives, a file does not care.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO

import msgspec

_MOST_OUTPUT = 1024 * 1024


class Finished(msgspec.Struct, frozen=True):
    """What a child left: its exit code, and its output (at most 1 MiB of each unless more was asked for)."""

    code: int
    stdout: bytes
    stderr: str


async def run_child(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    timeout: float,
    cwd: str | None = None,
    stdin: bytes = b"",
    most: int = _MOST_OUTPUT,
) -> Finished:
    """Run a program to its end.

    :param stdin: what it is given to read. :param most: so many bytes of its output are kept, the last ones.
    :raises FileNotFoundError, PermissionError: it can't be started.
    :raises TimeoutError: it wasn't done after ``timeout`` seconds; it and its own children are killed.
    """
    with capture() as stdout, capture() as stderr, capture() as given:
        given.write(stdin)
        given.seek(0)
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=given if stdin else asyncio.subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(timeout):
                code = await process.wait()
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        return Finished(code, written(stdout, most), written(stderr).decode("utf-8", "replace"))


def capture() -> IO[bytes]:
    """A nameless file for a child's output."""
    return tempfile.TemporaryFile(prefix="quarterdeck-")


def written(file: IO[bytes], most: int = _MOST_OUTPUT) -> bytes:
    """What a child wrote in it so far, at most the last ``most`` bytes."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - most))
    return file.read(most)
