"""Services, tasks, nodes, configs and secrets of a simulated Swarm, with the version checks of the real one."""

from __future__ import annotations

import base64
import copy
from typing import Any

from console.demo import docker_streams
from console.demo.clockwork import parse_time
from console.demo.docker_errors import EngineRefusal, grpc
from console.demo.docker_streams import Output, decode_filters
from console.demo.engine import Engine
from console.demo.filters import by_id, by_labels, by_name
from console.demo.http_server import Answer, Request, Stream
from console.demo.log_lines import LogSource
from console.demo.swarm_orchestrator import begin_update
from console.demo.swarm_state import ENDED, Swarm, name_of

Object = dict[str, Any]
_NOT_MANAGER = (
    'This node is not a swarm manager. Use "docker swarm init" or "docker swarm join" to connect this node to swarm '
    "and try again."
)


class SwarmApi:
    """Serves the Swarm's paths; an engine that manages none refuses all of them as the real one does (503)."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def serve(self, parts: list[str], request: Request) -> Answer | Stream:
        """One request. Raises :class:`EngineRefusal`."""
        swarm = self._engine.swarm
        if swarm is None:
            raise EngineRefusal(503, _NOT_MANAGER)
        match request.method, parts:
            case "GET", ["swarm"]:
                return Answer.of_json(self._engine.info()["Swarm"]["Cluster"])
            case "GET", ["services" | "tasks" | "nodes" | "configs" | "secrets" as table]:
                return Answer.of_json(self._list(swarm, table, request))
            case "POST", ["services", "create"]:
                return self._create_service(swarm, request)
            case "POST", ["configs" | "secrets" as table, "create"]:
                return self._create_content(swarm, table, request)
            case "GET", ["services" | "tasks" | "nodes" | "configs" | "secrets" as table, word]:
                found = _find(swarm, table, word)
                return Answer.of_json(_shown(table, found))
            case "GET", ["services" | "tasks" as table, word, "logs"]:
                return self._logs(swarm, table, _find(swarm, table, word), request)
            case "POST", ["services", word, "update"]:
                return self._update_service(swarm, _find(swarm, "services", word), request)
            case "POST", ["nodes", word, "update"]:
                return self._update_node(swarm, _find(swarm, "nodes", word), request)
            case "POST", ["configs" | "secrets" as table, word, "update"]:
                return self._update_content(swarm, table, _find(swarm, table, word), request)
            case "DELETE", ["services", word]:
                swarm.drop("services", _find(swarm, "services", word)["ID"])
                return Answer(status=200)
            case "DELETE", ["configs" | "secrets" as table, word]:
                return self._delete_content(swarm, table, _find(swarm, table, word))
            case "DELETE", ["nodes", word]:
                return self._delete_node(swarm, _find(swarm, "nodes", word), request)
        raise EngineRefusal(404, "page not found")

    def _list(self, swarm: Swarm, table: str, request: Request) -> list[Object]:
        chosen = decode_filters(request)
        found = by_id(by_labels(swarm.snapshot(table), chosen, lambda obj: _labels(table, obj)), chosen)
        if table != "tasks":
            found = by_name(found, chosen, lambda obj: name_of(table, obj), prefix=True)
        else:
            found = self._filter_tasks(swarm, found, chosen)
        if table == "nodes":
            roles, memberships = chosen.get("role"), chosen.get("membership")
            found = [node for node in found if not roles or node["Spec"]["Role"] in roles]
            found = [node for node in found if not memberships or "accepted" in memberships]
        if table == "services":
            modes = chosen.get("mode")
            found = [s for s in found if not modes or next(iter(s["Spec"]["Mode"])).lower() in modes]
            if request.flag("status"):
                found = [{**service, "ServiceStatus": swarm.status_of(service)} for service in found]
        return [_shown(table, obj) for obj in found]

    def _filter_tasks(self, swarm: Swarm, tasks: list[Object], chosen: dict[str, list[str]]) -> list[Object]:
        for name, table, key in (("service", "services", "ServiceID"), ("node", "nodes", "NodeID")):
            if chosen.get(name):
                ids = {obj["ID"] for word in chosen[name] if (obj := swarm.find(table, word))}
                tasks = [task for task in tasks if task.get(key) in ids]
        states = chosen.get("desired-state")
        return [task for task in tasks if not states or task["DesiredState"] in states]

    def _create_service(self, swarm: Swarm, request: Request) -> Answer:
        spec = request.json() or {}
        name = spec.get("Name", "")
        if any(service["Spec"]["Name"] == name for service in swarm.tables["services"].values()):
            raise grpc(409, "AlreadyExists", f"name conflicts with an existing object: service {name} already exists")
        if not name or not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
            raise grpc(400, "InvalidArgument", "name must be valid as a DNS name component")
        spec = self._checked(swarm, spec)
        made = swarm.add("services", {"Spec": spec, "Endpoint": endpoint(spec)})
        swarm.dirty.add(made["ID"])
        return Answer.of_json({"ID": made["ID"]}, 201)

    def _checked(self, swarm: Swarm, spec: Object) -> Object:
        spec = copy.deepcopy(spec)
        template = spec.setdefault("TaskTemplate", {})
        template.setdefault("ForceUpdate", 0)
        template.setdefault("Runtime", "container")
        spec.setdefault("Labels", {})
        mode = spec.setdefault("Mode", {}) or spec["Mode"]
        if not mode:
            mode["Replicated"] = {}
        if "Replicated" in mode:
            mode["Replicated"] = {"Replicas": 1, **(mode["Replicated"] or {})}
        for attached in template.get("Networks") or ():
            network = swarm.find("networks", attached["Target"])
            if network is None:
                raise EngineRefusal(500, f"network {attached['Target']} not found")
            attached["Target"] = network["ID"]
        container = template.get("ContainerSpec") or {}
        for table, key in (("secrets", "SecretID"), ("configs", "ConfigID")):
            for reference in container.get(table.capitalize()) or ():
                if reference[key] not in swarm.tables[table]:
                    raise grpc(400, "InvalidArgument", f"{table[:-1]} not found: {reference[key]}")
        return spec

    def _update_service(self, swarm: Swarm, service: Object, request: Request) -> Answer:
        _check_version(service, request, "service")
        if request.first("rollback") == "previous":
            previous = service.get("PreviousSpec")
            if previous is None:
                text = f"service {service['ID']} does not have a previous spec"
                raise grpc(400, "FailedPrecondition", text)
            begin_update(swarm, service, previous, rollback="manually requested rollback", asked=True)
            return Answer.of_json({"Warnings": None})
        spec = request.json() or {}
        if spec.get("Name", service["Spec"]["Name"]) != service["Spec"]["Name"]:
            raise grpc(501, "Unimplemented", "renaming services is not supported")
        spec = self._checked(swarm, {**spec, "Name": service["Spec"]["Name"]})
        if set(spec["Mode"]) != set(service["Spec"]["Mode"]):
            raise grpc(501, "Unimplemented", "service mode change is not allowed")
        begin_update(swarm, service, spec)
        return Answer.of_json({"Warnings": None})

    def _update_node(self, swarm: Swarm, node: Object, request: Request) -> Answer:
        _check_version(node, request, "node")
        spec = {**node["Spec"], **(request.json() or {})}
        managers = [other for other in swarm.tables["nodes"].values() if other["Spec"]["Role"] == "manager"]
        if node["Spec"]["Role"] == "manager" and spec["Role"] == "worker" and len(managers) == 1:
            raise grpc(400, "FailedPrecondition", "attempting to demote the last manager of the swarm")
        if spec["Role"] == "manager" and "ManagerStatus" not in node:
            address = f"{node['Status']['Addr']}:2377"
            node["ManagerStatus"] = {"Reachability": "reachable", "Addr": address}
        elif spec["Role"] == "worker":
            node.pop("ManagerStatus", None)
        before, node["Spec"] = node["Spec"]["Availability"], spec
        swarm.touch("nodes", node, **{"availability.old": before, "availability.new": spec["Availability"]})
        swarm.dirty.update(swarm.tables["services"])
        return Answer(status=200)

    def _delete_node(self, swarm: Swarm, node: Object, request: Request) -> Answer:
        if node["Status"]["State"] != "down" and not request.flag("force"):
            text = f"node {node['ID']} is not down and can't be removed"
            raise grpc(400, "FailedPrecondition", text)
        swarm.drop("nodes", node["ID"])
        swarm.dirty.update(swarm.tables["services"])
        return Answer(status=200)

    def _create_content(self, swarm: Swarm, table: str, request: Request) -> Answer:
        spec = request.json() or {}
        word = table.removesuffix("s")
        if any(obj["Spec"]["Name"] == spec.get("Name") for obj in swarm.tables[table].values()):
            text = f"{word} {spec.get('Name')} already exists"
            raise grpc(409, "AlreadyExists", text)
        size, most = len(base64.b64decode(spec.get("Data") or "")), 1024000 if word == "config" else 512000
        if not 0 < size < most:
            raise grpc(400, "InvalidArgument", f"{word} data must be larger than 0 and less than {most} bytes")
        made = swarm.add(table, {"Spec": {"Labels": {}, **spec}})
        return Answer.of_json({"ID": made["ID"]}, 201)

    def _update_content(self, swarm: Swarm, table: str, obj: Object, request: Request) -> Answer:
        _check_version(obj, request, table.removesuffix("s"))
        spec = request.json() or {}
        if spec.get("Data") not in (None, obj["Spec"].get("Data")) or spec.get("Name") != obj["Spec"]["Name"]:
            raise grpc(400, "InvalidArgument", "only updates to Labels are allowed")
        obj["Spec"] = {**obj["Spec"], "Labels": spec.get("Labels") or {}}
        swarm.touch(table, obj)
        return Answer(status=200)

    def _delete_content(self, swarm: Swarm, table: str, obj: Object) -> Answer:
        word, key = table.removesuffix("s"), {"configs": "ConfigID", "secrets": "SecretID"}[table]
        users = [
            service["Spec"]["Name"]
            for service in swarm.tables["services"].values()
            for reference in service["Spec"]["TaskTemplate"].get("ContainerSpec", {}).get(table.capitalize()) or ()
            if reference[key] == obj["ID"]
        ]
        if users:
            which = "service" if len(users) == 1 else "services"
            text = f"{word} '{obj['Spec']['Name']}' is in use by the following {which}: {', '.join(users)}"
            raise grpc(400, "InvalidArgument", text)
        swarm.drop(table, obj["ID"])
        return Answer(status=204)

    def _logs(self, swarm: Swarm, table: str, obj: Object, request: Request) -> Stream:
        tasks = [obj] if table == "tasks" else swarm.tasks_of(obj["ID"])
        outputs = [Output(source, _details(task)) for task in tasks if (source := task_source(task))]
        return docker_streams.logs(self._engine, outputs, request)


def task_source(task: Object) -> LogSource | None:
    """The log of a task; None when its container never ran."""
    status = task["Status"]
    if not status.get("ContainerStatus", {}).get("ContainerID"):
        return None
    started = parse_time(task["CreatedAt"])
    ended = parse_time(status["Timestamp"]) if status["State"] in ENDED else None
    code = status["ContainerStatus"].get("ExitCode", 0)
    return LogSource(task["ID"], started, 2.0, ended, f"FATAL exiting with code {code}" if code else "INFO bye")


def endpoint(spec: Object) -> Object:
    """The ``Endpoint`` of a service: its published ports, dynamic ones given a number."""
    wanted = spec.get("EndpointSpec") or {}
    ports = [{"PublishedPort": 30000 + index, **port} for index, port in enumerate(wanted.get("Ports") or ())]
    return {"Spec": wanted, "Ports": ports} if ports else {"Spec": wanted}


def _find(swarm: Swarm, table: str, word: str) -> Object:
    found = swarm.find(table, word)
    if found is None:
        raise EngineRefusal(404, f"{table.removesuffix('s')} {word} not found")
    return found


def _check_version(obj: Object, request: Request, word: str) -> None:
    version = request.first("version")
    if not version.isdigit():
        raise EngineRefusal(
            400, f"invalid {word} version '{version}': strconv.ParseUint: parsing \"{version}\": invalid syntax"
        )
    if int(version) != obj["Version"]["Index"]:
        raise grpc(500, "Unknown", "update out of sequence")


def _labels(table: str, obj: Object) -> dict[str, str]:
    if table == "tasks":
        return obj.get("Labels") or {}
    return obj["Spec"].get("Labels") or {}


def _shown(table: str, obj: Object) -> Object:
    if table != "secrets":
        return obj
    # The engine never gives a secret's value back.
    return {**obj, "Spec": {key: value for key, value in obj["Spec"].items() if key != "Data"}}


def _details(task: Object) -> str:
    return (
        f"com.docker.swarm.node.id={task.get('NodeID', '')},com.docker.swarm.service.id={task['ServiceID']},"
        f"com.docker.swarm.task.id={task['ID']}"
    )
