"""The last snapshot of a swarm, what it means now, and when that may change by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from console.backends.docker_wire import WireNetwork, WireVolume
from console.backends.stack_objects import Judged, stacks, unreadable
from console.backends.swarm_objects import file, network, node, operation, service, service_ref, task, volume
from console.backends.swarm_states import FAILED, JOB_PROOF, mode_of, schedulable, slots_of, state_of
from console.backends.swarm_wire import WireFile, WireNode, WireService, WireTask
from console.kit.timing import backoff
from console.model.convergence import Convergence, Step, converge
from console.model.docker import SwarmObject
from console.model.operations import seen_on
from console.model.resource import Change, KindState, Listed, Removed, Resource, Upserted

SNAPSHOT = frozenset({"services", "tasks", "nodes"})
SNAPSHOT_KINDS = ("SwarmService", "Task", "SwarmNode", "Stack")
OBJECT_KINDS = {"networks": "SwarmNetwork", "configs": "SwarmConfig", "secrets": "SwarmSecret", "volumes": "Volume"}
ALL_AGAIN = 60.0
"""Seconds after which everything is read again, whatever was told."""
TASKS_AGAIN = 10.0
"""Seconds after which tasks are read again: they have no events of their own, and most run on other nodes."""
_UNREST_FIRST, _UNREST_MOST = 1.0, 15.0


class SwarmPicture:
    """What one swarm is, from its last readings. Times are those of the engine."""

    def __init__(self, connection: str) -> None:
        self._connection = connection
        self._services: Sequence[WireService] = ()
        self._tasks: Sequence[WireTask] = ()
        self._nodes: Sequence[WireNode] = ()
        self._objects: dict[str, tuple[SwarmObject, ...]] = {}
        self._judged: tuple[Judged, ...] = ()
        self._last: dict[str, tuple[Resource, ...]] = {}
        self._dead_since: dict[str, datetime] = {}
        self._verdicts: dict[str, Convergence] = {}
        self._versions: dict[str, int] = {}
        self._read_all: datetime | None = None
        self._readable = False
        self._unrest: Iterator[float] = backoff(_UNREST_FIRST, 1.5, _UNREST_MOST)

    def put(self, topic: str, wires: Sequence[Any]) -> None:
        """One part of the snapshot was read."""
        match topic:
            case "services":
                self._services = wires
            case "tasks":
                self._tasks = wires
            case "nodes":
                self._nodes = wires

    def complete(self, now: datetime, topics: frozenset[str]) -> list[Change]:
        """The snapshot is whole again after these topics were read: what it means."""
        if topics >= SNAPSHOT:
            self._read_all = now
        self._readable = True
        return self.judge(now)

    def judge(self, now: datetime) -> list[Change]:
        """What the snapshot means now. Time alone can change it; nothing is read."""
        if not self._readable:
            return []
        nodes = schedulable(self._nodes)
        of_service: dict[str, list[WireTask]] = {}
        for found in self._tasks:
            of_service.setdefault(found.service_id, []).append(found)
        judged, tasks, changes, verdicts = [], [], list[Change](), dict[str, Convergence]()
        hostnames = {found.id: found.description.hostname for found in self._nodes}
        dead: dict[str, datetime] = {}
        for wire in self._services:
            slots = slots_of(wire, of_service.get(wire.id, ()))
            if mode_of(wire) == "replicated-job":
                dead |= {t.id: self._dead_since.get(t.id, now) for t in slots.newest if t.status.state in FAILED}
            state = state_of(wire, slots, nodes, now, dead)
            verdicts[wire.id] = verdict = converge(state)
            judged.append(Judged(service(self._connection, wire, state, verdict), verdict))
            ref = service_ref(self._connection, wire)
            for history in slots.by_slot.values():
                tasks += [task(self._connection, t, ref, hostnames.get(t.node_id, ""), newest=t is history[0]) for t in history]
            running = operation(self._connection, wire)
            changes.append(Upserted(running) if running is not None else Removed(seen_on(ref)))
        versions = {wire.id: wire.version.index for wire in self._services}
        if versions != self._versions:
            # Somebody wrote. That tasks come and go is no reason: those of a broken service do so for ever.
            self._versions = versions
            self._unrest = backoff(_UNREST_FIRST, 1.5, _UNREST_MOST)
        self._dead_since, self._verdicts, self._judged = dead, verdicts, tuple(judged)
        counts: dict[str, int] = {}
        for found in self._tasks:
            if found.status.state == "running":
                counts[found.node_id] = counts.get(found.node_id, 0) + 1
        self._last["SwarmService"] = tuple(entry.service for entry in judged)
        self._last["Task"] = tuple(tasks)
        self._last["SwarmNode"] = tuple(node(self._connection, wire, counts.get(wire.id, 0)) for wire in self._nodes)
        changes += [Listed(self._connection, kind, self._last[kind]) for kind in SNAPSHOT_KINDS[:3]]
        changes.append(KindState(self._connection, "Operation", "listed"))
        return [*changes, *self._stacks()]

    def fail(self, state: str, why: str) -> list[Change]:
        """The snapshot can't be read: what was seen last is kept, and not vouched for."""
        self._readable = False
        changes: list[Change] = [
            Upserted(unreadable(resource, why)) for kind in SNAPSHOT_KINDS for resource in self._last.get(kind, ())
        ]
        return [*changes, *(KindState(self._connection, kind, state, why) for kind in (*SNAPSHOT_KINDS, "Operation"))]

    def objects(self, topic: str, wires: Sequence[Any]) -> list[Change]:
        """Networks, configs, secrets or volumes were read."""
        kind = OBJECT_KINDS[topic]
        self._objects[kind] = found = tuple(self._object(kind, wire) for wire in wires)
        return [Listed(self._connection, kind, found), *(self._stacks() if self._readable else ())]

    def due(self, now: datetime) -> tuple[float, frozenset[str]]:
        """When to look again, and at what. With everything well only tasks are looked at, now and then everything.

        While a service is on its way its tasks are looked at ever more seldom: one that never gets there must not keep a
        manager busy.
        """
        again = [verdict.again_in for verdict in self._verdicts.values() if verdict.again_in is not None]
        for since in self._dead_since.values():
            left = JOB_PROOF - (now - since).total_seconds()
            if left > 0:
                again.append(left)
        whole = ALL_AGAIN if self._read_all is None else ALL_AGAIN - (now - self._read_all).total_seconds()
        if whole <= TASKS_AGAIN:
            return max(whole, 1.0), SNAPSHOT
        pause, topics = TASKS_AGAIN, frozenset({"tasks"})
        if any(verdict.step is not Step.CONVERGED and verdict.again_in is None for verdict in self._verdicts.values()):
            pause, topics = next(self._unrest), frozenset({"services", "tasks"})
        if again and min(again) < pause:
            return min(again) + 0.1, frozenset({"tasks"})
        return pause, topics

    def task_name(self, identity: str) -> str:
        """What a task is called on the screen."""
        return next((found.ref.name for found in self._last.get("Task", ()) if found.ref.uid == identity), identity[:12])

    def _object(self, kind: str, wire: WireNetwork | WireVolume | WireFile) -> SwarmObject:
        if isinstance(wire, WireNetwork):
            return network(self._connection, wire)
        if isinstance(wire, WireVolume):
            return volume(self._connection, wire)
        return file(self._connection, kind, wire)

    def _stacks(self) -> list[Change]:
        everything = [found for kind in OBJECT_KINDS.values() for found in self._objects.get(kind, ())]
        self._last["Stack"] = found = stacks(self._connection, self._judged, everything)
        return [Listed(self._connection, "Stack", found)]


def not_a_manager(connection: str, why: str) -> list[Change]:
    """What an engine that is no manager has of a swarm: nothing to see."""
    changes: list[Change] = []
    for kind in (*SNAPSHOT_KINDS, "SwarmConfig", "SwarmSecret"):
        changes += [Listed(connection, kind, ()), KindState(connection, kind, "not served", why)]
    return [*changes, KindState(connection, "Operation", "listed")]
