"""Addresses of hosts behind ssh, in parts. Apart from the connection itself, so that reading configuration loads no wire."""

from __future__ import annotations

import shlex
from urllib.parse import unquote, urlsplit

import msgspec

from console.errors import ConfigError


class Destination(msgspec.Struct, frozen=True):
    """``ssh://[user@]host[:port][/path/of/the/remote/socket]``, in parts. The host may be an alias of the ssh configuration."""

    host: str
    user: str = ""
    port: int = 0
    socket: str = ""

    def arguments(self) -> list[str]:
        """What names it on ssh's command line."""
        user = ["-l", self.user] if self.user else []
        port = ["-p", str(self.port)] if self.port else []
        return [*user, *port, "--", self.host]

    def command(self) -> str:
        """The remote command, for the remote shell."""
        where = f"--host {shlex.quote(f'unix://{self.socket}')} " if self.socket else ""
        return f"docker {where}system dial-stdio"


def parse_destination(url: str) -> Destination:
    """Raises :class:`ConfigError` if it isn't an ssh URL, or holds a password."""
    parts = urlsplit(url)
    user, _, place = parts.netloc.rpartition("@")
    # Not parts.hostname: that is in lower case, and aliases are not.
    host, _, port = place.rpartition(":") if place.rfind(":") > place.rfind("]") else (place, "", "")
    host = host.strip("[]")
    if parts.scheme != "ssh" or not host or host.startswith("-") or user.startswith("-") or parts.query or parts.fragment:
        raise ConfigError(
            f"{parts.scheme}://{place} can't be used as an ssh address.", "Give ssh://user@host or ssh://user@host:port."
        )
    if ":" in user:
        raise ConfigError(f"ssh://{place}: a password in the address can't be used.", "Use a key and the ssh agent.")
    if port and not port.isdecimal():
        raise ConfigError(f"ssh://{place}: the port is not a number.")
    return Destination(host, unquote(user), int(port or 0), parts.path if parts.path != "/" else "")
