"""What an operator reads when an applier can't be driven as it is: in the apply dialog and beside the list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.dispatch_fleet import App, Shop
from tests.e2e.dispatch_keys import apply_by_keys, close, describe, hold_by_keys, open_on, refused_by_keys
from tests.e2e.terminal import Screen
from tests.real import fleet
from tests.real.argocd import NAMESPACE


@pytest.mark.scenario("dispatch:V4", "dispatch:V5", "dispatch:V7", "dispatch:R14", "dispatch:R15", "dispatch:W21")
def test_a_kustomization_that_can_not_be_driven_says_why_and_is_left_alone(shop: Shop, tmp_path: Path) -> None:
    first = shop.applied
    trigger = fleet.flux_trigger(shop.namespace, cluster="default")
    with Screen(shop.account(tmp_path)) as screen:
        open_on(screen, shop)
        hold_by_keys(screen, "incident 31")
        shop.fetch(shop.push())
        before = shop.read()

        for pin in ({"tag": "v1"}, {"semver": ">=1.0"}, {"commit": first}, {"name": "refs/heads/main"}):
            shop.patch_source({"spec": {"ref": pin}})
            ((kind, value),) = pin.items()
            refused_by_keys(screen, f"can't be driven: GitRepository {shop.path} is pinned to {kind} {value}")
            shop.patch_source({"spec": {"ref": {kind: None}}})

        shop.patch_source({"spec": {"ref": {"branch": "dev"}}})
        refused_by_keys(screen, "can't be driven:", "dev", "main")
        describe(screen, "that can't be driven now", "the branch 'main' is written")
        shop.patch_source({"spec": {"ref": {"branch": "main"}}})

        shop.patch({"spec": {"sourceRef": {"name": "nowhere"}}})
        refused_by_keys(screen, "can't be driven:", f"GitRepository {shop.namespace}/nowhere does not exist")
        shop.kube.put(fleet.git_repository(shop.namespace, "elsewhere"))
        shop.patch({"spec": {"sourceRef": {"name": "elsewhere"}}})
        refused_by_keys(screen, "can't be driven:", "git.example.test/team/elsewhere")
        shop.patch({"spec": {"sourceRef": {"kind": "Bucket", "name": "shop"}}})
        refused_by_keys(screen, "can't be driven:", "does not apply a GitRepository")
        shop.patch({"spec": {"sourceRef": {"kind": "GitRepository", "name": "shop"}}})

        shop.parent_sets(suspend=True)
        refused_by_keys(screen, "can't be driven:", "kustomize-controller")
        shop.parent_sets()

        shop.kube.put(trigger)
        refused_by_keys(screen, "can't be driven:", f"FluxTrigger {shop.path}")
        shop.kube.delete(trigger)

        assert shop.suspended
        assert shop.applied == first
        after = shop.read()
        assert after["metadata"]["annotations"] == before["metadata"]["annotations"], "nothing was asked or recorded"
        apply_by_keys(screen)
        close(screen, "apply", "succeeded")


@pytest.mark.scenario("dispatch:V12", "dispatch:V14", "dispatch:V15", "dispatch:AC3", "dispatch:AC4", "dispatch:AC5")
def test_an_application_that_can_not_be_driven_says_why_and_is_left_alone(wallet: App, tmp_path: Path) -> None:
    wallet.begin()
    source = wallet.read()["spec"]["source"]
    with Screen(wallet.account(tmp_path)) as screen:
        open_on(screen, wallet)

        def refused(spec: dict[str, Any], *words: str) -> None:
            wallet.patch({"spec": spec})
            refused_by_keys(screen, f"{NAMESPACE}/{wallet.name}", *words)

        refused({"sources": [source, {**source, "path": "other"}]}, "spec.sources")
        refused({"sources": [source]}, "spec.sources")
        refused({"sources": None, "source": {**source, "chart": "shop"}}, "chart")
        refused({"source": {**source, "chart": None, "targetRevision": "HEAD"}}, "HEAD", "main")
        wallet.patch({"spec": {"source": source}})
        assert "operationState" not in wallet.read()["status"], "nothing was asked"
        refused({"syncPolicy": {"automated": {}}}, "automated sync")


@pytest.mark.scenario("dispatch:V9")
def test_without_the_right_to_change_it_the_missing_right_is_named(shop: Shop, tmp_path: Path) -> None:
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
    shop.kube.grant("viewer", [everything])
    kustomizations = {"apiGroups": ["kustomize.toolkit.fluxcd.io"], "resources": ["kustomizations"], "verbs": ["patch"]}
    shop.kube.grant("viewer", [kustomizations], shop.namespace)
    with Screen(shop.account(tmp_path, user="viewer")) as screen:
        open_on(screen, shop)
        refused_by_keys(screen, "may not", "patch", f"GitRepository {shop.path}")


@pytest.mark.scenario("dispatch:W19")
def test_a_second_console_of_an_account_shows_and_does_not_apply(shop: Shop, tmp_path: Path) -> None:
    env = shop.account(tmp_path)
    with Screen(env) as first:
        open_on(first, shop)
        hold_by_keys(first, "incident 32")
        newer = shop.fetch(shop.push())
        with Screen(env) as second:
            second.wait_for("This one only reads", "read-only for good", lambda now: now.line("shop", "held"))
            second.press("A").wait_for("This console only reads.")
            describe(second, "It is held by", "incident 32")
        assert shop.suspended
        apply_by_keys(first)
        close(first, "apply", "succeeded")
        assert shop.applied == newer
