"""Applies that run and that have ended, with their phases, for tests and pictures."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from console.model.health import Health
from console.model.operations import Operation, State, StepView
from console.model.refs import Ref
from tests.ui.fleet import SHA_NEW, WEB
from tests.ui.stand_in import NOW

START = NOW - timedelta(seconds=75)


def step(
    key: str, title: str, begin: float | None = None, length: float | None = None, depth: int = 1, **facts: Any
) -> StepView:
    """A step that began so many seconds after the start; without a length it runs, without a beginning it is to come."""
    began = START + timedelta(seconds=begin) if begin is not None else None
    state = State.PENDING if began is None else State.RUNNING if length is None else State.SUCCEEDED
    ended = began + timedelta(seconds=length) if began is not None and length is not None else None
    return StepView(key=key, title=title, depth=depth, state=state, started=began, ended=ended, **facts)


FLUX = Operation(
    ref=Ref("prod-eu", "Operation", "", "apply web", "op-apply-web"),
    target=WEB,
    verb="apply",
    state=State.WAITING,
    health=Health.BUSY,
    started=START,
    who="ana@bastion",
    why="INC-4211",
    commit=SHA_NEW,
    origin="journal",
    waiting_for="Deployment/shop/web: 4 of 6 replicas are ready",
    steps=(
        step("apply", "Apply 9f2c1ab on Kustomization flux-system/shop", 0, 9.4, depth=0),
        step("apply/fetch", "Have the source fetch the commit", 0, 9.1, ends="the source has the commit"),
        step("apply/resume", "Resume, with the request", 9.1, 1, ends="kustomize-controller has taken the request"),
        step("apply/apply", "Apply the commit", 10, 7, ends="the controller's pass has ended"),
        step(
            "apply/health",
            "Wait until it is healthy",
            17,
            waiting_for="Deployment/shop/web: 4 of 6 replicas are ready",
            ends="what was applied is healthy, or 5m is over",
        ),
        step("apply/suspend", "Suspend again", ends="the suspend is handled: then nothing runs any more"),
        step("apply/record", "Record the end", ends="the outcome is written where the trigger's record is"),
    ),
)
ARGO = Operation(
    ref=Ref("prod-us", "Operation", "", "apply core", "op-apply-core"),
    target=Ref("prod-us", "Application", "pay", "core", "uid-core"),
    verb="apply",
    state=State.WAITING,
    health=Health.BUSY,
    started=START,
    who="ben@bastion",
    commit=SHA_NEW,
    origin="journal",
    waiting_for="waiting for healthy state of apps/Deployment/core",
    steps=(
        step("apply", "Apply 9f2c1ab on Application pay/core", 0, 2, depth=0),
        step("apply/wait", "Wait for any sync of somebody else", 0, 1.2, ends="no sync of somebody else runs"),
        step("apply/set", "Set the operation", 1.2, 0.9, ends="Argo CD has the operation in its status"),
        step(
            "apply/run",
            "Sync the commit",
            2.1,
            detail="3 of 5 objects",
            waiting_for="waiting for healthy state of apps/Deployment/core",
            ends="the last wave and the last hook have ended",
        ),
        step("apply/run/PreSync.0", "PreSync", 2.1, 31, depth=2, detail="1 of 1"),
        step("apply/run/PreSync.0/hook/Job/pay/migrate", "hook Job pay/migrate", 2.1, 31, depth=3),
        step("apply/run/Sync.0", "Sync, wave 0", 34, 5, depth=2, detail="2 of 2"),
        step("apply/run/Sync.0/object/ConfigMap/pay/rates", "ConfigMap pay/rates", 34, 4, depth=3),
        step("apply/run/Sync.0/object/Service/pay/core", "Service pay/core", 34, 5, depth=3),
        step("apply/run/Sync.1", "Sync, wave 1", 40, depth=2, detail="0 of 1"),
        step("apply/run/Sync.1/object/Deployment/pay/core", "Deployment pay/core", 40, depth=3, waiting_for="it to be healthy"),
        step("apply/run/Sync.2", "Sync, wave 2", depth=2, detail="0 of 1"),
        step("apply/run/Sync.2/object/Ingress/pay/core", "Ingress pay/core", depth=3),
        step("apply/record", "Record the end", ends="the outcome is written where the trigger's record is"),
    ),
)
