"""A container of a host: start, stop, restart.

Source (Docker Engine API 1.41): ``POST /containers/{id}/start|stop|restart``; start and stop answer 304 when it is so already.
There is no version to bind to: the plan binds to the container's id, its state and when it last started. One that keeps
crashing starts all the time, so stopping it binds to its id and to its being up only.
"""

from __future__ import annotations

from typing import Any

from console.errors import Refused
from console.kit.dig import dig, flag, text
from console.model.plan import FieldChange, Intent, Plan, PlanStep
from console.model.refs import Ref

VERBS = ("start", "stop", "restart")
SWARM_TASK_LABEL = "com.docker.swarm.task.id"
# Docker's own grace period between the stop signal and the kill, where the container sets none.
GRACE_SECONDS = 10
# What the engine may need beyond that to see a process end and to answer.
MARGIN_SECONDS = 3


def plan_containers(intent: Intent, objects: dict[Ref, dict[str, Any]], own_hostname: str) -> Plan:
    """The plan for containers (raw inspections, by reference).

    :param own_hostname: this process's host name; inside a container it is the container's short id.
    :raises Refused: unlawful in this state, with the reason.
    """
    steps, effects = [], []
    forbidden, gone = "", False
    for ref, raw in objects.items():
        state = text(raw, "State", "Status")
        running = flag(raw, "State", "Running")
        if text(raw, "Config", "Labels", SWARM_TASK_LABEL):
            raise Refused(f"{ref.name} is a task of a swarm, which would start another.", "Restart or scale its service.")
        if flag(raw, "State", "Paused"):
            raise Refused(f"{ref.name} is paused.", "Unpause it with docker first.")
        if (intent.verb == "start" and running) or (intent.verb == "stop" and not running):
            continue
        if intent.verb != "start" and len(own_hostname) == 12 and text(raw, "Id").startswith(own_hostname):
            forbidden = f"{ref.name} is the container that this console runs in."
        after = "exited" if intent.verb == "stop" else "running"
        removes = intent.verb == "stop" and flag(raw, "HostConfig", "AutoRemove")
        gone = gone or removes
        steps.append(
            PlanStep(
                key=f"Container/{ref.name}",
                title=f"{intent.verb.capitalize()} {ref.name}",
                ref=ref,
                kind="action",
                precondition=_bound(raw, intent.verb),
                changes=(FieldChange(path="State", before="running" if running else state, after=after),),
                request={"call": intent.verb, "removes": removes},
            )
        )
        effects += _effects(ref, raw, intent.verb)
    reverse = {"start": "stop", "stop": "start"}.get(intent.verb)
    undo = Intent(verb=reverse, targets=tuple(step.ref for step in steps)) if reverse and steps and not gone else None
    no_undo = "a container with --rm is gone when it stops" if gone else "a restart leaves nothing to take back"
    return Plan(
        intent=intent,
        steps=tuple(steps),
        effects=tuple(effects),
        undo=undo,
        no_undo="" if undo else no_undo,
        nothing=""
        if steps
        else f"{'it is' if len(objects) == 1 else 'all are'} {'running' if intent.verb == 'start' else 'stopped'} already",
        forbidden=forbidden,
    )


def facts(raw: dict[str, Any]) -> dict[str, str]:
    """What a plan can bind to."""
    return {
        "id": text(raw, "Id"),
        "running": "true" if flag(raw, "State", "Running") else "false",
        "state": text(raw, "State", "Status"),
        "started": text(raw, "State", "StartedAt"),
    }


def _bound(raw: dict[str, Any], verb: str) -> dict[str, str]:
    flapping = flag(raw, "State", "Restarting")
    names = ("id", "running") if verb == "stop" or flapping else ("id", "state", "started")
    return {name: value for name, value in facts(raw).items() if name in names}


def grace(raw: dict[str, Any]) -> float:
    """Seconds that the container may take to stop before it is killed; a day stands for "as long as it likes"."""
    seconds = dig(raw, "Config", "StopTimeout")
    if not isinstance(seconds, int):
        return GRACE_SECONDS
    return seconds if seconds >= 0 else 86_400


def _effects(ref: Ref, raw: dict[str, Any], verb: str) -> list[str]:
    if verb == "start":
        return []
    said = [f"{ref.name} gets its stop signal and is killed after its grace period."]
    if flag(raw, "HostConfig", "AutoRemove"):
        said.append(f"{ref.name} was started with --rm: it is removed when it stops.")
    if verb == "stop" and (policy := text(raw, "HostConfig", "RestartPolicy", "Name")) == "always":
        said.append(f"Restart policy {policy}: it starts again when the engine restarts.")
    return said


def arrived(raw: dict[str, Any], step: PlanStep) -> bool | None:
    """Whether the call of ``step`` shows in a later inspection; None if that can't be told (yet)."""
    running = flag(raw, "State", "Running")
    if step.request["call"] != "stop" and "started" not in step.precondition:
        return None
    started_again = text(raw, "State", "StartedAt") != step.precondition.get("started")
    match step.request["call"]:
        case "start":
            return running or started_again
        case "stop":
            return not running
        case _ if started_again:
            return True
        case _:
            # Stopped by our call and not started yet, or by somebody else.
            return False if facts(raw)["state"] == step.precondition["state"] else None


def progress(raw: dict[str, Any], step: PlanStep) -> tuple[bool, str]:
    """Whether the container shows the effect of ``step``, and what it waits for.

    :raises Refused: it exited or became unhealthy instead.
    """
    if step.request["call"] == "stop":
        stopped = not flag(raw, "State", "Running")
        return stopped, f"{step.ref.name} is stopped" if stopped else f"{step.ref.name} to stop"
    if not flag(raw, "State", "Running") and not flag(raw, "State", "Restarting"):
        raise Refused(
            f"{step.ref.name} started and exited again with code {raw.get('State', {}).get('ExitCode')}.", "Read its log."
        )
    match text(raw, "State", "Health", "Status"):
        case "" | "healthy" | "none":
            return True, f"{step.ref.name} is running"
        case "unhealthy":
            raise Refused(f"{step.ref.name} runs but its health check fails.", "Read its log and the check's output.")
        case _:
            return False, f"the health check of {step.ref.name}"
