"""What users of Argo CD's own API server and command line write, and what the engine makes of it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator

import pytest

from console.engines.dispatch.binding import binding_mismatch
from console.engines.dispatch.constants import Outcome
from console.engines.dispatch.types import Binding, Source
from tests.engines.dispatch.world import eventually
from tests.real import fleet
from tests.real.argocd import NAMESPACE, ArgoLab
from tests.real.argocd_world import RealArgo, real_argo
from tests.real.git import GitServer
from tests.real.processes import HarnessError

REFRESH = "argocd.argoproj.io/refresh"


@pytest.fixture
async def argo(argocd: ArgoLab, git: GitServer) -> AsyncIterator[RealArgo]:
    """An Application to be on a live Argo CD."""
    async with real_argo(argocd, git) as world:
        yield world


async def argocd_app(argo: RealArgo, verb: str, *arguments: str) -> str:
    return await asyncio.to_thread(argo.lab.cli, "app", verb, argo.name.name, *arguments)


@pytest.mark.scenario("dispatch:A3", "dispatch:A11", "dispatch:AC19", "dispatch:AC20")
async def test_a_sync_by_command_is_refused_while_ours_is_set_and_may_terminate_it(argo: RealArgo) -> None:
    await argo.begin()
    slow = await argo.push(slow=True)
    started = await argo.ask(slow)
    await eventually(argo.gate)
    with pytest.raises(HarnessError, match="another operation is already in progress"):
        await argocd_app(argo, "sync", "--async")
    assert (await argo.look(started)).outcome is Outcome.RUNNING
    await argocd_app(argo, "terminate-op")
    ended = await argo.end(started)
    assert (ended.outcome, ended.message) == (Outcome.FAILED, "Operation terminated")
    assert not await argo.gate()

    commit = await argo.push()
    async with argo.versions() as versions:
        await argocd_app(argo, "sync", "--async", "--revision", commit)
        state = await argo.until_phase("Succeeded")
        first = next(app for app in versions if "operation" in app)
    assert "operationState" not in first["status"], "it takes the last state away, as we do"
    assert first["operation"]["sync"]["revision"] == commit
    assert not state["operation"]["initiatedBy"].get("automated")


@pytest.mark.scenario("dispatch:A6", "dispatch:AC24")
async def test_a_closed_window_refuses_a_command_and_holds_an_operation_that_is_written(argo: RealArgo) -> None:
    kube = argo.lab.kube.client
    project = fleet.project(NAMESPACE, f"closed-{secrets.token_hex(4)}")
    window = {"kind": "deny", "schedule": "* * * * *", "duration": "24h", "applications": ["*"]}
    await asyncio.to_thread(kube.put, {**project, "spec": {**project["spec"], "syncWindows": [window]}})
    commit = await argo.begin(project=project["metadata"]["name"])
    with pytest.raises(HarnessError, match="window"):
        await argocd_app(argo, "sync", "--async")
    assert "operation" not in await argo.app(), "asked, and refused before anything is written"
    started = await argo.ask(commit)
    await argo.until(lambda app: "window" in app.get("status", {}).get("operationState", {}).get("message", ""))
    assert (await argo.look(started)).outcome is Outcome.RUNNING
    await argocd_app(argo, "terminate-op")
    await argo.until(lambda app: app["status"]["operationState"]["phase"] == "Terminating")
    await argo.patch({"metadata": {"annotations": {REFRESH: "normal"}}})
    await argo.until(lambda app: REFRESH not in app["metadata"].get("annotations", {}))
    state = await argo.state()
    assert (state["phase"], "window" in state["message"]) == ("Terminating", True), "a closed window holds its end too"
    assert (await argo.look(started)).outcome is Outcome.RUNNING
    await asyncio.to_thread(kube.merge, project, {"spec": {"syncWindows": None}})

    async def ended() -> bool:
        await argo.patch({"metadata": {"annotations": {REFRESH: "normal"}}})
        return (await argo.look(started)).outcome is Outcome.FAILED

    await eventually(ended, every=1)
    assert (await argo.state())["message"] == "Operation terminated"


@pytest.mark.scenario("dispatch:A9", "dispatch:J14")
async def test_addresses_that_are_one_to_argo_cd_and_two_to_us_are_told_with_a_hint(argo: RealArgo) -> None:
    kube = argo.lab.kube.client
    project = fleet.project(NAMESPACE, f"only-{secrets.token_hex(4)}")
    shouted = argo.binding.url.removesuffix(".git").upper().replace("HTTP://", "http://")
    spec = {**project["spec"], "sourceRepos": [shouted]}
    await asyncio.to_thread(kube.put, {**project, "spec": spec})
    await argo.begin(project=project["metadata"]["name"])
    status = (await argo.app())["status"]
    assert not [entry for entry in status.get("conditions", []) if "permitted" in entry["message"]]
    assert status["sync"]["status"] == "OutOfSync", "compared: case and .git make no difference to it"
    told = binding_mismatch(Source(argo.binding.url, "main"), Binding(shouted, "main"))
    assert "case" in told
    await asyncio.to_thread(kube.merge, project, {"spec": {"sourceRepos": [f"{shouted}-2"]}})
    await argo.patch({"metadata": {"annotations": {REFRESH: "normal"}}})
    await argo.until(lambda app: [c for c in app["status"].get("conditions", []) if "not permitted" in c["message"]])
