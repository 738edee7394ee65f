"""Flux driven by keys: hold, apply commit by commit, release, on real source- and kustomize-controllers."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from tests.e2e.dispatch_fleet import REQUESTED_AT, Shop
from tests.e2e.dispatch_keys import apply_by_keys, close, describe, hold_by_keys, open_on, release_by_keys
from tests.e2e.terminal import Screen


@pytest.mark.scenario("dispatch:R1", "dispatch:R3", "dispatch:P2", "dispatch:P3", "dispatch:L1")
def test_it_is_held_applied_commit_by_commit_and_released(shop: Shop, tmp_path: Path) -> None:
    first = shop.applied
    with Screen(shop.account(tmp_path)) as screen:
        open_on(screen, shop)
        hold_by_keys(screen, "incident 12", "2h")
        assert shop.at_rest
        assert shop.owners() == {"quarterdeck-dispatch"}
        describe(screen, f"It is held by {pwd.getpwuid(os.getuid()).pw_name}@", "incident 12")

        newer = shop.fetch(shop.push())
        screen.wait_for(lambda now: now.line("shop", "out of sync", "held"))
        assert shop.applied == first, "a new commit alone is not applied"
        apply_by_keys(screen, f"Apply {newer[:7]}", "suspended again when that has ended")
        screen.wait_for(f"{newer[:7]} is applied", "Suspend again", "Record the end")
        assert shop.applied == newer
        assert shop.at_rest
        close(screen, "apply", "succeeded")

        version = shop.read()["metadata"]["resourceVersion"]
        apply_by_keys(screen, "This commit is applied already.")
        close(screen, "apply", "succeeded")
        assert shop.read()["metadata"]["resourceVersion"] == version, "nothing was asked"

        release_by_keys(screen, "Flux applies at once whatever its source holds then.")
        found = shop.read()
        assert "suspend" not in found["spec"]
        assert REQUESTED_AT not in found["metadata"].get("annotations", {})
        screen.wait_for(lambda now: now.line("shop", "healthy"))


@pytest.mark.scenario("dispatch:P4", "dispatch:P5", "dispatch:P6")
def test_an_apply_that_fails_says_why_and_it_is_held_again(shop: Shop, tmp_path: Path) -> None:
    first = shop.applied
    with Screen(shop.account(tmp_path)) as screen:
        open_on(screen, shop)
        hold_by_keys(screen, "incident 13")

        shop.fetch(shop.push())
        shop.patch({"spec": {"dependsOn": [{"name": "base"}]}})
        apply_by_keys(screen, "It waits for base.")
        screen.wait_for("was not applied: DependencyNotReady", "base")
        close(screen, "apply", "failed")
        assert shop.at_rest
        assert shop.applied == first

        shop.patch({"spec": {"dependsOn": None}})
        shop.fetch(shop.push(wrong="apiVersion: v1\nkind: ConfigMap\n"))
        apply_by_keys(screen)
        screen.wait_for("was not applied: BuildFailed")
        close(screen, "apply", "failed")
        assert shop.at_rest
        assert shop.applied == first

        shop.patch({"spec": {"wait": True, "timeout": "5m"}})
        shop.fetch(shop.push(wrong="", web=shop.deployment()))
        apply_by_keys(screen, "It ends when what it applied is healthy, at the latest after 5m.")
        screen.wait_for("Wait until it is healthy", "it ends after 5m at the latest")
        shop.deployment_is(healthy=False)
        screen.wait_for("was not applied: HealthCheckFailed")
        close(screen, "apply", "failed")
        assert shop.at_rest
        assert shop.applied == first
        screen.press("3").wait_for("operations ›", lambda now: now.text.count("failed") >= 3)
