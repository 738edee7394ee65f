"""How an applier turns a folder into objects, read from the applier itself; and what of that can't be done here.

Sources: Flux "Kustomization" (``spec`` fields); Argo CD application specification, "Kustomize", "Directory", "Sync Options".
"""

from __future__ import annotations

import copy

import msgspec

from console.engines.preview.documents import JsonObject
from console.engines.preview.inventory import Held, held_by_argo, held_by_flux
from console.engines.preview.layout import Overlay, listed
from console.kit.dig import flag, items, mapping, text
from console.kit.sanitize import sanitize

_FLUX = "kustomize.toolkit.fluxcd.io"
_HERE = ("", "https://kubernetes.default.svc")
_KUSTOMIZE_DONE = frozenset({"namePrefix", "nameSuffix", "images", "namespace", "patches", "components"})


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """From a folder to objects.

    :param blocked: why it can't be done here at all; "" if it can.
    :param manager: the field manager that the objects are applied under.
    :param lenient: whether JSON files count, and documents that are no objects are left out.
    :param labels: what every object gets, ``annotations`` likewise.
    :param namespace: where an object goes that says no namespace; "" if it has to say one.
    :param substitutes: variables; ``substitutes_from`` the ConfigMaps and Secrets that have more.
    :param prune: whether objects that are no longer in the commit are deleted; ``held`` is what was applied so far.
    :param notes: what is done differently, in sentences.
    """

    path: str
    manager: str
    overlay: Overlay = Overlay()
    recurse: bool = True
    lenient: bool = False
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    namespace: str = ""
    substitutes: dict[str, str] = {}
    substitutes_from: tuple[JsonObject, ...] = ()
    prune: bool = False
    held: tuple[Held, ...] = ()
    force: bool = False
    blocked: str = ""
    notes: tuple[str, ...] = ()


def flux_recipe(kustomization: JsonObject, source: JsonObject) -> Recipe:
    """What a Kustomization does with the commit of its GitRepository."""
    spec = mapping(kustomization, "spec")
    notes = []
    if account := text(spec, "serviceAccountName"):
        notes.append(f"It applies as the service account {sanitize(account)}; the dry run was made with your own rights.")
    if flag(spec, "force"):
        notes.append("What can't be changed in place is deleted and made again (force).")
    for key, words in (
        ("ignore", "leaves files out by spec.ignore"),
        ("include", "includes other repositories"),
        ("recurseSubmodules", "takes submodules along"),
    ):
        if mapping(source, "spec").get(key):
            notes.append(f"Its source {words}, which is not done here.")
    namespace, name = text(kustomization, "metadata", "namespace"), text(kustomization, "metadata", "name")
    post = mapping(spec, "postBuild")
    return Recipe(
        path=text(spec, "path"),
        manager="kustomize-controller",
        overlay=Overlay(
            namespace=text(spec, "targetNamespace"),
            name_prefix=text(spec, "namePrefix"),
            name_suffix=text(spec, "nameSuffix"),
            patches=listed(spec.get("patches")),
            images=listed(spec.get("images")),
            components=tuple(item for item in items(spec, "components") if isinstance(item, str)),
        ),
        labels={
            **_texts(mapping(spec, "commonMetadata", "labels")),
            f"{_FLUX}/name": name,
            f"{_FLUX}/namespace": namespace,
        },
        annotations=_texts(mapping(spec, "commonMetadata", "annotations")),
        substitutes=_texts(mapping(post, "substitute")),
        substitutes_from=listed(post.get("substituteFrom")),
        prune=flag(spec, "prune"),
        held=held_by_flux(kustomization),
        force=flag(spec, "force"),
        blocked="It applies to another cluster (spec.kubeConfig)." if mapping(spec, "kubeConfig") else "",
        notes=tuple(notes),
    )


def argo_recipe(app: JsonObject) -> Recipe:
    """What an Application's sync does with a commit of its one source."""
    spec = mapping(app, "spec")
    source, destination = mapping(spec, "source"), mapping(spec, "destination")
    options = [item for item in items(spec, "syncPolicy", "syncOptions") if isinstance(item, str)]
    kustomize = mapping(source, "kustomize")
    notes = []
    if "ServerSideApply=true" not in options:
        notes.append("Argo CD applies on its own side here: fields that the commit no longer sets are not told.")
    if items(spec, "ignoreDifferences") and "RespectIgnoreDifferences=true" in options:
        notes.append("Fields under ignoreDifferences are left alone by the sync, but told here.")
    if "CreateNamespace=true" in options:
        notes.append("The sync makes the namespace if it is missing.")
    return Recipe(
        path=text(source, "path") or ".",
        manager="argocd-controller",
        overlay=Overlay(
            namespace=text(kustomize, "namespace"),
            name_prefix=text(kustomize, "namePrefix"),
            name_suffix=text(kustomize, "nameSuffix"),
            patches=listed(kustomize.get("patches")),
            images=tuple(_image(item) for item in items(kustomize, "images") if isinstance(item, str)),
            components=tuple(item for item in items(kustomize, "components") if isinstance(item, str)),
        ),
        recurse=flag(source, "directory", "recurse"),
        lenient=True,
        namespace=text(destination, "namespace"),
        prune=flag(spec, "syncPolicy", "automated", "prune"),
        held=held_by_argo(app),
        blocked=_argo_blocked(app, source, destination),
        notes=tuple(notes),
    )


def _argo_blocked(app: JsonObject, source: JsonObject, destination: JsonObject) -> str:
    if not source or items(app, "spec", "sources") or mapping(app, "spec", "sourceHydrator"):
        return "It has not one source of its own."
    for key in ("chart", "helm", "plugin"):
        if source.get(key):
            return f"Its objects come from {'a plugin' if key == 'plugin' else 'a Helm chart'}, which is not rendered here."
    if mapping(source, "directory", "jsonnet") or text(source, "directory", "include") or text(source, "directory", "exclude"):
        return "Its folder is read with jsonnet, include or exclude, which is not done here."
    known = {key for key, value in mapping(source, "kustomize").items() if value}
    if other := sorted(known - _KUSTOMIZE_DONE):
        return f"It sets spec.source.kustomize.{sanitize(other[0])}, which is not done here."
    if text(destination, "server") not in _HERE or text(destination, "name") not in ("", "in-cluster"):
        return "It applies to another cluster than the one that it is in."
    return ""


def finished(obj: JsonObject, recipe: Recipe) -> JsonObject:
    """A built object with what the applier itself adds."""
    made = copy.deepcopy(obj)
    metadata = made.setdefault("metadata", {})
    for key, added in (("labels", recipe.labels), ("annotations", recipe.annotations)):
        if added:
            metadata[key] = {**mapping(metadata, key), **added}
    return made


def _texts(value: JsonObject) -> dict[str, str]:
    return {key: item if isinstance(item, str) else str(item) for key, item in value.items()}


def _image(words: str) -> JsonObject:
    """``name=new/name:tag``, ``name:tag`` or ``name@digest`` as a kustomization has it."""
    name, equals, new = words.partition("=")
    new = new if equals else name
    image: JsonObject = {}
    if "@" in new:
        new, _, image["digest"] = new.partition("@")
    elif ":" in new.rpartition("/")[2]:
        new, _, image["newTag"] = new.rpartition(":")
    old = name if equals else new
    return {"name": old, **({"newName": new} if equals else {}), **image}
