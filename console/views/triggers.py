"""Triggers and what belongs to them in a cluster: Kustomizations, Applications, HelmReleases and sources."""

from __future__ import annotations

import msgspec

from console.model.health import Condition
from console.model.kubernetes import TRIGGER_KINDS, KubeObject, Trigger
from console.views import columns, formats, words
from console.views.cells import ABSENT, EMPTY, Cell, Column, Context, Table, cell, prose

ARTIFACT_KINDS = ("GitRepository", "OCIRepository", "HelmRepository", "HelmChart", "Bucket")
SOURCE_KINDS = (*ARTIFACT_KINDS, "ImageRepository", "GitTarget", "GitProvider", "ClusterProvider")


def condition_cell(condition: Condition | None, generation: int) -> Cell:
    """A condition as a word: ``yes``, or its reason when it says no or doesn't know; an outdated one is marked with ``~``."""
    if condition is None:
        return EMPTY
    if condition.status == "True":
        text, tone = "yes", "muted"
    else:
        text, tone = condition.reason or condition.status.lower(), "bad" if condition.status == "False" else "warn"
    if not words.current(condition, generation):
        return cell(f"~{text}", "busy")
    return cell(text, "bad" if tone == "bad" else "warn" if tone == "warn" else "muted")


def source_text(trigger: Trigger) -> str:
    """``github.com/acme/shop@main``: where a trigger applies from."""
    repository = formats.repository(trigger.source)
    return f"{repository}@{trigger.branch}" if trigger.branch else repository


def applier_text(trigger: Trigger) -> str:
    """The applier that a trigger names, or "itself" for a local trigger."""
    return "itself" if trigger.applier in (None, trigger.ref) else f"{trigger.applier.kind}/{trigger.applier.path}"


def _commit(key: str, title: str, priority: int) -> Column[Trigger]:
    def text(trigger: Trigger) -> str:
        return formats.short_sha(formats.revision(getattr(trigger, key)).rpartition("@")[2])

    def commit_cell(trigger: Trigger, _: Context) -> Cell:
        shown = text(trigger)
        if not shown:
            return ABSENT
        differs = key == "applied" and trigger.wanted and trigger.applied != trigger.wanted
        return cell(shown, "warn" if differs and words.synced_word(trigger) != "synced" else "muted")

    return Column(key=key, title=title, width=9, priority=priority, cell=commit_cell, sort=text)


_SOURCE: Column[Trigger] = Column(
    key="source", title="SOURCE", width=30, priority=6, cell=lambda item, _: prose(source_text(item), "muted"), sort=source_text
)
_CONFIGURED: Column[Trigger] = Column(
    key="configured",
    title="CONFIGURED",
    width=14,
    priority=7,
    cell=lambda item, _: condition_cell(item.configured, item.generation),
    sort=lambda item: item.configured.status if item.configured else "",
)
_READY: Column[Trigger] = Column(
    key="ready",
    title="READY",
    width=18,
    priority=6,
    cell=lambda item, _: condition_cell(item.ready, item.generation),
    sort=lambda item: item.ready.status if item.ready else "",
)
_HELD: Column[Trigger] = Column(
    key="held", title="HELD", width=14, priority=5, cell=columns.suspended, sort=lambda item: not (item.held or item.suspended)
)
_APPLIER = columns.texted("applier", "APPLIER", applier_text, width=26, priority=8, wide=True)
_SHORT_KINDS = {"FluxTrigger": "trigger", "ArgoCDTrigger": "trigger", "Kustomization": "ks", "Application": "app"}
# A trigger and the applier that it names often have one name: on a narrow screen too they must not look alike.
_KIND: Column[Trigger] = msgspec.structs.replace(
    columns.KIND,
    short=columns.texted("kind", "KIND", lambda item: _SHORT_KINDS.get(item.ref.kind, item.ref.kind), width=7, priority=1),
)
_PATH = columns.texted("path", "PATH", lambda item: item.path, width=20, priority=8, wide=True)

_COLUMNS: tuple[Column[Trigger], ...] = (
    columns.MARK,
    columns.WHERE,
    columns.NAMESPACE,
    columns.NAME,
    _KIND,
    columns.SYNC,
    columns.HEALTH,
    columns.OPERATION,
    _APPLIER,
    _SOURCE,
    _PATH,
    _CONFIGURED,
    _READY,
    _HELD,
    columns.WHAT,
    _commit("wanted", "WANTED", 5),
    _commit("applied", "APPLIED", 3),
    columns.AGE,
)

TRIGGERS: Table[Trigger] = Table(
    name="triggers",
    title="Triggers",
    kinds=TRIGGER_KINDS,
    columns=_COLUMNS,
    one="trigger",
    many="triggers",
    aliases=("trigger", "tr", "fluxtriggers", "argocdtriggers"),
)
_ONE_KIND = tuple(column for column in _COLUMNS if column.key not in ("kind", "applier", "configured"))
KUSTOMIZATIONS: Table[Trigger] = Table(
    name="kustomizations",
    title="Kustomizations",
    kinds=("Kustomization",),
    columns=_ONE_KIND,
    one="Kustomization",
    many="Kustomizations",
    aliases=("kustomization", "ks"),
)
APPLICATIONS: Table[Trigger] = Table(
    name="applications",
    title="Applications",
    kinds=("Application",),
    columns=_ONE_KIND,
    one="Application",
    many="Applications",
    aliases=("application", "app", "apps"),
)

_SUSPENDED: Column[KubeObject] = Column(
    key="held", title="HELD", width=14, priority=4, cell=columns.suspended, sort=lambda item: not item.suspended
)
_OBJECT_COLUMNS: tuple[Column[KubeObject], ...] = (
    columns.MARK,
    columns.WHERE,
    columns.NAMESPACE,
    columns.NAME,
    columns.KIND,
    columns.HEALTH,
    _SUSPENDED,
    columns.WHAT,
    columns.texted("revision", "REVISION", lambda item: formats.revision(item.revision), width=20, priority=4),
    columns.AGE,
)
HELMRELEASES: Table[KubeObject] = Table(
    name="helmreleases",
    title="Helm releases",
    kinds=("HelmRelease",),
    columns=tuple(column for column in _OBJECT_COLUMNS if column.key != "kind"),
    one="Helm release",
    many="Helm releases",
    aliases=("helmrelease", "hr"),
)
SOURCES: Table[KubeObject] = Table(
    name="sources",
    title="Sources",
    kinds=SOURCE_KINDS,
    columns=_OBJECT_COLUMNS,
    one="source",
    many="sources",
    aliases=("source", "src", "gitrepositories", "ocirepositories", "helmrepositories", "helmcharts", "buckets"),
)
