"""Which proxy the environment names for an address, by the rules that kubectl and docker follow.

Source: Go's ``http.ProxyFromEnvironment``: HTTPS_PROXY for https and HTTP_PROXY for http (lower case works too), NO_PROXY as a
list of hosts, domains, addresses, networks and ``*``; this machine itself is never reached by a proxy.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}


def proxy_for(url: str, env: Mapping[str, str]) -> str:
    """The proxy's URL, or "" for a direct connection."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    name = f"{parts.scheme}_proxy"
    proxy = env.get(name.upper()) or env.get(name) or ""
    if not proxy or not host or _is_here(host):
        return ""
    exceptions = env.get("NO_PROXY") or env.get("no_proxy") or ""
    port = parts.port or _PORTS.get(parts.scheme, 0)
    if any(_covers(entry.strip().lower(), host, port) for entry in exceptions.split(",")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_here(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _covers(entry: str, host: str, port: int) -> bool:
    if not entry:
        return False
    if entry == "*":
        return True
    address = _address(host)
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, wanted = _split_port(entry)
    if wanted and wanted != port:
        return False
    if address is not None or _address(name) is not None:
        return address is not None and address == _address(name)
    name = name.removeprefix("*")
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")


def _split_port(entry: str) -> tuple[str, int]:
    if _address(entry) is not None:
        return entry, 0
    name, colon, port = entry.rpartition(":")
    return (name.strip("[]"), int(port)) if colon and port.isdecimal() else (entry.strip("[]"), 0)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
