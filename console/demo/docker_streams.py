"""The endless answers of the simulated Docker Engine: events, logs in frames, and samples of CPU and memory."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any

import msgspec

from console.demo.clockwork import parse_time, rfc3339_nano
from console.demo.docker_errors import EngineRefusal
from console.demo.engine import NEVER, Engine
from console.demo.http_server import Request, Stream
from console.demo.log_lines import LogSource

Object = dict[str, Any]


def events(engine: Engine, request: Request) -> Stream:
    """``GET /events``: those since a time, then (without ``until``) new ones for ever."""
    # What can be refused is refused here: once the stream began there is no status left to say it with.
    chosen = decode_filters(request)
    since, until = (_epoch(engine, text) if (text := request.first(name)) else None for name in ("since", "until"))
    return Stream(chunks=_events(engine, chosen, since, until), headers={"Content-Type": "application/json"})


async def _events(
    engine: Engine, chosen: dict[str, list[str]], since: float | None, until: float | None
) -> AsyncGenerator[bytes, None]:
    log = engine.events
    seen = log.count
    if since is not None or until is not None:
        for event in log.between(since or 0.0, until):
            if _wanted(event, chosen):
                yield msgspec.json.encode(event) + b"\n"
    if until is not None and until <= engine.clock.now().timestamp():
        return
    while True:
        for event in log.after(seen):
            if _wanted(event, chosen):
                yield msgspec.json.encode(event) + b"\n"
        seen = log.count
        await log.bell.wait()


def _wanted(event: Object, chosen: dict[str, list[str]]) -> bool:
    labels = [f"{key}={value}" for key, value in event["Actor"]["Attributes"].items()]
    found = {
        "type": [event["Type"]],
        "event": [event["Action"]],
        "scope": [event["scope"]],
        "container": [event["Actor"]["ID"], event["Actor"]["Attributes"].get("name", "")],
        "label": [*labels, *event["Actor"]["Attributes"]],
    }
    return all(set(values) & set(found.get(name, values)) for name, values in chosen.items() if values)


def decode_filters(request: Request) -> dict[str, list[str]]:
    """The ``filters`` parameter in either of its two forms, as lists. Raises 400 when it is not JSON."""
    text = request.first("filters")
    if not text:
        return {}
    try:
        raw = msgspec.json.decode(text)
        return {name: list(values) for name, values in raw.items()}
    except (msgspec.DecodeError, AttributeError, TypeError) as error:
        raise EngineRefusal(400, "invalid filter") from error


class Output:
    """One source of log lines, with the attributes that ``details`` puts before each line."""

    def __init__(self, source: LogSource, details: str = "") -> None:
        self.source = source
        self.details = details


def logs(engine: Engine, outputs: list[Output], request: Request) -> Stream:
    """Logs of one or several sources, each line in a frame that names its stream."""
    since_text = request.first("since")
    since = datetime.fromtimestamp(_epoch(engine, since_text), UTC) if since_text and since_text != "0" else None
    wanted = {number for number, name in ((1, "stdout"), (2, "stderr")) if request.flag(name)}
    if not wanted:
        raise EngineRefusal(400, "Bad parameters: you must choose at least one stream")
    headers = {"Content-Type": "application/vnd.docker.raw-stream"}
    return Stream(chunks=_logs(engine, outputs, request, since, wanted), headers=headers)


async def _logs(
    engine: Engine, outputs: list[Output], request: Request, since: datetime | None, wanted: set[int]
) -> AsyncGenerator[bytes, None]:
    now = engine.clock.now()
    tail = int(request.first("tail")) if request.first("tail", "all").isdigit() else None
    lines = [
        (output.source.at(index), order, index)
        for order, output in enumerate(outputs)
        for index in output.source.range(now, tail=tail, since=since)
    ]
    sent = [output.source.count(now) for output in outputs]
    for _, order, index in sorted(lines):
        frame = _frame(outputs[order], index, request, wanted)
        if frame:
            yield frame
    while request.flag("follow") and any(output.source.ended is None for output in outputs):
        await engine.ticked.wait()
        now = engine.clock.now()
        for order, output in enumerate(outputs):
            for index in range(sent[order], output.source.count(now)):
                frame = _frame(output, index, request, wanted)
                if frame:
                    yield frame
            sent[order] = max(sent[order], output.source.count(now))


def _frame(output: Output, index: int, request: Request, wanted: set[int]) -> bytes:
    source = output.source
    number = source.stream(index)
    if number not in wanted:
        return b""
    text = source.text(index)
    if output.details and request.flag("details"):
        text = f"{output.details} {text}"
    if request.flag("timestamps"):
        text = f"{rfc3339_nano(source.at(index))} {text}"
    payload = f"{text}\n".encode()
    return struct.pack(">BxxxI", number, len(payload)) + payload


def container_source(container: Object) -> LogSource | None:
    """The log of a container; None when it never ran."""
    state = container["State"]
    if state.get("StartedAt", NEVER) == NEVER:
        return None
    ended = None if state["Running"] else parse_time(state["FinishedAt"])
    code = state["ExitCode"]
    words = f"FATAL exiting with code {code}" if code else "INFO bye"
    return LogSource(container["Id"], parse_time(state["StartedAt"]), 2.0, ended, words)


def stats(engine: Engine, container: Object, request: Request) -> Stream:
    """``GET /containers/{id}/stats``: one sample a second of the world's time, or a single one."""
    return Stream(chunks=_stats(engine, container, request), headers={"Content-Type": "application/json"})


async def _stats(engine: Engine, container: Object, request: Request) -> AsyncGenerator[bytes, None]:
    once = request.first("stream", "true").lower() in ("0", "false")
    last = engine.clock.now().timestamp() - 1.0
    while container["Id"] in engine.containers:
        now = engine.clock.now().timestamp()
        if now - last >= 1.0:
            yield msgspec.json.encode(sample(engine, container, now, last)) + b"\n"
            last = now
        if once:
            return
        await engine.ticked.wait()


def sample(engine: Engine, container: Object, now: float, before: float) -> Object:
    """One sample in the engine's own counters; a stopped container has none but zeros."""
    name = container["Name"].removeprefix("/")
    base: Object = {"id": container["Id"], "name": f"/{name}", "read": rfc3339_nano(engine.clock.now()), "preread": NEVER}
    if not container["State"]["Running"]:
        empty: Object = {"cpu_usage": {"total_usage": 0}, "throttling_data": {}}
        return {**base, "cpu_stats": empty, "precpu_stats": empty, "memory_stats": {}, "pids_stats": {}}
    weight = hashlib.sha256(name.encode()).digest()
    limit = 512 * 1024**2
    usage = int(limit * (0.2 + weight[0] / 512 + 0.05 * math.sin(now / 37 + weight[1])))
    return {
        **base,
        "preread": rfc3339_nano(datetime.fromtimestamp(before, UTC)),
        "pids_stats": {"current": 3 + weight[2] % 20},
        "cpu_stats": _cpu(weight, now),
        "precpu_stats": _cpu(weight, before),
        "memory_stats": {"usage": usage, "limit": limit, "stats": {"inactive_file": usage // 10, "cache": usage // 8}},
        "networks": {"eth0": {"rx_bytes": int(now * weight[3] % 1e9), "tx_bytes": int(now * weight[4] % 1e9)}},
    }


def _cpu(weight: bytes, at: float) -> Object:
    # The integral of a load that swings slowly around its mean, so that a difference of two samples is the load itself.
    mean, swing, phase = 0.02 + weight[5] / 600, 0.015, weight[6]
    seconds = mean * at - swing * 23 * math.cos(at / 23 + phase)
    return {
        "cpu_usage": {"total_usage": int(seconds * 1e9), "usage_in_kernelmode": 0, "usage_in_usermode": int(seconds * 1e9)},
        "system_cpu_usage": int(at * 8e9),
        "online_cpus": 8,
        "throttling_data": {"periods": 0, "throttled_periods": 0, "throttled_time": 0},
    }


def _epoch(engine: Engine, text: str) -> float:
    """Seconds of the epoch from the forms that the engine takes: seconds, RFC 3339, or a duration back from now."""
    try:
        return float(text)
    except ValueError:
        pass
    units = {"s": 1, "m": 60, "h": 3600}
    if text[-1:] in units and text[:-1].isdigit():
        return engine.clock.now().timestamp() - int(text[:-1]) * units[text[-1]]
    try:
        return parse_time(text).timestamp()
    except ValueError as error:
        raise EngineRefusal(400, f"invalid time {text!r}") from error
