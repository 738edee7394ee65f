"""Reading the world before acting on what storage says."""

from __future__ import annotations

import pytest

from console.engines.graph import Request, ref
from tests.engines.graph.world import (
    PROJECT,
    Concat,
    Said,
    Storage,
    Words,
    World,
    concat,
    graph,
    kinds,
    reconciler,
)

pytestmark = pytest.mark.looptime


@pytest.fixture
def world() -> World:
    return World()


async def test_refreshing_finds_what_vanished_and_what_changed_outside(world: World) -> None:
    storage = Storage(world)
    engine = reconciler(world, storage)
    wanted = graph(
        concat("gone", "g", kind="readable"),
        concat("moved", "m", kind="readable"),
        concat("child", ref("readable", "moved", "text")),
    )
    await engine.reconcile("1", PROJECT, wanted)
    (gone, moved) = (next(key for key, value in world.objects.items() if value[0].name == name) for name in ("gone", "moved"))
    del world.objects[gone]
    world.objects[moved] = (world.objects[moved][0], "elsewhere")
    world.calls.clear()
    await engine.reconcile("2", PROJECT, wanted)
    assert world.calls == []
    report = await engine.reconcile("3", PROJECT, wanted, refresh=True)
    assert report.of("readable", "gone").reason == "vanished"
    assert world.of("create") == ["gone"]
    assert world.requests["create gone"].id == gone
    assert world.of("update") == ["child"]
    assert world.requests["update child"].input.text == "elsewhere"
    world.calls.clear()
    await engine.reconcile("4", PROJECT, wanted)
    assert world.calls == []


async def test_drift_that_the_provider_sees_is_an_update(world: World) -> None:
    from console.engines.graph import Drifted

    class Drifting(Concat):
        async def read(self, req: Request[Words, Said]) -> Drifted[Said]:
            return Drifted(Said(text="x"), ("number",))

    registry = kinds(world, drifting=Drifting(world))
    engine = reconciler(world, Storage(world), registry=registry)
    wanted = graph(concat("a", "x", kind="drifting"))
    await engine.reconcile("1", PROJECT, wanted)
    report = await engine.reconcile("2", PROJECT, wanted, refresh=True)
    assert world.of("update") == ["a"]
    assert report.of("drifting", "a").reason == "drift"
    assert world.requests["update a"].config_changed
