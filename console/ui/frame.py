"""What the frame says, as parts: where you are, what is fresh, whether you are armed, what can be pressed. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec
from rich.cells import cell_len

from console.model.connections import Connection, Phase
from console.model.health import Health
from console.ui.actions import Action, Registry, Situation
from console.ui.place import Place
from console.ui.text import Part, width
from console.views import formats, tables
from console.views.glyphs import GLYPHS

SHORT = {"triggers": "Trigg", "operations": "Oper", "stacks": "Stacks", "services": "Svcs", "activity": "Activ"}
_GROUPS = (
    ("live", "ok", GLYPHS[Health.OK], frozenset({Phase.LIVE})),
    ("polling", "busy", GLYPHS[Health.BUSY], frozenset({Phase.POLLING})),
    ("restricted", "warn", GLYPHS[Health.WARN], frozenset({Phase.RESTRICTED})),
    ("connecting", "busy", "◌", frozenset({Phase.CONNECTING})),
    ("stale", "warn", GLYPHS[Health.WARN], frozenset({Phase.STALE})),
    ("login expired", "bad", GLYPHS[Health.BAD], frozenset({Phase.LOGIN_EXPIRED})),
    ("changed", "bad", GLYPHS[Health.BAD], frozenset({Phase.IDENTITY_CHANGED})),
    ("gone", "bad", GLYPHS[Health.UNKNOWN], frozenset({Phase.UNREACHABLE})),
    ("idle", "muted", GLYPHS[Health.UNKNOWN], frozenset({Phase.IDLE})),
)


class Lock(msgspec.Struct, frozen=True):
    """The write lock of what one looks at: ``word`` for the title, whether it is open, and whether the target is protected."""

    word: str
    armed: bool = False
    protected: bool = False


def lock(connections: Iterable[Connection], now: datetime, *, read_only: bool) -> Lock:
    """What the title says about writing. An armed target is always named, wherever one looks."""
    armed = [item for item in connections if item.armed_until is not None and item.armed_until > now]
    if read_only:
        return Lock("read-only for good")
    if not armed:
        return Lock("read-only")
    left = min((item.armed_until - now).total_seconds() for item in armed if item.armed_until is not None)
    names = armed[0].ref.name if len(armed) == 1 else f"{len(armed)} targets"
    return Lock(f"ARMED {names} {formats.duration(int(left))}", True, any(item.protected for item in armed))


def freshness(connections: Iterable[Connection], *, brief: bool) -> list[Part]:
    """How many targets are live, polling, stale, gone..., each with its shape."""
    phases = [item.phase for item in connections]
    parts: list[Part] = []
    for word, tone, shape, members in _GROUPS:
        number = sum(phase in members for phase in phases)
        if number:
            parts.append(Part(f"{shape}{number} " if brief else f"{shape} {number} {word}  ", tone, action="view.connections"))
    return parts


def title(
    place: Place,
    connections: Sequence[Connection],
    now: datetime,
    state: Lock,
    room: int,
    notes: Sequence[Part] = (),
    protected: str = "",
) -> tuple[list[Part], list[Part]]:
    """The title bar: name and place on the left, freshness, lock and time on the right."""
    brief = room < 110
    table = tables.table(place.table)
    where = [Part(table.title.lower() if table else place.table)]
    for word in place.scope or (() if brief else ("all targets",)):
        where += [Part(" › ", "faint"), Part(word, "muted" if not place.scope else "accent")]
    if place.filter:
        where += [Part(" › ", "faint"), Part(f"/{place.filter}", "warn")]
    if place.problems:
        where += [Part(" › ", "faint"), Part("problems only", "warn")]
    lock_tone = "bad" if state.armed and state.protected else "warn" if state.armed else "muted"
    right = [
        *notes,
        *freshness(connections, brief=brief),
        *(
            [Part(f" ◆ {protected} protected", "held")]
            if protected and not brief
            else [Part(" ◆", "held")]
            if protected
            else []
        ),
        Part(f" {state.word} ", lock_tone, state.armed, "change.arm"),
        Part(" "),
        # Minutes: a clock that ticks would send something over an idle line every second.
        Part(now.strftime("%H:%M"), "muted"),
        Part(" "),
    ]
    return [Part(" ▟▙ ", "accent"), Part("quarterdeck", "accent", True), Part("  "), *where], right


class Count(msgspec.Struct, frozen=True):
    """The number beside a view: what needs attention, or (muted) all there is."""

    number: int = 0
    tone: str = "muted"


def view_tabs(place: Place, counts: Mapping[str, Count], keys: Mapping[str, str], room: int) -> list[Part]:
    """The six views with their keys and counts."""
    brief = room < 100
    parts = [Part(" ")]
    for name in tables.MAIN:
        here = name == place.table
        known = counts.get(name, Count())
        word = SHORT.get(name, name.capitalize()) if brief else tables.TABLES[name].title
        action = f"view.{name}"
        parts.append(Part(f"{keys.get(name, '')} ", "key" if here else "muted", action=action))
        parts.append(Part(word, "plain" if here else "muted", here, action))
        if known.number and name != "activity":
            parts.append(Part(f" {known.number}", known.tone, action=action))
        parts.append(Part("  " if brief else "   "))
    if place.table not in tables.MAIN and (table := tables.table(place.table)):
        parts.append(Part(f": {table.title}", "plain", True))
    return parts


def footer(registry: Registry, situation: Situation, room: int, marks: int = 0) -> tuple[list[Part], list[Part]]:
    """The keys that matter now; impossible ones are greyed, not hidden, so that nothing jumps about."""
    right = [Part(f"✓ {marks} marked ", "accent")] if marks else []
    left: list[Part] = [Part(" ")]

    def size(action: Action) -> int:
        return cell_len(registry.key(action.id)) + cell_len(action.footer) + 4

    for action in registry.footer(room - 1 - width(right), size):
        possible = not action.possible(situation)
        left.append(Part(registry.key(action.id), "key" if possible else "faint", possible, action.id))
        left.append(Part(f" {action.footer}   ", "muted" if possible else "faint", action=action.id))
    return left, right


def next_steps(registry: Registry, situation: Situation) -> list[Part]:
    """The changes that can be planned for the object now, for the end of its description."""
    parts: list[Part] = []
    for action in registry.all():
        if action.verbs and action.keys and not action.possible(situation):
            parts += [Part(registry.key(action.id), "key", True, action.id), Part(f" {action.title.lower()}   ", "muted")]
    return parts
