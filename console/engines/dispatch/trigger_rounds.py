"""Passes over all custom triggers of a cluster, each when something that it depends on has changed.

A pass takes some twenty requests, so a round first asks by lists what changed at all since the round before. The lists decide
only *who* is looked at: a pass itself reads everything live. Every trigger gets one from time to time whatever the lists say,
since rights and consumers of other kinds are not in them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from console.engines.dispatch.reconciler import TriggerReconciler
from console.engines.dispatch.references import References
from console.engines.dispatch.resources import TRIGGER_KINDS, TriggerView
from console.engines.dispatch.types import TriggerRef
from console.engines.ports.applier import (
    APPLICATIONS,
    CLUSTER_PROVIDERS,
    GIT_PROVIDERS,
    GIT_REPOSITORIES,
    GIT_TARGETS,
    KUSTOMIZATIONS,
    NAMESPACES,
    ApiKind,
    Objects,
)
from console.errors import NotServed, QuarterdeckError

_log = logging.getLogger(__name__)

ANYWAY_SECONDS = 300.0
"""A trigger of which nothing seems to have changed gets a pass after this time all the same."""

AGAIN_SECONDS = 4.0
"""Before a pass that failed is repeated."""

Change = tuple[str, str, str]
"""Kind, namespace and name of an object that came, went or changed."""

_FOR_ALL = frozenset({CLUSTER_PROVIDERS.kind, NAMESPACES.kind})
_BY_NAMESPACE = frozenset({GIT_TARGETS.kind, GIT_PROVIDERS.kind})
_DEPENDS_ON: tuple[ApiKind, ...] = (
    *TRIGGER_KINDS.values(),
    *(GIT_TARGETS, GIT_PROVIDERS, CLUSTER_PROVIDERS, NAMESPACES, KUSTOMIZATIONS, APPLICATIONS, GIT_REPOSITORIES),
)


class TriggerRounds:
    """One per cluster; runs only in the elected engine.

    :param leads: whether it still is; asked before each pass.
    """

    def __init__(self, control: Objects, reconciler: TriggerReconciler, leads: Callable[[], bool]) -> None:
        self._control = control
        self._references = References(control)
        self._reconciler = reconciler
        self._leads = leads
        self._known: dict[str, dict[tuple[str, str], str]] = {}
        self._views: dict[TriggerRef, TriggerView] = {}
        self._due: dict[TriggerRef, float] = {}

    def forget(self) -> None:
        """The lead was lost: what is known now may be wrong when it comes back."""
        self._known.clear()
        self._views.clear()
        self._due.clear()

    async def views(self) -> list[TriggerView]:
        """All triggers of the cluster, read now. :raises QuarterdeckError: they could not be read."""
        found: list[TriggerView] = []
        for kind in TRIGGER_KINDS:
            try:
                found += await self._references.triggers(kind)
            except NotServed:
                continue
        return found

    async def round(self) -> None:
        """Find out what changed, and make the passes that are due.

        :raises QuarterdeckError: the triggers could not be listed; nothing was done.
        """
        changes = await self._changes()
        if changes is None or not self._views or any(kind in TRIGGER_KINDS for kind, _, _ in changes):
            before, self._views = self._views, {view.ref.key: view for view in await self.views()}
            gone = [view for key, view in before.items() if key not in self._views]
            self._due = {key: at for key, at in self._due.items() if key in self._views}
        else:
            gone = []
        self._demand(self._views if changes is None else self._concerned(changes, gone))
        await self._passes()

    async def look(self, changes: set[Change]) -> None:
        """Objects that a watch shows to have changed: the passes that these make due, without a round."""
        self._demand(self._concerned(changes, ()))
        await self._passes()

    def _demand(self, keys: Iterable[TriggerRef]) -> None:
        self._due.update(dict.fromkeys(keys, asyncio.get_running_loop().time()))

    async def _passes(self) -> None:
        now = asyncio.get_running_loop().time()
        for key in [key for key in self._views if self._due.get(key, now) <= now]:
            if not self._leads():
                return
            await self._pass(key)

    async def _pass(self, key: TriggerRef) -> None:
        loop = asyncio.get_running_loop()
        try:
            wait = await self._reconciler.reconcile(self._views[key].ref)
        except QuarterdeckError as error:
            # One that can't be read or judged must not keep the others from it.
            _log.info("the pass over %s is to be repeated: %s", key, error)
            wait = AGAIN_SECONDS
        self._due[key] = loop.time() + (wait or ANYWAY_SECONDS)

    def _concerned(self, changes: set[Change], gone: Iterable[TriggerView]) -> set[TriggerRef]:
        """Whose pass could come out otherwise for these changes."""
        if any(kind in _FOR_ALL for kind, _, _ in changes):
            return set(self._views)
        spaces = {namespace for kind, namespace, _ in changes if kind in _BY_NAMESPACE}
        found = {key for key, view in self._views.items() if view.ref.namespace in spaces or not _own(view).isdisjoint(changes)}
        # Who holds a common applier is decided among all that name it.
        appliers = {self._views[key].key for key in found} | {view.key for view in gone}
        return found | {key for key, view in self._views.items() if view.key in appliers}

    async def _changes(self) -> set[Change] | None:
        """What is not as it was in the round before; None when that is not known, for everything then."""
        changes: set[Change] = set()
        certain = True
        for kind in _DEPENDS_ON:
            try:
                now = await self._control.versions(kind)
            except NotServed:
                now = {}
            except QuarterdeckError as error:
                _log.info("what changed of %s is not known: %s", kind.plural, error)
                self._known.pop(kind.kind, None)
                certain = False
                continue
            before = self._known.get(kind.kind)
            self._known[kind.kind] = now
            if before is None:
                certain = False
            elif before != now:
                changed = {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}
                changes |= {(kind.kind, *name) for name in changed}
        return changes if certain else None


def _own(view: TriggerView) -> set[Change]:
    """The objects that a trigger alone depends on: itself, its applier, and the applier's source."""
    own = {(view.ref.kind, view.ref.namespace, view.ref.name), (view.key.kind, view.key.namespace, view.key.name)}
    repository = view.source.git_repository if view.source is not None else None
    return own if repository is None else own | {(GIT_REPOSITORIES.kind, repository.namespace, repository.name)}
