"""Server-side apply beside the merge patches of other tools: what ``flux suspend`` and ``flux resume`` do to our ownership."""

from __future__ import annotations

import pytest

from tests.contract.ground import CONSOLE, FLUX, Ground, Object, done, entries, owners, position, suspended

MINE = (CONSOLE, "Apply")
THEIRS = (FLUX, "Update")
SUSPEND: Object = {"spec": {"suspend": True}}
RESUME: Object = {"spec": {"suspend": None}}


async def held_by_flux(ground: Ground) -> Object:
    await ground.from_git()
    return done(await ground.merge(FLUX, SUSPEND))


@pytest.mark.scenario("dispatch:K5")
async def test_a_merge_patch_owns_what_it_changed(ground: Ground) -> None:
    after = await held_by_flux(ground)
    assert owners(after) == {THEIRS}


@pytest.mark.scenario("dispatch:K5")
async def test_a_merge_patch_that_changes_nothing_moves_no_ownership(ground: Ground) -> None:
    await ground.from_git()
    before = done(await ground.suspend(CONSOLE, True))
    after = done(await ground.merge(FLUX, SUSPEND))
    assert owners(after) == {MINE}
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


@pytest.mark.scenario("dispatch:L3")
async def test_an_apply_shares_a_patched_value_and_releasing_leaves_it(ground: Ground) -> None:
    await held_by_flux(ground)
    assert owners(done(await ground.suspend(CONSOLE, True))) == {MINE, THEIRS}
    after = await ground.release(CONSOLE)
    assert suspended(after) is True
    assert owners(after) == {THEIRS}


async def test_another_value_than_a_patch_set_is_a_conflict_with_its_manager(ground: Ground) -> None:
    await held_by_flux(ground)
    answer = await ground.suspend(CONSOLE, False)
    assert answer.status_code == 409
    assert 'conflict with "flux" using kustomize.toolkit.fluxcd.io/v1' in answer.json()["details"]["causes"][0]["message"]


@pytest.mark.scenario("dispatch:K3", "dispatch:L2")
async def test_forcing_and_then_releasing_takes_a_patched_field_back(ground: Ground) -> None:
    await held_by_flux(ground)
    forced = done(await ground.suspend(CONSOLE, False, force=True))
    assert owners(forced) == {MINE}
    assert suspended(await ground.release(CONSOLE)) is None


async def test_a_resume_by_patch_removes_the_value_and_our_ownership_without_conflict(ground: Ground) -> None:
    await held_by_flux(ground)
    assert owners(done(await ground.suspend(CONSOLE, True, force=True))) == {MINE, THEIRS}
    after = done(await ground.merge(FLUX, RESUME))
    assert suspended(after) is None
    assert CONSOLE not in {manager for manager, _, _ in entries(after)}


async def test_an_empty_apply_when_nothing_is_left_changes_nothing(ground: Ground) -> None:
    await ground.from_git()
    done(await ground.suspend(CONSOLE, True))
    before = await ground.release(CONSOLE)
    after = await ground.release(CONSOLE)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_a_patch_by_any_manager_removes_an_applied_field(ground: Ground) -> None:
    await ground.from_git()
    done(await ground.suspend(CONSOLE, True))
    after = done(await ground.merge("somebody", RESUME))
    assert suspended(after) is None
    assert CONSOLE not in {manager for manager, _, _ in entries(after)}


async def test_applying_under_the_patching_name_makes_a_second_entry(ground: Ground) -> None:
    await held_by_flux(ground)
    both = done(await ground.suspend(FLUX, True))
    assert owners(both) == {(FLUX, "Apply"), THEIRS}


async def test_an_empty_apply_under_the_patching_name_does_not_release_the_patch(ground: Ground) -> None:
    await held_by_flux(ground)
    done(await ground.suspend(FLUX, True))
    after = await ground.release(FLUX)
    assert suspended(after) is True
    assert owners(after) == {THEIRS}


async def test_a_patch_entry_can_be_adopted_under_a_guard_and_then_released(ground: Ground) -> None:
    obj = await held_by_flux(ground)
    at = f"/metadata/managedFields/{position(obj, FLUX)}"
    adopted = await ground.json_patch(
        CONSOLE,
        {"op": "test", "path": "/metadata/resourceVersion", "value": obj["metadata"]["resourceVersion"]},
        {"op": "replace", "path": f"{at}/manager", "value": CONSOLE},
        {"op": "replace", "path": f"{at}/operation", "value": "Apply"},
    )
    assert owners(done(adopted)) == {MINE}
    assert suspended(await ground.release(CONSOLE)) is None


async def test_a_failing_test_in_a_json_patch_is_422_and_changes_nothing(ground: Ground) -> None:
    before = await held_by_flux(ground)
    answer = await ground.json_patch(
        CONSOLE,
        {"op": "test", "path": "/metadata/resourceVersion", "value": "1"},
        {"op": "remove", "path": "/spec/suspend"},
    )
    assert answer.status_code == 422
    assert (await ground.get())["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_a_value_whose_entry_was_deleted_belongs_to_nobody(ground: Ground) -> None:
    obj = await held_by_flux(ground)
    at = f"/metadata/managedFields/{position(obj, FLUX)}"
    orphaned = done(await ground.json_patch(CONSOLE, {"op": "remove", "path": at}))
    assert suspended(orphaned) is True
    assert owners(orphaned) == set()
    after = done(await ground.suspend(CONSOLE, False))
    assert suspended(after) is False
