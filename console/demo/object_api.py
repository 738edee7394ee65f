"""Images, networks, volumes and registry look-ups of a simulated engine."""

from __future__ import annotations

from typing import Any

from console.demo.docker_errors import EngineRefusal, grpc
from console.demo.docker_streams import decode_filters
from console.demo.engine import Engine
from console.demo.filters import by_labels, by_name
from console.demo.http_server import Answer, Request

Object = dict[str, Any]


class ObjectApi:
    """Serves ``/images``, ``/networks``, ``/volumes``, ``/distribution`` and ``/system/df``."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def serve(self, parts: list[str], request: Request) -> Answer:
        """One request. Raises :class:`EngineRefusal`."""
        match request.method, parts:
            case "GET", ["images", "json"]:
                return Answer.of_json([{**image, "Containers": -1} for image in self._engine.images.values()])
            case "POST", ["images", "create"]:
                return self._pull(request)
            case "GET", ["images", *name, "json"]:
                return Answer.of_json(self._image("/".join(name)))
            case "GET", ["distribution", *name, "json"]:
                return self._distribution("/".join(name))
            case "GET", ["networks"]:
                return Answer.of_json(self._list_networks(request))
            case "POST", ["networks", "create"]:
                return self._create_network(request)
            case "GET", ["networks", word]:
                return Answer.of_json(self._network(word))
            case "DELETE", ["networks", word]:
                return self._delete_network(word)
            case "POST", ["networks", word, ("connect" | "disconnect") as action]:
                return self._attach(word, action, request)
            case "GET", ["volumes"]:
                volumes = by_labels(list(self._engine.volumes.values()), decode_filters(request), _labels)
                return Answer.of_json({"Volumes": volumes, "Warnings": None})
            case "POST", ["volumes", "create"]:
                body = request.json() or {}
                name = body.get("Name") or self._engine.names.hexadecimal(self._engine.names.next_word("volume"))
                return Answer.of_json(self._engine.add_volume(name, body.get("Labels")), 201)
            case "GET", ["volumes", name]:
                return Answer.of_json(self._volume(name))
            case "DELETE", ["volumes", name]:
                return self._delete_volume(name)
            case "GET", ["system", "df"]:
                size = sum(image["Size"] for image in self._engine.images.values())
                return Answer.of_json({"LayersSize": size, "Images": [], "Containers": [], "Volumes": [], "BuildCache": []})
        raise EngineRefusal(404, "page not found")

    def _image(self, name: str) -> Object:
        image = self._engine.image(name)
        if image is None:
            raise EngineRefusal(404, f"No such image: {name}")
        return image

    def _pull(self, request: Request) -> Answer:
        name, tag = request.first("fromImage"), request.first("tag")
        reference = f"{name}:{tag}" if tag else name
        if self._engine.pull(reference) is None:
            raise EngineRefusal(404, f"manifest for {reference} not found: manifest unknown: manifest unknown")
        lines = (
            b'{"status":"Pulling from ' + name.encode() + b'"}\r\n'
            b'{"status":"Status: Downloaded newer image for ' + reference.encode() + b'"}\r\n'
        )
        return Answer(body=lines, headers={"Content-Type": "application/json"})

    def _distribution(self, name: str) -> Answer:
        missing = self._engine.swarm.missing_images if self._engine.swarm else self._engine.missing_images
        if name.partition("@")[0] in missing:
            raise EngineRefusal(500, f"manifest for {name} not found: manifest unknown")
        digest = f"sha256:{self._engine.names.hexadecimal(f'registry/{name}')}"
        kind = "application/vnd.docker.distribution.manifest.v2+json"
        descriptor = {"mediaType": kind, "digest": digest, "size": 1570}
        return Answer.of_json({"Descriptor": descriptor, "Platforms": [{"architecture": "amd64", "os": "linux"}]})

    def _list_networks(self, request: Request) -> list[Object]:
        chosen = decode_filters(request)
        networks = by_labels(list(self._engine.networks.values()) + self._swarm_networks(), chosen, _labels)
        networks = by_name(networks, chosen, lambda network: str(network["Name"]))
        drivers, scopes = chosen.get("driver"), chosen.get("scope")
        networks = [network for network in networks if not drivers or network["Driver"] in drivers]
        networks = [network for network in networks if not scopes or network["Scope"] in scopes]
        return [network for network in networks if not chosen.get("id") or network["Id"] in chosen["id"]]

    def _swarm_networks(self) -> list[Object]:
        if self._engine.swarm is None:
            return []
        return [
            {
                "Name": network["Spec"]["Name"],
                "Id": network["ID"],
                "Created": network["CreatedAt"],
                "Scope": "swarm",
                "Driver": network["Spec"]["DriverConfiguration"]["Name"],
                "EnableIPv6": False,
                "IPAM": network.get("IPAMOptions", {"Driver": {"Name": "default"}}),
                "Internal": network["Spec"].get("Internal", False),
                "Attachable": network["Spec"].get("Attachable", False),
                "Ingress": network["Spec"].get("Ingress", False),
                "Containers": None,
                "Options": network["Spec"]["DriverConfiguration"].get("Options", {}),
                "Labels": network["Spec"].get("Labels", {}),
            }
            for network in self._engine.swarm.snapshot("networks")
        ]

    def _network(self, word: str) -> Object:
        found = self._engine.find_networks(word)
        if not found:
            found = [network for network in self._swarm_networks() if word in (network["Id"], network["Name"])]
        if not found:
            raise EngineRefusal(404, f"network {word} not found")
        if len(found) > 1:
            raise EngineRefusal(400, f"network {word} is ambiguous ({len(found)} matches found on name)")
        return found[0]

    def _create_network(self, request: Request) -> Answer:
        body = request.json() or {}
        name, driver = body.get("Name", ""), body.get("Driver") or "bridge"
        there = [*self._engine.networks.values(), *self._swarm_networks()]
        if any(network["Name"] == name for network in there) and (body.get("CheckDuplicate") or driver == "overlay"):
            raise EngineRefusal(409, f"network with name {name} already exists")
        if driver == "overlay":
            if self._engine.swarm is None:
                raise EngineRefusal(503, "This node is not a swarm manager.")
            spec = {
                "Name": name,
                "Labels": body.get("Labels") or {},
                "DriverConfiguration": {"Name": "overlay", "Options": body.get("Options") or {}},
                "Attachable": body.get("Attachable", False),
                "Internal": body.get("Internal", False),
            }
            made = self._engine.swarm.add("networks", {"Spec": spec})
            return Answer.of_json({"Id": made["ID"], "Warning": ""}, 201)
        network = self._engine.add_network(name, driver=driver, labels=body.get("Labels"), internal=body.get("Internal", False))
        warning = "Network with name exists" if any(entry["Name"] == name for entry in there) else ""
        return Answer.of_json({"Id": network["Id"], "Warning": warning}, 201)

    def _delete_network(self, word: str) -> Answer:
        network = self._network(word)
        if network["Scope"] == "swarm":
            swarm = self._engine.swarm
            users = [] if swarm is None else [s for s in swarm.tables["services"].values() if _uses(s, network["Id"])]
            if users:
                text = f"network {network['Id']} is in use by service {users[0]['ID']}"
                raise grpc(400, "FailedPrecondition", text)
            if swarm is not None:
                swarm.drop("networks", network["Id"])
            return Answer(status=204)
        if network["Name"] in ("bridge", "host", "none"):
            raise EngineRefusal(403, f"{network['Name']} is a pre-defined network and cannot be removed")
        running = [entry["Name"] for entry in network["Containers"].values()]
        if running:
            message = f"error while removing network: network {network['Name']} id {network['Id']} has active endpoints"
            raise EngineRefusal(403, message)
        del self._engine.networks[network["Id"]]
        self._engine.events.add("network", "destroy", network["Id"], {"name": network["Name"], "type": network["Driver"]})
        return Answer(status=204)

    def _attach(self, word: str, action: str, request: Request) -> Answer:
        network = self._network(word)
        body = request.json() or {}
        container = self._engine.find_container(body.get("Container", ""))
        if container is None:
            raise EngineRefusal(404, f"No such container: {body.get('Container', '')}")
        if action == "connect":
            aliases = (body.get("EndpointConfig") or {}).get("Aliases")
            self._engine.connect(network, container, aliases)
        else:
            container["NetworkSettings"]["Networks"].pop(network["Name"], None)
            network["Containers"].pop(container["Id"], None)
        self._engine.events.add("network", action, network["Id"], {"container": container["Id"], "name": network["Name"]})
        return Answer(status=200)

    def _volume(self, name: str) -> Object:
        volume = self._engine.volumes.get(name)
        if volume is None:
            raise EngineRefusal(404, f"get {name}: no such volume")
        return volume

    def _delete_volume(self, name: str) -> Answer:
        self._volume(name)
        users = [
            container["Id"]
            for container in self._engine.containers.values()
            if any(mount.get("Name") == name for mount in container["Mounts"])
        ]
        if users:
            raise EngineRefusal(409, f"remove {name}: volume is in use - [{', '.join(users)}]")
        del self._engine.volumes[name]
        self._engine.events.add("volume", "destroy", name, {"driver": "local"})
        return Answer(status=204)


def _labels(obj: Object) -> dict[str, str]:
    return obj.get("Labels") or {}


def _uses(service: Object, network_id: str) -> bool:
    attached = service["Spec"]["TaskTemplate"].get("Networks") or service["Spec"].get("Networks") or ()
    return any(entry["Target"] == network_id for entry in attached)
