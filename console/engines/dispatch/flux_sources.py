"""Who else applies a GitRepository: the question before a fetch may be asked for ahead of an apply (5.9)."""

from __future__ import annotations

from collections.abc import Iterable

from console.engines.dispatch.faults import RetryableError
from console.engines.dispatch.flux_reading import name_of, source_name
from console.engines.dispatch.types import Consumer, ObjectName
from console.engines.ports.applier import (
    ARTIFACT_GENERATORS,
    GIT_REPOSITORIES,
    HELM_CHARTS,
    HELM_RELEASES,
    KUSTOMIZATIONS,
    ApiKind,
    JsonObject,
    Objects,
)
from console.errors import NotServed, QuarterdeckError
from console.kit.dig import dig, text


async def consumers(objects: Objects, source: ObjectName) -> list[Consumer]:
    """All objects that apply the source, sorted.

    :raises RetryableError: a list failed, or a HelmChart is built from the source while HelmReleases can't be listed.
    """
    try:
        return sorted(await _consumers(objects, source))
    except QuarterdeckError as error:
        raise RetryableError(f"who applies GitRepository {source} is not known: {error}") from error


async def _consumers(objects: Objects, source: ObjectName) -> set[Consumer]:
    found = set()
    for item in await _all(objects, (KUSTOMIZATIONS,)) or []:
        if source_name(item) == source:
            found.add(_consumer("Kustomization", item))
    for item in await _all(objects, (GIT_REPOSITORIES,)) or []:
        for included in dig(item, "spec", "include") or []:
            name = text(included, "repository", "name")
            if ObjectName(text(item, "metadata", "namespace"), name) == source:
                found.add(_consumer("GitRepository", item))
    for item in await _all(objects, (ARTIFACT_GENERATORS,)) or []:
        if any(_refers(reference, item, source) for reference in dig(item, "spec", "sources") or []):
            found.add(_consumer("ArtifactGenerator", item))
    charts = {
        name_of(item)
        for item in await _all(objects, HELM_CHARTS) or []
        if _refers(dig(item, "spec", "sourceRef"), item, source)
    }
    releases = await _all(objects, HELM_RELEASES)
    if releases is None:
        if charts:
            raise RetryableError("a HelmChart is built from it, and HelmReleases are not served in a known version")
        return found
    for item in releases:
        chart = dig(item, "spec", "chartRef") or {}
        by_chart = chart.get("kind") == "HelmChart" and (
            ObjectName(chart.get("namespace") or text(item, "metadata", "namespace"), str(chart.get("name", ""))) in charts
        )
        if by_chart or _refers(dig(item, "spec", "chart", "spec", "sourceRef"), item, source):
            found.add(_consumer("HelmRelease", item))
    return found


def _refers(reference: JsonObject | None, owner: JsonObject, source: ObjectName) -> bool:
    if not reference or reference.get("kind") != GIT_REPOSITORIES.kind:
        return False
    namespace = reference.get("namespace") or text(owner, "metadata", "namespace")
    return ObjectName(namespace, str(reference.get("name", ""))) == source


def _consumer(kind: str, item: JsonObject) -> Consumer:
    name = name_of(item)
    return Consumer(kind, name.namespace, name.name)


async def _all(objects: Objects, versions: Iterable[ApiKind]) -> list[JsonObject] | None:
    """The objects of the first version that is served; None when none is."""
    for kind in versions:
        try:
            return await objects.list(kind)
        except NotServed:
            continue
    return None
