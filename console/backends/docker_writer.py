"""The Docker side of the write path: reads what a plan needs, makes one call, looks at what came of it."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, Protocol

from console.backends import container_writes, swarm_writes
from console.errors import ApiError, Conflict, NotFound, Refused, WorldMoved
from console.model.plan import Intent, Plan, PlanStep
from console.model.refs import Ref


class Gone(Refused):
    """The object isn't there any more."""


class DockerWire(Protocol):
    """The calls of the Docker client that writing needs; it raises :mod:`console.errors` only."""

    async def get(self, path: str, params: dict[str, str] | None = None) -> Any:
        """The decoded answer."""
        ...

    async def post(self, path: str, params: dict[str, str] | None = None, json: Any = None, *, timeout: float = 30.0) -> Any:
        """The decoded answer, None for an empty one. Never sent twice."""
        ...


class DockerWriter:
    """Satisfies :class:`console.runtime.ports.Writes` for a swarm and a host."""

    def __init__(self, client: DockerWire) -> None:
        self._client = client

    def verbs(self, kind: str) -> tuple[str, ...]:
        """What can be planned for objects of this kind."""
        match kind:
            case "SwarmService":
                return swarm_writes.SERVICE_VERBS
            case "SwarmNode":
                return swarm_writes.NODE_VERBS
            case "Container":
                return container_writes.VERBS
            case _:
                return ()

    async def plan(self, intent: Intent) -> Plan:
        """Read the objects and say what would be done."""
        objects = {ref: await self._read(ref) for ref in intent.targets}
        if intent.targets[0].kind == "Container":
            return container_writes.plan_containers(intent, objects, socket.gethostname())
        nodes = await self._client.get("/nodes") if intent.targets[0].kind == "SwarmNode" else []
        return swarm_writes.plan_swarm(intent, objects, nodes)

    async def execute(self, step: PlanStep) -> str:
        """Make the one call, if the object is still the one that was planned for."""
        raw = await self._read(step.ref)
        call = str(step.request["call"])
        if step.ref.kind == "Container":
            now = container_writes.facts(raw)
            for fact, then in step.precondition.items():
                if now[fact] != then:
                    raise WorldMoved(f"{step.ref.name}: {fact} is {now[fact]} now, it was {then}.", "Plan again.")
            # The engine answers a stop when it is done: after the grace period at the latest.
            patience = 30.0 + (container_writes.grace(raw) if call != "start" else 0)
            await self._client.post(f"/containers/{step.precondition['id']}/{call}", timeout=patience)
            return f"the engine took {call}"
        version = step.precondition["Version.Index"]
        params = {"version": version}
        if step.ref.kind == "SwarmNode":
            path = f"/nodes/{step.precondition['id']}/update"
        else:
            path = f"/services/{step.precondition['id']}/update"
            params["registryAuthFrom"] = "spec"
            if call == "rollback":
                params |= {"rollback": "previous", "registryAuthFrom": "previous-spec"}
        if str(raw.get("Version", {}).get("Index")) != version:
            raise WorldMoved(f"{step.ref.name} was changed by somebody else since it was planned.", "Plan again.")
        try:
            await self._client.post(path, params, json=swarm_writes.updated_spec(raw, dict(step.request)))
        except Conflict as error:
            raise WorldMoved(f"{step.ref.name} was changed by somebody else in this moment.", "Plan again.") from error
        except ApiError as error:
            # Engines before 23 answer an outdated version with 500 and this text, not with 409.
            if "update out of sequence" in error.message:
                raise WorldMoved(f"{step.ref.name} was changed by somebody else in this moment.", "Plan again.") from error
            raise
        return "the swarm took it"

    async def applied(self, step: PlanStep) -> bool | None:
        """Whether a write whose answer was lost is there. A container may take its grace period to show it."""
        try:
            raw = await self._read(step.ref)
            if step.ref.kind == "Container":
                return await self._shows(raw, step)
        except Refused:
            return True if step.request.get("removes") else None
        return swarm_writes.arrived(raw, step)

    async def _shows(self, raw: dict[str, Any], step: PlanStep) -> bool | None:
        loop = asyncio.get_running_loop()
        slow = container_writes.grace(raw) if step.request["call"] != "start" else 0
        deadline = loop.time() + slow + container_writes.MARGIN_SECONDS
        while (there := container_writes.arrived(raw, step)) is not True and loop.time() < deadline:
            await asyncio.sleep(0.5)
            raw = await self._read(step.ref)
        return there

    async def observe(self, plan: Plan) -> tuple[bool, str]:
        """Whether everything that the plan wanted runs; raises ``Refused`` when it ended badly."""
        said = []
        for step in plan.steps:
            complete, words = await self._progress(step)
            if not complete:
                return False, words
            said.append(words)
        return True, "; ".join(said[:3]) + (f" and {len(said) - 3} more" if len(said) > 3 else "")

    async def _progress(self, step: PlanStep) -> tuple[bool, str]:
        identity = step.precondition["id"]
        match step.ref.kind:
            case "Container":
                try:
                    return container_writes.progress(await self._read(step.ref), step)
                except Gone:
                    if step.request.get("removes"):
                        return True, f"{step.ref.name} is stopped and removed"
                    raise
            case "SwarmNode":
                filters = f'{{"node":["{identity}"],"desired-state":["running","shutdown"]}}'
                return swarm_writes.drained(await self._client.get("/tasks", {"filters": filters}), step)
            case _:
                found = await self._client.get("/services", {"filters": f'{{"id":["{identity}"]}}', "status": "true"})
                if not found:
                    raise Refused(f"{step.ref.name} was removed meanwhile.")
                return swarm_writes.progress(found[0], await self._tasks(step), step)

    async def _tasks(self, step: PlanStep) -> list[dict[str, Any]]:
        """The tasks that shall run, where only they show whether a restart is over."""
        if step.request["call"] != "force":
            return []
        filters = f'{{"service":["{step.precondition["id"]}"],"desired-state":["running"]}}'
        found: list[dict[str, Any]] = await self._client.get("/tasks", {"filters": filters})
        return found

    async def _read(self, ref: Ref) -> dict[str, Any]:
        folder = {"SwarmService": "services", "SwarmNode": "nodes", "Container": "containers"}.get(ref.kind)
        if folder is None:
            raise Refused(f"{ref.kind} can't be written.")
        suffix = "/json" if folder == "containers" else ""
        try:
            raw: dict[str, Any] = await self._client.get(f"/{folder}/{ref.uid or ref.name}{suffix}")
        except NotFound as error:
            raise Gone(f"{ref.kind} {ref.name} is gone.", "It was removed since it was shown.") from error
        return raw
