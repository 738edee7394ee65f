"""Short words of the platforms, said plainly. What isn't here is shown as the platform says it.

Sources: condition reasons of the Flux API (``fluxcd/pkg/apis/meta`` and the controllers' own), of the trigger kinds
(dispatch.md 4.1), container waiting and termination reasons of the kubelet, task states of Swarm.
"""

from __future__ import annotations

import re

CONDITIONS = {
    "HealthCheckFailed": "a health check failed or took too long",
    "BuildFailed": "the manifests can't be built",
    "ArtifactFailed": "the source's artifact can't be fetched",
    "ReconciliationFailed": "the apply failed",
    "DependencyNotReady": "something that it depends on isn't ready",
    "PruneFailed": "what was removed from the source can't be deleted",
    "GitOperationFailed": "the Git repository can't be read",
    "AuthenticationFailed": "the credentials for the source are refused",
    "StorageOperationFailed": "the artifact can't be stored",
    "InstallFailed": "the chart can't be installed",
    "UpgradeFailed": "the upgrade of the chart failed",
    "RollbackSucceeded": "the upgrade failed and was rolled back",
    "RetriesExceeded": "it was tried as often as allowed",
    "Stalled": "it can't go on without a change",
    "Failed": "the check could not be completed",
    "ApplierNotFound": "the object that should apply does not exist",
    "UnsupportedSource": "its source is of a kind that can't be driven",
    "SourceMismatch": "it applies another repository or branch than the target writes",
    "AutomatedSyncEnabled": "automated sync is on, so the platform applies by itself",
    "Forbidden": "the credentials may not read or write it",
    "HeldByAnotherTrigger": "another trigger holds the same applier",
    "NotBound": "no target may drive it",
    "NotReferenced": "no target names it",
    "SuspendOwnedElsewhere": "somebody else owns its suspension",
    "NamespaceNotAuthorized": "its namespace is not admitted",
    "ClusterProviderNotFound": "its cluster provider is missing",
}
PODS = {
    "ImagePullBackOff": "can't pull an image",
    "ErrImagePull": "can't pull an image",
    "InvalidImageName": "name an image that can't exist",
    "CrashLoopBackOff": "keep crashing",
    "Error": "ended with an error",
    "OOMKilled": "ran out of memory",
    "Evicted": "were evicted by their node",
    "CreateContainerConfigError": "need a config or secret that isn't there",
    "CreateContainerError": "have a container that can't be created",
    "RunContainerError": "have a container that can't be started",
    "Pending": "wait for a node",
    "ContainerCreating": "are starting",
    "PodInitializing": "run their init containers",
    "Terminating": "are ending",
    "Unknown": "are on a node that doesn't answer",
}
TASKS = {
    "new": "is about to be placed",
    "allocated": "is about to be placed",
    "pending": "waits for a node",
    "assigned": "was given to a node",
    "accepted": "was accepted by its node",
    "preparing": "pulls its image",
    "ready": "is ready to start",
    "starting": "starts",
    "running": "runs",
    "complete": "is complete",
    "failed": "failed",
    "rejected": "was rejected by its node",
    "shutdown": "was shut down",
    "orphaned": "was lost with its node",
    "remove": "is being removed",
}
UPDATES = {
    "updating": "An update is being rolled out, a few tasks at a time.",
    "paused": "Its update stopped at a failing task and waits for a person.",
    "completed": "Its last update ran to the end.",
    "rollback_started": "Its update failed and is being taken back.",
    "rollback_paused": "Taking its update back failed as well; it must be repaired by hand.",
    "rollback_completed": "Its update failed and the earlier version is back in force.",
}
_NO_IMAGE = re.compile(r"No such image: (?P<image>\S+)")
_EXIT = re.compile(r"task: non-zero exit \((?P<code>\d+)\)")
_NO_NODE = re.compile(r"no suitable node \((?P<why>.+?)(?: on \d+ nodes?)?\)")


def task_error(error: str) -> str:
    """A Swarm task's error in plain words where it is a known one (stacks.md 6.4), else as the engine says it."""
    if match := _NO_IMAGE.search(error):
        return f"the image {match['image']} can't be found"
    if match := _EXIT.search(error):
        return f"the process ended with exit code {match['code']}"
    if match := _NO_NODE.search(error):
        return f"no node suits it: {match['why']}"
    return error
