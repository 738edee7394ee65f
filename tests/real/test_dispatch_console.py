"""The dispatch engine as an operator has it, over the real kustomize-controller: kubeconfig, fleet file, commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.config.fleet import load_fleet
from console.config.settings import Settings
from console.engines.dispatch.flux_reading import suspended
from console.errors import Refused
from console.model.kubernetes import Trigger
from console.model.operations import Operation, State
from console.model.plan import Intent
from console.model.refs import Ref
from console.runtime.discovery import discover
from console.runtime.runtime import Runtime
from tests.crash.held import NAME, RealStage, at_rest, until
from tests.real.flux import FluxLab


async def done(console: Runtime, verb: str, ref: Ref, **arguments: str) -> State:
    """Plan, confirm, run, and follow to the end."""
    reason = arguments.pop("reason", "")
    plan = await console.commands.plan(Intent(verb=verb, targets=(ref,), arguments=arguments, reason=reason))
    return await console.commands.wait(await console.commands.run(plan, plan.confirmation))


@pytest.mark.scenario("dispatch:R1")
async def test_hold_apply_held_again_release(flux: FluxLab, tmp_path: Path) -> None:
    stage = RealStage(flux)
    held = await stage.make()
    ref = Ref(NAME, "Kustomization", held.namespace, held.name, (await held.read())["metadata"]["uid"])
    async with held.tap() as tap:
        env = held.account(tmp_path, tap.port)
        declared = load_fleet(tmp_path / "config" / "fleet.yaml", required=True)
        targets = discover(env, declared).targets
        async with Runtime(Settings(), declared, targets, state=tmp_path / "state") as console:
            await console.settled({"Kustomization"}, 60)
            console.arming.arm(NAME)
            shown = Watching(console, ref)

            assert await done(console, "hold", ref, until="2h", reason="incident 12") is State.SUCCEEDED
            await until(shown.held)
            assert "incident 12" in shown.trigger.held_by and shown.trigger.held_until is not None
            with pytest.raises(Refused, match=r"is held by .*incident 12"):
                await console.commands.plan(Intent(verb="resume", targets=(ref,)))

            commit = await stage.commit(held)
            assert suspended(await held.read()), "a new commit alone is not applied"
            assert await done(console, "apply", ref, commit=commit) is State.SUCCEEDED
            after = await held.read()
            assert at_rest(after) and after["status"]["lastAppliedRevision"].endswith(commit)
            steps = {step.key: step for step in shown.apply().steps}
            phases = ("fetch", "resume", "apply", "suspend", "record")
            assert [*steps] == ["apply", *(f"apply/{phase}" for phase in phases)]
            assert {step.state for step in steps.values()} == {State.SUCCEEDED}

            assert await done(console, "release", ref) is State.SUCCEEDED
            assert not suspended(await held.read())
            await until(shown.released)


class Watching:
    """What the lists show of one Kustomization."""

    def __init__(self, console: Runtime, ref: Ref) -> None:
        self._console = console
        self._ref = ref

    @property
    def trigger(self) -> Trigger:
        found = self._console.store.get(self._ref)
        assert isinstance(found, Trigger)
        return found

    async def held(self) -> bool:
        return self.trigger.held and self.trigger.suspended

    async def released(self) -> bool:
        return not self.trigger.held and not self.trigger.suspended

    def apply(self) -> Operation:
        found = [item for item in self._console.operations_on(self._ref) if item.verb == "apply" and item.origin == "journal"]
        return found[0]
