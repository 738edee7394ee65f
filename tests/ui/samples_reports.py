"""What the dispatch engine tells of triggers, for tests and pictures."""

from __future__ import annotations

from datetime import timedelta

from console.model.health import Condition, Health
from console.model.operations import State, StepView
from console.model.trigger_report import RecordedOperation, Rival, TriggerReport, WrittenBinding
from tests.ui.fleet import SHA_NEW, SHA_OLD, WEB
from tests.ui.stand_in import NOW

MISMATCH = "the applier applies the revision 'main', but the branch 'release' is written"
PHASES = (
    StepView(key="fetch", title="Have the source fetch the commit", state=State.SUCCEEDED, depth=1),
    StepView(key="resume", title="Resume, with the request", state=State.SUCCEEDED, depth=1),
    StepView(key="apply", title="Apply the commit", state=State.SUCCEEDED, depth=1),
    StepView(
        key="health",
        title="Wait until it is healthy",
        state=State.RUNNING,
        depth=1,
        waiting_for="Deployment/web: 1 of 2 replicas are ready",
    ),
    StepView(key="suspend", title="Suspend again", depth=1),
    StepView(key="record", title="Record the end", depth=1),
)
REPORT = TriggerReport(
    ref=WEB,
    driver=("gitops-reverser-manager-0 is the engine; this console only shows what it does.",),
    driven=Health.OK,
    applier="Kustomization flux-system/shop",
    repository="https://github.com/acme/shop",
    branch="main",
    written=(
        WrittenBinding(who="GitTarget shop/web", repository="git@github.com:acme/shop.git", branch="main"),
        WrittenBinding(
            who="GitTarget shop/next",
            repository="https://github.com/acme/shop",
            branch="release",
            state="refused",
            why=MISMATCH,
            differs=("branch",),
        ),
    ),
    configured=Condition("Configured", "True", "Succeeded", f"shop/next: {MISMATCH}"),
    rivals=(Rival("FluxTrigger shop/web-old"),),
    held=True,
    held_by="ana@bastion",
    held_why="INC-4211",
    held_until=NOW + timedelta(hours=2),
    applied=SHA_OLD,
    operation=RecordedOperation(
        outcome="Running",
        commit=SHA_NEW,
        reason="CatchUp",
        requested=NOW - timedelta(seconds=48),
        phases=PHASES,
    ),
    repair_pending=True,
)
