"""The waves and hooks of one Argo CD sync, one by one in the order in which they run. Pure.

Argo CD runs the phases PreSync, Sync and PostSync (SyncFail after a failure), and in each of them wave after wave. Its results
(``status.operationState.syncResult.resources``) name the phase and the hooks but no wave, and list an object only once its turn
has come. The wave of each object (annotation ``argocd.argoproj.io/sync-wave``) is in ``status.resources``, which also
tells what is still to come.
"""

from __future__ import annotations

from typing import Any

import msgspec

from console.kit.dig import dig, flag, items, number, text
from console.model.operations import State, StepView

PHASES = ("PreSync", "Sync", "PostSync", "SyncFail", "PostDelete")
_OF_HOOK = {
    "Running": State.RUNNING,
    "Succeeded": State.SUCCEEDED,
    "Failed": State.FAILED,
    "Error": State.FAILED,
    "Terminating": State.RUNNING,
}
_DONE = frozenset({"Synced", "Pruned", "PruneSkipped"})
_MOST = 8
"""A wave of more objects tells only those that are not done."""

Name = tuple[str, str, str, str]


class _Member(msgspec.Struct, frozen=True):
    """One object of a sync, or one hook."""

    phase: str
    wave: int
    kind: str
    path: str
    hook: bool
    state: State
    said: str


def tally(applier: dict[str, Any]) -> tuple[int, int]:
    """Objects of the sync that are done, and all; a sync lists those of later waves only when it comes to them."""
    plain = [item for item in _results(applier) if not text(item, "hookType")]
    return sum(text(item, "status") in _DONE for item in plain), len(plain)


def sync_waves(applier: dict[str, Any], *, running: bool) -> tuple[StepView, ...]:
    """A step for each wave with its hooks and objects under it.

    :param running: whether waves that have not begun will still come.
    """
    waves = {_name(item): number(item, "syncWave") or 0 for item in items(applier, "status", "resources")}
    members = [_member(item, waves.get(_name(item))) for item in _results(applier)]
    if running and members:
        members += _to_come(applier, {_name(item) for item in _results(applier)})
    places = sorted({(member.phase, member.wave) for member in members}, key=lambda place: (_order(place[0]), place[1]))
    several = {phase: sum(other == phase for other, _ in places) > 1 for phase, _ in places}
    steps: list[StepView] = []
    for phase, wave in places:
        group = [member for member in members if (member.phase, member.wave) == (phase, wave)]
        steps += _wave(phase, wave, group, named=several[phase] or wave != 0)
    return tuple(steps)


def _results(applier: dict[str, Any]) -> list[Any]:
    return items(applier, "status", "operationState", "syncResult", "resources")


def _name(item: Any) -> Name:
    return (text(item, "group"), text(item, "kind"), text(item, "namespace"), text(item, "name"))


def _order(phase: str) -> int:
    return PHASES.index(phase) if phase in PHASES else len(PHASES)


def _member(item: Any, wave: int | None) -> _Member:
    hook = text(item, "hookType")
    phase = text(item, "syncPhase") or (hook if hook in PHASES else "Sync")
    going = _OF_HOOK.get(text(item, "hookPhase"))
    if hook:
        state = going or State.PENDING
    elif text(item, "status") == "SyncFailed":
        state = State.FAILED
    elif text(item, "status") in _DONE:
        # An object may be synced and its wave still wait until it is healthy.
        state = State.RUNNING if going is State.RUNNING else State.SUCCEEDED
    else:
        state = going or State.PENDING
    path = "/".join(part for part in (text(item, "namespace"), text(item, "name")) if part)
    return _Member(phase, wave or 0, text(item, "kind"), path, bool(hook), state, text(item, "message"))


def _to_come(applier: dict[str, Any], listed: set[Name]) -> list[_Member]:
    """Objects whose wave has not begun. A sync of chosen objects or of changed ones only leaves the others out."""
    sync = dig(applier, "status", "operationState", "operation", "sync") or {}
    if items(sync, "resources"):
        return []
    changed_only = "ApplyOutOfSyncOnly=true" in items(sync, "syncOptions")
    found = []
    for item in items(applier, "status", "resources"):
        if _name(item) in listed or flag(item, "hook") or (changed_only and text(item, "status") == "Synced"):
            continue
        path = "/".join(part for part in (text(item, "namespace"), text(item, "name")) if part)
        found.append(_Member("Sync", number(item, "syncWave") or 0, text(item, "kind"), path, False, State.PENDING, ""))
    return found


def _wave(phase: str, wave: int, group: list[_Member], *, named: bool) -> list[StepView]:
    states = {member.state for member in group}
    if State.FAILED in states:
        state = State.FAILED
    elif states == {State.PENDING}:
        state = State.PENDING
    else:
        state = State.SUCCEEDED if states == {State.SUCCEEDED} else State.RUNNING
    done = sum(member.state is State.SUCCEEDED for member in group)
    key = f"run/{phase}.{wave}"
    title = f"{phase}, wave {wave}" if named else phase
    head = StepView(key=key, title=title, state=state, depth=2, detail=f"{done} of {len(group)}")
    told = [member for member in group if member.hook or len(group) <= _MOST or member.state is not State.SUCCEEDED]
    return [head, *(_view(key, member) for member in told)]


def _view(key: str, member: _Member) -> StepView:
    # A hook says how far it is; of an object there is only what its apply answered.
    going = (member.said or "it to end") if member.hook else "it to be healthy"
    waits = going if member.state is State.RUNNING else ""
    told = "" if member.state is State.SUCCEEDED or (member.hook and waits) else member.said
    return StepView(
        key=f"{key}/{'hook' if member.hook else 'object'}/{member.kind}/{member.path}",
        title=f"{'hook ' if member.hook else ''}{member.kind} {member.path}",
        state=member.state,
        depth=3,
        detail=told,
        waiting_for=waits,
    )
