"""Who sits here: the account, the terminal and where the session came from, for the journal and for other consoles."""

from __future__ import annotations

import os
import pwd
import socket
import sys
from collections.abc import Mapping

from console.journal.records import Who


def whoami(environment: Mapping[str, str]) -> Who:
    """The person and place behind this process.

    The account is the one the kernel knows, with ``SUDO_USER`` beside it: ``$USER`` is only what somebody exported. The ssh
    client's address is what sshd put into ``SSH_CONNECTION``.
    """
    uid = os.getuid()
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = f"uid {uid}"
    if sudo := environment.get("SUDO_USER"):
        user = f"{sudo} as {user}"
    return Who(
        user=user,
        host=socket.gethostname(),
        tty=_tty(),
        ssh_client=environment.get("SSH_CONNECTION", "").partition(" ")[0],
        pid=os.getpid(),
    )


def _tty() -> str:
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        try:
            return os.ttyname(stream.fileno())
        except (OSError, ValueError, AttributeError):
            continue
    return ""
