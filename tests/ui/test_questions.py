"""Questions before a plan: what is asked of which object, what can be chosen, and what comes of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from textual.widgets import Input

from console.model.plan import Intent
from console.ui.screens.ask import AskScreen
from console.ui.screens.dialogs import ChooseScreen
from console.ui.screens.plan import PlanScreen
from console.ui.verbs import Field, fields, needs_live
from console.ui.widgets.choice import Choice, Marks
from tests.ui.fleet import SHOP, fill
from tests.ui.screen import shown
from tests.ui.stand_in import StandIn, one_field_plan

APPLICATION: dict[str, Any] = {
    "spec": {"source": {"repoURL": "https://git.example.test/shop.git"}},
    "status": {
        "resources": [
            {"group": "apps", "kind": "Deployment", "namespace": "shop", "name": "web", "status": "OutOfSync"},
            {"kind": "Service", "namespace": "shop", "name": "web", "status": "Synced"},
        ],
        "history": [
            {"id": number, "revision": f"{number}" * 40, "deployedAt": f"2026-03-0{number}T09:00:00Z"} for number in (1, 2, 3)
        ],
    },
}


def question(found: tuple[Field, ...], name: str) -> Field:
    return next(field for field in found if field.name == name)


def test_a_sync_offers_the_objects_that_the_application_has() -> None:
    resources = question(fields("Application", "sync", APPLICATION), "resources")
    assert resources.several
    assert resources.choices[0] == ("apps:Deployment:shop/web", "Deployment shop/web  OutOfSync")
    assert [value for value, _ in resources.choices] == ["apps:Deployment:shop/web", ":Service:shop/web"]


def test_a_rollback_offers_the_history_newest_first_without_the_one_that_serves() -> None:
    entry = question(fields("Application", "rollback", APPLICATION), "id")
    assert entry.choices == (("2", "2: 22222222, 2026-03-02 09:00"), ("1", "1: 11111111, 2026-03-01 09:00"))


def test_where_the_object_cannot_be_read_the_entry_is_typed() -> None:
    assert question(fields("Application", "rollback", None), "id").choices == ()
    assert needs_live("Application", "rollback")
    assert not needs_live("SwarmService", "rollback")


def test_other_kinds_are_asked_what_they_were() -> None:
    assert [field.name for field in fields("SwarmService", "rollback")] == ["revision", "reason"]
    assert fields("Kustomization", "reconcile") == ()


async def ask(found: tuple[Field, ...], *keys: str) -> dict[str, str] | None:
    """The answers after these keys."""
    answers: list[dict[str, str] | None] = []
    async with shown() as screen:
        screen.app.push_screen(AskScreen("Sync", found), answers.append)
        await screen.dialog(AskScreen)
        await screen.press(*keys)
        await screen.until(lambda: bool(answers))
    return answers[0]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("enter",), {}),
        (("y", "enter"), {"prune": "true"}),
        (("space", "down", "right", "enter"), {"prune": "true", "dry-run": "true"}),
        (("right", "left", "enter"), {}),
        (("escape",), None),
    ],
)
async def test_questions_with_few_answers_are_turned_and_entered(
    keys: tuple[str, ...], expected: dict[str, str] | None
) -> None:
    assert await ask(fields("Application", "sync", APPLICATION), *keys) == expected


async def test_what_is_marked_shows_without_colour() -> None:
    async with shown() as screen:
        screen.app.push_screen(AskScreen("Sync", (question(fields("Application", "sync", APPLICATION), "resources"),)))
        dialog = await screen.dialog(AskScreen)
        marks = dialog.query_one(Marks)
        await screen.press("space", "down", "space", "space")
        assert [str(option.prompt)[:3] for option in marks.options] == ["[x]", "[ ]"]
        assert marks.marked == ("apps:Deployment:shop/web",)


async def test_objects_are_marked_in_their_list() -> None:
    found = (question(fields("Application", "sync", APPLICATION), "resources"), Field("reason", "Why", required=False))
    assert await ask(found, "down", "space", "up", "space", "down", "space", "space", "enter") == {
        "resources": "apps:Deployment:shop/web,:Service:shop/web"
    }


async def test_what_must_be_typed_is_not_left_out() -> None:
    found = (Field("replicas", "How many"),)
    assert await ask(found, "enter", "3", "enter") == {"replicas": "3"}


async def test_all_questions_of_a_sync_fit_a_small_screen_or_scroll() -> None:
    async with shown(80, 24) as screen:
        screen.app.push_screen(AskScreen("Sync", fields("Application", "sync", APPLICATION)))
        dialog = await screen.dialog(AskScreen)
        assert (len(dialog.query(Choice)), len(dialog.query(Marks))) == (6, 1)
        await screen.press(*["tab"] * 8)
        reason = dialog.query_one("#field-reason", Input)
        assert reason.has_focus
        await screen.until(lambda: 0 < reason.region.bottom <= dialog.query_one("#confirm").region.y)
        assert dialog.query_one("#confirm").region.bottom < 24


def _held(runtime: StandIn) -> None:
    fill(runtime)
    runtime.commands.offered["Stack"] = ("delete", "release")
    made = one_field_plan(Intent(verb="delete", targets=(SHOP,)))
    better = Intent(verb="release", targets=(SHOP,))
    runtime.commands.plans["delete"] = msgspec.structs.replace(
        made, instead=better, effects=("WARNING: 3 objects stay behind.",)
    )


@pytest.mark.scenario("dispatch:W23")
@pytest.mark.parametrize(("keys", "verb"), [(("enter",), "release"), (("down", "enter"), "delete")])
async def test_before_a_deletion_that_leaves_things_behind_the_release_is_a_key_away(keys: tuple[str, ...], verb: str) -> None:
    async with shown(setup=_held) as screen:
        screen.table.select(SHOP)
        await screen.press("X")
        await screen.dialog(AskScreen)
        await screen.press("enter")
        await screen.dialog(ChooseScreen)
        await screen.press(*keys)
        dialog = await screen.dialog(PlanScreen)
        assert dialog.plan.intent.verb == verb
