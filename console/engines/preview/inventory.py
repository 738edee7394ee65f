"""What an applier says that it has applied, and what of that it deletes.

Sources: Flux "Kustomization" ``status.inventory`` (ids are ``namespace_name_group_kind``, a colon of a name written ``__``);
Argo CD ``status.resources``.
"""

from __future__ import annotations

import msgspec

from console.engines.preview.documents import Identity, JsonObject
from console.kit.dig import items, mapping, text

_KEEPS = {
    "kustomize.toolkit.fluxcd.io/prune": ("disabled",),
    "kustomize.toolkit.fluxcd.io/reconcile": ("disabled",),
    "argocd.argoproj.io/sync-options": ("Prune=false", "Delete=false"),
}


class Held(msgspec.Struct, frozen=True):
    """An object that an applier has applied, and a version that it was served in."""

    identity: Identity
    version: str

    @property
    def api_version(self) -> str:
        """``group/version``, or the version alone."""
        return f"{self.identity.group}/{self.version}" if self.identity.group else self.version


def held_by_flux(kustomization: JsonObject) -> tuple[Held, ...]:
    """The inventory of a Kustomization; an entry that can't be read is left out."""
    found = []
    for entry in items(kustomization, "status", "inventory", "entries"):
        # From both ends: the group of core kinds is empty, so that two underscores there are no colon.
        namespace, _, rest = text(entry, "id").partition("_")
        rest, _, kind = rest.rpartition("_")
        name, _, group = rest.rpartition("_")
        if name and kind:
            found.append(Held(Identity(group, kind, namespace, name.replace("__", ":")), text(entry, "v")))
    return tuple(found)


def held_by_argo(application: JsonObject) -> tuple[Held, ...]:
    """The resources of an Application, hooks left out."""
    return tuple(
        Held(
            Identity(text(entry, "group"), text(entry, "kind"), text(entry, "namespace"), text(entry, "name")),
            text(entry, "version") or "v1",
        )
        for entry in items(application, "status", "resources")
        if mapping(entry).get("hook") is not True
    )


def kept(live: JsonObject) -> str:
    """The annotation or label that keeps an object from being deleted; "" if nothing does."""
    for key, values in _KEEPS.items():
        for said in (text(live, "metadata", "annotations", key), text(live, "metadata", "labels", key)):
            if any(part.strip() in values for part in said.split(",")):
                return f"{key}: {said}"
    return ""
