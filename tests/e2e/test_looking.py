"""Looking at a whole fleet of real servers, in a terminal."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.e2e.fleet import SECRET, RealFleet
from tests.e2e.terminal import ROOT, Screen

ALL_LIVE = "● 4 live"


def test_everything_that_the_files_name_is_found_and_shown(fleet: RealFleet) -> None:
    with Screen(fleet.env) as screen:
        screen.wait_for(ALL_LIVE, "▲ 1 restricted", "team/shop-front", "team/ledger", "team/queue", "flaky")
        screen.wait_for(lambda now: now.line("■", "prod", "Kustomization", "team/shop-front"))
        screen.wait_for(lambda now: now.line("●", "harbour", "Stack", "shop", "3/3 tasks"))
        screen.press("2").wait_for("triggers ›", "shop-db", "ArgoCDTrigger", "FluxTrigger")
        screen.press("3").wait_for("operations ›", "team/payments", "Argo CD")
        screen.press("4").wait_for("stacks ›", "harbour", "3/3")
        screen.press("5").wait_for("services ›", "chatter", "idle", "It has ended.")
        screen.press("6").wait_for("activity ›", "flaky", "start")
        screen.press("2").wait_for("triggers ›").prompt("/", "shop-db").wait_for("shop-db", "hidden", absent="ledger")
        screen.press("escape").wait_for("ledger")
        screen.resize(80, 24).wait_for("●4 ▲1", "shop-front")
        screen.resize(200, 60).wait_for(ALL_LIVE, "Describe   YAML   Events")


def test_an_object_is_described_its_secrets_masked_and_its_log_followed(fleet: RealFleet) -> None:
    with Screen(fleet.env) as screen:
        screen.wait_for(ALL_LIVE).press("5").wait_for("chatter").prompt("/", "chatter").wait_for("hidden")
        screen.press("d").wait_for("has run for", "It has no health check")
        screen.press("y").wait_for("Id:", "/").prompt("/", "API_TOKEN").wait_for("API_TOKEN=")
        assert SECRET not in screen.text
        screen.press("l").wait_for("tick")
        count = screen.text.count("tick")
        screen.wait_for(lambda now: now.text.count("tick") > count)
        assert screen.press("ctrl+c").ended() == 0
        assert screen.restored()
    assert SECRET.encode() not in screen.said


def test_what_one_may_not_read_is_called_restricted(fleet: RealFleet) -> None:
    with Screen(fleet.env) as screen:
        screen.wait_for("▲ 1 restricted", ALL_LIVE)
        screen.prompt(":", "ctx audit").press("2").wait_for("triggers ›", "may not")
        screen.prompt(":", "pods").wait_for("pods ›", "ledger-5c6b-q8w2e")


def test_the_headless_commands_see_the_same_fleet(fleet: RealFleet) -> None:
    def quarterdeck(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "console", *arguments],
            cwd=ROOT,
            env={**fleet.env, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )

    found = quarterdeck("get", "bridge", "-o", "json")
    names = {(item["ref"]["connection"], item["ref"]["name"]) for item in json.loads(found.stdout)["items"]}
    assert {("prod", "shop-front"), ("oncall", "ledger"), ("harbour", "shop"), ("tern", "flaky")} <= names
    assert "audit" in found.stderr, "what a target hides is said"
    plan = quarterdeck("plan", "scale", "harbour", "SwarmService/shop_web", "replicas=3")
    assert plan.returncode == 3 and "from 2 to 3" in plan.stdout, plan
