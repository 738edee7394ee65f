"""One simulated cluster: its objects, its clock, who may ask, and the controllers that move it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from console.demo import kube_owners
from console.demo.clockwork import Bell, Names, WorldClock, rfc3339
from console.demo.kube_kinds import Kind
from console.demo.kube_owners import Write
from console.demo.kube_store import KubeStore, Object
from console.demo.kube_writes import with_generation

_MOST_EVENTS = 300


class Controller(Protocol):
    """Something in the cluster that acts by itself."""

    def step(self) -> None:
        """Look at the cluster as it is now and do what is due."""
        ...


class Cluster:
    """A cluster named ``name``; ``ticked`` rings whenever time has passed."""

    def __init__(self, name: str, kinds: Iterable[Kind], clock: WorldClock, seed: int, version: str) -> None:
        self.name = name
        self.clock = clock
        self.names = Names(seed, name)
        self.store = KubeStore(kinds, clock, self.names)
        self.ticked = Bell()
        self.token = f"demo-{self.names.hexadecimal('token', 24)}"
        self.user = "operator"
        self.controllers: list[Controller] = []
        major, minor, _ = version.split(".")
        self.version = {"major": major, "minor": minor, "gitVersion": f"v{version}", "platform": "linux/amd64"}

    @property
    def uid(self) -> str:
        """The uid of the kube-system namespace: the cluster's identity."""
        namespace = self.store.find("Namespace", "", "kube-system")
        return str(namespace["metadata"]["uid"]) if namespace else ""

    def step(self) -> None:
        """Let the controllers act; the clock has been advanced before."""
        for controller in self.controllers:
            controller.step()
        self.ticked.ring()

    def seed(
        self,
        word: str,
        namespace: str,
        name: str,
        *,
        spec: Object | None = None,
        status: Object | None = None,
        manager: str = "kustomize-controller",
        age: float = 86400.0,
        labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
        owner: Object | None = None,
        finalizers: list[str] | None = None,
        more: Object | None = None,
    ) -> Object:
        """Put an object as if ``manager`` had applied it ``age`` seconds ago, with a status if it has one."""
        kind = self.store.by_word[word]
        at = rfc3339(self.clock.ago(age))
        meta: Object = {"name": name, "creationTimestamp": at}
        for key, value in (
            ("namespace", namespace),
            ("labels", labels),
            ("annotations", annotations),
            ("finalizers", finalizers),
        ):
            if value:
                meta[key] = value
        if owner is not None:
            meta["ownerReferences"] = [owner_reference(owner)]
        obj: Object = {"apiVersion": kind.api_version, "kind": word, "metadata": meta, **(more or {})}
        if spec is not None:
            obj["spec"] = spec
        applied = kube_owners.apply(None, obj, Write(manager=manager, version=kind.api_version, at=at), force=True)
        if status is not None:
            write = Write(
                manager=_status_writer(kind), version=kind.api_version, at=at, subresource="status" if kind.status else ""
            )
            applied = kube_owners.update(applied, {**applied, "status": status}, write)
        return self.store.put(kind, applied)

    def change(
        self, obj: Object, change: Callable[[Object], Object], manager: str, *, subresource: str = "", apply: bool = False
    ) -> Object:
        """Write a new version of an object as a controller does; nothing is written when nothing changes.

        :param change: makes the new object (or with ``apply`` the applied configuration) from the present one.
        """
        meta = obj["metadata"]
        kind = self.store.by_word[obj["kind"]]
        live = self.store.get(kind, meta.get("namespace", ""), meta["name"])
        if live is None:
            return obj
        write = Write(
            manager=manager,
            version=kind.api_version,
            at=rfc3339(self.clock.now()),
            subresource=subresource if kind.status else "",
        )
        if apply:
            after = kube_owners.apply(live, change(live), write, force=True)
        else:
            new = change(live)
            after = live if new == live else kube_owners.update(live, new, write)
        return live if after is live else self.store.put(kind, with_generation(kind, live, after))

    def set_status(self, obj: Object, manager: str, **fields: Any) -> Object:
        """Write fields of an object's status; None removes one."""

        def changed(live: Object) -> Object:
            status = {**live.get("status", {}), **fields}
            return {**live, "status": {key: value for key, value in status.items() if value is not None}}

        return self.change(obj, changed, manager, subresource="status")

    def event(self, about: Object, reason: str, message: str, *, warning: bool = False, source: str, age: float = 0.0) -> None:
        """Record an Event about an object; the same one again raises its count."""
        meta = about["metadata"]
        at = rfc3339(self.clock.ago(age))
        namespace = meta.get("namespace", "default")
        digest = self.names.hexadecimal(f"{meta['uid']}/{reason}/{message}", 16)
        name = f"{meta['name']}.{digest}"
        kind = self.store.by_word["Event"]
        there = self.store.get(kind, namespace, name)
        first = there["firstTimestamp"] if there else at
        if there is None and self.store.count("Event") >= _MOST_EVENTS:
            oldest = min(self.store.all("Event"), key=lambda event: str(event["lastTimestamp"]))["metadata"]
            self.store.remove(kind, oldest["namespace"], oldest["name"])
        self.store.put(
            kind,
            {
                "metadata": {**(there["metadata"] if there else {"name": name, "namespace": namespace})},
                "involvedObject": {
                    "kind": about["kind"],
                    "namespace": meta.get("namespace", ""),
                    "name": meta["name"],
                    "uid": meta["uid"],
                    "apiVersion": about["apiVersion"],
                    "resourceVersion": meta["resourceVersion"],
                },
                "reason": reason,
                "message": message,
                "type": "Warning" if warning else "Normal",
                "source": {"component": source},
                "reportingComponent": source,
                "firstTimestamp": first,
                "lastTimestamp": at,
                "count": (there["count"] if there else 0) + 1,
            },
        )


def owner_reference(owner: Object) -> Object:
    """The reference to the controller that made an object."""
    meta = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def condition(type_: str, status: str, reason: str, message: str, at: str, generation: int = 1) -> Object:
    """A condition as custom resources carry it."""
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": at,
        "observedGeneration": generation,
    }


def _status_writer(kind: Kind) -> str:
    return {
        "kustomize.toolkit.fluxcd.io": "gotk-kustomize-controller",
        "source.toolkit.fluxcd.io": "gotk-source-controller",
        "helm.toolkit.fluxcd.io": "gotk-helm-controller",
        "argoproj.io": "argocd-application-controller",
        "configbutler.ai": "gitops-reverser",
    }.get(kind.group, "kube-controller-manager")
