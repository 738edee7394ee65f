"""Stacks: what carries one namespace label, judged as one. What can't be read is never called missing, and never well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from console.backends.kube_common import sentence
from console.backends.swarm_objects import stack_ref
from console.model.convergence import Convergence, Step, worst_of
from console.model.docker import Stack, SwarmObject, SwarmService
from console.model.health import Health
from console.model.refs import Ref
from console.model.resource import Resource

_WORDS = {"SwarmNetwork": "networks", "SwarmConfig": "configs", "SwarmSecret": "secrets", "Volume": "volumes"}
_HEALTH = {Step.CONVERGED: Health.OK, Step.PROGRESSING: Health.BUSY, Step.WEDGED: Health.BAD}


class Judged(msgspec.Struct, frozen=True):
    """A service with the verdict on it."""

    service: SwarmService
    verdict: Convergence


def stacks(connection: str, services: Sequence[Judged], objects: Iterable[SwarmObject]) -> tuple[Stack, ...]:
    """All stacks of a swarm that could be read, by name. Only swarm-wide things make a stack: a compose project on the host
    has volumes and networks too, but no namespace label."""
    of_stack: dict[str, list[Judged]] = {}
    for judged in services:
        if judged.service.stack:
            of_stack.setdefault(judged.service.stack, []).append(judged)
    counts: dict[str, dict[str, int]] = {}
    refs: dict[str, list[Ref]] = {}
    for found in objects:
        if found.stack:
            kind = _WORDS[found.ref.kind]
            per_stack = counts.setdefault(found.stack, {})
            per_stack[kind] = per_stack.get(kind, 0) + 1
            refs.setdefault(found.stack, []).append(found.ref)
    names = sorted({*of_stack, *counts})
    return tuple(_stack(connection, name, of_stack.get(name, ()), counts.get(name, {}), refs.get(name, ())) for name in names)


def _stack(connection: str, name: str, services: Sequence[Judged], counts: Mapping[str, int], refs: Sequence[Ref]) -> Stack:
    common: dict[str, Any] = {
        "ref": stack_ref(connection, name),
        "related": (*(judged.service.ref for judged in services), *refs),
        **counts,
    }
    if not services:
        left = ", ".join(f"{count} {word if count > 1 else word[:-1]}" for word, count in sorted(counts.items()))
        return Stack(health=Health.WARN, reason=f"Nothing runs under its label; left over: {left}.", **common)
    culprit, verdict = worst_of((judged.service.ref.name, judged.verdict) for judged in services)
    well = sum(1 for judged in services if judged.verdict.step is Step.CONVERGED)
    reason = ""
    if verdict.step is not Step.CONVERGED:
        reason = f"Service {culprit}: {sentence(verdict.why)} {well} of {len(services)} services are well."
    updates = [judged.service.update for judged in services if judged.service.update not in ("", "completed")]
    return Stack(
        health=_HEALTH[verdict.step],
        reason=reason,
        created=min((judged.service.created for judged in services if judged.service.created), default=None),
        changed=max((judged.service.changed for judged in services if judged.service.changed), default=None),
        services=len(services),
        services_ok=well,
        tasks_wanted=sum(judged.service.wanted for judged in services),
        tasks_running=sum(judged.service.running for judged in services),
        update=updates[0] if updates else "",
        **common,
    )


def unreadable(resource: Resource, why: str) -> Resource:
    """The last good observation of something that can't be read now: kept, and not vouched for."""
    said = f"The swarm did not answer; health not known. {sentence(why)}".strip()
    if isinstance(resource, Stack):
        return msgspec.structs.replace(resource, health=Health.UNKNOWN, reason=said, unreadable=why)
    return msgspec.structs.replace(resource, health=Health.UNKNOWN, reason=said)
