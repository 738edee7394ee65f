"""Keeps every declared Kustomization suspended, whoever resumes it, with as few requests as that takes.

At rest one list a round tells that nothing has changed since each hold was last seen to be complete. Nothing is ever done by a
list: what looks different is read live, and kept by what that read says.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping

from console.engines.dispatch.constants import ConditionReason
from console.engines.dispatch.holding import Following
from console.engines.dispatch.local import Declarations, LocalTrigger
from console.engines.dispatch.local_triggers import LocalTriggers
from console.engines.dispatch.many import Lists, Name
from console.engines.dispatch.types import TriggerRef
from console.engines.ports.applier import KUSTOMIZATIONS, Objects
from console.errors import NotFound, QuarterdeckError
from console.kit.timing import Wakeable

KEEP_SECONDS = 10.0
"""How often holds are looked at when nothing is known to have changed: whoever resumes one by hand is noticed within this."""

SOON_SECONDS = 2.0
"""Before the next look at a hold that is not complete, and after a failed one."""

_LEAST_PAUSE = 0.01
"""A pause as short as the clock can tell would come back before what it waits for is due."""

_AT_ONCE = 8
"""So many live reads are under way at a time."""


class HoldRounds:
    """One per cluster. ``run()`` never ends by itself.

    ``turns``: keeping a hold and handing it back are steps of several calls each; between them neither must see half of the
    other. One at a time for each trigger.
    """

    def __init__(self, objects: Objects, local: LocalTriggers, declarations: Declarations, following: Following) -> None:
        self._objects = objects
        self._local = local
        self._declarations = declarations
        self._following = following
        self._lists = Lists()
        self._settled: dict[TriggerRef, str] = {}
        self._suspects: set[TriggerRef] = set()
        self._due: dict[TriggerRef, float] = {}
        self._next_list = 0.0
        self._wake = Wakeable()
        self.turns: defaultdict[TriggerRef, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(1))

    def suspect(self, namespace: str, name: str) -> None:
        """This Kustomization may have changed: if it is declared, look at it at once, not at the next round."""
        trigger = self._declarations.of_applier(KUSTOMIZATIONS.kind, namespace, name)
        # One that is looked at soon anyway is not looked at more often for what the engine itself does to it.
        if trigger is not None and trigger.ref.key not in self._due:
            self._suspects.add(trigger.ref.key)
            self._wake.wake()

    async def run(self) -> None:
        """Keep what is held suspended."""
        while True:
            await self._wake.sleep(max(await self._round(), _LEAST_PAUSE))

    async def _round(self) -> float:
        """One round; returns seconds until the next one is due."""
        loop = asyncio.get_running_loop()
        wanted = self._wanted()
        if loop.time() >= self._next_list:
            try:
                self._suspects |= await self._differing(wanted)
                self._next_list = loop.time() + KEEP_SECONDS
            except QuarterdeckError:
                # The cluster can't be read now; the connection's own state says so.
                self._next_list = loop.time() + SOON_SECONDS
        due = {key for key, at in self._due.items() if at <= loop.time()}
        looked, self._suspects = self._suspects | due, set()
        await self._look_at([wanted[key] for key in looked if key in wanted])
        self._due = {key: at for key, at in self._due.items() if key in wanted}
        return min([self._next_list, *self._due.values()]) - loop.time()

    def _wanted(self) -> dict[TriggerRef, LocalTrigger]:
        return {trigger.ref.key: trigger for trigger in self._declarations.all() if trigger.kind == KUSTOMIZATIONS.kind}

    async def _differing(self, wanted: Mapping[TriggerRef, LocalTrigger]) -> set[TriggerRef]:
        """Whatever is not, or can't be told to be, as it was when its hold was last complete."""
        keys = {(trigger.namespace, trigger.name): key for key, trigger in wanted.items()}

        async def fetch(namespace: str) -> Mapping[Name, str]:
            return await self._objects.versions(KUSTOMIZATIONS, namespace)

        found, single = await self._lists.read(keys, fetch)
        differing = {keys[name] for name, version in found.items() if self._settled.get(keys[name]) != version}
        return differing | {keys[name] for name in single}

    async def _look_at(self, triggers: list[LocalTrigger]) -> None:
        room = asyncio.Semaphore(_AT_ONCE)

        async def look(trigger: LocalTrigger) -> None:
            async with room, self.turns[trigger.ref.key]:
                await self._keep(trigger)

        async with asyncio.TaskGroup() as group:
            for trigger in triggers:
                group.create_task(look(trigger))

    async def _keep(self, trigger: LocalTrigger) -> None:
        key = trigger.ref.key
        self._due.pop(key, None)
        self._settled.pop(key, None)
        soon = asyncio.get_running_loop().time() + SOON_SECONDS
        try:
            kept = await self._local.keep(trigger, self._following)
        except NotFound:
            # Nothing to keep; when it is made (again), a list shows it.
            return
        except QuarterdeckError:
            self._due[key] = soon
            return
        if not kept.again:
            self._settled[key] = kept.version
        elif kept.condition.reason is not ConditionReason.APPLYING:
            # Whoever follows an operation reads all the time; the next list is early enough for the end of it.
            self._due[key] = soon
