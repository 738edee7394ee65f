"""Building a kustomization by the operator's own ``kustomize`` or ``kubectl``: from files to the YAML that would be applied.

What may be read was decided before (nothing from elsewhere); here the program is only kept from reaching anything all the same.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from console.clients.answers import plain
from console.clients.children import run_child
from console.errors import Invalid, NotServed, Refused, TimedOut

DEADLINE = 30.0
_WRITTEN_AT_ONCE = 100
_MOST_OUTPUT = 8 * 1024 * 1024
# Not a way out, even for a program that would want one: no proxy answers there, and git gets no transport.
_NOWHERE = "http://127.0.0.1:9"


class KustomizeProgram:
    """The first of ``kustomize`` and ``kubectl`` on PATH.

    :param env: the environment that it is looked for and run in.
    """

    def __init__(self, env: Mapping[str, str], *, deadline: float = DEADLINE) -> None:
        self._env = {
            **env,
            **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), _NOWHERE),
            "NO_PROXY": "",
            "no_proxy": "",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_TERMINAL_PROMPT": "0",
            "KUBECONFIG": "/dev/null",
        }
        self._deadline = deadline

    @property
    def name(self) -> str:
        """What builds: "kustomize", "kubectl", or "" where there is neither."""
        return next((name for name in ("kustomize", "kubectl") if self._found(name)), "")

    async def build(self, files: Mapping[str, bytes], folder: str) -> bytes:
        """The YAML of ``folder`` in these files.

        :raises NotServed: no program. :raises Invalid: it can't be built; the message has the program's words.
        """
        name = self.name
        if not name:
            raise NotServed("Neither kustomize nor kubectl is installed.", "Install one of them to see what would change.")
        with tempfile.TemporaryDirectory(prefix="quarterdeck-build-", ignore_cleanup_errors=True) as place:
            root = Path(place).resolve()
            for count, (path, content) in enumerate(files.items()):
                _write(root, path, content)
                if count % _WRITTEN_AT_ONCE == 0:
                    # A repository of thousands of files must not stop the screen.
                    await asyncio.sleep(0)
            command = ["build"] if name == "kustomize" else ["kustomize"]
            argv = [self._found(name), *command, "--load-restrictor=LoadRestrictionsNone", f"./{folder}" if folder else "."]
            try:
                done = await run_child(argv, env=self._env, timeout=self._deadline, cwd=place, most=_MOST_OUTPUT + 1)
            except TimeoutError as error:
                raise TimedOut(f"{name} did not build it within {self._deadline:g} s.") from error
            except OSError as error:
                raise NotServed(f"{name} can't be started: {error.strerror}.") from error
        if done.code != 0:
            raise Invalid(f"{name} can't build it: {plain(done.stderr.replace(place, '')) or f'exit code {done.code}'}")
        if len(done.stdout) > _MOST_OUTPUT:
            raise Invalid(f"The build has more than {_MOST_OUTPUT >> 20} MiB.")
        return done.stdout

    def _found(self, name: str) -> str:
        return shutil.which(name, path=self._env.get("PATH", "")) or ""


def _write(root: Path, path: str, content: bytes) -> None:
    file = root / path
    if root not in file.resolve().parents:
        raise Refused(f"{plain(path)} leads out of its tree.")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
