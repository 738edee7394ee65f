"""One simulated Docker engine: containers, images, networks, volumes, and perhaps a Swarm that it manages."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from console.demo.clockwork import Bell, Names, WorldClock, parse_time, rfc3339_nano
from console.demo.cluster import Controller
from console.demo.docker_events import EventLog
from console.demo.swarm_state import Swarm

Object = dict[str, Any]
API_VERSION = "1.41"
MIN_API_VERSION = "1.12"
NEVER = "0001-01-01T00:00:00Z"


class Engine:
    """An engine named ``name``; ``ticked`` rings whenever time has passed. Containers are kept in the shape of inspect."""

    def __init__(self, name: str, clock: WorldClock, seed: int) -> None:
        self.name = name
        self.clock = clock
        self.names = Names(seed, name)
        self.id = self.names.uid("engine")
        self.events = EventLog(clock)
        self.ticked = Bell()
        self.containers: dict[str, Object] = {}
        self.networks: dict[str, Object] = {}
        self.volumes: dict[str, Object] = {}
        self.images: dict[str, Object] = {}
        self.swarm: Swarm | None = None
        self.missing_images: set[str] = set()
        self.controllers: list[Controller] = []
        for driver, network in (("bridge", "bridge"), ("host", "host"), ("null", "none")):
            self.add_network(network, driver=driver, age=200 * 86400)

    def step(self) -> None:
        """Let the controllers act; the clock has been advanced before."""
        for controller in self.controllers:
            controller.step()
        self.ticked.ring()

    def find_container(self, word: str) -> Object | None:
        """A container by id, name, or unambiguous beginning of an id."""
        if word in self.containers:
            return self.containers[word]
        for container in self.containers.values():
            if container["Name"] == f"/{word.removeprefix('/')}":
                return container
        begun = [container for id_, container in self.containers.items() if word and id_.startswith(word)]
        return begun[0] if len(begun) == 1 else None

    def find_networks(self, word: str) -> list[Object]:
        """The networks that a word names: one by id, else all of that name."""
        if word in self.networks:
            return [self.networks[word]]
        named = [network for network in self.networks.values() if network["Name"] == word]
        return named or [network for id_, network in self.networks.items() if word and id_.startswith(word)]

    def add_network(
        self,
        name: str,
        *,
        driver: str = "bridge",
        labels: dict[str, str] | None = None,
        age: float = 0.0,
        internal: bool = False,
    ) -> Object:
        """A new local network."""
        id_ = self.names.hexadecimal(self.names.next_word(f"network/{name}"))
        network: Object = {
            "Name": name,
            "Id": id_,
            "Created": rfc3339_nano(self.clock.ago(age)),
            "Scope": "local",
            "Driver": driver,
            "EnableIPv6": False,
            "IPAM": {"Driver": "default", "Options": {}, "Config": [{"Subnet": f"172.{17 + len(self.networks)}.0.0/16"}]},
            "Internal": internal,
            "Attachable": False,
            "Ingress": False,
            "Containers": {},
            "Options": {},
            "Labels": labels or {},
        }
        self.networks[id_] = network
        if not age:
            self.events.add("network", "create", id_, {"name": name, "type": driver})
        return network

    def add_volume(self, name: str, labels: dict[str, str] | None = None, age: float = 0.0) -> Object:
        """A new volume, or the one that has this name."""
        if name in self.volumes:
            return self.volumes[name]
        volume: Object = {
            "CreatedAt": rfc3339_nano(self.clock.ago(age)),
            "Driver": "local",
            "Labels": labels or {},
            "Mountpoint": f"/var/lib/docker/volumes/{name}/_data",
            "Name": name,
            "Options": {},
            "Scope": "local",
        }
        self.volumes[name] = volume
        if not age:
            self.events.add("volume", "create", name, {"driver": "local"})
        return volume

    def image(self, reference: str) -> Object | None:
        """The image that a reference (or an id) names here; None when it was not pulled."""
        for image in self.images.values():
            if image["Id"] == reference or reference in image["RepoTags"] or reference in image["RepoDigests"]:
                return image
        return None

    def pull(self, reference: str, word: str = "", age: float = 0.0) -> Object | None:
        """Have an image; another ``word`` makes another image take the tag. None when the registry does not have it."""
        if reference.partition("@")[0] in self.missing_images or reference.endswith((":nope", ":missing")):
            return None
        bare = reference.partition("@")[0]
        id_ = f"sha256:{self.names.hexadecimal(f'image/{bare}/{word}')}"
        for image in self.images.values():
            if image["Id"] != id_ and bare in image["RepoTags"]:
                image["RepoTags"].remove(bare)
        repository = bare.rpartition(":")[0] or bare
        self.images[id_] = {
            "Id": id_,
            "RepoTags": [bare],
            "RepoDigests": [f"{repository}@sha256:{self.names.hexadecimal(f'digest/{bare}/{word}')}"],
            "Created": rfc3339_nano(self.clock.ago(age + 86400)),
            "Size": 40_000_000 + len(bare) * 1_000_000,
            "Architecture": "amd64",
            "Os": "linux",
            "Config": {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin"], "Cmd": ["serve"]},
        }
        if not age:
            self.events.add("image", "pull", bare, {"name": repository})
        return self.images[id_]

    def tell(self, container: Object, action: str, age: float = 0.0, **more: str) -> None:
        """Record an event of a container."""
        attributes = {
            "name": container["Name"].removeprefix("/"),
            "image": container["Config"]["Image"],
            **(container["Config"].get("Labels") or {}),
            **more,
        }
        self.events.add("container", action, container["Id"], attributes, age=age)

    def start(self, container: Object, age: float = 0.0) -> None:
        """Start (or go on after restart) a container."""
        state = container["State"]
        # The world's clock moves in ticks; an engine's starts are never at one instant.
        at = rfc3339_nano(max(self.clock.ago(age), parse_time(state["StartedAt"]) + timedelta(microseconds=1)))
        state.update(Status="running", Running=True, Paused=False, Restarting=False, Dead=False, OOMKilled=False)
        state.update(ExitCode=0, Error="", Pid=2000 + len(container["Name"]), StartedAt=at)
        if container["Config"].get("Healthcheck") and "Health" not in state:
            state["Health"] = {"Status": "starting", "FailingStreak": 0, "Log": []}
        if not age:
            self.tell(container, "start")

    def exit(self, container: Object, code: int, *, oom: bool = False, age: float = 0.0) -> None:
        """End a container's process."""
        state = container["State"]
        state.update(Status="exited", Running=False, Paused=False, Restarting=False, Pid=0, ExitCode=code, OOMKilled=oom)
        state["FinishedAt"] = rfc3339_nano(self.clock.ago(age))
        if not age:
            self.tell(container, "die", exitCode=str(code))

    def remove_container(self, container: Object) -> None:
        """Remove a container and its endpoints."""
        del self.containers[container["Id"]]
        for network in self.networks.values():
            network["Containers"].pop(container["Id"], None)
        self.tell(container, "destroy")

    def connect(self, network: Object, container: Object, aliases: list[str] | None = None) -> None:
        """Give a container an endpoint on a network."""
        address = f"{network['IPAM']['Config'][0]['Subnet'].rsplit('.', 2)[0]}.0.{2 + len(network['Containers'])}"
        container["NetworkSettings"]["Networks"][network["Name"]] = {
            "NetworkID": network["Id"],
            "EndpointID": self.names.hexadecimal(f"{network['Id']}/{container['Id']}"),
            "IPAddress": address,
            "Aliases": aliases or [],
        }
        name = container["Name"].removeprefix("/")
        network["Containers"][container["Id"]] = {"Name": name, "IPv4Address": f"{address}/16"}

    def version(self) -> Object:
        """``GET /version``."""
        return {
            "Platform": {"Name": "Docker Engine - Community"},
            "Version": "20.10.24",
            "ApiVersion": API_VERSION,
            "MinAPIVersion": MIN_API_VERSION,
            "Os": "linux",
            "Arch": "amd64",
            "KernelVersion": "6.1.0",
            "GoVersion": "go1.19",
            "GitCommit": "5d6db84",
            "BuildTime": "2023-04-04T18:18:25.000000000+00:00",
            "Components": [{"Name": "Engine", "Version": "20.10.24", "Details": {"ApiVersion": API_VERSION}}],
        }

    def info(self) -> Object:
        """``GET /info``."""
        states = [container["State"]["Status"] for container in self.containers.values()]
        found: Object = {
            "ID": self.id,
            "Name": self.name,
            "Containers": len(states),
            "ContainersRunning": states.count("running"),
            "ContainersPaused": states.count("paused"),
            "ContainersStopped": len(states) - states.count("running") - states.count("paused"),
            "Images": len(self.images),
            "Driver": "overlay2",
            "MemTotal": 16 * 1024**3,
            "NCPU": 8,
            "OperatingSystem": "Debian GNU/Linux 12 (bookworm)",
            "OSType": "linux",
            "Architecture": "x86_64",
            "KernelVersion": "6.1.0",
            "ServerVersion": "20.10.24",
            "SystemTime": rfc3339_nano(self.clock.now()),
            "Labels": [],
            "Warnings": None,
            "Swarm": {"NodeID": "", "NodeAddr": "", "LocalNodeState": "inactive", "ControlAvailable": False, "Error": ""},
        }
        if self.swarm is not None:
            nodes = self.swarm.tables["nodes"].values()
            managers = [node for node in nodes if node["Spec"]["Role"] == "manager"]
            found["Swarm"] = {
                "NodeID": managers[0]["ID"],
                "NodeAddr": managers[0]["Status"]["Addr"],
                "LocalNodeState": "active",
                "ControlAvailable": True,
                "Error": "",
                "RemoteManagers": [{"NodeID": node["ID"], "Addr": f"{node['Status']['Addr']}:2377"} for node in managers],
                "Nodes": len(nodes),
                "Managers": len(managers),
                "Cluster": {
                    "ID": self.swarm.id,
                    "Version": {"Index": self.swarm.index},
                    "CreatedAt": self.swarm.created,
                    "UpdatedAt": self.swarm.created,
                    "Spec": {"Name": "default", "Labels": {}},
                },
            }
        return found
