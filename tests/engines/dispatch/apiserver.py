"""A small Kubernetes API server in memory: what the engine's guards rely on, and nothing else.

Server-side apply with managedFields, ownership and conflicts; uid and resourceVersion guards; generations; the status
subresource; finalizers. Its answers were compared with a real server's (1.36): an apply without uid to a missing object
creates it, an equal value is shared and not taken, a forced other value takes the field from everybody, a merge patch moves
ownership to an ``Update`` entry, and a write that changes nothing keeps the resourceVersion.
"""

from __future__ import annotations

import asyncio
import copy
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, NamedTuple

from console.engines.ports.applier import APPLICATIONS, ApiKind, JsonObject
from console.errors import Conflict, Invalid, NotFound, NotServed, QuarterdeckError
from console.kit.timing import Clock
from tests.engines.dispatch.fields import Path, decode, drop, encode, get, leaves, put

Key = tuple[str, str, str]
Changed = Callable[[str, JsonObject | None, JsonObject | None], None]


class Call(NamedTuple):
    """One write that the server was sent, whether it was done or not."""

    verb: str
    kind: str
    name: str
    body: JsonObject
    manager: str
    force: bool = False


class Fault(NamedTuple):
    verb: str
    kind: str
    error: QuarterdeckError | None
    done: bool
    hang: bool = False


class ApiServer:
    """Implements the port ``Objects``; the rest is for people, controllers and tests."""

    latency = 0.01

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._objects: dict[Key, JsonObject] = {}
        self._numbers = itertools.count(1)
        self._faults: list[Fault] = []
        self._before: list[tuple[str, str, Callable[[], object]]] = []
        self.unserved: set[str] = set()
        self.denied: set[tuple[str, str]] = set()
        self.calls: list[Call] = []
        self.reads: Counter[str] = Counter()
        self.listeners: list[Changed] = []

    # The port

    async def get(self, kind: ApiKind, namespace: str, name: str) -> JsonObject:
        self.reads[kind.kind] += 1
        await self._answer("get", kind)
        return copy.deepcopy(self._present(kind, namespace, name))

    async def list(self, kind: ApiKind, namespace: str = "") -> list[JsonObject]:
        self.reads[kind.kind] += 1
        await self._answer("list", kind)
        return copy.deepcopy([obj for key, obj in self._of(kind) if namespace in ("", key[1])])

    async def versions(self, kind: ApiKind, namespace: str = "") -> dict[tuple[str, str], str]:
        self.reads[kind.kind] += 1
        await self._answer("list", kind)
        found = [obj["metadata"] for key, obj in self._of(kind) if namespace in ("", key[1])]
        return {(metadata["namespace"], metadata["name"]): metadata["resourceVersion"] for metadata in found}

    async def apply(self, kind: ApiKind, body: JsonObject, *, manager: str, force: bool) -> JsonObject:
        name = body["metadata"]["name"]
        self.calls.append(Call("apply", kind.kind, name, copy.deepcopy(body), manager, force))
        return await self._write("apply", kind, lambda: self._apply(kind, copy.deepcopy(body), manager, force))

    async def merge(self, kind: ApiKind, namespace: str, name: str, patch: JsonObject, *, manager: str) -> JsonObject:
        self.calls.append(Call("merge", kind.kind, name, copy.deepcopy(patch), manager))
        return await self._write("merge", kind, lambda: self.patch(kind, namespace, name, patch, manager))

    async def replace(self, kind: ApiKind, body: JsonObject, *, manager: str, subresource: str = "") -> JsonObject:
        self.calls.append(Call("replace", kind.kind, body["metadata"]["name"], copy.deepcopy(body), manager))
        return await self._write("replace", kind, lambda: self._replace(kind, copy.deepcopy(body), manager, subresource))

    async def can_i(self, verb: str, kind: ApiKind, namespace: str, name: str) -> bool:
        await self._answer("review", kind)
        return (verb, kind.kind) not in self.denied

    # Faults

    def fail(self, verb: str, kind: ApiKind, error: QuarterdeckError, *, done: bool = False, times: int = 1) -> None:
        """The next calls fail with ``error``; ``done``: only after they were carried out (the answer is lost)."""
        self._faults += [Fault(verb, kind.kind, error, done)] * times

    def hang(self, verb: str, kind: ApiKind, *, done: bool = False) -> None:
        """The next call is never answered."""
        self._faults.append(Fault(verb, kind.kind, None, done, hang=True))

    def heal(self) -> None:
        """Forget all faults that are still to come."""
        self._faults.clear()

    def before(self, verb: str, kind: ApiKind, do: Callable[[], object]) -> None:
        """Do something just before the next such call takes effect: what another client did in between."""
        self._before.append((verb, kind.kind, do))

    def writes(self, kind: ApiKind | None = None) -> Sequence[Call]:
        return [call for call in self.calls if kind is None or call.kind == kind.kind]

    async def _answer(self, verb: str, kind: ApiKind) -> Fault | None:
        await asyncio.sleep(self.latency)
        for index, (which, name, do) in enumerate(self._before):
            if (which, name) == (verb, kind.kind):
                del self._before[index]
                outcome = do()
                if isinstance(outcome, Awaitable):
                    await outcome
                break
        if kind.kind in self.unserved:
            raise NotServed(f"the server has no {kind.plural}", status=404)
        fault = next((fault for fault in self._faults if (fault.verb, fault.kind) == (verb, kind.kind)), None)
        if fault is None:
            return None
        self._faults.remove(fault)
        if fault.done:
            return fault
        await self._break(fault)
        return None

    async def _break(self, fault: Fault) -> None:
        if fault.hang:
            await asyncio.Event().wait()
        assert fault.error is not None
        raise fault.error

    async def _write(self, verb: str, kind: ApiKind, do: Callable[[], JsonObject]) -> JsonObject:
        fault = await self._answer(verb, kind)
        result = do()
        if fault is not None:
            await self._break(fault)
        return copy.deepcopy(result)

    # Storage

    def _of(self, kind: ApiKind) -> Iterator[tuple[Key, JsonObject]]:
        return iter(sorted((key, obj) for key, obj in self._objects.items() if key[0] == kind.kind))

    def _present(self, kind: ApiKind, namespace: str, name: str) -> JsonObject:
        try:
            return self._objects[kind.kind, namespace, name]
        except KeyError:
            raise NotFound(f"{kind.plural} {name} not found", status=404) from None

    def peek(self, kind: ApiKind, namespace: str, name: str) -> JsonObject:
        """What is stored, for a test to look at; no call is counted."""
        return copy.deepcopy(self._present(kind, namespace, name))

    def exists(self, kind: ApiKind, namespace: str, name: str) -> bool:
        return (kind.kind, namespace, name) in self._objects

    def create(self, kind: ApiKind, obj: JsonObject, manager: str = "kubectl", operation: str = "Update") -> JsonObject:
        """Make an object, its fields owned by ``manager``."""
        obj = copy.deepcopy(obj)
        obj |= {"apiVersion": kind.api_version, "kind": kind.kind}
        metadata = obj["metadata"]
        metadata.setdefault("namespace", "")
        metadata.setdefault("creationTimestamp", self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"))
        metadata |= {"uid": f"uid-{next(self._numbers)}", "generation": 1, "resourceVersion": str(next(self._numbers))}
        owned = {path for path in leaves(obj) if path[0] != "status"}
        metadata["managedFields"] = [_entry(manager, operation, owned)]
        key = (kind.kind, metadata["namespace"], metadata["name"])
        assert key not in self._objects
        self._objects[key] = obj
        self._tell(kind, None, obj)
        return copy.deepcopy(obj)

    def delete(self, kind: ApiKind, namespace: str, name: str) -> None:
        """Delete as kubectl does: with finalizers it only begins."""
        obj = copy.deepcopy(self._present(kind, namespace, name))
        obj["metadata"]["deletionTimestamp"] = self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        obj["metadata"]["generation"] += 1
        self._commit(kind, obj)

    def edit(self, kind: ApiKind, namespace: str, name: str, change: Callable[[JsonObject], object], manager: str) -> None:
        """Read, change and store without a guard: a controller's or a person's write."""
        old = self._present(kind, namespace, name)
        new = copy.deepcopy(old)
        change(new)
        self._own_changes(old, new, manager, "status" if manager.startswith("gotk-") else "")
        self._commit(kind, new)

    def patch(self, kind: ApiKind, namespace: str, name: str, patch: JsonObject, manager: str) -> JsonObject:
        """A JSON merge patch."""
        old = self._present(kind, namespace, name)
        _guard(old, patch.get("metadata") or {})
        new = _merged(copy.deepcopy(old), patch)
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        if kind != APPLICATIONS and "status" in old:
            new["status"] = copy.deepcopy(old["status"])
        self._own_changes(old, new, manager, "")
        return self._commit(kind, new)

    def _replace(self, kind: ApiKind, body: JsonObject, manager: str, subresource: str) -> JsonObject:
        metadata = body["metadata"]
        old = self._present(kind, metadata.get("namespace", ""), metadata["name"])
        _guard(old, metadata)
        new = copy.deepcopy(old)
        if subresource == "status":
            new["status"] = body.get("status", {})
        else:
            new = body
            if kind != APPLICATIONS:
                new["status"] = copy.deepcopy(old.get("status", {}))
            new["metadata"] |= {
                key: old["metadata"][key] for key in ("uid", "generation", "managedFields", "creationTimestamp")
            }
        self._own_changes(old, new, manager, subresource)
        return self._commit(kind, new)

    def _apply(self, kind: ApiKind, body: JsonObject, manager: str, force: bool) -> JsonObject:
        metadata = body["metadata"]
        key = (kind.kind, metadata.get("namespace", ""), metadata["name"])
        old = self._objects.get(key)
        if old is None:
            if metadata.get("uid"):
                raise Conflict(f"uid mismatch: {metadata['uid']} is not there", status=409, reason="Conflict")
            metadata.pop("resourceVersion", None)
            return self.create(kind, body, manager, "Apply")
        if metadata.get("uid") and metadata["uid"] != old["metadata"]["uid"]:
            raise Invalid("metadata.uid: field is immutable", status=422, reason="Invalid")
        _guard(old, metadata)
        wanted = {path: value for path, value in leaves(body).items() if path[0] != "status" or kind == APPLICATIONS}
        new = copy.deepcopy(old)
        entries = {(e["manager"], e["operation"], e.get("subresource", "")): decode(e["fieldsV1"]) for e in _entries(old)}
        mine = (manager, "Apply", "")
        before = entries.pop(mine, set())
        for path, value in wanted.items():
            if get(old, path) == value:
                continue
            others = [owner for owner, paths in entries.items() if path in paths]
            if others and not force:
                raise Conflict(f"conflict with {others[0][0]!r}: .{'.'.join(path)}", status=409, reason="Conflict")
            for owner in others:
                entries[owner].discard(path)
            put(new, path, value)
        for path in before - set(wanted):
            if not any(path in paths for paths in entries.values()):
                drop(new, path)
        entries[mine] = set(wanted)
        _store_entries(new, entries)
        return self._commit(kind, new)

    def _own_changes(self, old: JsonObject, new: JsonObject, manager: str, subresource: str) -> None:
        """An update moves each changed value to the manager's own ``Update`` entry; a removed one belongs to nobody."""
        was, now = leaves(old), leaves(new)
        changed = {path for path, value in now.items() if path not in was or was[path] != value}
        gone = set(was) - set(now)
        if not changed and not gone:
            return
        entries = {(e["manager"], e["operation"], e.get("subresource", "")): decode(e["fieldsV1"]) for e in _entries(old)}
        for paths in entries.values():
            paths -= changed | gone
        entries.setdefault((manager, "Update", subresource), set()).update(changed)
        _store_entries(new, entries)

    def _commit(self, kind: ApiKind, new: JsonObject) -> JsonObject:
        metadata = new["metadata"]
        key = (kind.kind, metadata.get("namespace", ""), metadata["name"])
        old = self._objects[key]
        if new == old:
            return old
        metadata["resourceVersion"] = str(next(self._numbers))
        if _content(kind, new) != _content(kind, old):
            metadata["generation"] = old["metadata"]["generation"] + 1
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            del self._objects[key]
            self._tell(kind, old, None)
            return new
        self._objects[key] = new
        self._tell(kind, old, new)
        return new

    def _tell(self, kind: ApiKind, old: JsonObject | None, new: JsonObject | None) -> None:
        for listener in self.listeners:
            listener(kind.kind, old, new)


def _content(kind: ApiKind, obj: JsonObject) -> JsonObject:
    # Without a status subresource the server can't tell a status from a spec: everything counts.
    hidden = {"metadata"} if kind == APPLICATIONS else {"metadata", "status"}
    return {key: value for key, value in obj.items() if key not in hidden}


def _entry(manager: str, operation: str, owned: set[Path], subresource: str = "") -> JsonObject:
    entry: JsonObject = {"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": encode(owned)}
    return entry | {"subresource": subresource} if subresource else entry


def _entries(obj: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = obj["metadata"].get("managedFields", [])
    return found


def _store_entries(obj: JsonObject, entries: dict[tuple[str, str, str], set[Path]]) -> None:
    obj["metadata"]["managedFields"] = [_entry(m, o, paths, s) for (m, o, s), paths in sorted(entries.items()) if paths]


def _guard(old: JsonObject, metadata: JsonObject) -> None:
    version = metadata.get("resourceVersion")
    if version and version != old["metadata"]["resourceVersion"]:
        raise Conflict("the object has been modified", status=409, reason="Conflict")
    if metadata.get("uid") and metadata["uid"] != old["metadata"]["uid"]:
        raise Conflict("the uid in the precondition does not match", status=409, reason="Conflict")


def _merged(value: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = value if isinstance(value, dict) else {}
    for key, item in patch.items():
        if item is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), item)
    return result
