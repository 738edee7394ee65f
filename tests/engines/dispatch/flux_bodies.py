"""Bodies of tests that interfere with Flux by ordinary means only: they run on simulated and on real controllers alike.

Each takes a :class:`~tests.engines.dispatch.world.FluxWorld` whose Kustomization ``shop`` has applied a first commit and is
not suspended. A world provides everything; a body waits for conditions and never for a fixed time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from console.engines.dispatch.constants import REQUESTED_AT, Outcome, Reason, RequestOutcome
from console.engines.dispatch.flux import FluxClient
from console.engines.dispatch.flux_reading import annotation, artifact_revision, last_handled, suspend_owners, suspended
from console.engines.dispatch.types import Progress, Started
from console.engines.ports.applier import KUSTOMIZATIONS
from console.errors import QuarterdeckError
from tests.engines.dispatch.world import Asking, FluxWorld, eventually

Body = Callable[[FluxWorld], Awaitable[None]]
BODIES: list[Any] = []


def body(*ids: str) -> Callable[[Body], Body]:
    """Register a body and the rules that it holds."""

    def register(function: Body) -> Body:
        marks = pytest.mark.scenario(*(f"dispatch:{id_}" for id_ in ids)) if ids else ()
        BODIES.append(pytest.param(function, marks=marks, id=function.__name__))
        return function

    return register


async def hold(world: FluxWorld) -> FluxClient:
    """Take ``shop`` into hold, and wait until that is handled."""
    await world.client.suspend(world.name)

    async def complete() -> bool:
        return (await world.client.suspension(world.name)).complete

    await eventually(complete)
    return world.client


async def ask(world: FluxWorld, commit: str, reason: Reason = Reason.FOREIGN_COMMIT) -> Started:
    return await world.client.request(world.name, Asking(world.token(), commit, reason).ask(world.binding))


async def end(world: FluxWorld, started: Started) -> Progress:
    async def look() -> Progress | None:
        progress = await world.client.progress(world.name, started)
        return progress if progress.outcome.complete else None

    found: Progress = await eventually(look, 120, every=1)
    return found


async def until_handled(world: FluxWorld, token: str = "") -> None:
    """Wait until the present request (or that one) is handled."""

    async def look() -> bool:
        obj = await world.shop()
        return last_handled(obj) == (token or annotation(obj))

    await eventually(look)


@body("R1", "R7", "P2", "P3")
async def a_held_kustomization_applies_exactly_the_commit_and_is_held_again(world: FluxWorld) -> None:
    await hold(world)
    commit = await world.push()
    started = await ask(world, commit)
    assert started.outcome is RequestOutcome.RESUMED
    ended = await end(world, started)
    assert ended.outcome is Outcome.SUCCEEDED
    assert ended.applied_revision.endswith(commit)
    assert (await world.client.suspension(world.name)).complete


@body("R2", "R4")
async def an_applied_commit_is_current_unless_it_is_to_be_repaired(world: FluxWorld) -> None:
    await hold(world)
    commit = await world.push()
    await end(world, await ask(world, commit))
    assert (await ask(world, commit, Reason.CATCH_UP)).outcome is RequestOutcome.CURRENT
    repair = await ask(world, commit, Reason.REPAIR)
    assert repair.outcome is RequestOutcome.RESUMED
    assert (await end(world, repair)).outcome is Outcome.SUCCEEDED


@body("P11")
async def a_flux_resume_after_the_suspend_is_undone(world: FluxWorld) -> None:
    await hold(world)
    started = await ask(world, await world.push())
    await until_handled(world, started.token)
    first = (await world.client.progress(world.name, started)).suspend_token
    await world.flux("resume")
    second = await world.client.progress(world.name, started)
    assert second.suspend_token not in ("", first)
    await end(world, started)
    assert suspended(await world.shop())


@body("P10")
async def a_stamp_over_the_handled_suspend_does_not_matter(world: FluxWorld) -> None:
    await hold(world)
    started = await ask(world, await world.push())
    await until_handled(world, started.token)
    await world.client.progress(world.name, started)
    await world.stamp("X")
    assert (await end(world, started)).outcome is Outcome.SUCCEEDED


@body("P27")
async def a_resume_and_suspend_in_quick_succession_is_noticed(world: FluxWorld) -> None:
    await hold(world)
    started = await ask(world, await world.push())
    await until_handled(world, started.token)
    first = (await world.client.progress(world.name, started)).suspend_token
    await world.flux("resume")
    await world.flux("reconcile")
    await world.flux("suspend")
    assert (await end(world, started)).suspend_token != first


@body("R34")
async def a_resume_takes_the_field_from_a_flux_suspend(world: FluxWorld) -> None:
    await world.flux("suspend")
    await hold(world)
    owners = suspend_owners(await world.shop(), world.client.manager)
    assert (owners.ours, owners.updaters) == (True, ("flux",))
    started = await ask(world, await world.push())
    owners = suspend_owners(await world.shop(), world.client.manager)
    assert (owners.ours, owners.appliers, owners.updaters) == (True, (), ())
    await end(world, started)


@body("L1")
async def a_release_leaves_nothing_of_us(world: FluxWorld) -> None:
    await hold(world)
    assert await world.client.release(world.name) == ""
    obj = await world.shop()
    assert "suspend" not in obj["spec"]
    assert REQUESTED_AT not in obj["metadata"].get("annotations", {})


@body("L2")
async def a_release_takes_the_field_back_from_a_flux_suspend(world: FluxWorld) -> None:
    await world.flux("suspend")
    await hold(world)
    assert await world.client.release(world.name) == ""
    assert not suspended(await world.shop())


@body("V8", "V7", "L4")
async def a_parent_that_applies_suspend_blocks_us_and_is_named(world: FluxWorld) -> None:
    await world.flux("suspend")
    assert (await world.client.validate(world.name)).ok
    await world.parent_applies(True)
    verdict = await world.client.validate(world.name)
    assert verdict.reason == "SuspendOwnedElsewhere"
    assert await world.client.release(world.name) != ""


@body("R27")
async def a_resume_bound_to_an_older_version_changes_nothing(world: FluxWorld) -> None:
    await hold(world)
    before = await world.shop()
    await world.stamp("X")
    with pytest.raises(QuarterdeckError):
        await world.client._flux.resume(before, "T")
    assert suspended(await world.shop())


@body("R33", "L5")
async def no_write_makes_a_deleted_kustomization_anew(world: FluxWorld) -> None:
    await hold(world)
    before = await world.shop()
    await world.client.release(world.name)
    await world.delete()
    flux = world.client._flux
    for write in (flux.resume(before, "T"), flux.suspend(before), flux.give_up(before), flux.take_back(before)):
        with pytest.raises(QuarterdeckError):
            await write
    assert await world.client.release(world.name) == ""
    with pytest.raises(QuarterdeckError):
        await world.objects.get(KUSTOMIZATIONS, world.name.namespace, world.name.name)


@body("P21")
async def a_kustomization_deleted_in_mid_apply_ends_the_operation(world: FluxWorld) -> None:
    await hold(world)
    started = await ask(world, await world.push())
    await world.delete()
    assert (await end(world, started)).outcome is Outcome.FAILED


@body("X2", "X3")
async def an_operation_is_taken_up_by_another_process(world: FluxWorld) -> None:
    await hold(world)
    first = await ask(world, await world.push())
    await until_handled(world, first.token)
    await world.client.progress(world.name, first)
    again = Started(
        outcome=RequestOutcome.RESUMED,
        token=first.token,
        commit=first.commit,
        requested_at=first.requested_at,
        recovered=True,
        applier_uid=first.applier_uid,
        guard_generation=first.guard_generation,
    )
    assert (await end(world, again)).outcome is Outcome.SUCCEEDED


@body("P6")
async def a_commit_that_cannot_be_built_fails_and_is_held_again(world: FluxWorld) -> None:
    await hold(world)
    before = (await world.shop())["status"]["lastAppliedRevision"]
    ended = await end(world, await ask(world, await world.push(broken=True)))
    assert ended.outcome is Outcome.FAILED
    assert ended.message.startswith("BuildFailed: ")
    assert ended.applied_revision == before
    assert (await world.client.suspension(world.name)).complete


@body("P13", "F2")
async def a_flux_suspend_before_the_pass_means_that_nothing_ran(world: FluxWorld) -> None:
    await hold(world)
    await world.stop()
    started = await ask(world, await pushed_and_fetched(world))
    await world.flux("suspend")
    await world.start()
    ended = await end(world, started)
    assert (ended.outcome, ended.message) == (Outcome.FAILED, "nothing ran since the apply was asked")


@body("P16")
async def a_controller_that_comes_back_late_applies_nothing(world: FluxWorld) -> None:
    await hold(world)
    await world.stop()
    started = await ask(world, await pushed_and_fetched(world))
    started.overdue = True
    assert (await world.client.progress(world.name, started)).outcome is Outcome.SETTLING
    await world.start()
    ended = await end(world, started)
    assert (ended.outcome, ended.message) == (Outcome.FAILED, "nothing ran since the apply was asked")


@body("P26")
async def a_kustomization_that_is_being_deleted_is_left_to_collect_its_objects(world: FluxWorld) -> None:
    await hold(world)
    await world.stop()
    started = await ask(world, await pushed_and_fetched(world))
    await world.delete(wait=False)
    started.overdue = True
    assert (await world.client.progress(world.name, started)).outcome is Outcome.RUNNING
    await world.start()
    ended = await end(world, started)
    assert ended.outcome is Outcome.FAILED
    assert "deleted" in ended.message

    async def collected() -> bool:
        return not await world.applied_objects()

    await eventually(collected)


@body("W23", "F13")
async def a_held_kustomization_that_is_deleted_leaves_its_objects(world: FluxWorld) -> None:
    await hold(world)
    await world.delete()
    assert await world.applied_objects()


@body("X1", "R30")
async def an_operation_that_was_never_started_is_fenced_and_settled(world: FluxWorld) -> None:
    await hold(world)
    obj = await world.shop()
    never = Started(
        outcome=RequestOutcome.RESUMED,
        token=world.token(),
        commit="f" * 40,
        requested_at=datetime.now(UTC),
        recovered=True,
        applier_uid=obj["metadata"]["uid"],
        guard_generation=obj["metadata"]["generation"],
    )
    assert (await world.client.progress(world.name, never)).outcome is Outcome.SETTLING
    with pytest.raises(QuarterdeckError):
        await world.client._flux.resume(obj, never.token)
    ended = await end(world, never)
    assert (ended.outcome, ended.message) == (Outcome.FAILED, "nothing ran since the apply was asked")
    assert suspended(await world.shop())


async def pushed_and_fetched(world: FluxWorld) -> str:
    """A new commit that the source holds already."""
    commit = await world.push()
    await world.client._flux.stamp(await world.client._flux.repository(world.name))

    async def fetched() -> bool:
        return artifact_revision(await world.client._flux.repository(world.name)).endswith(commit)

    await eventually(fetched)
    return commit
