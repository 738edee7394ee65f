"""Adopting an applier as a local trigger, and taking the declaration back: lines of the fleet file, nothing in a cluster.

The plan shows the lines; they are written as a whole or not at all, bound to the file as it was read, and the trigger is live
without a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from console.config import fleet_edits
from console.config.fleet import parse_fleet
from console.config.triggers import TriggerEntry
from console.engines.dispatch.local import read_local
from console.engines.dispatch.local_triggers import foreign_holder
from console.engines.dispatch.types import ApplierKey, Verdict
from console.engines.ports.applier import APPLICATIONS, KUSTOMIZATIONS
from console.errors import ConfigError, NotFound, Refused
from console.kit.dig import text
from console.model.plan import FieldChange, Intent, Plan, PlanStep
from console.model.refs import Ref
from console.runtime.cluster_engine import ClusterEngine
from console.runtime.dispatch_plans import HINTS

KINDS = {"Kustomization": KUSTOMIZATIONS, "Application": APPLICATIONS}
ADOPT, DISOWN = "adopt", "disown"
_YES, _NO = ("true", "yes"), ("false", "no")


class AdoptionWriter:
    """Satisfies :class:`console.runtime.ports.Writes` for one applier: ``adopt`` while nobody declared it, then ``disown``.

    :param file: the fleet file, which need not exist.
    :param adopted: makes a declared trigger live; returns why it can't be, "" if it is.
    :param dropped: forgets one.
    :param rival: the other connection to the same cluster by which the applier is a trigger already, or "".
    """

    resolves = (ADOPT, DISOWN)

    def __init__(
        self,
        engine: ClusterEngine,
        ref: Ref,
        file: Path,
        adopted: Callable[[TriggerEntry], str],
        dropped: Callable[[TriggerEntry], None],
        rival: Callable[[Ref], str] = lambda ref: "",
    ) -> None:
        self._engine = engine
        self._ref = ref
        self._file = file
        self._adopted = adopted
        self._dropped = dropped
        self._rival = rival

    def verbs(self, kind: str) -> tuple[str, ...]:
        """What can be planned for the applier."""
        declared = self._engine.find(self._ref.kind, self._ref.namespace, self._ref.name) is not None
        return (DISOWN if declared else ADOPT,) if kind in KINDS else ()

    async def plan(self, intent: Intent) -> Plan:
        """The lines that would be written or taken out.

        :raises Refused: it can't be driven, or something drives it already, or it is still held.
        """
        if len(intent.targets) != 1:
            raise Refused("One applier at a time.", "Each gets a name and a declaration of its own.")
        before = await asyncio.to_thread(fleet_edits.read_text, self._file)
        raw = await self._applier()
        return await (self._adopt if intent.verb == ADOPT else self._disown)(intent, before, raw)

    async def execute(self, step: PlanStep) -> str:
        """Write the file; then the trigger is live, or gone.

        :raises WorldMoved: the file was changed. :raises ConfigError: it can't be written.
        """
        entry = msgspec.convert(step.request["entry"], TriggerEntry)
        before = await asyncio.to_thread(fleet_edits.read_text, self._file)
        adopts = step.request["call"] == ADOPT
        if adopts:
            after = fleet_edits.with_trigger(before, self._file, entry)
        else:
            after = fleet_edits.without_trigger(before, self._file, entry.name)
        await asyncio.to_thread(fleet_edits.replace_text, self._file, step.precondition["file"], after)
        if adopts:
            problem = self._adopted(entry)
            return f"declared in {self._file}{f', but {problem}' if problem else '; it is live'}"
        self._dropped(entry)
        return f"taken out of {self._file}"

    async def applied(self, step: PlanStep) -> bool | None:
        """Whether the declaration is there (or gone)."""
        declared = self._declared(await asyncio.to_thread(fleet_edits.read_text, self._file)) is not None
        return declared is (step.request["call"] == ADOPT)

    async def observe(self, plan: Plan) -> tuple[bool, str]:
        """The file is written at once."""
        done = "is a local trigger now" if plan.intent.verb == ADOPT else "is declared no more"
        return True, f"{self._ref.path} {done}"

    async def _adopt(self, intent: Intent, before: str, raw: dict[str, Any]) -> Plan:
        key = ApplierKey(self._engine.local_cluster, self._ref.kind, self._ref.namespace, self._ref.name)
        if holder := await foreign_holder(self._engine.objects, key.kind, key.ref):
            raise Refused(f"{holder} drives {self._ref.path}.", "One applier has one trigger: use that one.")
        if other := self._rival(self._ref):
            raise Refused(f"{self._ref.path} is a trigger by {other} already: it is the same cluster.", "Use that one.")
        if self._declared(before) is not None:
            raise Refused(f"{self._file} declares {self._ref.path} already.", "A restart reads it again.")
        record = read_local(raw)
        if record.operation is not None and record.operation.in_flight:
            raise Refused(f"Another console applies a commit on {self._ref.path} now.", "Adopt it when that has ended.")
        verdict = await (await self._engine.clients.client(key)).validate(key.ref)
        entry = self._entry(intent, before, verdict)
        line = fleet_edits.line_of(entry)
        # Whether it can be put in is known now, not only when it is confirmed.
        fleet_edits.with_trigger(before, self._file, entry)
        effects = [
            "Nothing is written to the cluster: only the fleet file changes.",
            f"This console then drives it by the name {entry.name}, without a restart.",
        ]
        if entry.hold:
            effects.append("Nothing is held yet: H holds it, and from then on only commits that are asked for are applied (A).")
        elif entry.kind == "flux":
            effects.append("Without hold: true no commit can be applied by itself: it goes on applying what its source has.")
        if record.holding:
            effects.append("A console holds it already; this one then keeps that hold too.")
        return self._plan(intent, before, entry, raw, [*effects, f"The line: {line}"])

    async def _disown(self, intent: Intent, before: str, raw: dict[str, Any]) -> Plan:
        entry = self._declared(before)
        if entry is None:
            raise Refused(f"{self._file} declares nothing for {self._ref.path} any more.", "A restart reads it again.")
        record = read_local(raw) if raw else None
        if record is not None and record.operation is not None and record.operation.in_flight:
            raise Refused("An operation is in flight.", "Wait for its end: nobody else would follow it.")
        if record is not None and record.holding:
            raise Refused(f"{self._ref.path} is held: nobody here would keep or release it.", "Release the hold first (H).")
        fleet_edits.without_trigger(before, self._file, entry.name)
        effects = ["Nothing is written to the cluster: only the fleet file changes.", "This console no longer drives it."]
        return self._plan(intent, before, entry, raw, effects)

    def _plan(
        self,
        intent: Intent,
        before: str,
        entry: TriggerEntry,
        raw: dict[str, Any],
        effects: list[str],
    ) -> Plan:
        adopts = intent.verb == ADOPT
        said = "Declare" if adopts else "Take out the declaration of"
        bound = {"file": fleet_edits.fingerprint(before)} | ({"uid": text(raw, "metadata", "uid")} if raw else {})
        fields = {name: str(value).lower() if value is True else value for name, value in fleet_edits.fields_of(entry).items()}
        before_after = [(name, "absent", value) if adopts else (name, value, "absent") for name, value in fields.items()]
        step = PlanStep(
            key=intent.verb,
            title=f"{said} {self._ref.kind} {self._ref.path} in {self._file}",
            ref=intent.targets[0],
            precondition=bound,
            changes=tuple(FieldChange(path=path, before=was, after=then) for path, was, then in before_after),
            request={"call": intent.verb, "entry": msgspec.to_builtins(entry)},
        )
        again = {"name": entry.name, "hold": "true" if entry.hold else "false"}
        undo = Intent(verb=DISOWN if adopts else ADOPT, targets=intent.targets, arguments={} if adopts else again)
        return Plan(intent=intent, steps=(step,), effects=tuple(effects), undo=undo)

    def _entry(self, intent: Intent, before: str, verdict: Verdict) -> TriggerEntry:
        unknown = next((name for name in intent.arguments if name not in ("name", "hold")), "")
        if unknown:
            raise Refused(f"adopt knows no {unknown}.", "It knows name and hold.")
        if not verdict.ok or verdict.source is None:
            raise Refused(f"{self._ref.path} could not be driven as it is: {verdict.message}", HINTS.get(verdict.reason, ""))
        hold = intent.arguments.get("hold", "false").lower()
        if hold not in (*_YES, *_NO):
            raise Refused(f"hold={hold} is neither yes nor no.")
        if hold in _YES and self._ref.kind != KUSTOMIZATIONS.kind:
            raise Refused("Only a Kustomization can be held.", "An Application needs none: its automated sync is off.")
        taken = {entry.name for entry in parse_fleet(before, self._file).triggers}
        name = intent.arguments.get("name", "")
        if name in taken:
            raise Refused(f"{self._file} has a trigger {name} already.", "Give it another name: name=...")
        free = (self._ref.name, f"{self._ref.namespace}-{self._ref.name}", f"{self._ref.connection}-{self._ref.name}")
        return TriggerEntry(
            name=name or next((word for word in free if word not in taken), "-".join(free)),
            connection=self._ref.connection,
            kind="flux" if self._ref.kind == KUSTOMIZATIONS.kind else "argocd",
            namespace=self._ref.namespace,
            object=self._ref.name,
            url=verdict.source.url,
            branch=verdict.source.revision.removeprefix("refs/heads/"),
            hold=hold in _YES,
        )

    def _declared(self, content: str) -> TriggerEntry | None:
        """The declaration of this applier that the file has now."""
        wanted = (self._ref.connection, self._ref.kind, self._ref.namespace, self._ref.name)
        try:
            entries = parse_fleet(content, self._file).triggers
        except ConfigError as error:
            raise Refused(error.message, error.hint) from error
        found = (entry for entry in entries if (entry.connection, entry.applier_kind, entry.namespace, entry.object) == wanted)
        return next(found, None)

    async def _applier(self) -> dict[str, Any]:
        """The applier; empty if it is gone, which hinders nobody from taking its declaration out."""
        try:
            return await self._engine.objects.get(KINDS[self._ref.kind], self._ref.namespace, self._ref.name)
        except NotFound as error:
            if self._engine.find(self._ref.kind, self._ref.namespace, self._ref.name) is not None:
                return {}
            raise Refused(f"{self._ref.path} is gone.") from error
