"""Times, sizes, commits and image names as short text. Durations are seconds, sizes bytes, instants aware UTC datetimes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache

_UNITS = ((31_536_000, "y"), (86_400, "d"), (3_600, "h"), (60, "m"))
_HEX = re.compile(r"[0-9a-f]{7,64}", re.IGNORECASE)
_DIGEST = re.compile(r"@sha256:[0-9a-f]+\Z")
_BARE_ID = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
_WORD = re.compile(r"[A-Za-z]+(?:['’][a-z]+)?[,.]?")
_DOTS = "…"


def duration(seconds: float) -> str:
    """One or two units of a length of time: ``6.4s``, ``42s``, ``4m12s``, ``3h05m``, ``2d``."""
    if seconds < 0:
        seconds = 0
    if seconds < 10:
        return f"{seconds:.1f}s".replace(".0s", "s")
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3_600:
        return f"{whole // 60}m{whole % 60:02d}s" if whole % 60 else f"{whole // 60}m"
    if whole < 86_400:
        return f"{whole // 3_600}h{whole % 3_600 // 60:02d}m" if whole % 3_600 // 60 else f"{whole // 3_600}h"
    return f"{whole // 86_400}d"


def age(since: datetime | None, now: datetime) -> str:
    """How long ago, in one unit: ``now`` (below 5 s, and for clocks ahead of ours), ``38s``, ``4m``, ``3h``, ``2d``, ``1y``."""
    if since is None:
        return ""
    seconds = int((now - since).total_seconds())
    if seconds < 5:
        return "now"
    for size, letter in _UNITS:
        if seconds >= size:
            return f"{seconds // size}{letter}"
    return f"{seconds}s"


def ago(since: datetime | None, now: datetime) -> str:
    """:func:`age` as words for a sentence: ``just now``, ``4m ago``, or ``at an unknown time``."""
    if since is None:
        return "at an unknown time"
    short = age(since, now)
    return "just now" if short == "now" else f"{short} ago"


def clock_time(at: datetime | None, now: datetime) -> str:
    """An instant for people: the time of the same day, else day and time. In UTC, as everything that is shared."""
    if at is None:
        return ""
    return at.strftime("%H:%M:%S") if at.date() == now.date() else at.strftime("%m-%d %H:%M")


def timestamp(at: datetime | None) -> str:
    """RFC 3339 to the second in UTC, or ""."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ") if at else ""


def interval(text: str) -> str:
    """A Go duration without its zero parts: ``10m0s`` becomes ``10m``."""
    return re.sub(r"(?<=[hm])0[ms](?!s)", "", re.sub(r"(?<=[hm])0s\Z", "", text)) or text


def size(number: float) -> str:
    """Bytes in powers of 1024 with three digits at most: ``512B``, ``1.5K``, ``24M``, ``1.2G``."""
    if number < 1_000:
        return f"{int(number)}B"
    for letter in "KMGTP":
        number /= 1024
        if number < 9.95:
            return f"{number:.1f}{letter}"
        if number < 999.5 or letter == "P":
            return f"{number:.0f}{letter}"
    return ""


def short_sha(commit: str) -> str:
    """The first seven digits of a commit; text that is no commit stays as it is."""
    return commit[:7] if _HEX.fullmatch(commit) else commit


def revision(text: str) -> str:
    """A revision as controllers publish it, shortened: ``main@sha1:4be19d0…`` becomes ``main@4be19d0``."""
    branch, at, commit = text.rpartition("@")
    algorithm, colon, digits = commit.partition(":")
    if not colon:
        algorithm, digits = "", commit
    return f"{branch}{at}{short_sha(digits)}" if algorithm in ("", "sha1", "sha256") else text


def image(reference: str) -> str:
    """An image for people: no digest, no default registry; a bare image id is cut to twelve digits."""
    bare = _BARE_ID.fullmatch(reference)
    if bare:
        return bare[1][:12]
    name = _DIGEST.sub("", reference)
    return name.removeprefix("docker.io/").removeprefix("library/")


def image_leaf(reference: str) -> str:
    """Only the last part of an image name with its tag: ``ghcr.io/acme/web:1.44@sha256:…`` becomes ``web:1.44``."""
    return image(reference).rpartition("/")[2]


def image_tag(reference: str) -> str:
    """The tag of an image, or "" where it has none."""
    leaf = image_leaf(reference)
    return leaf.partition(":")[2]


def repository(url: str) -> str:
    """A repository URL for a column: no scheme, user or ``.git``; ``git@host:path`` reads ``host/path``."""
    text = re.sub(r"\A[a-z][a-z0-9+.-]*://", "", url, flags=re.IGNORECASE)
    head, slash, path = text.partition("/")
    if "@" in head:
        head = head.rpartition("@")[2]
        if not url.partition("://")[1]:
            head = head.replace(":", "/", 1)
    return f"{head}{slash}{path}".removesuffix("/").removesuffix(".git")


def counted(number: int, one: str, many: str = "") -> str:
    """``1 pod``, ``2 pods``."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def lowered(text: str) -> str:
    """Text as the end of a sentence that goes on: no full stop, and no capital at an article. Names keep theirs."""
    article = text.partition(" ")[0] in ("A", "An", "The", "Its", "Somebody", "Something")
    return (text[0].lower() + text[1:] if article else text).rstrip(".")


def awaited(text: str) -> str:
    """What is waited for, as the end of "waits for". A controller that says itself that it is waiting doesn't say it twice."""
    found = lowered(text)
    return found[len("waiting for ") :] if found.lower().startswith("waiting for ") else found


def listed(words: Iterable[str], most: int = 3) -> str:
    """Words joined for a sentence: ``a``, ``a and b``, ``a, b and 4 more``."""
    items = list(words)
    if len(items) > most:
        return f"{', '.join(items[: most - 1])} and {len(items) - most + 1} more"
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def sentence(text: str) -> str:
    """Text with a capital first letter and a full stop, unless it is empty or already ends in one.

    A first word that isn't a plain word (``shop_web:``, ``web-1``) is a name and keeps its case.
    """
    text = text.strip()
    if not text:
        return ""
    first = text.partition(" ")[0]
    if _WORD.fullmatch(first):
        text = text[0].upper() + text[1:]
    return text + ("" if text[-1] in ".!?…" else ".")


@lru_cache(maxsize=4096)
def display_width(text: str) -> int:
    """Terminal cells that a sanitized line takes: wide characters and emoji count two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) or char in "\ufe0e\ufe0f" else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def clipped(text: str, width: int) -> str:
    """``text`` cut to at most ``width`` terminal cells, an ellipsis saying that something is missing."""
    if display_width(text) <= width:
        return text
    if width <= 0:
        return ""
    taken, used = [], 0
    for char in text:
        step = display_width(char)
        if used + step > width - 1:
            break
        taken.append(char)
        used += step
    return "".join(taken).rstrip() + _DOTS


def padded(text: str, width: int, *, right: bool = False) -> str:
    """``text`` clipped and filled with spaces to exactly ``width`` terminal cells."""
    text = clipped(text, width)
    fill = " " * (width - display_width(text))
    return fill + text if right else text + fill
