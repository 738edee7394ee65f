"""Git repositories over HTTP on loopback: what a fleet's manifests are fetched from."""

import sys
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.real.place import Place
from tests.real.ports import free_port, listens
from tests.real.processes import HarnessError, Process, run

_IDENTITY = {
    "GIT_AUTHOR_NAME": "operator",
    "GIT_AUTHOR_EMAIL": "operator@example.test",
    "GIT_COMMITTER_NAME": "operator",
    "GIT_COMMITTER_EMAIL": "operator@example.test",
    # The configuration of whoever runs the tests must not change what they see.
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}


class GitServer:
    """Serves the repositories made by `commit`; with a `login` (`user:password`) it wants that for everything."""

    def __init__(self, place: Place, login: str = "") -> None:
        self.port = 0
        self._place = place
        self._name = place.unique("git")
        self._root = place.folder(f"{self._name}-repositories")
        self._work = place.folder(f"{self._name}-work")
        self._login = login
        self._process: Process | None = None

    def __enter__(self) -> Self:
        for attempt in range(3):
            port = free_port()
            arguments = [str(self._root), str(port), *([self._login] if self._login else [])]
            here = str(Path(__file__).resolve().parents[2])
            self._process = self._place.spawn(
                self._name,
                sys.executable,
                "-m",
                "tests.real.git_http",
                *arguments,
                environment={**_IDENTITY, "PYTHONPATH": here},
            )
            try:
                self._process.wait_ready(partial(listens, port))
            except HarnessError:
                self._process.kill()
                if attempt == 2:
                    raise
            else:
                self.port = port
                break
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process:
            self._process.kill()

    def url(self, repository: str) -> str:
        """The address of a repository."""
        return f"http://127.0.0.1:{self.port}/{repository}.git"

    def commit(self, repository: str, files: dict[str, str], branch: str = "main") -> str:
        """Commit files (paths and texts) on top of a branch of a repository, both made when missing; returns the commit."""
        bare = self._root / f"{repository}.git"
        work = self._work / repository
        if not bare.exists():
            self._git("init", "-q", "--bare", "-b", branch, str(bare))
            self._git("-C", str(bare), "config", "http.receivepack", "true")
            self._git("clone", "-q", str(bare), str(work))
        self._git("-C", str(work), "fetch", "-q", "origin")
        known = self._git("-C", str(work), "branch", "-r", "--list", f"origin/{branch}").strip()
        self._git("-C", str(work), "checkout", "-q", "-B", branch, *([f"origin/{branch}"] if known else []))
        for path, text in files.items():
            file = work / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self._git("-C", str(work), "add", "-A")
        self._git("-C", str(work), "commit", "-q", "--allow-empty", "-m", "Change what the fleet runs")
        self._git("-C", str(work), "push", "-q", "origin", branch)
        return self._git("-C", str(work), "rev-parse", "HEAD").strip()

    def tag(self, repository: str, name: str) -> None:
        """Tag the newest commit that `commit` made there."""
        work = str(self._work / repository)
        self._git("-C", work, "tag", name)
        self._git("-C", work, "push", "-q", "origin", name)

    @staticmethod
    def _git(*argv: str) -> str:
        return run("git", *argv, environment=_IDENTITY)
