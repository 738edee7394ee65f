"""What a git repository tells: the head of a branch, what commits say, and their files. Read by the operator's own git program.

Git never asks (no terminal, ssh in batch mode): credentials come from the operator's own set-up or not at all. Nothing is ever
checked out, so no filter, no hook and no attribute of a repository runs; what is fetched lies in a private folder for a moment.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from console.clients.answers import plain
from console.clients.children import Finished, run_child
from console.clients.git_address import TRANSPORTS, address
from console.errors import Invalid, NotFound, ProtocolError, Refused, TimedOut, Unreachable
from console.kit.sanitize import sanitize
from console.model.commits import CommitInfo

DEADLINE = 20.0
MOST_BYTES = 64 * 1024 * 1024
"""Of one commit: fetched and unpacked. A bigger one is no folder of manifests."""
MOST_FILES = 20_000
_BIG_FILE = "1m"
_LONGEST = 200
_LONGEST_COMMAND = 4096
_PROMISES = ("promisor", "partialclonefilter")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# What a shell or another git left behind must not point our git at another repository, nor fill its standard error.
_FOREIGN = re.compile(r"GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE.*|COMMON_DIR|NAMESPACE|TRACE.*|CURL_VERBOSE)")
_SAFE = (
    "protocol.ext.allow=never",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "credential.interactive=false",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "transfer.bundleURI=false",
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=15",
)
_NOT_THERE = ("not our ref", "couldn't find remote ref", "unadvertised object", "not found in upstream")


class GitProgram:
    """Repositories as the ``git`` on PATH reads them. All methods raise errors of :mod:`console.errors` only.

    :param env: the environment that git is run in; what would make it ask is taken out.
    :param transports: schemes of the URLs that are read.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        *,
        transports: tuple[str, ...] = TRANSPORTS,
        deadline: float = DEADLINE,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._env = {
            **{key: value for key, value in env.items() if not _FOREIGN.fullmatch(key)},
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "SSH_ASKPASS": "",
            "SSH_ASKPASS_REQUIRE": "never",
            "GCM_INTERACTIVE": "never",
            "GIT_ALLOW_PROTOCOL": ":".join(transports),
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "LC_ALL": "C",
        }
        self._transports = transports
        self._deadline = deadline
        self._most = most_bytes
        self._ssh_command: str | None = None

    async def head(self, url: str, branch: str) -> str:
        """The commit that a branch is at; "" when the remote does not carry it."""
        where = address(url, self._transports)
        ref = f"refs/heads/{branch}"
        with _folder() as folder:
            done = await self._git(folder, where, "ls-remote", "--quiet", "--", where, ref)
        _succeeded(done, where)
        for line in done.stdout.decode("utf-8", "replace").splitlines():
            commit, _, name = line.partition("\t")
            if name == ref and _COMMIT.fullmatch(commit):
                return commit
        return ""

    async def describe(self, url: str, commits: Collection[str]) -> tuple[CommitInfo, ...]:
        """Subject, author and date of these commits. One that the remote does not give is ``unread``, with git's reason."""
        where = address(url, self._transports)
        wanted = [commit for commit in commits if _COMMIT.fullmatch(commit)]
        unread: dict[str, str] = {}
        with _folder() as folder:
            await self._make(folder, where, wanted)
            try:
                await self._fetch(folder, where, "tree:0", wanted)
            except NotFound:
                # One commit that is gone must not hide the others.
                for commit in wanted:
                    try:
                        await self._fetch(folder, where, "tree:0", [commit])
                    except NotFound:
                        unread[commit] = "the repository does not have it any more, or gives no single commits"
            _forget_remote(folder)
            found = [commit for commit in wanted if commit not in unread]
            layout = "--format=%H%x00%an%x00%aI%x00%s%x00"
            options = ("--no-walk=unsorted", "-s", "--no-use-mailmap", "--no-show-signature", "--no-notes", "--encoding=UTF-8")
            done = await self._git(folder, where, "log", *options, layout, *found, "--") if found else None
        if done is not None:
            _succeeded(done, where)
        told = _told(done.stdout) if done is not None else {}
        return tuple(
            told.get(commit) or CommitInfo(hash=commit, unread=unread.get(commit, "the repository does not tell of it"))
            for commit in commits
        )

    async def tree(self, url: str, commit: str) -> dict[str, bytes]:
        """All regular files of a commit by path, but those of more than a MiB. Links are left out: they could lead anywhere.

        :raises Invalid: the commit is too big to be looked at. :raises NotFound: the remote does not have it.
        """
        where = address(url, self._transports)
        if not _COMMIT.fullmatch(commit):
            raise Refused(f"{plain(commit)!r} is no commit.", "Give the full hash, 40 or 64 hex digits.")
        with _folder() as folder:
            await self._make(folder, where, [commit])
            await self._fetch(folder, where, f"blob:limit={_BIG_FILE}", [commit])
            _forget_remote(folder)
            listed = await self._git(folder, where, "ls-tree", "-r", "-z", "--full-tree", commit, most=self._most)
            _succeeded(listed, where)
            blobs = _regular_files(listed.stdout, where)
            asked = "".join(f"{blob}\n" for blob in blobs.values()).encode()
            if not asked:
                return {}
            got = await self._git(folder, where, "cat-file", "--batch", stdin=asked, most=self._most + len(asked) * 4)
            _succeeded(got, where)
        return _contents(got.stdout, blobs, self._most)

    async def _make(self, folder: Path, where: str, commits: list[str]) -> None:
        form = "sha256" if any(len(commit) == 64 for commit in commits) else "sha1"
        options = ("--quiet", "--bare", "--template=", f"--object-format={form}")
        _succeeded(await self._git(folder, where, "init", *options, "."), where)

    async def _fetch(self, folder: Path, where: str, leaving_out: str, commits: list[str]) -> None:
        """Fetch exactly these commits. :raises Invalid: more came than is taken. :raises NotFound: the remote lacks one."""
        if not commits:
            return
        options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1", f"--filter={leaving_out}")
        fetching = asyncio.create_task(self._git(folder, where, "fetch", *options, "--", where, *commits))
        try:
            while not (await asyncio.wait({fetching}, timeout=0.2))[0]:
                if _size(folder) > self._most:
                    raise Invalid(
                        f"A commit of {plain(where)} is bigger than {self._most >> 20} MiB: it is not fetched.",
                        "A repository of manifests alone can be looked at.",
                    )
            _succeeded(fetching.result(), where)
        finally:
            fetching.cancel()
            await asyncio.gather(fetching, return_exceptions=True)

    async def _git(self, folder: Path, where: str, *argv: str, stdin: bytes = b"", most: int = 1 << 20) -> Finished:
        env = {**self._env, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
        if not where.startswith(("http://", "https://", "file://")):
            env["GIT_SSH_COMMAND"] = await self._ssh(folder)
        options = [part for setting in _SAFE for part in ("-c", setting)]
        return await self._run(["git", *options, *argv], env, folder, stdin, most)

    async def _ssh(self, folder: Path) -> str:
        """The operator's own ssh command, in batch mode."""
        if self._ssh_command is None:
            command = self._env.get("GIT_SSH_COMMAND") or ""
            if not command:
                found = await self._run(["git", "config", "--get", "core.sshCommand"], self._env, folder)
                command = found.stdout[:_LONGEST_COMMAND].decode("utf-8", "replace").partition("\n")[0].strip() or "ssh"
            self._ssh_command = f"{command} -oBatchMode=yes -oConnectTimeout=10"
        return self._ssh_command

    async def _run(
        self, argv: list[str], env: Mapping[str, str], folder: Path, stdin: bytes = b"", most: int = 1 << 20
    ) -> Finished:
        try:
            return await run_child(argv, env=env, timeout=self._deadline, cwd=str(folder), stdin=stdin, most=most)
        except TimeoutError as error:
            raise TimedOut(
                f"git did not answer within {self._deadline:g} s.", "Is the repository reachable from here?"
            ) from error
        except OSError as error:
            raise Unreachable(f"git can't be started: {error.strerror}.", "Install git to see what commits say.") from error


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="quarterdeck-git-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def _succeeded(done: Finished, where: str) -> None:
    if done.code == 0:
        return
    words = plain(done.stderr) or f"exit code {done.code}"
    message = f"git can't read {plain(where)}: {words}"
    lower = words.lower()
    if any(sign in lower for sign in _NOT_THERE):
        raise NotFound(message, status=404)
    raise Unreachable(message, "Try: git ls-remote, with the same URL and account.")


def _forget_remote(folder: Path) -> None:
    """What was left out of a fetch must be missing from now on, not be fetched when somebody asks for it."""
    file = folder / "config"
    kept = [
        line for line in file.read_text().splitlines() if line.split("=")[0].strip() not in ("promisor", "partialclonefilter")
    ]
    file.write_text("\n".join(kept) + "\n")


def _size(folder: Path) -> int:
    total = 0
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder / "objects" / "pack"):
            total += entry.stat(follow_symlinks=False).st_size
    return total


def _told(output: bytes) -> dict[str, CommitInfo]:
    fields = output.decode("utf-8", "replace").split("\0")
    told = {}
    for commit, author, when, subject in zip(fields[::4], fields[1::4], fields[2::4], fields[3::4], strict=False):
        commit = commit.strip()
        told[commit] = CommitInfo(hash=commit, subject=_line(subject), author=_line(author), when=_instant(when), unread="")
    return told


def _line(text: str) -> str:
    clean = sanitize(text.strip())
    return clean if len(clean) <= _LONGEST else f"{clean[: _LONGEST - 1]}…"


def _instant(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo is not None else None


def _regular_files(listing: bytes, where: str) -> dict[str, str]:
    """Blobs by path. A path that leads out of the tree is refused: git itself never writes one."""
    blobs: dict[str, str] = {}
    for entry in listing.split(b"\0"):
        head, tab, raw = entry.partition(b"\t")
        if not tab:
            continue
        mode, kind, blob = head.decode("ascii", "replace").split(" ")
        path = raw.decode("utf-8", "surrogateescape")
        if kind != "blob" or mode not in ("100644", "100755", "100664"):
            continue
        if any(part in ("", ".", "..") or part.lower() == ".git" for part in path.split("/")):
            raise ProtocolError(f"{plain(where)} has a path that leads out of its tree: {plain(path)}")
        blobs[path] = blob
    if len(blobs) > MOST_FILES:
        raise Invalid(f"A commit of {plain(where)} has {len(blobs):,} files: more than {MOST_FILES:,} are not looked at.")
    return blobs


def _contents(output: bytes, blobs: Mapping[str, str], most: int) -> dict[str, bytes]:
    """Read ``cat-file --batch``: ``<id> blob <size>``, the bytes, a line feed; or ``<id> missing``."""
    found: dict[str, bytes] = {}
    at = 0
    for path, blob in blobs.items():
        end = output.find(b"\n", at)
        words = output[at:end].decode("ascii", "replace").split(" ")
        if end < 0 or words[0] != blob:
            raise Invalid(f"A commit has more than {most >> 20} MiB of files: it is not looked at.")
        at = end + 1
        if len(words) == 3:
            size = int(words[2])
            found[path] = output[at : at + size]
            at += size + 1
    return found
