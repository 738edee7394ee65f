"""What runs in a cluster: workloads, pods, namespaces."""

from __future__ import annotations

from console.model.kubernetes import Namespace, Pod, Workload
from console.views import columns, formats
from console.views.cells import Cell, Column, Context, Table, cell
from console.views.glyphs import attention

WORKLOAD_KINDS = ("Deployment", "StatefulSet", "DaemonSet", "Job")


def _images(workload: Workload) -> str:
    return ", ".join(formats.image_leaf(image) for image in workload.images)


WORKLOADS: Table[Workload] = Table(
    name="workloads",
    title="Workloads",
    kinds=WORKLOAD_KINDS,
    one="workload",
    many="workloads",
    aliases=("workload", "wl", "deployments", "deploy", "statefulsets", "sts", "daemonsets", "ds", "jobs"),
    columns=(
        columns.MARK,
        columns.WHERE,
        columns.NAMESPACE,
        columns.NAME,
        columns.KIND,
        columns.HEALTH,
        columns.shared("ready", "READY", lambda item: item.ready, lambda item: item.wanted, width=7),
        columns.OPERATION,
        columns.texted("image", "IMAGES", _images, width=26, priority=5),
        columns.WHAT,
        columns.CREATED,
    ),
)


def _phase(pod: Pod, _: Context) -> Cell:
    return cell(pod.phase, attention(pod.health))


PODS: Table[Pod] = Table(
    name="pods",
    title="Pods",
    kinds=("Pod",),
    one="pod",
    many="pods",
    aliases=("pod", "po"),
    columns=(
        columns.MARK,
        columns.WHERE,
        columns.NAMESPACE,
        columns.named(lambda item: item.ref.name, width=32),
        Column(key="phase", title="PHASE", width=18, cell=_phase, sort=lambda item: item.phase),
        columns.shared("ready", "READY", lambda item: item.ready, lambda item: len(item.containers), width=6),
        columns.numbered("restarts", "RESTARTS", lambda item: item.restarts),
        columns.texted("owner", "OWNER", lambda item: item.owner, width=20, priority=6),
        columns.texted("node", "NODE", lambda item: item.node, width=16, priority=5),
        columns.WHAT,
        columns.CREATED,
    ),
)
NAMESPACES: Table[Namespace] = Table(
    name="namespaces",
    title="Namespaces",
    kinds=("Namespace",),
    one="namespace",
    many="namespaces",
    aliases=("namespace", "ns"),
    columns=(
        columns.MARK,
        columns.WHERE,
        columns.named(lambda item: item.ref.name, width=None),
        columns.texted("phase", "PHASE", lambda item: item.phase, width=12),
        columns.CREATED,
    ),
)
