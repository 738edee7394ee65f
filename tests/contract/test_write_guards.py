"""What a write is refused for: identity, versions, schemas; and what status writes and whole replacements touch."""

from __future__ import annotations

from tests.contract.ground import CONSOLE, KC, Ground, done, entries, owners, suspended

NO_UID = "00000000-0000-4000-8000-000000000000"


async def test_an_apply_to_a_missing_object_would_create_it_but_for_its_required_fields(ground: Ground) -> None:
    answer = await ground.suspend(CONSOLE, True)
    assert answer.status_code == 422
    assert (await ground.read()).status_code == 404


async def test_an_apply_with_a_uid_never_creates(ground: Ground) -> None:
    manifest = {**ground.manifest(), "metadata": {"uid": NO_UID}}
    answer = await ground.apply(CONSOLE, manifest)
    assert answer.status_code == 409
    assert "uid mismatch" in answer.json()["message"]
    assert (await ground.read()).status_code == 404


async def test_an_apply_with_the_uid_of_another_object_is_refused(ground: Ground) -> None:
    await ground.from_git()
    answer = await ground.apply(CONSOLE, {"metadata": {"uid": NO_UID}, "spec": {"suspend": True}})
    assert answer.status_code in (409, 422)
    assert suspended(await ground.get()) is None


async def test_an_apply_with_the_right_uid_is_made(ground: Ground) -> None:
    obj = await ground.from_git()
    after = done(await ground.apply(CONSOLE, {"metadata": {"uid": obj["metadata"]["uid"]}, "spec": {"suspend": True}}))
    assert suspended(after) is True


async def test_an_apply_with_a_stale_version_is_a_conflict(ground: Ground) -> None:
    obj = await ground.from_git()
    done(await ground.merge("somebody", {"metadata": {"labels": {"moved": "yes"}}}))
    stale = {"metadata": {"resourceVersion": obj["metadata"]["resourceVersion"]}, "spec": {"suspend": True}}
    answer = await ground.apply(CONSOLE, stale)
    assert answer.status_code == 409
    assert suspended(await ground.get()) is None


async def test_a_merge_patch_with_a_stale_version_is_a_conflict(ground: Ground) -> None:
    obj = await ground.from_git()
    done(await ground.merge("somebody", {"metadata": {"labels": {"moved": "yes"}}}))
    version = obj["metadata"]["resourceVersion"]
    answer = await ground.merge(CONSOLE, {"metadata": {"resourceVersion": version}, "spec": {"suspend": True}})
    assert answer.status_code == 409


async def test_a_dry_run_answers_and_stores_nothing(ground: Ground) -> None:
    obj = await ground.from_git()
    tried = done(await ground.apply(CONSOLE, {"spec": {"suspend": True}}, dryRun="All"))
    assert suspended(tried) is True
    assert owners(tried) == {(CONSOLE, "Apply")}
    after = await ground.get()
    assert suspended(after) is None
    assert after["metadata"]["resourceVersion"] == obj["metadata"]["resourceVersion"]


async def test_an_apply_of_an_unknown_field_is_a_server_error(ground: Ground) -> None:
    await ground.from_git()
    answer = await ground.apply(CONSOLE, {"spec": {"suspendd": True}})
    assert answer.status_code == 500
    assert "field not declared in schema" in answer.json()["message"]


async def test_strict_validation_refuses_an_unknown_field_in_a_patch(ground: Ground) -> None:
    await ground.from_git()
    answer = await ground.merge(CONSOLE, {"spec": {"suspendd": True}}, fieldValidation="Strict")
    assert answer.status_code == 422


async def test_without_strict_validation_an_unknown_field_is_dropped(ground: Ground) -> None:
    await ground.from_git()
    after = done(await ground.merge(CONSOLE, {"spec": {"suspendd": True, "suspend": True}}, fieldValidation="Ignore"))
    assert "suspendd" not in after["spec"]
    assert suspended(after) is True


async def test_an_apply_must_not_carry_managed_fields(ground: Ground) -> None:
    await ground.from_git()
    answer = await ground.apply(CONSOLE, {"metadata": {"managedFields": []}, "spec": {"suspend": True}})
    assert answer.status_code == 400
    assert "must be nil" in answer.json()["message"]


async def test_status_in_an_apply_to_the_object_is_ignored(ground: Ground) -> None:
    await ground.from_git()
    after = done(await ground.apply(CONSOLE, {"spec": {"suspend": True}, "status": {"lastAppliedRevision": "main@sha1:ab"}}))
    assert "lastAppliedRevision" not in after.get("status", {})


async def test_a_status_write_leaves_spec_and_generation_alone(ground: Ground) -> None:
    before = await ground.from_git()
    patch = {"spec": {"suspend": True}, "status": {"lastAppliedRevision": "main@sha1:ab"}}
    after = done(await ground.merge("gotk-kustomize-controller", patch, "/status"))
    assert suspended(after) is None
    assert after["status"]["lastAppliedRevision"] == "main@sha1:ab"
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    assert ("gotk-kustomize-controller", "Update", "status") in entries(after)


async def test_replacing_with_a_stale_version_is_a_conflict(ground: Ground) -> None:
    obj = await ground.from_git()
    done(await ground.suspend(CONSOLE, True))
    assert (await ground.put("somebody", obj)).status_code == 409


async def test_replacing_without_our_field_removes_it_and_our_ownership(ground: Ground) -> None:
    await ground.from_git(suspend=True)
    obj = done(await ground.suspend(CONSOLE, True))
    del obj["spec"]["suspend"]
    after = done(await ground.put("somebody", obj))
    assert suspended(after) is None
    assert CONSOLE not in {manager for manager, _, _ in entries(after)}
    assert (KC, "Apply", "") in entries(after)
