"""Adopting an applier from the command line, over the demo's simulated Flux and Argo CD: lines of the fleet file, no more."""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path

import pytest
import yaml

from console.cli.compose import opened
from console.errors import Refused
from console.model.plan import Intent
from console.model.refs import Ref
from tests.cli.conftest import Fleet
from tests.cli.test_writing import moving

__all__ = ["moving"]

INFRA = "Kustomization/flux-system/ingress"
WRITTEN = """# The fleet of the shop.
connections:
  - {name: atlas, kubernetes: atlas}       # the one with Flux
  - {name: borealis, kubernetes: borealis}
"""
LINE = (
    '  - {name: "ingress", connection: "atlas", kind: "flux", namespace: "flux-system", object: "ingress", '
    'url: "https://git.example.test/platform/fleet.git", branch: "main", hold: true}\n'
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "config"
    folder.mkdir(exist_ok=True)
    path = folder / "fleet.yaml"
    path.write_text(WRITTEN)
    path.chmod(0o640)
    return path


async def test_an_applier_is_adopted_can_be_held_at_once_and_is_disowned_when_it_is_released(moving: Fleet, file: Path) -> None:
    told = await moving.quarterdeck("plan", "adopt", "atlas", INFRA, "hold=true")
    assert (told.code, file.read_text()) == (3, WRITTEN)
    assert LINE.strip() in told.out
    assert "Nothing is written to the cluster" in told.out
    done = await moving.quarterdeck("adopt", "atlas", INFRA, "--hold", "--yes", "--why", "INC-7")
    assert (done.code, done.out) == (0, "Done: flux-system/ingress is a local trigger now\n"), done.err
    assert file.read_text() == f"{WRITTEN}triggers:\n{LINE}"
    assert file.stat().st_mode & 0o777 == 0o640

    again = await moving.quarterdeck("adopt", "atlas", INFRA, "--yes")
    assert again.code == 1 and "adopt is not offered" in again.err
    held = await moving.quarterdeck("hold", "ingress", "--yes")
    assert held.code == 0, held.err
    told = await moving.quarterdeck("plan", "delete", "atlas", INFRA)
    assert told.code == 3
    assert "better first: release" in told.out
    refused = await moving.quarterdeck("run", "disown", "atlas", INFRA, "--yes")
    assert refused.code == 1 and "Release the hold first" in refused.err
    assert (await moving.quarterdeck("release", "ingress", "--yes")).code == 0

    items = json.loads((await moving.quarterdeck("journal", "-o", "json")).out)["items"]
    (record,) = [item for item in items if item["plan"]["intent"]["verb"] == "adopt" and item["state"] == "succeeded"]
    undone = await moving.quarterdeck("undo", record["id"], "--yes")
    assert (undone.code, file.read_text()) == (0, WRITTEN), undone.err


async def test_an_application_is_adopted_under_another_name(moving: Fleet, file: Path) -> None:
    done = await moving.quarterdeck("adopt", "borealis", "Application/argocd/search-eu", "--name", "find", "--yes")
    assert done.code == 0, done.err
    (entry,) = yaml.safe_load(file.read_text())["triggers"]
    assert (entry["name"], entry["kind"], entry["object"], entry["branch"]) == ("find", "argocd", "search-eu", "main")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("borealis", "Application/argocd/storefront-eu"), "ArgoCDTrigger"),
        (("borealis", "Application/argocd/edge-router"), "automated sync"),
        (("atlas", "Kustomization/flux-system/payments"), "FluxTrigger team-a/payments drives"),
        (("borealis", "Application/argocd/search-eu", "--hold"), "Only a Kustomization can be held"),
    ],
)
async def test_what_cannot_be_driven_is_not_adopted(moving: Fleet, file: Path, words: tuple[str, ...], said: str) -> None:
    refused = await moving.quarterdeck("adopt", *words, "--yes")
    assert (refused.code, file.read_text()) == (1, WRITTEN)
    assert said.lower() in refused.err.lower()


async def test_what_is_no_applier_is_a_wrong_command(moving: Fleet) -> None:
    assert (await moving.quarterdeck("adopt", "atlas", "GitRepository/flux-system/search")).code == 2


@pytest.mark.scenario("dispatch:W22")
async def test_the_same_cluster_under_two_names_gives_one_trigger(moving: Fleet, file: Path, tmp_path: Path) -> None:
    kubeconfig = yaml.safe_load((tmp_path / "found" / "kubeconfig").read_text())
    (context,) = [entry for entry in kubeconfig["contexts"] if entry["name"] == "atlas"]
    kubeconfig["contexts"].append({**context, "name": "atlas-again"})
    (tmp_path / "found" / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    file.write_text(WRITTEN + "  - {name: again, kubernetes: atlas-again}\n")
    assert (await moving.quarterdeck("adopt", "atlas", INFRA, "--yes")).code == 0
    options = argparse.Namespace(demo=False, fleet=None, read_only=False)
    async with opened(options, moving.env, connect=["atlas", "again"]) as at:
        dispatching = at.runtime.dispatching
        assert dispatching is not None
        async with asyncio.timeout(20):
            while len(dispatching.engines) < 2:
                await asyncio.sleep(0.02)
        ref = Ref("again", "Kustomization", "flux-system", "ingress")
        with pytest.raises(Refused, match="is a trigger by atlas already"):
            await at.runtime.commands.plan(Intent(verb="adopt", targets=(ref,)))
