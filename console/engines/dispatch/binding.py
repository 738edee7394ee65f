"""Does an applier apply what a target writes? One comparison of URLs and branches, used everywhere."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from console.engines.dispatch.types import Binding, Source
from console.kit.sanitize import sanitize

_SCP = re.compile(r"(?P<user>[^/@:\s]+@)?(?P<host>[^/:\s]+):(?P<path>(?!//).+)")
_DEFAULT_PORTS = (22, 80, 443)


def reduced(url: str) -> tuple[str, int | None, str]:
    """``(host, port, path)`` of a repository URL: what must be equal for two of them to be one repository.

    The scheme does not count (a console may push by ssh what Flux pulls by https), default ports and user names neither;
    the path counts with its case, without slashes around it and without one trailing ``.git``.
    """
    url = url.strip()
    scp = None if "://" in url else _SCP.fullmatch(url)
    if scp:
        url = f"ssh://{scp['user'] or ''}{scp['host']}/{scp['path'].lstrip('/')}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        # No URL at all: it is the same as what is spelt the same.
        return url, None, ""
    path = unquote(parts.path).strip("/").removesuffix(".git").rstrip("/")
    return (parts.hostname or "").lower(), None if port in _DEFAULT_PORTS else port, path


def same_repository(one: str, other: str) -> bool:
    """Whether two URLs name one repository."""
    return reduced(one) == reduced(other)


def branch_matches(source: Source, branch: str) -> bool:
    """Whether a source follows the branch. Argo CD may also spell it out as a reference; ``HEAD`` says nothing."""
    if source.revision == branch:
        return branch != ""
    return source.git_repository is None and source.revision == f"refs/heads/{branch}"


def binding_mismatch(source: Source | None, want: Binding) -> str:
    """Empty when the source is what is wanted; else a sentence that names both sides."""
    if source is None:
        return "the source has not been read yet"
    if not same_repository(source.url, want.url):
        sentence = f"the applier applies {shown(source.url)}, but {shown(want.url)} is written"
        one, other = reduced(source.url), reduced(want.url)
        if (one[0], one[1], one[2].lower()) == (other[0], other[1], other[2].lower()):
            sentence += " (the paths differ only in upper and lower case: spell them alike)"
        return sentence
    if not branch_matches(source, want.branch):
        return f"the applier applies the revision {source.revision or 'HEAD'!r}, but the branch {want.branch!r} is written"
    return ""


def shown(url: str) -> str:
    """A URL without credentials and harmless, for messages."""
    scheme, separator, rest = sanitize(url.strip()).partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    if not separator or not at:
        return sanitize(url.strip())
    # Over http the user name may be the token itself; over ssh it is only a name.
    who = "" if scheme.lower().startswith("http") else f"{user.partition(':')[0]}@"
    return f"{scheme}://{who}{host}{slash}{path}"
