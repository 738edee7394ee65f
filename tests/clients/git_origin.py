"""A repository on this disk for tests: commits, branches, and trees that git itself would never write."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

IDENTITY = {
    "GIT_AUTHOR_NAME": "Ana Prieto",
    "GIT_AUTHOR_EMAIL": "ana@example.test",
    "GIT_COMMITTER_NAME": "Ana Prieto",
    "GIT_COMMITTER_EMAIL": "ana@example.test",
    "GIT_AUTHOR_DATE": "2026-03-01T12:00:00+02:00",
    "GIT_COMMITTER_DATE": "2026-03-01T12:00:00+02:00",
    # The configuration of whoever runs the tests must not change what they see.
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Origin:
    """Served as ``file://``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "origin"
        self.git("init", "-q", "-b", "main", str(self.folder), at=folder)

    @property
    def url(self) -> str:
        return f"file://{self.folder}"

    def commit(self, files: dict[str, str | bytes], subject: str = "Change what the fleet runs") -> str:
        for path, content in files.items():
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", subject)
        return self.git("rev-parse", "HEAD").strip()

    def link(self, path: str, target: str) -> str:
        (self.folder / path).symlink_to(target)
        return self.commit({})

    def forged(self, mode: str, path: str, content: bytes = b"kind: Secret\n") -> str:
        """A commit whose tree has one entry of any name."""
        blob = self.git("hash-object", "-w", "--stdin", given=content).strip()
        entry = f"{mode} {path}\0".encode() + bytes.fromhex(blob)
        tree = self.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", given=entry).strip()
        commit = self.git("commit-tree", tree, "-m", "Forged").strip()
        self.git("update-ref", "refs/heads/forged", commit)
        return commit

    def git(self, *argv: str, at: Path | None = None, given: bytes = b"") -> str:
        env = {**os.environ, **IDENTITY}
        done = subprocess.run(["git", *argv], cwd=at or self.folder, env=env, input=given, capture_output=True, check=True)
        return done.stdout.decode()
