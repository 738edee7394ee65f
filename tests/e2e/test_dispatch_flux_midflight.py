"""What happens to a Kustomization in the middle of an apply that was asked for by keys, and what the screen says of it."""

from __future__ import annotations

import secrets
import signal
from pathlib import Path

import pytest

from tests.e2e.dispatch_fleet import LONG, REQUESTED_AT, Shop
from tests.e2e.dispatch_keys import ENDED, apply_by_keys, close, hold_by_keys, open_on
from tests.e2e.terminal import Screen
from tests.real import fleet
from tests.real.processes import wait_until


@pytest.mark.scenario("dispatch:P1", "dispatch:P9", "dispatch:P12")
def test_flux_reconcile_and_flux_resume_by_somebody_else_change_nothing(shop: Shop, tmp_path: Path) -> None:
    first = shop.applied
    with Screen(shop.account(tmp_path)) as screen:
        open_on(screen, shop)
        hold_by_keys(screen, "incident 21")
        shop.patch({"spec": {"wait": True, "timeout": "5m"}})
        newer = shop.fetch(shop.push(web=shop.deployment()))
        apply_by_keys(screen)
        screen.wait_for("Wait until it is healthy", "it ends after 5m at the latest")
        shop.patch({"metadata": {"annotations": {REQUESTED_AT: secrets.token_hex(8)}}}, manager="flux")
        shop.patch({"spec": {"suspend": None}}, manager="flux")
        screen.press("escape").wait_for("ARMED", absent=ENDED).press("3").wait_for("operations ›")
        screen.wait_for(lambda now: now.line("shop", "apply", "waits for"))
        assert not shop.suspended
        assert shop.applied == first
        shop.deployment_is(healthy=True)
        screen.wait_for(lambda now: now.line("shop", "apply", "succeeded"))
        assert shop.at_rest
        assert shop.applied == newer


@pytest.mark.scenario("dispatch:P13")
def test_flux_suspend_before_the_controller_took_it_up_ends_as_nothing_applied(shop: Shop, tmp_path: Path) -> None:
    first = shop.applied
    with Screen(shop.account(tmp_path)) as screen:
        open_on(screen, shop)
        hold_by_keys(screen, "incident 22")
        shop.fetch(shop.push())
        shop.lab.kill()
        apply_by_keys(screen)
        screen.wait_for("waits for kustomize-controller to take the request")
        assert not shop.suspended
        shop.patch({"spec": {"suspend": True}}, manager="flux")
        shop.lab.start()
        screen.wait_for("was not applied:", "nothing ran")
        close(screen, "apply", "failed")
        assert shop.at_rest
        assert shop.applied == first


@pytest.mark.scenario("dispatch:P21")
def test_one_that_is_deleted_in_mid_flight_is_told_and_not_made_anew(shop: Shop, tmp_path: Path) -> None:
    with Screen(shop.account(tmp_path)) as screen:
        open_on(screen, shop)
        hold_by_keys(screen, "incident 23")
        shop.fetch(shop.push())
        shop.lab.kill()
        apply_by_keys(screen)
        screen.wait_for("waits for kustomize-controller to take the request")
        shop.delete()
        screen.wait_for("is gone", lambda now: now.line("apply", "failed"))
        close(screen, "apply", "failed")
        assert shop.kube.find(fleet.FLUX_KUSTOMIZE, "Kustomization", shop.namespace, "shop") is None


@pytest.mark.scenario("dispatch:P22")
def test_one_that_is_made_anew_in_mid_flight_is_left_alone(shop: Shop, tmp_path: Path) -> None:
    with Screen(shop.account(tmp_path)) as screen:
        open_on(screen, shop)
        hold_by_keys(screen, "incident 25")
        newer = shop.fetch(shop.push())
        shop.lab.kill()
        apply_by_keys(screen)
        screen.wait_for("waits for kustomize-controller to take the request")
        # Nobody looks for a moment: the console finds the new one, not the gap between the two.
        screen.process.send_signal(signal.SIGSTOP)
        try:
            shop.delete()
            shop.kube.apply(shop.manifest)
        finally:
            screen.process.send_signal(signal.SIGCONT)
        screen.wait_for("was not applied:", "replaced")
        close(screen, "apply", "failed")
        found = shop.read()
        assert "suspend" not in found["spec"]
        assert not found["metadata"].get("annotations")
    shop.lab.start()
    shop.lab.wait_applied(shop.namespace, "shop", newer, LONG)


@pytest.mark.scenario("dispatch:X2")
def test_a_console_that_is_killed_in_mid_apply_finds_it_again_and_holds_it(shop: Shop, tmp_path: Path) -> None:
    with Screen(shop.account(tmp_path)) as screen:
        open_on(screen, shop)
        hold_by_keys(screen, "incident 24")
        newer = shop.fetch(shop.push())
        shop.lab.kill()
        apply_by_keys(screen)
        screen.wait_for("waits for kustomize-controller to take the request")
        screen.process.send_signal(signal.SIGKILL)
        screen.ended()
    assert not shop.suspended, "nobody is there to hold it"
    shop.lab.start()
    wait_until(lambda: shop.applied == newer, "Flux has applied it", LONG)
    with Screen(shop.account(tmp_path)) as screen:
        screen.wait_for("● 1 live", lambda now: now.line("shop", "held"))
        shop.settles()
        screen.press("3").wait_for("operations ›", lambda now: now.line("shop", "apply", "succeeded"))
        screen.press("d").wait_for(newer[:7])
    assert shop.applied == newer
