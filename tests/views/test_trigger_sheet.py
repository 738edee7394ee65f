"""A trigger's sheet: two sides beside each other, differences that stand out, and a sentence for every state."""

from __future__ import annotations

import msgspec
import pytest

from console.engines.dispatch import constants
from console.model.health import Condition, Health
from console.model.trigger_report import RecordedOperation, TriggerReport
from console.views import dispatch_words, reasons
from console.views.cells import Context
from console.views.describe import Line, as_text
from console.views.trigger_sheet import sheet
from tests.ui.fleet import SHA_NEW, SHA_OLD, trigger
from tests.ui.samples_reports import REPORT
from tests.ui.stand_in import NOW

CONTEXT = Context(NOW)
ROW = trigger("prod-eu", "shop", "web", wanted=SHA_NEW)


def lines(report: TriggerReport, title: str, width: int = 90) -> list[Line]:
    return [line for section in sheet(report, ROW, CONTEXT, width) if section.title == title for line in section.lines]


def text(report: TriggerReport, width: int = 90) -> str:
    return as_text(sheet(report, ROW, CONTEXT, width), width)


def test_what_is_written_stands_beside_what_is_applied_and_the_difference_stands_out() -> None:
    rows = [line for line in lines(REPORT, "Written and applied") if "≠" in line.value.text]
    assert [(row.label.text.strip(), row.mark.text, row.value.tone) for row in rows] == [("branch", "■", "bad")]
    assert rows[0].value.text.split() == ["release", "≠", "main"]


@pytest.mark.parametrize("width", [76, 84, 116, 196])
def test_a_sheet_keeps_to_its_width_where_the_sides_fit(width: int) -> None:
    for line in lines(REPORT, "Written and applied", width):
        if not line.wraps:
            assert 4 + len(line.label.text) + 2 + len(line.value.text) <= width


def test_on_a_narrow_pane_the_two_sides_stand_under_each_other() -> None:
    told = text(REPORT, 40)
    assert "=" not in told.partition("Written and applied")[2].partition("Operation")[0]
    assert "Kustomization flux-system/shop applies" in told and "github.com/acme/shop" in told


def test_urls_that_look_alike_when_shortened_are_shown_whole_when_they_differ() -> None:
    written = msgspec.structs.replace(
        REPORT.written[0], repository="https://git.test/a/b.git", differs=("repository",), state="refused", why="they differ"
    )
    report = msgspec.structs.replace(REPORT, repository="https://git.test/a/b", written=(written,))
    assert "https://git.test/a/b.git" in text(report, 120)


def test_the_operation_in_flight_says_its_phase_now_and_what_would_end_it() -> None:
    told = text(REPORT)
    assert "9f2c1ab is being applied" in told and "48s" in told
    assert "waits for Deployment/web: 1 of 2 replicas are ready" in told
    assert "CatchUp: it may be behind a commit that is known" in told


def test_an_operation_that_went_well_is_told_in_one_line() -> None:
    done = RecordedOperation(outcome="Succeeded", commit=SHA_OLD, reason="Repair", phases=REPORT.operation.phases)  # type: ignore[union-attr]
    told = text(msgspec.structs.replace(REPORT, operation=done))
    assert "Last operation" in told and "4be19d0 was applied" in told and "Suspend again" not in told


def test_who_holds_it_why_and_until_when_is_one_line_and_says_when_it_is_overdue() -> None:
    assert "by ana@bastion, INC-4211, until 14:04:31" in text(REPORT)
    assert "(overdue)" in text(msgspec.structs.replace(REPORT, held_until=NOW))
    assert "until somebody releases it" in text(msgspec.structs.replace(REPORT, held_until=None))


def test_who_came_first_for_the_same_applier_is_told_from_who_waits() -> None:
    (waits,) = [line for line in lines(REPORT, "Dispatch") if "web-old" in line.value.text]
    assert "waits for this one" in waits.value.text
    first = msgspec.structs.replace(REPORT, rivals=(msgspec.structs.replace(REPORT.rivals[0], first=True),))
    assert "came first: this one waits" in text(first)


_HELD = {constants.ConditionReason.SUSPENDED, constants.ConditionReason.APPLYING}
_HELD |= {constants.ConditionReason.SUSPENDING, constants.ConditionReason.RESUMED}


@pytest.mark.parametrize("reason", [reason for reason in constants.ConditionReason if reason not in _HELD], ids=str)
@pytest.mark.parametrize("status", ["True", "False", "Unknown"])
def test_every_reason_of_configured_is_explained(reason: constants.ConditionReason, status: str) -> None:
    found = Condition("Configured", status, reason.value, "as the engine says")
    told = text(msgspec.structs.replace(REPORT, configured=found))
    assert dispatch_words.CONFIGURED[reason.value] in told and "as the engine says" in told


@pytest.mark.parametrize("outcome", constants.Outcome, ids=str)
def test_every_outcome_is_explained(outcome: constants.Outcome) -> None:
    operation = RecordedOperation(outcome=outcome.value, commit=SHA_NEW, reason="Repair")
    assert operation.in_flight is not outcome.complete
    health, words = dispatch_words.OUTCOMES[outcome.value]
    assert health is not Health.UNKNOWN and f"9f2c1ab {words}" in text(msgspec.structs.replace(REPORT, operation=operation))


@pytest.mark.parametrize(
    ("table", "known"),
    [
        (dispatch_words.HELD, {reason.value for reason in _HELD}),
        (dispatch_words.ASKED, {reason.value for reason in constants.Reason}),
        (dispatch_words.EVENTS, {reason.value for reason in constants.EventReason}),
        (dispatch_words.ENDS, {"current", "stale", "permanent", "retryable", "unconfirmed"}),
    ],
    ids=["held", "asked", "events", "ends"],
)
def test_every_other_word_of_the_engine_is_explained_and_nothing_else(table: dict[str, str], known: set[str]) -> None:
    assert set(table) == known
    assert all(words and words[0].islower() and not words.endswith(".") for words in table.values())


def test_a_condition_that_says_no_is_explained_in_every_list() -> None:
    saying_no = {reason.value for reason in constants.ConditionReason} - {"Succeeded", *(reason.value for reason in _HELD)}
    assert saying_no <= set(reasons.CONDITIONS)
