"""The apply dialog: what it offers, what it refuses, and that it only leads to a plan."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest
from textual.widgets import Input

from console.errors import Unreachable
from console.model.commits import ApplyOffer, ChangePreview, CommitInfo, ObjectChange
from console.model.refs import Ref
from console.ui import apply_text
from console.ui.screens import apply as apply_module
from console.ui.screens import plan as plan_module
from console.ui.screens.apply import ApplyScreen
from console.ui.screens.plan import PlanScreen
from console.ui.text import plain
from console.ui.widgets.bar import Note
from console.ui.widgets.pick_list import PickList
from tests.ui.fleet import SHA_NEW, SHA_OLD, WEB, fill
from tests.ui.samples_commits import NEW, OFFER, PREVIEW, SHA_REFUSED, offer_commits
from tests.ui.screen import Shown, shown
from tests.ui.stand_in import NOW, StandIn


@pytest.fixture(autouse=True)
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "GRACE", 0.0)


def offered(offer: ApplyOffer = OFFER) -> Callable[[StandIn], None]:
    def setup(runtime: StandIn) -> None:
        fill(runtime)
        offer_commits(runtime)
        runtime.offers[WEB] = offer

    return setup


async def opened(screen: Shown, key: str = "A") -> ApplyScreen:
    await screen.press(key)
    dialog = await screen.dialog(ApplyScreen)
    await screen.until(lambda: dialog.offer is not None)
    await screen.pilot.pause()
    return dialog


def picks(dialog: ApplyScreen, name: str) -> PickList:
    return dialog.query_one(f"#{name}", PickList)


def answer(dialog: ApplyScreen) -> str:
    return dialog.query_one("#answer", Note).text


async def preview(screen: Shown, has: str) -> None:
    await screen.until(lambda: has in screen.text("#preview"))


async def test_three_keys_apply_what_is_proposed() -> None:
    async with shown(setup=offered()) as screen:
        screen.app.changing.arm("prod-eu")
        await opened(screen)
        await screen.press("enter")
        dialog = await screen.dialog(PlanScreen)
        assert dialog.plan.intent.arguments == {"commit": SHA_NEW, "because": "CatchUp"}


async def test_the_commit_the_reason_and_the_why_that_were_chosen_are_in_the_plan() -> None:
    async with shown(setup=offered()) as screen:
        await opened(screen)
        await screen.press("j", "tab", "end", "tab")
        await screen.enter("INC-4211")
        await screen.press("enter")
        dialog = await screen.dialog(PlanScreen)
        intent = dialog.plan.intent
        assert intent.arguments == {"commit": SHA_OLD, "because": "Repair"}
        assert intent.reason == "INC-4211"


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 60)])
async def test_everything_to_choose_from_and_the_keys_are_on_the_screen(width: int, height: int) -> None:
    async with shown(width, height, setup=offered()) as screen:
        dialog = await opened(screen)
        commits, reasons = picks(dialog, "commits"), picks(dialog, "reasons")
        assert "github.com/acme/shop@main" in dialog.query_one("#facts", Note).text
        for shown_now in ("77b0e41", "9f2c1ab", "Serve web:1.44", "the source has it", "another"):
            assert shown_now in commits.text
        for reason in ("CatchUp", "ForeignCommit", "Refusal", "Repair"):
            assert reason in reasons.text
        await preview(screen, "Deployment shop/web")
        for part in ("#commits", "#reasons", "#why", "#preview", "#answer"):
            region = dialog.query_one(part).region
            assert region.height >= 1 and region.bottom <= height and region.right <= width, part


async def test_a_refused_commit_says_why_and_is_never_planned() -> None:
    async with shown(setup=offered()) as screen:
        dialog = await opened(screen)
        await screen.press("g")
        assert picks(dialog, "commits").chosen == picks(dialog, "commits").picks[0]
        assert "does not have it yet" in " ".join(picks(dialog, "commits").text.split())
        await screen.press("enter")
        assert screen.app.screen is dialog
        assert "77b0e41 can't be applied now: the source does not have it yet" in answer(dialog)


async def test_an_unlawful_reason_says_why_and_is_never_planned() -> None:
    async with shown(setup=offered()) as screen:
        dialog = await opened(screen)
        await screen.press("tab", "j", "j", "enter")
        assert screen.app.screen is dialog
        assert "Refusal isn't lawful now: no target consents" in answer(dialog)


async def test_a_commit_that_is_applied_already_asks_for_nothing_and_that_is_said() -> None:
    async with shown(setup=offered()) as screen:
        dialog = await opened(screen)
        await screen.press("j")
        assert "4be19d0 is applied already, so CatchUp asks for nothing. Choose Repair" in answer(dialog)
        await screen.press("tab", "end")
        assert "applied already" not in answer(dialog)


async def test_another_commit_is_typed_in_full() -> None:
    typed = "d" * 40
    async with shown(setup=offered()) as screen:
        dialog = await opened(screen)
        await screen.press("G", "enter")
        other = dialog.query_one("#other", Input)
        assert other.has_focus and "full hash" in answer(dialog)
        await screen.enter("abc12")
        await screen.press("enter")
        assert screen.app.screen is dialog and "That are 5 digits" in answer(dialog)
        other.value = ""
        await screen.enter(typed)
        await screen.press("enter")
        plan = await screen.dialog(PlanScreen)
        assert plan.plan.intent.arguments["commit"] == typed


@pytest.mark.parametrize(
    ("text", "wrong"),
    [("", "Type the full hash"), ("abc", "3 digits"), ("g" * 40, "only the digits"), ("A" * 40, ""), ("b" * 64, "")],
)
def test_what_is_wrong_with_a_typed_hash_is_said(text: str, wrong: str) -> None:
    found = apply_text.what_is_wrong(text)
    assert wrong in found and bool(found) is bool(wrong)


class Hanging:
    """Previews that never come; who asks is remembered."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def preview(self, ref: Ref, commit: str) -> ChangePreview:
        self.asked.append(commit)
        await asyncio.Event().wait()
        raise AssertionError


async def test_nothing_is_asked_of_the_server_before_the_cursor_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply_module, "REST", 3600.0)
    async with shown(setup=offered()) as screen:
        hanging = Hanging()
        screen.runtime.preview = hanging.preview  # type: ignore[method-assign]
        await opened(screen)
        await screen.press("j", "k", "j")
        assert "Asking the server" in screen.text("#preview")
        assert hanging.asked == []


async def test_a_preview_that_hangs_is_given_up_for_the_next_and_keys_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply_module, "REST", 0.01)
    async with shown(setup=offered()) as screen:
        hanging = Hanging()
        screen.runtime.preview = hanging.preview  # type: ignore[method-assign]
        dialog = await opened(screen)
        await screen.until(lambda: hanging.asked == [SHA_NEW])
        await screen.press("j")
        await screen.until(lambda: hanging.asked == [SHA_NEW, SHA_OLD])
        await screen.until(
            lambda: len([worker for worker in dialog.workers if worker.group == "preview" and worker.is_running]) == 1
        )
        await screen.press("enter")
        await screen.dialog(PlanScreen)


async def test_the_preview_tells_by_object_what_would_change() -> None:
    async with shown(160, 44, setup=offered()) as screen:
        await opened(screen)
        await preview(screen, "Deployment shop/web")
        text = screen.text("#preview").replace("\N{NO-BREAK SPACE}", " ")
        for told in ("1 deleted", "1 created", "1 changed", "1 not known", "2 the same", "spec.replicas", "3  →  6"):
            assert told in text
        assert "the server may not be asked (403)" in text and "not covered" in text


def test_a_preview_without_objects_says_that_nothing_would_change() -> None:
    assert "Nothing: the cluster is as this commit says." in plain(apply_text.preview_lines(ChangePreview(commit=NEW), 60))
    told = ChangePreview(commit=NEW, notes=("It has no tool for that.",))
    assert "It has no tool for that." in plain(apply_text.preview_lines(told, 60))


def test_what_a_preview_says_never_passes_as_more_than_text() -> None:
    evil = ObjectChange(what="Job \x1b[31mred", change="unknown", said="token=\x07")
    text = plain(apply_text.preview_lines(ChangePreview(commit=CommitInfo(hash=SHA_NEW), objects=(evil,)), 60))
    assert "\x1b" not in text and "\x07" not in text


async def test_a_preview_that_cannot_be_had_says_why_and_the_plan_is_still_there() -> None:
    async with shown(setup=offered()) as screen:
        dialog = await opened(screen)
        screen.runtime.previews.clear()
        dialog._previews.clear()
        await screen.press("j", "k")
        await preview(screen, "It can't be told: What 9f2c1ab would change")
        await screen.press("enter")
        await screen.dialog(PlanScreen)


async def test_nothing_offered_is_said_and_a_hash_can_be_typed() -> None:
    bare = msgspec.structs.replace(OFFER, commits=(), applied="", notes=("The source can't be read: no answer.",))
    async with shown(setup=offered(bare)) as screen:
        dialog = await opened(screen)
        assert dialog.query_one("#other").display
        assert "The source can't be read: no answer." in dialog.query_one("#notes", Note).text
        assert "applied now nothing yet" in dialog.query_one("#facts", Note).text


async def test_what_stands_in_the_way_of_everything_is_said_once_and_enter_repeats_it() -> None:
    stop = "It is not held: only what is held is applied commit by commit. Hold it first (H)."
    held = msgspec.structs.replace(
        OFFER,
        commits=tuple(msgspec.structs.replace(item, refused=stop) for item in OFFER.commits),
        reasons=tuple(msgspec.structs.replace(item, refused=stop) for item in OFFER.reasons),
        notes=(stop, "The last operation failed."),
    )
    async with shown(setup=offered(held)) as screen:
        dialog = await opened(screen)
        assert dialog.query_one("#notes", Note).text.count("Hold it first") == 1
        assert "Hold it first" not in picks(dialog, "commits").text + picks(dialog, "reasons").text + answer(dialog)
        await screen.press("enter")
        assert screen.app.screen is dialog and "Nothing can be applied now. It is not held" in answer(dialog)


async def test_while_the_offer_is_read_keys_go_on_and_escape_leaves() -> None:
    async with shown(setup=offered()) as screen:
        gate = asyncio.Event()

        async def never(ref: Ref) -> ApplyOffer:
            await gate.wait()
            return OFFER

        screen.runtime.apply_offer = never  # type: ignore[method-assign]
        await screen.press("A")
        dialog = await screen.dialog(ApplyScreen)
        assert "Reading what can be applied" in dialog.query_one("#facts", Note).text
        await screen.press("enter")
        assert "Still reading" in answer(dialog)
        await screen.press("escape")
        await screen.until(lambda: screen.on_main)


async def test_without_an_offer_there_is_the_plan_with_the_reason() -> None:
    async with shown() as screen:
        await screen.press("A")
        await screen.dialog(PlanScreen)
        assert "FluxTrigger shop/web is not driven by this console." in screen.text("#steps")


async def test_an_offer_that_fails_leads_to_the_plan_too() -> None:
    async with shown() as screen:

        async def gone(ref: Ref) -> ApplyOffer:
            raise Unreachable("prod-eu does not answer.", "Try later.")

        screen.runtime.apply_offer = gone  # type: ignore[method-assign]
        await screen.press("A")
        await screen.dialog(PlanScreen)
        assert "prod-eu does not answer. Try later." in screen.text("#steps")


async def test_looking_at_the_difference_never_leads_to_a_plan() -> None:
    async with shown(setup=offered()) as screen:
        dialog = await opened(screen, "equals_sign")
        assert not dialog.query_one("#reasons").display
        await screen.press("j")
        await preview(screen, "Deployment shop/web")
        await screen.press("enter")
        assert screen.app.screen is dialog and "only looks" in answer(dialog)
        await screen.press("escape")
        await screen.until(lambda: screen.on_main)
        assert screen.runtime.commands.ran == []


def test_argo_cd_syncs_an_applied_commit_again() -> None:
    argo = msgspec.structs.replace(OFFER, ref=Ref("prod-eu", "Application", "argocd", "shop"))
    assert apply_text.answers_nothing(argo, SHA_OLD, "CatchUp") == ""
    assert apply_text.answers_nothing(OFFER, SHA_OLD, "CatchUp")


def test_a_commit_whose_message_cannot_be_read_says_so() -> None:
    text = "\n".join(entry.text for pick in apply_text.commit_picks(OFFER, NOW, 80) for entry in pick.lines)
    assert "its message can't be read: the repository wants a login" in text
    assert SHA_REFUSED[:7] in text and PREVIEW.count("same") == 2
