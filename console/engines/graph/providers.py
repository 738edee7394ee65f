"""Resource kinds: what plugs into the engine, what it is handed, and the registry that finds it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import msgspec

from console.model.graph import Identity

In = TypeVar("In")
Out = TypeVar("Out")

DEFAULT_TIMEOUT = 120.0
DEFAULT_READY_TIMEOUT = 600.0


class TellsProgress(Protocol):
    """Tells the operator how far an operation has come."""

    def __call__(self, text: str, done: int = 0, total: int = 0) -> None:
        """A line of text, and so many steps of a total where they can be counted."""
        ...


def _untold(text: str, done: int = 0, total: int = 0) -> None:
    """Nobody listens."""


class Previous(msgspec.Struct, Generic[In, Out], frozen=True, kw_only=True):
    """What was stored before an update. Data that no longer fits the model comes as plain dicts."""

    input: In
    output: Out | None = None
    sources: tuple[str, ...] = ()


class Request(msgspec.Struct, Generic[In, Out], frozen=True, kw_only=True):
    """What a provider is asked to do, with all references resolved.

    ``id`` is the engine's own; a provider marks the outside object with it wherever it can (label, annotation, deterministic
    name). ``output`` is the stored output for delete, read and wait_ready; None if it was never known. ``previous`` and the two
    flags are set for updates. ``progress(text, done, total)`` tells the operator something; ``open_source`` gives content.
    """

    run_id: str
    project: str
    identity: Identity
    id: str
    input: In
    output: Out | None = None
    sources: tuple[str, ...] = ()
    previous: Previous[In, Out] | None = None
    config_changed: bool = False
    sources_changed: bool = False
    progress: TellsProgress = _untold
    open_source: Callable[[str], Awaitable[AsyncIterator[bytes]]] | None = None


class Provider(Protocol):
    """The least that a kind must have. What else it may have, :class:`Kind` lists with its defaults."""

    input_model: Any
    output_model: Any

    async def create(self, req: Request[Any, Any]) -> Any:
        """Make the object and return its output. One that exists with our id is success; without it, a permanent conflict."""
        ...

    async def update(self, req: Request[Any, Any]) -> Any:
        """Change the object in place. Outputs that are not set keep their previous value."""
        ...

    async def delete(self, req: Request[Any, Any]) -> None:
        """Remove the object. Absent is success."""
        ...


class Kind(Generic[In, Out]):
    """A base for providers: the optional attributes with their defaults.

    A kind may also define ``async read(req) -> output | Drifted | None`` (adoption, drift, repair after a crash; None is
    absent) and ``async wait_ready(req) -> None``, the gate that must open before children start.
    """

    input_model: Any = dict
    output_model: Any = dict
    replace_on: ClassVar[frozenset[str]] = frozenset()
    """Input fields that can't be updated in place: a change makes a new object, and the old one goes last."""
    singleton_name: ClassVar[bool] = False
    """Old and new can't exist side by side, so a replacement deletes first: it interrupts."""
    destructive: ClassVar[bool] = False
    """Deleting or replacing loses data; plans warn of it."""
    timeout: ClassVar[float] = DEFAULT_TIMEOUT
    """Seconds for one attempt."""
    ready_timeout: ClassVar[float] = DEFAULT_READY_TIMEOUT
    """Seconds for the gate as a whole."""
    group: ClassVar[str] = ""
    """Kinds with the same group share ``group_limit`` operations at once (one Docker host, for example)."""
    group_limit: ClassVar[int] = 0
    """Most operations at once in the group; 0 is no limit of its own."""

    async def create(self, req: Request[In, Out]) -> Out:
        """Make the outside object and return its output."""
        raise NotImplementedError

    async def update(self, req: Request[In, Out]) -> Out:
        """Change the outside object in place and return its output."""
        raise NotImplementedError

    async def delete(self, req: Request[In, Out]) -> None:
        """Remove the outside object; absent is success."""
        raise NotImplementedError


class Drifted(msgspec.Struct, Generic[Out], frozen=True):
    """Returned by ``read``: the object is there, but these input fields are no longer as they were set."""

    output: Out
    fields: tuple[str, ...] = ()


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """A provider's optional attributes, looked up once a run."""

    provider: Provider
    read: Callable[[Request[Any, Any]], Awaitable[Any]] | None = None
    wait_ready: Callable[[Request[Any, Any]], Awaitable[None]] | None = None
    replace_on: frozenset[str] = frozenset()
    singleton_name: bool = False
    destructive: bool = False
    timeout: float = DEFAULT_TIMEOUT
    ready_timeout: float = DEFAULT_READY_TIMEOUT
    group: str = ""
    group_limit: int = 0

    @classmethod
    def of(cls, provider: Provider) -> Traits:
        """The traits of any provider; what it does not have gets the default."""
        names = [field.name for field in msgspec.structs.fields(cls) if field.name != "provider"]
        return cls(provider=provider, **{name: getattr(provider, name) for name in names if hasattr(provider, name)})


class Registry(Protocol):
    """Maps the name of a kind to its provider."""

    def provider(self, kind: str) -> Provider | None:
        """The provider, or None for an unknown kind."""
        ...


class Kinds:
    """A registry by dictionary."""

    def __init__(self, providers: Mapping[str, Provider] | None = None) -> None:
        self._providers = dict(providers or {})

    def register(self, kind: str, provider: Provider) -> None:
        """Add a kind. Raises ``ValueError`` if the name is taken."""
        if kind in self._providers:
            raise ValueError(f"kind {kind} is registered already")
        self._providers[kind] = provider

    def provider(self, kind: str) -> Provider | None:
        """The provider, or None for an unknown kind."""
        return self._providers.get(kind)
