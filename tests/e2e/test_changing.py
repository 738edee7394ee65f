"""Changing real servers by keys, and leaving."""

from __future__ import annotations

import signal

import pytest

from tests.e2e.fleet import TEAM, RealFleet
from tests.e2e.terminal import Screen
from tests.e2e.test_looking import ALL_LIVE
from tests.real.fleet import FLUX_KUSTOMIZE


def test_a_kustomization_is_suspended_by_keys(fleet: RealFleet) -> None:
    def suspended() -> object:
        return fleet.kube.client.get(FLUX_KUSTOMIZE, "Kustomization", TEAM, "shop")["spec"].get("suspend")

    with Screen(fleet.env) as screen:
        screen.wait_for(ALL_LIVE).prompt(":", "ctx prod").prompt(":", "kustomizations").wait_for("shop-front")
        screen.prompt("/", "healthy").wait_for("hidden", absent="shop-front")
        screen.press("H").wait_for("Suspend: team/shop").press(*"maintenance")
        screen.wait_for("maintenance").press_until("enter", "prod is read-only here")
        screen.press_until("W", "y runs this plan").press("y").wait_for("succeeded")
        assert suspended() is True
        screen.press("escape", "escape").wait_for("held")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_stopped_leaves_a_clean_terminal(number: signal.Signals, fleet: RealFleet) -> None:
    with Screen(fleet.env) as screen:
        screen.wait_for(ALL_LIVE)
        screen.process.send_signal(number)
        assert screen.ended() == 128 + number
        assert screen.restored()
        assert b"Traceback" not in screen.said
