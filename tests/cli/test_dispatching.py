"""A local trigger from the command line, over the demo's simulated Flux and Argo CD: hold, apply, release."""

from __future__ import annotations

from pathlib import Path

import pytest_asyncio

from console.engines.dispatch.revisions import commit_of
from tests.cli.conftest import Fleet
from tests.cli.test_writing import moving

__all__ = ["moving"]

INFRASTRUCTURE = "Kustomization/flux-system/infrastructure"
DECLARED = """
connections:
  - {name: atlas, kubernetes: atlas}
  - {name: borealis, kubernetes: borealis}
triggers:
  - name: infrastructure
    connection: atlas
    kind: flux
    namespace: flux-system
    object: infrastructure
    url: https://git.example.test/platform/fleet.git
    branch: main
    hold: true
  - name: dashboards
    connection: borealis
    kind: argocd
    namespace: argocd
    object: search-eu
    url: https://git.example.test/shop/search-eu.git
    branch: main
"""


@pytest_asyncio.fixture
async def declared(moving: Fleet, tmp_path: Path) -> Fleet:
    folder = tmp_path / "config"
    folder.mkdir(exist_ok=True)
    (folder / "fleet.yaml").write_text(DECLARED)
    return moving


async def test_an_apply_needs_a_hold_and_a_commit_and_says_that_the_source_fetches_it_first(declared: Fleet) -> None:
    bare = await declared.quarterdeck("plan", "apply", "atlas", INFRASTRUCTURE)
    assert bare.code == 1 and "not held" in bare.err
    held = await declared.quarterdeck("run", "hold", "atlas", INFRASTRUCTURE, "until=2h", "--yes", "--why", "incident 12")
    assert held.code == 0, held.err
    other = await declared.quarterdeck("plan", "apply", "atlas", INFRASTRUCTURE, f"commit={'a' * 40}")
    assert other.code == 3 and "it fetches main first" in other.out, "nothing tells here that the branch is elsewhere"
    short = await declared.quarterdeck("plan", "apply", "atlas", INFRASTRUCTURE, "commit=abc")
    assert short.code == 1 and "is no commit" in short.err


async def test_a_held_kustomization_applies_one_commit_is_held_again_and_is_handed_back(declared: Fleet) -> None:
    held = await declared.quarterdeck("run", "hold", "atlas", INFRASTRUCTURE, "--yes", "--why", "incident 12")
    assert held.code == 0, held.err
    listed = await declared.quarterdeck("get", "kustomizations", "infrastructure")
    assert "held by" in listed.out and "incident 12" in listed.out
    resumed = await declared.quarterdeck("plan", "resume", "atlas", INFRASTRUCTURE)
    assert resumed.code == 1 and "Release the hold instead" in resumed.err
    repaired = await declared.quarterdeck("apply", "infrastructure", "--because", "Repair", "--yes")
    assert repaired.code == 0, repaired.err
    assert repaired.out.startswith("Done: ")
    shown = await declared.quarterdeck("get", "kustomizations", "infrastructure", "-o", "json")
    assert '"suspended": true' in shown.out, "it is held again"
    released = await declared.quarterdeck("run", "release", "atlas", INFRASTRUCTURE, "--yes")
    assert released.code == 0, released.err
    after = await declared.quarterdeck("plan", "release", "atlas", INFRASTRUCTURE)
    assert after.code == 0 and "does not hold it" in after.out


async def test_an_application_syncs_exactly_one_commit(declared: Fleet) -> None:
    planned = await declared.quarterdeck("plan", "apply", "borealis", "Application/argocd/search-eu")
    assert planned.code == 3, planned.err
    commit = planned.out.split("applied commit: ")[1].split("-> ")[1].split()[0]
    assert commit_of(commit) == commit
    done = await declared.quarterdeck("run", "apply", "borealis", "Application/argocd/search-eu", f"commit={commit}", "--yes")
    assert done.code == 0, done.err


async def test_an_applier_that_nobody_declared_is_never_offered_an_apply(declared: Fleet) -> None:
    ran = await declared.quarterdeck("plan", "apply", "atlas", "Kustomization/flux-system/ingress")
    assert ran.code == 1 and "apply is not offered" in ran.err


async def test_a_trigger_is_driven_by_its_name(declared: Fleet) -> None:
    held = await declared.quarterdeck("hold", "infrastructure", "--why", "incident 12", "--until", "2h", "--yes")
    assert held.code == 0, held.err
    planned = await declared.quarterdeck("plan", "apply", "atlas", INFRASTRUCTURE, "because=Repair")
    assert planned.code == 3 and "applied again because" in planned.out, planned.err
    released = await declared.quarterdeck("release", "infrastructure", "--yes")
    assert released.code == 0, released.err
    unknown = await declared.quarterdeck("release", "infrastructur", "--yes")
    assert unknown.code == 2 and "Did you mean infrastructure?" in unknown.err
