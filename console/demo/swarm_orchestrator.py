"""What moves a simulated Swarm: slots are filled, updates roll task by task, drained nodes are emptied, failures stop updates.

Update states and messages are those of the real engine. A task takes about one and a half seconds from new to running.
"""

from __future__ import annotations

import copy
from datetime import datetime
from typing import Any

from console.demo.clockwork import parse_time, rfc3339_nano
from console.demo.swarm_state import ENDED, Swarm, replicas_of

Object = dict[str, Any]
_NEXT = {
    "new": ("assigned", 0.2, "scheduler assigned task to node"),
    "assigned": ("preparing", 0.3, "preparing"),
    "preparing": ("starting", 0.6, "starting"),
    "starting": ("running", 0.4, "started"),
}
_STOPPING_SECONDS = 0.8
_RETRY_SECONDS = 5.0
_HISTORY = 5


def begin_update(swarm: Swarm, service: Object, spec: Object, rollback: str = "", *, asked: bool = False) -> None:
    """Put a new spec in force; tasks roll when their template changed, and only then an update has a status.

    A rollback that was asked for swaps the two specs and always has a status; one that the swarm makes by itself leaves no
    previous spec.
    """
    old = service["Spec"]
    rolls = old["TaskTemplate"] != spec["TaskTemplate"]
    service["Spec"] = copy.deepcopy(spec)
    if rollback and not asked:
        service.pop("PreviousSpec", None)
    else:
        service["PreviousSpec"] = old
    service.pop("UpdateStatus", None)
    wanted = spec.get("EndpointSpec") or {}
    ports = [{"PublishedPort": 30000 + index, **port} for index, port in enumerate(wanted.get("Ports") or ())]
    service["Endpoint"] = {"Spec": wanted, "Ports": ports} if ports else {"Spec": wanted}
    if rolls or asked:
        state = "rollback_started" if rollback else "updating"
        _set_update(swarm, service, state, rollback or "update in progress", quiet=True)
    swarm.touch("services", service, **({"updatestate.new": service["UpdateStatus"]["State"]} if rolls or asked else {}))
    swarm.dirty.add(service["ID"])


def new_task(swarm: Swarm, service: Object, node: Object | None, slot: int, *, age: float = 0.0, state: str = "new") -> Object:
    """A task of a service in a slot (0: a global service's); without a node it is pending."""
    template = copy.deepcopy(service["Spec"]["TaskTemplate"])
    task = {
        "Labels": {},
        "Spec": template,
        "ServiceID": service["ID"],
        "Status": {"Timestamp": rfc3339_nano(swarm.clock.ago(age)), "State": state, "Message": "created", "PortStatus": {}},
        "DesiredState": "running",
    }
    if slot:
        task["Slot"] = slot
    made = swarm.add("tasks", task, age=age)
    if node is None:
        count = len(swarm.tables["nodes"])
        made["Status"] |= {
            "State": "pending",
            "Message": "pending task scheduling",
            "Err": f"no suitable node (scheduling constraints not satisfied on {count} node{'s' if count != 1 else ''})",
        }
    else:
        made["NodeID"] = node["ID"]
    if state == "running":
        _run(swarm, made)
    return made


class Orchestrator:
    """Acts on one Swarm, once a step."""

    def __init__(self, swarm: Swarm) -> None:
        self._swarm = swarm

    def step(self) -> None:
        """Advance tasks that are on their way, then every service that is not settled."""
        for id_ in sorted(self._swarm.moving):
            task = self._swarm.tables["tasks"][id_]
            if _settled(task) and task["ServiceID"] in self._swarm.tables["services"]:
                self._swarm.moving.discard(id_)
            else:
                self._advance(task)
        for id_ in sorted(self._swarm.dirty):
            service = self._swarm.tables["services"].get(id_)
            if service is None or self._settle(service):
                self._swarm.dirty.discard(id_)

    def _advance(self, task: Object) -> None:
        state, desired = task["Status"]["State"], task["DesiredState"]
        waited = self._waited(task)
        if task["ServiceID"] not in self._swarm.tables["services"] and desired != "remove":
            self._want(task, "remove")
        elif desired == "remove":
            if waited >= _STOPPING_SECONDS or state in ENDED:
                self._swarm.drop("tasks", task["ID"])
        elif desired == "shutdown":
            if state not in ENDED and waited >= _STOPPING_SECONDS:
                self._to(task, "shutdown", "shutdown")
        elif state in _NEXT:
            following, after, message = _NEXT[state]
            if waited >= after:
                self._forward(task, following, message)

    def _forward(self, task: Object, following: str, message: str) -> None:
        image = task["Spec"]["ContainerSpec"]["Image"]
        if following == "starting" and not self._swarm.image_exists(image):
            self._to(task, "rejected", "preparing", err=f"No such image: {image}")
            self._want(task, "shutdown", stamp=False)
        elif following == "running":
            _run(self._swarm, task)
            self._to(task, "running", message)
        else:
            self._to(task, following, message)
        self._swarm.dirty.add(task["ServiceID"])

    def _settle(self, service: Object) -> bool:
        """Fill, empty and roll the slots of one service; returns whether nothing is left to do."""
        current = self._current(service)
        places = self._places(service)
        for place in [place for place in current if place not in places]:
            self._want(current.pop(place), "remove" if "Replicated" in service["Spec"]["Mode"] else "shutdown")
        rolling = service.get("UpdateStatus", {}).get("State") in ("updating", "rollback_started")
        filled = self._fill(service, places, current)
        if rolling and self._fail_if_broken(service):
            return False
        if rolling:
            return self._roll(service, current, filled)
        return filled and all(task["Status"]["State"] == "running" for task in current.values())

    def _places(self, service: Object) -> list[int | str]:
        if "Global" in service["Spec"]["Mode"]:
            return [node["ID"] for node in self._swarm.schedulable(service)]
        return list(range(1, replicas_of(service) + 1))

    def _current(self, service: Object) -> dict[int | str, Object]:
        """The task in force by slot (or node): one that is wanted and stands on a node that may have it."""
        allowed = {node["ID"] for node in self._swarm.schedulable(service)}
        current: dict[int | str, Object] = {}
        for task in self._swarm.tasks_of(service["ID"]):
            if task["DesiredState"] != "running" or task["Status"]["State"] in ENDED:
                continue
            if task.get("NodeID") not in allowed and "NodeID" in task:
                self._want(task, "shutdown")
            elif "NodeID" not in task and allowed:
                self._want(task, "remove")
            else:
                current[task.get("Slot") or task.get("NodeID", "")] = task
        return current

    def _fill(self, service: Object, places: list[int | str], current: dict[int | str, Object]) -> bool:
        complete = True
        for place in places:
            if place in current:
                continue
            complete = False
            if self._failed_lately(service, place) < _RETRY_SECONDS:
                continue
            current[place] = new_task(
                self._swarm, service, self._node_for(service, place), place if isinstance(place, int) else 0
            )
            self._forget(service, place)
        return complete

    def _roll(self, service: Object, current: dict[int | str, Object], filled: bool) -> bool:
        template = service["Spec"]["TaskTemplate"]
        outdated = [place for place, task in current.items() if task["Spec"] != template]
        policy = service["Spec"].get("UpdateConfig") or {}
        parallel = policy.get("Parallelism", 1) or len(current) or 1
        delay = policy.get("Delay", 0) / 1e9
        fresh = [task for task in current.values() if task["Spec"] == template]
        young = [task for task in fresh if task["Status"]["State"] != "running" or self._waited(task) < delay]
        for place in sorted(outdated, key=str)[: max(0, parallel - len(young))]:
            self._want(current[place], "shutdown")
            slot = place if isinstance(place, int) else 0
            new_task(self._swarm, service, self._node_for(service, place), slot)
            self._forget(service, place)
        if outdated or young or not filled:
            return False
        back = service["UpdateStatus"]["State"] == "rollback_started"
        state, message = ("rollback_completed", "rollback completed") if back else ("completed", "update completed")
        _set_update(self._swarm, service, state, message)
        return True

    def _fail_if_broken(self, service: Object) -> bool:
        started = parse_time(service["UpdateStatus"]["StartedAt"])
        template = service["Spec"]["TaskTemplate"]
        broken = [
            task
            for task in self._swarm.tasks_of(service["ID"])
            if task["Status"]["State"] in ("failed", "rejected")
            and task["Spec"] == template
            and parse_time(task["CreatedAt"]) >= started
        ]
        action = (service["Spec"].get("UpdateConfig") or {}).get("FailureAction") or "pause"
        if not broken or action == "continue":
            return False
        why = f"due to failure or early termination of task {broken[0]['ID']}"
        if service["UpdateStatus"]["State"] == "rollback_started":
            _set_update(self._swarm, service, "rollback_paused", f"rollback paused {why}")
        elif action == "rollback" and "PreviousSpec" in service:
            begin_update(self._swarm, service, service["PreviousSpec"], rollback=f"update rolled back {why}")
        else:
            _set_update(self._swarm, service, "paused", f"update paused {why}")
        return True

    def _node_for(self, service: Object, place: int | str) -> Object | None:
        if isinstance(place, str):
            return self._swarm.tables["nodes"][place]
        load: dict[str, int] = {}
        for task in self._swarm.tables["tasks"].values():
            if task["DesiredState"] == "running" and "NodeID" in task:
                weight = 100 if task["ServiceID"] == service["ID"] else 1
                load[task["NodeID"]] = load.get(task["NodeID"], 0) + weight
        nodes = self._swarm.schedulable(service)
        return min(nodes, key=lambda node: (load.get(node["ID"], 0), node["Description"]["Hostname"]), default=None)

    def _failed_lately(self, service: Object, place: int | str) -> float:
        waits = [
            self._waited(task)
            for task in self._swarm.tasks_of(service["ID"])
            if (task.get("Slot") or task.get("NodeID")) == place
            and task["Status"]["State"] in ("failed", "rejected")
            and task["Spec"] == service["Spec"]["TaskTemplate"]
        ]
        return min(waits, default=_RETRY_SECONDS)

    def _forget(self, service: Object, place: int | str) -> None:
        past = [
            task
            for task in self._swarm.tasks_of(service["ID"])
            if (task.get("Slot") or task.get("NodeID")) == place and task["Status"]["State"] in ENDED
        ]
        for task in past[: max(0, len(past) - _HISTORY + 1)]:
            self._swarm.drop("tasks", task["ID"])

    def _want(self, task: Object, desired: str, *, stamp: bool = True) -> None:
        task["DesiredState"] = desired
        if stamp:
            # Stopping is measured from the moment it was asked for.
            task["Status"]["Timestamp"] = rfc3339_nano(self._swarm.clock.now())
        self._swarm.touch("tasks", task)
        self._swarm.dirty.add(task["ServiceID"])

    def _to(self, task: Object, state: str, message: str, err: str = "") -> None:
        status = task["Status"]
        status.update(State=state, Message=message, Timestamp=rfc3339_nano(self._swarm.clock.now()))
        if err:
            status["Err"] = err
        self._swarm.touch("tasks", task)

    def _waited(self, task: Object) -> float:
        since: datetime = parse_time(task["Status"]["Timestamp"])
        return (self._swarm.clock.now() - since).total_seconds()


def _settled(task: Object) -> bool:
    state, desired = task["Status"]["State"], task["DesiredState"]
    return (state in ("running", "pending") and desired == "running") or (state in ENDED and desired == "shutdown")


def _run(swarm: Swarm, task: Object) -> None:
    container = swarm.names.hexadecimal(f"task/{task['ID']}")
    task["Status"] |= {"State": "running", "Message": "started"}
    task["Status"]["ContainerStatus"] = {"ContainerID": container, "PID": 4000 + len(swarm.tables["tasks"]), "ExitCode": 0}


def _set_update(swarm: Swarm, service: Object, state: str, message: str, *, quiet: bool = False) -> None:
    now = rfc3339_nano(swarm.clock.now())
    status = service.get("UpdateStatus") or {"StartedAt": now}
    status = {**status, "State": state, "Message": message}
    if state in ("completed", "rollback_completed"):
        status["CompletedAt"] = now
    service["UpdateStatus"] = status
    if not quiet:
        swarm.touch("services", service, **{"updatestate.new": state})
