"""Ports for servers under test."""

import random
import socket

_RANGE = range(20000, 32000)
"""Below the ports that Linux gives to outgoing connections, so a server that restarts finds its port still free."""


def free_port(host: str = "127.0.0.1") -> int:
    """A port nobody uses right now. Another process may take it first: start servers with a retry on a fresh one."""
    for port in random.sample(_RANGE, 200):
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
    raise OSError("no free port found")


def listens(port: int, host: str = "127.0.0.1") -> bool:
    """True when something accepts connections there."""
    try:
        with socket.create_connection((host, port), timeout=2):
            return True
    except OSError:
        return False
