"""The objects of one simulated Swarm, in the shapes of the Docker Engine API, and the version counter that guards them."""

from __future__ import annotations

import copy
from typing import Any

from console.demo.clockwork import Names, WorldClock, rfc3339_nano
from console.demo.docker_events import EventLog

Object = dict[str, Any]
TABLES = ("nodes", "services", "tasks", "networks", "configs", "secrets")
ENDED = ("complete", "failed", "shutdown", "rejected", "orphaned", "remove")


class Swarm:
    """All objects by table and id. Each write of an object takes the next index, as raft does.

    :attr:`dirty` are the services and :attr:`moving` the tasks that the orchestrator must look at.
    """

    def __init__(self, name: str, clock: WorldClock, names: Names, events: EventLog) -> None:
        self.name = name
        self.clock = clock
        self.names = names
        self.events = events
        self.id = names.swarm_id("swarm")
        self.index = 100
        self.created = rfc3339_nano(clock.ago(90 * 86400))
        self.tables: dict[str, dict[str, Object]] = {table: {} for table in TABLES}
        self.missing_images: set[str] = set()
        self.dirty: set[str] = set()
        self.moving: set[str] = set()
        self._by_service: dict[str, dict[str, Object]] = {}

    def add(self, table: str, obj: Object, *, age: float = 0.0, id_: str = "") -> Object:
        """Store a new object; gives it its id, version and times."""
        self.index += 1
        at = rfc3339_nano(self.clock.ago(age))
        id_ = id_ or self.names.swarm_id(self.names.next_word(table))
        made: Object = {"ID": id_, "Version": {"Index": self.index}, "CreatedAt": at, "UpdatedAt": at, **obj}
        self.tables[table][id_] = made
        if table == "tasks":
            self._by_service.setdefault(made["ServiceID"], {})[id_] = made
            self.moving.add(id_)
        if age == 0.0:
            self._tell(table, "create", made)
        return made

    def touch(self, table: str, obj: Object, action: str = "update", **attributes: str) -> None:
        """Note that an object was changed: next index, new time, an event (none for tasks: the engine sends none)."""
        self.index += 1
        obj["Version"] = {"Index": self.index}
        obj["UpdatedAt"] = rfc3339_nano(self.clock.now())
        if table == "tasks":
            self.moving.add(obj["ID"])
        self._tell(table, action, obj, **attributes)

    def drop(self, table: str, id_: str) -> None:
        """Forget an object."""
        gone = self.tables[table].pop(id_)
        if table == "tasks":
            self.moving.discard(id_)
            del self._by_service[gone["ServiceID"]][id_]
        elif table == "services":
            self.moving.update(self._by_service.get(id_, ()))
        self.index += 1
        self._tell(table, "remove", gone)

    def find(self, table: str, word: str) -> Object | None:
        """An object by id, exact name, or unambiguous beginning of an id, in that order."""
        objects = self.tables[table]
        if word in objects:
            return objects[word]
        named = [obj for obj in objects.values() if name_of(table, obj) == word]
        if named:
            return named[0]
        begun = [obj for id_, obj in objects.items() if word and id_.startswith(word)]
        return begun[0] if len(begun) == 1 else None

    def tasks_of(self, service_id: str) -> list[Object]:
        """The tasks of a service, oldest first."""
        return list(self._by_service.get(service_id, {}).values())

    def image_exists(self, image: str) -> bool:
        """Whether the simulated registry has an image."""
        return image.partition("@")[0] not in self.missing_images and not image.endswith((":nope", ":missing"))

    def schedulable(self, service: Object | None = None) -> list[Object]:
        """The nodes that take tasks (of a service, by its constraints)."""
        ready = [
            node
            for node in self.tables["nodes"].values()
            if node["Spec"]["Availability"] == "active" and node["Status"]["State"] == "ready"
        ]
        if service is None:
            return ready
        placement = service["Spec"]["TaskTemplate"].get("Placement") or {}
        return [node for node in ready if all(_satisfies(node, term) for term in placement.get("Constraints") or ())]

    def status_of(self, service: Object) -> Object:
        """``ServiceStatus`` of a service: it counts every generation of tasks, as the engine does."""
        tasks = self.tasks_of(service["ID"])
        mode = service["Spec"]["Mode"]
        running = sum(task["Status"]["State"] == "running" for task in tasks)
        completed = sum(task["Status"]["State"] == "complete" for task in tasks)
        if "Global" in mode:
            desired = len(self.schedulable(service))
        elif "ReplicatedJob" in mode:
            desired = 0 if completed else mode["ReplicatedJob"].get("MaxConcurrent", 1)
        else:
            desired = replicas_of(service)
        return {"RunningTasks": running, "DesiredTasks": desired, "CompletedTasks": completed}

    def snapshot(self, table: str) -> list[Object]:
        """Copies of all objects of a table, sorted by name."""
        objects = sorted(self.tables[table].values(), key=lambda obj: (name_of(table, obj), obj["ID"]))
        return [copy.copy(obj) for obj in objects]

    def _tell(self, table: str, action: str, obj: Object, **attributes: str) -> None:
        if table == "tasks":
            return
        named = {"name": name_of(table, obj), **attributes}
        self.events.add(table.removesuffix("s"), action, obj["ID"], named, scope="swarm")


def name_of(table: str, obj: Object) -> str:
    """The name of a Swarm object."""
    if table == "nodes":
        return str(obj["Description"]["Hostname"])
    if table == "networks":
        return str(obj["Spec"]["Name"] if "Spec" in obj else obj["Name"])
    if table == "tasks":
        return f"{obj['ServiceID']}.{obj.get('Slot', 0):05}.{obj['ID']}"
    return str(obj["Spec"]["Name"])


def replicas_of(service: Object) -> int:
    """How many replicas a replicated service wants; the default is 1."""
    wanted = (service["Spec"]["Mode"].get("Replicated") or {}).get("Replicas")
    return 1 if wanted is None else int(wanted)


def _satisfies(node: Object, constraint: str) -> bool:
    negated = "!=" in constraint
    field, _, value = constraint.replace("!=", "==").partition("==")
    field, value = field.strip(), value.strip()
    labels = node["Spec"].get("Labels") or {}
    found = {
        "node.role": node["Spec"]["Role"],
        "node.hostname": node["Description"]["Hostname"],
        "node.id": node["ID"],
    }.get(field, labels.get(field.removeprefix("node.labels."), ""))
    return bool((found == value) != negated)
