"""The simulated GitOps Reverser of a cluster: when a held Kustomization's branch moves, one recorded operation applies it.

It does what the real one does, in the same order: record, resume with a token, follow, suspend again, record the end.
"""

from __future__ import annotations

from datetime import datetime

from console.demo.clockwork import rfc3339
from console.demo.cluster import Cluster, condition
from console.demo.kube_store import Object
from console.demo.source_controller import REQUESTED_AT

_MANAGER = "gitops-reverser"
LEASE = ("gitops-reverser-system", "gitops-reverser")
HOLDER = "gitops-reverser-manager-0"
_LEASE_SECONDS = 15
_RENEW_SECONDS = 5.0


class ReverserController:
    """Runs the operations of FluxTriggers that hold their Kustomization, while it holds the Lease of its cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._renewed: datetime | None = None

    def step(self) -> None:
        """Go one step further with every trigger that has something to do."""
        self._renew()
        for trigger in self._cluster.store.all("FluxTrigger"):
            conditions = trigger.get("status", {}).get("conditions", ())
            held = any(entry["type"] == "Held" and entry["status"] == "True" for entry in conditions)
            place = trigger["spec"]["kustomizationRef"]
            applier = self._cluster.store.find("Kustomization", place["namespace"], place["name"])
            if held and applier is not None:
                self._go_on(trigger, applier)

    def _renew(self) -> None:
        now = self._cluster.clock.now()
        if self._renewed is None or (now - self._renewed).total_seconds() >= _RENEW_SECONDS:
            self._renewed = now
            lease = self._cluster.store.find("Lease", *LEASE)
            if lease is not None:
                renewed = {**lease, "spec": {**lease["spec"], "renewTime": micro_time(now)}}
                self._cluster.change(lease, lambda live: renewed, HOLDER)

    def _go_on(self, trigger: Object, applier: Object) -> None:
        record = trigger["status"].get("operation") or {}
        outcome = record.get("outcome", "Succeeded")
        status = applier.get("status", {})
        handled = status.get("lastHandledReconcileAt")
        if outcome in ("Succeeded", "Failed"):
            commit = self._head(applier)
            if commit and commit != record.get("commit") and applier["spec"].get("suspend"):
                self._begin(trigger, applier, commit)
        elif outcome == "Requested":
            self._resume(applier, record["token"])
            self._record(trigger, {**record, "outcome": "Running"}, held="Applying")
        elif outcome == "Running":
            if handled == record["token"]:
                token = f"{record['token']}-suspend"
                self._suspend(applier, token)
                self._record(trigger, {**record, "outcome": "Settling", "suspendToken": token}, held="Applying")
        elif outcome == "Settling" and handled == record.get("suspendToken"):
            applied = status.get("lastAppliedRevision", "")
            good = applied.endswith(record["commit"])
            end = {"outcome": "Succeeded" if good else "Failed", "appliedRevision": applied}
            end["completedAt"] = rfc3339(self._cluster.clock.now())
            self._record(trigger, {**record, **end}, held="Suspended")

    def _begin(self, trigger: Object, applier: Object, commit: str) -> None:
        now = rfc3339(self._cluster.clock.now())
        meta = applier["metadata"]
        record = {
            "token": f"{now}/{self._cluster.names.hexadecimal(f'{commit}/{now}', 8)}",
            "commit": commit,
            "reason": "ForeignCommit",
            "outcome": "Requested",
            "requestedAt": now,
            "applierUID": meta["uid"],
            "guardResourceVersion": meta["resourceVersion"],
            "guardGeneration": meta["generation"],
        }
        self._record(trigger, record, held="Applying")

    def _head(self, applier: Object) -> str:
        name = applier["spec"]["sourceRef"]["name"]
        source = self._cluster.store.find("GitRepository", applier["metadata"]["namespace"], name) or {}
        return str(source.get("status", {}).get("artifact", {}).get("revision", "")).rpartition(":")[2]

    def _resume(self, applier: Object, token: str) -> None:
        self._apply(applier, token, suspend=False)

    def _suspend(self, applier: Object, token: str) -> None:
        self._apply(applier, token, suspend=True)

    def _apply(self, applier: Object, token: str, *, suspend: bool) -> None:
        def configuration(live: Object) -> Object:
            meta = {key: live["metadata"][key] for key in ("name", "namespace")}
            meta["annotations"] = {REQUESTED_AT: token}
            return {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": meta, "spec": {"suspend": suspend}}

        self._cluster.change(applier, configuration, _MANAGER, apply=True)

    def _record(self, trigger: Object, record: Object, *, held: str) -> None:
        at, generation = rfc3339(self._cluster.clock.now()), trigger["metadata"]["generation"]
        message = "an operation has it resumed" if held == "Applying" else "the Kustomization is suspended and handled"
        conditions = [
            condition("Held", "True", held, message, at, generation)
            if entry["type"] == "Held" and entry["reason"] != held
            else entry
            for entry in trigger["status"]["conditions"]
        ]
        self._cluster.set_status(trigger, _MANAGER, operation=record, conditions=conditions)


def micro_time(now: datetime) -> str:
    """A time as Kubernetes' MicroTime: exactly six digits after the point."""
    return f"{now:%Y-%m-%dT%H:%M:%S.%f}Z"


def seed_lease(cluster: Cluster) -> None:
    """The Lease of a live engine, as it is when the world begins."""
    spec = {
        "holderIdentity": HOLDER,
        "leaseDurationSeconds": _LEASE_SECONDS,
        "renewTime": micro_time(cluster.clock.now()),
        "leaseTransitions": 3,
    }
    cluster.seed("Lease", *LEASE, spec=spec, manager=HOLDER, age=60 * 86400)
