"""A process that is nothing but a dispatch engine with its journal and one apply: `python -m tests.crash.engine_child ORDER`.

It is killed from outside at a request on the wire, or kills itself (-9) before or after one of its journal's writes.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from console.backends.dispatch_objects import ClusterObjects
from console.clients.endpoint import Endpoint
from console.clients.kubernetes import KubernetesClient
from console.engines.dispatch.constants import EventReason, Reason, Timing
from console.engines.dispatch.local import LocalTrigger
from console.engines.dispatch.requests import Report
from console.engines.dispatch.types import Binding, TargetRef, TriggerRef
from console.journal.journal import Journal
from console.journal.records import Who
from console.kit.timing import SystemClock
from console.runtime.cluster_engine import ClusterEngine

# What a killed process has sent arrives at once here.
HASTY = Timing(poll_interval=0.2, status_retry_interval=0.2, late_write_grace=5)


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """An apply of `commit` on one applier, reached at `address`, journaled in the folder `state`.

    `point`: `before 3` or `after 3`, of the journal's writes; "" for none.
    """

    address: str
    token: str
    kind: str
    namespace: str
    name: str
    url: str
    state: str
    commit: str = ""
    point: str = ""

    def trigger(self, engine: ClusterEngine) -> LocalTrigger:
        return LocalTrigger(
            cluster=engine.local_cluster,
            cluster_uid=engine.cluster_uid,
            kind=self.kind,
            namespace=self.namespace,
            name=self.name,
            binding=Binding(self.url, "main"),
            hold=self.kind == "Kustomization",
        )


class MortalJournal(Journal):
    """A journal that counts what the engine writes into it, and ends its process at one of these."""

    point = ""
    count = 0

    async def dispatched(self, applier: str, token: str, record: bytes) -> None:
        self.count += 1
        self._die(f"before {self.count}")
        await super().dispatched(applier, token, record)
        self._die(f"after {self.count}")

    def _die(self, here: str) -> None:
        if here == self.point:
            os.kill(os.getpid(), signal.SIGKILL)


class Silence:
    """Events go nowhere."""

    def event(self, trigger: TriggerRef, target: TargetRef, reason: EventReason, message: str) -> None:
        return None


@asynccontextmanager
async def engine_of(order: Order) -> AsyncIterator[tuple[ClusterEngine, LocalTrigger]]:
    """A running engine that drives the applier, and takes up what another one left."""
    Path(order.state).mkdir(parents=True, exist_ok=True)
    journal = await MortalJournal.open(Path(order.state) / "journal.sqlite3", SystemClock(), Who(user="ops", host="bastion"))
    assert isinstance(journal, MortalJournal)
    journal.point = order.point
    client = KubernetesClient(Endpoint(base_url=order.address, headers=(("Authorization", f"Bearer {order.token}"),)))
    engine = ClusterEngine("it", "uid", ClusterObjects(client), journal, Silence(), SystemClock(), "it", HASTY)
    trigger = order.trigger(engine)
    assert not engine.declarations.adopt(trigger)
    engine.start()
    try:
        yield engine, trigger
    finally:
        await engine.stop()
        await client.close()
        await journal.close()


async def carry_out(order: Order) -> str:
    """Ask, follow to the end, and wait until the end is on the applier."""
    async with engine_of(order) as (engine, trigger):
        last: asyncio.Future[Report] = asyncio.get_running_loop().create_future()

        def heard(report: Report) -> None:
            if report.last and not last.done():
                last.set_result(report)

        target = TargetRef(trigger.namespace, trigger.name)
        engine.request(trigger.ref, trigger.key, trigger.binding, order.commit, Reason.REPAIR, (target,), report=heard)
        report = await last
        if report.operation is None:
            return f"nothing was asked: {report.error}"
        while (record := (await engine.store.local_record(trigger.ref)).operation) is None or record.in_flight:
            await asyncio.sleep(0.1)
        return record.outcome.value


if __name__ == "__main__":
    print(asyncio.run(carry_out(msgspec.json.decode(sys.argv[1], type=Order))))
