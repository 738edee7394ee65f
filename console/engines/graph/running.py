"""One run from its first event to its last: the steps in order, the report, and how failure and cancellation end it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import msgspec

from console.engines.graph.applying import Applying
from console.engines.graph.context import RunContext
from console.engines.graph.deciding import Situation
from console.engines.graph.deleting import Deleting
from console.engines.graph.errors import (
    GraphError,
    InvalidGraph,
    PlanStale,
    ProviderFailed,
    ReconcileError,
    StateNotListed,
    StateNotSaved,
)
from console.engines.graph.ledger import Ticket, describe
from console.engines.graph.planning import forecast, make_plan, plan_digest, unmatched
from console.engines.graph.surveying import survey
from console.model.graph import Plan, RunReport
from console.model.graph_events import PhaseStarted, RunFinished, RunStarted

_SHOWN_FAILURES = 3


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What a run that was not cut short has to say beside its ledger."""

    warnings: tuple[str, ...] = ()
    plan: Plan | None = None


async def told(run: RunContext, work: Awaitable[Done], *, kept: bool = True) -> RunReport:
    """Do the work between the first and the last event, and turn how it ended into a report or an error.

    ``kept`` says whether storage keeps the report; planning writes nothing at all.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    run.teller.tell(RunStarted, total=len(run.layout.desired))

    def report(outcome: str, done: Done | None = None, error: str = "") -> RunReport:
        run.ledger.cancel_open()
        return RunReport(
            run_id=run.run_id,
            project=run.project,
            outcome=outcome,
            resources=tuple(ticket.report() for ticket in run.ledger.sorted()),
            warnings=done.warnings if done else (),
            error=error,
            duration=loop.time() - began,
            plan=done.plan if done else None,
        )

    try:
        done = await work
    except asyncio.CancelledError:
        await _conclude(run, report("cancelled"), kept)
        raise
    except GraphError as error:
        failed = report("failed", error=run.teller.mask(error.message))
        await _conclude(run, failed, kept)
        if isinstance(error, StateNotListed):
            raise ReconcileError(failed.error, failed) from error.__cause__
        raise
    failures = run.ledger.failures()
    if failures:
        failed = report("failed", done, _summary(run, failures))
        await _conclude(run, failed, kept)
        first = run.ledger.first_failure if run.fail_fast else failures[0]
        raise ReconcileError(failed.error, failed) from _presentable(run, first or failures[0])
    finished = report("planned" if done.plan is not None else "succeeded", done)
    await _conclude(run, finished, kept)
    return finished


async def plan_only(run: RunContext, *, prune: bool, refresh: bool) -> Done:
    """Steps one and two without a write."""
    world, records = await survey(run, refresh=refresh)
    _refuse_unknown_kinds(run, world, prune)
    digest = plan_digest(run.layout, records, run.hash_key, project=run.project, prune=prune)
    outlook = forecast(run.layout, world)
    plan = make_plan(run.layout, world, outlook, project=run.project, prune=prune, refresh=refresh, digest=digest)
    blocked = [f"{identity} will fail: {describe(error)}" for identity, error in sorted(world.blocked.items())]
    warnings = tuple(run.teller.mask(text) for text in (*plan.warnings, *blocked))
    return Done(warnings=warnings, plan=msgspec.structs.replace(plan, warnings=warnings))


async def perform(run: RunContext, *, prune: bool, refresh: bool, digest: str | None) -> Done:
    """All three steps. With a digest, only if what the plan rested on still stands."""
    for identity in sorted(run.layout.desired):
        run.ledger.queue(identity, parents=run.layout.parents[identity])
    world, records = await survey(run, refresh=refresh)
    if digest is not None:
        present = plan_digest(run.layout, records, run.hash_key, project=run.project, prune=prune)
        if present != digest:
            raise PlanStale(run.project)
    _refuse_unknown_kinds(run, world, prune)
    run.teller.tell(PhaseStarted, phase="create")
    await Applying(run, world, forecast(run.layout, world)).perform()
    going = unmatched(run.layout, world) if prune else []
    deleting = Deleting(run, going)
    deleting.queue()
    for warning in deleting.warnings:
        run.teller.log("%s", warning, warning=True)
    if run.ledger.failures():
        deleting.keep_all("kept, because not everything wanted exists yet")
    elif going:
        run.teller.tell(PhaseStarted, phase="delete")
        await deleting.perform()
    return Done(warnings=(*world.warnings, *deleting.warnings))


def _refuse_unknown_kinds(run: RunContext, world: Situation, prune: bool) -> None:
    """A stored record of a kind that is no longer known matters only if it would have to be deleted."""
    if not prune:
        return
    strangers = sorted({record.identity for record in unmatched(run.layout, world) if not run.layout.knows(record.kind)})
    if strangers:
        raise InvalidGraph(
            [f"{identity} is to be deleted, but kind {identity.kind} is not registered" for identity in strangers]
        )


async def _conclude(run: RunContext, report: RunReport, kept: bool) -> None:
    """Keep the report, tell it, and let the listener have the last word."""
    try:
        if kept:
            await run.saver.end_run(report)
    except StateNotSaved as error:
        run.teller.log("%s", error.message, warning=True)
    totals = ", ".join(f"{count} {word}" for word, count in report.totals.items())
    run.teller.log("%s: %s in %.1f s", report.outcome, totals, report.duration)
    run.teller.tell(RunFinished, report=report)
    await run.teller.close()


def _summary(run: RunContext, failures: list[Ticket]) -> str:
    total = len(run.ledger.sorted())
    shown = "; ".join(f"{ticket.identity}: {ticket.error}" for ticket in failures[:_SHOWN_FAILURES])
    more = f"; and {len(failures) - _SHOWN_FAILURES} more" if len(failures) > _SHOWN_FAILURES else ""
    return f"{len(failures)} of {total} resources failed: {shown}{more}"


def _presentable(run: RunContext, ticket: Ticket) -> BaseException | None:
    """The cause as it is, unless its own text would show a secret."""
    if ticket.cause is not None and run.teller.mask.knows(str(ticket.cause)):
        return ProviderFailed(ticket.error)
    return ticket.cause
