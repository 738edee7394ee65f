"""Appliers on real controllers, driven by a real account: what a console is given, and what everybody else does meanwhile.

A :class:`Shop` is a Kustomization that the real kustomize-controller applies from what the real source-controller fetches, an
:class:`App` an Application of a real Argo CD. Each lies in a namespace of its own on servers that the whole run shares.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

import yaml

from tests.real import fleet
from tests.real.argocd import NAMESPACE, ArgoLab
from tests.real.flux import FluxLab
from tests.real.git import GitServer
from tests.real.kube import KubeServer
from tests.real.kube_client import Object
from tests.real.processes import wait_until
from tests.real.source_controller import FETCHED

REQUESTED_AT = "reconcile.fluxcd.io/requestedAt"
LONG = 90.0
"""Seconds that anything may take on a busy machine."""


def account(
    folder: Path,
    servers: dict[str, tuple[KubeServer, str]],
    triggers: list[Object],
    *,
    namespaces: tuple[str, ...],
    protected: bool = False,
) -> dict[str, str]:
    """The environment of an account in ``folder`` that knows servers (name -> server, user) and declares triggers."""
    config = folder / "config"
    config.mkdir(parents=True, exist_ok=True)
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": name, "cluster": {"server": kube.url, "certificate-authority": str(kube.authority)}}
            for name, (kube, _) in servers.items()
        ],
        "users": [{"name": name, "user": {"token": kube.token(user)}} for name, (kube, user) in servers.items()],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in servers],
    }
    kubeconfig = folder / "kubeconfig"
    kubeconfig.touch(0o600)
    kubeconfig.write_text(yaml.safe_dump(document))
    listed = {
        "discover": "listed",
        "connections": [
            {"name": name, "kubernetes": name, "namespaces": list(namespaces), "protected": protected} for name in servers
        ],
        "triggers": triggers,
    }
    (config / "fleet.yaml").write_text(yaml.safe_dump(listed))
    (config / "config.toml").write_text('[start]\nview = "triggers"\n')
    return {
        "HOME": str(folder),
        "QUARTERDECK_CONFIG_DIR": str(config),
        "QUARTERDECK_STATE_DIR": str(folder / "state"),
        "KUBECONFIG": str(kubeconfig),
        "DOCKER_CONFIG": str(folder / "no-docker"),
        "PATH": os.environ["PATH"],
    }


class Shop:
    """The Kustomization `shop` of a namespace of its own, on a GitRepository that is fetched only when somebody asks."""

    connection = "flux"

    def __init__(self, lab: FluxLab, git: GitServer) -> None:
        self.lab = lab
        self.git = git
        self.kube = lab.kube.client
        self.namespace = lab.kube.namespace()
        self.path = f"{self.namespace}/shop"
        self.repository = f"keys-{secrets.token_hex(4)}"
        self.url = git.url(self.repository)
        self._there = {"apiVersion": fleet.FLUX_KUSTOMIZE, "kind": "Kustomization", "metadata": self._meta}
        self._web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": self.namespace, "name": "web"}}
        self._fed = {"apiVersion": fleet.FLUX_SOURCE, "kind": "GitRepository", "metadata": self._meta}

    @property
    def _meta(self) -> Object:
        return {"namespace": self.namespace, "name": "shop"}

    def account(self, folder: Path, *, user: str = "admin", protected: bool = False, **declared: Any) -> dict[str, str]:
        """An account that declares it as the trigger `shop` and may hold it."""
        entry = {
            "name": "shop",
            "connection": self.connection,
            "kind": "flux",
            "namespace": self.namespace,
            "object": "shop",
            "url": self.url,
            "branch": "main",
            "hold": True,
            **declared,
        }
        servers = {self.connection: (self.lab.kube, user)}
        return account(folder, servers, [entry], namespaces=(self.namespace,), protected=protected)

    @property
    def manifest(self) -> Object:
        """The Kustomization as its team writes it."""
        return _bare(fleet.kustomization(self.namespace))

    def begin(self) -> str:
        """The first commit, fetched and applied."""
        commit = self.push()
        source = fleet.git_repository(self.namespace, "shop")
        source["metadata"]["labels"] = FETCHED
        source["spec"] |= {"url": self.url, "ref": {"branch": "main"}, "interval": "1h"}
        self.kube.apply(_bare(source))
        self.until_fetched(commit)
        self.kube.apply(self.manifest)
        self.lab.wait_applied(self.namespace, "shop", commit, LONG)
        return commit

    def push(self, **files: str) -> str:
        """A new commit that writes itself into the ConfigMap `paint`; ``files`` come beside it (name -> text)."""
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "paint", "namespace": self.namespace}}
        texts = {"paint": yaml.safe_dump({**body, "data": {"mark": _mark()}}), **files}
        return self.git.commit(self.repository, {f"shop/{name}.yaml": text for name, text in texts.items()})

    def deployment(self) -> str:
        """The manifest of a Deployment, which stays unhealthy until `deployment_is` says more: nothing here runs it."""
        labels = {"app": "web"}
        pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "example.test/web:1"}]}}
        return yaml.safe_dump({**self._web, "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod}})

    def deployment_is(self, *, healthy: bool) -> None:
        """The Deployment becomes available, or its progress stalls."""
        wait_until(lambda: self.kube.find("apps/v1", "Deployment", self.namespace, "web"), "the Deployment is there", LONG)
        generation = self.kube.get("apps/v1", "Deployment", self.namespace, "web")["metadata"]["generation"]
        counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 1) if healthy else {}
        progress = ("True", "NewReplicaSetAvailable") if healthy else ("False", "ProgressDeadlineExceeded")
        conditions = [{"type": "Progressing", "status": progress[0], "reason": progress[1]}]
        conditions += [{"type": "Available", "status": "True" if healthy else "False"}]
        self.kube.set_status({**self._web, "status": {"observedGeneration": generation, "conditions": conditions, **counts}})

    def fetch(self, commit: str) -> str:
        """Somebody has the source fetch, which then holds ``commit``."""
        self.patch_source({"metadata": {"annotations": {REQUESTED_AT: secrets.token_hex(8)}}}, manager="flux")
        self.until_fetched(commit)
        return commit

    def until_fetched(self, commit: str) -> None:
        """Wait until the source's artifact is this commit."""
        wait_until(lambda: str(_at(self.source(), "status", "artifact", "revision")).endswith(commit), "fetched", LONG)

    def read(self) -> Object:
        """The Kustomization as it is now."""
        return self.kube.get(fleet.FLUX_KUSTOMIZE, "Kustomization", self.namespace, "shop")

    def source(self) -> Object:
        """The GitRepository as it is now."""
        return self.kube.get(fleet.FLUX_SOURCE, "GitRepository", self.namespace, "shop")

    @property
    def suspended(self) -> bool:
        """Whether it is suspended, by whomever."""
        return _at(self.read(), "spec", "suspend") is True

    @property
    def at_rest(self) -> bool:
        """Whether it is suspended and the controller has handled all that was asked."""
        found = self.read()
        asked = _at(found, "metadata", "annotations", REQUESTED_AT)
        return _at(found, "spec", "suspend") is True and asked == _at(found, "status", "lastHandledReconcileAt")

    @property
    def applied(self) -> str:
        """The commit that was applied last."""
        return str(_at(self.read(), "status", "lastAppliedRevision")).rpartition(":")[2]

    def owners(self) -> set[str]:
        """The field managers of ``spec.suspend``."""
        entries = self.read()["metadata"]["managedFields"]
        return {entry["manager"] for entry in entries if "f:suspend" in entry.get("fieldsV1", {}).get("f:spec", {})}

    def patch(self, patch: Object, manager: str = "kubectl-edit") -> None:
        """Somebody changes the Kustomization."""
        self.kube.merge(self._there, patch, manager)

    def patch_source(self, patch: Object, manager: str = "kubectl-edit") -> None:
        """Somebody changes the GitRepository."""
        self.kube.merge(self._fed, patch, manager)

    def parent_sets(self, **spec: Any) -> None:
        """A parent Kustomization whose manifest of this one has these fields is applied."""
        self.kube.apply({**self._there, "spec": spec}, "kustomize-controller")

    def settles(self) -> None:
        """Wait until it is held with nothing under way."""
        wait_until(lambda: self.at_rest, "held again", LONG)

    def delete(self) -> None:
        """It is deleted, and its finalizer is taken away: no controller collects anything."""
        self.kube.delete(self._there)
        self.patch({"metadata": {"finalizers": None}})
        wait_until(lambda: self.kube.find(fleet.FLUX_KUSTOMIZE, "Kustomization", self.namespace, "shop") is None, "gone", LONG)


class App:
    """An Application of its own, with a repository and a namespace to apply to; automated sync is off."""

    connection = "argo"
    gate = "gate"

    def __init__(self, lab: ArgoLab, git: GitServer) -> None:
        self.lab = lab
        self.git = git
        self.kube = lab.kube.client
        self.name = f"wallet-{secrets.token_hex(4)}"
        self.path = f"{NAMESPACE}/{self.name}"
        self.namespace = lab.kube.namespace()
        self.url = git.url(self.name)
        self._there: Object = {
            "apiVersion": fleet.ARGO,
            "kind": "Application",
            "metadata": {"namespace": NAMESPACE, "name": self.name},
        }

    def account(self, folder: Path, *, user: str = "admin", protected: bool = False, **declared: Any) -> dict[str, str]:
        """An account that declares it as the trigger `wallet`."""
        entry = {
            "name": "wallet",
            "connection": self.connection,
            "kind": "argocd",
            "namespace": NAMESPACE,
            "object": self.name,
            "url": self.url,
            "branch": "main",
            **declared,
        }
        servers = {self.connection: (self.lab.kube, user)}
        return account(folder, servers, [entry], namespaces=(NAMESPACE, self.namespace), protected=protected)

    def begin(self, **spec: Any) -> str:
        """The first commit, compared and not applied."""
        commit = self.push()
        source = {"repoURL": self.url, "targetRevision": "main", "path": "deploy"}
        destination = {"server": "https://kubernetes.default.svc", "namespace": self.namespace}
        self.kube.apply({**self._there, "spec": {"project": "default", "source": source, "destination": destination, **spec}})
        wait_until(lambda: _at(self.read(), "status", "sync", "revision") == commit, "compared", LONG)
        return commit

    def push(self, *, broken: bool = False, slow: bool = False) -> str:
        """A new commit on the branch: one that the API server refuses, or one that waits for `let_go`."""
        paint = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "paint"}, "data": {"mark": _mark()}}
        wrong = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "No_Such_Name"}}
        hook = {"name": self.gate, "annotations": {"argocd.argoproj.io/hook": "PreSync"}}
        container = {"name": "one", "image": "example.test/nothing"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": hook, "spec": {"containers": [container]}}
        files = {
            "deploy/paint.yaml": yaml.safe_dump(paint),
            "deploy/wrong.yaml": yaml.safe_dump(wrong) if broken else "",
            "deploy/gate.yaml": yaml.safe_dump(pod) if slow else "",
        }
        return self.git.commit(self.name, files)

    def compare(self, commit: str) -> str:
        """Somebody has Argo CD look at the branch, which is at ``commit`` then."""
        self.patch({"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}})
        wait_until(lambda: _at(self.read(), "status", "sync", "revision") == commit, "compared", LONG)
        return commit

    def read(self) -> Object:
        """The Application as it is now."""
        return self.lab.application(self.name)

    @property
    def state(self) -> Object:
        """What Argo CD says of the last operation that it began."""
        return _at(self.read(), "status", "operationState") or {}

    def patch(self, patch: Object, manager: str = "argocd-server") -> None:
        """Somebody changes the Application."""
        self.kube.merge(self._there, patch, manager)

    def user_syncs(self, commit: str) -> None:
        """Jane starts a sync as Argo CD's API server does, and it runs."""
        operation = {"sync": {"revision": commit}, "initiatedBy": {"username": "jane"}}
        self.patch({"operation": operation, "status": {"operationState": None}})
        wait_until(lambda: self.state.get("phase") == "Running", "jane's sync runs", LONG)

    @property
    def waits_at_gate(self) -> bool:
        """Whether a slow commit has come to its gate."""
        pod = self.kube.find("v1", "Pod", self.namespace, self.gate)
        return pod is not None and "deletionTimestamp" not in pod["metadata"]

    def let_go(self) -> None:
        """Have the gate of a slow commit end well."""
        wait_until(lambda: self.waits_at_gate, "the gate is there", LONG)
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": self.gate, "namespace": self.namespace}}
        self.kube.set_status({**body, "status": {"phase": "Succeeded"}})

    @property
    def painted(self) -> bool:
        """Whether anything of the repository was applied."""
        return self.kube.find("v1", "ConfigMap", self.namespace, "paint") is not None

    def delete(self) -> None:
        """It is deleted; what it applied stays."""
        self.kube.delete(self._there)
        wait_until(lambda: self.kube.find(fleet.ARGO, "Application", NAMESPACE, self.name) is None, "gone", LONG)


def _mark() -> str:
    # The letters first: of hex digits alone some, such as 52424e31, are numbers in YAML.
    return f"mark-{secrets.token_hex(4)}"


def _bare(body: Object) -> Object:
    return {key: value for key, value in body.items() if key != "status"}


def _at(body: Object, *keys: str) -> Any:
    found: Any = body
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found
