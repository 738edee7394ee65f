"""The options of an Argo CD sync and of a rollback, as ``.operation.sync`` carries them, and what each means in words.

Sources (Argo CD 3): ``argocd app sync`` sets ``prune``, ``dryRun``, ``revision``, ``resources``, ``syncStrategy`` (``hook`` by
default, ``apply`` runs no hooks; ``force`` lies inside) and ``syncOptions`` (``Replace=true``, ``ServerSideApply=true``,
``ApplyOutOfSyncOnly=true``) in place of the Application's own; a rollback takes source and revision from the history and
applies without hooks. A selective sync runs no hooks and is not recorded in the history.
"""

from __future__ import annotations

from typing import Any

from console.errors import Refused
from console.kit.dig import flag, items, number, text
from console.model.plan import Intent
from console.model.refs import Ref

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "sync": (
        "revision",
        "prune",
        "dry-run",
        "force",
        "replace",
        "server-side",
        "out-of-sync-only",
        "strategy",
        "resources",
    ),
    "rollback": ("id", "prune", "dry-run"),
    "automated-off": ("keep", "restore"),
    "automated-on": ("prune", "self-heal", "allow-empty", "restore"),
}
"""What each verb can be told."""
_OPTIONS = {"replace": "Replace", "server-side": "ServerSideApply", "out-of-sync-only": "ApplyOutOfSyncOnly"}
_YES, _NO = ("true", "yes"), ("", "false", "no")


def given(intent: Intent, name: str) -> bool:
    """Whether an option was asked for.

    :raises Refused: its value is neither yes nor no.
    """
    value = intent.arguments.get(name, "").lower()
    if value not in (*_YES, *_NO):
        raise Refused(f"{name}={value} is neither yes nor no.", f"Write {name}=true, or leave it out.")
    return value in _YES


def refuse_unknown(intent: Intent) -> None:
    """Raise :class:`Refused` for an argument that the verb does not know: it would be left out in silence."""
    known = ARGUMENTS.get(intent.verb, ())
    unknown = next((name for name in intent.arguments if name not in known), "")
    if unknown:
        raise Refused(f"{intent.verb} knows no {unknown}.", f"It knows {', '.join(known)}." if known else "")


def synced(ref: Ref, raw: dict[str, Any], intent: Intent, *, automated: bool) -> tuple[dict[str, Any], list[str]]:
    """``.operation.sync`` of a sync with its options, and what it means. ``automated``: it syncs by itself as well.

    :raises Refused: the options contradict each other or the Application.
    """
    sync: dict[str, Any] = {}
    dry = given(intent, "dry-run")
    if revision := intent.arguments.get("revision"):
        if automated and not dry:
            raise Refused(f"{ref.path} syncs by itself and would leave {revision} at once.", "Turn automated sync off first.")
        if items(raw, "spec", "sources"):
            raise Refused(f"{ref.path} has several sources: one revision can't be meant for all.", "Sync it without one.")
        sync["revision"] = revision
    what = f"applies {revision or 'the newest revision of its source'}"
    effects = [f"{ref.path} {'only tries what it would do if it ' if dry else ''}{what}{': nothing changes' if dry else ''}."]
    if dry:
        sync["dryRun"] = True
    strategy = _strategy(intent, effects)
    if strategy:
        sync["syncStrategy"] = strategy
    if chosen := intent.arguments.get("resources"):
        sync["resources"] = [_resource(item) for item in chosen.split(",")]
        of = f"{len(sync['resources'])} of {len(items(raw, 'status', 'resources'))} objects"
        effects.append(f"Only {of}; no hooks run, and it is not recorded in the history.")
    sync["prune"] = given(intent, "prune")
    effects += _pruned(raw, sync["prune"])
    if options := _options(raw, intent, effects):
        sync["syncOptions"] = options
    return sync, effects


def rolled_back(ref: Ref, raw: dict[str, Any], intent: Intent, *, automated: bool) -> tuple[dict[str, Any], list[str]]:
    """``.operation.sync`` that goes back to an entry of the history (the one before the last, unless ``id`` names one).

    :raises Refused: it syncs by itself, or there is no such entry.
    """
    dry = given(intent, "dry-run")
    if automated and not dry:
        raise Refused(f"{ref.path} syncs by itself and would undo a rollback at once.", "Turn automated sync off first.")
    wanted = intent.arguments.get("id", "")
    history = items(raw, "status", "history")
    earlier = history[:-1] if len(history) > 1 else []
    entry = next((item for item in history if str(number(item, "id")) == wanted), None) if wanted else (earlier or [None])[-1]
    if entry is None:
        known = ", ".join(str(number(item, "id")) for item in history) or "none"
        raise Refused(f"{ref.path} has no such entry in its history.", f"Entries: {known}.")
    sync: dict[str, Any] = {"revision": text(entry, "revision"), "syncStrategy": {"apply": {}}}
    for field in ("source", "sources", "revisions"):
        if entry.get(field):
            sync[field] = entry[field]
    said = f"goes back to {text(entry, 'revision')[:12]}, deployed {text(entry, 'deployedAt')}"
    effects = [f"{ref.path} {said}; no hooks run." if not dry else f"Only tried, nothing changes: {ref.path} {said}."]
    if dry:
        sync["dryRun"] = True
    sync["prune"] = given(intent, "prune")
    effects += _pruned(raw, sync["prune"])
    if options := items(raw, "spec", "syncPolicy", "syncOptions"):
        sync["syncOptions"] = options
    return sync, effects


def share_pruned(raw: dict[str, Any], intent: Intent) -> float:
    """Which share (0..1) of an Application's objects a sync is known to delete."""
    if not given(intent, "prune") or given(intent, "dry-run"):
        return 0.0
    resources = items(raw, "status", "resources")
    return len(_prunable(raw)) / len(resources) if resources else 0.0


def _strategy(intent: Intent, effects: list[str]) -> dict[str, Any]:
    name, force = intent.arguments.get("strategy", ""), given(intent, "force")
    if name not in ("", "hook", "apply"):
        raise Refused(f"There is no strategy {name}.", "It is hook (the default) or apply (without hooks).")
    if name == "apply":
        effects.append("No hooks run.")
    if force:
        effects.append("Force: what can't be changed in place is deleted and made again, with its pods away meanwhile.")
    return {name or "hook": {"force": True} if force else {}} if name or force else {}


def _options(raw: dict[str, Any], intent: Intent, effects: list[str]) -> list[str]:
    """The Application's own options, with those asked for in the place of its own of the same name."""
    asked = [f"{option}=true" for name, option in _OPTIONS.items() if given(intent, name)]
    if "Replace=true" in asked:
        effects.append("Replace: objects are replaced instead of patched; fields that others set on them are lost.")
    if "ServerSideApply=true" in asked:
        effects.append("Server-side apply: the server merges, and says who else owns a field.")
    names = {option.partition("=")[0] for option in asked}
    own = [str(option) for option in items(raw, "spec", "syncPolicy", "syncOptions")]
    return [*(option for option in own if option.partition("=")[0] not in names), *asked]


def _prunable(raw: dict[str, Any]) -> list[str]:
    return [
        f"{text(item, 'kind')} {text(item, 'name')}"
        for item in items(raw, "status", "resources")
        if flag(item, "requiresPruning")
    ]


def _pruned(raw: dict[str, Any], prune: bool) -> list[str]:
    found = _prunable(raw)
    named = f" ({', '.join(found[:5])}{', …' if len(found) > 5 else ''})" if found else ""
    if prune:
        now = f": {len(found)} now{named}" if found else ""
        return [f"Objects that the source no longer has are deleted{now}."]
    return (
        [f"{len(found)} objects that the source no longer has stay{named}: without prune nothing is deleted."] if found else []
    )


def _resource(chosen: str) -> dict[str, str]:
    group, kind, name = [*chosen.split(":"), "", "", ""][:3]
    if not kind or not name:
        raise Refused(f"{chosen!r} names no resource.", "Write GROUP:KIND:NAME, or :KIND:NAME for the core group.")
    namespace, _, plain = name.rpartition("/")
    return {"group": group, "kind": kind, "name": plain} | ({"namespace": namespace} if namespace else {})
