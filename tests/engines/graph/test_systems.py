"""How real systems map onto the engine: a swarm stack, an app on a host, Flux objects that depend on each other.

The systems are played by small worlds that refuse what the real ones refuse; the rules under test are the engine's.
"""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import msgspec
import pytest

from console.engines.graph import (
    DesiredGraph,
    GateClosed,
    InMemoryStorage,
    Kind,
    Kinds,
    Reconciler,
    Request,
    Retryable,
    join,
    ref,
    resource,
)
from console.errors import ApiError, Conflict, NotFound
from console.model.graph import Outcome
from console.model.graph_events import Retrying
from tests.engines.graph.world import Heard

pytestmark = pytest.mark.looptime


class Swarm:
    """A manager's answers: configs are immutable and can't go while a service uses them; updates need the present version."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.configs: dict[str, str] = {}
        self.services: dict[str, tuple[int, str]] = {}
        self.outdated = 0
        self._ids = count(1)

    def make_config(self, name: str, data: str) -> str:
        """Create; a name in use is a conflict."""
        if name in self.configs:
            raise Conflict(f"config {name} exists", status=409)
        self.configs[name] = data
        self.log.append(f"made {name}")
        return f"c{next(self._ids)}"

    def drop_config(self, name: str) -> None:
        """Remove; refused while in use."""
        if any(used == name for _version, used in self.services.values()):
            raise ApiError(f"config {name} is in use by a service", status=400)
        if name not in self.configs:
            raise NotFound(name, status=404)
        del self.configs[name]
        self.log.append(f"removed {name}")

    def put_service(self, name: str, version: int, config: str) -> int:
        """Create or update; an old version number is refused with a 500."""
        present = self.services.get(name, (0, ""))[0]
        if self.outdated:
            self.outdated -= 1
            self.services[name] = (present + 1, self.services[name][1])
            present += 1
        if version != present:
            raise ApiError("rpc error: update out of sequence", status=500)
        assert config in self.configs
        self.services[name] = (present + 1, config)
        self.log.append(f"{name} uses {config}")
        return present + 1


class ConfigInput(msgspec.Struct):
    """A config's real name carries its content's digest."""

    name: str
    data: str


class ConfigOutput(msgspec.Struct):
    """What a service refers to."""

    id: str
    name: str


class SwarmConfig(Kind[ConfigInput, ConfigOutput]):
    """Immutable, so a change is a replacement."""

    input_model = ConfigInput
    output_model = ConfigOutput
    replace_on = frozenset({"name", "data"})

    def __init__(self, swarm: Swarm) -> None:
        self.swarm = swarm

    async def create(self, req: Request[ConfigInput, ConfigOutput]) -> ConfigOutput:
        """Make it under a name of its content."""
        name = f"{req.input.name}_{hash(req.input.data) & 0xFFFF:04x}"
        return ConfigOutput(id=self.swarm.make_config(name, req.input.data), name=name)

    async def delete(self, req: Request[ConfigInput, ConfigOutput]) -> None:
        """In use is a state that passes."""
        assert req.output is not None
        try:
            self.swarm.drop_config(req.output.name)
        except ApiError as error:
            if "in use" in error.message:
                raise Retryable(error) from error
            raise


class ServiceInput(msgspec.Struct):
    """A service that reads one config."""

    config: str


class SwarmService(Kind[ServiceInput, dict[str, str]]):
    """Reads the present version for every try."""

    input_model = ServiceInput

    def __init__(self, swarm: Swarm) -> None:
        self.swarm = swarm
        self.read_versions: list[int] = []

    async def create(self, req: Request[ServiceInput, dict[str, str]]) -> dict[str, str]:
        """As update: the version of what is not there is 0."""
        return await self.update(req)

    async def update(self, req: Request[ServiceInput, dict[str, str]]) -> dict[str, str]:
        """Read, then write against what was read."""
        version = self.swarm.services.get(req.identity.name, (0, ""))[0]
        self.read_versions.append(version)
        self.swarm.put_service(req.identity.name, version, req.input.config)
        return {}


def stack(data: str) -> DesiredGraph:
    """A config and the service that uses it."""
    return DesiredGraph(
        [
            resource("swarm.config", "motd", {"name": "web_motd", "data": data}),
            resource("swarm.service", "web", {"config": ref("swarm.config", "motd", "name")}),
        ]
    )


@pytest.mark.scenario("graph:G53")
async def test_a_changed_config_is_made_then_used_then_the_old_one_removed() -> None:
    swarm = Swarm()
    engine = Reconciler(InMemoryStorage(), Kinds({"swarm.config": SwarmConfig(swarm), "swarm.service": SwarmService(swarm)}))
    await engine.reconcile("1", "web", stack("hello"))
    (old,) = swarm.configs
    swarm.log.clear()
    report = await engine.reconcile("2", "web", stack("goodbye"))
    (new,) = swarm.configs
    assert new != old
    assert swarm.log == [f"made {new}", f"web uses {new}", f"removed {old}"]
    assert report.totals == {"created": 1, "updated": 1, "deleted": 1}


@pytest.mark.scenario("graph:G54")
async def test_an_update_out_of_sequence_is_read_again_and_tried_again() -> None:
    swarm, heard = Swarm(), Heard()
    service = SwarmService(swarm)
    engine = Reconciler(InMemoryStorage(), Kinds({"swarm.config": SwarmConfig(swarm), "swarm.service": service}), events=heard)
    await engine.reconcile("1", "web", stack("hello"))
    swarm.outdated = 1
    report = await engine.reconcile("2", "web", stack("goodbye"))
    assert report.of("swarm.service", "web").attempts == 2
    assert "out of sequence" in heard.of(Retrying)[0].error
    assert service.read_versions == [0, 1, 2]


@pytest.mark.scenario("graph:G55")
async def test_an_apps_second_service_waits_until_the_first_is_ready() -> None:
    log: list[tuple[str, float]] = []

    def note(text: str) -> None:
        log.append((text, asyncio.get_running_loop().time()))

    class Network(Kind[dict[str, str], dict[str, str]]):
        async def create(self, req: Request[Any, Any]) -> dict[str, str]:
            note("network")
            return {"id": "n1"}

    class Service(Kind[dict[str, str], dict[str, str]]):
        async def create(self, req: Request[Any, Any]) -> dict[str, str]:
            note(f"{req.identity.name} on {req.input['network']}")
            return {}

        async def wait_ready(self, req: Request[Any, Any]) -> None:
            await asyncio.sleep(30)
            note(f"{req.identity.name} ready")

    app = [
        resource("docker.network", "app"),
        resource("console.service", "db", {"network": ref("docker.network", "app", "id")}),
        resource("console.service", "api", {"network": ref("docker.network", "app", "id")}, after=[("console.service", "db")]),
    ]
    kinds = Kinds({"docker.network": Network(), "console.service": Service()})
    await Reconciler(InMemoryStorage(), kinds).reconcile("1", "app", DesiredGraph(app))
    assert [text for text, _at in log] == ["network", "db on n1", "db ready", "api on n1", "api ready"]
    assert log[3][1] >= log[2][1] >= 30


class Kustomization(Kind[dict[str, Any], dict[str, Any]]):
    """Create applies; the gate asks for Ready at the present generation, and a suspended one will never answer."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.ready: dict[str, asyncio.Event] = {}
        self.suspended: set[str] = set()

    async def create(self, req: Request[Any, Any]) -> dict[str, Any]:
        """Apply the manifest."""
        self.log.append(req.identity.name)
        return {"generation": 2}

    async def wait_ready(self, req: Request[Any, Any]) -> None:
        """Poll the status."""
        if req.identity.name in self.suspended:
            raise GateClosed("suspended")
        if req.identity.name in self.ready:
            await self.ready[req.identity.name].wait()


FLUX = "flux.kustomization"


def flux_graph() -> DesiredGraph:
    """b dependsOn a."""
    return DesiredGraph(
        [
            resource(FLUX, "apps/b", after=[(FLUX, "apps/a")]),
            resource(FLUX, "apps/a"),
        ]
    )


@pytest.mark.scenario("graph:G56")
async def test_a_dependent_kustomization_starts_once_its_parent_is_ready() -> None:
    kind = Kustomization()
    kind.ready["apps/a"] = asyncio.Event()
    run = asyncio.create_task(Reconciler(InMemoryStorage(), Kinds({FLUX: kind})).reconcile("1", "flux", flux_graph()))
    await asyncio.sleep(300)
    assert kind.log == ["apps/a"]
    kind.ready["apps/a"].set()
    await run
    assert kind.log == ["apps/a", "apps/b"]


@pytest.mark.scenario("graph:G57")
async def test_a_dependent_of_a_suspended_kustomization_is_skipped_and_nothing_has_failed() -> None:
    kind = Kustomization()
    kind.suspended.add("apps/a")
    report = await Reconciler(InMemoryStorage(), Kinds({FLUX: kind})).reconcile("1", "flux", flux_graph())
    assert report.outcome == "succeeded"
    assert (report.of(FLUX, "apps/b").outcome, report.of(FLUX, "apps/b").reason) == (Outcome.SKIPPED, "parent suspended")
    assert kind.log == ["apps/a"]


@pytest.mark.scenario("graph:G58")
async def test_reconciling_one_kustomization_and_what_it_needs_leaves_the_others_alone() -> None:
    kind = Kustomization()
    engine = Reconciler(InMemoryStorage(), Kinds({FLUX: kind}))
    others = DesiredGraph([resource(FLUX, "apps/other")])
    await engine.reconcile("1", "flux", others)
    await engine.reconcile("2", "flux", flux_graph().with_ancestors([(FLUX, "apps/b")]), prune=False)
    assert kind.log == ["apps/other", "apps/a", "apps/b"]


async def test_joined_names_reach_a_nested_field() -> None:
    class Echo(Kind[dict[str, Any], dict[str, Any]]):
        async def create(self, req: Request[Any, Any]) -> dict[str, Any]:
            return dict(req.input)

    storage = InMemoryStorage()
    wanted = [
        resource("echo", "a", {"list": [{"n": 1}, {"n": 2}]}),
        resource("echo", "b", {"env": [{"name": "X", "value": join("n", ref("echo", "a", "list.1.n"), True)}]}),
    ]
    await Reconciler(storage, Kinds({"echo": Echo()})).reconcile("1", "p", DesiredGraph(wanted))
    stored = {record.name: record.input for record in await storage.list_resources("p")}
    assert stored["b"] == {"env": [{"name": "X", "value": "n2true"}]}
