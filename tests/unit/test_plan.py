"""A plan is pure data: its hash is the same everywhere, its confirmation follows from facts."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from console.model.plan import FieldChange, Intent, Plan, PlanStep, Strength
from console.model.refs import Ref

WEB, DB = Ref("harbour", "SwarmService", "", "web", "1"), Ref("harbour", "SwarmService", "", "db", "2")


def step(ref: Ref = WEB, kind: str = "update", version: str = "7") -> PlanStep:
    change = FieldChange(path="replicas", before="2", after="4")
    return PlanStep(key=ref.name, title=f"Scale {ref.name}", ref=ref, kind=kind, precondition={"v": version}, changes=(change,))


def plan(*steps: PlanStep) -> Plan:
    return Plan(intent=Intent(verb="scale", targets=(WEB,), arguments={"b": "2", "a": "1"}), steps=steps or (step(),))


def test_the_hash_is_the_same_in_another_process() -> None:
    script = "from tests.unit.test_plan import plan; print(plan().hash)"
    for seed in ("1", "2"):
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}
        ended = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
        assert ended.stdout.strip() == plan().hash


def test_the_hash_survives_the_journal() -> None:
    assert msgspec.json.decode(msgspec.json.encode(plan()), type=Plan).hash == plan().hash


@pytest.mark.parametrize(
    "other",
    [plan(step(version="8")), plan(step(DB)), plan(step(), step(DB)), plan(step(kind="delete"))],
    ids=["precondition", "object", "more objects", "verb"],
)
def test_what_matters_changes_the_hash(other: Plan) -> None:
    assert other.hash != plan().hash


def test_the_wording_of_effects_does_not_change_the_hash() -> None:
    assert msgspec.structs.replace(plan(), effects=("Tasks restart.",), environment="prod").hash == plan().hash


@pytest.mark.parametrize(
    ("made", "strength", "typed"),
    [
        (plan(), Strength.KEY, ""),
        (plan(step(), step(DB)), Strength.COUNT, "2"),
        (plan(step(kind="delete")), Strength.COUNT, "1"),
        (msgspec.structs.replace(plan(), protected=True), Strength.NAME, "web"),
        (msgspec.structs.replace(plan(), deletes_state=True), Strength.NAME, "web"),
        (msgspec.structs.replace(plan(), share=0.5), Strength.NAME, "web"),
        (msgspec.structs.replace(plan(), protected=True, forbidden="Quorum would be lost."), Strength.REFUSED, ""),
    ],
)
def test_confirmation_follows_from_what_a_plan_does(made: Plan, strength: Strength, typed: str) -> None:
    assert (made.strength, made.confirmation) == (strength, typed)
