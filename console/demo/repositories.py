"""The repositories of the demo: what their commits say, and the manifests that the simulated controllers really apply.

Every commit is drawn from its hash: it sets one thing in the environment of what its folder deploys. So a look at a commit
beforehand, and what the controllers do with it afterwards, are one and the same.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

import yaml

from console.demo.cluster import Cluster
from console.demo.kube_store import Object
from console.errors import NotFound
from console.model.commits import CommitInfo

_OWNER = "kustomize.toolkit.fluxcd.io/name"
_AUTHORS = ("storefront team", "platform team", "release bot", "dependency bot")
_PAST = (
    "Pin every image to a release",
    "Ask for 100m CPU, not 50m",
    "Probe /healthz every ten seconds",
    "Allow one pod to be away",
)
_CHANGES = (
    ("Log at debug level while the incident lasts", "LOG_LEVEL", "debug"),
    ("Wait five seconds for the payment provider", "PROVIDER_TIMEOUT", "5s"),
    ("Open 20 connections to the database, not 10", "DATABASE_POOL", "20"),
    ("Keep prices for a minute", "PRICE_TTL", "60s"),
    ("Turn the new checkout on", "CHECKOUT", "new"),
    ("Log warnings only", "LOG_LEVEL", "warn"),
    ("Try a failed call three times", "RETRIES", "3"),
)


class Fetches(Protocol):
    """A controller that knows where branches are: ``heads`` by the name of a repository or an Application."""

    heads: dict[str, str]


class Manifests:
    """What the folders of one cluster's appliers have, commit by commit.

    ``times`` are the instants at which commits were made while the world runs.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._start = cluster.clock.now()
        self._base: dict[tuple[str, str], tuple[Object, ...]] = {}
        self._settled: dict[tuple[str, str], str] = {}
        self.times: dict[str, datetime] = {}
        for word in ("Kustomization", "Application"):
            for obj in cluster.store.all(word) if word in cluster.store.by_word else ():
                key = (word, obj["metadata"]["name"])
                found = (*cluster.store.all("Deployment"), *cluster.store.all("ConfigMap"))
                self._base[key] = tuple(_manifest(there) for there in found if _applies(obj, there))
                status = obj.get("status", {})
                applied = status.get("lastAttemptedRevision") or (status.get("history") or [{}])[-1].get("revision", "")
                self._settled[key] = applied.rpartition(":")[2]

    def at(self, kind: str, name: str, commit: str) -> tuple[Object, ...]:
        """The objects that an applier has in a commit. The one that was applied when the world began changes nothing."""
        base = copy.deepcopy(self._base.get((kind, name), ()))
        if not commit or commit == self._settled.get((kind, name)):
            return base
        _, variable, value = change_of(commit)
        return tuple(_with_variable(obj, variable, value) for obj in base)

    def apply(self, kind: str, name: str, commit: str, manager: str) -> None:
        """Do what the real controller does: apply every object of the commit, taking what it sets."""
        for wanted in self.at(kind, name, commit):
            self._cluster.change(wanted, partial(_instead, wanted), manager, apply=True)

    def info(self, commit: str) -> CommitInfo:
        """What a commit says of itself."""
        draw = int(commit[-6:], 16)
        past = commit in self._settled.values()
        subject = _PAST[draw % len(_PAST)] if past else change_of(commit)[0]
        when = self.times.get(commit) or self._start - timedelta(minutes=90 + draw % 4000)
        return CommitInfo(hash=commit, subject=subject, author=_AUTHORS[draw % len(_AUTHORS)], when=when)


class Repositories:
    """Satisfies :class:`console.runtime.commit_book.CommitSource` for the demo's clusters, in this process.

    :param worlds: a cluster, its manifests, and what knows where its branches are.
    """

    def __init__(self, worlds: Collection[tuple[Cluster, Manifests, Fetches]]) -> None:
        self._worlds = tuple(worlds)

    async def head(self, url: str, branch: str) -> str:
        """Where a branch is now."""
        for cluster, _, fetches in self._worlds:
            for obj in _sources(cluster, url):
                spec = obj["spec"]
                own = (spec.get("ref") or {}).get("branch") or (spec.get("source") or {}).get("targetRevision")
                if own == branch:
                    return fetches.heads.get(obj["metadata"]["name"], "")
        self._known(url)
        return ""

    async def describe(self, url: str, commits: Collection[str]) -> tuple[CommitInfo, ...]:
        """What commits say of themselves."""
        manifests = self._known(url)
        return tuple(manifests.info(commit) for commit in commits)

    async def tree(self, url: str, commit: str) -> Mapping[str, bytes]:
        """The files of a commit: a folder for each applier of the repository."""
        self._known(url)
        files: dict[str, bytes] = {"README.md": b"What the demo's clusters run.\n"}
        for cluster, manifests, _ in self._worlds:
            for kind, name, path in _appliers(cluster, url):
                folder = path.removeprefix("./").strip("/")
                inside = f"{folder}/" if folder else ""
                files[f"{inside}OWNERS"] = b"platform\n"
                for obj in manifests.at(kind, name, commit):
                    file = f"{inside}{obj['kind'].lower()}-{obj['metadata']['name']}.yaml"
                    files[file] = yaml.safe_dump(obj, sort_keys=False).encode()
        return files

    def _known(self, url: str) -> Manifests:
        for cluster, manifests, _ in self._worlds:
            if _sources(cluster, url):
                return manifests
        raise NotFound(f"The demo has no repository {url}.", status=404)


def change_of(commit: str) -> tuple[str, str, str]:
    """What a commit changes: its subject, and a variable with its value."""
    return _CHANGES[int(commit[:6], 16) % len(_CHANGES)]


def _applies(applier: Object, there: Object) -> bool:
    """Whether an object of the beginning is one of an applier's."""
    if applier["kind"] == "Application":
        return bool(there["metadata"]["namespace"] == applier["spec"]["destination"].get("namespace"))
    return bool((there["metadata"].get("labels") or {}).get(_OWNER) == applier["metadata"]["name"])


def _manifest(there: Object) -> Object:
    """An object as a repository has it."""
    meta = {key: there["metadata"][key] for key in ("name", "namespace", "labels") if key in there["metadata"]}
    rest: Object = {key: copy.deepcopy(there[key]) for key in ("spec", "data") if key in there}
    return {"apiVersion": there["apiVersion"], "kind": there["kind"], "metadata": meta, **rest}


def _with_variable(obj: Object, name: str, value: str) -> Object:
    if obj["kind"] != "Deployment":
        return obj
    container = obj["spec"]["template"]["spec"]["containers"][0]
    others = [entry for entry in container.get("env") or () if entry["name"] != name]
    container["env"] = [*others, {"name": name, "value": value}]
    return obj


def _instead(wanted: Object, _: Object) -> Object:
    return copy.deepcopy(wanted)


def _sources(cluster: Cluster, url: str) -> list[Object]:
    found: list[Object] = []
    for word in ("GitRepository", "Application"):
        if word in cluster.store.by_word:
            found += [obj for obj in cluster.store.all(word) if _url(obj) == url]
    return found


def _appliers(cluster: Cluster, url: str) -> list[tuple[str, str, str]]:
    """Kind, name and path of everything that applies a repository."""
    names = {obj["metadata"]["name"] for obj in _sources(cluster, url) if obj["kind"] == "GitRepository"}
    applications = (obj for obj in _sources(cluster, url) if obj["kind"] == "Application")
    found = [("Application", obj["metadata"]["name"], obj["spec"]["source"]["path"]) for obj in applications]
    if "Kustomization" in cluster.store.by_word:
        for obj in cluster.store.all("Kustomization"):
            source = obj["spec"]["sourceRef"]
            if source["kind"] == "GitRepository" and source["name"] in names:
                found.append(("Kustomization", obj["metadata"]["name"], obj["spec"].get("path", "")))
    return found


def _url(obj: Object) -> str:
    spec = obj["spec"]
    return str(spec.get("url") or (spec.get("source") or {}).get("repoURL") or "")
