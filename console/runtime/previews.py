"""What applying a commit would change: its files, built as the applier builds them, and each object put to the server.

Nothing is stored anywhere. What can't be told truthfully is "unknown", with the reason; what can't be told at all is raised.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import msgspec

from console.engines.dispatch.binding import shown
from console.engines.preview.differences import without
from console.engines.preview.documents import Identity, JsonObject, identity, objects_in
from console.engines.preview.inventory import Held
from console.engines.preview.layout import folder_of, lay_out, source_files
from console.engines.preview.recipes import Recipe, argo_recipe, finished, flux_recipe
from console.engines.preview.substitution import substituted, uses_variables
from console.errors import Forbidden, Invalid, NotServed, QuarterdeckError, Refused
from console.kit.dig import mapping, text
from console.kit.sanitize import sanitize
from console.model.commits import ChangePreview, ObjectChange
from console.runtime.appliers import Applier
from console.runtime.commit_book import CommitBook
from console.runtime.object_changes import Questions, change_of, deletion_of

MOST_OBJECTS = 300
AT_ONCE = 6
"""Questions to the API server at the same time: a look must not be a load."""
_ORDER = ("create", "update", "delete", "unknown", "same")
_DEFINITION = ("apiextensions.k8s.io", "CustomResourceDefinition")
_HOOK = "argocd.argoproj.io/hook"


class Builds(Protocol):
    """A program that builds kustomizations."""

    @property
    def name(self) -> str:
        """What it is called; "" where there is none."""
        ...

    async def build(self, files: Mapping[str, bytes], folder: str) -> bytes:
        """The YAML that a folder comes to. :raises QuarterdeckError: it can't be built."""
        ...


@runtime_checkable
class HasDryRun(Protocol):
    """A backend whose server can be asked what it would make of an object."""

    @property
    def dry_run(self) -> Questions:
        """The questions; one set for one preview."""
        ...


class _Variables(msgspec.Struct, frozen=True):
    """What ``postBuild`` fills in. ``hidden`` came out of Secrets; ``unread`` says why not all of it could be read."""

    values: dict[str, str]
    hidden: tuple[str, ...] = ()
    unread: str = ""


async def preview(applier: Applier, commit: str, commits: CommitBook, questions: Questions, builder: Builds) -> ChangePreview:
    """What applying ``commit`` would change. :raises QuarterdeckError: it can't be told, and why."""
    binding = applier.binding
    if binding is None:
        raise NotServed(f"Which repository {applier.key} applies can't be told.")
    recipe = flux_recipe(applier.raw, applier.source) if applier.flux else argo_recipe(applier.raw)
    if recipe.blocked:
        raise NotServed(f"What {commit[:7]} would change can't be told here. {recipe.blocked}")
    info, files = await asyncio.gather(commits.describe(binding.url, (commit,)), commits.tree(binding.url, commit))
    notes = list(recipe.notes)
    if applier.flux:
        if any(path.rpartition("/")[2] == ".sourceignore" for path in files):
            notes.append("The repository leaves files out by .sourceignore, which is not done here.")
        files = source_files(files)
    elif f"{folder_of(recipe.path)}/Chart.yaml".lstrip("/") in files:
        raise NotServed("Its objects come from a Helm chart, which is not rendered here.")
    built, by = await _built(files, recipe, builder)
    notes += [by] if by else []
    if not built:
        notes.append(f"{shown(binding.url)} has no objects at {sanitize(recipe.path or '.')} in {commit[:7]}.")
    return ChangePreview(commit=info[commit], **await _asked(applier, recipe, built, questions, notes))


async def _built(files: Mapping[str, bytes], recipe: Recipe, builder: Builds) -> tuple[list[JsonObject], str]:
    """The objects of a commit, and by which program they were built, in a sentence."""
    layout = lay_out(files, recipe.path, recipe.overlay, recurse=recipe.recurse, json=recipe.lenient)
    if layout.built is not None:
        content = await builder.build(layout.built, layout.folder)
        return objects_in(content, "the build"), f"Built by {builder.name}: another version than the applier's may differ."
    found: list[JsonObject] = []
    for path in layout.plain:
        found += objects_in(files[path], path, lenient=recipe.lenient)
        # A repository of thousands of files must not stop the screen.
        await asyncio.sleep(0)
    return found, ""


async def _asked(
    applier: Applier, recipe: Recipe, built: list[JsonObject], questions: Questions, notes: list[str]
) -> dict[str, Any]:
    """``objects`` and ``notes`` of the preview."""
    namespace = text(applier.raw, "metadata", "namespace")
    variables = await _variables(recipe, namespace, questions)
    if variables.unread:
        notes.append(variables.unread)
    turn = asyncio.Semaphore(AT_ONCE)
    there = {(item.group, item.kind, item.name) for item in map(identity, built)}

    async def ask(obj: JsonObject) -> tuple[Identity, ObjectChange]:
        async with turn:
            return await _one(obj, recipe, variables, questions, there)

    answers = await asyncio.gather(*(ask(obj) for obj in built[:MOST_OBJECTS]))
    if len(built) > MOST_OBJECTS:
        notes.append(f"{len(built) - MOST_OBJECTS} more objects of the commit were not looked at.")
    known = {item for item, _ in answers} | {identity(obj) for obj in built[MOST_OBJECTS:]}
    # Where an object's namespace isn't known, its name alone must keep it from being called deleted.
    loose = {(item.group, item.kind, item.name) for item in known if not item.namespace}
    gone = [
        held
        for held in recipe.held
        if held.identity not in known and (held.identity.group, held.identity.kind, held.identity.name) not in loose
    ]

    async def ask_gone(held: Held) -> ObjectChange | None:
        async with turn:
            return await deletion_of(held, recipe.prune, questions)

    deletions = await asyncio.gather(*(ask_gone(held) for held in gone[:MOST_OBJECTS]))
    if len(gone) > MOST_OBJECTS:
        notes.append(f"{len(gone) - MOST_OBJECTS} more objects that the commit no longer has were not looked at.")
    found = [*(change for _, change in answers), *(change for change in deletions if change is not None)]
    found.sort(key=lambda change: (_ORDER.index(change.change), change.what))
    return {"objects": tuple(found), "notes": tuple(sanitize(note) for note in notes)}


async def _one(
    obj: JsonObject,
    recipe: Recipe,
    variables: _Variables,
    questions: Questions,
    there: set[tuple[str, str, str]],
) -> tuple[Identity, ObjectChange]:
    who = identity(obj)
    try:
        if "sops" in obj:
            raise Refused("It is encrypted with SOPS: only the controller can read it.")
        if _HOOK in mapping(obj, "metadata", "annotations"):
            raise Refused("It is a hook: it runs with the sync, and is not compared.")
        if recipe.substitutes or recipe.substitutes_from:
            if variables.unread and uses_variables(obj):
                raise Refused(variables.unread)
            obj = substituted(obj, variables.values)
        obj = finished(obj, recipe)
        if await questions.namespaced(text(obj, "apiVersion"), text(obj, "kind")):
            if not text(obj, "metadata", "namespace") and recipe.namespace:
                obj["metadata"]["namespace"] = recipe.namespace
        else:
            obj["metadata"].pop("namespace", None)
        who = identity(obj)
        return who, await change_of(obj, recipe, variables.hidden, questions, there)
    except QuarterdeckError as error:
        said = error.message
        if isinstance(error, NotServed) and ("apiextensions.k8s.io", "CustomResourceDefinition") in {
            item[:2] for item in there
        }:
            said += " If it comes with this commit, the server can't be asked before."
        if isinstance(error, Invalid) and recipe.force:
            said += " With spec.force it would be deleted and made again."
        return who, ObjectChange(what=who.words, change="unknown", said=sanitize(without(said, variables.hidden)))


async def _variables(recipe: Recipe, namespace: str, questions: Questions) -> _Variables:
    values: dict[str, str] = {}
    hidden: list[str] = []
    for entry in recipe.substitutes_from:
        kind, name = text(entry, "kind"), text(entry, "name")
        try:
            if kind not in ("ConfigMap", "Secret"):
                raise Invalid(f"Variables come from {sanitize(kind)} {sanitize(name)}, which can't be.")
            live = await questions.live("v1", kind, namespace, name)
        except Forbidden as error:
            return _Variables({}, unread=f"The variables of {kind} {sanitize(name)} can't be read: {error.message}")
        except QuarterdeckError as error:
            return _Variables({}, unread=error.message)
        if live is None and entry.get("optional") is not True:
            return _Variables({}, unread=f"The variables of {kind} {sanitize(name)} are missing: there is no such object.")
        data = mapping(live, "data") if live is not None else {}
        if kind == "Secret":
            data = {key: _decoded(str(value)) for key, value in data.items()}
            hidden += data.values()
        values |= {key: str(value) for key, value in data.items()}
    values |= recipe.substitutes
    return _Variables(values, tuple(sorted((item for item in hidden if item), key=len, reverse=True)))


def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""
