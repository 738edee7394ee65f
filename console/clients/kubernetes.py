"""A thin Kubernetes client: lists by pages, watches, single requests. It knows paths and protocols, not kinds.

Sources: Kubernetes API concepts (efficient detection of changes, large result sets, resource versions).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

import msgspec

from console import errors
from console.clients.answers import VERSION_HINT, Response, plain
from console.clients.endpoint import Endpoint
from console.clients.http import HttpClient, Params
from console.clients.kubernetes_wire import (
    ENVELOPE,
    RAW_PAGE,
    STATUS,
    VERSION_ONLY,
    AccessReview,
    ApiGroup,
    ApiResource,
    Envelope,
    GroupList,
    Page,
    ResourceList,
    Version,
    WatchEvent,
    page_decoder,
)
from console.clients.streams import json_values, split_lines

T = TypeVar("T")

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

OnBad = Callable[[errors.ProtocolError], None]

_LIST_TIMEOUT = 60.0
_METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
_VERSION = msgspec.json.Decoder(Version)
_GROUPS = msgspec.json.Decoder(GroupList)
_RESOURCES = msgspec.json.Decoder(ResourceList)
_REVIEW = msgspec.json.Decoder(AccessReview)


class KubernetesClient:
    """Talks to one API server. Paths are absolute (``/apis/apps/v1/namespaces/shop/deployments/web``)."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.http = HttpClient(endpoint)

    @property
    def endpoint(self) -> Endpoint:
        """Where this client talks to."""
        return self.http.endpoint

    async def close(self) -> None:
        """Drop all connections, watches included."""
        await self.http.close()

    async def version(self) -> Version:
        """The server's version."""
        return (await self.http.request("GET", "/version", timeout=15)).decode(_VERSION)

    async def groups(self) -> tuple[ApiGroup, ...]:
        """All API groups with their versions, without the core group."""
        return (await self.http.request("GET", "/apis")).decode(_GROUPS).groups or ()

    async def resources(self, group_version: str) -> tuple[ApiResource, ...]:
        """What a group and version (``v1``, ``apps/v1``) serves; raises :class:`NotServed` if there is no such."""
        path = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
        return (await self.http.request("GET", path)).decode(_RESOURCES).resources or ()

    async def can_i(
        self, verb: str, group: str, resource: str, *, namespace: str = "", name: str = "", subresource: str = ""
    ) -> bool:
        """Whether these credentials may do it (a SelfSubjectAccessReview)."""
        attributes = {"verb": verb, "group": group, "resource": resource}
        attributes |= {
            key: value for key, value in (("namespace", namespace), ("name", name), ("subresource", subresource)) if value
        }
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        # The server keeps nothing of a review: it may be asked again like a read.
        return (await self.http.request("POST", path, json=body, safe=True)).decode(_REVIEW).status.allowed

    async def get(self, path: str, params: Params | None = None, *, timeout: float = 30.0) -> dict[str, Any]:
        """One object (or a whole small list) as the server has it."""
        return _object(await self.http.request("GET", path, params=params, timeout=timeout))

    async def create(self, path: str, body: Mapping[str, Any], *, params: Params | None = None) -> dict[str, Any]:
        """POST to a collection or a subresource."""
        return _object(await self.http.request("POST", path, json=body, params=params))

    async def replace(self, path: str, body: Mapping[str, Any], *, params: Params | None = None) -> dict[str, Any]:
        """PUT; with ``metadata.resourceVersion`` in the body it raises :class:`Conflict` if the object has moved on."""
        return _object(await self.http.request("PUT", path, json=body, params=params))

    async def patch(
        self, path: str, body: Mapping[str, Any] | list[Any], *, content_type: str = MERGE_PATCH, params: Params | None = None
    ) -> dict[str, Any]:
        """PATCH. A failed ``test`` of a JSON patch is a :class:`Conflict` as well (the server calls it 422)."""
        headers = {"Content-Type": content_type}
        try:
            return _object(await self.http.request("PATCH", path, json=body, params=params, headers=headers))
        except errors.Invalid as error:
            tested = content_type == JSON_PATCH and any(step.get("op") == "test" for step in body if isinstance(step, dict))
            if tested and error.status == 422 and not error.details.get("causes"):
                raise errors.Conflict(
                    error.message,
                    "It changed meanwhile: read it again.",
                    status=422,
                    reason=error.reason,
                    details=error.details,
                ) from error
            raise

    async def apply(
        self, path: str, body: Mapping[str, Any], *, manager: str, force: bool = False, params: Params | None = None
    ) -> dict[str, Any]:
        """Server-side apply as a field manager; :class:`Conflict` names owners in ``details["causes"]``."""
        query: dict[str, Any] = {"fieldManager": manager, "force": force, **(params or {})}
        return await self.patch(path, body, content_type=APPLY_PATCH, params=query)

    async def delete(self, path: str, body: Mapping[str, Any] | None = None, *, params: Params | None = None) -> dict[str, Any]:
        """DELETE; ``body`` may carry DeleteOptions (preconditions, propagation)."""
        return _object(await self.http.request("DELETE", path, json=body, params=params))

    async def list_pages(
        self,
        path: str,
        decoder: msgspec.json.Decoder[T],
        *,
        first: int = 100,
        then: int = 500,
        params: Params | None = None,
        on_bad: OnBad | None = None,
        metadata_only: bool = False,
    ) -> AsyncGenerator[Page[T], None]:
        """A whole list, page by page: a small first one for the screen, then bigger ones. The loop gets a turn after each.

        :param decoder: of one item.
        :param on_bad: is told of an item of an unexpected shape, which is left out; without it the list fails.
        :param metadata_only: ask for nothing but the objects' metadata; a server that can't do that sends them whole.
        :raises Gone: the continue token expired between two pages: begin again.
        """
        headers = {"Accept": _METADATA_ONLY} if metadata_only else None
        token, limit = "", first
        while True:
            query: dict[str, Any] = {**(params or {}), "limit": limit}
            if token:
                query["continue"] = token
            response = await self.http.request("GET", path, params=query, headers=headers, timeout=_LIST_TIMEOUT)
            items, page = _items(response, decoder, on_bad)
            token, limit = page.metadata.continue_, then
            yield Page(items, page.metadata.resource_version, page.metadata.remaining_item_count or 0)
            if not token:
                return
            await asyncio.sleep(0)

    async def watch(
        self,
        path: str,
        resource_version: str,
        decoder: msgspec.json.Decoder[T],
        *,
        silence: float = 75.0,
        seconds: int = 60,
        params: Params | None = None,
        on_bad: OnBad | None = None,
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """Changes since a resourceVersion, with bookmarks. When the server ends it in order, watch on from the last version.

        :param seconds: after which the server shall end it. So an idle watch proves once a minute that it lives, also on
            servers that send no bookmarks.
        :param silence: seconds without a byte after which the stream counts as dead; more than ``seconds``.
        :raises Gone: the version is too old: list again.
        :raises TimedOut: silence. :raises Interrupted: the stream was cut.
        """
        query: dict[str, Any] = {
            **(params or {}),
            "watch": True,
            "resourceVersion": resource_version,
            "allowWatchBookmarks": True,
            "timeoutSeconds": seconds,
        }
        async with self.http.stream("GET", path, params=query, silence=silence) as answer:
            what = f"watch {path} on {self.endpoint.label}"
            async with aclosing(json_values(answer.body, ENVELOPE, what)) as lines:
                async for line in lines:
                    event = _event(line, decoder, what, on_bad)
                    if event is not None:
                        yield event

    async def logs(self, path: str, params: Params | None = None, *, silence: float | None = None) -> AsyncGenerator[str, None]:
        """Lines of ``…/pods/NAME/log`` as they come.

        A quiet container sends not even a head, so with ``follow`` there is no deadline for it.
        """
        follow = bool((params or {}).get("follow"))
        what = f"GET {path} on {self.endpoint.label}"
        async with (
            self.http.stream("GET", path, params=params, timeout=None if follow else 30, silence=silence) as answer,
            aclosing(split_lines(answer.body, what)) as lines,
        ):
            async for line, _ in lines:
                yield line.decode("utf-8", "replace")


def _object(response: Response) -> dict[str, Any]:
    value = response.json()
    if not isinstance(value, dict):
        raise errors.ProtocolError(f"{response.request} answered {type(value).__name__}, not an object", VERSION_HINT)
    return value


def _items(response: Response, decoder: msgspec.json.Decoder[T], on_bad: OnBad | None) -> tuple[list[T], Any]:
    kind: Any = decoder.type
    try:
        page = response.decode(page_decoder(kind))
    except errors.ProtocolError:
        if on_bad is None:
            raise
    else:
        return page.items or [], page
    # One odd object must not take the others with it: read them one by one.
    raw = response.decode(RAW_PAGE)
    items: list[T] = []
    for item in raw.items or ():
        try:
            items.append(decoder.decode(item))
        except msgspec.ValidationError as error:
            on_bad(_bad(response.request, error))
    return items, raw


def _event(line: Envelope, decoder: msgspec.json.Decoder[T], what: str, on_bad: OnBad | None) -> WatchEvent[T] | None:
    try:
        if line.type == "ERROR":
            raise _watch_error(STATUS.decode(line.object), what)
        version = VERSION_ONLY.decode(line.object).metadata.resource_version
        return WatchEvent(line.type, None if line.type == "BOOKMARK" else decoder.decode(line.object), version)
    except msgspec.ValidationError as error:
        if on_bad is None:
            raise _bad(what, error) from error
        on_bad(_bad(what, error))
        return None


def _watch_error(status: Any, what: str) -> errors.QuarterdeckError:
    said = f"{what}: {plain(status.message) or status.reason or 'an error without a word'}"
    if status.code == 410:
        return errors.Gone(said, "Too old to go on from: list again.", status=410, reason=status.reason)
    if status.code in {429, 503, 504}:
        return errors.Overloaded(said, "It is overloaded or restarting; try again.", status=status.code, reason=status.reason)
    return errors.ApiError(said, "The watch is begun again.", status=status.code, reason=status.reason)


def _bad(what: str, error: msgspec.ValidationError) -> errors.ProtocolError:
    return errors.ProtocolError(f"{what}: an object has an unexpected shape: {plain(str(error))}", VERSION_HINT)
