"""Logs of containers, tasks and services of an engine."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import datetime
from typing import Any

from console.backends.following import follow, timed_line
from console.clients.docker import DockerClient
from console.errors import NotFound, NotServed
from console.model.kubernetes import LogLine, LogQuery
from console.model.refs import Ref

_FOLDERS = {"Container": "containers", "Task": "tasks", "SwarmService": "services"}
_TASK = "com.docker.swarm.task.id="


async def docker_log(
    client: DockerClient, ref: Ref, query: LogQuery, task_name: Callable[[str], str]
) -> AsyncGenerator[LogLine, None]:
    """Lines of one object.

    :param task_name: what a task is called, by its id; lines of a service say which task they are from.
    """
    folder = _FOLDERS.get(ref.kind)
    if folder is None:
        raise NotServed(f"{ref.kind} has no log.")
    identity = ref.uid or ref.name
    tty = False
    if folder == "containers":
        tty = bool(((await client.get(f"/containers/{identity}/json")).get("Config") or {}).get("Tty"))

    async def open_at(last: datetime | None) -> AsyncGenerator[LogLine, None]:
        params: dict[str, Any] = {"timestamps": True, "follow": query.follow, "tail": str(query.tail or "all")}
        if last is not None:
            params |= {"since": f"{last.timestamp():.6f}", "tail": "all"}
        elif query.since:
            params["since"] = str(int(time.time()) - query.since)
        if folder == "services":
            params["details"] = True
        async with aclosing(client.logs(f"/{folder}/{identity}/logs", params, tty=tty)) as lines:
            async for stream, text in lines:
                line = timed_line(text, stream)
                yield _with_origin(line, task_name) if folder == "services" else line

    async def goes_on() -> bool:
        if folder != "containers":
            try:
                await client.get(f"/{folder}/{identity}")
            except NotFound:
                return False
            return folder == "services"
        state = (await client.get(f"/containers/{identity}/json")).get("State") or {}
        return state.get("Status") in ("running", "restarting", "paused")

    async with aclosing(follow(open_at, endless=query.follow, goes_on=goes_on)) as lines:
        async for line in lines:
            yield line


def _with_origin(line: LogLine, task_name: Callable[[str], str]) -> LogLine:
    """Take the details that begin a service's line (``key=value,key=value``) off it and name the task they tell of."""
    details, space, text = line.text.partition(" ")
    if not space or _TASK not in details:
        return line
    identity = details.partition(_TASK)[2].partition(",")[0]
    return LogLine(text, line.at, task_name(identity), line.stream)
