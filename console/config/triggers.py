"""Local triggers in ``fleet.yaml``: appliers that this console may drive on clusters without trigger resources.

A declaration is consent. A Kustomization or Application that was only discovered is shown and never touched.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Meta

from console.config.settings import Section

_A_NAME = "a name without spaces, “/” and “:”, of at most 63 characters"
Name = Annotated[str, Meta(pattern=r"^[^\s/:]+$", max_length=63, extra={"means": _A_NAME})]
Text = Annotated[str, Meta(min_length=1)]


class TriggerEntry(Section, frozen=True, kw_only=True):
    """One local trigger: an applier, and the branch that it must apply from."""

    name: Name
    """What it is called in commands. Unique."""

    connection: Name
    """The connection to the cluster that the applier is in."""

    kind: Literal["flux", "argocd"]
    """``flux`` drives a Kustomization, ``argocd`` an Application."""

    namespace: Text
    """The applier's namespace."""

    object: Text
    """The applier's name."""

    url: Text
    """The repository that is written to. The applier must apply from the same one; how the URL is spelled does not count."""

    branch: Text
    """The branch that is written to. The applier must follow it."""

    hold: bool = False
    """Whether this console may keep a Kustomization suspended between applies. Off, because a held Kustomization corrects no
    drift by itself."""

    revert_refused_edits: bool = False
    """Whether an unchanged commit may be applied again to take back a live edit. Off, because that overwrites
    somebody's work."""

    confirmed: bool = False
    """Says that a suspension under the engine's field manager that has no record is this console's own. Off, because another
    engine may use the same name."""

    @property
    def applier_kind(self) -> str:
        """The kind of the object that it drives."""
        return "Kustomization" if self.kind == "flux" else "Application"


def twice(entries: Iterable[TriggerEntry]) -> str:
    """The first name or applier that stands twice, as a sentence's end; empty when there is none."""
    seen: set[tuple[str, ...]] = set()
    for entry in entries:
        for key in (("name", entry.name), (entry.connection, entry.kind, entry.namespace, entry.object)):
            if key in seen:
                what = (
                    f"the name “{entry.name}”" if key[0] == "name" else f"{entry.applier_kind} {entry.namespace}/{entry.object}"
                )
                return f"{what} stands twice"
            seen.add(key)
    return ""
