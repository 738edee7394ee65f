"""A target: something that can be connected to, before anything was asked of it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from console.runtime.ports import Backend


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster, swarm or host under the name the operator knows it by.

    ``make_backend`` is called for every fresh attempt, so that credentials which changed on disk are read again; it must not
    do input or output beyond reading files. ``aliases`` are other names under which the same endpoint was found, ``origin``
    says where it was found ("kubeconfig", "docker context", "fleet file"). ``read_only`` can't be lifted by arming. ``warning``
    is a sentence that must be seen as long as the target is used.
    """

    name: str
    make_backend: Callable[[], Backend]
    endpoint: str = ""
    platforms: tuple[str, ...] = ()
    group: str = ""
    colour: str = ""
    protected: bool = False
    read_only: bool = False
    warning: str = ""
    aliases: tuple[str, ...] = ()
    origin: str = ""
    labels: dict[str, str] = {}
