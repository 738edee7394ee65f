"""The dispatch engine's own ground on a real API server: guards, ownership, records, the Lease."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from console.backends.dispatch_objects import ClusterObjects
from console.clients.endpoint import Endpoint
from console.clients.kubernetes import KubernetesClient
from console.engines.dispatch.argo import ArgoClient
from console.engines.dispatch.constants import Outcome, Reason, RequestOutcome
from console.engines.dispatch.custom_triggers import StatusStore
from console.engines.dispatch.modes import Leadership, ModeKind
from console.engines.dispatch.status_writer import StatusWriter
from console.engines.dispatch.types import ObjectName, Operation, TriggerRef, TriggerStatus
from console.engines.ports.applier import (
    APPLICATIONS,
    FLUX_TRIGGERS,
    GIT_REPOSITORIES,
    HELM_RELEASES,
    KUSTOMIZATIONS,
    LEASES,
    NAMESPACES,
    ApiKind,
)
from console.errors import ApiError, Conflict, Forbidden, Invalid, NotFound, NotServed, QuarterdeckError
from console.kit.timing import SystemClock
from tests.engines.dispatch.argo_world import APP, application
from tests.engines.dispatch.world import Asking, C, eventually
from tests.real.kube import KubeServer


@pytest.fixture
async def objects(kube: KubeServer) -> AsyncIterator[ClusterObjects]:
    """The server's objects as the engine sees them."""
    headers = (("Authorization", f"Bearer {kube.token()}"),)
    client = KubernetesClient(Endpoint(base_url=kube.url, ca=str(kube.authority), headers=headers))
    yield ClusterObjects(client)
    await client.close()


def body(kind: ApiKind, namespace: str, name: str = "shop", **fields: object) -> dict[str, object]:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name, "namespace": namespace},
        **fields,
    }


async def test_reads_tell_a_missing_object_from_an_unknown_kind(objects: ClusterObjects, namespace: str) -> None:
    with pytest.raises(NotFound):
        await objects.get(KUSTOMIZATIONS, namespace, "none")
    with pytest.raises(NotServed):
        await objects.get(ApiKind("example.test", "v1", "things", "Thing"), namespace, "none")
    with pytest.raises(NotServed):
        await objects.list(ApiKind("example.test", "v1", "things", "Thing"))
    spaces = await objects.list(NAMESPACES)
    assert {"Namespace"} == {item["kind"] for item in spaces}
    assert (await objects.get(NAMESPACES, "", namespace))["metadata"]["name"] == namespace
    assert await objects.can_i("patch", KUSTOMIZATIONS, namespace, "shop")
    assert isinstance(await objects.list(HELM_RELEASES[0], namespace), list)


async def test_versions_are_those_of_the_objects_and_come_without_them(objects: ClusterObjects, namespace: str) -> None:
    spec = {"interval": "1h", "url": "https://git.example.test/a", "ref": {"branch": "main"}}
    for name in ("one", "two"):
        made = body(GIT_REPOSITORIES, namespace, name, spec=spec)
        await objects.apply(GIT_REPOSITORIES, made, manager="git", force=True)
    before = await objects.versions(GIT_REPOSITORIES, namespace)
    listed = await objects.list(GIT_REPOSITORIES, namespace)
    assert before == {(namespace, item["metadata"]["name"]): item["metadata"]["resourceVersion"] for item in listed}
    await objects.merge(GIT_REPOSITORIES, namespace, "two", {"spec": {"suspend": True}}, manager="x")
    after = await objects.versions(GIT_REPOSITORIES)
    assert [name for name in before if before[name] != after[name]] == [(namespace, "two")]
    with pytest.raises(NotServed):
        await objects.versions(ApiKind("example.test", "v1", "things", "Thing"))


@pytest.mark.scenario("dispatch:K1", "dispatch:K2")
async def test_guards_refuse_what_has_changed_and_create_nothing(objects: ClusterObjects, namespace: str) -> None:
    spec = {"interval": "1h", "url": "https://git.example.test/a", "ref": {"branch": "main"}}
    made = await objects.apply(GIT_REPOSITORIES, body(GIT_REPOSITORIES, namespace, spec=spec), manager="git", force=True)
    stale = body(GIT_REPOSITORIES, namespace)
    stale["metadata"] = {**made["metadata"], "managedFields": None, "annotations": {"a": "b"}}
    await objects.merge(GIT_REPOSITORIES, namespace, "shop", {"metadata": {"labels": {"c": "d"}}}, manager="x")
    identity = {"name": "shop", "namespace": namespace, "resourceVersion": made["metadata"]["resourceVersion"]}
    for guard in (identity, {"name": "gone", "namespace": namespace, "uid": made["metadata"]["uid"]}):
        with pytest.raises(Conflict):
            await objects.apply(GIT_REPOSITORIES, {**stale, "metadata": guard}, manager="us", force=True)
    with pytest.raises(NotFound):
        await objects.get(GIT_REPOSITORIES, namespace, "gone")
    with pytest.raises(Conflict):
        await objects.replace(GIT_REPOSITORIES, made, manager="us")


@pytest.mark.scenario("dispatch:K2")
async def test_an_apply_with_the_uid_of_another_incarnation_is_refused(objects: ClusterObjects, namespace: str) -> None:
    spec = {"interval": "1h", "url": "https://git.example.test/a"}
    made = await objects.apply(GIT_REPOSITORIES, body(GIT_REPOSITORIES, namespace, spec=spec), manager="git", force=True)
    another = {"name": "shop", "namespace": namespace, "uid": "00000000-0000-0000-0000-000000000000"}
    other = body(GIT_REPOSITORIES, namespace)
    with pytest.raises(Invalid, match=r"metadata\.uid.* immutable"):
        await objects.apply(GIT_REPOSITORIES, {**other, "metadata": another}, manager="us", force=True)
    # A resume goes by its version too, and is told so first.
    with pytest.raises(Conflict):
        await objects.apply(
            GIT_REPOSITORIES, {**other, "metadata": {**another, "resourceVersion": "1"}}, manager="us", force=True
        )
    assert await objects.get(GIT_REPOSITORIES, namespace, "shop") == made


@pytest.mark.scenario("dispatch:F14", "dispatch:S7")
@pytest.mark.parametrize("kind", [KUSTOMIZATIONS, GIT_REPOSITORIES], ids=lambda kind: kind.kind)
async def test_an_apply_without_a_uid_and_a_spec_makes_an_empty_object(
    objects: ClusterObjects, namespace: str, kind: ApiKind
) -> None:
    await objects.apply(kind, body(kind, namespace, "empty"), manager="us", force=True)
    assert not (await objects.get(kind, namespace, "empty")).get("spec")


@pytest.mark.scenario("dispatch:S6")
async def test_a_source_has_an_address_with_a_scheme_that_flux_knows(objects: ClusterObjects, namespace: str) -> None:
    for number, url in enumerate(("https://git.example.test/a", "http://git.example.test/a", "ssh://git@git.example.test/a")):
        spec = {"interval": "1h", "url": url}
        await objects.apply(
            GIT_REPOSITORIES, body(GIT_REPOSITORIES, namespace, f"a{number}", spec=spec), manager="us", force=True
        )
    for url in ("git@git.example.test:a", "git://git.example.test/a", "file:///a"):
        with pytest.raises(ApiError, match=r"spec\.url"):
            spec = {"interval": "1h", "url": url}
            await objects.apply(GIT_REPOSITORIES, body(GIT_REPOSITORIES, namespace, spec=spec), manager="us", force=True)


@pytest.mark.scenario("dispatch:K6", "dispatch:V9")
async def test_whoever_may_do_nothing_may_ask_what_it_may_do(kube: KubeServer, namespace: str) -> None:
    headers = (("Authorization", f"Bearer {kube.token('nobody')}"),)
    client = KubernetesClient(Endpoint(base_url=kube.url, ca=str(kube.authority), headers=headers))
    try:
        nobody = ClusterObjects(client)
        with pytest.raises(Forbidden):
            await nobody.get(KUSTOMIZATIONS, namespace, "shop")
        assert not await nobody.can_i("patch", KUSTOMIZATIONS, namespace, "shop")
        rules = [{"apiGroups": [KUSTOMIZATIONS.group], "resources": [KUSTOMIZATIONS.plural], "verbs": ["patch"]}]
        await asyncio.to_thread(kube.client.grant, "nobody", rules, namespace)

        async def granted() -> bool:
            return await nobody.can_i("patch", KUSTOMIZATIONS, namespace, "shop")

        await eventually(granted)
        assert not await nobody.can_i("patch", GIT_REPOSITORIES, namespace, "shop")
    finally:
        await client.close()


@pytest.mark.scenario("dispatch:R25")
async def test_a_record_is_kept_in_the_status_of_a_trigger(objects: ClusterObjects, namespace: str) -> None:
    spec = {"kustomizationRef": {"namespace": "flux-system", "name": "shop"}}
    await objects.apply(FLUX_TRIGGERS, body(FLUX_TRIGGERS, namespace, spec=spec), manager="git", force=True)
    writer = StatusWriter(StatusStore(objects))
    writer.start()
    trigger = TriggerRef("FluxTrigger", namespace, "shop")
    try:
        operation = Operation(
            token="T",
            commit=C,
            reason=Reason.REPAIR,
            outcome=Outcome.REQUESTED,
            requested_at="2026-01-02T03:04:05.000006Z",
            applier_uid="u",
            guard_resource_version="1",
            guard_generation=2,
        )
        await writer.record(trigger, operation)
        with pytest.raises(QuarterdeckError, match="in flight"):
            await writer.record(trigger, Operation(token="U", reason=Reason.REPAIR, outcome=Outcome.REQUESTED))
        writer.publish(trigger, TriggerStatus(repair_pending=True, withdrawn=("T",)))

        async def withdrawn() -> bool:
            status = (await objects.get(FLUX_TRIGGERS, namespace, "shop"))["status"]
            return status.get("repairPending") is True and "operation" not in status

        await eventually(withdrawn)
    finally:
        await writer.stop()


@pytest.mark.scenario("dispatch:AC1", "dispatch:AC16")
async def test_an_operation_is_set_on_an_application_by_a_guarded_update(objects: ClusterObjects, namespace: str) -> None:
    obj = {**body(APPLICATIONS, namespace), "spec": {**application()["spec"], "destination": {"name": "in-cluster"}}}
    await objects.apply(APPLICATIONS, obj, manager="git", force=True)
    client = ArgoClient(objects, SystemClock())
    ref = ObjectName(namespace, APP.name)
    assert (await client.validate(ref)).ok
    asking = Asking(commit=C)
    refreshes: list[asyncio.Task[object]] = []
    stale = {"status": {"operationState": {"phase": "Succeeded", "startedAt": "2026-01-01T00:00:00Z", "operation": {}}}}
    asking.while_recording = lambda: refreshes.append(
        asyncio.ensure_future(objects.merge(APPLICATIONS, namespace, "shop", stale, manager="argocd"))
    )
    started = await client.request(ref, asking.ask())
    await asyncio.gather(*refreshes)
    assert started.outcome is RequestOutcome.SYNC_REQUESTED
    assert len(asking.recorded) == 1
    found = await objects.get(APPLICATIONS, namespace, "shop")
    assert found["operation"]["sync"]["revision"] == C
    assert found["operation"]["retry"] == {"limit": 5, "refresh": False}
    assert (await client.progress(ref, started)).outcome is Outcome.REQUESTED


async def test_of_two_consoles_that_claim_one_lease_at_once_one_leads(objects: ClusterObjects, namespace: str) -> None:
    lease = ObjectName(namespace, "gitops-reverser")
    us, them = (Leadership(objects, lease, name, SystemClock()) for name in ("us", "them"))
    claims = await asyncio.gather(us.claim(), them.claim())
    assert sorted(claims) == [False, True]
    first, second = (us, them) if claims[0] else (them, us)
    assert await first.claim(), "renewed"
    assert not await second.claim()
    assert (await first.mode()).kind is ModeKind.LEADER
    assert (await second.mode()).kind is ModeKind.DISPLAY
    await first.resign()
    assert await second.claim()
    assert (await objects.get(LEASES, namespace, "gitops-reverser"))["spec"]["holderIdentity"]
