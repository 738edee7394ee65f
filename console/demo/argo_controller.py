"""The simulated Argo CD application controller.

Facts kept: an operation is copied whole into ``operationState`` when it starts; completion writes the state and removes
``.operation`` in one patch without a resourceVersion; an unfinished state is resumed with its own operation; Terminating ends
as Failed; a refresh annotation is taken away when the comparison is done; every write raises the generation.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from console.demo import collecting
from console.demo.clockwork import rfc3339
from console.demo.cluster import Cluster
from console.demo.kube_store import Object
from console.demo.repositories import Manifests
from console.demo.seed_argo import APPLICATIONS, head

REFRESH = "argocd.argoproj.io/refresh"
_REFRESH_SECONDS = 1.0
_SYNC_SECONDS = 3.0
_SETTLE_SECONDS = 4.0
_BROKEN = {entry.name: entry.phase_message for entry in APPLICATIONS if entry.phase == "Failed"}


class ArgoController:
    """Compares and syncs Applications. :attr:`heads` is what their branches hold, by Application."""

    manager = "argocd-application-controller"

    def __init__(self, cluster: Cluster, manifests: Manifests) -> None:
        self._cluster = cluster
        self._manifests = manifests
        self.heads = {
            name: head(cluster, name) for name in (app["metadata"]["name"] for app in cluster.store.all("Application"))
        }
        self._refreshing: dict[str, datetime] = {}
        self._syncing: dict[str, datetime] = {}
        self._settling: dict[str, datetime] = {}

    def step(self) -> None:
        """Refresh, start and end operations."""
        now = self._cluster.clock.now()
        for app in self._cluster.store.all("Application"):
            name = app["metadata"]["name"]
            if app["metadata"].get("deletionTimestamp"):
                collecting.finish(self._cluster, app, collecting.ARGO_FINALIZER, collecting.managed(app), self.manager)
                continue
            if self._passed(self._settling, name, _SETTLE_SECONDS, now):
                app = self._write(app, lambda live: _with_status(live, health={"status": "Healthy"}))
            app = self._refresh(app, now)
            self._operate(app, now)

    def _refresh(self, app: Object, now: datetime) -> Object:
        name, annotations = app["metadata"]["name"], app["metadata"].get("annotations") or {}
        sync = app.get("status", {}).get("sync", {})
        moved = self.heads.get(name) not in (None, sync.get("revision")) and sync.get("status") != "Unknown"
        if REFRESH in annotations or moved:
            self._refreshing.setdefault(name, now)
        if not self._passed(self._refreshing, name, _REFRESH_SECONDS, now):
            return app
        return self._write(app, lambda live: self._compared(live, moved))

    def _compared(self, live: Object, moved: bool) -> Object:
        meta = dict(live["metadata"])
        annotations = {key: value for key, value in (meta.pop("annotations", None) or {}).items() if key != REFRESH}
        if annotations:
            meta["annotations"] = annotations
        sync = dict(live.get("status", {}).get("sync", {}))
        if moved:
            sync |= {"revision": self.heads[meta["name"]], "status": "OutOfSync"}
        return _with_status({**live, "metadata": meta}, sync=sync, reconciledAt=rfc3339(self._cluster.clock.now()))

    def _operate(self, app: Object, now: datetime) -> None:
        name = app["metadata"]["name"]
        state = app.get("status", {}).get("operationState") or {}
        if state.get("phase") == "Terminating":
            self._syncing.pop(name, None)
            self._write(app, lambda live: self._completed(live, "Failed", "Operation terminated"))
        elif name in self._syncing:
            if self._passed(self._syncing, name, _SYNC_SECONDS, now):
                self._end(app)
        elif app.get("operation") is not None:
            self._syncing[name] = now
            self._write(app, self._started)
        elif _automated(app) and app.get("status", {}).get("sync", {}).get("status") == "OutOfSync":
            operation = {
                "sync": {"revision": self.heads[name], "prune": True},
                "initiatedBy": {"automated": True},
                "retry": {"limit": 5},
            }
            self._write(app, lambda live: {**live, "operation": operation})

    def _started(self, live: Object) -> Object:
        state = live.get("status", {}).get("operationState") or {}
        if state.get("phase") == "Running":
            return live
        fresh = {
            "operation": live["operation"],
            "phase": "Running",
            "startedAt": rfc3339(self._cluster.clock.now()),
            "message": "waiting for healthy state of apps/Deployment",
            "syncResult": {
                "revision": (live["operation"].get("sync") or {}).get("revision") or "",
                "source": _source(live),
                "resources": _results(live, "Running"),
            },
        }
        return _with_status(live, operationState=fresh)

    def _end(self, app: Object) -> None:
        name = app["metadata"]["name"]
        if name in _BROKEN:
            app = self._write(app, lambda live: self._completed(live, "Failed", _BROKEN[name]))
        else:
            app = self._write(app, lambda live: self._completed(live, "Succeeded", "successfully synced (all tasks run)"))
            self._settling[name] = self._cluster.clock.now()
        state = app["status"]["operationState"]
        revision = state["syncResult"]["revision"]
        if state["phase"] == "Succeeded":
            self._manifests.apply("Application", name, revision, "argocd-controller")
        text = f"Sync operation to {revision}: {state['message']}"
        self._cluster.event(app, "OperationCompleted", text, warning=state["phase"] != "Succeeded", source=self.manager)

    def _completed(self, live: Object, phase: str, message: str) -> Object:
        now = rfc3339(self._cluster.clock.now())
        status = live.get("status", {})
        state = status.get("operationState") or {"operation": live.get("operation", {}), "startedAt": now}
        wanted = (state["operation"].get("sync") or {}).get("revision") or ""
        revision = wanted if len(wanted) == 40 else self.heads.get(live["metadata"]["name"], wanted)
        source = _source(live)
        result = {"revision": revision, "source": source, "resources": _results(live, phase)}
        state = {**state, "phase": phase, "message": message, "finishedAt": now, "syncResult": result}
        fields: Object = {"operationState": state}
        if phase == "Succeeded":
            history = list(status.get("history") or ())
            fields["history"] = [
                *history[-9:],
                {
                    "id": (history[-1]["id"] + 1) if history else 0,
                    "revision": revision,
                    "deployStartedAt": state["startedAt"],
                    "deployedAt": now,
                    "initiatedBy": state["operation"].get("initiatedBy", {}),
                    "source": source,
                },
            ]
            current = revision == self.heads.get(live["metadata"]["name"])
            synced = "Synced" if current else "OutOfSync"
            fields["sync"] = {**status.get("sync", {}), "status": synced}
            fields["resources"] = [{**entry, "status": synced} for entry in status.get("resources") or ()]
            fields["health"] = {"status": "Progressing", "lastTransitionTime": now}
        done = _with_status(live, **fields)
        done.pop("operation", None)
        return done

    def _write(self, app: Object, change: Callable[[Object], Object]) -> Object:
        return self._cluster.change(app, change, self.manager)

    def _passed(self, since: dict[str, datetime], name: str, seconds: float, now: datetime) -> bool:
        if name not in since or (now - since[name]).total_seconds() < seconds:
            return False
        del since[name]
        return True


def _with_status(live: Object, **fields: object) -> Object:
    return {**live, "status": {**live.get("status", {}), **fields}}


def _source(live: Object) -> Object:
    found: Object = live["spec"].get("source") or (live["spec"].get("sources") or [{}])[0]
    return found


def _results(live: Object, phase: str) -> list[Object]:
    """What a sync tells of its objects: workloads are waited for, the rest is done as soon as it is applied."""
    results = []
    for entry in live.get("status", {}).get("resources") or ():
        waits = entry["kind"] == "Deployment"
        failed = waits and phase == "Failed"
        results.append(
            {
                **{key: entry[key] for key in ("group", "version", "kind", "namespace", "name") if key in entry},
                "status": "SyncFailed" if failed else "Synced",
                "message": "" if failed else f"{entry['kind'].lower()} {entry['name']} configured",
                "syncPhase": "Sync",
                "hookPhase": phase if waits else "Succeeded",
            }
        )
    return results


def _automated(app: Object) -> bool:
    automated = (app["spec"].get("syncPolicy") or {}).get("automated")
    return automated is not None and automated.get("enabled", True)
