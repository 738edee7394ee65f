"""What verbs are called on the screen, and what must be asked before one can be planned."""

from __future__ import annotations

import msgspec


class Field(msgspec.Struct, frozen=True):
    """One question. ``name`` is the argument; ``reason`` is special: it goes into the journal with the intent."""

    name: str
    question: str
    required: bool = True


REASON = Field("reason", "Why (for the journal and for the others)", required=False)
FIELDS: dict[str, tuple[Field, ...]] = {
    "scale": (Field("replicas", "How many replicas"), REASON),
    "hold": (REASON, Field("until", "Until when, or for how long (14:00, 2h; empty: until released)", required=False)),
    "suspend": (REASON,),
    "rollback": (Field("revision", "To which revision (empty: the one before)", required=False), REASON),
    "image": (Field("image", "Which image"), REASON),
}
_TITLES = {
    "apply": "Apply what is wanted",
    "sync": "Sync now",
    "deploy": "Deploy",
    "reconcile": "Reconcile now",
    "refresh": "Look at the source again",
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


def title(verb: str) -> str:
    """A verb as a title: ``Correct drift``."""
    return _TITLES.get(verb, verb.replace("-", " ").replace("_", " ").capitalize())
