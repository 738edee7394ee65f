"""Steps that wait for each other, as a tree in their order."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest

from console.model.operations import State, StepView
from console.model.plan import PlanStep
from console.model.refs import Ref
from console.views.cells import Cell
from console.views.formats import display_width
from console.views.step_tree import branches, plan_tree, run_tree

NOW = datetime(2030, 1, 1, tzinfo=UTC)
EDGES = {"net": (), "cfg": (), "db": ("net",), "api": ("cfg", "db"), "job": ("cfg", "db")}


def step(key: str) -> PlanStep:
    return PlanStep(key=key, title=f"Create {key}", ref=Ref("here", "Thing", "", key), kind="create", after=EDGES[key])


def view(key: str, state: State, seconds: float | None = None, **more: object) -> StepView:
    started = None if seconds is None else NOW - timedelta(seconds=seconds)
    return StepView(key=key, title=f"Create {key}", state=state, after=EDGES[key], started=started, **more)  # type: ignore[arg-type]


def text(lines: Iterable[tuple[Cell, ...]]) -> list[str]:
    return ["".join(piece.text for piece in line).rstrip() for line in lines]


PLAN = [step(key) for key in EDGES]


def test_what_can_go_on_at_once_stands_side_by_side_further_in_than_what_it_waits_for() -> None:
    assert text(plan_tree(PLAN, 80)) == [
        "  + Create cfg   + Create net",
        "    + Create db",
        "      + Create api   + Create job",
    ]


@pytest.mark.parametrize("width", [24, 30, 40, 80])
def test_lines_fit_as_long_as_a_single_step_does(width: int) -> None:
    lines = text(plan_tree(PLAN, width))
    assert max(map(display_width, lines)) <= width
    assert sum(line.count("Create") for line in lines) == len(PLAN)


def test_a_run_shows_tries_times_and_what_a_step_waits_for_on_a_line_of_its_own() -> None:
    steps = [
        view("net", State.SUCCEEDED, 9, ended=NOW - timedelta(seconds=7)),
        view("cfg", State.SUCCEEDED, 9, ended=NOW - timedelta(seconds=8), detail="created"),
        view("db", State.SUCCEEDED, 7, ended=NOW - timedelta(seconds=4), attempts=1),
        view("api", State.WAITING, 4, attempts=2, detail="503: busy", waiting_for="the next try in 2 s"),
        view("job", State.PENDING),
    ]
    assert text(run_tree(steps, NOW, 80)) == [
        "  ● Create cfg 1s   ● Create net 2s",
        "    ● Create db 3s",
        "      ◐ Create api 4s try 2  waits for the next try in 2 s · 503: busy",
        "      ○ Create job",
    ]


def test_why_a_step_failed_or_was_skipped_stands_beside_it() -> None:
    steps = [
        view("net", State.SUCCEEDED, 9, ended=NOW),
        view("cfg", State.RUNNING, 1),
        view("db", State.FAILED, 3, ended=NOW, detail="403: no more volumes"),
        view("api", State.SKIPPED, detail="parent db failed"),
        view("job", State.SKIPPED),
    ]
    lines = text(run_tree(steps, NOW, 80))
    assert "    ■ Create db 3s  403: no more volumes" in lines
    assert "      ○ Create api  parent db failed" in lines


def test_only_steps_that_wait_for_others_are_a_tree_and_phases_are_not() -> None:
    assert branches(PLAN)
    assert not branches(PLAN[:2])
    assert not branches([step("net"), step("cfg"), step("net")])
    assert not branches([view("db", State.RUNNING), view("api", State.PENDING), view("job", State.PENDING, depth=1)])


def test_names_from_outside_are_made_safe() -> None:
    nasty = PlanStep(key="net", title="Create \x1b[31mnet", ref=Ref("here", "Thing", "", "net"))
    assert "\x1b" not in "".join(text(plan_tree([nasty], 80)))
