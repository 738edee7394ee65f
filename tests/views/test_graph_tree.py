"""Plans and runs as trees of lines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from console.model.graph import Action, Identity, Outcome, Plan, PlannedStep
from console.model.graph_events import (
    Finished,
    GateWaiting,
    GraphEvent,
    PhaseStarted,
    Progress,
    Queued,
    Retrying,
    RunStarted,
    Skipped,
    Started,
    Waiting,
)
from console.model.graph_progress import GraphProgress, StepState
from console.views.formats import display_width
from console.views.graph_tree import summary_line, tree_lines

START = datetime(2030, 1, 1, tzinfo=UTC)
NET, DB, API, OLD = (Identity("net", "app"), Identity("svc", "db"), Identity("svc", "api"), Identity("svc", "old"))
PLAN = Plan(
    project="app",
    steps=(
        PlannedStep(identity=NET, action=Action.CREATE),
        PlannedStep(identity=API, action=Action.UPDATE, wave=1, parents=(NET,)),
        PlannedStep(identity=DB, action=Action.MAYBE_UPDATE, wave=1, parents=(NET,)),
    ),
    deletes=(PlannedStep(identity=OLD, action=Action.DELETE, version="7", reason="no longer wanted"),),
)


def text(plan: Plan, progress: GraphProgress | None = None, *, seconds: float = 0, width: int = 80) -> list[str]:
    """The tree's lines as plain text."""
    lines = tree_lines(plan, progress, now=START + timedelta(seconds=seconds), width=width)
    return ["".join(piece.text for piece in line).rstrip() for line in lines]


def heard(*events: GraphEvent) -> GraphProgress:
    """Progress after these events."""
    progress = GraphProgress()
    for event in events:
        progress(event)
    return progress


def test_a_plan_is_indented_by_wave_with_parallel_steps_side_by_side() -> None:
    assert text(PLAN) == [
        "make 3 resources",
        "  + net/app create",
        "    ~ svc/api update   ? svc/db update?",
        "delete 1 resource",
        "  - svc/old delete  no longer wanted",
    ]


def test_steps_that_do_not_fit_side_by_side_take_a_line_each() -> None:
    assert text(PLAN, width=30)[2:4] == ["    ~ svc/api update", "    ? svc/db update?"]


def test_a_plan_of_nothing_says_so() -> None:
    assert text(Plan(project="app")) == ["nothing to do"]
    assert "".join(piece.text for piece in summary_line(Plan(project="app"))) == "no changes"
    assert "".join(piece.text for piece in summary_line(PLAN)) == "+1 create · ~1 update · ?1 update? · -1 delete"


def test_progress_shows_state_time_tries_and_the_last_word() -> None:
    progress = heard(
        RunStarted(run_id="r", total=3),
        *(Queued(run_id="r", identity=identity) for identity in (NET, API, DB)),
        Waiting(run_id="r", identity=API, parents=(NET,)),
        PhaseStarted(run_id="r", phase="create"),
        Started(run_id="r", identity=NET, action=Action.CREATE, at=START),
        Finished(run_id="r", identity=NET, outcome=Outcome.CREATED, duration=1.5),
        Started(run_id="r", identity=DB, action=Action.UPDATE, at=START),
        Retrying(run_id="r", identity=DB, attempt=1, delay=0.5, error="connection refused", at=START),
        Started(run_id="r", identity=DB, action=Action.UPDATE, attempt=2, at=START + timedelta(seconds=4)),
        Progress(run_id="r", identity=DB, text="task 1 starts", done=1, total=3),
    )
    assert text(PLAN, progress, seconds=7)[1:4] == [
        "  ● net/app created 1.5s",
        "    ○ svc/api waiting",
        "    ◐ svc/db running 7s try 2  task 1 starts (1/3)",
    ]
    assert progress.done == 1
    assert progress.phase == "create"


def test_failures_and_skips_say_why_in_one_line_that_fits() -> None:
    progress = heard(
        Queued(run_id="r", identity=NET),
        Finished(
            run_id="r", identity=NET, outcome=Outcome.FAILED, error="no address pool is left\nfor this network " + "x" * 99
        ),
        Queued(run_id="r", identity=API),
        Skipped(run_id="r", identity=API, reason="parent net/app failed"),
    )
    lines = text(PLAN, progress, width=60)
    assert lines[1].startswith("  ■ net/app failed  no address pool is left …")
    assert lines[2] == "    ○ svc/api skipped  parent net/app failed"
    assert all(display_width(line) <= 60 for line in lines)


def test_an_old_version_that_is_deleted_is_not_mixed_up_with_the_new_one() -> None:
    progress = heard(
        Queued(run_id="r", identity=OLD),
        Queued(run_id="r", identity=OLD, version="7"),
        Started(run_id="r", identity=OLD, version="7", action=Action.DELETE, at=START),
        GateWaiting(run_id="r", identity=OLD),
    )
    old, new = progress.of(OLD, "7"), progress.of(OLD)
    assert old is not None
    assert new is not None
    assert (old.state, new.state) == (StepState.RUNNING, StepState.GATE)
    assert text(PLAN, progress, seconds=2)[-1] == "  ◐ svc/old running 2s"


def test_names_from_elsewhere_cannot_draw_on_the_screen() -> None:
    plan = Plan(project="p", steps=(PlannedStep(identity=Identity("k", "a\x1b[31mb"), action=Action.CREATE),))
    assert "\x1b" not in "".join(text(plan))


def test_a_new_run_starts_afresh() -> None:
    progress = heard(Queued(run_id="1", identity=NET), RunStarted(run_id="2", total=0))
    assert progress.steps == ()
