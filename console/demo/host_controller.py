"""What happens to containers by itself: probes turn good, a crashing one goes on crashing, restart policies are kept."""

from __future__ import annotations

from typing import Any

from console.demo.clockwork import parse_time, rfc3339_nano
from console.demo.engine import Engine

Object = dict[str, Any]
_PROBE_SECONDS = 8.0
_CRASH_SECONDS = 12.0


class HostController:
    """Acts on the containers of one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def step(self) -> None:
        """Look at every container once."""
        for container in list(self._engine.containers.values()):
            state = container["State"]
            if state.get("Health", {}).get("Status") == "starting" and state["Running"]:
                self._probe(container)
            elif state["Status"] == "restarting":
                self._crash_again(container)

    def _probe(self, container: Object) -> None:
        state = container["State"]
        if self._since(state["StartedAt"]) < _PROBE_SECONDS:
            return
        now = rfc3339_nano(self._engine.clock.now())
        log = [{"ExitCode": 0, "Output": "ok", "Start": now, "End": now}]
        state["Health"] = {"Status": "healthy", "FailingStreak": 0, "Log": log}
        self._engine.tell(container, "health_status: healthy")

    def _crash_again(self, container: Object) -> None:
        if self._since(container["State"]["FinishedAt"]) < _CRASH_SECONDS:
            return
        self._engine.start(container)
        container["RestartCount"] += 1
        self._engine.exit(container, 2)
        container["State"].update(Status="restarting", Restarting=True)

    def _since(self, text: str) -> float:
        return (self._engine.clock.now() - parse_time(text)).total_seconds()
