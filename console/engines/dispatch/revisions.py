"""Commits, and the strings by which controllers publish them."""

from __future__ import annotations

import re

_HEX = re.compile(r"[0-9a-fA-F]+")
_DIGESTS = ("sha1", "sha256")


def commit_of(revision: str) -> str | None:
    """The commit inside a published revision, lower-case; None when there is none.

    ``main@sha1:<hex>`` is today's form, ``main/<hex>`` the one before, and some publish the bare hash.
    """
    head, colon, tail = revision.rpartition(":")
    if colon and head.rpartition("@")[2] in _DIGESTS:
        return tail.lower() if _HEX.fullmatch(tail) else None
    tail = revision.rpartition("/")[2]
    return tail.lower() if _HEX.fullmatch(tail) else None


def holds(revision: str, commit: str) -> bool:
    """Whether a published revision is this commit."""
    return commit != "" and commit_of(revision) == commit.lower()


def describe_commit(commit: str) -> str:
    """A commit for people: its first seven digits, or a phrase when the remote does not carry the branch."""
    return f"commit {commit[:7]}" if commit else "a branch that is not on the remote"
