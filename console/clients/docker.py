"""A thin client of the Docker Engine API: version negotiation, requests, endless streams (events, logs, stats, pulls)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from console import errors
from console.clients.answers import PROXY_HINT, RETRY_HINT, Response
from console.clients.docker_events import Told
from console.clients.endpoint import Endpoint
from console.clients.http import HttpClient
from console.clients.streams import json_values, log_frames, log_lines, raw_as_frames, with_silence

# The API versions this client is written for. 1.24 is the first that negotiates at all.
OLDEST = (1, 24)
NEWEST = (1, 51)

Query = Mapping[str, Any]

_OBJECT: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])
_MULTIPLEXED = "application/vnd.docker.multiplexed-stream"


class Ping(msgspec.Struct, frozen=True):
    """What an engine says of itself without being asked anything: ``api`` is the version agreed on.

    ``swarm`` is the ``Swarm`` header ("active/manager", "inactive"…, empty before API 1.41), ``at`` the engine's own time.
    """

    api: tuple[int, int]
    swarm: str = ""
    server: str = ""
    at: datetime | None = None


class DockerClient:
    """Talks to one engine. Paths are without the version prefix (``/services``); it is negotiated at the first request."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.http = HttpClient(endpoint)
        self._prefix = ""

    @property
    def endpoint(self) -> Endpoint:
        """Where this client talks to."""
        return self.http.endpoint

    async def close(self) -> None:
        """Drop all connections, streams included."""
        await self.http.close()

    async def ping(self, *, timeout: float = 10.0) -> Ping:
        """Ask for a sign of life and agree on an API version (the newest that both know).

        :raises ProtocolError: whatever answers is no engine, or one too old or too new for us.
        """
        response = await self.http.request("GET", "/_ping", timeout=timeout)
        offered = _version(response)
        if offered < OLDEST:
            raise errors.ProtocolError(
                f"{self.endpoint.label} speaks Docker API {offered[0]}.{offered[1]}, too old for this console",
                f"It needs at least {OLDEST[0]}.{OLDEST[1]}.",
            )
        agreed = min(offered, NEWEST)
        self._prefix = f"/v{agreed[0]}.{agreed[1]}"
        return Ping(agreed, response.headers.get("swarm", ""), response.headers.get("server", ""), _date(response.headers))

    async def request(
        self,
        method: str,
        path: str,
        params: Query | None = None,
        json: Any = None,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
    ) -> Response:
        """One request under the agreed version. Values of ``params`` that are dicts or lists are sent as JSON (``filters``)."""
        return await self.http.request(
            method,
            await self._path(path),
            params=_query(params),
            json=json,
            content=content,
            headers=headers,
            timeout=timeout,
        )

    async def get(
        self, path: str, params: Query | None = None, *, headers: Mapping[str, str] | None = None, timeout: float = 30.0
    ) -> Any:
        """GET and decode JSON."""
        return (await self.request("GET", path, params, headers=headers, timeout=timeout)).json()

    async def post(
        self,
        path: str,
        params: Query | None = None,
        json: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
    ) -> Any:
        """POST; returns the decoded answer, None if there is none (204, or 304: it was so already)."""
        response = await self.request("POST", path, params, json, headers=headers, timeout=timeout)
        return response.json() if response.content.strip() else None

    async def delete(self, path: str, params: Query | None = None, *, timeout: float = 30.0) -> Any:
        """DELETE; returns the decoded answer, None if there is none."""
        response = await self.request("DELETE", path, params, timeout=timeout)
        return response.json() if response.content.strip() else None

    async def events(
        self,
        since: str = "",
        *,
        filters: Query | None = None,
        silence: float = 15.0,
        renew: float = 60.0,
        heard: Callable[[], None] | None = None,
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Events from now (or from ``since``, in Unix seconds with fraction) on, without an end.

        A quiet engine and a dead connection look the same. So the engine is pinged after ``silence`` seconds without an
        event, and after ``renew`` seconds the stream is replaced by a new one that takes over where the old one stopped: each
        event comes once. Only some from shortly before the call may come along, since engines tell their time in seconds.

        :param heard: called whenever the engine gave a sign of life.
        :raises TimedOut, Unreachable, Interrupted: the engine or the connection is lost; what happened meanwhile isn't known.
        """
        heard = heard or _ignore
        told = Told(since)
        while True:
            query = {"since": told.since, "filters": filters or {}}
            quiet = 0.0
            async with AsyncExitStack() as stack:
                answer = await stack.enter_async_context(
                    self.http.stream("GET", await self._path("/events"), params=_query(query))
                )
                heard()
                told.began(_date(answer.headers))
                values = await stack.enter_async_context(aclosing(json_values(answer.body, _OBJECT, "GET /events")))
                paced = await stack.enter_async_context(aclosing(with_silence(values, silence)))
                async for event in paced:
                    if event is None:
                        await self.ping(timeout=max(2.0, min(silence, 10.0)))
                    heard()
                    quiet = quiet + silence if event is None else 0.0
                    if event is not None and told.new(event):
                        yield event
                    if quiet >= renew:
                        break
                else:
                    raise errors.Interrupted(f"{self.endpoint.label} ended its event stream", RETRY_HINT)

    async def logs(
        self, path: str, params: Query | None = None, *, tty: bool = False, silence: float | None = None
    ) -> AsyncGenerator[tuple[str, str], None]:
        """``(stream, line)`` of a log (``/containers/ID/logs``, ``/services/ID/logs``, ``/tasks/ID/logs``).

        :param tty: the container has a terminal, so that its log has no frames; engines before API 1.42 don't say so.
        """
        query = {"stdout": True, "stderr": True, **(params or {})}
        what = f"GET {path}"
        async with self.http.stream(
            "GET", await self._path(path), params=_query(query), silence=silence, open_ended=True
        ) as answer:
            framed = not tty or answer.headers.get("content-type", "").startswith(_MULTIPLEXED)
            frames = log_frames(answer.body, what) if framed else raw_as_frames(answer.body)
            async with aclosing(frames), aclosing(log_lines(frames)) as lines:
                async for line in lines:
                    yield line

    async def stats(self, container: str, *, silence: float = 15.0) -> AsyncGenerator[dict[str, Any], None]:
        """About one sample a second of a running container."""
        async for sample in self.values("GET", f"/containers/{container}/stats", {"stream": True}, silence=silence):
            yield sample

    async def values(
        self,
        method: str,
        path: str,
        params: Query | None = None,
        *,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
        silence: float | None = None,
        safe: bool | None = None,
    ) -> AsyncGenerator[dict[str, Any], None]:
        """A stream of JSON objects to its proper end: stats, the progress of a pull (``POST /images/create``).

        :param safe: it may simply be done again, as a pull; then a lost answer is :class:`Interrupted` and not unclear.
        """
        async with (
            self.http.stream(
                method, await self._path(path), params=_query(params), json=json, headers=headers, silence=silence, safe=safe
            ) as answer,
            aclosing(json_values(answer.body, _OBJECT, f"{method} {path}")) as values,
        ):
            async for value in values:
                yield value

    async def exec_output(self, exec_id: str, *, tty: bool = False) -> AsyncGenerator[tuple[str, str], None]:
        """Start a prepared exec and give its output as ``(stream, line)``; its exit code is had by inspecting it afterwards."""
        path = f"/exec/{exec_id}/start"
        async with self.http.stream(
            "POST", await self._path(path), json={"Detach": False, "Tty": tty}, timeout=30, open_ended=True
        ) as answer:
            frames = raw_as_frames(answer.body) if tty else log_frames(answer.body, f"POST {path}")
            async with aclosing(frames), aclosing(log_lines(frames)) as lines:
                async for line in lines:
                    yield line

    async def _path(self, path: str) -> str:
        if not self._prefix:
            await self.ping()
        return self._prefix + path


def _version(response: Response) -> tuple[int, int]:
    text = response.headers.get("api-version", "")
    major, _, minor = text.partition(".")
    if not (major.isdecimal() and minor.isdecimal()):
        raise errors.ProtocolError(f"{response.request}: this is no Docker engine (no Api-Version header)", PROXY_HINT)
    return int(major), int(minor)


def _query(params: Query | None) -> dict[str, Any]:
    """Empty values are left out: the engine takes an empty ``filters`` or ``since`` for a wrong one."""
    return {
        key: msgspec.json.encode(value).decode() if isinstance(value, Mapping | list | tuple) else value
        for key, value in (params or {}).items()
        if value not in ("", None) and value != {}
    }


def _date(headers: Mapping[str, str]) -> datetime | None:
    try:
        return parsedate_to_datetime(headers["date"]).astimezone(UTC)
    except (KeyError, ValueError):
        return None


def _ignore() -> None:
    return None
