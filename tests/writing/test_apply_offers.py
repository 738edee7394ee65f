"""What can be asked of an applier, and what it would change: offers, plans and previews over the demo."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from console.config.fleet import parse_fleet
from console.config.settings import Settings
from console.demo.fleet import DemoFleet
from console.errors import NotServed, Refused, Unreachable
from console.model.commits import ApplyOffer, CommitInfo
from console.model.operations import State
from console.model.plan import Intent
from console.model.refs import Ref
from console.runtime.discovery import discover
from console.runtime.runtime import Runtime
from tests.cli.test_dispatching import DECLARED
from tests.writing.test_leading import until

INGRESS = Ref("atlas", "Kustomization", "flux-system", "ingress")
SEARCH = Ref("borealis", "Application", "argocd", "search-eu")
STOREFRONT = Ref("atlas", "FluxTrigger", "team-a", "storefront")
PAYMENTS_EU = Ref("borealis", "ArgoCDTrigger", "team-b", "payments-eu")
FLEET = DECLARED.replace("infrastructure", "ingress")


class Repository:
    """The demo's repositories, with faults: ``away`` says nothing more, ``silent`` never answers."""

    def __init__(self, demo: DemoFleet) -> None:
        self._real = demo.repositories
        self.away = False
        self.silent = False
        self.heads: dict[str, str] = {}
        self.asked = 0

    async def head(self, url: str, branch: str) -> str:
        self.asked += 1
        await self._pass()
        return self.heads[url] if url in self.heads else await self._real.head(url, branch)

    async def describe(self, url: str, commits: Collection[str]) -> tuple[CommitInfo, ...]:
        await self._pass()
        return await self._real.describe(url, commits)

    async def tree(self, url: str, commit: str) -> Mapping[str, bytes]:
        await self._pass()
        return await self._real.tree(url, commit)

    async def _pass(self) -> None:
        if self.silent:
            await asyncio.Event().wait()
        if self.away:
            raise Unreachable("Could not resolve host: git.example.test")


class Desk:
    """A console over the demo whose world stands still until :meth:`go`."""

    def __init__(self, demo: DemoFleet, console: Runtime, repository: Repository) -> None:
        self.demo = demo
        self.console = console
        self.repository = repository

    async def done(self, verb: str, ref: Ref, **arguments: str) -> State:
        plan = await self.console.commands.plan(Intent(verb=verb, targets=(ref,), arguments=arguments))
        running = asyncio.create_task(self._run(plan.confirmation, plan))
        while not running.done():
            self.demo.world.step(0.25)
            await asyncio.sleep(0.01)
        return await running

    async def _run(self, typed: str, plan: object) -> State:
        return await self.console.commands.wait(await self.console.commands.run(plan, typed))  # type: ignore[arg-type]

    def push(self, name: str) -> str:
        """Somebody pushes, and nothing fetches it: the world stands still."""
        commit = f"{len(self.repository.heads) + 171:02x}" * 20
        self.repository.heads[f"https://git.example.test/{name}.git"] = commit
        return commit


@pytest_asyncio.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    fleet = parse_fleet(FLEET, Path("fleet"))
    async with DemoFleet(speed=0) as demo:
        repository = Repository(demo)
        targets = discover(demo.write_config(tmp_path / "found"), fleet).targets
        runtime = Runtime(
            Settings(), fleet, targets, connect=("atlas", "borealis"), state=tmp_path / "state", commits=repository
        )
        async with runtime as console:

            async def both() -> bool:
                return console.dispatching is not None and {"atlas", "borealis"} <= set(console.dispatching.engines)

            await until(both)
            for name in ("atlas", "borealis"):
                console.arming.arm(name)
            yield Desk(demo, console, repository)


def reasons(offer: ApplyOffer) -> dict[str, str]:
    return {item.reason: item.refused for item in offer.reasons}


async def test_an_offer_names_every_commit_once_with_where_it_was_seen(desk: Desk) -> None:
    pushed = desk.push("shop/search-eu")
    offer = await desk.console.apply_offer(SEARCH)
    assert [item.commit.hash for item in offer.commits] == [offer.applied, pushed]
    here, there = offer.commits
    assert here.places == ("Argo CD compares with it", "applied now") and there.places == ("head of main",)
    assert all(item.commit.subject and item.commit.author and item.commit.when for item in offer.commits)
    assert not any(item.refused for item in offer.commits)
    assert offer.binding == "https://git.example.test/shop/search-eu.git@main"


async def test_reasons_are_explained_and_refusal_wants_consent(desk: Desk) -> None:
    offer = await desk.console.apply_offer(SEARCH)
    assert [*reasons(offer)] == ["CatchUp", "ForeignCommit", "Refusal", "Repair"]
    assert "revert_refused_edits" in reasons(offer)["Refusal"]
    assert not any(why for reason, why in reasons(offer).items() if reason != "Refusal")
    assert all(len(item.words) > 30 for item in offer.reasons)


async def test_what_is_not_held_offers_its_commits_and_says_what_to_do_first(desk: Desk) -> None:
    offer = await desk.console.apply_offer(INGRESS)
    assert offer.commits and all("Hold it first" in item.refused for item in offer.commits)
    assert await desk.done("hold", INGRESS) is State.SUCCEEDED
    held = await desk.console.apply_offer(INGRESS)
    assert not held.commits[0].refused
    catch_up = next(item for item in held.reasons if item.reason == "CatchUp")
    assert "asks nothing" in catch_up.words and not catch_up.refused, "lawful, though there is nothing to do"


async def test_a_pending_repair_is_the_reason_that_is_proposed(desk: Desk) -> None:
    cluster = desk.demo.world.clusters["borealis"]
    trigger = cluster.store.find("ArgoCDTrigger", "team-b", "payments-eu")
    assert trigger is not None
    cluster.set_status(trigger, "gitops-reverser", repairPending=True)
    offer = await desk.console.apply_offer(PAYMENTS_EU)
    assert offer.reasons[0].reason == "Repair" and "repair is pending" in offer.reasons[0].words
    assert any("repair is pending" in note.lower() for note in offer.notes)


async def test_a_candidate_is_told_how_to_be_declared_and_can_be_looked_at(desk: Desk) -> None:
    notifications = Ref("atlas", "Kustomization", "flux-system", "notifications")
    offer = await desk.console.apply_offer(notifications)
    assert offer.commits and all("Nobody declared it" in item.refused for item in offer.commits)
    assert any('"object": "notifications"' in note or 'object: "notifications"' in note for note in offer.notes), offer.notes
    assert (await desk.console.preview(notifications, offer.commits[0].commit.hash)).commit.subject
    with pytest.raises(NotServed):
        await desk.console.apply_offer(Ref("atlas", "Pod", "shop", "web"))


async def test_a_trigger_that_somebody_else_leads_offers_nothing_but_shows_what_would_change(desk: Desk) -> None:
    offer = await desk.console.apply_offer(STOREFRONT)
    assert all("not the engine" in item.refused for item in offer.commits)
    assert {place for item in offer.commits for place in item.places} >= {"the source has it", "applied now"}
    before = next(item for item in offer.commits if "applied now" in item.places)
    found = await desk.console.preview(STOREFRONT, before.commit.hash)
    assert found.count("update") == 3


async def test_a_repository_that_is_away_costs_words_and_no_offer(desk: Desk) -> None:
    desk.repository.away = True
    offer = await desk.console.apply_offer(SEARCH)
    assert [item.commit.unread for item in offer.commits] == ["Could not resolve host: git.example.test"]
    assert any("can't be told" in note for note in offer.notes)
    with pytest.raises(Unreachable):
        await desk.console.preview(SEARCH, offer.applied)


async def test_a_repository_that_never_answers_is_not_waited_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.runtime.commit_book.PATIENCE", 0.05)
    desk.repository.silent = True
    offer = await desk.console.apply_offer(SEARCH)
    assert "did not answer" in offer.commits[0].commit.unread


async def test_the_head_of_the_branch_can_be_applied_before_the_source_has_it_and_nothing_else_can(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.runtime.commit_book.HEAD_SECONDS", 0)
    assert await desk.done("hold", INGRESS) is State.SUCCEEDED
    pushed = desk.push("platform/fleet")
    offer = await desk.console.apply_offer(INGRESS)
    assert {item.commit.hash: item.refused for item in offer.commits}[pushed] == ""
    intent = Intent(verb="apply", targets=(INGRESS,), arguments={"commit": pushed})
    plan = await desk.console.commands.plan(intent)
    assert any("it fetches main first" in effect for effect in plan.effects)
    desk.repository.away = True
    assert (await desk.console.commands.plan(intent)).hash == plan.hash, "what git says is no part of the plan"
    desk.repository.away = False
    with pytest.raises(Refused, match="main is at commit") as caught:
        await desk.console.commands.plan(Intent(verb="apply", targets=(INGRESS,), arguments={"commit": "a" * 40}))
    assert "push" in caught.value.hint
    await desk.console.commands.plan(Intent(verb="apply", targets=(INGRESS,)))


async def test_two_looks_in_a_row_ask_for_the_head_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.runtime.commit_book.HEAD_SECONDS", 600)
    await desk.console.apply_offer(SEARCH)
    await desk.console.apply_offer(SEARCH)
    assert desk.repository.asked == 1


async def test_a_look_stores_nothing_and_the_sync_does_exactly_what_it_told(desk: Desk) -> None:
    commit = desk.push("shop/search-eu")
    store = desk.demo.world.clusters["borealis"].store
    before = store.version
    found = await desk.console.preview(SEARCH, commit)
    assert store.version == before
    (indexer,) = (item for item in found.objects if item.change == "update")
    assert indexer.what == "Deployment search/search-indexer" and indexer.fields
    assert await desk.done("apply", SEARCH, commit=commit) is State.SUCCEEDED
    assert {item.change for item in (await desk.console.preview(SEARCH, commit)).objects} == {"same"}


async def test_a_branch_that_is_gone_leaves_what_the_source_has(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.runtime.commit_book.HEAD_SECONDS", 0)
    assert await desk.done("hold", INGRESS) is State.SUCCEEDED
    desk.repository.heads["https://git.example.test/platform/fleet.git"] = ""
    offer = await desk.console.apply_offer(INGRESS)
    assert [item.refused for item in offer.commits] == [""]
    assert "The repository has no branch main." in offer.notes
    with pytest.raises(Refused, match="there is no main"):
        await desk.console.commands.plan(Intent(verb="apply", targets=(INGRESS,), arguments={"commit": "a" * 40}))


async def test_a_suspended_source_offers_only_what_it_has(desk: Desk) -> None:
    assert await desk.done("hold", INGRESS) is State.SUCCEEDED
    cluster = desk.demo.world.clusters["atlas"]
    fleet = cluster.store.find("GitRepository", "flux-system", "fleet")
    assert fleet is not None
    cluster.change(fleet, lambda live: {**live, "spec": {**live["spec"], "suspend": True}}, "flux")
    pushed = desk.push("platform/fleet")
    offer = await desk.console.apply_offer(INGRESS)
    refused = {item.commit.hash: item.refused for item in offer.commits}
    assert "source is suspended" in refused.pop(pushed) and [*refused.values()] == [""]
    with pytest.raises(Refused, match="suspended"):
        await desk.console.commands.plan(Intent(verb="apply", targets=(INGRESS,), arguments={"commit": pushed}))


async def test_what_the_cluster_says_can_not_steer_the_terminal(desk: Desk) -> None:
    cluster = desk.demo.world.clusters["borealis"]
    app = cluster.store.find("Application", "argocd", "catalog-eu")
    assert app is not None
    source = {**app["spec"]["source"], "repoURL": "https://git.example.test/\x1b[31mshop.git", "targetRevision": "ma\u202ein"}
    cluster.change(app, lambda live: {**live, "spec": {**live["spec"], "source": source}}, "kubectl")
    offer = await desk.console.apply_offer(Ref("borealis", "Application", "argocd", "catalog-eu"))
    words = [offer.binding, *offer.notes, *(text for item in offer.commits for text in (*item.places, item.refused))]
    assert offer.commits and not any("\x1b" in text or "\u202e" in text for text in words), words
