"""The Kubernetes side of the write path: reads what a plan needs, makes one patch, looks at what came of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from console.backends import argocd_writes, flux_writes, kube_deletes
from console.backends.field_owners import owners
from console.backends.kube_plans import MANAGER, REQUESTED_AT, STAMP, field_state
from console.errors import Conflict, NotFound, NotServed, Refused, WorldMoved
from console.kit.dig import dig, flag, items, mapping, number, text
from console.kit.timing import Clock, SystemClock
from console.model.plan import Intent, Plan, PlanStep
from console.model.refs import Ref

MERGE = "application/merge-patch+json"


class KubeWire(Protocol):
    """The calls of the Kubernetes client that writing needs; it raises :mod:`console.errors` only."""

    async def get(self, path: str) -> dict[str, Any]:
        """One object."""
        ...

    async def patch(self, path: str, body: Any, *, content_type: str, params: dict[str, str] | None = None) -> dict[str, Any]:
        """The object after the patch. Never sent twice."""
        ...

    async def delete(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """DELETE with DeleteOptions; the object that is left, or a Status. Never sent twice."""
        ...

    async def can_i(
        self, verb: str, group: str, resource: str, *, namespace: str = "", name: str = "", subresource: str = ""
    ) -> bool:
        """Whether these credentials may do it (SelfSubjectAccessReview)."""
        ...


class KubeWriter:
    """Satisfies :class:`console.runtime.ports.Writes` for Flux and Argo CD objects.

    :param path_of: the API path of an object in the version that the cluster serves, and its (group, resource); raises
        ``NotServed``.
    """

    def __init__(
        self,
        client: KubeWire,
        path_of: Callable[[Ref], tuple[str, str, str]],
        *,
        clock: Clock | None = None,
        who: str = "quarterdeck",
    ) -> None:
        self._client = client
        self._path_of = path_of
        self._clock = clock or SystemClock()
        self._who = who

    def verbs(self, kind: str) -> tuple[str, ...]:
        """What can be planned for objects of this kind."""
        verbs = argocd_writes.VERBS if kind == "Application" else flux_writes.flux_verbs(kind)
        return (*verbs, "delete") if verbs else ()

    async def plan(self, intent: Intent) -> Plan:
        """Read the objects and say what would be done."""
        objects = {}
        deletes = intent.verb == "delete"
        for ref in intent.targets:
            await self._check_permission(ref, "delete" if deletes else "patch")
            objects[ref] = await self._read(ref)
        if deletes:
            return kube_deletes.plan_delete(intent, objects)
        if intent.targets[0].kind == "Application":
            return argocd_writes.plan_argocd(intent, objects, self._who)
        sources: dict[Ref, dict[str, Any]] = {}
        if intent.verb == "reconcile-with-source":
            for ref, raw in objects.items():
                await self._read_sources(ref, raw, sources)
        return flux_writes.plan_flux(intent, objects, sources)

    async def execute(self, step: PlanStep) -> str:
        """Make the one patch, if the object is still the one that was planned for.

        :raises WorldMoved: another uid or generation, or a field that the plan showed has another value.
        """
        raw = await self._read(step.ref)
        self._check_unmoved(raw, step)
        if step.kind == "delete":
            return await self._delete(raw, step)
        body = _stamped(step.request["patch"], self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
        body.setdefault("metadata", {})["resourceVersion"] = text(raw, "metadata", "resourceVersion")
        body["metadata"]["uid"] = step.precondition["uid"]
        path, _, _ = self._path_of(step.ref)
        try:
            after = await self._client.patch(path, body, content_type=MERGE, params={"fieldManager": MANAGER})
        except Conflict as error:
            raise WorldMoved(f"{step.ref.path} was changed by somebody else in this moment.", "Plan again.") from error
        return f"the API server took it as version {text(after, 'metadata', 'resourceVersion')}"

    async def _delete(self, raw: dict[str, Any], step: PlanStep) -> str:
        """The one DELETE, bound to the object and the version that was just checked."""
        bound = {"uid": step.precondition["uid"], "resourceVersion": text(raw, "metadata", "resourceVersion")}
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": bound}
        path, _, _ = self._path_of(step.ref)
        try:
            left = await self._client.delete(path, options)
        except Conflict as error:
            raise WorldMoved(f"{step.ref.path} was changed by somebody else in this moment.", "Plan again.") from error
        except NotFound:
            return "somebody else deleted it in this moment"
        waits = ", ".join(items(left, "metadata", "finalizers"))
        return f"marked for deletion; it waits for {waits}" if waits else "deleted"

    async def applied(self, step: PlanStep) -> bool | None:
        """Whether a write whose answer was lost is there: its fields have the values, under our name."""
        if step.kind == "delete":
            there = await self._there(step)
            return there is None or text(there, "metadata", "deletionTimestamp") != ""
        try:
            raw = await self._read(step.ref)
        except Refused:
            return None
        for listed in items(step.request, "fields"):
            path = [str(part) for part in listed]
            wanted, now = dig(step.request["patch"], *path), dig(raw, *path)
            before = next((change.before for change in step.changes if change.path == ".".join(path)), "")
            if wanted == STAMP:
                if field_state(raw, [path])[".".join(path)] == before:
                    return False
                if MANAGER not in owners(raw, *path):
                    return None
            elif listed in items(step.request, "taken"):
                return self._was_taken(raw, step)
            elif field_state(raw, [path]) != field_state(mapping(step.request, "patch"), [path]):
                return False if field_state(raw, [path])[".".join(path)] == before else None
            elif now is not None and MANAGER not in owners(raw, *path):
                return None
        return True

    def _was_taken(self, raw: dict[str, Any], step: PlanStep) -> bool | None:
        """For a field that the controller takes away: there now, or its result there, or it never came."""
        if any(dig(raw, *path) is not None for path in items(step.request, "taken")):
            return True if any(MANAGER in owners(raw, *path) for path in items(step.request, "taken")) else None
        if "started" in step.request:
            if "token" in step.request and argocd_writes.request_of(raw) == step.request["token"]:
                return True
            moved = text(raw, "status", "operationState", "startedAt") != step.request["started"]
            asked = text(step.request, "patch", "operation", "initiatedBy", "username")
            ours = text(raw, "status", "operationState", "operation", "initiatedBy", "username") == asked
            return (True if ours else None) if moved else False
        return None if text(raw, "status", "reconciledAt") != step.request.get("reconciled") else False

    async def observe(self, plan: Plan) -> tuple[bool, str]:
        """Whether the controllers have done what was asked; raises ``Refused`` when it ended badly."""
        words = "done"
        for step in plan.steps:
            if step.kind == "delete":
                if (left := await self._there(step)) is not None:
                    return False, _waits_for(left, step)
                words = f"{step.ref.path} is deleted"
                continue
            raw = await self._read(step.ref)
            complete, words = _progress(raw, step)
            if not complete:
                return False, words
        return True, words

    def _check_unmoved(self, raw: dict[str, Any], step: PlanStep) -> None:
        now = {
            "uid": text(raw, "metadata", "uid"),
            "generation": str(number(raw, "metadata", "generation")),
            "suspend": "true" if flag(raw, "spec", "suspend") else "false",
            "last operation": text(raw, "status", "operationState", "startedAt"),
            "last request": argocd_writes.request_of(raw),
            "started": text(raw, "status", "operationState", "startedAt"),
            **kube_deletes.deletion_facts(raw),
            **field_state(raw, [[str(part) for part in path] for path in items(step.request, "fields")]),
        }
        for fact, then in step.precondition.items():
            if now.get(fact, "absent") != then:
                raise WorldMoved(f"{step.ref.path}: {fact} is {now.get(fact, 'absent')} now, it was {then}.", "Plan again.")

    async def _check_permission(self, ref: Ref, verb: str = "patch") -> None:
        _, group, resource = self._path_of(ref)
        if not await self._client.can_i(verb, group, resource, namespace=ref.namespace, name=ref.name):
            name = f"{resource}.{group}" if group else resource
            raise Refused(
                f"These credentials may not {verb} {name} in {ref.namespace}.",
                f"Ask for it; check with: kubectl auth can-i {verb} {name} -n {ref.namespace}",
            )

    async def _read_sources(self, ref: Ref, raw: dict[str, Any], sources: dict[Ref, dict[str, Any]]) -> None:
        """What feeds the object, and what feeds that."""
        while source := flux_writes.source_ref(ref, raw):
            ref, raw = source, await self._read(source)
            sources[Ref(ref.connection, ref.kind, ref.namespace, ref.name, text(raw, "metadata", "uid"))] = raw
            if not flux_writes.is_static(raw):
                await self._check_permission(source)

    async def _there(self, step: PlanStep) -> dict[str, Any] | None:
        """The object that a step is about, None once it is gone; another one of its name is not it."""
        path, _, _ = self._path_of(step.ref)
        try:
            raw = await self._client.get(path)
        except NotFound:
            return None
        return raw if text(raw, "metadata", "uid") == step.precondition["uid"] else None

    async def _read(self, ref: Ref) -> dict[str, Any]:
        path, _, _ = self._path_of(ref)
        try:
            return await self._client.get(path)
        except (NotFound, NotServed) as error:
            raise Refused(f"{ref.kind} {ref.path} is gone.", "It was deleted since it was shown.") from error


def _stamped(value: Any, now: str) -> Any:
    if value == STAMP:
        return now
    return {key: _stamped(item, now) for key, item in value.items()} if isinstance(value, dict) else value


def _waits_for(raw: dict[str, Any], step: PlanStep) -> str:
    waits = ", ".join(items(raw, "metadata", "finalizers")) or "the API server"
    behind = number(step.request, "behind")
    what = f" and {behind} object{'s' if behind > 1 else ''} with it" if behind else ""
    return f"{step.ref.path} to go{what} ({waits})"


def _progress(raw: dict[str, Any], step: PlanStep) -> tuple[bool, str]:
    name = step.ref.path
    if step.request.get("handled"):
        asked = text(raw, "metadata", "annotations", REQUESTED_AT)
        if text(raw, "status", "lastHandledReconcileAt") != asked:
            return False, f"{name}: its controller to take the request"
        return _ready(raw, name)
    if taken := items(step.request, "taken"):
        if any(dig(raw, *path) is not None for path in taken):
            return False, f"{name}: its controller to take the request"
        if "started" in step.request and not argocd_writes.has_begun(raw, step.request):
            return False, f"{name}: the operation to begin"
    if step.request.get("ends"):
        phase, why = text(raw, "status", "operationState", "phase"), text(raw, "status", "operationState", "message")
        if phase in argocd_writes.RUNNING:
            return False, f"{name}: the operation to end ({phase}: {why})"
        if "started" in step.request and phase in ("Failed", "Error"):
            raise Refused(f"The operation of {name} ended as {phase}: {why}")
        return True, f"{name}: {phase or 'ended'}"
    if dig(step.request["patch"], "spec", "suspend") is None and "suspend" in mapping(step.request["patch"], "spec"):
        return _ready(raw, name)
    return True, f"{name} is as planned"


def _ready(raw: dict[str, Any], name: str) -> tuple[bool, str]:
    if flux_writes.is_static(raw):
        return True, f"{name} is as planned"
    ready = next((item for item in items(raw, "status", "conditions") if text(item, "type") == "Ready"), None)
    # Kustomize-controller moves its observedGeneration on success only; a failure is dated by its own condition.
    generation = number(raw, "metadata", "generation")
    observed = max(number(raw, "status", "observedGeneration"), number(ready, "observedGeneration"))
    if ready is None or observed < generation:
        return False, f"{name}: its controller to see generation {generation}"
    status, why = text(ready, "status"), text(ready, "message")
    if status == "Unknown":
        return False, f"{name}: {why or text(ready, 'reason')}"
    if status == "False":
        raise Refused(f"{name} was reconciled and failed: {why}", "The request was handled; mend the cause.")
    return True, f"{name}: {why or 'Ready'}"
