"""Which files of a commit an applier builds, and the kustomization that it builds them by.

Sources: Flux "Kustomization" (generate kustomization.yaml: every ``.yaml``/``.yml`` below the path, a folder with a
kustomization of its own as a whole; ``spec`` fields put into it); Argo CD "Directory" and "Kustomize" applications; kustomize's
own fields. What kustomize could read from elsewhere (a URL, a path out of the tree, a chart) is never built here.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import yaml

from console.engines.preview.documents import JsonObject, read_yaml
from console.errors import Invalid
from console.kit.dig import items, mapping, text
from console.kit.sanitize import sanitize

KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
Files = Mapping[str, bytes]
_LISTS = ("resources", "bases", "components", "crds", "configurations")
_FOLLOWED = frozenset({"resources", "bases", "components"})
_YAML = (".yaml", ".yml")
_JSON = (".json",)
# Their own files name further files (and programs), in ways that are not followed here.
_REFUSED = ("generators", "transformers", "validators", "helmCharts", "helmChartInflationGenerator", "helmGlobals")
_REMOTE = ("://", "git@", "git::", "?ref=")
_NAMING = (
    *_LISTS,
    *_REFUSED,
    *("patches", "patchesStrategicMerge", "patchesJson6902", "replacements", "openapi", "path"),
    *("configMapGenerator", "secretGenerator", "files", "envs", "env"),
)
_ENTRIES = ("patches", "patchesJson6902", "replacements", "configMapGenerator", "secretGenerator")
_SPELLED = {name.lower(): name for name in _NAMING}
# What source-controller leaves out of an artifact unless it is told otherwise.
_IGNORED = (".git/", ".github/", ".circleci/")
_IGNORED_NAMES = frozenset({".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml", "cloudbuild.yaml"})
_IGNORED_ANYWHERE = frozenset({".goreleaser.yml", ".goreleaser.yaml", ".sops.yaml", ".flux.yaml"})


class Overlay(msgspec.Struct, frozen=True, kw_only=True):
    """What an applier puts into the kustomization of its path. Empty fields change nothing."""

    namespace: str = ""
    name_prefix: str = ""
    name_suffix: str = ""
    patches: tuple[JsonObject, ...] = ()
    images: tuple[JsonObject, ...] = ()
    components: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether it changes anything."""
        return self != Overlay()


class Layout(msgspec.Struct, frozen=True):
    """How a path is built: from its plain files, or by a kustomize program.

    :param plain: paths of files that are applied as they are.
    :param built: the tree with the kustomization that is to be built at ``folder``; None where nothing has to be built.
    """

    folder: str
    plain: tuple[str, ...] = ()
    built: Files | None = None


def source_files(files: Files) -> dict[str, bytes]:
    """What source-controller's artifact has of a commit."""
    return {
        path: content
        for path, content in files.items()
        if not path.startswith(_IGNORED) and path not in _IGNORED_NAMES and posixpath.basename(path) not in _IGNORED_ANYWHERE
    }


def folder_of(path: str) -> str:
    """A path of a spec inside the tree: "" for its root. :raises Invalid: it leads out of it."""
    folder = posixpath.normpath(f"./{path}").removeprefix("./")
    if folder == ".." or folder.startswith("../"):
        raise Invalid(f"The path {sanitize(path)} leads out of the repository.")
    return "" if folder == "." else folder


def lay_out(files: Files, path: str, overlay: Overlay, *, recurse: bool = True, json: bool = False) -> Layout:
    """How the objects at ``path`` are built.

    :param recurse: whether folders below count where there is no kustomization. :param json: whether JSON files do.
    :raises Invalid: there is no such path, or what kustomize would read isn't all in the tree.
    """
    folder = folder_of(path)
    inside = f"{folder}/" if folder else ""
    if not any(name.startswith(inside) for name in files):
        raise Invalid(f"The commit has no folder {sanitize(path)}.")
    own = kustomization_in(files, folder)
    if own is None:
        resources = tuple(_plain(files, folder, recurse, _YAML + _JSON if json else _YAML))
        whole = [entry for entry in resources if entry not in files]
        if not resources or (not whole and not overlay.changes):
            return Layout(folder, resources)
        content: JsonObject = {"resources": [posixpath.relpath(entry, folder or ".") for entry in resources]}
        own = f"{inside}{KUSTOMIZATIONS[0]}"
    else:
        content = _kustomization(files, own)
    changed = {**files, own: yaml.safe_dump(with_overlay(content, overlay), sort_keys=False).encode()}
    check_local(changed, folder)
    return Layout(folder, built=changed)


def kustomization_in(files: Files, folder: str) -> str | None:
    """The kustomization of a folder, by path."""
    inside = f"{folder}/" if folder else ""
    return next((inside + name for name in KUSTOMIZATIONS if inside + name in files), None)


def with_overlay(content: JsonObject, overlay: Overlay) -> JsonObject:
    """A kustomization with an applier's own fields in it: a namespace, prefix or suffix replaces, lists are added to."""
    names = {"namespace": overlay.namespace, "namePrefix": overlay.name_prefix, "nameSuffix": overlay.name_suffix}
    merged: JsonObject = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        **content,
        **{key: value for key, value in names.items() if value},
    }
    if overlay.patches:
        merged["patches"] = [*items(content, "patches"), *overlay.patches]
    if overlay.components:
        merged["components"] = [*items(content, "components"), *overlay.components]
    if overlay.images:
        known = {text(image, "name") for image in overlay.images}
        kept = [image for image in items(content, "images") if text(image, "name") not in known]
        merged["images"] = [*kept, *overlay.images]
    return merged


def check_local(files: Files, folder: str) -> None:
    """Follow every kustomization from ``folder`` on. :raises Invalid: something is read that is not a file of the tree."""
    todo, done = [folder], set()
    while todo:
        here = todo.pop()
        if here in done:
            continue
        done.add(here)
        own = kustomization_in(files, here)
        if own is None:
            raise Invalid(f"{sanitize(here) or 'the root'} is used as a kustomization and has none.")
        content = _kustomization(files, own)
        for key in _REFUSED:
            if content.get(key):
                raise Invalid(f"{sanitize(own)} uses {key}, which is not done here.")
        for entry, followed in _references(content):
            place = posixpath.normpath(posixpath.join(here, entry))
            place = "" if place == "." else place
            remote = any(sign in entry for sign in _REMOTE)
            if place in files and not remote:
                continue
            if not followed or remote or place.startswith("..") or not _has_folder(files, place):
                raise Invalid(f"{sanitize(own)} takes {sanitize(entry)}, which is no file of the repository.")
            todo.append(place)


def _has_folder(files: Files, place: str) -> bool:
    return place == "" or any(name.startswith(f"{place}/") for name in files)


def _references(content: JsonObject) -> Iterator[tuple[str, bool]]:
    """Everything that a kustomization reads, and whether it may be a folder."""
    for key in _LISTS:
        for entry in items(content, key):
            if isinstance(entry, str) and "\n" not in entry:
                yield entry, key in _FOLLOWED
    for entry in items(content, "patchesStrategicMerge"):
        if isinstance(entry, str) and "\n" not in entry:
            yield entry, False
    for key in ("patches", "patchesJson6902", "replacements"):
        for entry in items(content, key):
            if path := text(entry, "path"):
                yield path, False
    if path := text(content, "openapi", "path"):
        yield path, False
    for key in ("configMapGenerator", "secretGenerator"):
        for entry in items(content, key):
            yield from ((item.rpartition("=")[2], False) for item in items(entry, "files") if isinstance(item, str))
            yield from ((item, False) for item in (*items(entry, "envs"), text(entry, "env")) if isinstance(item, str) and item)


def _kustomization(files: Files, path: str) -> JsonObject:
    documents = read_yaml(files[path], path)
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise Invalid(f"{sanitize(path)} is no kustomization.")
    _check_spelling(documents[0], path)
    return mapping(documents[0])


def _check_spelling(content: JsonObject, path: str) -> None:
    """Kustomize reads its keys in any case; one that is not recognized here would not be looked at.

    :raises Invalid: such a key.
    """
    entries = [entry for key in _ENTRIES for entry in items(content, key) if isinstance(entry, dict)]
    for keys in (content, *entries, mapping(content, "openapi")):
        for key in keys:
            name = _SPELLED.get(str(key).lower(), key)
            if name != key:
                raise Invalid(f"{sanitize(path)} spells {name} as {sanitize(str(key))}.")


def _plain(files: Files, folder: str, recurse: bool, suffixes: tuple[str, ...]) -> list[str]:
    """Files to be applied below a folder, and folders with a kustomization of their own, sorted."""
    inside = f"{folder}/" if folder else ""
    found: set[str] = set()
    for path in files:
        if not path.startswith(inside):
            continue
        below = path.removeprefix(inside).split("/")
        if len(below) > 1 and not recurse:
            continue
        places = ("/".join(below[: depth + 1]) for depth in range(len(below) - 1))
        whole = next((inside + place for place in places if kustomization_in(files, inside + place)), None)
        if whole is not None:
            found.add(whole)
        elif path.endswith(suffixes):
            found.add(path)
    return sorted(found)


def listed(value: Any) -> tuple[JsonObject, ...]:
    """The objects of a list, whatever else is in it."""
    return tuple(mapping(item) for item in value if isinstance(item, dict)) if isinstance(value, list) else ()
