"""Plan, run, undo and journal on the demo fleet, whose world moves fast here."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from console.cli.command import UsageError
from console.cli.intents import known_kind, read_words
from console.cli.journal import duration
from console.demo.fleet import DemoFleet
from tests.cli.conftest import Fleet
from tests.cli.running import isolated

WORKER = "SwarmService/batch_worker"


@pytest_asyncio.fixture
async def moving(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with DemoFleet(speed=20) as demo:
        env = isolated(tmp_path, **demo.write_config(tmp_path / "found"))
        del env["DOCKER_HOST"]
        yield Fleet(demo, env)


async def test_a_plan_is_printed_and_nothing_is_written(moving: Fleet) -> None:
    ran = await moving.quarterdeck("plan", "scale", "harbour", WORKER, "replicas=6")
    assert ran.code == 3
    assert "Spec.Mode.Replicated.Replicas: 4 -> 6" in ran.out
    again = await moving.quarterdeck("plan", "scale", "harbour", WORKER, "replicas=4")
    assert (again.code, again.out) == (0, "Nothing to do on harbour: it has 4 replicas already.\n")


async def test_a_confirmed_run_is_followed_to_its_effect_journaled_and_undone(moving: Fleet) -> None:
    ran = await moving.quarterdeck("run", "scale", "harbour", WORKER, "replicas=6", "--yes", "--why", "queue grows")
    assert ran.code == 0, ran.err
    assert ran.out == "Done: batch_worker: 6 of 6 tasks run\n"

    shown = await moving.quarterdeck("journal", "-o", "json")
    (record,) = json.loads(shown.out)["items"]
    assert (record["state"], record["why"]) == ("succeeded", "queue grows")

    undone = await moving.quarterdeck("undo", record["id"][:8], "--yes")
    assert undone.code == 0, undone.err
    assert (await moving.quarterdeck("plan", "scale", "harbour", WORKER, "replicas=4")).code == 0
    table = (await moving.quarterdeck("journal", "--since", "1h")).out
    assert "succeeded, undone" in table


async def test_a_plan_from_a_file_is_run_only_as_it_was_made(moving: Fleet, tmp_path: Path) -> None:
    made = await moving.quarterdeck("plan", "scale", "harbour", WORKER, "replicas=5", "-o", "json")
    file = tmp_path / "plan.json"
    file.write_text(made.out.replace('"after": "5"', '"after": "50"'))
    edited = await moving.quarterdeck("run", str(file), "--yes")
    assert edited.code == 2 and "changed after it was made" in edited.err

    file.write_text(made.out)
    assert (await moving.quarterdeck("run", str(file), "--yes")).code == 0
    late = await moving.quarterdeck("run", str(file), "--yes")
    assert late.code == 1 and "The world moved" in late.err


async def test_nothing_is_done_without_a_confirmation(moving: Fleet) -> None:
    ran = await moving.quarterdeck("run", "scale", "harbour", WORKER, "replicas=6")
    assert ran.code == 1 and "Not confirmed" in ran.err


async def test_a_protected_target_needs_the_hash_of_the_plan(moving: Fleet, tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("connections:\n  - {name: atlas, kubernetes: atlas, protected: true}\n")
    words = ("suspend", "atlas", "Kustomization/flux-system/search", "--fleet", str(fleet))
    bare = await moving.quarterdeck("run", *words, "--yes")
    assert bare.code == 1 and "--plan-hash" in bare.err
    planned = json.loads((await moving.quarterdeck("plan", *words, "-o", "json")).out)
    wrong = await moving.quarterdeck("run", *words, "--yes", "--plan-hash", "0" * 16)
    assert wrong.code == 1 and "look at the plan again" in wrong.err
    done = await moving.quarterdeck("run", *words, "--yes", "--plan-hash", planned["hash"])
    assert done.code == 0, done.err


async def test_read_only_is_final(moving: Fleet) -> None:
    ran = await moving.quarterdeck("run", "scale", "harbour", WORKER, "replicas=6", "--yes", "--read-only")
    assert ran.code == 1 and "--read-only" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plan", "scale", "harbour", "SwarmService/batch_wroker", "replicas=6"), "Did you mean batch_worker?"),
        (("plan", "explode", "harbour", WORKER), "Offered: restart, rollback, scale."),
        (("plan", "scale", "harbour", WORKER, "replicas=many"), "'many' is no number of replicas"),
        (("undo", "ffff"), "No operation in the journal"),
        (("plan", "scale", "faro", WORKER, "replicas=1"), "can't be read"),
    ],
)
async def test_what_cannot_be_done_is_explained(moving: Fleet, words: tuple[str, ...], said: str) -> None:
    ran = await moving.quarterdeck(*words)
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err


def test_objects_and_arguments_are_told_apart() -> None:
    assert read_words(["kustomization/flux-system/shop", "SwarmService/web", "replicas=4", "why=a/b"]) == (
        [("Kustomization", "flux-system", "shop"), ("SwarmService", "", "web")],
        {"replicas": "4", "why": "a/b"},
    )


@pytest.mark.parametrize("word", ["web", "SwarmService/", "a/b/c/d", "/web"])
def test_what_names_no_object_is_a_usage_error(word: str) -> None:
    with pytest.raises(UsageError, match="names no object"):
        read_words([word])


def test_an_unknown_kind_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        known_kind("Kustomisation")
    assert caught.value.hint == "Did you mean Kustomization?"


@pytest.mark.parametrize("text", ["", "2", "h", "-1h", "1w", "1.5h"])
def test_what_is_no_time_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="is no time"):
        duration(text)
