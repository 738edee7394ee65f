from __future__ import annotations

import json

import pytest
import yaml

from console.cli.command import UsageError
from console.cli.describe import split
from tests.cli.conftest import Fleet


async def test_an_object_is_described_in_words(fleet: Fleet) -> None:
    ran = await fleet.quarterdeck("describe", "atlas", "FluxTrigger/team-a/storefront")
    assert ran.code == 0
    heading, place, _, why, *lines = ran.out.splitlines()
    assert heading == "■ team-a/storefront  FluxTrigger → Kustomization"
    assert place.startswith("  atlas · ns team-a · ") and why == "Why"
    assert lines[0].startswith("  ") and "Conditions" in lines
    assert "\x1b" not in ran.out


async def test_the_whole_object_is_yaml_with_secrets_masked(fleet: Fleet) -> None:
    ran = await fleet.quarterdeck("describe", "harbour:Stack/market", "-o", "json")
    assert json.loads(ran.out)["id"] == "harbour:Stack/market"
    ran = await fleet.quarterdeck("describe", "atlas:Kustomization/flux-system/storefront", "-o", "yaml")
    whole = yaml.safe_load(ran.out)
    assert whole["kind"] == "Kustomization" and "managedFields" not in whole["metadata"]


async def test_what_is_not_there_fails_with_the_nearest_name(fleet: Fleet) -> None:
    ran = await fleet.quarterdeck("describe", "harbour", "Stack/markt")
    assert ran.code == 1 and "Did you mean market?" in ran.err
    ran = await fleet.quarterdeck("describe", "harbour", "Stak/market")
    assert ran.code == 2 and "Did you mean Stack?" in ran.err


def test_an_object_is_written_in_one_word_or_two() -> None:
    assert split(["a:Stack/b"]) == split(["a", "Stack/b"]) == ("a", "Stack/b")
    for words in (["Stack/b"], ["a", "Stack/b", "c"]):
        with pytest.raises(UsageError):
            split(words)
