"""Addresses of git repositories: which ones are ever given to a git program, and in which form.

Objects of a cluster name them, so whoever may write such an object chooses what is run here. Source: gitremote-helpers(7),
where ``ext::`` runs any command; git(1), ``GIT_ALLOW_PROTOCOL``.
"""

from __future__ import annotations

import re

from console.clients.answers import plain
from console.errors import Refused

TRANSPORTS = ("https", "http", "ssh")
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:(?P<user>[^/?#@]*)@)?(?P<rest>[^@\s]*)", re.IGNORECASE)
_SCP = re.compile(r"(?:(?P<user>[A-Za-z0-9._-]+)@)?(?P<host>[A-Za-z0-9.\[\]-]+):(?P<path>[^:\s][^\s]*)")
_CONTROL = re.compile(r"[\x00-\x20\x7f]")


def address(url: str, transports: tuple[str, ...] = TRANSPORTS) -> str:
    """The URL as git is given it: without a password, which only git's own set-up may provide.

    :raises Refused: it is no address of a repository, or not by one of ``transports``.
    """
    url = url.strip()
    if not url or url.startswith("-") or _CONTROL.search(url):
        raise Refused(f"{plain(url) or 'nothing'} is no address of a repository.")
    if found := _URL.fullmatch(url):
        scheme, user, rest = found["scheme"].lower(), found["user"], found["rest"]
        if scheme not in transports:
            raise Refused(f"Repositories are not read by {plain(scheme)}://.", f"Only by {', '.join(transports)}.")
        if rest.startswith("-"):
            raise Refused(f"{plain(url)} is no address of a repository.")
        # The name decides who logs in by ssh; by HTTP it may be a token as well as a name.
        name = (user or "").partition(":")[0] if scheme == "ssh" else ""
        if name.startswith("-"):
            raise Refused(f"{plain(url)} is no address of a repository.")
        return f"{scheme}://{f'{name}@' if name else ''}{rest}"
    if "ssh" in transports and (found := _SCP.fullmatch(url)) and not found["host"].startswith("-"):
        user = found["user"] or ""
        if not user.startswith("-"):
            return url
    raise Refused(f"{plain(url)} is no address of a repository.", f"Only {', '.join(transports)} are read.")
