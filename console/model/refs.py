"""What names an object everywhere: the reference."""

from __future__ import annotations

import msgspec


class Ref(msgspec.Struct, frozen=True, order=True, gc=False):
    """Identity of one object on one connection.

    ``uid`` is the platform's own identity (Kubernetes uid, Swarm or container id); an object deleted and made again under
    the same name has another one, so a plan can never hit the successor. ``namespace`` is empty for what has none. ``kind``
    is the platform's own word ("Kustomization", "SwarmService", "Container").
    """

    connection: str
    kind: str
    namespace: str
    name: str
    uid: str = ""

    @property
    def path(self) -> str:
        """``namespace/name``, or just the name; for people, not unique across connections."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.connection}:{self.kind}/{self.path}"
