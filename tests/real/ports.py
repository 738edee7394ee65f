"""Ports for servers under test."""

import socket


def free_port(host: str = "127.0.0.1") -> int:
    """A port nobody listens on right now. Another process may take it first: start servers with a retry on a fresh one."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def listens(port: int, host: str = "127.0.0.1") -> bool:
    """True when something accepts connections there."""
    try:
        with socket.create_connection((host, port), timeout=2):
            return True
    except OSError:
        return False
