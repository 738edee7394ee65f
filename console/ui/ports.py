"""What the screen needs of the runtime, as narrow protocols: it can be shown over anything of this shape.

The runtime owns all connections, the store and the write path; the screen only reads, asks for plans and confirms them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from typing import Any, Protocol

from console.kit.timing import Clock
from console.model.commits import ApplyOffer, ChangePreview
from console.model.docker import Sample
from console.model.kubernetes import Event, LogLine, LogQuery
from console.model.operations import Operation
from console.model.plan import Intent, Plan
from console.model.refs import Ref
from console.model.resource import KindState, Resource
from console.model.trigger_report import TriggerReport


class StoreView(Protocol):
    """All known objects, and who hears of changes."""

    def of(self, kind: str) -> Mapping[Ref, Resource]:
        """All rows of a kind, as a live read-only view."""
        ...

    def get(self, ref: Ref) -> Resource | None:
        """One row."""
        ...

    def kind_state(self, connection: str, kind: str) -> KindState:
        """Why rows of this kind are (not) there."""
        ...

    def revision(self, kind: str) -> int:
        """Grows with every change of a row or a state of this kind."""
        ...

    def subscribe(self, kinds: Iterable[str], callback: Callable[[frozenset[Ref]], None]) -> Callable[[], None]:
        """Hear of changed references, once a loop turn; returns the function that ends it."""
        ...


class ArmingPort(Protocol):
    """Which targets may be written to now."""

    @property
    def read_only(self) -> bool:
        """Whether nothing can ever be armed."""
        ...

    def arm(self, name: str, minutes: float = 0, *, protected: bool = False) -> object:
        """Allow writes for a while (0: the default time); raises ``Refused``."""
        ...

    def disarm(self, name: str) -> None:
        """Back to read-only."""
        ...

    def armed(self, name: str) -> bool:
        """Whether writes may leave now."""
        ...


class CommandsPort(Protocol):
    """The one write path."""

    @property
    def arming(self) -> ArmingPort:
        """The write locks."""
        ...

    @property
    def running(self) -> tuple[str, ...]:
        """Ids of the operations that run in this process."""
        ...

    def verbs(self, ref: Ref) -> tuple[str, ...]:
        """What can be planned for this object."""
        ...

    async def plan(self, intent: Intent) -> Plan:
        """What would be done; raises ``QuarterdeckError``."""
        ...

    async def plan_undo(self, ref: Ref) -> Plan:
        """The plan that takes back the newest operation on this object; raises ``Refused``."""
        ...

    async def run(self, plan: Plan, typed: str = "", *, why: str = "") -> str:
        """Begin a confirmed plan and return the operation's id; raises ``QuarterdeckError``."""
        ...

    def cancel(self, identity: str) -> None:
        """Ask a running operation to begin nothing new."""
        ...


class ConsoleRuntime(Protocol):
    """Everything the app is given."""

    @property
    def store(self) -> StoreView:
        """All known objects."""
        ...

    @property
    def commands(self) -> CommandsPort:
        """The write path."""
        ...

    @property
    def clock(self) -> Clock:
        """Where "now" comes from."""
        ...

    def look(self, kinds: Iterable[str], connections: Iterable[str] | None = None) -> Callable[[], None]:
        """Watch these kinds (on these connections; None: all) while somebody looks; returns the function that ends it."""
        ...

    async def raw(self, ref: Ref) -> dict[str, Any]:
        """The whole object as the server has it, not masked; raises ``QuarterdeckError``."""
        ...

    def logs(self, ref: Ref, query: LogQuery) -> AsyncGenerator[LogLine, None]:
        """Lines as they come; raises ``QuarterdeckError``."""
        ...

    async def log_sources(self, ref: Ref) -> tuple[str, ...]:
        """Names of the containers whose logs can be asked for."""
        ...

    def stats(self, ref: Ref) -> AsyncGenerator[Sample, None]:
        """About one sample a second; raises ``QuarterdeckError``."""
        ...

    def reconnect(self, name: str) -> None:
        """Try this connection again at once."""
        ...

    def accept_identity(self, name: str) -> None:
        """Go on with the other cluster, swarm or engine that answers under this name now."""
        ...

    def related(self, ref: Ref) -> tuple[Resource, ...]:
        """Objects that this one names, and objects that name it."""
        ...

    async def trigger_report(self, ref: Ref) -> TriggerReport | None:
        """What the dispatch engine knows about a trigger; None for other objects; raises ``QuarterdeckError``."""
        ...

    async def apply_offer(self, ref: Ref) -> ApplyOffer:
        """Which commits can be asked of a trigger's applier, and for which reasons; raises ``QuarterdeckError``."""
        ...

    async def preview(self, ref: Ref, commit: str) -> ChangePreview:
        """What applying the commit would change, by a dry run of the server; raises ``QuarterdeckError``."""
        ...

    def events_about(self, ref: Ref) -> tuple[Event, ...]:
        """Events that speak of this object, newest first."""
        ...

    def operations_on(self, ref: Ref) -> tuple[Operation, ...]:
        """Operations on this object, those in flight first."""
        ...
