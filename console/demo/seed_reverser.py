"""The GitOps Reverser resources of both clusters when the world begins: providers, targets, triggers and their records."""

from __future__ import annotations

from console.demo.clockwork import rfc3339
from console.demo.cluster import Cluster, condition
from console.demo.kube_store import Object

_GROUP = "configbutler.ai"
_WELL = (("Ready", "True", "Succeeded", "all checks passed"),)


def seed_reverser(cluster: Cluster, providers: tuple[tuple[str, str], ...]) -> None:
    """The one ClusterProvider, and for each of ``providers`` (namespace, repository) a GitProvider called as the repository."""
    namespaces = dict.fromkeys(namespace for namespace, _ in providers)
    cluster.seed(
        "ClusterProvider",
        "",
        "default",
        spec={"allowedNamespaces": {"names": [*namespaces], "selector": {"matchLabels": {"gitops": "allowed"}}}, "qps": 20},
        status=_status(cluster, ("Validated", "True", "Succeeded", "the cluster answers"), *_WELL),
        age=60 * 86400,
    )
    for namespace, repository in providers:
        cluster.seed(
            "GitProvider",
            namespace,
            repository.rpartition("/")[2],
            spec={
                "url": f"https://git.example.test/{repository}.git",
                "allowedBranches": ["main", "release"],
                "secretRef": {"kind": "Secret", "name": "git-credentials"},
                "push": {"commitWindow": "5s"},
            },
            status=_status(cluster, *_WELL),
            age=60 * 86400,
        )


def seed_target(
    cluster: Cluster,
    namespace: str,
    name: str,
    branch: str,
    path: str,
    trigger: tuple[str, str],
    ready: tuple[str, str, str],
    provider: str = "",
) -> None:
    """A GitTarget that names a trigger and writes through ``provider`` (by default the one of its own name).

    ``ready`` is the status, reason and message of ``ApplyTriggerReady``.
    """
    cluster.seed(
        "GitTarget",
        namespace,
        name,
        spec={
            "providerRef": {"group": _GROUP, "kind": "GitProvider", "name": provider or name},
            "branch": branch,
            "path": path,
            "clusterProviderRef": {"group": _GROUP, "kind": "ClusterProvider", "name": "default"},
            "applyTriggerRef": {"group": _GROUP, "kind": trigger[0], "name": trigger[1]},
            "revertRefusedEdits": ready[0] == "True",
        },
        status=_status(
            cluster,
            *_WELL,
            ("GitProviderReady", "True", "Succeeded", "the provider is ready"),
            ("StreamsRunning", "True", "Succeeded", "3 of 3 streams run"),
            ("ApplyTriggerReady", *ready),
        ),
        age=50 * 86400,
    )


def seed_trigger(
    cluster: Cluster,
    word: str,
    namespace: str,
    name: str,
    applier: tuple[str, str],
    source: Object,
    conditions: tuple[tuple[str, str, str, str], ...],
    operation: Object | None = None,
) -> Object:
    """A FluxTrigger or ArgoCDTrigger on an applier (namespace, name), with its source, conditions and last record."""
    field = "kustomizationRef" if word == "FluxTrigger" else "applicationRef"
    held = any(entry[0] == "Held" and entry[1] == "True" for entry in conditions)
    status = _status(cluster, *conditions)
    status["source"] = source
    status["repairPending"] = False
    if operation:
        status["operation"] = operation
    return cluster.seed(
        word,
        namespace,
        name,
        spec={
            "clusterProviderRef": {"group": _GROUP, "kind": "ClusterProvider", "name": "default"},
            field: {"namespace": applier[0], "name": applier[1]},
        },
        status=status,
        age=50 * 86400,
        finalizers=["configbutler.ai/kustomization-hold"] if held else None,
    )


def record(
    cluster: Cluster, commit: str, reason: str, outcome: str, *, age: float, took: float = 0.0, message: str = "", **more: str
) -> Object:
    """An ApplyOperation as the status writer leaves it."""
    made: Object = {
        "token": f"{rfc3339(cluster.clock.ago(age))}/{cluster.names.hexadecimal(f'{commit}/{age}', 8)}",
        "commit": commit,
        "reason": reason,
        "outcome": outcome,
        "requestedAt": rfc3339(cluster.clock.ago(age)),
        **more,
    }
    if took:
        made["completedAt"] = rfc3339(cluster.clock.ago(age - took))
    if message:
        made["message"] = message
    return made


def _status(cluster: Cluster, *conditions: tuple[str, str, str, str]) -> Object:
    at = rfc3339(cluster.clock.ago(3600))
    return {"observedGeneration": 1, "conditions": [condition(*entry, at) for entry in conditions]}
