"""A tiny Kubernetes client for tests: sets the stage and looks behind it, independent of the client under test."""

from functools import partial
from typing import Any

import httpx

from tests.real.processes import STARTED, HarnessError, wait_until

Object = dict[str, Any]

_APPLY = {"Content-Type": "application/apply-patch+yaml"}
_MERGE = {"Content-Type": "application/merge-patch+json"}


class Refused(HarnessError):
    """The API server refused a call; `status` is the HTTP code."""

    def __init__(self, what: str, answer: httpx.Response) -> None:
        super().__init__(f"{what}: {answer.status_code} {answer.text[:600]}")
        self.status = answer.status_code


class KubeClient:
    """Calls on whole objects: the path follows from `apiVersion`, `kind` and `metadata`, by the server's own discovery."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http
        self._resources: dict[tuple[str, str], tuple[str, bool]] = {}

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    def path(self, api_version: str, kind: str, namespace: str = "", name: str = "") -> str:
        """The path of a collection or an object. Raises `HarnessError` when the kind is not served."""
        plural, namespaced = self._resource(api_version, kind)
        middle = f"/namespaces/{namespace}" if namespaced and namespace else ""
        return f"{_root(api_version)}{middle}/{plural}" + (f"/{name}" if name else "")

    def create(self, body: Object) -> Object:
        """Create an object."""
        return self._call("POST", self._collection(body), json=body)

    def apply(self, body: Object, manager: str = "harness", *, force: bool = True) -> Object:
        """Server-side apply of an object (without its status) as a field manager."""
        query = {"fieldManager": manager, "force": str(force).lower()}
        return self._call("PATCH", self._object(body), json=body, params=query, headers=_APPLY)

    def set_status(self, body: Object, manager: str = "harness") -> Object:
        """Write `body["status"]` as a controller does: a merge patch on the status part."""
        query = {"fieldManager": manager}
        patch = {"status": body["status"]}
        return self._call("PATCH", f"{self._object(body)}/status", json=patch, params=query, headers=_MERGE)

    def put(self, body: Object) -> Object:
        """Apply an object and then its status, when it has one and the kind a status part (else both go together)."""
        if "status" not in body:
            return self.apply(body)
        bare = {key: value for key, value in body.items() if key != "status"}
        self.apply(bare)
        try:
            return self.set_status(body)
        except Refused as refusal:
            if refusal.status != 404:  # the kind has no status part: its status is a plain field
                raise
            return self.merge(body, {"status": body["status"]})

    def merge(self, body: Object, patch: Object, manager: str = "harness") -> Object:
        """A merge patch on the object that `body` names."""
        return self._call("PATCH", self._object(body), json=patch, params={"fieldManager": manager}, headers=_MERGE)

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Object:
        """Read an object."""
        return self._call("GET", self.path(api_version, kind, namespace, name))

    def find(self, api_version: str, kind: str, namespace: str, name: str) -> Object | None:
        """Read an object, or None when there is none."""
        try:
            return self.get(api_version, kind, namespace, name)
        except Refused as refusal:
            if refusal.status != 404:
                raise
            return None

    def all(self, api_version: str, kind: str, namespace: str = "") -> list[Object]:
        """All objects of a kind."""
        items: list[Object] = self._call("GET", self.path(api_version, kind, namespace))["items"]
        return items

    def delete(self, body: Object) -> None:
        """Delete an object; one that is gone is fine."""
        try:
            self._call("DELETE", self._object(body))
        except Refused as refusal:
            if refusal.status != 404:
                raise

    def apply_definitions(self, definitions: list[Object]) -> None:
        """Apply custom resource definitions and wait until every one is served."""
        for body in definitions:
            self.apply(body)
        for body in definitions:
            spec = body["spec"]
            version = next(version["name"] for version in spec["versions"] if version["served"])
            kind, api_version = spec["names"]["kind"], f"{spec['group']}/{version}"
            wait_until(partial(self._serves, api_version, kind), f"{kind} is served", STARTED)

    def grant(self, user: str, rules: list[Object], namespace: str = "") -> None:
        """Let a user do what the rules say, in a namespace or, without one, everywhere. Adds to earlier grants."""
        scope = "" if namespace else "Cluster"
        api_version, where = "rbac.authorization.k8s.io/v1", {"namespace": namespace} if namespace else {}
        meta = {"generateName": f"{user}-", **where}
        role = self.create({"apiVersion": api_version, "kind": f"{scope}Role", "metadata": meta, "rules": rules})
        name = role["metadata"]["name"]
        self.create(
            {
                "apiVersion": api_version,
                "kind": f"{scope}RoleBinding",
                "metadata": {"name": name, **where},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": f"{scope}Role", "name": name},
                "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
            }
        )

    def _serves(self, api_version: str, kind: str) -> bool:
        self._resources.pop((api_version, kind), None)
        try:
            self.all(api_version, kind)
        except HarnessError:  # not discovered yet, or no storage yet
            return False
        return True

    def _resource(self, api_version: str, kind: str) -> tuple[str, bool]:
        key = (api_version, kind)
        if key not in self._resources:
            for resource in self._call("GET", _root(api_version))["resources"]:
                if "/" not in resource["name"]:
                    self._resources[api_version, resource["kind"]] = (resource["name"], resource["namespaced"])
        if key not in self._resources:
            raise HarnessError(f"{api_version} {kind} is not served")
        return self._resources[key]

    def _collection(self, body: Object) -> str:
        return self.path(body["apiVersion"], body["kind"], body["metadata"].get("namespace", ""))

    def _object(self, body: Object) -> str:
        meta = body["metadata"]
        return self.path(body["apiVersion"], body["kind"], meta.get("namespace", ""), meta["name"])

    def _call(self, method: str, path: str, **options: Any) -> Object:
        answer = self.http.request(method, path, **options)
        if answer.is_error:
            raise Refused(f"{method} {path}", answer)
        body: Object = answer.json()
        return body


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
