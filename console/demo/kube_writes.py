"""Writing to a simulated cluster: preconditions, the patch types, validation, status and scale, generations."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from console.demo import kube_owners
from console.demo.clockwork import rfc3339
from console.demo.http_server import Request
from console.demo.kube_kinds import Kind
from console.demo.kube_owners import Write
from console.demo.kube_patch import json_patch, merge_patch, strategic_patch
from console.demo.kube_status import Refusal, invalid, not_found, stale, uid_mismatch
from console.demo.kube_store import KubeStore, Object

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
_BUILT_IN_GROUPS = ("", "apps", "batch")
_SYSTEM_META = ("uid", "creationTimestamp", "generation", "resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds")


class Writer:
    """Writes of clients to one store; each returns what the server answers with, and raises :class:`Refusal`."""

    def __init__(self, store: KubeStore) -> None:
        self._store = store

    def create(self, kind: Kind, namespace: str, request: Request) -> Object:
        """POST of a new object."""
        body = _body(request)
        meta = dict(body.get("metadata") or {})
        if not meta.get("name") and meta.get("generateName"):
            word = self._store.names.next_word(meta["generateName"])
            meta["name"] = meta["generateName"] + self._store.names.suffix(word)
        if not meta.get("name"):
            raise invalid(kind, "", ("metadata.name", "Required value: name or generateName is required"))
        if namespace:
            meta["namespace"] = namespace
        meta = {key: value for key, value in meta.items() if key not in (*_SYSTEM_META, "managedFields")}
        if self._store.get(kind, namespace, meta["name"]) is not None:
            message = f'{kind.resource} "{meta["name"]}" already exists'
            raise Refusal(409, message, reason="AlreadyExists", details={"name": meta["name"], "kind": kind.plural})
        new = {**body, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}
        if kind.status:
            new.pop("status", None)
        new = self._check(kind, new, request)
        return self._store_unless_dry(kind, None, kube_owners.update(None, new, self._who(kind, request)), request)

    def replace(self, kind: Kind, namespace: str, name: str, subresource: str, request: Request) -> Object:
        """PUT of a whole object, or of its status."""
        live = self._live(kind, namespace, name)
        return self._update(kind, live, _body(request), subresource, request)

    def patch(self, kind: Kind, namespace: str, name: str, subresource: str, request: Request) -> Object:
        """PATCH in any of the four types."""
        type_ = request.headers.get("content-type", "").partition(";")[0].strip()
        if type_ == APPLY:
            return self._apply(kind, namespace, name, subresource, request)
        if type_ not in (MERGE, JSON_PATCH) and not (type_ == STRATEGIC and kind.group in _BUILT_IN_GROUPS):
            known = ", ".join((JSON_PATCH, MERGE, APPLY, *((STRATEGIC,) if kind.group in _BUILT_IN_GROUPS else ())))
            raise Refusal(
                415,
                "the body of the request was in an unknown format - accepted media types include: " + known,
            )
        live = self._live(kind, namespace, name)
        patch = _decoded(request)
        if type_ == JSON_PATCH:
            new = json_patch(live, patch)
        elif type_ == STRATEGIC:
            new = strategic_patch(live, patch)
        else:
            new = merge_patch(live, patch)
        return self._update(kind, live, new, subresource, request)

    def delete(self, kind: Kind, namespace: str, name: str, request: Request) -> Object:
        """DELETE, with its preconditions on uid and resourceVersion."""
        live = self._live(kind, namespace, name)
        guard = (_body(request) if request.body else {}).get("preconditions") or {}
        for field, key in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
            if guard.get(field) and guard[field] != live["metadata"][field]:
                message = (
                    f'Operation cannot be fulfilled on {kind.resource} "{name}": Precondition failed: '
                    f"{key} in precondition: {guard[field]}, {key} in object meta: {live['metadata'][field]}"
                )
                raise Refusal(409, message, details={"name": name, "kind": kind.plural})
        if request.first("dryRun"):
            return live
        gone = self._store.remove(kind, namespace, name)
        if gone is not None and gone["metadata"].get("deletionTimestamp"):
            return gone
        details = {"name": name, "group": kind.group, "kind": kind.plural, "uid": live["metadata"]["uid"]}
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}

    def scale(self, kind: Kind, namespace: str, name: str, request: Request) -> Object:
        """GET, PUT or PATCH of the scale subresource."""
        live = self._live(kind, namespace, name)
        if request.method == "GET":
            return _scale_of(live)
        wanted = _body(request)
        if request.method == "PATCH":
            wanted = merge_patch(_scale_of(live), wanted)
        meta = {**live["metadata"], "resourceVersion": (wanted.get("metadata") or {}).get("resourceVersion")}
        replicas = int((wanted.get("spec") or {}).get("replicas", 0))
        new = {**live, "metadata": meta, "spec": {**live["spec"], "replicas": replicas}}
        return _scale_of(self._update(kind, live, new, "", request, who_subresource="scale"))

    def _apply(self, kind: Kind, namespace: str, name: str, subresource: str, request: Request) -> Object:
        if not request.first("fieldManager"):
            raise Refusal(422, "PatchOptions is invalid: fieldManager: Required value: is required for apply patch")
        config = _body(request, yaml_too=True)
        meta = dict(config.get("metadata") or {})
        if "managedFields" in meta:
            raise Refusal(400, "metadata.managedFields must be nil")
        if meta.get("name", name) != name:
            raise Refusal(400, f"the name of the object ({meta['name']}) does not match the name on the URL ({name})")
        live = self._store.get(kind, namespace, name)
        if live is None:
            if subresource:
                raise not_found(kind, name)
            if meta.get("uid"):
                raise uid_mismatch(kind, name, meta["uid"])
        else:
            self._guard(kind, live, meta)
        unknown = sorted((config.get("spec") or {}).keys() - kind.fields) if kind.fields is not None else []
        if unknown:
            raise Refusal(500, f"failed to create typed patch object: .spec.{unknown[0]}: field not declared in schema")
        meta |= {"name": name} | ({"namespace": namespace} if namespace else {})
        meta = {key: value for key, value in meta.items() if key not in _SYSTEM_META}
        config = {**config, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}
        if kind.status and not subresource:
            config.pop("status", None)
        who = self._who(kind, request, subresource)
        new = kube_owners.apply(live, config, who, force=request.flag("force"))
        if new is live:
            return new
        self._check(kind, new, request)
        return self._store_unless_dry(kind, live, new, request)

    def _update(
        self, kind: Kind, live: Object, new: Any, subresource: str, request: Request, who_subresource: str = ""
    ) -> Object:
        if not isinstance(new, dict) or not isinstance(new.get("metadata"), dict):
            raise Refusal(400, "the object provided has no metadata")
        self._guard(kind, live, new["metadata"])
        if subresource == "status":
            new = {**live, "status": new.get("status", {})}
        else:
            meta = {key: value for key, value in new["metadata"].items() if key not in _SYSTEM_META}
            meta |= {key: live["metadata"][key] for key in _SYSTEM_META if key in live["metadata"]}
            meta |= {key: live["metadata"][key] for key in ("name", "namespace") if key in live["metadata"]}
            new = {**new, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}
            if kind.status:
                new.pop("status", None)
                if "status" in live:
                    new["status"] = live["status"]
            new = self._check(kind, new, request)
        changed = kube_owners.update(live, new, self._who(kind, request, subresource or who_subresource))
        return live if changed is live else self._store_unless_dry(kind, live, changed, request)

    def _guard(self, kind: Kind, live: Object, meta: Any) -> None:
        name = live["metadata"]["name"]
        if meta.get("uid") and meta["uid"] != live["metadata"]["uid"]:
            raise invalid(kind, name, ("metadata.uid", f'Invalid value: "{meta["uid"]}": field is immutable'))
        if meta.get("resourceVersion") and meta["resourceVersion"] != live["metadata"]["resourceVersion"]:
            raise stale(kind, name)

    def _check(self, kind: Kind, new: Object, request: Request) -> Object:
        name, spec = new["metadata"]["name"], new.get("spec")
        if kind.fields is not None and isinstance(spec, dict):
            unknown = sorted(spec.keys() - kind.fields)
            if unknown and request.first("fieldValidation") == "Strict":
                message = f'strict decoding error: unknown field "spec.{unknown[0]}"'
                raise Refusal(422 if request.method == "PATCH" else 400, message)
            new = {**new, "spec": {key: value for key, value in spec.items() if key in kind.fields}}
        if kind.required and spec is not None:
            missing = [field for field in kind.required if field not in spec]
            if missing:
                raise invalid(kind, name, *((f"spec.{field}", "Required value") for field in missing))
        return new

    def _store_unless_dry(self, kind: Kind, live: Object | None, new: Object, request: Request) -> Object:
        if live is not None:
            new = with_generation(kind, live, new)
        if request.first("dryRun"):
            return new
        return self._store.put(kind, new)

    def _live(self, kind: Kind, namespace: str, name: str) -> Object:
        live = self._store.get(kind, namespace, name)
        if live is None:
            raise not_found(kind, name)
        return live

    def _who(self, kind: Kind, request: Request, subresource: str = "") -> Write:
        manager = request.first("fieldManager") or request.headers.get("user-agent", "unknown").partition("/")[0]
        at = rfc3339(self._store.clock.now())
        return Write(manager=manager, version=kind.api_version, at=at, subresource=subresource)


def with_generation(kind: Kind, live: Object, new: Object) -> Object:
    """``new`` with its generation raised if anything changed that is neither metadata nor a separate status."""
    ignored = ("metadata", "apiVersion", "kind", *(("status",) if kind.status else ()))
    before = {key: value for key, value in live.items() if key not in ignored}
    after = {key: value for key, value in new.items() if key not in ignored}
    generation = live["metadata"].get("generation")
    if generation is None or before == after:
        return new
    return {**new, "metadata": {**new["metadata"], "generation": generation + 1}}


def _scale_of(obj: Object) -> Object:
    meta = {key: obj["metadata"][key] for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")}
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": meta,
        "spec": {"replicas": obj["spec"].get("replicas", 1)},
        "status": {"replicas": (obj.get("status") or {}).get("replicas", 0)},
    }


def _decoded(request: Request) -> Any:
    try:
        return request.json()
    except msgspec.DecodeError as error:
        raise Refusal(400, f"the body is not valid JSON: {error}") from error


def _body(request: Request, *, yaml_too: bool = False) -> Object:
    try:
        value = yaml.safe_load(request.body) if yaml_too and request.body[:1] != b"{" else _decoded(request)
    except yaml.YAMLError as error:
        raise Refusal(400, "the body is not valid YAML") from error
    if not isinstance(value, dict):
        raise Refusal(400, "the body is not an object")
    return value
