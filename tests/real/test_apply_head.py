"""An operator applies what the branch has before Flux has fetched it: offered by git, fetched for the apply, held again."""

from __future__ import annotations

import asyncio
import os
import secrets
from pathlib import Path

import pytest
import yaml

from console.clients.git import GitProgram
from console.config.fleet import parse_fleet
from console.config.settings import Settings
from console.errors import Refused
from console.model.operations import State
from console.model.plan import Intent
from console.model.refs import Ref
from console.runtime.discovery import discover
from console.runtime.runtime import Runtime
from tests.cli.running import isolated
from tests.crash.held import until
from tests.real import fleet
from tests.real.flux import FluxLab
from tests.real.git import GitServer
from tests.real.source_controller import FETCHED, SourceController

DECLARED = """
connections: [{{name: cluster, kubernetes: admin}}]
triggers:
  - {{name: shop, connection: cluster, kind: flux, namespace: {namespace}, object: shop, url: "{url}", branch: main,
     hold: true}}
"""


class Branch:
    """A repository that source-controller looks at once an hour, and the Kustomization on it."""

    def __init__(self, flux: FluxLab, git: GitServer) -> None:
        self.kube = flux.kube
        self.git = git
        self.namespace = flux.kube.namespace()
        self.repository = f"shop-{secrets.token_hex(4)}"
        self.url = git.url(self.repository)

    async def push(self, mark: str) -> str:
        meta = {"name": "paint", "namespace": self.namespace}
        paint = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"mark": mark}}
        return await asyncio.to_thread(self.git.commit, self.repository, {"shop/map.yaml": yaml.safe_dump(paint)})

    async def begin(self) -> str:
        commit = await self.push("one")
        source = fleet.git_repository(self.namespace, "shop")
        source["metadata"]["labels"] = FETCHED
        source["spec"] |= {"url": self.url, "ref": {"branch": "main"}, "interval": "1h"}
        for obj in (source, fleet.kustomization(self.namespace)):
            obj.pop("status", None)
            await asyncio.to_thread(self.kube.client.apply, obj)

        async def applied() -> bool:
            return str((await self.shop()).get("status", {}).get("lastAppliedRevision", "")).endswith(commit)

        await until(applied)
        return commit

    async def shop(self) -> fleet.Object:
        return await asyncio.to_thread(self.kube.client.get, fleet.FLUX_KUSTOMIZE, "Kustomization", self.namespace, "shop")


async def test_the_head_of_the_branch_is_offered_fetched_applied_and_held_again(
    flux: FluxLab, git: GitServer, source_controller: SourceController, tmp_path: Path
) -> None:
    branch = Branch(flux, git)
    first = await branch.begin()
    declared = parse_fleet(DECLARED.format(namespace=branch.namespace, url=branch.url), Path("fleet"))
    targets = discover(isolated(tmp_path, KUBECONFIG=str(flux.kube.kubeconfig())), declared).targets
    commits = GitProgram({**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"})
    async with Runtime(Settings(), declared, targets, state=tmp_path / "state", commits=commits) as console:
        await console.settled({"Kustomization"}, 60)
        console.arming.arm("cluster")
        ref = Ref("cluster", "Kustomization", branch.namespace, "shop", (await branch.shop())["metadata"]["uid"])

        async def done(verb: str, **arguments: str) -> State:
            plan = await console.commands.plan(Intent(verb=verb, targets=(ref,), arguments=arguments))
            return await console.commands.wait(await console.commands.run(plan, plan.confirmation))

        assert await done("hold") is State.SUCCEEDED
        pushed = await branch.push("two")
        offer = await console.apply_offer(ref)
        seen = {item.commit.hash: (item.places, item.refused, item.commit.subject) for item in offer.commits}
        assert seen == {
            first: (("the source has it", "applied now"), "", "Change what the fleet runs"),
            pushed: (("head of main",), "", "Change what the fleet runs"),
        }
        found = await console.preview(ref, pushed)
        assert [(item.what, item.change) for item in found.objects] == [(f"ConfigMap {branch.namespace}/paint", "update")]

        assert await done("apply", commit=pushed) is State.SUCCEEDED
        after = await branch.shop()
        assert after["status"]["lastAppliedRevision"].endswith(pushed) and after["spec"]["suspend"] is True
        assert {item.change for item in (await console.preview(ref, pushed)).objects} == {"same"}
        with pytest.raises(Refused, match="neither is commit"):
            await console.commands.plan(Intent(verb="apply", targets=(ref,), arguments={"commit": first}))
