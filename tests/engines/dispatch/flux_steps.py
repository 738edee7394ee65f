"""Steps of an operation on a Kustomization that many tests take."""

from __future__ import annotations

from console.engines.dispatch.constants import Reason, RequestOutcome
from console.engines.dispatch.types import Progress, Started
from tests.engines.dispatch.world import SHOP, Asking, C, Simulated, eventually


async def asked(world: Simulated, commit: str = C, reason: Reason = Reason.FOREIGN_COMMIT) -> Started:
    """An operation that was just started."""
    await world.push(commit)
    started = await world.client.request(SHOP, Asking(commit=commit, reason=reason).ask())
    assert started.outcome is RequestOutcome.RESUMED
    world.new_writes()
    return started


async def step(world: Simulated, started: Started) -> Progress:
    return await world.client.progress(SHOP, started)


async def handled(world: Simulated, token: str) -> None:
    await eventually(lambda: world.k["status"].get("lastHandledReconcileAt") == token)


def restarted(world: Simulated, started: Started, *, guards: bool = True) -> Started:
    """The handle that a new process makes from the record."""
    return Started(
        outcome=RequestOutcome.RESUMED,
        token=started.token,
        commit=started.commit,
        requested_at=started.requested_at,
        suspend_token=started.suspend_token,
        recovered=True,
        applier_uid=started.applier_uid if guards else "",
        guard_generation=started.guard_generation if guards else 0,
    )
