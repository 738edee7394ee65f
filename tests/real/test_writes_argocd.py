"""Daily writes through the write path on a real Argo CD, which answers them itself."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from console.backends.kube_deletes import ARGO_FINALIZER
from console.demo.config_files import Endpoint
from console.errors import Refused
from console.model.operations import State
from console.model.plan import Intent
from console.model.refs import Ref
from tests.contract.write_desk import Cluster, WriteDesk
from tests.engines.dispatch.world import eventually
from tests.real.argocd import NAMESPACE, ArgoLab
from tests.real.argocd_world import RealArgo, real_argo
from tests.real.git import GitServer

REFRESH = "argocd.argoproj.io/refresh"


class Daily:
    """An Application, what it is in the console, and the write path."""

    def __init__(self, world: RealArgo, cluster: Cluster, ref: Ref, desk: WriteDesk) -> None:
        self.world = world
        self.cluster = cluster
        self.ref = ref
        self.desk = desk


@pytest.fixture
async def daily(argocd: ArgoLab, git: GitServer, tmp_path: Path) -> AsyncIterator[Daily]:
    """An Application that Argo CD has compared, and nobody has synced."""
    kube = argocd.kube
    endpoint = Endpoint(name="real", kind="kubernetes", url=kube.url, token=kube.token())
    headers = {"Authorization": f"Bearer {kube.token()}"}
    trust = ssl.create_default_context(cafile=kube.authority)
    async with (
        real_argo(argocd, git) as world,
        httpx.AsyncClient(base_url=kube.url, headers=headers, verify=trust, timeout=30, trust_env=False) as client,
    ):
        await world.begin()
        uid = (await world.app())["metadata"]["uid"]
        ref = Ref("cluster", "Application", NAMESPACE, world.name.name, uid)
        cluster = Cluster(client, endpoint, NAMESPACE, str(kube.authority), "real")
        async with cluster.desk(ref, tmp_path) as desk:
            yield Daily(world, cluster, ref, desk)


async def test_a_sync_is_over_when_argo_cd_says_so_and_a_rollback_goes_to_the_deployment_before(daily: Daily) -> None:
    world, desk, ref = daily.world, daily.desk, daily.ref
    first = (await world.app())["status"]["sync"]["revision"]
    record = await desk.do("sync", ref)
    assert (record.state, await world.applied()) == (State.SUCCEEDED, True)
    second = await world.push()
    assert (await desk.do("sync", ref, prune="true")).state is State.SUCCEEDED
    state = await world.state()
    assert (state["syncResult"]["revision"], state["operation"]["sync"]["prune"]) == (second, True)
    await world.until(lambda app: len(app["status"]["history"]) == 2)
    assert (await desk.do("rollback", ref)).state is State.SUCCEEDED
    assert (await world.state())["syncResult"]["revision"] == first


async def test_syncs_in_quick_succession_each_end_as_themselves(daily: Daily) -> None:
    """Argo CD says in whole seconds when an operation began; two of one second look like one by that."""
    world, desk, ref = daily.world, daily.desk, daily.ref
    tokens = set()
    for _ in range(3):
        assert (await desk.do("sync", ref)).state is State.SUCCEEDED
        state = await world.state()
        tokens.add(next(item["value"] for item in state["operation"]["info"] if item["name"] == "quarterdeck/request"))
        assert state["phase"] == "Succeeded"
    assert len(tokens) == 3


async def test_a_refresh_is_over_when_argo_cd_has_taken_the_request_away(daily: Daily) -> None:
    world, desk, ref = daily.world, daily.desk, daily.ref
    for verb in ("refresh", "hard-refresh"):
        commit = await world.push()
        assert (await desk.do(verb, ref)).state is State.SUCCEEDED
        app = await world.app()
        assert REFRESH not in (app["metadata"].get("annotations") or {})
        assert app["status"]["sync"] | {"status": "OutOfSync", "revision": commit} == app["status"]["sync"]
    assert not await world.applied()


async def test_a_sync_that_fails_is_told_in_argo_cds_words_and_one_of_somebody_else_is_terminated(daily: Daily) -> None:
    world, desk, ref = daily.world, daily.desk, daily.ref
    await world.push(broken=True)
    record = await desk.do("sync", ref)
    assert record.state is State.FAILED
    assert "Failed" in record.message
    assert await world.applied(), "what it applied before stays"
    await world.user_syncs(await world.push(slow=True))
    await eventually(world.gate)
    with pytest.raises(Refused, match="is under way"):
        await desk.do("sync", ref)
    assert (await desk.do("terminate", ref)).state is State.SUCCEEDED
    state = await world.state()
    assert (state["phase"], state["message"]) == ("Failed", "Operation terminated")
    assert not await world.gate()


async def test_automated_sync_goes_on_works_and_goes_off_again(daily: Daily) -> None:
    world, desk, ref = daily.world, daily.desk, daily.ref
    record = await desk.do("automated-on", ref)
    assert record.state is State.SUCCEEDED
    state = await world.until_phase("Succeeded")
    assert state["operation"]["initiatedBy"] == {"automated": True}
    with pytest.raises(Refused, match="syncs by itself and would undo a rollback"):
        await desk.do("rollback", ref)
    assert (await desk.undo(ref)).state is State.SUCCEEDED
    newer = await world.push()
    assert (await desk.do("refresh", ref)).state is State.SUCCEEDED
    app = await world.app()
    assert (app["status"]["sync"]["status"], app["status"]["sync"]["revision"]) == ("OutOfSync", newer)
    assert "operation" not in app


async def test_a_dry_run_changes_nothing_and_a_selective_sync_applies_what_was_chosen(daily: Daily) -> None:
    world, desk, ref = daily.world, daily.desk, daily.ref
    assert (await desk.do("sync", ref, **{"dry-run": "true"})).state is State.SUCCEEDED
    assert not await world.applied()
    resources = (await world.app())["status"]["resources"]
    (chosen, *_) = resources
    named = f"{chosen.get('group', '')}:{chosen['kind']}:{chosen['namespace']}/{chosen['name']}"
    options = {"resources": named, "strategy": "apply", "server-side": "true"}
    assert (await desk.do("sync", ref, **options)).state is State.SUCCEEDED
    state = await world.state()
    assert state["operation"]["sync"]["syncOptions"] == ["ServerSideApply=true"]
    assert [item["name"] for item in state["syncResult"]["resources"]] == [chosen["name"]]


@pytest.mark.parametrize("cascades", [True, False])
async def test_the_finalizer_decides_whether_a_deleted_application_takes_its_objects_along(
    daily: Daily, cascades: bool
) -> None:
    world, desk, ref = daily.world, daily.desk, daily.ref
    assert (await desk.do("sync", ref)).state is State.SUCCEEDED
    assert await world.applied()
    await world.until(lambda app: app["status"]["sync"]["status"] == "Synced")
    if cascades:
        # In the foreground each object waits for a garbage collector, which isn't there.
        await daily.cluster.patch(await world.app(), {"metadata": {"finalizers": [f"{ARGO_FINALIZER}/background"]}})
    plan = await desk.commands.plan(Intent(verb="delete", targets=(ref,)))
    assert ("Argo CD deletes" if cascades else "nothing cascades") in plan.effects[0]
    record = await desk.run(plan, plan.confirmation)
    assert (record.state, record.message) == (State.SUCCEEDED, f"{ref.path} is deleted")
    assert await world.applied() is not cascades
