"""The time line of an operation: each phase with its duration, what it waits for and what would end it."""

from __future__ import annotations

import msgspec
import pytest

from console.model.health import Health
from console.model.operations import Operation, State, StepView
from console.model.refs import Ref
from console.ui.operation_text import operation_lines
from console.ui.screens.operation import OperationScreen
from console.ui.text import plain, width
from tests.ui.fleet import fill
from tests.ui.samples_operations import ARGO, FLUX
from tests.ui.screen import shown
from tests.ui.stand_in import NOW, StandIn


def rows(operation: Operation, room: int = 110) -> list[str]:
    return plain(operation_lines(operation, NOW, room)).split("\n")


def test_each_phase_of_an_apply_has_a_name_a_duration_and_an_end() -> None:
    told = rows(FLUX)
    for name, took in (("fetch", "9.1s"), ("resume", "1s"), ("apply", "7s"), ("health", "58s")):
        (row,) = [row for row in told if row.split()[1:2] == [name]]
        assert row.endswith(took), row
    for name, end in (("suspend", "the suspend is handled"), ("record", "the outcome is written")):
        (row,) = [row for row in told if row.split()[1:2] == [name]]
        assert f"ends when {end}" in row


def test_the_phase_it_is_in_says_what_it_waits_for_and_what_would_end_it() -> None:
    told = rows(FLUX)
    at = next(index for index, row in enumerate(told) if "Wait until it is healthy" in row)
    assert told[at + 1].strip() == "waits for Deployment/shop/web: 4 of 6 replicas are ready"
    assert told[at + 2].strip() == "ends when what was applied is healthy, or 5m is over"
    assert "\n".join(told).count("4 of 6 replicas") == 1


def test_waves_and_hooks_stand_below_the_sync_in_their_order() -> None:
    told = "\n".join(rows(ARGO))
    names = ["PreSync", "hook Job pay/migrate", "Sync, wave 0", "Sync, wave 1", "Deployment pay/core", "Sync, wave 2"]
    assert sorted(names, key=told.index) == names
    assert "waits for waiting" not in told


@pytest.mark.parametrize("room", [40, 60, 70, 96, 110, 180])
@pytest.mark.parametrize("operation", [FLUX, ARGO], ids=["flux", "argo"])
def test_durations_stand_at_the_right_edge(operation: Operation, room: int) -> None:
    timed = [entry for entry in operation_lines(operation, NOW, room) if entry.text.endswith("s") and "  " in entry.text[-9:]]
    assert {width(entry.parts) for entry in timed} == {room}


def test_bars_lie_one_after_the_other_where_there_is_room_for_them() -> None:
    told = [row for row in rows(FLUX) if "━" in row]
    starts = [row.index("━") for row in told[1:]]
    assert starts == sorted(starts) and len(told) == 5
    assert not any("━" in row for row in rows(FLUX, 80))


def test_a_phase_that_failed_says_why() -> None:
    failed = msgspec.structs.replace(
        FLUX.steps[4], state=State.FAILED, ended=NOW, detail="HealthCheckFailed: web never became ready"
    )
    steps = (*FLUX.steps[:4], failed, *FLUX.steps[5:])
    ended = msgspec.structs.replace(FLUX, state=State.FAILED, health=Health.BAD, ended=NOW, waiting_for="", steps=steps)
    lines = operation_lines(ended, NOW, 110)
    (tone,) = {part.tone for entry in lines for part in entry.parts if "never became ready" in part.text}
    assert tone == "bad"


def test_an_operation_of_one_step_has_no_time_line() -> None:
    alone = msgspec.structs.replace(FLUX, steps=(StepView(key="1", title="write it", state=State.RUNNING, started=NOW),))
    assert not any("━" in row for row in rows(alone))


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (120, 40), (200, 60)])
async def test_a_time_line_can_be_read_to_its_end_at_every_size(columns: int, lines: int) -> None:
    def setup(runtime: StandIn) -> None:
        fill(runtime)
        runtime.put(ARGO)

    async with shown(columns, lines, setup=setup) as screen:
        screen.app.push_screen(OperationScreen(screen.runtime, ARGO.ref))
        dialog = await screen.dialog(OperationScreen)
        assert "Ingress pay/core" in screen.text("#steps")
        answer = dialog.query_one("#answer").region
        assert answer.height == 1 and answer.bottom <= lines


async def test_a_sync_of_somebody_else_shows_its_waves_and_hooks_too() -> None:
    target = Ref("prod-us", "Application", "pay", "core", "uid-core")
    foreign = Operation(ref=Ref("prod-us", "Operation", "", "sync", "op-1"), target=target, verb="sync", state=State.RUNNING)
    results = [
        {"kind": "Job", "name": "migrate", "hookType": "PreSync", "hookPhase": "Succeeded", "syncPhase": "PreSync"},
        {"kind": "Deployment", "name": "core", "status": "Synced", "hookPhase": "Running", "syncPhase": "Sync"},
    ]

    def setup(runtime: StandIn) -> None:
        fill(runtime)
        runtime.put(foreign)
        runtime.raws[target] = {"status": {"operationState": {"syncResult": {"resources": results}}}}

    async with shown(120, 40, setup=setup) as screen:
        screen.app.push_screen(OperationScreen(screen.runtime, foreign.ref))
        await screen.dialog(OperationScreen)
        await screen.until(lambda: "hook Job migrate" in screen.text("#steps"))
        assert "Deployment core  waits for it to be healthy" in screen.text("#steps")


async def test_a_sync_whose_application_cannot_be_read_still_shows_what_is_known() -> None:
    target = Ref("prod-us", "Application", "pay", "core", "uid-core")
    foreign = Operation(
        ref=Ref("prod-us", "Operation", "", "sync", "op-1"), target=target, verb="sync", state=State.RUNNING, step="Running"
    )

    def setup(runtime: StandIn) -> None:
        fill(runtime)
        runtime.put(foreign)

    async with shown(120, 40, setup=setup) as screen:
        screen.app.push_screen(OperationScreen(screen.runtime, foreign.ref))
        dialog = await screen.dialog(OperationScreen)
        await screen.until(lambda: not [worker for worker in dialog.workers if worker.is_running])
        assert "Running" in screen.text("#steps")
