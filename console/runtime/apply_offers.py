"""What an operator may ask of an applier now: which commits, for which reasons, and what stands in the way."""

from __future__ import annotations

import asyncio

import msgspec

from console.engines.dispatch.binding import shown
from console.engines.dispatch.constants import Outcome, Reason
from console.engines.dispatch.flux_reading import already_applied, suspended
from console.engines.dispatch.revisions import describe_commit
from console.kit.sanitize import sanitize
from console.model.commits import ApplyOffer, CommitInfo, CommitOffer, ReasonOffer
from console.model.refs import Ref
from console.runtime.appliers import Applier, read_applier
from console.runtime.cluster_engine import ClusterEngine
from console.runtime.commit_book import CommitBook, Head
from console.runtime.dispatch_plans import COMMIT, applied_commit, source_commit

_LAST = {
    Outcome.SUCCEEDED: "the last operation applied it",
    Outcome.FAILED: "the last operation failed with it",
}


async def offer(engine: ClusterEngine, ref: Ref) -> ApplyOffer:
    """Read everything that is offered. The repository is waited for a few seconds at most; what it doesn't tell is said.

    :raises NotServed: no applier is behind such an object. :raises QuarterdeckError: its cluster can't be read now.
    """
    applier = await read_applier(engine, ref)
    # Verdicts name what anybody wrote into the cluster.
    applier = msgspec.structs.replace(applier, refused=sanitize(applier.refused))
    has = source_commit(applier.raw, applier.source)
    applied = applied_commit(applier.raw, applier.flux)
    last = applier.operation.commit if applier.operation is not None else ""
    known = [commit for commit in dict.fromkeys((has, applied, last)) if COMMIT.fullmatch(commit)]
    head, told = await _ask(engine.commits, applier, known)
    places = _places(applier, head, has, applied, last)
    commits = tuple(
        CommitOffer(commit=told[commit], places=tuple(where), refused=applier.refused or _refused(applier, commit, has, head))
        for commit, where in places.items()
    )
    return ApplyOffer(
        ref=ref,
        binding=sanitize(f"{shown(applier.binding.url)}@{applier.binding.branch}") if applier.binding else "",
        applied=applied,
        commits=commits,
        reasons=_reasons(applier, applied),
        notes=_notes(applier, head),
    )


async def _ask(commits: CommitBook, applier: Applier, known: list[str]) -> tuple[Head, dict[str, CommitInfo]]:
    """The branch's head, and what the repository tells of all commits; both questions are asked at once."""
    binding = applier.binding
    if binding is None:
        why = "which repository is applied can't be told"
        return Head(unknown=why), {commit: CommitInfo(hash=commit, unread=why) for commit in known}
    head, told = await asyncio.gather(commits.head(binding), commits.describe(binding.url, known))
    if head.commit and head.commit not in told:
        told |= await commits.describe(binding.url, (head.commit,))
    return head, told


def _places(applier: Applier, head: Head, has: str, applied: str, last: str) -> dict[str, list[str]]:
    """Where each commit was seen, in the order in which they are proposed."""
    branch = sanitize(applier.binding.branch) if applier.binding else "its branch"
    outcome = applier.operation.outcome if applier.operation is not None else None
    asked = _LAST.get(outcome, "the last operation asked for it") if outcome is not None else ""
    seen = (
        (has, "the source has it" if applier.flux else "Argo CD compares with it"),
        (head.commit, f"head of {branch}"),
        (applied, "applied now"),
        (last, asked),
    )
    places: dict[str, list[str]] = {}
    for commit, words in seen:
        if COMMIT.fullmatch(commit):
            places.setdefault(commit, []).append(words)
    return places


def _refused(applier: Applier, commit: str, has: str, head: Head) -> str:
    """Why this commit can't be applied, though others can."""
    if not applier.flux or commit == has:
        return ""
    if suspended(applier.source):
        return "The source is suspended: it fetches nothing. Resume it first."
    if head.excludes(commit):
        return "Flux applies what its branch has, and the branch has moved on: push a revert to it, and apply that."
    return ""


def _reasons(applier: Applier, applied: str) -> tuple[ReasonOffer, ...]:
    idle = applier.flux and applied != "" and already_applied(applier.raw, applied)
    nothing = f" For {applied[:7]} it asks nothing: that is applied already." if idle else ""
    unlawful = (
        ""
        if applier.consents
        else "Nobody consented to have live edits reverted: revert_refused_edits in the fleet file, or "
        "spec.revertRefusedEdits of a GitTarget."
    )
    pending = "Proposed: the record says that a repair is pending. " if applier.repair_pending else ""
    offers = (
        ReasonOffer(
            reason=Reason.CATCH_UP.value,
            words=f"The cluster may be behind a commit that is known: bring it there.{nothing}",
            refused=applier.refused,
        ),
        ReasonOffer(
            reason=Reason.FOREIGN_COMMIT.value,
            words=f"Somebody else pushed to the branch: apply what they pushed.{nothing}",
            refused=applier.refused,
        ),
        ReasonOffer(
            reason=Reason.REFUSAL.value,
            words="Somebody edited the cluster by hand, and it can't be kept: apply the same commit again, over the edit.",
            refused=applier.refused or unlawful,
        ),
        ReasonOffer(
            reason=Reason.REPAIR.value,
            words=f"{pending}What the cluster has is uncertain or known wrong: apply again, also what is applied already.",
            refused=applier.refused,
        ),
    )
    # The first lawful one is what a person is offered; the sort keeps the order of the others.
    return tuple(sorted(offers, key=lambda item: item.reason != Reason.REPAIR.value)) if applier.repair_pending else offers


def _notes(applier: Applier, head: Head) -> tuple[str, ...]:
    said = [applier.refused] if applier.refused else []
    said += applier.notes
    if applier.repair_pending:
        said.append("A repair is pending: the last state of the cluster is uncertain, so Repair is the reason to propose.")
    if applier.binding is not None:
        if head.unknown:
            said.append(f"Where {applier.binding.branch} is now can't be told: {head.unknown.rstrip('.')}.")
        elif not head.commit:
            said.append(f"The repository has no branch {applier.binding.branch}.")
    operation = applier.operation
    if operation is not None and operation.outcome is Outcome.FAILED and operation.message:
        said.append(f"The last operation with {describe_commit(operation.commit)} failed: {operation.message}")
    return tuple(sanitize(line) for line in said)
