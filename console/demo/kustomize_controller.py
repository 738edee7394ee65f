"""The simulated kustomize-controller.

Facts kept (they decide whether a client's idea of "done" is right): one pass of an object at a time; a pass reads the object
once, at its start; ``spec.suspend`` is looked at only then; every pass ends by writing the token that it had read to
``lastHandledReconcileAt``, after its conditions; ``observedGeneration`` moves only when Ready is True; a wait for a dependency
ends at once; history gets entries from the apply on; what is deleted is let go by a pass of its own.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from console.demo import collecting
from console.demo.clockwork import rfc3339
from console.demo.cluster import Cluster, condition
from console.demo.kube_store import Object
from console.demo.repositories import Manifests
from console.demo.source_controller import seconds_of, token_of

_SUSPENDED_SECONDS = 0.4
_APPLY_SECONDS = 2.0
_HEALTH_SECONDS = 12.0
_DEPENDENCY_RETRY = 30.0


class _Seen(msgspec.Struct):
    """What made the last pass of an object, and when it ended."""

    token: str
    generation: int
    revision: str
    ended: datetime
    retry: float = 0.0


class _Pass(msgspec.Struct):
    """A pass under way, with the object as it was read."""

    read: Object
    revision: str
    began: datetime
    applied: bool = False


class KustomizeController:
    """Reconciles Kustomizations."""

    manager = "gotk-kustomize-controller"

    def __init__(self, cluster: Cluster, manifests: Manifests) -> None:
        self._cluster = cluster
        self._manifests = manifests
        self._passes: dict[str, _Pass] = {}
        self._seen: dict[str, _Seen] = {}
        for obj in cluster.store.all("Kustomization"):
            self._seen[self._key(obj)] = self._reason(obj)

    def step(self) -> None:
        """Begin, go on with and end passes."""
        for obj in self._cluster.store.all("Kustomization"):
            key = self._key(obj)
            if key in self._passes:
                self._go_on(key, self._passes[key])
            elif obj["metadata"].get("deletionTimestamp"):
                self._finalize(obj)
            elif self._wanted(obj, self._seen.get(key)):
                self._begin(key, obj)

    def _finalize(self, obj: Object) -> None:
        behind = collecting.inventory(obj) if collecting.collects(obj) else []
        collecting.finish(self._cluster, obj, collecting.FLUX_FINALIZER, behind, self.manager)

    def _wanted(self, obj: Object, seen: _Seen | None) -> bool:
        if seen is None:
            return True
        now = self._reason(obj)
        if (now.token and now.token != seen.token) or now.generation != seen.generation:
            return True
        if obj["spec"].get("suspend"):
            return False
        waited = (self._cluster.clock.now() - seen.ended).total_seconds()
        return now.revision != seen.revision or waited >= (seen.retry or seconds_of(obj["spec"].get("interval", "10m")))

    def _begin(self, key: str, obj: Object) -> None:
        reason = self._reason(obj)
        self._seen[key] = reason
        self._passes[key] = _Pass(obj, reason.revision, self._cluster.clock.now())
        if not obj["spec"].get("suspend") and not obj["metadata"].get("deletionTimestamp"):
            self._ready(obj, "Unknown", "Progressing", "Reconciliation in progress")

    def _go_on(self, key: str, running: _Pass) -> None:
        waited = (self._cluster.clock.now() - running.began).total_seconds()
        live = self._cluster.store.find("Kustomization", *key.split("/", 1))
        if live is None:
            del self._passes[key]
        elif running.read["spec"].get("suspend"):
            if waited >= _SUSPENDED_SECONDS:
                self._end(key, live, running)
        elif missing := self._missing_dependency(running.read):
            self._ready(live, "False", "DependencyNotReady", f"dependency '{missing}' is not ready")
            self._end(key, live, running, retry=_DEPENDENCY_RETRY)
        elif not running.applied:
            if waited >= _APPLY_SECONDS:
                running.applied = True
                self._apply(live, running.revision)
        elif not (broken := self._broken(running.read)):
            message = f"Applied revision: {running.revision}"
            live = self._ready(live, "True", "ReconciliationSucceeded", message)
            self._cluster.event(live, "ReconciliationSucceeded", message, source="kustomize-controller")
            self._end(key, live, running, outcome="ReconciliationSucceeded")
        elif waited >= _HEALTH_SECONDS:
            message = f"health check failed after 2m0.5s: timeout waiting for: [Deployment/{broken} status: 'InProgress']"
            live = self._ready(live, "False", "HealthCheckFailed", message)
            self._cluster.event(live, "HealthCheckFailed", message, warning=True, source="kustomize-controller")
            self._end(key, live, running, outcome="HealthCheckFailed", retry=60.0)

    def _apply(self, obj: Object, revision: str) -> None:
        self._cluster.set_status(obj, self.manager, lastAttemptedRevision=revision)
        commit = revision.rpartition(":")[2]
        self._manifests.apply("Kustomization", obj["metadata"]["name"], commit, "kustomize-controller")

    def _end(self, key: str, live: Object, running: _Pass, *, outcome: str = "", retry: float = 0.0) -> None:
        del self._passes[key]
        self._seen[key].ended = self._cluster.clock.now()
        self._seen[key].retry = retry
        live = self._cluster.store.find("Kustomization", *key.split("/", 1)) or live
        fields: Object = {}
        if token_of(running.read):
            fields["lastHandledReconcileAt"] = token_of(running.read)
        status = live.get("status", {})
        ready = next((entry for entry in status.get("conditions", ()) if entry["type"] == "Ready"), None)
        if ready is not None and ready["status"] == "True":
            fields["observedGeneration"] = running.read["metadata"]["generation"]
        if outcome == "ReconciliationSucceeded":
            fields["lastAppliedRevision"] = running.revision
        if outcome:
            fields["history"] = self._history(status, running.revision, outcome)
        if fields:
            self._cluster.set_status(live, self.manager, **fields)

    def _history(self, status: Object, revision: str, outcome: str) -> list[Object]:
        at = rfc3339(self._cluster.clock.now())
        past = list(status.get("history") or ())
        if past and past[0]["metadata"]["revision"] == revision and past[0]["lastReconciledStatus"] == outcome:
            newest = {**past[0], "lastReconciled": at, "totalReconciliations": past[0]["totalReconciliations"] + 1}
            return [newest, *past[1:]]
        entry = {
            "digest": f"sha256:{self._cluster.names.hexadecimal(revision)}",
            "firstReconciled": at,
            "lastReconciled": at,
            "lastReconciledDuration": "2.013s",
            "lastReconciledStatus": outcome,
            "totalReconciliations": 1,
            "metadata": {"revision": revision},
        }
        return [entry, *past][:5]

    def _ready(self, obj: Object, status: str, reason: str, message: str) -> Object:
        def changed(live: Object) -> Object:
            at, generation = rfc3339(self._cluster.clock.now()), live["metadata"]["generation"]
            ready = condition("Ready", status, reason, message, at, generation)
            return {**live, "status": {**live.get("status", {}), "conditions": [ready]}}

        return self._cluster.change(obj, changed, self.manager, subresource="status")

    def _missing_dependency(self, obj: Object) -> str:
        namespace = obj["metadata"]["namespace"]
        for entry in obj["spec"].get("dependsOn") or ():
            place = entry.get("namespace", namespace)
            other = self._cluster.store.find("Kustomization", place, entry["name"])
            conditions = (other or {}).get("status", {}).get("conditions", ())
            if not any(found["type"] == "Ready" and found["status"] == "True" for found in conditions):
                return f"{place}/{entry['name']}"
        return ""

    def _broken(self, obj: Object) -> str:
        for deployment in self._deployments(obj):
            status = deployment.get("status", {})
            wanted = deployment["spec"].get("replicas", 1)
            behind = status.get("observedGeneration") != deployment["metadata"]["generation"]
            if behind or status.get("readyReplicas", 0) < wanted or status.get("updatedReplicas", 0) < wanted:
                return f"{deployment['metadata']['namespace']}/{deployment['metadata']['name']}"
        return ""

    def _deployments(self, obj: Object) -> list[Object]:
        name = obj["metadata"]["name"]
        return [
            deployment
            for deployment in self._cluster.store.all("Deployment")
            if (deployment["metadata"].get("labels") or {}).get("kustomize.toolkit.fluxcd.io/name") == name
        ]

    def _reason(self, obj: Object) -> _Seen:
        source = obj["spec"]["sourceRef"]
        place = source.get("namespace", obj["metadata"]["namespace"])
        there = self._cluster.store.find(source["kind"], place, source["name"]) or {}
        revision = there.get("status", {}).get("artifact", {}).get("revision", "")
        return _Seen(token_of(obj), obj["metadata"]["generation"], revision, self._cluster.clock.now())

    def _key(self, obj: Object) -> str:
        return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
