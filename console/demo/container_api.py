"""Containers of a simulated engine: list, inspect, the life cycle, logs and samples."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from console.demo import docker_streams
from console.demo.clockwork import parse_time, rfc3339_nano
from console.demo.docker_errors import EngineRefusal
from console.demo.docker_streams import Output, decode_filters
from console.demo.engine import NEVER, Engine
from console.demo.filters import by_id, by_labels, by_name
from console.demo.http_server import Answer, Request, Stream

Object = dict[str, Any]


class ContainerApi:
    """Serves ``/containers``."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def serve(self, parts: list[str], request: Request) -> Answer | Stream:
        """One request. Raises :class:`EngineRefusal`."""
        match request.method, parts:
            case "GET", ["json"]:
                return Answer.of_json(self._list(request))
            case "POST", ["create"]:
                return self._create(request)
            case "GET", [word, "json"]:
                return Answer.of_json(self._find(word))
            case "GET", [word, "logs"]:
                return self._logs(self._find(word), request)
            case "GET", [word, "stats"]:
                return docker_streams.stats(self._engine, self._find(word), request)
            case "GET", [word, "top"]:
                return Answer.of_json({"Titles": ["PID", "CMD"], "Processes": [["1", " ".join(self._find(word)["Args"])]]})
            case "DELETE", [word]:
                return self._remove(self._find(word), request)
            case "POST", [word, "wait"]:
                return Stream(chunks=self._wait(self._find(word)), headers={"Content-Type": "application/json"})
            case "POST", [word, action]:
                return self._act(self._find(word), action, request)
        raise EngineRefusal(404, "page not found")

    def _find(self, word: str) -> Object:
        container = self._engine.find_container(word)
        if container is None:
            raise EngineRefusal(404, f"No such container: {word}")
        return container

    def _list(self, request: Request) -> list[Object]:
        chosen = decode_filters(request)
        containers = by_labels(list(self._engine.containers.values()), chosen, _labels)
        containers = by_id(by_name(containers, chosen, lambda container: str(container["Name"])), chosen, "Id")
        states = chosen.get("status")
        if states:
            containers = [container for container in containers if container["State"]["Status"] in states]
        elif not request.flag("all"):
            containers = [container for container in containers if container["State"]["Running"]]
        containers = sorted(containers, key=lambda container: str(container["Created"]), reverse=True)
        if request.first("limit").isdigit() and int(request.first("limit")):
            containers = containers[: int(request.first("limit"))]
        return [self._summary(container) for container in containers]

    def _summary(self, container: Object) -> Object:
        ports = [
            {"PrivatePort": int(port.partition("/")[0]), "Type": port.partition("/")[2], **published}
            for port, bindings in (container["NetworkSettings"].get("Ports") or {}).items()
            for published in (
                [{"IP": entry["HostIp"], "PublicPort": int(entry["HostPort"])} for entry in bindings] if bindings else [{}]
            )
        ]
        return {
            "Id": container["Id"],
            "Names": [container["Name"]],
            "Image": container["Config"]["Image"],
            "ImageID": container["Image"],
            "Command": " ".join([container["Path"], *container["Args"]]),
            "Created": int(parse_time(container["Created"]).timestamp()),
            "Ports": ports,
            "Labels": _labels(container),
            "State": container["State"]["Status"],
            "Status": self._status(container),
            "HostConfig": {"NetworkMode": container["HostConfig"].get("NetworkMode", "default")},
            "NetworkSettings": {"Networks": container["NetworkSettings"]["Networks"]},
            "Mounts": container["Mounts"],
        }

    def _status(self, container: Object) -> str:
        state = container["State"]
        now = self._engine.clock.now()
        if state["Status"] == "created":
            return "Created"
        if state["Status"] in ("exited", "dead"):
            since = (now - parse_time(state["FinishedAt"])).total_seconds()
            return f"Exited ({state['ExitCode']}) {_span(since)} ago"
        if state["Status"] == "restarting":
            since = (now - parse_time(state["FinishedAt"])).total_seconds()
            return f"Restarting ({state['ExitCode']}) {_span(since)} ago"
        text = f"Up {_span((now - parse_time(state['StartedAt'])).total_seconds())}"
        if state["Paused"]:
            return f"{text} (Paused)"
        probe = state.get("Health", {}).get("Status")
        return f"{text} ({'health: starting' if probe == 'starting' else probe})" if probe else text

    def _create(self, request: Request) -> Answer:
        body = request.json() or {}
        engine = self._engine
        name = request.first("name") or f"c-{engine.names.suffix(engine.names.next_word('name'), 10)}"
        holder = engine.find_container(name)
        if holder is not None and holder["Name"] == f"/{name}":
            message = (
                f'Conflict. The container name "/{name}" is already in use by container "{holder["Id"]}". '
                "You have to remove (or rename) that container to be able to reuse that name."
            )
            raise EngineRefusal(409, message)
        image = engine.image(body.get("Image", ""))
        if image is None:
            raise EngineRefusal(404, f"No such image: {body.get('Image', '')}")
        container = make_container(engine, name, body, image)
        return Answer.of_json({"Id": container["Id"], "Warnings": []}, 201)

    def _remove(self, container: Object, request: Request) -> Answer:
        if container["State"]["Running"]:
            if not request.flag("force"):
                message = (
                    f"You cannot remove a running container {container['Id']}. "
                    "Stop the container before attempting removal or force remove"
                )
                raise EngineRefusal(409, message)
            self._engine.exit(container, 137)
        self._engine.remove_container(container)
        return Answer(status=204)

    def _act(self, container: Object, action: str, request: Request) -> Answer:
        engine, state = self._engine, container["State"]
        match action:
            case "start":
                if state["Running"]:
                    return Answer(status=304)
                self._check_ports(container)
                engine.start(container)
            case "stop":
                if not state["Running"]:
                    return Answer(status=304)
                engine.exit(container, 0)
                engine.tell(container, "stop")
                self._remove_if_asked(container)
            case "kill":
                if not state["Running"]:
                    raise EngineRefusal(409, f"Cannot kill container: {container['Id']}: Container is not running")
                engine.tell(container, "kill", signal=request.first("signal", "SIGKILL"))
                engine.exit(container, 137)
                self._remove_if_asked(container)
            case "restart":
                if state["Running"]:
                    engine.exit(container, 0)
                engine.start(container)
                engine.tell(container, "restart")
            case "pause" | "unpause":
                self._pause(container, action == "pause")
            case "rename":
                container["Name"] = f"/{request.first('name')}"
                engine.tell(container, "rename")
            case "update":
                container["HostConfig"].update(request.json() or {})
                return Answer.of_json({"Warnings": []})
            case _:
                raise EngineRefusal(404, "page not found")
        return Answer(status=204)

    def _remove_if_asked(self, container: Object) -> None:
        if container["HostConfig"].get("AutoRemove"):
            self._engine.remove_container(container)

    def _pause(self, container: Object, pause: bool) -> None:
        state = container["State"]
        if not state["Running"]:
            raise EngineRefusal(409, f"Container {container['Id']} is not running")
        if state["Paused"] == pause:
            raise EngineRefusal(409, f"Container {container['Id']} is {'already' if pause else 'not'} paused")
        state.update(Paused=pause, Status="paused" if pause else "running")
        self._engine.tell(container, "pause" if pause else "unpause")

    def _check_ports(self, container: Object) -> None:
        wanted = _host_ports(container)
        for other in self._engine.containers.values():
            if other is not container and other["State"]["Running"] and (clash := wanted & _host_ports(other)):
                name, port = container["Name"].removeprefix("/"), min(clash)
                message = (
                    f"driver failed programming external connectivity on endpoint {name}: "
                    f"Bind for 0.0.0.0:{port} failed: port is already allocated"
                )
                raise EngineRefusal(500, message)

    def _logs(self, container: Object, request: Request) -> Stream:
        source = docker_streams.container_source(container)
        return docker_streams.logs(self._engine, [Output(source)] if source else [], request)

    async def _wait(self, container: Object) -> AsyncGenerator[bytes, None]:
        while container["State"]["Running"] and container["Id"] in self._engine.containers:
            await self._engine.events.bell.wait()
        yield msgspec.json.encode({"StatusCode": container["State"]["ExitCode"]}) + b"\n"


def make_container(engine: Engine, name: str, body: Object, image: Object, age: float = 0.0) -> Object:
    """A created container from the body of a create request."""
    id_ = engine.names.hexadecimal(engine.names.next_word(f"container/{name}"))
    host = {"NetworkMode": "default", "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0}, **(body.get("HostConfig") or {})}
    config = {key: value for key, value in body.items() if key not in ("HostConfig", "NetworkingConfig")}
    config.setdefault("Labels", {})
    config["Env"] = [*(config.get("Env") or []), *image["Config"]["Env"]]
    command = [*(config.get("Entrypoint") or []), *(config.get("Cmd") or image["Config"]["Cmd"])]
    container: Object = {
        "Id": id_,
        "Created": rfc3339_nano(engine.clock.ago(age)),
        "Path": command[0],
        "Args": command[1:],
        "State": {
            "Status": "created",
            "Running": False,
            "Paused": False,
            "Restarting": False,
            "OOMKilled": False,
            "Dead": False,
            "Pid": 0,
            "ExitCode": 0,
            "Error": "",
            "StartedAt": NEVER,
            "FinishedAt": NEVER,
        },
        "Image": image["Id"],
        "Name": f"/{name}",
        "RestartCount": 0,
        "Driver": "overlay2",
        "Platform": "linux",
        "Mounts": [
            {"Type": "volume", "Name": bind.split(":")[0], "Destination": bind.split(":")[1], "RW": True, "Driver": "local"}
            for bind in host.get("Binds") or ()
        ],
        "Config": config,
        "HostConfig": host,
        "NetworkSettings": {"Ports": _ports(host, config), "Networks": {}},
    }
    engine.containers[id_] = container
    for mount in container["Mounts"]:
        engine.add_volume(mount["Name"], age=age)
    endpoints = (body.get("NetworkingConfig") or {}).get("EndpointsConfig") or {}
    mode = host["NetworkMode"]
    for word in dict.fromkeys([*endpoints, "bridge" if mode in ("default", "bridge") else mode]):
        for network in engine.find_networks(word)[:1]:
            engine.connect(network, container, (endpoints.get(word) or {}).get("Aliases"))
    if not age:
        engine.tell(container, "create")
    return container


def _ports(host: Object, config: Object) -> Object:
    ports: Object = dict.fromkeys(config.get("ExposedPorts") or {})
    for port, bindings in (host.get("PortBindings") or {}).items():
        ports[port] = [
            {"HostIp": entry.get("HostIp") or "0.0.0.0", "HostPort": entry.get("HostPort") or str(32768 + len(ports))}
            for entry in bindings or ()
        ]
    return ports


def _host_ports(container: Object) -> set[str]:
    ports = container["NetworkSettings"].get("Ports") or {}
    return {entry["HostPort"] for bindings in ports.values() for entry in bindings or ()}


def _labels(container: Object) -> dict[str, str]:
    return container["Config"].get("Labels") or {}


def _span(seconds: float) -> str:
    for size, word in ((86400 * 7, "week"), (86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {word}s"
    return f"{max(0, int(seconds))} seconds"
