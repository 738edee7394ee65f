"""An apply as its phases: where it is, what it waits for, and which phase failed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from console.demo.clockwork import WorldClock
from console.engines.dispatch.constants import Outcome, Reason
from console.engines.dispatch.types import Operation
from console.model.operations import State, StepView
from console.model.plan import Intent, Plan, PlanStep
from console.model.refs import Ref
from console.runtime.dispatch_phases import Seen, argo_phases, flux_phases
from console.runtime.tracking import Tracked

TOKEN = "2026-03-01T12:00:00Z/1"


def operation(outcome: Outcome, message: str = "") -> Operation:
    return Operation(
        token=TOKEN,
        commit="c" * 40,
        reason=Reason.REPAIR,
        outcome=outcome,
        requested_at="2026-03-01T12:00:00Z",
        message=message,
    )


def shop(*conditions: tuple[str, str, str], wait: bool = True, handled: str = "") -> dict[str, Any]:
    told = [{"type": kind, "status": status, "reason": "Progressing", "message": words} for kind, status, words in conditions]
    return {"spec": {"wait": wait, "timeout": "5m"}, "status": {"conditions": told, "lastHandledReconcileAt": handled}}


def running(steps: tuple[StepView, ...]) -> tuple[str, str]:
    (found,) = [(step.key, step.waiting_for) for step in steps if step.state is State.RUNNING]
    return found


@pytest.mark.parametrize(
    ("seen", "phase", "waits"),
    [
        (Seen(), "fetch", "the source"),
        (Seen(operation(Outcome.REQUESTED), shop()), "resume", "to take the request"),
        (Seen(operation(Outcome.RUNNING), shop()), "resume", "to take the request"),
        (Seen(operation(Outcome.RUNNING), shop(("Reconciling", "True", "Building manifests"))), "apply", "Building manifests"),
        (Seen(operation(Outcome.RUNNING), shop(handled=TOKEN)), "apply", "to end its pass"),
        (
            Seen(operation(Outcome.RUNNING), shop(("Reconciling", "True", "Running health checks for revision main"))),
            "health",
            "it ends after 5m at the latest",
        ),
        (Seen(operation(Outcome.SETTLING), shop()), "suspend", "nothing runs any more"),
        (Seen(operation(Outcome.UNRESOLVED), shop()), "suspend", "never given up"),
        (Seen(operation(Outcome.SUCCEEDED), shop()), "record", "the outcome to be written"),
    ],
)
def test_a_kustomization_is_in_one_phase_and_says_what_would_end_it(seen: Seen, phase: str, waits: str) -> None:
    steps = flux_phases(seen)
    now, words = running(steps)
    assert (now, waits in words) == (phase, True), words
    keys = [step.key for step in steps]
    assert {step.state for step in steps[: keys.index(now)]} <= {State.SUCCEEDED}
    assert {step.state for step in steps[keys.index(now) + 1 :]} <= {State.PENDING}


@pytest.mark.parametrize(
    ("message", "failed", "health"),
    [
        ("HealthCheckFailed: web is not ready", "health", State.FAILED),
        ("BuildFailed: no such file", "apply", State.SKIPPED),
        ("nothing ran since the apply was asked", "apply", State.SKIPPED),
    ],
)
def test_the_phase_that_failed_is_named_and_the_suspend_after_it_is_done(message: str, failed: str, health: State) -> None:
    states = {step.key: step for step in flux_phases(Seen(operation(Outcome.FAILED, message), shop(), recorded=True))}
    assert (states[failed].state, states[failed].detail) == (State.FAILED, message)
    assert (states["health"].state, states["suspend"].state) == (health, State.SUCCEEDED)


def test_without_health_checks_there_is_no_such_phase() -> None:
    assert "health" not in [step.key for step in flux_phases(Seen(operation(Outcome.RUNNING), shop(wait=False)))]


def result(kind: str, name: str, status: str = "Synced", **more: str) -> dict[str, Any]:
    return {"group": "", "kind": kind, "namespace": "shop", "name": name, "status": status, **more}


def live(kind: str, name: str, wave: int = 0, status: str = "Synced", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "namespace": "shop", "name": name, "status": status, **({"syncWave": wave} if wave else {}), **more}


def syncing(results: list[dict[str, Any]], known: list[dict[str, Any]], **sync: Any) -> dict[str, Any]:
    state = {"message": "waiting for it", "syncResult": {"resources": results}, "operation": {"sync": sync}}
    return {"status": {"operationState": state, "resources": known}}


def below_run(app: dict[str, Any], outcome: Outcome = Outcome.RUNNING) -> list[tuple[int, str, State]]:
    return [(step.depth, step.title, step.state) for step in argo_phases(Seen(operation(outcome), app)) if step.depth > 1]


HOOKED = syncing(
    [
        result("Job", "smoke", "", hookType="PostSync", hookPhase="Running", syncPhase="PostSync", message="1 of 1 pods run"),
        result("Deployment", "web", hookPhase="Running"),
        result("ConfigMap", "flags"),
        result("Job", "migrate", "", hookType="PreSync", hookPhase="Succeeded", syncPhase="PreSync"),
    ],
    [live("Deployment", "web", 1), live("ConfigMap", "flags"), live("Ingress", "web", 2), live("Job", "migrate", hook=True)],
)


def test_a_sync_shows_its_phases_waves_and_hooks_in_the_order_in_which_they_run() -> None:
    assert below_run(HOOKED) == [
        (2, "PreSync", State.SUCCEEDED),
        (3, "hook Job shop/migrate", State.SUCCEEDED),
        (2, "Sync, wave 0", State.SUCCEEDED),
        (3, "ConfigMap shop/flags", State.SUCCEEDED),
        (2, "Sync, wave 1", State.RUNNING),
        (3, "Deployment shop/web", State.RUNNING),
        (2, "Sync, wave 2", State.PENDING),
        (3, "Ingress shop/web", State.PENDING),
        (2, "PostSync", State.RUNNING),
        (3, "hook Job shop/smoke", State.RUNNING),
    ]
    steps = {step.title: step for step in argo_phases(Seen(operation(Outcome.RUNNING), HOOKED))}
    assert steps["hook Job shop/smoke"].waiting_for == "1 of 1 pods run"
    assert steps["Deployment shop/web"].waiting_for == "it to be healthy"
    assert (steps["Sync the commit"].detail, steps["Sync the commit"].waiting_for) == ("2 of 2 objects", "it")


@pytest.mark.parametrize(
    ("state", "waits"),
    [
        ({}, "Argo CD to end the sync"),
        ({"message": "waiting for healthy state of apps/Deployment/web"}, "healthy state of apps/Deployment/web"),
        ({"message": "web was refused", "finishedAt": "2026-03-01T10:00:00Z"}, "its next try: web was refused"),
    ],
)
def test_a_running_sync_says_what_it_waits_for(state: dict[str, Any], waits: str) -> None:
    app = {"status": {"operationState": {"phase": "Running", **state}}}
    run = next(step for step in argo_phases(Seen(operation(Outcome.RUNNING), app)) if step.key == "run")
    assert run.waiting_for == waits


def test_a_sync_that_has_ended_tells_of_nothing_to_come() -> None:
    assert "Sync, wave 2" not in [title for _, title, _ in below_run(HOOKED, Outcome.SUCCEEDED)]


@pytest.mark.parametrize(
    "sync", [{"resources": [{"kind": "ConfigMap", "name": "flags"}]}, {"syncOptions": ["ApplyOutOfSyncOnly=true"]}]
)
def test_what_a_sync_leaves_out_is_not_to_come(sync: dict[str, Any]) -> None:
    app = syncing([result("ConfigMap", "flags")], [live("ConfigMap", "flags"), live("Ingress", "web", 2)], **sync)
    assert [title for _, title, _ in below_run(app)] == ["Sync", "ConfigMap shop/flags"]


def test_a_failed_object_fails_its_wave_and_a_large_wave_tells_only_what_is_not_done() -> None:
    many = [result("ConfigMap", f"c{number}") for number in range(20)]
    app = syncing([*many, result("Deployment", "web", "SyncFailed", message="field is immutable")], [])
    assert below_run(app, Outcome.FAILED) == [(2, "Sync", State.FAILED), (3, "Deployment shop/web", State.FAILED)]


def test_every_phase_says_what_would_end_it() -> None:
    for steps in (flux_phases(Seen(None, shop())), argo_phases(Seen())):
        assert all(step.ends for step in steps if step.depth == 1)
    (health,) = [step for step in flux_phases(Seen(None, shop())) if step.key == "health"]
    assert health.ends == "what was applied is healthy, or 5m is over"


def test_phases_lie_under_their_step_with_the_times_at_which_they_changed() -> None:
    ref = Ref("atlas", "Kustomization", "flux-system", "shop")
    intent = Intent(verb="apply", targets=(ref,))
    plan = Plan(
        intent=intent, steps=(PlanStep(key="apply", title="Apply", ref=ref), PlanStep(key="more", title="More", ref=ref))
    )
    clock = WorldClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
    tracked = Tracked("o1", plan, "ops", "", clock, lambda _: None)
    tracked.step("apply", State.RUNNING)
    tracked.phases("apply", flux_phases(Seen()))
    began = clock.now()
    clock.advance(5)
    tracked.phases("apply", flux_phases(Seen(operation(Outcome.RUNNING), shop())))
    steps = {step.key: step for step in tracked.operation.steps}
    assert [*steps][:3] == ["apply", "apply/fetch", "apply/resume"] and [*steps][-1] == "more"
    assert (steps["apply/fetch"].started, steps["apply/fetch"].ended) == (began, clock.now())
    assert (steps["apply/resume"].started, steps["apply/resume"].ended) == (clock.now(), None)
    tracked.end(State.CANCELLED, "cancelled", undoable=False)
    ended = {step.key: step.state for step in tracked.operation.steps}
    assert all(step.ended is not None for step in tracked.operation.steps if step.started is not None and step.depth)
    assert ended["apply/resume"] is State.UNKNOWN and ended["apply/suspend"] is ended["more"] is State.SKIPPED
    assert all(step.started is None for step in tracked.operation.steps if step.state is State.SKIPPED)
    assert msgspec.json.encode(tracked.operation)
