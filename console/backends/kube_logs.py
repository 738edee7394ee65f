"""Logs of pods, and of what makes pods: those of all its pods at once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import datetime
from typing import Any

import msgspec

from console.backends.following import follow, timed_line
from console.backends.merging import merged
from console.clients.kubernetes import KubernetesClient
from console.errors import NotFound, NotServed
from console.model.kubernetes import LogLine, LogQuery

PODS_AT_MOST = 20
"""Pods of one workload that are read at once; each holds a connection open."""


class PodLog(msgspec.Struct, frozen=True):
    """One container's log."""

    namespace: str
    pod: str
    container: str
    origin: str = ""


def containers(pod: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of a pod's containers, those that initialise it last."""
    spec = pod.get("spec") or {}
    return tuple(str(entry.get("name", "")) for key in ("containers", "initContainers") for entry in spec.get(key) or ())


async def pods_of(client: KubernetesClient, namespace: str, workload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The pods that a workload's selector matches, as whole objects."""
    selector = (workload.get("spec") or {}).get("selector") or {}
    wanted = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for rule in selector.get("matchExpressions") or ():
        wanted.append(_requirement(rule))
    if not wanted:
        raise NotServed("It selects no pods.", "Choose one of its pods.")
    params: dict[str, str | int] = {"labelSelector": ",".join(wanted), "limit": PODS_AT_MOST}
    listed = await client.get(f"/api/v1/namespaces/{namespace}/pods", params)
    return list(listed.get("items") or ())


def _requirement(rule: Mapping[str, Any]) -> str:
    key, values = rule.get("key", ""), ",".join(rule.get("values") or ())
    match rule.get("operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
        case _:
            return str(key)


def sources(namespace: str, pods: list[dict[str, Any]], query: LogQuery) -> list[PodLog]:
    """Which logs are read for a query; lines say where they are from as far as that isn't clear."""
    found = []
    for pod in pods:
        name = str((pod.get("metadata") or {}).get("name", ""))
        declared = [str(entry.get("name", "")) for entry in (pod.get("spec") or {}).get("containers") or ()]
        chosen = [query.container] if query.container else declared
        for container in chosen:
            parts = ([name] if len(pods) > 1 else []) + ([container] if len(chosen) > 1 else [])
            found.append(PodLog(namespace, name, container, "/".join(parts)))
    return found


async def pod_logs(client: KubernetesClient, logs: list[PodLog], query: LogQuery) -> AsyncGenerator[LogLine, None]:
    """Lines of all these logs as they come."""
    async with aclosing(merged([_one(client, log, query) for log in logs])) as lines:
        async for line in lines:
            yield line


def _one(client: KubernetesClient, log: PodLog, query: LogQuery) -> AsyncGenerator[LogLine, None]:
    path = f"/api/v1/namespaces/{log.namespace}/pods/{log.pod}"

    async def open_at(last: datetime | None) -> AsyncGenerator[LogLine, None]:
        params: dict[str, Any] = {"container": log.container, "timestamps": True}
        if query.previous:
            params["previous"] = True
        elif query.follow:
            params["follow"] = True
        if last is not None:
            params["sinceTime"] = last.strftime("%Y-%m-%dT%H:%M:%SZ")
        else:
            params |= {"tailLines": query.tail} if query.tail else {}
            params |= {"sinceSeconds": query.since} if query.since else {}
        async with aclosing(client.logs(f"{path}/log", params)) as lines:
            async for line in lines:
                yield timed_line(line, origin=log.origin)

    async def goes_on() -> bool:
        try:
            status = (await client.get(path)).get("status") or {}
        except NotFound:
            return False
        return status.get("phase") in ("Pending", "Running")

    return follow(open_at, endless=query.follow and not query.previous, goes_on=goes_on, origin=log.origin)
