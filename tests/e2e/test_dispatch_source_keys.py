"""The commit that is asked for by keys and the source that must have it: fetched first, or told why it can't be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.dispatch_fleet import Shop
from tests.e2e.dispatch_keys import (
    answer_hold,
    apply_by_keys,
    ask_for,
    choose,
    close,
    confirm_by_name,
    hold_by_keys,
    open_on,
    release_by_keys,
    run_plan,
    see_plan,
)
from tests.e2e.terminal import Screen


@pytest.mark.scenario("dispatch:R4", "dispatch:R7")
def test_a_commit_that_the_source_has_not_fetched_is_fetched_first(shop: Shop, tmp_path: Path) -> None:
    with Screen(shop.account(tmp_path)) as screen:
        open_on(screen, shop)
        hold_by_keys(screen, "incident 41")

        newer = shop.push()
        apply_by_keys(screen, "it fetches main first", commit=newer)
        screen.wait_for(f"{newer[:7]} is applied")
        close(screen, "apply", "succeeded")
        assert shop.applied == newer
        assert shop.at_rest

        handled = shop.read()["status"]["lastHandledReconcileAt"]
        apply_by_keys(screen, "This commit is applied already.", "Reason Repair", reason="Repair")
        screen.wait_for(f"{newer[:7]} is applied")
        close(screen, "apply", "succeeded")
        assert shop.read()["status"]["lastHandledReconcileAt"] > handled
        assert shop.at_rest

        before = shop.read()["metadata"]
        elsewhere = shop.git.commit(shop.repository, {"shop/aside.yaml": ""}, "aside")
        ask_for(screen, "another")
        screen.wait_for("full hash").press("tab", *elsewhere).wait_for(f"What {elsewhere[:7]} would change").press("enter")
        screen.wait_for(f"neither is commit {elsewhere[:7]}")
        after = shop.read()["metadata"]
        assert after["generation"] == before["generation"], "it was not resumed"


@pytest.mark.scenario("dispatch:R10", "dispatch:R11")
def test_a_source_that_can_not_fetch_says_why(shop: Shop, tmp_path: Path) -> None:
    with Screen(shop.account(tmp_path)) as screen:
        open_on(screen, shop)
        hold_by_keys(screen, "incident 42")
        before = shop.read()["metadata"]

        newer = shop.push()
        shop.patch_source({"spec": {"suspend": True}})
        ask_for(screen, newer)
        screen.wait_for("not now: The source is suspended").press("enter")
        screen.wait_for("The source is suspended").press("escape").wait_for(absent="Apply a commit:")

        shop.patch_source({"spec": {"suspend": None, "secretRef": {"name": "lost"}}})
        apply_by_keys(screen, commit=newer)
        screen.wait_for("cannot fetch commit", "AuthenticationFailed")
        close(screen, "apply", "failed")
        after = shop.read()["metadata"]
        assert after["generation"] == before["generation"], "it was not resumed"


@pytest.mark.scenario("dispatch:L2")
def test_a_hold_that_flux_suspend_shares_is_released_all_the_same(shop: Shop, tmp_path: Path) -> None:
    shop.patch({"spec": {"suspend": True}}, manager="flux")
    with Screen(shop.account(tmp_path)) as screen:
        open_on(screen, shop)
        screen.wait_for(lambda now: now.line("shop", "held"))
        choose(screen, "Hold: stop automation")
        answer_hold(screen, "incident 43")
        assert shop.owners() == {"flux", "quarterdeck-dispatch"}
        release_by_keys(screen)
        assert not shop.suspended


@pytest.mark.scenario("dispatch:W23")
def test_before_a_held_one_is_deleted_its_plan_warns_that_everything_stays(shop: Shop, tmp_path: Path) -> None:
    with Screen(shop.account(tmp_path)) as screen:
        open_on(screen, shop)
        hold_by_keys(screen, "incident 44")
        screen.press("X").wait_for("Delete:", "show the plan").press("enter")
        screen.wait_for("WARNING:", "1 object stays behind", "Release the hold first", "Delete all the same").press("enter")
        see_plan(screen, "Release the hold:")
        run_plan(screen)
        close(screen, "release", "succeeded")
        assert not shop.suspended


def test_on_a_protected_target_a_plan_wants_the_name_typed(shop: Shop, tmp_path: Path) -> None:
    with Screen(shop.account(tmp_path, protected=True)) as screen:
        open_on(screen, shop)
        shop.fetch(shop.push())
        screen.wait_for("flux protected").press("H").wait_for("Hold / release:").press("enter")
        screen.wait_for("Why (for the journal and for the others)").press("enter")
        confirm_by_name(screen, "shop", "Nothing is reconciled but what this console applies")
        close(screen, "hold", "succeeded")
        assert shop.at_rest
