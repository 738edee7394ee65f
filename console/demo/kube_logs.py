"""The ``log`` subresource of pods: tail, since, previous, timestamps and follow."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from console.demo.clockwork import parse_time, rfc3339_nano
from console.demo.http_server import Answer, Request, Stream
from console.demo.kube_status import Refusal, not_found
from console.demo.log_lines import LogSource

if TYPE_CHECKING:
    from console.demo.cluster import Cluster


def pod_log(cluster: Cluster, namespace: str, name: str, request: Request) -> Answer | Stream:
    """The log of one container of a pod. Raises 400 when it has not started or the container must be named."""
    pod = cluster.store.find("Pod", namespace, name)
    if pod is None:
        raise not_found(cluster.store.by_word["Pod"], name)
    names = [container["name"] for container in pod["spec"]["containers"]]
    wanted = request.first("container") or (names[0] if len(names) == 1 else "")
    if not wanted:
        wanted = pod["metadata"].get("annotations", {}).get("kubectl.kubernetes.io/default-container", "")
    if not wanted:
        raise Refusal(400, f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]")
    if wanted not in names:
        raise Refusal(400, f"container {wanted} is not valid for pod {name}")
    source = _source(pod, wanted, previous=request.flag("previous"))
    now = cluster.clock.now()
    timestamps = request.flag("timestamps")
    since: datetime | None = None
    if request.first("sinceTime"):
        since = parse_time(request.first("sinceTime"))
    elif request.first("sinceSeconds"):
        since = cluster.clock.ago(float(request.first("sinceSeconds")))
    tail = int(request.first("tailLines")) if request.first("tailLines") else None
    indices = list(source.range(now, tail=tail, since=since))
    headers = {"Content-Type": "text/plain"}
    if not request.flag("follow"):
        return Answer(body=b"".join(_line(source, index, timestamps) for index in indices), headers=headers)
    return Stream(chunks=_follow(cluster, pod, source, indices, timestamps), headers=headers)


def _source(pod: dict[str, Any], container: str, *, previous: bool) -> LogSource:
    meta = pod["metadata"]
    states = {status["name"]: status for status in pod.get("status", {}).get("containerStatuses", ())}
    status = states.get(container, {})
    word = f"{meta['uid']}/{container}"
    if previous:
        ended = status.get("lastState", {}).get("terminated")
        if not ended:
            raise Refusal(400, f'previous terminated container "{container}" in pod "{meta["name"]}" not found')
        started, finished = parse_time(ended["startedAt"]), parse_time(ended["finishedAt"])
        return LogSource(f"{word}/previous", started, 2.0, finished, f"FATAL exiting with code {ended['exitCode']}")
    state = status.get("state", {})
    if "running" in state:
        return LogSource(word, parse_time(state["running"]["startedAt"]))
    if "terminated" in state:
        ended = state["terminated"]
        return LogSource(word, parse_time(ended["startedAt"]), 2.0, parse_time(ended["finishedAt"]), "INFO done")
    waiting = state.get("waiting", {}).get("reason", "ContainerCreating")
    why = "trying and failing to pull image" if waiting in ("ImagePullBackOff", "ErrImagePull") else waiting
    raise Refusal(400, f'container "{container}" in pod "{meta["name"]}" is waiting to start: {why}')


def _line(source: LogSource, index: int, timestamps: bool) -> bytes:
    stamp = f"{rfc3339_nano(source.at(index))} " if timestamps else ""
    return f"{stamp}{source.text(index)}\n".encode()


async def _follow(
    cluster: Cluster, pod: dict[str, Any], source: LogSource, indices: list[int], timestamps: bool
) -> AsyncGenerator[bytes, None]:
    meta = pod["metadata"]
    sent = source.count(cluster.clock.now())
    if indices:
        yield b"".join(_line(source, index, timestamps) for index in indices)
    while True:
        there = cluster.store.find("Pod", meta["namespace"], meta["name"])
        if there is None or there["metadata"]["uid"] != meta["uid"] or source.ended is not None:
            return
        await cluster.ticked.wait()
        count = source.count(cluster.clock.now())
        for index in range(sent, count):
            yield _line(source, index, timestamps)
        sent = max(sent, count)
