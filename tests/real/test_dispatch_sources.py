"""The dispatch engine where Flux fetches by itself: real source-controller, real kustomize-controller, a real repository."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import yaml

from console.backends.dispatch_objects import ClusterObjects
from console.clients.endpoint import Endpoint
from console.clients.kubernetes import KubernetesClient
from console.engines.dispatch.constants import ConditionReason, Outcome, Reason, RequestOutcome, Timing
from console.engines.dispatch.faults import PermanentError, RetryableError
from console.engines.dispatch.flux import FluxClient
from console.engines.dispatch.flux_reading import artifact_revision, last_handled, ready_condition, suspended
from console.engines.dispatch.tokens import Tokens
from console.engines.dispatch.types import Binding, ObjectName, Progress, Started
from console.engines.ports.applier import GIT_REPOSITORIES, KUSTOMIZATIONS, JsonObject
from console.kit.timing import SystemClock
from tests.engines.dispatch.world import Asking, eventually
from tests.real import fleet
from tests.real.flux import FluxLab
from tests.real.git import GitServer
from tests.real.source_controller import FETCHED, SourceController


class Fetched:
    """A GitRepository `shop` that source-controller fetches, and the Kustomization on it; both in `namespace`."""

    def __init__(self, flux: FluxLab, git: GitServer, client: KubernetesClient) -> None:
        self.git = git
        self.objects = ClusterObjects(client)
        self.tokens = Tokens(SystemClock())
        self.client = FluxClient(self.objects, SystemClock(), self.tokens, Timing(poll_interval=0.5))
        self.name = ObjectName(flux.kube.namespace(), "shop")
        self.repository = f"shop-{secrets.token_hex(4)}"
        self.binding = Binding(git.url(self.repository), "main")

    async def push(self, branch: str = "main", tag: str = "") -> str:
        """A new commit that writes itself into a ConfigMap."""
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "paint", "namespace": self.name.namespace}}
        files = {"shop/map.yaml": yaml.safe_dump({**body, "data": {"mark": self.tokens.new()}})}
        commit = await asyncio.to_thread(self.git.commit, self.repository, files, branch)
        if tag:
            await asyncio.to_thread(self.git.tag, self.repository, tag)
        return commit

    async def begin(self) -> str:
        """The first commit, fetched and applied."""
        commit = await self.push()
        source = fleet.git_repository(self.name.namespace, "shop")
        source["metadata"]["labels"] = FETCHED
        source["spec"] |= {"url": self.binding.url, "ref": {"branch": "main"}, "interval": "1h"}
        await self.objects.apply(GIT_REPOSITORIES, _bare(source), manager="git", force=True)
        await self.fetched(commit)
        shop = fleet.kustomization(self.name.namespace)
        await self.objects.apply(KUSTOMIZATIONS, _bare(shop), manager="git", force=True)

        async def applied() -> bool:
            return str((await self.shop()).get("status", {}).get("lastAppliedRevision", "")).endswith(commit)

        await eventually(applied)
        await self.client.suspend(self.name)

        async def held() -> bool:
            return (await self.client.suspension(self.name)).complete

        await eventually(held)
        return commit

    async def shop(self) -> JsonObject:
        return await self.objects.get(KUSTOMIZATIONS, self.name.namespace, "shop")

    async def source(self) -> JsonObject:
        return await self.objects.get(GIT_REPOSITORIES, self.name.namespace, "shop")

    async def change(self, spec: JsonObject) -> None:
        """Somebody changes the source."""
        await self.objects.merge(GIT_REPOSITORIES, self.name.namespace, "shop", {"spec": spec}, manager="kubectl-edit")

    async def until(self, holds: Callable[[JsonObject], Any]) -> JsonObject:
        async def look() -> JsonObject | None:
            found = await self.source()
            return found if holds(found) else None

        found: JsonObject = await eventually(look)
        return found

    async def fetched(self, commit: str) -> JsonObject:
        """Wait until the artifact is that commit."""
        return await self.until(lambda found: artifact_revision(found).endswith(commit))

    async def stamp(self) -> JsonObject:
        """Ask for a fetch, and wait until the request is handled."""
        token = self.tokens.new()
        patch = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": token}}}
        await self.objects.merge(GIT_REPOSITORIES, self.name.namespace, "shop", patch, manager="flux")
        return await self.until(lambda found: last_handled(found) == token)

    async def ask(self, commit: str) -> Started:
        return await self.client.request(self.name, Asking(self.tokens.new(), commit, Reason.FOREIGN_COMMIT).ask(self.binding))

    async def end(self, started: Started) -> Progress:
        async def look() -> Progress | None:
            progress = await self.client.progress(self.name, started)
            return progress if progress.outcome.complete else None

        found: Progress = await eventually(look)
        return found


def _bare(obj: JsonObject) -> JsonObject:
    return {key: value for key, value in obj.items() if key != "status"}


@pytest.fixture
async def fetched(flux: FluxLab, git: GitServer, source_controller: SourceController) -> AsyncIterator[Fetched]:
    """The pair, to be made by `begin`."""
    kube = flux.kube
    headers = (("Authorization", f"Bearer {kube.token()}"),)
    client = KubernetesClient(Endpoint(base_url=kube.url, ca=str(kube.authority), headers=headers))
    try:
        yield Fetched(flux, git, client)
    finally:
        await client.close()


@pytest.mark.scenario("dispatch:R7", "dispatch:S1", "dispatch:S4")
async def test_a_new_commit_is_fetched_for_the_request_and_applied(fetched: Fetched) -> None:
    await fetched.begin()
    commit = await fetched.push()
    started = await fetched.ask(commit)
    assert started.outcome is RequestOutcome.RESUMED
    assert artifact_revision(await fetched.source()) == f"main@sha1:{commit}"
    assert (await fetched.end(started)).outcome is Outcome.SUCCEEDED
    assert suspended(await fetched.shop())


@pytest.mark.scenario("dispatch:R8", "dispatch:S8")
async def test_a_commit_that_the_branch_does_not_have_is_not_applied(fetched: Fetched) -> None:
    first = await fetched.begin()
    other = await fetched.push("aside")
    with pytest.raises(RetryableError, match=first[:7]):
        await fetched.ask(other)
    assert artifact_revision(await fetched.source()).endswith(first)


@pytest.mark.scenario("dispatch:R10", "dispatch:S2")
async def test_a_fetch_that_fails_keeps_the_artifact_and_says_why(fetched: Fetched) -> None:
    first = await fetched.begin()
    fetched.binding = Binding(fetched.git.url("no-such-repository"), "main")
    await fetched.change({"url": fetched.binding.url})
    found = await fetched.stamp()
    ready = ready_condition(found)
    assert ready is not None
    assert ready["status"] == "False"
    assert artifact_revision(found).endswith(first), "handled is not fetched"
    with pytest.raises(RetryableError, match=str(ready["reason"])):
        await fetched.ask("0" * 40)


@pytest.mark.scenario("dispatch:R14", "dispatch:R15")
async def test_a_source_that_was_repointed_is_not_what_was_asked_for(fetched: Fetched) -> None:
    await fetched.begin()
    commit = await fetched.push()
    await fetched.push("aside")
    await fetched.change({"ref": {"branch": "aside"}})
    await fetched.until(lambda found: artifact_revision(found).startswith("aside@"))
    with pytest.raises(PermanentError) as caught:
        await fetched.ask(commit)
    assert caught.value.reason is ConditionReason.SOURCE_MISMATCH
    assert suspended(await fetched.shop())


@pytest.mark.scenario("dispatch:R11", "dispatch:S3")
async def test_a_suspended_source_takes_the_request_and_fetches_nothing(fetched: Fetched) -> None:
    first = await fetched.begin()
    commit = await fetched.push()
    await fetched.change({"suspend": True})
    with pytest.raises(RetryableError, match="suspended"):
        await fetched.ask(commit)
    assert artifact_revision(await fetched.source()).endswith(first)


@pytest.mark.scenario("dispatch:S4", "dispatch:S5")
async def test_of_several_references_commit_name_tag_semver_and_branch_win_in_that_order(fetched: Fetched) -> None:
    tagged = await fetched.begin()
    await asyncio.to_thread(fetched.git.tag, fetched.repository, "latest")
    release = await fetched.push(tag="v1.2.3")
    named = await fetched.push("aside")
    tip = await fetched.push()
    everything: JsonObject = {
        "branch": "main",
        "tag": "latest",
        "semver": ">=1.0.0",
        "name": "refs/heads/aside",
        "commit": release,
    }
    expected: tuple[tuple[str, str, str], ...] = (
        ("commit", release, f"refs/heads/aside@sha1:{release}"),
        ("name", named, f"refs/heads/aside@sha1:{named}"),
        ("tag", tagged, f"latest@sha1:{tagged}"),
        ("semver", release, f"v1.2.3@sha1:{release}"),
        ("branch", tip, f"main@sha1:{tip}"),
    )
    for field, commit, revision in expected:
        await fetched.change({"ref": everything})
        found = await fetched.fetched(commit)
        assert artifact_revision(found) == revision
        everything[field] = None
