"""Who owns ``spec.suspend`` after an apply: the rules that holding and releasing a Kustomization rests on."""

from __future__ import annotations

import pytest

from tests.contract.ground import CONSOLE, KC, Ground, done, entries, owners, suspended

MINE = (CONSOLE, "Apply")
GIT = (KC, "Apply")


async def test_a_field_that_git_does_not_set_can_be_applied_without_force(ground: Ground) -> None:
    before = await ground.from_git()
    after = done(await ground.suspend(CONSOLE, True))
    assert suspended(after) is True
    assert owners(after) == {MINE}
    assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1


async def test_the_same_apply_again_writes_nothing(ground: Ground) -> None:
    await ground.from_git()
    first = done(await ground.suspend(CONSOLE, True))
    second = done(await ground.suspend(CONSOLE, True))
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_the_controller_applying_its_manifest_leaves_our_field_alone(ground: Ground) -> None:
    await ground.from_git()
    done(await ground.suspend(CONSOLE, True))
    after = await ground.from_git()
    assert suspended(after) is True
    assert owners(after) == {MINE}


@pytest.mark.scenario("dispatch:K4")
async def test_an_apply_without_spec_takes_our_field_away_and_our_entry_with_it(ground: Ground) -> None:
    await ground.from_git()
    done(await ground.suspend(CONSOLE, True))
    after = await ground.release(CONSOLE)
    assert suspended(after) is None
    assert CONSOLE not in {manager for manager, _, _ in entries(after)}


async def test_an_apply_with_an_empty_spec_leaves_an_entry_behind(ground: Ground) -> None:
    await ground.from_git()
    done(await ground.suspend(CONSOLE, True))
    after = done(await ground.apply(CONSOLE, {"spec": {}}))
    assert suspended(after) is None
    assert owners(after, "spec") >= {MINE}


async def test_another_value_than_git_has_is_a_conflict_that_names_the_field(ground: Ground) -> None:
    await ground.from_git(suspend=False)
    answer = await ground.suspend(CONSOLE, True)
    assert answer.status_code == 409
    causes = answer.json()["details"]["causes"]
    assert [(cause["reason"], cause["field"]) for cause in causes] == [("FieldManagerConflict", ".spec.suspend")]
    assert f'conflict with "{KC}"' in causes[0]["message"]
    assert suspended(await ground.get()) is False


@pytest.mark.scenario("dispatch:K3")
async def test_force_takes_the_field_from_git(ground: Ground) -> None:
    await ground.from_git(suspend=False)
    after = done(await ground.suspend(CONSOLE, True, force=True))
    assert suspended(after) is True
    assert owners(after) == {MINE}


async def test_releasing_a_forced_value_removes_it_instead_of_restoring_it(ground: Ground) -> None:
    await ground.from_git(suspend=False)
    done(await ground.suspend(CONSOLE, True, force=True))
    after = await ground.release(CONSOLE)
    assert suspended(after) is None


async def test_git_takes_a_forced_field_back_and_we_conflict_again(ground: Ground) -> None:
    await ground.from_git(suspend=False)
    done(await ground.suspend(CONSOLE, True, force=True))
    after = await ground.from_git(suspend=False)
    assert owners(after) == {GIT}
    assert CONSOLE not in {manager for manager, _, _ in entries(after)}
    assert (await ground.suspend(CONSOLE, True)).status_code == 409


async def test_an_equal_value_is_shared_without_force(ground: Ground) -> None:
    await ground.from_git(suspend=True)
    after = done(await ground.suspend(CONSOLE, True))
    assert owners(after) == {MINE, GIT}


@pytest.mark.scenario("dispatch:K3")
async def test_an_equal_value_is_shared_even_when_forced(ground: Ground) -> None:
    await ground.from_git(suspend=True)
    after = done(await ground.suspend(CONSOLE, True, force=True))
    assert owners(after) == {MINE, GIT}


@pytest.mark.scenario("dispatch:K4")
async def test_releasing_a_shared_value_leaves_it_to_the_other(ground: Ground) -> None:
    await ground.from_git(suspend=True)
    done(await ground.suspend(CONSOLE, True))
    after = await ground.release(CONSOLE)
    assert suspended(after) is True
    assert owners(after) == {GIT}


async def test_changing_a_shared_value_is_a_conflict(ground: Ground) -> None:
    await ground.from_git(suspend=True)
    done(await ground.suspend(CONSOLE, True))
    assert (await ground.suspend(CONSOLE, False)).status_code == 409


async def test_a_shared_value_stays_with_us_when_git_drops_it(ground: Ground) -> None:
    await ground.from_git(suspend=True)
    done(await ground.suspend(CONSOLE, True))
    after = await ground.from_git()
    assert suspended(after) is True
    assert owners(after) == {MINE}


async def test_one_manager_with_two_intents_drops_the_first(ground: Ground) -> None:
    await ground.from_git()
    done(await ground.suspend(CONSOLE, True))
    stamp = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}}
    after = done(await ground.apply(CONSOLE, stamp))
    assert suspended(after) is None


async def test_two_managers_keep_two_intents_apart(ground: Ground) -> None:
    await ground.from_git()
    done(await ground.suspend(CONSOLE, True))
    stamp = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}}
    after = done(await ground.apply(f"{CONSOLE}-requests", stamp))
    assert suspended(after) is True
    assert after["metadata"]["annotations"]["reconcile.fluxcd.io/requestedAt"] == "now"
