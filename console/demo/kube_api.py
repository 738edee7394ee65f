"""The HTTP face of a simulated cluster: who may ask, what is served where, and which verb goes to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from console.demo import kube_logs
from console.demo.http_server import Answer, Request, Stream
from console.demo.kube_kinds import Kind
from console.demo.kube_reads import Reader
from console.demo.kube_status import Refusal, forbidden, not_found, not_served
from console.demo.kube_store import Object
from console.demo.kube_writes import Writer

if TYPE_CHECKING:
    from console.demo.cluster import Cluster

# What reading a request of the wrong shape raises; the real server says 400 to all of it.
_MALFORMED = (msgspec.DecodeError, KeyError, TypeError, ValueError, AttributeError, IndexError)
_VERBS = ("create", "delete", "get", "list", "patch", "update", "watch")


class KubernetesApi:
    """Answers the requests to one cluster.

    ``unauthorized`` refuses every token, ``forbidden`` is the set of kind words that may not be read or written: both are
    turned by the fleet's faults.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._store = cluster.store
        self.reader = Reader(cluster.store)
        self._writer = Writer(cluster.store)
        self.unauthorized = False
        self.forbidden: set[str] = set()

    async def __call__(self, request: Request) -> Answer | Stream:
        """One request; a refusal becomes its Status."""
        try:
            self._authenticate(request)
            return self._route(request)
        except Refusal as refusal:
            return refusal.answer()
        except _MALFORMED as error:
            return Refusal(400, f"malformed request: {error}").answer()

    def _authenticate(self, request: Request) -> None:
        given = request.headers.get("authorization", "")
        if self.unauthorized or given != f"Bearer {self._cluster.token}":
            raise Refusal(401, "Unauthorized")

    def _route(self, request: Request) -> Answer | Stream:
        parts = [part for part in request.path.split("/") if part]
        match parts:
            case ["version"]:
                return Answer.of_json(self._cluster.version)
            case ["healthz" | "readyz" | "livez"]:
                return Answer(body=b"ok", headers={"Content-Type": "text/plain"})
            case ["api"]:
                return Answer.of_json({"kind": "APIVersions", "versions": ["v1"]})
            case ["apis"]:
                return Answer.of_json({"kind": "APIGroupList", "apiVersion": "v1", "groups": self._groups()})
            case ["api", "v1", *rest]:
                return self._resource("", "v1", rest, request)
            case ["apis", group]:
                return Answer.of_json(self._group(group))
            case ["apis", "authorization.k8s.io", "v1", "selfsubjectaccessreviews"]:
                return self._review(request)
            case ["apis", group, version, *rest]:
                return self._resource(group, version, rest, request)
        raise not_served()

    def _groups(self) -> list[Object]:
        names = dict.fromkeys(kind.group for kind in self._store.kinds.values() if kind.group)
        return [self._group(name) for name in names]

    def _group(self, name: str) -> Object:
        for kind in self._store.kinds.values():
            if name and kind.group == name:
                version = {"groupVersion": kind.api_version, "version": kind.version}
                return {
                    "kind": "APIGroup",
                    "apiVersion": "v1",
                    "name": name,
                    "versions": [version],
                    "preferredVersion": version,
                }
        raise not_served()

    def _resource(self, group: str, version: str, parts: list[str], request: Request) -> Answer | Stream:
        if not any(kind.group == group and kind.version == version for kind in self._store.kinds.values()):
            raise not_served()
        if not parts:
            return Answer.of_json(self._resources(group, version))
        namespace = ""
        if parts[0] == "namespaces" and len(parts) > 2 and parts[2] not in ("status", "finalize"):
            namespace, parts = parts[1], parts[2:]
        kind = self._store.kinds.get((group, parts[0]))
        if kind is None or (namespace and not kind.namespaced):
            raise not_served()
        if len(parts) == 1:
            return self._collection(kind, namespace, request)
        return self._object(kind, namespace, parts[1], "/".join(parts[2:]), request)

    def _resources(self, group: str, version: str) -> Object:
        resources: list[Object] = []
        for kind in self._store.kinds.values():
            if kind.group != group:
                continue
            entry: Object = {
                "name": kind.plural,
                "singularName": kind.kind.lower(),
                "namespaced": kind.namespaced,
                "kind": kind.kind,
                "verbs": list(_VERBS),
            }
            if kind.short:
                entry["shortNames"] = list(kind.short)
            resources.append(entry)
            below = [name for name, there in (("status", kind.status), ("scale", kind.scale)) if there]
            for name in below:
                resources.append(
                    {**entry, "name": f"{kind.plural}/{name}", "verbs": ["get", "patch", "update"], "shortNames": []}
                )
            if kind.kind == "Pod":
                resources.append({**entry, "name": "pods/log", "verbs": ["get"], "shortNames": []})
        api_version = f"{group}/{version}" if group else version
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": resources}

    def _collection(self, kind: Kind, namespace: str, request: Request) -> Answer | Stream:
        if request.method == "POST":
            self._allow("create", kind, namespace)
            return Answer.of_json(self._writer.create(kind, namespace, request), 201)
        if request.method != "GET":
            raise Refusal(405, "the server does not allow this method on the requested resource")
        if request.flag("watch"):
            self._allow("watch", kind, namespace)
            return self.reader.watch(kind, namespace, request)
        self._allow("list", kind, namespace)
        return self.reader.listing(kind, namespace, request)

    def _object(self, kind: Kind, namespace: str, name: str, subresource: str, request: Request) -> Answer | Stream:
        if kind.kind == "Pod" and subresource == "log":
            self._allow("get", kind, namespace, name)
            return kube_logs.pod_log(self._cluster, namespace, name, request)
        if subresource == "scale" and kind.scale:
            self._allow("get" if request.method == "GET" else "patch", kind, namespace, name)
            return Answer.of_json(self._writer.scale(kind, namespace, name, request))
        if subresource and not (subresource == "status" and kind.status):
            raise not_served()
        match request.method:
            case "GET":
                self._allow("get", kind, namespace, name)
                found = self._store.get(kind, namespace, name)
                if found is None:
                    raise not_found(kind, name)
                return Answer.of_json(found)
            case "PUT":
                self._allow("update", kind, namespace, name)
                return Answer.of_json(self._writer.replace(kind, namespace, name, subresource, request))
            case "PATCH":
                self._allow("patch", kind, namespace, name)
                existed = self._store.get(kind, namespace, name) is not None
                result = self._writer.patch(kind, namespace, name, subresource, request)
                return Answer.of_json(result, 200 if existed else 201)
            case "DELETE":
                self._allow("delete", kind, namespace, name)
                return Answer.of_json(self._writer.delete(kind, namespace, name, request))
        raise Refusal(405, "the server does not allow this method on the requested resource")

    def _allow(self, verb: str, kind: Kind, namespace: str, name: str = "") -> None:
        if kind.kind in self.forbidden:
            raise forbidden(self._cluster.user, verb, kind, namespace, name)

    def _review(self, request: Request) -> Answer:
        try:
            body: Any = request.json() or {}
        except msgspec.DecodeError as error:
            raise Refusal(400, f"the body is not valid JSON: {error}") from error
        asked = (body.get("spec") or {}).get("resourceAttributes") or {}
        kind = self._store.kinds.get((asked.get("group", ""), asked.get("resource", "")))
        allowed = kind is None or kind.kind not in self.forbidden
        status: dict[str, Any] = {"allowed": allowed}
        if not allowed:
            status["reason"] = "no rule of this role allows it"
        return Answer.of_json({**body, "status": status}, 201)
