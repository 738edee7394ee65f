"""Objects of a cluster: triggers, what they apply, where it comes from, and what runs."""

from __future__ import annotations

from datetime import datetime

import msgspec

from console.model.health import Condition
from console.model.refs import Ref
from console.model.resource import Resource

TRIGGER_KINDS = ("FluxTrigger", "ArgoCDTrigger", "Kustomization", "Application")


class Trigger(Resource, frozen=True, kw_only=True):
    """Something that makes a cluster apply a commit.

    A ``FluxTrigger`` or ``ArgoCDTrigger`` names an applier in :attr:`applier`; a ``Kustomization`` or ``Application`` is a
    local trigger and its own applier. Commits are full SHAs where the platform has them; a view shortens them.
    ``automated`` is None where the word has no meaning, ``suspended_by`` the field manager that owns ``spec.suspend``.
    ``held_by`` says who holds it and why, ``held_until`` when somebody wanted to release it: nothing is released by itself.
    """

    applier: Ref | None = None
    source: str = ""
    branch: str = ""
    path: str = ""
    configured: Condition | None = None
    ready: Condition | None = None
    conditions: tuple[Condition, ...] = ()
    held: bool = False
    held_by: str = ""
    held_until: datetime | None = None
    suspended: bool = False
    suspended_by: str = ""
    automated: bool | None = None
    sync: str = ""
    operation: str = ""
    wanted: str = ""
    applied: str = ""
    generation: int = 0
    observed_generation: int = 0
    interval: str = ""


class KubeObject(Resource, frozen=True, kw_only=True):
    """Any other object with conditions: sources, HelmReleases, HelmCharts, Git targets and providers, Argo CD projects.

    ``summary`` is what matters about it in a few words (URL and revision, chart and version). ``url`` and ``branch`` are those
    of a source, ``interval`` how often it is looked at ("5m").
    """

    summary: str = ""
    conditions: tuple[Condition, ...] = ()
    suspended: bool = False
    suspended_by: str = ""
    revision: str = ""
    url: str = ""
    branch: str = ""
    interval: str = ""
    generation: int = 0
    observed_generation: int = 0


class Workload(Resource, frozen=True, kw_only=True):
    """Deployment, StatefulSet, DaemonSet, Job. Counts are pods."""

    wanted: int = 0
    ready: int = 0
    updated: int = 0
    images: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()


class Pod(Resource, frozen=True, kw_only=True):
    """A pod: ``phase`` as kubectl shows it (a waiting container's reason wins over the phase)."""

    phase: str = ""
    ready: int = 0
    containers: tuple[str, ...] = ()
    restarts: int = 0
    node: str = ""
    owner: str = ""


class Namespace(Resource, frozen=True, kw_only=True):
    """A namespace; ``phase`` is Active or Terminating."""

    phase: str = ""


class Event(Resource, frozen=True, kw_only=True):
    """Something that happened, on any platform. ``at`` is the last time it was seen, ``about`` the object it speaks of."""

    at: datetime
    about: Ref
    what: str = ""
    message: str = ""
    source: str = ""
    count: int = 1


class LogLine(msgspec.Struct, frozen=True):
    """One line of a log, not yet sanitized. ``stream``: "stdout", "stderr" or "note" (ours: a gap, a reconnection)."""

    text: str
    at: datetime | None = None
    origin: str = ""
    stream: str = "stdout"


class LogQuery(msgspec.Struct, frozen=True):
    """Which lines of a log are wanted. ``since`` in seconds back from now (0: all); ``tail`` in lines (0: all)."""

    follow: bool = True
    previous: bool = False
    tail: int = 500
    since: int = 0
    container: str = ""
