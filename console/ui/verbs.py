"""What verbs are called on the screen, and what must be asked before one can be planned.

What can be chosen among is read from the live object: entries of a history, objects of an Application.
"""

from __future__ import annotations

from typing import Any

import msgspec

from console.kit.dig import flag, items, number, text
from console.kit.sanitize import sanitize


class Field(msgspec.Struct, frozen=True):
    """One question. ``name`` is the argument; ``reason`` is special: it goes into the journal with the intent.

    ``choices`` are (value, label), the first the default; without any the answer is typed. Of ``several`` any number may be
    chosen; their values are joined by commas.
    """

    name: str
    question: str
    required: bool = True
    choices: tuple[tuple[str, str], ...] = ()
    several: bool = False


REASON = Field("reason", "Why (for the journal and for the others)", required=False)
FIELDS: dict[str, tuple[Field, ...]] = {
    "scale": (Field("replicas", "How many replicas"), REASON),
    "hold": (REASON, Field("until", "Until when, or for how long (14:00, 2h; empty: until released)", required=False)),
    "suspend": (REASON,),
    "delete": (REASON,),
    "rollback": (Field("revision", "To which revision (empty: the one before)", required=False), REASON),
    "image": (Field("image", "Which image"), REASON),
}
_TITLES = {
    "apply": "Apply what is wanted",
    "adopt": "Adopt it as a local trigger",
    "disown": "Take its declaration out of the fleet file",
    "sync": "Sync now",
    "deploy": "Deploy",
    "reconcile": "Reconcile now",
    "reconcile-with-source": "Fetch its source, then reconcile",
    "force": "Force an upgrade of the release",
    "reset": "Forget failures and try again",
    "refresh": "Look at the source again",
    "hard-refresh": "Look at the source again, past every cache",
    "automated-off": "Turn automated sync off",
    "automated-on": "Turn automated sync on",
    "restart": "Restart",
    "correct": "Correct drift",
    "hold": "Hold: stop automation",
    "take-over": "Become the engine of this cluster's triggers",
    "hand-back": "Cease to be the engine: hand the Lease back",
    "release": "Release the hold",
    "suspend": "Suspend",
    "resume": "Resume",
    "rollback": "Roll back",
    "sweep": "Sweep what is no longer wanted",
    "prune": "Prune what is no longer wanted",
    "remove": "Remove",
    "delete": "Delete",
    "terminate": "Terminate the operation",
    "scale": "Scale",
}
_NO = (("", "no"), ("true", "yes"))
_LIVE = frozenset({("Application", "sync"), ("Application", "rollback")})
_PRUNE = Field("prune", "Delete what the source no longer has", choices=_NO)
_NAME = Field("name", "What it is called in commands (empty: by its own name)", required=False)
_DRY = Field("dry-run", "Only try, change nothing", choices=_NO)


def needs_live(kind: str, verb: str) -> bool:
    """Whether the choices of a verb's questions come from the live object."""
    return (kind, verb) in _LIVE


def fields(kind: str, verb: str, raw: dict[str, Any] | None = None) -> tuple[Field, ...]:
    """The questions before ``verb`` can be planned for an object of ``kind``.

    :param raw: the one object that it is about; None when there are several, or it can't be read: then choices are typed.
    """
    match kind, verb:
        case "Application", "sync":
            return _sync(raw)
        case "Application", "rollback":
            return _rollback(raw)
        case "Kustomization", "adopt":
            return Field("hold", "May this console keep it suspended between applies", choices=_yes_no()), _NAME
        case "Application", "adopt":
            return (_NAME,)
        case "Application", "automated-off":
            keep = Field("keep", "Keep prune and self-heal for later (enabled: false)", choices=_NO)
            return keep, REASON
        case "Application", "automated-on":
            return (
                Field("prune", "Delete what the source no longer has", choices=(("", "as before"), *_yes_no())),
                Field("self-heal", "Correct drift by itself", choices=(("", "as before"), *_yes_no())),
                REASON,
            )
        case _:
            return FIELDS.get(verb, ())


def _yes_no() -> tuple[tuple[str, str], ...]:
    return (("true", "yes"), ("false", "no"))


def _sync(raw: dict[str, Any] | None) -> tuple[Field, ...]:
    found = [
        _PRUNE,
        _DRY,
        Field("force", "Force: make again what can't be changed", choices=_NO),
        Field("replace", "Replace instead of patching", choices=_NO),
        Field("server-side", "Server-side apply", choices=_NO),
        Field("strategy", "Hooks", choices=(("", "run"), ("apply", "left out"))),
    ]
    if not items(raw, "spec", "sources"):
        found.append(Field("revision", "Which revision (empty: the newest)", required=False))
    if resources := tuple(_resource(item) for item in items(raw, "status", "resources") if not flag(item, "hook")):
        found.append(Field("resources", "Only these objects (none marked: all)", False, resources, several=True))
    return (*found, REASON)


def _resource(item: dict[str, Any]) -> tuple[str, str]:
    kind, name, namespace = text(item, "kind"), text(item, "name"), text(item, "namespace")
    path = f"{namespace}/{name}" if namespace else name
    state = ", ".join(word for word in (text(item, "status"), text(item, "health", "status")) if word)
    return f"{text(item, 'group')}:{kind}:{path}", sanitize(f"{kind} {path}{f'  {state}' if state else ''}")


def _rollback(raw: dict[str, Any] | None) -> tuple[Field, ...]:
    # Newest first, without the one that serves now; the first is what a rollback means when nothing is said.
    history = [_entry(item) for item in reversed(items(raw, "status", "history")[:-1])]
    entry = Field("id", "To which deployment", choices=tuple(history))
    typed = Field("id", "To which entry of the history (empty: the one before)", required=False)
    return (entry if history else typed, _PRUNE, _DRY, REASON)


def _entry(item: dict[str, Any]) -> tuple[str, str]:
    who = text(item, "initiatedBy", "username") or ("automated" if flag(item, "initiatedBy", "automated") else "")
    revision = text(item, "revision")[:8] or ", ".join(str(each)[:8] for each in items(item, "revisions"))
    when = text(item, "deployedAt").replace("T", " ").removesuffix("Z")[:16]
    identity = str(number(item, "id"))
    return identity, sanitize(f"{identity}: {revision}, {when}{f', {who}' if who else ''}")


def title(verb: str) -> str:
    """A verb as a title: ``Correct drift``."""
    return _TITLES.get(verb, verb.replace("-", " ").replace("_", " ").capitalize())
