"""Steps of an operation on an Application that many tests take."""

from __future__ import annotations

from console.engines.dispatch.constants import Reason
from console.engines.dispatch.types import Progress, Started
from tests.engines.dispatch.argo_world import APP, ArgoWorld
from tests.engines.dispatch.world import Asking, C, eventually


async def asked(world: ArgoWorld, asking: Asking | None = None) -> Started:
    return await world.client.request(APP, (asking or decision()).ask())


def decision(commit: str = C, reason: Reason = Reason.FOREIGN_COMMIT) -> Asking:
    return Asking(commit=commit, reason=reason)


async def step(world: ArgoWorld, started: Started) -> Progress:
    return await world.client.progress(APP, started)


async def to_the_end(world: ArgoWorld, started: Started, seconds: float = 120) -> Progress:
    async def look() -> Progress | None:
        progress = await step(world, started)
        return progress if progress.outcome.complete else None

    found: Progress = await eventually(look, seconds, every=1.0)
    return found


def after_restart(started: Started, *, guard: bool = True) -> Started:
    return Started(
        outcome=started.outcome,
        token=started.token,
        commit=started.commit,
        requested_at=started.requested_at,
        recovered=True,
        applier_uid=started.applier_uid,
        guard_resource_version=started.guard_resource_version if guard else "",
    )
