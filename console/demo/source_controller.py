"""The simulated source-controller and helm-controller, and the commits that arrive in the repositories while the world runs.

Facts kept: a request token is handled at the end of every pass, fetched or not; a suspended source handles it without
fetching; a failed fetch keeps the old artifact.
"""

from __future__ import annotations

from datetime import datetime

from console.demo import collecting
from console.demo.clockwork import rfc3339
from console.demo.cluster import Cluster, condition
from console.demo.kube_store import Object

REQUESTED_AT = "reconcile.fluxcd.io/requestedAt"
_FETCH_SECONDS = 0.8
_COMMIT_SECONDS = 47.0
_WORDS = ("GitRepository", "OCIRepository", "HelmRepository", "HelmChart", "Bucket")


class SourceController:
    """Fetches repositories on request and by interval. :attr:`heads` is what the remote branches hold, by repository."""

    manager = "gotk-source-controller"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._busy: dict[str, tuple[datetime, str]] = {}
        self._fetched: dict[str, datetime] = {}
        self.heads: dict[str, str] = {
            repository["metadata"]["name"]: repository["status"]["artifact"]["revision"].rpartition(":")[2]
            for repository in cluster.store.all("GitRepository")
        }

    def step(self) -> None:
        """Begin and end passes."""
        now = self._cluster.clock.now()
        for word in _WORDS:
            for source in self._cluster.store.all(word):
                name = f"{word}/{source['metadata']['name']}"
                asked = token_of(source)
                if name in self._busy:
                    began, token = self._busy[name]
                    if (now - began).total_seconds() >= _FETCH_SECONDS:
                        del self._busy[name]
                        self._end(source, token)
                elif asked and asked != source.get("status", {}).get("lastHandledReconcileAt"):
                    self._busy[name] = (now, asked)
                elif self._due(name, source, now):
                    self._busy[name] = (now, "")

    def _due(self, name: str, source: Object, now: datetime) -> bool:
        last = self._fetched.setdefault(name, now)
        if source["spec"].get("suspend", False):
            return False
        waited = (now - last).total_seconds()
        head = self.heads.get(source["metadata"]["name"]) if source["kind"] == "GitRepository" else None
        # A push is announced by a webhook, so a fetch follows it at once.
        announced = head is not None and not source["status"]["artifact"]["revision"].endswith(head)
        return announced or waited >= seconds_of(source["spec"].get("interval", "1h"))

    def _end(self, source: Object, token: str) -> None:
        meta = source["metadata"]
        self._fetched[f"{source['kind']}/{meta['name']}"] = self._cluster.clock.now()
        head = self.heads.get(meta["name"]) if source["kind"] == "GitRepository" else None
        branch = (source["spec"].get("ref") or {}).get("branch", "master")
        revision = f"{branch}@sha1:{head}"
        if head and not source["spec"].get("suspend") and source["status"]["artifact"]["revision"] != revision:
            at = rfc3339(self._cluster.clock.now())
            message = f"stored artifact for revision '{revision}'"
            source = self._cluster.set_status(
                source,
                self.manager,
                artifact={**source["status"]["artifact"], "revision": revision, "lastUpdateTime": at},
                conditions=[
                    condition("Ready", "True", "Succeeded", message, at, meta["generation"]),
                    condition("ArtifactInStorage", "True", "Succeeded", message, at, meta["generation"]),
                ],
                observedGeneration=meta["generation"],
            )
            self._cluster.event(source, "NewArtifact", message, source="source-controller")
        if token:
            self._cluster.set_status(source, self.manager, lastHandledReconcileAt=token)


class Committer:
    """Puts a new commit into one repository after another. ``times`` gets the instant of each."""

    def __init__(
        self, cluster: Cluster, heads: dict[str, str], repositories: tuple[str, ...], times: dict[str, datetime]
    ) -> None:
        self._cluster = cluster
        self._times = times
        self._heads = heads
        self._repositories = repositories
        self._count = 0
        self._next = _COMMIT_SECONDS / 2

    def step(self) -> None:
        """Commit when it is time."""
        if self._cluster.clock.elapsed < self._next:
            return
        self._next += _COMMIT_SECONDS
        name = self._repositories[self._count % len(self._repositories)]
        self._count += 1
        commit = self._cluster.names.hexadecimal(f"commit/{name}/{self._count}", 40)
        self._heads[name] = commit
        self._times[commit] = self._cluster.clock.now()


class HelmController:
    """Answers requests for HelmReleases: those that fail go on failing."""

    manager = "gotk-helm-controller"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._busy: dict[str, datetime] = {}
        self._seen = {self._key(release): release["metadata"]["generation"] for release in cluster.store.all("HelmRelease")}

    def step(self) -> None:
        """Begin and end passes."""
        now = self._cluster.clock.now()
        for release in self._cluster.store.all("HelmRelease"):
            key, meta = self._key(release), release["metadata"]
            if meta.get("deletionTimestamp"):
                collecting.finish(self._cluster, release, collecting.FLUX_FINALIZER, (), self.manager)
                continue
            asked = token_of(release) not in ("", release.get("status", {}).get("lastHandledReconcileAt"))
            if key in self._busy:
                if (now - self._busy[key]).total_seconds() >= 2.0:
                    del self._busy[key]
                    self._end(release)
            elif asked or self._seen.get(key) != meta["generation"]:
                self._seen[key] = meta["generation"]
                self._busy[key] = now
                if not release["spec"].get("suspend"):
                    self._ready(release, "Unknown", "Progressing", "Running 'upgrade' action with timeout of 5m0s")

    def _end(self, release: Object) -> None:
        status = release.get("status", {})
        if not release["spec"].get("suspend"):
            conditions = status.get("conditions", ())
            released = next((entry for entry in conditions if entry["type"] == "Released"), None)
            if released is None or released["status"] == "True":
                name, namespace = release["metadata"]["name"], release["metadata"]["namespace"]
                message = f"Helm upgrade succeeded for release {namespace}/{name}"
                release = self._ready(release, "True", "UpgradeSucceeded", message)
            else:
                release = self._ready(release, "False", released["reason"], released["message"])
        fields = {"observedGeneration": release["metadata"]["generation"]}
        if token_of(release):
            self._cluster.set_status(release, self.manager, lastHandledReconcileAt=token_of(release), **fields)
        else:
            self._cluster.set_status(release, self.manager, **fields)

    def _ready(self, release: Object, status: str, reason: str, message: str) -> Object:
        at, generation = rfc3339(self._cluster.clock.now()), release["metadata"]["generation"]
        others = [entry for entry in release.get("status", {}).get("conditions", ()) if entry["type"] != "Ready"]
        ready = condition("Ready", status, reason, message, at, generation)
        return self._cluster.set_status(release, self.manager, conditions=[ready, *others])

    def _key(self, release: Object) -> str:
        return f"{release['metadata']['namespace']}/{release['metadata']['name']}"


def token_of(obj: Object) -> str:
    """The reconcile request that an object carries, or nothing."""
    return str((obj["metadata"].get("annotations") or {}).get(REQUESTED_AT, ""))


def seconds_of(duration: str) -> float:
    """Seconds of a Go duration made of hours, minutes and whole seconds."""
    total, number = 0.0, ""
    for letter in duration:
        if letter.isdigit() or letter == ".":
            number += letter
        else:
            total += float(number or 0) * {"h": 3600, "m": 60, "s": 1}.get(letter, 0)
            number = ""
    return total or 3600.0
