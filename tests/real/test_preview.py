"""What a preview says beforehand is what the real controllers do, and looking leaves no trace on the real API server."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest
import yaml

from console.backends.dispatch_objects import ClusterObjects
from console.backends.dry_run import DryRun
from console.clients.endpoint import Endpoint
from console.clients.git import GitProgram
from console.clients.kubernetes import KubernetesClient
from console.clients.kustomize import KustomizeProgram
from console.engines.dispatch.constants import Outcome
from console.engines.dispatch.types import ApplierKey, Binding
from console.engines.ports.applier import KUSTOMIZATIONS
from console.model.commits import ChangePreview
from console.runtime.appliers import Applier
from console.runtime.commit_book import CommitBook
from console.runtime.previews import preview
from tests.real import fleet
from tests.real.argocd import ArgoLab
from tests.real.argocd_world import real_argo
from tests.real.flux import FluxLab
from tests.real.git import GitServer

PATCH = "- op: add\n  path: /data/patched\n  value: 'yes'\n"
WATCHED = ("configmaps", "secrets")


def client_of(lab: FluxLab, user: str = "operator") -> KubernetesClient:
    kube = lab.kube
    headers = (("Authorization", f"Bearer {kube.token(user)}"),)
    return KubernetesClient(Endpoint(base_url=kube.url, ca=str(kube.authority), headers=headers))


def config_map(name: str, **data: str) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


def secret(name: str, **data: str) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data})


class Shop:
    """A Kustomization with everything in it that changes objects, its repository, and whoever looks."""

    def __init__(self, flux: FluxLab, git: GitServer, client: KubernetesClient) -> None:
        self.flux = flux
        self.git = git
        self.client = client
        self.objects = ClusterObjects(client)
        self.namespace = flux.kube.namespace()
        self.repository = f"shop-{secrets.token_hex(4)}"
        self.book = CommitBook(GitProgram({**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}))

    async def push(self, *, kustomization: bool, **files: str) -> tuple[str, dict[str, str]]:
        """A new commit of these files (by their names without the suffix), for git and as an artifact."""
        tree = {f"shop/{name}.yaml": content for name, content in files.items()}
        if kustomization:
            tree["shop/kustomization.yaml"] = yaml.safe_dump({"resources": [f"{name}.yaml" for name in files]})
        return await asyncio.to_thread(self.git.commit, self.repository, tree), tree

    async def begin(self, commit: str, tree: dict[str, str], **spec: Any) -> None:
        await asyncio.to_thread(self.flux.publish, self.namespace, "shop", tree, commit)
        shop = fleet.kustomization(self.namespace)
        shop["spec"] |= spec
        shop.pop("status")
        await self.objects.apply(KUSTOMIZATIONS, shop, manager="git", force=True)
        await asyncio.to_thread(self.flux.wait_applied, self.namespace, "shop", commit)

    async def go_on(self, commit: str, tree: dict[str, str]) -> None:
        await asyncio.to_thread(self.flux.publish, self.namespace, "shop", tree, commit)
        await asyncio.to_thread(self.flux.wait_applied, self.namespace, "shop", commit)

    async def look(self, commit: str, client: KubernetesClient | None = None) -> ChangePreview:
        raw = await self.objects.get(KUSTOMIZATIONS, self.namespace, "shop")
        applier = Applier(
            key=ApplierKey("here", "Kustomization", self.namespace, "shop"),
            raw=raw,
            source={},
            binding=Binding(self.git.url(self.repository), "main"),
        )
        questions = DryRun(client or self.client)
        try:
            return await preview(applier, commit, self.book, questions, KustomizeProgram(os.environ))
        finally:
            await questions.close()

    async def versions(self) -> dict[str, str]:
        """The resourceVersion of everything in the namespace."""
        found = {}
        for plural in WATCHED:
            listed = await self.client.get(f"/api/v1/namespaces/{self.namespace}/{plural}")
            for item in listed["items"]:
                found[f"{plural}/{item['metadata']['name']}"] = item["metadata"]["resourceVersion"]
        shop = await self.objects.get(KUSTOMIZATIONS, self.namespace, "shop")
        return {**found, "shop": shop["metadata"]["resourceVersion"]}


@pytest.fixture
async def shop(flux: FluxLab, git: GitServer) -> AsyncIterator[Shop]:
    client = client_of(flux, "admin")
    try:
        yield Shop(flux, git, client)
    finally:
        await client.close()


def told(found: ChangePreview) -> dict[str, str]:
    """What becomes of each object, by kind and name."""
    return {f"{item.what.split(' ')[0]} {item.what.rpartition('/')[2]}": item.change for item in found.objects}


async def test_a_built_kustomization_changes_exactly_what_was_told_and_looking_stores_nothing(shop: Shop) -> None:
    await shop.client.create(
        f"/api/v1/namespaces/{shop.namespace}/secrets",
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vars"}, "stringData": {"password": "hunter2hunter2"}},
    )
    first, tree = await shop.push(
        kustomization=True,
        web=config_map("web", mark="${mark}", pass_="${password}"),
        old=config_map("old", a="1"),
        token=secret("token", token="one"),  # nobody's
    )
    await shop.begin(
        first,
        tree,
        namePrefix="a-",
        targetNamespace=shop.namespace,
        commonMetadata={"labels": {"team": "shop"}},
        postBuild={"substitute": {"mark": "one"}, "substituteFrom": [{"kind": "Secret", "name": "vars"}]},
        patches=[{"target": {"kind": "ConfigMap", "name": "web"}, "patch": PATCH}],
    )
    unchanged = await shop.look(first)
    assert set(told(unchanged).values()) == {"same"}, unchanged
    second, tree = await shop.push(
        kustomization=True,
        web=config_map("web", mark="${mark}-two", pass_="x${password}"),
        new=config_map("new", a="1"),
        token=secret("token", token="two"),  # nobody's
    )
    before = await shop.versions()
    found = await shop.look(second)
    assert await shop.versions() == before, "a look stores nothing"
    assert told(found) == {
        "ConfigMap a-new": "create",
        "ConfigMap a-web": "update",
        "Secret a-token": "update",
        "ConfigMap a-old": "delete",
    }
    web = next(item for item in found.objects if item.what.endswith("/a-web"))
    assert {change.path: (change.before, change.after) for change in web.fields}["data.mark"] == ("one", "one-two")
    shown = repr(found)
    assert "hunter2" not in shown and "dHdv" not in shown, "secrets are masked"

    await shop.go_on(second, tree)
    after = await shop.versions()
    assert {name for name in before if name not in after} == {"configmaps/a-old"}
    assert {name for name in after if name not in before} == {"configmaps/a-new"}
    assert {name for name in before if name in after and before[name] != after[name]} >= {"configmaps/a-web", "secrets/a-token"}
    again = await shop.look(second)
    assert set(told(again).values()) == {"same"}, again


async def test_a_plain_folder_is_told_as_the_controller_generates_it(shop: Shop) -> None:
    where = {"namespace": shop.namespace}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", **where}, "data": {"a": "1"}}
    first, tree = await shop.push(kustomization=False, web=yaml.safe_dump(manifest))
    await shop.begin(first, tree)
    assert set(told(await shop.look(first)).values()) == {"same"}
    path = f"/api/v1/namespaces/{shop.namespace}/configmaps/web"
    await shop.client.patch(path, {"data": {"a": "edited", "b": "by hand"}}, params={"fieldManager": "kubectl-edit"})
    (web,) = (await shop.look(first)).objects
    assert [(change.path, change.before, change.after) for change in web.fields] == [("data.a", "edited", "1")]


async def test_what_these_credentials_may_not_ask_and_the_server_does_not_know_is_unknown(shop: Shop) -> None:
    where = {"namespace": shop.namespace}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", **where}, "data": {"a": "1"}}
    strange = {"apiVersion": "example.test/v1", "kind": "Odd", "metadata": {"name": "x", **where}}
    ports = {"ports": [{"port": 99999999}]}
    invalid = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "bad", **where}, "spec": ports}
    first, tree = await shop.push(kustomization=False, web=yaml.safe_dump(manifest))
    await shop.begin(first, tree)
    second, _ = await shop.push(
        kustomization=False, web=yaml.safe_dump(manifest), odd=yaml.safe_dump(strange), bad=yaml.safe_dump(invalid)
    )
    nobody = client_of(shop.flux, "nobody")
    try:
        (only,) = (await shop.look(first, nobody)).objects
        assert (only.change == "unknown" and "may not" in only.said) or "forbidden" in only.said.lower(), only
        found = await shop.look(second)
        said = {item.what.split(" ")[0]: (item.change, item.said) for item in found.objects}
        assert said["ConfigMap"][0] == "same"
        assert said["Odd"][0] == "unknown" and said["Odd"][1]
        assert said["Service"][0] == "unknown" and "99999999" in said["Service"][1]
    finally:
        await nobody.close()


async def test_a_sync_changes_exactly_what_was_told(argocd: ArgoLab, git: GitServer) -> None:
    async with real_argo(argocd, git) as world:
        commit = await world.begin()
        kube = argocd.kube
        headers = (("Authorization", f"Bearer {kube.token()}"),)
        client = KubernetesClient(Endpoint(base_url=kube.url, ca=str(kube.authority), headers=headers))
        book = CommitBook(GitProgram({**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}))

        async def look(wanted: str) -> ChangePreview:
            key = ApplierKey("here", "Application", world.name.namespace, world.name.name)
            applier = Applier(key=key, raw=await world.app(), source={}, binding=world.binding)
            questions = DryRun(client)
            try:
                return await preview(applier, wanted, book, questions, KustomizeProgram(os.environ))
            finally:
                await questions.close()

        try:
            assert told(await look(commit)) == {"ConfigMap paint": "create"}
            assert (await world.end(await world.ask(commit))).outcome is Outcome.SUCCEEDED
            assert told(await look(commit)) == {"ConfigMap paint": "same"}
            newer = await world.push()
            (paint,) = (await look(newer)).objects
            assert [change.path for change in paint.fields] == ["data.mark"]
            assert (await world.end(await world.ask(newer))).outcome is Outcome.SUCCEEDED
            assert told(await look(newer)) == {"ConfigMap paint": "same"}
        finally:
            await client.close()
