"""What a repository tells of its commits, asked in time: where from is somebody else's business (:class:`CommitSource`).

Nothing here is a ground for a write: an answer that doesn't come is "not known", with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Protocol

import msgspec

from console.engines.dispatch.types import Binding
from console.errors import NotServed, QuarterdeckError, TimedOut
from console.model.commits import CommitInfo

PATIENCE = 3.0
"""Seconds that a person is kept waiting for what a repository says of itself."""

TREE_PATIENCE = 45.0
HEAD_SECONDS = 10.0
"""How long an answer about a branch's head is good: a plan made twice in a row must not depend on the second answer."""


class CommitSource(Protocol):
    """Repositories, by URL. All methods raise errors of :mod:`console.errors` only; texts are sanitized."""

    async def head(self, url: str, branch: str) -> str:
        """The commit that a branch is at; "" when the remote does not carry the branch."""
        ...

    async def describe(self, url: str, commits: Collection[str]) -> tuple[CommitInfo, ...]:
        """Subject, author and date of these commits, as far as they can be read; ``unread`` says why not."""
        ...

    async def tree(self, url: str, commit: str) -> Mapping[str, bytes]:
        """All regular files of a commit by path (``/`` between folders, none at the start)."""
        ...


class NoRepositories:
    """Satisfies :class:`CommitSource` where no repository may be asked."""

    async def head(self, url: str, branch: str) -> str:
        """:raises NotServed: always."""
        raise NotServed("no repository is asked from here")

    async def describe(self, url: str, commits: Collection[str]) -> tuple[CommitInfo, ...]:
        """:raises NotServed: always."""
        raise NotServed("no repository is asked from here")

    async def tree(self, url: str, commit: str) -> Mapping[str, bytes]:
        """:raises NotServed: always."""
        raise NotServed("No repository is asked from here.")


class Head(msgspec.Struct, frozen=True):
    """Where a branch is. ``unknown`` says why it could not be told; else an empty ``commit`` means that there is no branch."""

    commit: str = ""
    unknown: str = ""

    def excludes(self, commit: str) -> bool:
        """Whether the branch is certainly not at this commit."""
        return not self.unknown and self.commit != commit


class CommitBook:
    """Asks a source, waits no longer than a person would, and remembers: commits for good, heads for a moment."""

    def __init__(self, source: CommitSource | None = None) -> None:
        self._source = source or NoRepositories()
        self._known: dict[tuple[str, str], CommitInfo] = {}
        self._heads: dict[Binding, tuple[float, Head]] = {}

    async def head(self, binding: Binding) -> Head:
        """Where the branch is, by an answer of the last seconds or a new one."""
        now = asyncio.get_running_loop().time()
        asked = self._heads.get(binding)
        if asked is not None and now - asked[0] < HEAD_SECONDS:
            return asked[1]
        try:
            async with asyncio.timeout(PATIENCE):
                head = Head(await self._source.head(binding.url, binding.branch))
        except TimeoutError:
            head = Head(unknown=f"the repository did not answer within {PATIENCE:g} s")
        except QuarterdeckError as error:
            head = Head(unknown=error.message)
        self._heads[binding] = (asyncio.get_running_loop().time(), head)
        return head

    async def describe(self, url: str, commits: Collection[str]) -> dict[str, CommitInfo]:
        """What is known of these commits, by hash; every one of them is in the answer."""
        wanted = [commit for commit in dict.fromkeys(commits) if (url, commit) not in self._known]
        why = "the repository does not tell of it"
        if wanted:
            try:
                async with asyncio.timeout(PATIENCE):
                    found = await self._source.describe(url, wanted)
                self._known |= {(url, info.hash): info for info in found if not info.unread}
                unread = {info.hash: info for info in found if info.unread}
            except TimeoutError:
                unread, why = {}, f"the repository did not answer within {PATIENCE:g} s"
            except QuarterdeckError as error:
                unread, why = {}, error.message
        else:
            unread = {}
        return {
            commit: self._known.get((url, commit)) or unread.get(commit) or CommitInfo(hash=commit, unread=why)
            for commit in commits
        }

    async def tree(self, url: str, commit: str) -> Mapping[str, bytes]:
        """All files of a commit. :raises QuarterdeckError: they can't be had, or not in time."""
        try:
            async with asyncio.timeout(TREE_PATIENCE):
                return await self._source.tree(url, commit)
        except TimeoutError as error:
            raise TimedOut(
                f"The files of {commit[:7]} did not come within {TREE_PATIENCE:g} s.", "Is the repository reachable from here?"
            ) from error
