"""A Kustomization that a console holds, on the real kustomize-controller: somebody resumes it, somebody deletes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from console.config.fleet import load_fleet
from console.config.settings import Settings
from console.model.operations import Operation, State
from console.model.plan import Intent
from console.model.refs import Ref
from console.runtime.discovery import discover
from console.runtime.runtime import Runtime
from tests.crash.held import NAME, Held, RealStage, at_rest, until
from tests.real.flux import FluxLab
from tests.real.test_dispatch_console import done


@asynccontextmanager
async def holding(stage: RealStage, folder: Path) -> AsyncIterator[tuple[Runtime, Held, Ref]]:
    """A console that holds a Kustomization, at rest."""
    held = await stage.make()
    ref = Ref(NAME, "Kustomization", held.namespace, held.name, (await held.read())["metadata"]["uid"])
    async with held.tap() as tap:
        env = held.account(folder, tap.port)
        declared = load_fleet(folder / "config" / "fleet.yaml", required=True)
        async with Runtime(Settings(), declared, discover(env, declared).targets, state=folder / "state") as console:
            await console.settled({"Kustomization"}, 60)
            console.arming.arm(NAME)
            assert await done(console, "hold", ref, reason="incident 12") is State.SUCCEEDED

            async def rests() -> bool:
                return at_rest(await held.read())

            await until(rests)
            yield console, held, ref


def found(console: Runtime, ref: Ref) -> list[Operation]:
    return [item for item in console.operations_on(ref) if item.why == "External"]


async def test_what_somebody_applied_by_resuming_it_is_told_and_it_is_held_again(flux: FluxLab, tmp_path: Path) -> None:
    stage = RealStage(flux)
    async with holding(stage, tmp_path) as (console, held, ref):
        commit = await stage.commit(held)
        await until(lambda: _seen_at_rest(console))
        await asyncio.to_thread(flux.kube.client.merge, await held.read(), {"spec": {"suspend": None}}, "flux")

        async def told() -> bool:
            return bool(found(console, ref))

        await until(told)
        (operation,) = found(console, ref)
        assert (operation.state, operation.commit, operation.who) == (State.SUCCEEDED, commit, "somebody else")
        assert "it is held again" in operation.message
        after = await held.read()
        assert at_rest(after) and after["status"]["lastAppliedRevision"].endswith(commit)


@pytest.mark.scenario("dispatch:W23")
async def test_deleting_it_offers_the_release_and_without_it_everything_stays(flux: FluxLab, tmp_path: Path) -> None:
    stage = RealStage(flux)
    for releases in (True, False):
        async with holding(stage, tmp_path / str(releases)) as (console, held, ref):
            plan = await console.commands.plan(Intent(verb="delete", targets=(ref,)))
            assert "is held by" in plan.effects[0] and "incident 12" in plan.effects[0]
            assert "1 object stays behind (ConfigMap 1)" in plan.effects[0]
            assert plan.instead == Intent(verb="release", targets=(ref,))
            if releases:
                assert await done(console, "release", ref) is State.SUCCEEDED
                plan = await console.commands.plan(plan.intent)
                assert plan.instead is None
            assert await console.commands.wait(await console.commands.run(plan, plan.confirmation)) is State.SUCCEEDED
            left = await asyncio.to_thread(flux.kube.client.find, "v1", "ConfigMap", held.namespace, "paint")
            assert (left is None) is releases


async def _seen_at_rest(console: Runtime) -> bool:
    """Whether the engine has seen the hold complete: what was applied before that can't be told apart."""
    assert console.dispatching is not None
    return bool(console.dispatching.engines[NAME].local._external._rests)


async def test_what_was_only_discovered_is_adopted_and_held_without_a_restart(flux: FluxLab, tmp_path: Path) -> None:
    held = await RealStage(flux).make()
    ref = Ref(NAME, "Kustomization", held.namespace, held.name, (await held.read())["metadata"]["uid"])
    async with held.tap() as tap:
        env = held.account(tmp_path, tap.port)
        file = tmp_path / "config" / "fleet.yaml"
        bare = f"# mine\nconnections:\n- {{name: {NAME}, kubernetes: {NAME}}}\n"
        file.write_text(bare)
        fleet = load_fleet(file, required=True)
        targets = discover(env, fleet).targets
        async with Runtime(Settings(), fleet, targets, state=tmp_path / "state", fleet_file=file) as console:
            await console.settled({"Kustomization"}, 60)
            console.arming.arm(NAME)
            writes = tap.writes
            assert await done(console, "adopt", ref, hold="true") is State.SUCCEEDED
            assert tap.writes == writes, "nothing is written to the cluster"
            assert await done(console, "hold", ref) is State.SUCCEEDED
            assert await done(console, "release", ref) is State.SUCCEEDED
            assert await done(console, "disown", ref) is State.SUCCEEDED
        assert file.read_text() == bare
