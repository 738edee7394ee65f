"""A Swarm of several "machines" on this one: an engine each, wired to one switch in a private network namespace.

Nothing leads out of the switch, so nothing in the lab can reach another network. Two runs use the same addresses without
meeting. What can't work here: virtual IPs and ingress (no IPVS in many kernels; use `endpoint_mode: dnsrr` and `mode: host`),
and encrypted overlays.
"""

from types import TracebackType
from typing import Any, Self

import httpx

from tests.real import images
from tests.real.engine import Engine, ip
from tests.real.place import Place
from tests.real.processes import STARTED, HarnessError, run, wait_until

NETWORK = "198.18.7"
SWITCH = f"{NETWORK}.254"
"""The switch's own address, where the lab's registry listens."""

REGISTRY_PORT = 5000


class SwarmLab:
    """`managers` + `workers` engines in one swarm, numbered from 1 with the managers first.

    Heartbeats are 1 s, so a lost node shows as down after about 3.5 s. The slow methods block: call them through
    `asyncio.to_thread` in a test whose loop must go on. `mend` brings the lab back to an empty, healthy swarm.
    """

    def __init__(self, place: Place, managers: int = 1, workers: int = 2) -> None:
        self.managers = managers
        self._place = place
        self.switch = place.network(place.unique("sw"))
        self.engines: list[Engine] = []
        for number in range(1, managers + workers + 1):
            namespace = place.network(place.unique("n"))
            flags = ("--insecure-registry", f"{NETWORK}.0/24")
            self.engines.append(Engine(place, f"node{number}", namespace, *flags))
        self._archive = images.root_archive(place)

    def __enter__(self) -> Self:
        self._wire()
        self._form()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for engine in self.engines:
            engine.kill()
        for namespace in (self.switch, *(engine.namespace for engine in self.engines)):
            run("ip", "netns", "del", namespace, check=False)

    def engine(self, number: int) -> Engine:
        """The engine of one node; node 1 is the first manager."""
        return self.engines[number - 1]

    @property
    def manager(self) -> Engine:
        """The first manager that has power and answers; raises `HarnessError` when none does."""
        for engine in self.engines[: self.managers]:
            if engine.running and engine.answers():
                return engine
        raise HarnessError("no manager answers")

    def address(self, number: int) -> str:
        """The address of a node inside the lab."""
        return f"{NETWORK}.{number}"

    def docker(self, *argv: str, timeout: float = STARTED) -> str:
        """The docker command line on a manager."""
        return self.manager.docker(*argv, timeout=timeout)

    def nodes(self) -> dict[str, dict[str, Any]]:
        """The swarm's own view of its nodes, by host name (the Engine API's node objects)."""
        return {node["Description"]["Hostname"]: node for node in self.manager.api("GET", "/nodes")}

    def state(self, number: int) -> str:
        """What the swarm says of one node: ready, down, unknown, disconnected."""
        return str(self.nodes()[self.engine(number).name]["Status"]["State"])

    def wait_state(self, number: int, state: str, timeout: float = STARTED) -> None:
        """Wait until the swarm says so of a node; while it has no leader it says nothing."""

        def said() -> bool:
            try:
                return self.state(number) == state
            except (HarnessError, httpx.TransportError):
                return False

        wait_until(said, f"node {number} is {state}", timeout, 0.2)

    def cut(self, number: int) -> None:
        """Pull the network cable of a node; its unix socket still answers."""
        ip("link", "set", f"p{number}", "down", namespace=self.switch)

    def heal(self, number: int) -> None:
        """Put the cable back."""
        ip("link", "set", f"p{number}", "up", namespace=self.switch)

    def mend(self) -> None:
        """Bring the lab back to a healthy, empty swarm: repaired when that works, formed anew when it does not."""
        try:
            self._repair()
        except (HarnessError, httpx.TransportError):
            for number, engine in enumerate(self.engines, 1):
                self.heal(number)
                engine.wipe()
            self._form()

    def _repair(self) -> None:
        """Heal links, wake and power all nodes, wait until all are ready, and remove what tests left in the swarm."""
        for number, engine in enumerate(self.engines, 1):
            self.heal(number)
            if not engine.running:
                engine.launch()
        for engine in self.engines:
            engine.unhang()
            engine.wait_ready()
            if engine.api("GET", "/info")["Swarm"]["LocalNodeState"] == "inactive":
                raise HarnessError(f"{engine.name} has left the swarm")
        wait_until(self._healthy, "all nodes are ready and the swarm has a leader", STARTED, 0.2)
        self.sweep()
        for engine in self.engines:
            images.load(engine, self._archive)

    def sweep(self) -> None:
        """Remove services, then networks, configs and secrets; put node labels and availability back."""
        manager = self.manager
        services = {service["ID"] for service in manager.api("GET", "/services")}
        for service in services:
            manager.forget(f"/services/{service}")
        wait_until(lambda: not self._tasks(), "the tasks of removed services end", STARTED, 0.2)
        for kind in ("configs", "secrets"):
            for thing in manager.api("GET", f"/{kind}"):
                manager.forget(f"/{kind}/{thing['ID']}")
        for number, engine in enumerate(self.engines, 1):
            node = self.nodes()[engine.name]
            role = "manager" if number <= self.managers else "worker"
            wanted = {"Role": role, "Availability": "active", "Labels": {}}
            if {"Labels": {}, **node["Spec"]} != wanted:
                manager.api("POST", f"/nodes/{node['ID']}/update", wanted, version=str(node["Version"]["Index"]))
            engine.sweep()
        wait_until(self._only_own_networks, "networks left by tests go", STARTED, 0.2)

    def _tasks(self) -> list[Any]:
        """Tasks still on their way down; the swarm keeps no record of those of a removed service for long."""
        tasks: list[Any] = self.manager.api("GET", "/tasks")
        over = {"complete", "failed", "rejected", "shutdown", "orphaned", "remove"}
        return [task for task in tasks if task["Status"]["State"] not in over]

    def _only_own_networks(self) -> bool:
        """Ask for the removal of overlay networks until it is granted: a network lives while a task's address does."""
        left = [net for net in self.manager.api("GET", "/networks") if net["Scope"] == "swarm" and net["Name"] != "ingress"]
        for net in left:
            self.manager.try_forget(f"/networks/{net['Id']}")
        return not left

    def _healthy(self) -> bool:
        try:
            nodes = self.nodes()
        except (HarnessError, httpx.TransportError):  # no leader yet
            return False
        leaders = [node for node in nodes.values() if node.get("ManagerStatus", {}).get("Leader")]
        return len(leaders) == 1 and [node["Status"]["State"] for node in nodes.values()].count("ready") == len(self.engines)

    def _wire(self) -> None:
        switch = self.switch
        ip("netns", "add", switch)
        ip("link", "set", "lo", "up", namespace=switch)
        ip("link", "add", "br0", "type", "bridge", namespace=switch)
        ip("addr", "add", f"{SWITCH}/24", "dev", "br0", namespace=switch)
        ip("link", "set", "br0", "up", namespace=switch)
        for number, engine in enumerate(self.engines, 1):
            own = engine.namespace
            ip("netns", "add", own)
            ip("link", "set", "lo", "up", namespace=own)
            ip("link", "add", "eth0", "type", "veth", "peer", "name", f"p{number}", "netns", switch, namespace=own)
            ip("addr", "add", f"{self.address(number)}/24", "dev", "eth0", namespace=own)
            ip("link", "set", "eth0", "up", namespace=own)
            ip("link", "set", f"p{number}", "master", "br0", "up", namespace=switch)

    def _form(self) -> None:
        for engine in self.engines:
            engine.launch()
        for engine in self.engines:
            engine.wait_ready()
        self._join()
        for engine in self.engines:
            images.load(engine, self._archive)

    def _join(self) -> None:
        def addresses(number: int) -> tuple[str, ...]:
            return "--advertise-addr", self.address(number), "--listen-addr", f"{self.address(number)}:2377"

        first = self.engine(1)
        first.docker("swarm", "init", *addresses(1))
        first.docker("swarm", "update", "--dispatcher-heartbeat", "1s", "--task-history-limit", "5")
        tokens = {role: first.docker("swarm", "join-token", "-q", role).strip() for role in ("manager", "worker")}
        for number in range(2, len(self.engines) + 1):
            token = tokens["manager" if number <= self.managers else "worker"]
            self.engine(number).docker("swarm", "join", "--token", token, *addresses(number), f"{self.address(1)}:2377")
        wait_until(self._healthy, "all nodes join", STARTED, 0.1)
