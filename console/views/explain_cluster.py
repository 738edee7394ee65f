"""Three sentences for what a cluster holds: triggers, sources and releases, workloads, pods, namespaces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from console.model.health import Condition, Health
from console.model.kubernetes import KubeObject, Namespace, Pod, Trigger, Workload
from console.model.resource import Resource
from console.views import formats, reasons, words
from console.views.triggers import ARTIFACT_KINDS

Three = tuple[str, str, str]
_IMAGE = re.compile(r'image "([^"]+)"')
_SILENT = "It is not well and does not say why."


def pods_in_words(neighbours: Iterable[Resource]) -> str:
    """``2 of 3 pods can't pull an image``: the commonest trouble among the pods that are known, or ""."""
    pods = [item for item in neighbours if isinstance(item, Pod)]
    troubled = Counter(_pod_trouble(pod) for pod in pods if pod.health.needs_attention)
    if not troubled:
        return ""
    trouble, count = troubled.most_common(1)[0]
    return f"{count} of {formats.counted(len(pods), 'pod')} {trouble}"


def _pod_trouble(pod: Pod) -> str:
    if pod.reason.lower().startswith(("can't ", "cannot ")):
        return pod.reason.rstrip(".")
    image = _IMAGE.search(pod.reason)
    if image and pod.phase in ("ImagePullBackOff", "ErrImagePull"):
        return f"can't pull {formats.image_leaf(image[1])}"
    return reasons.PODS.get(pod.phase, f"are {pod.phase}" if pod.phase else "are not well")


def condition_in_words(condition: Condition | None) -> str:
    """Why a condition isn't true, as part of a sentence; "" when it is or is absent."""
    if condition is None or condition.status == "True":
        return ""
    return reasons.CONDITIONS.get(condition.reason) or condition.message.split("\n")[0] or condition.reason


def trigger(item: Trigger, neighbours: tuple[Resource, ...]) -> Three:
    """What became of the commit, what serves now, what happens next."""
    applied, wanted = _commit(item.applied), _commit(item.wanted)
    match item.health:
        case Health.BAD | Health.WARN:
            return (_why(item, neighbours), _serving(item, applied, wanted), _way_on(item, applied, wanted))
        case Health.BUSY:
            return (
                formats.sentence(item.reason) or f"{wanted or 'A commit'} is being applied.",
                _serving(item, applied, wanted),
                "It is well again once everything that it applies is ready.",
            )
        case Health.HELD:
            still = item.held or item.suspended
            third = "It stays so until somebody releases it." if still else "It stays so until that part is resumed."
            return (_holding(item), _serving(item, applied, wanted), third)
        case Health.UNKNOWN:
            return (
                formats.sentence(item.reason) or f"Nothing is known yet of how {words.title(item)} does.",
                _serving(item, applied, wanted),
                "Its conditions will say once its controller has looked at it.",
            )
        case _ if item.configured is not None and item.configured.reason == "NotReferenced":
            return (
                "No GitTarget names it, so nothing is held and nothing is asked of its applier.",
                _serving(item, applied, wanted),
                "It is used once the spec.applyTriggerRef of a GitTarget in its namespace names it.",
            )
        case _:
            return (
                f"{applied or 'Its source'} is applied and everything in it is well.",
                _comparison(item),
                _next_by_itself(item),
            )


def _commit(text: str) -> str:
    return formats.short_sha(formats.revision(text).rpartition("@")[2])


def _why(item: Trigger, neighbours: tuple[Resource, ...]) -> str:
    pods = pods_in_words(neighbours)
    if pods:
        return formats.sentence(pods)
    if item.reason:
        return formats.sentence(item.reason)
    told = condition_in_words(item.configured) or condition_in_words(item.ready)
    if told:
        return formats.sentence(told)
    return "What runs is not what the source says." if words.sync(item).tone == "warn" else _SILENT


def _serving(item: Trigger, applied: str, wanted: str) -> str:
    if not applied:
        return "No commit has been applied yet, so nothing of it serves."
    if wanted and wanted != applied:
        if item.health in (Health.BAD, Health.WARN):
            return f"The last good commit, {applied}, still serves."
        return f"{applied} serves; {wanted} is wanted."
    return (
        f"{applied} is what serves." if item.health not in (Health.BAD, Health.WARN) else f"{applied} is applied and in force."
    )


def _way_on(item: Trigger, applied: str, wanted: str) -> str:
    if item.held or item.suspended:
        return f"{_holding(item)[:-1]}, so nothing is tried again by itself."
    if words.failed(item.configured):
        return "Nothing is applied until its configuration is put right."
    again = (
        f"It is tried again every {formats.interval(item.interval)}"
        if item.interval
        else "A new commit, or applying it again, is the way on"
    )
    back = f"; going back to {applied} is possible too" if applied and wanted and applied != wanted else ""
    return f"{again}{back}."


def _holding(item: Trigger) -> str:
    if item.held:
        told = words.holder(item)
        return f"It {told}." if told.startswith("holds") else f"It is {told}."
    if item.suspended or not item.reason:
        return f"It is suspended by {item.suspended_by}." if item.suspended_by else "It is suspended."
    return formats.sentence(item.reason)


def _comparison(item: Trigger) -> str:
    if " and " in item.source:
        return "That is what its sources hold." if words.synced_word(item) == "synced" else "It follows its sources."
    source = formats.repository(item.source)
    where = f"{source}@{item.branch}" if source and item.branch else source or "its source"
    return f"That is what {where} holds." if words.synced_word(item) == "synced" else f"It follows {where}."


def _next_by_itself(item: Trigger) -> str:
    if item.interval:
        return f"It is compared again every {formats.interval(item.interval)}."
    if item.automated is False:
        return "The next commit waits for somebody to apply it."
    return "The next commit is applied when it arrives."


def kube_object(item: KubeObject) -> Three:
    """A source, a release, a provider."""
    holds = _holds(item)
    if item.suspended or item.health is Health.HELD:
        by = f" by {item.suspended_by}" if item.suspended_by else ""
        return (f"It is suspended{by}.", holds, "It stays so until somebody resumes it.")
    ready = next((condition for condition in item.conditions if condition.type == "Ready"), None)
    told = formats.sentence(item.reason or condition_in_words(ready))
    match item.health:
        case Health.OK:
            return (f"{item.ref.path} is well.", holds, "Nothing is to be done.")
        case Health.BUSY:
            return (told or "Its controller is at work on it.", holds, "It is ready once its controller says so.")
        case Health.UNKNOWN:
            return (told or "Its controller has not said how it does.", holds, "Its conditions will say once it was looked at.")
        case _:
            return (
                told or _SILENT,
                holds,
                "What depends on it gets nothing new until it is well.",
            )


def _holds(item: KubeObject) -> str:
    if item.ref.kind == "HelmRelease" and item.revision:
        return f"Its chart's version is {item.revision}."
    if item.revision:
        return f"It holds {formats.revision(item.revision)}."
    if item.ref.kind in ARTIFACT_KINDS and item.summary:
        return f"It points to {item.summary} and holds nothing of it yet."
    if item.ref.kind in ARTIFACT_KINDS:
        return "It holds nothing yet."
    return f"It stands for {item.summary.rstrip('.')}." if item.summary else "It has nothing more to tell."


def workload(item: Workload, neighbours: tuple[Resource, ...]) -> Three:
    """How many pods serve, which are new, what is in the way."""
    done = item.ref.kind == "Job"
    verb = "is" if item.wanted == 1 else "are"
    serve = f"{item.ready} of {formats.counted(item.wanted, 'pod')} {verb} {'done' if done else 'ready'}."
    new = (
        "All of them are of the newest version."
        if item.updated >= item.wanted
        else f"{item.updated} of them are of the newest version."
    )
    match item.health:
        case Health.OK:
            return (serve, "It is complete." if done else new, "Nothing is to be done.")
        case Health.BUSY:
            return (serve, formats.sentence(item.reason) or new, "The rest follows as nodes take them and they become ready.")
        case Health.UNKNOWN:
            return (formats.sentence(item.reason) or "It does not say how it does.", serve, "Its pods say more.")
        case _:
            told = formats.sentence(pods_in_words(neighbours)) or formats.sentence(item.reason) or "It does not get on."
            return (told, serve if told != serve else new, "The logs and events of its pods say more.")


def pod(item: Pod) -> Three:
    """What a pod does, and what its node and restarts say."""
    place = f"It is on {item.node}" if item.node else "No node has it yet"
    restarts = f", restarted {formats.counted(item.restarts, 'time')}." if item.restarts else "."
    ready = f"{item.ready} of {formats.counted(len(item.containers), 'container')} ready"
    if item.health is Health.OK:
        return (f"It is {item.phase.lower() or 'running'}, {ready}.", place + restarts, "Nothing is to be done.")
    trouble = reasons.PODS.get(item.phase, "")
    first = formats.sentence(item.reason) or (
        f"Its containers {trouble}." if trouble else f"It is {item.phase or 'in no known phase'}."
    )
    belongs = f"{item.owner} replaces it if it goes." if item.owner else "Nothing would replace it if it goes."
    return (first, f"{place}, {ready}{restarts}", belongs)


def namespace(item: Namespace) -> Three:
    """Whether a namespace is there to stay."""
    if item.phase == "Terminating":
        return (
            "It is being deleted.",
            formats.sentence(item.reason) or "Everything in it goes with it.",
            "It is gone once nothing holds it.",
        )
    return ("It is there.", "It can take objects.", "Nothing is to be done.")
