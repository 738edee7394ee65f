"""A Docker engine as a live source: its containers, and its swarm if it manages one.

An engine tells what happens, not what is: so everything is read once, events say which reading is old, and a slow re-read
catches what no event told. Groups are read independently: a swarm that lost its quorum hangs, while the host's containers
stay live.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from console.backends.containers import sample
from console.backends.docker_events import RecentEvents, event, is_noise, topics
from console.backends.docker_logs import docker_log
from console.backends.docker_objects import raw_object
from console.backends.docker_wire import EngineSummary, Volumes, WireNetwork
from console.backends.docker_writer import DockerWriter
from console.backends.host_picture import HostPicture
from console.backends.reading import Reading, all_of
from console.backends.swarm_picture import ALL_AGAIN, OBJECT_KINDS, SNAPSHOT, SNAPSHOT_KINDS, SwarmPicture, not_a_manager
from console.backends.swarm_wire import WireFile, WireNode, WireService, WireTask
from console.clients.docker import DockerClient
from console.errors import Interrupted, NotServed
from console.kit.supervisor import cancel, together
from console.model.connections import Identity
from console.model.docker import Sample
from console.model.kubernetes import LogLine, LogQuery
from console.model.plan import Intent, Plan, PlanStep
from console.model.refs import Ref
from console.model.resource import Change, KindState, Listed, Removed, Upserted

HISTORY = 3600
"""Seconds of the past that are asked for when the event stream begins."""
_INFO = msgspec.json.Decoder(EngineSummary)
_VOLUMES = msgspec.json.Decoder(Volumes)
_LISTS: dict[str, tuple[str, dict[str, Any], msgspec.json.Decoder[Any]]] = {
    "services": ("/services", {}, msgspec.json.Decoder(list[WireService])),
    "tasks": ("/tasks", {}, msgspec.json.Decoder(list[WireTask])),
    "nodes": ("/nodes", {}, msgspec.json.Decoder(list[WireNode])),
    "networks": ("/networks", {}, msgspec.json.Decoder(list[WireNetwork])),
    "configs": ("/configs", {}, msgspec.json.Decoder(list[WireFile])),
    "secrets": ("/secrets", {}, msgspec.json.Decoder(list[WireFile])),
}
_SWARM_TOPICS = ("configs", "secrets")
_HOST_TOPICS = ("networks", "volumes")


class DockerBackend:
    """One engine."""

    kinds = frozenset({*SNAPSHOT_KINDS, *OBJECT_KINDS.values(), "Container", "Event", "Operation"})

    def __init__(self, name: str, client: DockerClient) -> None:
        self.endpoint = client.endpoint.label
        self._name = name
        self._client = client
        self._writer = DockerWriter(client)
        self._manager = False
        self._swarm_header = ""
        self._skew = timedelta()
        self._picture = SwarmPicture(name)
        self._host = HostPicture(name, client)
        self._recent = RecentEvents()
        self._emit: Callable[[Change], None] = _nobody
        self._heard: Callable[[], None] = _nothing

    async def connect(self) -> Identity:
        """Agree on a version; the identity is the swarm's id on a manager, else the engine's."""
        pong = await self._client.ping()
        self._swarm_header = pong.swarm
        self._skew = pong.at - datetime.now(UTC) if pong.at else timedelta()
        info = (await self._client.request("GET", "/info", timeout=15)).decode(_INFO)
        self._manager = info.swarm.control_available
        server = f"Docker {info.server_version} on {info.name}".strip()
        if not self._manager:
            return Identity(info.id, ("host",), server)
        # Without a quorum a manager doesn't know its swarm's id: that is no other identity, only an unknown one.
        return Identity(info.swarm.cluster.id if info.swarm.cluster else "", ("swarm", "host"), server)

    async def ping(self) -> None:
        """A sign of life; raises :class:`Interrupted` when the engine's part in a swarm has changed."""
        pong = await self._client.ping()
        if pong.swarm != self._swarm_header:
            raise Interrupted(f"{self.endpoint} is {pong.swarm} now, it was {self._swarm_header}.", "It is read anew.")

    def want(self, kinds: frozenset[str]) -> None:
        """All kinds of an engine are always watched: they are few and told together."""

    async def watch(self, emit: Callable[[Change], None], heard: Callable[[], None]) -> None:
        """Keep everything true until cancelled."""
        self._emit, self._heard = emit, heard
        readings = self._readings()
        if not self._manager:
            for change in not_a_manager(self._name, "This engine manages no swarm."):
                emit(change)
        tasks = [asyncio.create_task(one.run(), name=f"{one.name} of {self._name}") for one in readings]
        tasks.append(asyncio.create_task(self._events(readings), name=f"events of {self._name}"))
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel(tasks)
            self._emit = _nobody
        for task in done:
            task.result()
        raise Interrupted(f"{self.endpoint}: a stream ended without a word.")

    async def close(self) -> None:
        """Give back every connection."""
        await self._client.close()

    async def raw(self, ref: Ref) -> dict[str, Any]:
        """The whole object as the engine has it; a config's content stays where it is."""
        return await raw_object(self._client, ref)

    async def log_sources(self, ref: Ref) -> tuple[str, ...]:
        """An engine's logs have one source each."""
        return ()

    async def logs(self, ref: Ref, query: LogQuery) -> AsyncGenerator[LogLine, None]:
        """Lines of a container, a task, or all tasks of a service."""
        async with aclosing(docker_log(self._client, ref, query, self._picture.task_name)) as lines:
            async for line in lines:
                yield line

    async def stats(self, ref: Ref) -> AsyncGenerator[Sample, None]:
        """About one sample a second of a running container."""
        if ref.kind != "Container":
            raise NotServed(f"{ref.kind} can't be measured.")
        async with aclosing(self._client.stats(ref.uid or ref.name)) as lines:
            async for line in lines:
                yield sample(ref, line)

    def verbs(self, kind: str) -> tuple[str, ...]:
        """What can be planned for objects of this kind."""
        return self._writer.verbs(kind)

    async def plan(self, intent: Intent) -> Plan:
        """What would be done."""
        return await self._writer.plan(intent)

    async def execute(self, step: PlanStep) -> str:
        """Make one write."""
        return await self._writer.execute(step)

    async def applied(self, step: PlanStep) -> bool | None:
        """Whether a write whose answer was lost is there."""
        return await self._writer.applied(step)

    async def observe(self, plan: Plan) -> tuple[bool, str]:
        """Whether the effect of a plan is complete."""
        return await self._writer.observe(plan)

    def _now(self) -> datetime:
        """The engine's present: ages of tasks are differences of its own times."""
        return datetime.now(UTC) + self._skew

    def _readings(self) -> list[Reading]:
        readings = [
            Reading(
                "containers",
                ("containers",),
                self._read_containers,
                all_of(("containers",), ALL_AGAIN),
                self._failing(("Container",)),
            )
        ]
        for topic in (*_HOST_TOPICS, *(_SWARM_TOPICS if self._manager else ())):
            failing = self._failing((OBJECT_KINDS[topic],))
            # A manager without a quorum can't say which networks the swarm has.
            hangs = self._manager and topic != "volumes"
            readings.append(Reading(topic, (topic,), self._read_objects, all_of((topic,), ALL_AGAIN), failing, may_hang=hangs))
        if self._manager:
            readings.append(
                Reading(
                    "swarm",
                    SNAPSHOT,
                    self._read_swarm,
                    lambda: self._picture.due(self._now()),
                    lambda state, why: self._tell(self._picture.fail(state, why)),
                    may_hang=True,
                )
            )
        return readings

    def _failing(self, kinds: tuple[str, ...]) -> Callable[[str, str], None]:
        return lambda state, why: self._tell([KindState(self._name, kind, state, why) for kind in kinds])

    def _tell(self, changes: list[Change]) -> None:
        for change in changes:
            self._emit(change)

    async def _read_swarm(self, wanted: frozenset[str]) -> None:
        """One snapshot: when a part of it can't be read, none of it was."""
        names = sorted(wanted)
        for topic, wires in zip(names, await together(*(self._list(topic) for topic in names)), strict=True):
            self._picture.put(topic, wires)
        self._tell(self._picture.complete(self._now(), wanted))

    async def _read_objects(self, wanted: frozenset[str]) -> None:
        for topic in wanted:
            self._tell(self._picture.objects(topic, await self._list(topic)))

    async def _read_containers(self, _: frozenset[str]) -> None:
        async with aclosing(self._host.read()) as steps:
            async for changes in steps:
                self._heard()
                self._tell(changes)

    async def _list(self, topic: str) -> list[Any]:
        if topic == "volumes":
            found = (await self._client.request("GET", "/volumes")).decode(_VOLUMES).volumes or []
            self._heard()
            return found
        path, params, decoder = _LISTS[topic]
        answer: list[Any] = (await self._client.request("GET", path, params)).decode(decoder)
        self._heard()
        return answer

    async def _events(self, readings: list[Reading]) -> None:
        began = self._now()
        since = str(int((began - timedelta(seconds=HISTORY)).timestamp()))
        self._tell([Listed(self._name, "Event", self._recent.events)])
        async with aclosing(self._client.events(since, heard=self._heard)) as told:
            async for raw in told:
                if is_noise(raw):
                    continue
                found = event(self._name, raw)
                new, gone = self._recent.add(found)
                if not new:
                    continue
                self._tell([Upserted(found), *(Removed(ref) for ref in gone)])
                if found.at < began - timedelta(seconds=2):
                    continue
                if raw.get("Type") == "container":
                    self._host.changed(found.about.uid)
                for reading in readings:
                    reading.touch(topics(raw))


def _nobody(_: Change) -> None:
    return None


def _nothing() -> None:
    return None
