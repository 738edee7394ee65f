"""Operations without the screen, and the commands that are named after their verb."""

from __future__ import annotations

import json

import yaml

from tests.cli.conftest import Fleet
from tests.cli.test_writing import moving

__all__ = ["moving"]

CATALOG = "SwarmService/market_catalog"


async def test_what_was_done_is_listed_with_its_end_and_only_what_is_asked_for(moving: Fleet) -> None:
    assert (await moving.quarterdeck("run", "suspend", "atlas", "Kustomization/flux-system/ingress", "--yes")).code == 0
    told = await moving.quarterdeck("operations", "-c", "atlas", "--trigger", "Kustomization/flux-system/ingress", "-o", "json")
    assert told.code == 0, told.err
    document = json.loads(told.out)
    assert document["table"] == "operations"
    done = [item for item in document["items"] if item["verb"] == "suspend"]
    assert [(item["state"], item["target"]["name"]) for item in done] == [("succeeded", "ingress")]
    assert {item["target"]["name"] for item in document["items"]} == {"ingress"}
    same = await moving.quarterdeck("operations", "-c", "atlas", "--trigger", "ks/flux-system/ingress", "-o", "yaml")
    assert [item["id"] for item in yaml.safe_load(same.out)["items"]] == [item["id"] for item in document["items"]]
    one = await moving.quarterdeck("operations", "-c", "atlas", "--limit", "1", "-o", "name")
    assert len(one.out.splitlines()) == 1
    assert (await moving.quarterdeck("operations", "--limit=-1")).code == 2
    assert (await moving.quarterdeck("operations", "--trigger", "nobody")).code == 2


async def test_restart_and_rollback_are_commands_of_their_own(moving: Fleet) -> None:
    refused = await moving.quarterdeck("restart", "harbour", CATALOG)
    assert refused.code == 1 and "Not confirmed" in refused.err
    restarted = await moving.quarterdeck("restart", "harbour", CATALOG, "--yes", "--why", "stuck")
    assert restarted.code == 0, restarted.err
    back = await moving.quarterdeck("rollback", "harbour", CATALOG, "--yes")
    assert back.code == 0, back.err
    unknown = await moving.quarterdeck("rollback", "borealis", "Application/argocd/search-eu", "id=999", "--yes")
    assert unknown.code == 1 and "no such entry" in unknown.err
