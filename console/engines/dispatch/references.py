"""Fresh reads of triggers, the targets that name them, and who holds an applier. Sections 9.1, 9.3 and 9.5."""

from __future__ import annotations

import logging

import msgspec

from console.engines.dispatch.admission import Admission, admit
from console.engines.dispatch.constants import DEFAULT_CLUSTER, ConditionReason
from console.engines.dispatch.judgement import Judgement, Reference, ReferenceState, judge_binding
from console.engines.dispatch.resources import (
    TRIGGER_KINDS,
    TargetView,
    TriggerView,
    first_in_line,
    naming_targets,
    same_applier,
    target_view,
    trigger_ref,
    trigger_view,
)
from console.engines.dispatch.types import ApplierKey, Binding, Source, TriggerRef
from console.engines.ports.applier import (
    APPLICATIONS,
    CLUSTER_PROVIDERS,
    GIT_PROVIDERS,
    GIT_TARGETS,
    KUSTOMIZATIONS,
    JsonObject,
    Objects,
)
from console.errors import NotFound, ProtocolError
from console.kit.dig import text

_log = logging.getLogger(__name__)


class References:
    """Reads the custom resources of the control cluster, never from a cache.

    All methods raise :class:`~console.errors.QuarterdeckError` when a read fails with anything but "there is none": the
    caller then keeps what it published.
    """

    def __init__(self, control: Objects) -> None:
        self._control = control

    async def trigger(self, ref: TriggerRef) -> TriggerView:
        """One trigger. :raises NotFound: it does not exist."""
        obj = await self._control.get(TRIGGER_KINDS[ref.kind], ref.namespace, ref.name)
        return trigger_view(_with_kind(obj, ref.kind))

    async def triggers(self, kind: str) -> list[TriggerView]:
        """All triggers of a kind, in all namespaces, whose record can be understood.

        One that can't be must not stop what the others need; whoever asks about it alone, or about its applier, is told.
        """
        found = []
        for obj in await self.objects(kind):
            try:
                found.append(trigger_view(obj))
            except ProtocolError as error:
                _log.warning("%s is left alone: %s", trigger_ref(obj), error)
        return found

    async def asked_applier(self, view: TriggerView) -> ApplierKey:
        """The applier that the recorded operation was asked of. A trigger may name another one by now, and a Kustomization that
        was resumed must be held again whatever its trigger names: so it is looked for by its uid, which the record has.

        Where it is gone, or nothing is known of it, the one that the trigger names; its uid then tells that it was replaced.
        """
        uid = view.record.operation.applier_uid if view.record.operation else ""
        if uid and view.key.cluster == DEFAULT_CLUSTER:
            kind = KUSTOMIZATIONS if view.key.kind == KUSTOMIZATIONS.kind else APPLICATIONS
            for obj in await self._control.list(kind):
                if text(obj, "metadata", "uid") == uid:
                    at = text(obj, "metadata", "namespace"), text(obj, "metadata", "name")
                    return msgspec.structs.replace(view.key, namespace=at[0], name=at[1])
        return view.key

    async def objects(self, kind: str) -> list[JsonObject]:
        """All triggers of a kind, in all namespaces, as they are stored."""
        return [_with_kind(obj, kind) for obj in await self._control.list(TRIGGER_KINDS[kind])]

    async def naming_targets(self, trigger: TriggerRef) -> list[TargetView]:
        """The targets that name it, by name."""
        found = await self._control.list(GIT_TARGETS, trigger.namespace)
        return naming_targets([target_view(obj) for obj in found], trigger)

    async def triggers_of_applier(self, trigger: TriggerView) -> list[TriggerView]:
        """All other triggers that drive the same applier. :raises ProtocolError: the record of one can't be understood."""
        found = [trigger_view(obj) for obj in await self.objects(trigger.ref.kind) if same_applier(trigger, obj)]
        return [other for other in found if other.ref.uid != trigger.ref.uid]

    async def binding(self, target: TargetView) -> Binding | None:
        """What a target writes; None when its GitProvider does not exist."""
        try:
            provider = await self._control.get(GIT_PROVIDERS, target.ref.namespace, target.provider)
        except NotFound:
            return None
        return Binding(text(provider, "spec", "url"), target.branch)

    async def admission(self, trigger: TriggerView, target: TargetView) -> Admission:
        """Whether the target's namespace may use its cluster, and the trigger's namespace the trigger's. A denial wins
        over a missing provider, which decides nothing."""
        answers = [
            await admit(self._control, target.cluster_provider, target.ref.namespace),
            await admit(self._control, trigger.key.cluster, trigger.ref.namespace),
        ]
        refused = [answer for answer in answers if not answer.ok]
        return next((answer for answer in refused if not answer.missing), refused[0] if refused else answers[0])

    async def judge(self, trigger: TriggerView, targets: list[TargetView], source: Source | None) -> Judgement:
        """Judge each naming target, in order."""
        return Judgement(tuple([await self._judge(trigger, target, source) for target in targets]))

    async def _judge(self, trigger: TriggerView, target: TargetView, source: Source | None) -> Reference:
        admitted = await self.admission(trigger, target)
        if not admitted.ok:
            state = ReferenceState.UNDECIDED if admitted.missing else ReferenceState.REFUSED
            return Reference(target.ref, state, admitted.reason, admitted.message)
        want = await self.binding(target)
        if want is None:
            message = f"GitProvider {target.ref.namespace}/{target.provider} does not exist"
            return Reference(target.ref, ReferenceState.UNDECIDED, ConditionReason.NOT_BOUND, message)
        return judge_binding(target.ref, source, want)

    async def held_by_another(self, trigger: TriggerView) -> TriggerView | None:
        """The trigger that comes before this one for their common applier; None when this one is first."""
        candidates = [other for other in (trigger, *await self.triggers_of_applier(trigger)) if await self._in_line(other)]
        first = first_in_line(candidates)
        return None if first is None or first.ref.uid == trigger.ref.uid else first

    async def _in_line(self, trigger: TriggerView) -> bool:
        if trigger.holding or trigger.in_flight:
            return True
        if trigger.deleting:
            return False
        for target in await self.naming_targets(trigger.ref):
            admitted = await self.admission(trigger, target)
            if admitted.ok or admitted.missing:
                return True
        return False


async def clusters_of_one_server(control: Objects) -> list[tuple[str, str]]:
    """Pairs of ClusterProviders that lead to the same place: neither has a kubeconfig, or both have the same secret.

    The engine can't see through names, so an applier reached by both has two keys: warn.
    """
    places: dict[tuple[str, str], list[str]] = {}
    for provider in await control.list(CLUSTER_PROVIDERS):
        secret = text(provider, "spec", "kubeConfig", "secretRef", "name")
        place = (secret, text(provider, "spec", "kubeConfig", "secretRef", "key") if secret else "")
        places.setdefault(place, []).append(text(provider, "metadata", "name") or DEFAULT_CLUSTER)
    return sorted((names[0], other) for names in map(sorted, places.values()) for other in names[1:])


def _with_kind(obj: JsonObject, kind: str) -> JsonObject:
    # Items of a list carry no kind of their own on some servers.
    return obj if obj.get("kind") == kind else {**obj, "kind": kind}
