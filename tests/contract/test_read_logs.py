"""Logs of a cluster's pods, over the simulated API server: there is no kubelet beside the real one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from console.errors import NotServed
from console.model.kubernetes import LogQuery, Pod, Workload
from tests.contract.stages import KubeScene, demo_kube


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[KubeScene]:
    async with demo_kube(tmp_path) as scene:
        scene.runtime.look({"Pod", "Deployment"})
        assert await scene.settled("Pod", "Deployment", "GitRepository") == ()
        yield scene


async def test_a_pods_past_lines_have_times(cluster: KubeScene) -> None:
    pod = next(row for row in cluster.store.of("Pod").values() if isinstance(row, Pod) and row.phase == "Running")
    lines = [line async for line in cluster.runtime.logs(pod.ref, LogQuery(follow=False, tail=5))]
    assert 1 <= len(lines) <= 5
    assert all(line.at is not None and line.text for line in lines)
    assert await cluster.runtime.log_sources(pod.ref) == pod.containers


async def test_lines_of_a_workload_say_which_pod_they_are_from(cluster: KubeScene) -> None:
    wanted = next(row for row in cluster.store.of("Deployment").values() if isinstance(row, Workload) and row.ready > 1)
    lines = [line async for line in cluster.runtime.logs(wanted.ref, LogQuery(follow=False, tail=3))]
    assert len({line.origin for line in lines}) > 1


async def test_a_followed_log_goes_on_after_the_connection_broke(cluster: KubeScene) -> None:
    pod = next(row for row in cluster.store.of("Pod").values() if isinstance(row, Pod) and row.phase == "Running")
    streams: list[str] = []
    async with aclosing(cluster.runtime.logs(pod.ref, LogQuery(tail=2))) as lines:
        async for line in lines:
            if not streams:
                await cluster.cut()
            streams.append(line.stream)
            if "note" in streams and line.stream != "note":
                break
    assert streams.count("note") >= 1


async def test_what_has_no_pods_has_no_log(cluster: KubeScene) -> None:
    source = next(iter(cluster.store.of("GitRepository").values()))
    with pytest.raises(NotServed):
        await anext(cluster.runtime.logs(source.ref))
