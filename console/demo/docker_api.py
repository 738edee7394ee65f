"""The HTTP face of a simulated Docker engine: version negotiation and which path is served by whom."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from console.demo import docker_streams
from console.demo.container_api import ContainerApi
from console.demo.docker_errors import EngineRefusal
from console.demo.engine import API_VERSION, MIN_API_VERSION, Engine
from console.demo.http_server import Answer, Request, Stream
from console.demo.object_api import ObjectApi
from console.demo.swarm_api import SwarmApi

# What reading a request of the wrong shape raises; the real engine says 400 to all of it.
_MALFORMED = (msgspec.DecodeError, KeyError, TypeError, ValueError, AttributeError, IndexError)
_PREFIX = re.compile(r"^/v(?P<major>\d+)\.(?P<minor>\d+)(?=/)")
_SWARM_PATHS = ("services", "tasks", "nodes", "configs", "secrets", "swarm")


class DockerApi:
    """Answers the requests to one engine.

    ``unauthorized`` refuses everything but the ping, ``forbidden`` is a set of kind words (as "SwarmService", "Container")
    whose paths are refused: both are turned by the fleet's faults.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._containers = ContainerApi(engine)
        self._objects = ObjectApi(engine)
        self._swarm = SwarmApi(engine)
        self.unauthorized = False
        self.forbidden: set[str] = set()

    async def __call__(self, request: Request) -> Answer | Stream:
        """One request; a refusal becomes its message."""
        try:
            answer = self._route(request)
        except EngineRefusal as refusal:
            answer = refusal.answer()
        except _MALFORMED as error:
            answer = EngineRefusal(400, f"malformed request: {error}").answer()
        answer.headers = {
            "Api-Version": API_VERSION,
            "Docker-Experimental": "false",
            "Ostype": "linux",
            "Server": "Docker/20.10.24 (linux)",
            **answer.headers,
        }
        return answer

    def _route(self, request: Request) -> Answer | Stream:
        path = self._bare(request.path)
        parts = [part for part in path.split("/") if part]
        if parts == ["_ping"]:
            return Answer(body=b"OK", headers={"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-cache"})
        if self.unauthorized:
            raise EngineRefusal(403, "authorization denied by plugin: this client may not use the engine")
        match parts:
            case ["version"]:
                return Answer.of_json(self._engine.version())
            case ["info"]:
                return Answer.of_json(self._engine.info())
            case ["events"]:
                return docker_streams.events(self._engine, request)
            case ["containers", *rest]:
                self._allow("Container")
                return self._containers.serve(rest, request)
            case ["images" | "networks" | "volumes" | "distribution" | "system", *_]:
                self._allow({"networks": "SwarmNetwork", "volumes": "Volume"}.get(parts[0], ""))
                return self._objects.serve(parts, request)
            case [first, *_] if first in _SWARM_PATHS:
                self._allow(_KINDS.get(first, ""))
                return self._swarm.serve(parts, request)
        raise EngineRefusal(404, "page not found")

    def _bare(self, path: str) -> str:
        found = _PREFIX.match(path)
        if not found:
            return path
        asked = (int(found["major"]), int(found["minor"]))
        if asked > _numbers(API_VERSION):
            text = ".".join(map(str, asked))
            raise EngineRefusal(400, f"client version {text} is too new. Maximum supported API version is {API_VERSION}")
        if asked < _numbers(MIN_API_VERSION):
            text = ".".join(map(str, asked))
            raise EngineRefusal(400, f"client version {text} is too old. Minimum supported API version is {MIN_API_VERSION}")
        return path[found.end() :]

    def _allow(self, word: str) -> None:
        if word and word in self.forbidden:
            raise EngineRefusal(403, f"authorization denied by plugin: {word} may not be used by this client")


_KINDS: dict[str, Any] = {
    "services": "SwarmService",
    "tasks": "Task",
    "nodes": "SwarmNode",
    "configs": "SwarmConfig",
    "secrets": "SwarmSecret",
}


def _numbers(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return int(major), int(minor)
