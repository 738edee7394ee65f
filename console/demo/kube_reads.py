"""Reading a simulated cluster: lists in pages, watches with bookmarks, selectors, and the two reduced forms of an object."""

from __future__ import annotations

import asyncio
import base64
import binascii
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from typing import Any

import msgspec

from console.demo.http_server import Answer, Request, Stream
from console.demo.kube_kinds import Kind
from console.demo.kube_status import Refusal, expired
from console.demo.kube_store import Key, KubeStore, Object, Occurrence

_EXPIRED_TOKEN = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the "
    "continue parameter, or use the continue token in this response to retrieve the remainder of the results."
)
_SNAPSHOTS = 32
Matcher = Callable[[Object], bool]


class Reader:
    """Lists and watches of one store.

    :param bookmark_seconds: silence on a watch after which a bookmark is sent (the real server takes about a minute).
    """

    def __init__(self, store: KubeStore, bookmark_seconds: float = 60.0) -> None:
        self._store = store
        self._snapshots: OrderedDict[tuple[str, int, str], list[Object]] = OrderedDict()
        self.bookmark_seconds = bookmark_seconds

    def listing(self, kind: Kind, namespace: str, request: Request) -> Answer:
        """A list, or one page of it. Raises 400, 410 or 504 as the API server does."""
        limit = _number(request, "limit")
        version, after = self._store.version, ("", "")
        token = request.first("continue")
        if token:
            asked_version, after = _open_token(token)
            # The token that comes with "expired" goes on in the present, which may not be what the first pages showed.
            version = version if asked_version < 0 else asked_version
        found = self._snapshots.get((kind.kind, version, request.first("labelSelector"))) if token else None
        if found is None and token and version != self._store.version:
            raise expired(_EXPIRED_TOKEN, _make_token(-1, after))
        if token and self._store.since(kind.kind, version) is None:
            raise expired(_EXPIRED_TOKEN, _make_token(-1, after))
        if found is None:
            found = self._present(kind, namespace, request)
        start = bisect_right(found, after, key=_key)
        page = found[start : start + limit] if limit else found[start:]
        meta: dict[str, Any] = {"resourceVersion": str(version)}
        left = len(found) - start - len(page)
        if left > 0:
            self._snapshots[(kind.kind, version, request.first("labelSelector"))] = found
            while len(self._snapshots) > _SNAPSHOTS:
                self._snapshots.popitem(last=False)
            meta |= {"continue": _make_token(version, _key(page[-1])), "remainingItemCount": left}
        if _reduced(request):
            items = [_partial(obj) for obj in page]
            body = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": meta, "items": items}
            return Answer.of_json(body)
        body = {"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": meta, "items": page}
        return Answer.of_json(body)

    def _present(self, kind: Kind, namespace: str, request: Request) -> list[Object]:
        asked = request.first("resourceVersion")
        if asked.isdigit() and int(asked) > self._store.version:
            message = f"Too large resource version: {asked}, current: {self._store.version}"
            raise Refusal(504, message, details={"retryAfterSeconds": 1})
        matches = matcher(kind, request)
        return [obj for obj in self._store.all(kind.kind, namespace) if matches(obj)]

    def watch(self, kind: Kind, namespace: str, request: Request) -> Stream:
        """A watch as lines of JSON. One from a forgotten resourceVersion is a 200 whose only event is the error 410."""
        # What can be refused is refused here: once the stream began there is no status left to say it with.
        matches = matcher(kind, request)
        seconds = _number(request, "timeoutSeconds") or 3600
        chunks = self._events(kind, namespace, request, matches, seconds)
        return Stream(chunks=chunks, headers={"Content-Type": "application/json"})

    async def _events(
        self, kind: Kind, namespace: str, request: Request, matches: Matcher, seconds: int
    ) -> AsyncGenerator[bytes, None]:
        shape = _partial if _reduced(request) else _whole
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        bookmarks = request.flag("allowWatchBookmarks")
        initial = request.flag("sendInitialEvents")
        asked = request.first("resourceVersion", "0")
        position = int(asked) if asked.isdigit() else 0
        if position == 0 or initial:
            position = self._store.version
            for obj in self._store.all(kind.kind, namespace):
                if matches(obj):
                    yield _line("ADDED", shape(obj))
            if initial:
                yield _line("BOOKMARK", _bookmark(kind, position, {"k8s.io/initial-events-end": "true"}))
        next_bookmark = loop.time() + self.bookmark_seconds
        while True:
            happened = self._store.since(kind.kind, position)
            if happened is None:
                message = f"too old resource version: {position} ({self._store.version})"
                yield _line("ERROR", Refusal(410, message).status)
                return
            lines = []
            for occurrence in happened:
                position = max(position, occurrence.version)
                type_ = _seen_as(occurrence, namespace, matches)
                if type_:
                    lines.append(_line(type_, shape(occurrence.object)))
            if lines:
                yield b"".join(lines)
                continue
            now = loop.time()
            if bookmarks and now >= min(next_bookmark, end - 2):
                next_bookmark = now + self.bookmark_seconds
                yield _line("BOOKMARK", _bookmark(kind, max(position, self._store.version), {}))
            if now >= end:
                return
            await self._store.bell.wait(max(0.01, min(end, next_bookmark) - now))


def matcher(kind: Kind, request: Request) -> Matcher:
    """The label and field selectors of a request as one predicate. Raises 400 for a field that can't be selected by."""
    tests: list[Matcher] = [_field_test(kind, term) for term in _terms(request.first("fieldSelector"))]
    tests += [_label_test(term) for term in _terms(request.first("labelSelector"))]
    return lambda obj: all(test(obj) for test in tests)


def _terms(selector: str) -> list[str]:
    terms: list[str] = []
    depth = 0
    for part in selector.split(","):
        if depth:
            terms[-1] += f",{part}"
        elif part.strip():
            terms.append(part.strip())
        depth += part.count("(") - part.count(")")
    return terms


def _field_test(kind: Kind, term: str) -> Matcher:
    negated = "!=" in term
    name, _, value = term.replace("!=", "=").replace("==", "=").partition("=")
    if name not in ("metadata.name", "metadata.namespace", *kind.selectable):
        raise Refusal(400, f'field label not supported: "{name}"')
    path = name.split(".")

    def test(obj: Object) -> bool:
        found: Any = obj
        for part in path:
            found = (found or {}).get(part)
        return ((found or "") == value) != negated

    return test


def _label_test(term: str) -> Matcher:
    for operator in (" notin ", " in "):
        if operator in term:
            name, _, listed = term.partition(operator)
            values = {value.strip() for value in listed.strip().strip("()").split(",")}
            wanted = operator == " in "
            return lambda obj: (_labels(obj).get(name.strip()) in values) == wanted
    if "!=" in term:
        name, _, value = term.partition("!=")
        return lambda obj: _labels(obj).get(name) != value
    if "=" in term:
        name, _, value = term.replace("==", "=").partition("=")
        return lambda obj: _labels(obj).get(name) == value
    if term.startswith("!"):
        return lambda obj: term[1:] not in _labels(obj)
    return lambda obj: term in _labels(obj)


def _labels(obj: Object) -> dict[str, str]:
    labels: dict[str, str] = obj["metadata"].get("labels") or {}
    return labels


def _seen_as(occurrence: Occurrence, namespace: str, matches: Matcher) -> str:
    if namespace and occurrence.object["metadata"].get("namespace") != namespace:
        return ""
    now = occurrence.type != "DELETED" and matches(occurrence.object)
    before = occurrence.before is not None and matches(occurrence.before)
    if now:
        return "MODIFIED" if before else "ADDED"
    return "DELETED" if before else ""


def _line(type_: str, obj: Object) -> bytes:
    return msgspec.json.encode({"type": type_, "object": obj}) + b"\n"


def _bookmark(kind: Kind, version: int, annotations: dict[str, str]) -> Object:
    meta: Object = {"resourceVersion": str(version), "creationTimestamp": None}
    if annotations:
        meta["annotations"] = annotations
    return {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta}


def _reduced(request: Request) -> bool:
    return "as=PartialObjectMetadata" in request.headers.get("accept", "").split(",")[0]


def _partial(obj: Object) -> Object:
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def _whole(obj: Object) -> Object:
    return obj


def _number(request: Request, name: str) -> int:
    text = request.first(name)
    if text and not text.isdigit():
        raise Refusal(400, f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text or 0)


def _key(obj: Object) -> Key:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _make_token(version: int, after: Key) -> str:
    raw = msgspec.json.encode({"v": "meta.k8s.io/v1", "rv": version, "start": after})
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _open_token(token: str) -> tuple[int, Key]:
    try:
        raw = msgspec.json.decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        namespace, name = raw["start"]
        return int(raw["rv"]), (str(namespace), str(name))
    except (binascii.Error, msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
        raise Refusal(400, "continue key is not valid") from error
