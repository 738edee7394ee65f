"""A Kustomization that a console holds, as lists show it: by whom, why, until when, and that the time is over."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from console.backends.flux_objects import found_apply
from console.backends.flux_wire import WireKustomization
from console.backends.flux_writes import plan_flux
from console.errors import Refused
from console.model.health import Health
from console.model.operations import State
from console.model.plan import Intent
from console.model.refs import Ref
from console.views import words
from console.views.cells import Context
from console.views.columns import suspended
from tests.backends.decoding import condition
from tests.backends.test_flux_objects import kustomization, owned, repository, trigger

NOTE = {"by": "ana@bastion", "why": "incident 12", "until": "2026-03-01T14:00Z"}
HOLDING: dict[str, Any] = {
    "annotations": {"quarterdeck/hold": json.dumps(NOTE), "quarterdeck/dispatch": '{"holding":true}'},
    "managedFields": [owned("quarterdeck-dispatch")],
}
SUSPENDED = {"suspend": True}
REF = Ref("atlas", "Kustomization", "flux-system", "shop", "k1")


def at(hour: int) -> Context:
    return Context(now=datetime(2026, 3, 1, hour, tzinfo=UTC))


def test_a_held_kustomization_says_who_holds_it_why_and_until_when() -> None:
    found = trigger(repository(), kustomization(spec=SUSPENDED, **HOLDING))
    assert (found.held, found.held_by, found.health) == (True, "ana@bastion, incident 12", Health.HELD)
    assert found.held_until == datetime(2026, 3, 1, 14, tzinfo=UTC)
    assert found.reason.startswith("Held by ana@bastion, incident 12, until 2026-03-01T14:00Z")
    assert suspended(found, at(13)).text == "held by ana@bastion, incident 12"


def test_a_hold_that_outlives_its_time_is_called_overdue() -> None:
    found = trigger(repository(), kustomization(spec=SUSPENDED, **HOLDING))
    assert suspended(found, at(15)).text == "overdue, ana@bastion, incident 12"
    assert words.what(found, at(15)).text.startswith("Hold overdue since 14:00:00. Held by ana@bastion")


@pytest.mark.parametrize("note", ["", "no JSON", "[]", '{"until": "soon"}'])
def test_a_hold_without_a_readable_note_is_still_a_hold(note: str) -> None:
    annotations = {**HOLDING["annotations"], "quarterdeck/hold": note}
    found = trigger(repository(), kustomization(spec=SUSPENDED, annotations=annotations))
    assert (found.held, found.held_until, found.health) == (True, None, Health.HELD)


@pytest.mark.parametrize("record", ["", "{}", '{"holding":false}', "no JSON"])
def test_a_note_that_was_left_behind_is_no_hold(record: str) -> None:
    annotations = {**HOLDING["annotations"], "quarterdeck/dispatch": record}
    found = trigger(repository(), kustomization(annotations=annotations))
    assert (found.held, found.held_by, found.health) == (False, "", Health.OK)


def test_a_held_kustomization_that_failed_stays_bad() -> None:
    failed = condition("Ready", "False", "HealthCheckFailed", message="web is not ready")
    found = trigger(repository(), kustomization(failed, spec=SUSPENDED, **HOLDING))
    assert (found.held, found.health) == (True, Health.BAD)
    assert "after a failure: " in found.reason and "Web is not ready" in found.reason


@pytest.mark.parametrize(
    ("metadata", "who"),
    [
        (HOLDING, "ana@bastion, incident 12"),
        ({"managedFields": [owned("quarterdeck-dispatch")]}, "a console"),
        ({"annotations": HOLDING["annotations"], "managedFields": [owned("flux", "Update")]}, "ana@bastion, incident 12"),
        ({"managedFields": [owned("flux", "Update"), owned("gitops-reverser")]}, "a trigger"),
    ],
)
def test_what_is_held_is_released_and_not_resumed(metadata: dict[str, Any], who: str) -> None:
    raw = kustomization(spec=SUSPENDED, **metadata)
    with pytest.raises(Refused, match=f"flux-system/shop is held by {who}") as refusal:
        plan_flux(Intent(verb="resume", targets=(REF,)), {REF: raw}, {})
    assert refusal.value.hint.startswith("Release the hold instead")


def test_what_somebody_only_suspended_can_be_resumed() -> None:
    raw = kustomization(spec=SUSPENDED, managedFields=[owned("flux", "Update")])
    assert plan_flux(Intent(verb="resume", targets=(REF,)), {REF: raw}, {}).steps


def test_an_apply_that_was_found_on_what_is_held_is_an_operation_of_somebody_else() -> None:
    operation = {
        "token": "found 2026-03-01T09:00:00Z",
        "reason": "External",
        "outcome": "Succeeded",
        "commit": "5f3c1f0c9a7d2b8e6f4a1d3c5b7e9f0a2c4d6e81",
        "completedAt": "2026-03-01T09:00:00Z",
        "message": "somebody resumed it and commit 5f3c1f0 was applied; it is held again",
    }
    record = json.dumps({"holding": True, "operation": operation})
    raw = kustomization(
        spec=SUSPENDED, **{**HOLDING, "annotations": {**HOLDING["annotations"], "quarterdeck/dispatch": record}}
    )
    found = found_apply(msgspec.convert(raw, WireKustomization), REF)
    assert found is not None
    assert (found.who, found.why, found.state, found.commit) == (
        "somebody else",
        "External",
        State.SUCCEEDED,
        operation["commit"],
    )
    assert found.ended == datetime(2026, 3, 1, 9, tzinfo=UTC)
    operation["reason"] = "CatchUp"
    raw["metadata"]["annotations"]["quarterdeck/dispatch"] = json.dumps({"operation": operation})
    assert found_apply(msgspec.convert(raw, WireKustomization), REF) is None, "the journal tells our own"
