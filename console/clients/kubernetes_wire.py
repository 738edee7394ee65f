"""The few shapes of the Kubernetes API that the client itself reads; everything else is decoded by whoever asks."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    """The ``metadata`` of a list, or as much of an object's as a watch needs."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class ListPage(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """One page of a list."""

    metadata: ListMeta = ListMeta()
    items: list[T] | None = None


class Envelope(msgspec.Struct, frozen=True):
    """One line of a watch, the object not yet read."""

    type: str
    object: msgspec.Raw


class VersionOnly(msgspec.Struct, frozen=True):
    """An object of which only the resourceVersion matters (a bookmark)."""

    metadata: ListMeta = ListMeta()


class Status(msgspec.Struct, frozen=True):
    """What an ``ERROR`` event of a watch carries."""

    code: int = 0
    reason: str = ""
    message: str = ""


class WatchEvent(NamedTuple, Generic[T]):
    """``type`` is ADDED, MODIFIED, DELETED or BOOKMARK (without an object); go on from ``resource_version``."""

    type: str
    object: T | None
    resource_version: str


class Page(NamedTuple, Generic[T]):
    """Items of one page; ``resource_version`` is the same on all pages, ``remaining`` an estimate of what follows."""

    items: list[T]
    resource_version: str
    remaining: int


class Version(msgspec.Struct, frozen=True, rename="camel"):
    """``/version``. Major and minor are text, and may be empty in servers built by hand."""

    git_version: str = ""
    major: str = ""
    minor: str = ""
    platform: str = ""


class GroupVersion(msgspec.Struct, frozen=True, rename="camel"):
    """``group/version`` and the version alone."""

    group_version: str
    version: str = ""


class ApiGroup(msgspec.Struct, frozen=True, rename="camel"):
    """One API group that is served. The core group has the name ""."""

    name: str
    versions: tuple[GroupVersion, ...] = ()
    preferred_version: GroupVersion = GroupVersion("")


class GroupList(msgspec.Struct, frozen=True):
    """``/apis``."""

    groups: tuple[ApiGroup, ...] | None = None


class ApiResource(msgspec.Struct, frozen=True, rename="camel"):
    """One resource of a group and version: ``name`` is the plural of the path, with "/status" and the like for subresources."""

    name: str
    kind: str = ""
    namespaced: bool = False
    verbs: tuple[str, ...] = ()


class ResourceList(msgspec.Struct, frozen=True):
    """``/apis/GROUP/VERSION``."""

    resources: tuple[ApiResource, ...] | None = None


class AccessStatus(msgspec.Struct, frozen=True, rename="camel"):
    """The verdict of an access review."""

    allowed: bool = False
    denied: bool = False
    reason: str = ""


class AccessReview(msgspec.Struct, frozen=True):
    """The answer to a SelfSubjectAccessReview."""

    status: AccessStatus = AccessStatus()


@lru_cache(maxsize=256)
def page_decoder(item: Any) -> msgspec.json.Decoder[Any]:
    """A decoder of list pages for a decoder's item type (built once a type: building costs more than a small page)."""
    return msgspec.json.Decoder(ListPage[item])


RAW_PAGE: msgspec.json.Decoder[ListPage[msgspec.Raw]] = msgspec.json.Decoder(ListPage[msgspec.Raw])
ENVELOPE = msgspec.json.Decoder(Envelope)
VERSION_ONLY = msgspec.json.Decoder(VersionOnly)
STATUS = msgspec.json.Decoder(Status)
