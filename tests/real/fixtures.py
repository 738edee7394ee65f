"""Fixtures of the real servers: one of each for the whole test run, mended before every test that asks for it.

A test asks for `swarm`, `docker_engine`, ... and gets a server that is up, healthy and empty, whatever the test before it did.
Servers start when the first test asks for them and end with the run.
"""

from collections.abc import Iterator

import pytest

from tests.real import definitions
from tests.real.argocd import ArgoLab
from tests.real.docker_engine import DockerEngine
from tests.real.flux import FluxLab
from tests.real.flux_cli import FluxCli
from tests.real.git import GitServer
from tests.real.kube import KubeServer
from tests.real.place import Place
from tests.real.registry import Registry
from tests.real.requires import need
from tests.real.source_controller import SourceController
from tests.real.ssh import SshServer
from tests.real.swarm import REGISTRY_PORT, SWITCH, SwarmLab


@pytest.fixture(scope="session")
def place() -> Iterator[Place]:
    """The run's own folder; whatever is started in it goes with it."""
    with Place() as here:
        yield here


@pytest.fixture(scope="session")
def swarm_lab(place: Place) -> Iterator[SwarmLab]:
    """The run's swarm, 1 manager and 2 workers, as the last test left it. Tests want `swarm`."""
    need("swarm")
    with SwarmLab(place) as lab:
        yield lab


@pytest.fixture
def swarm(swarm_lab: SwarmLab) -> SwarmLab:
    """A healthy, empty swarm of 1 manager and 2 workers."""
    swarm_lab.mend()
    return swarm_lab


@pytest.fixture
def quorum(place: Place) -> Iterator[SwarmLab]:
    """A swarm of 3 managers of its own for one test that breaks its quorum (about 5 s to start)."""
    need("swarm")
    with SwarmLab(place, managers=3, workers=0) as lab:
        yield lab


@pytest.fixture(scope="session")
def docker_host(place: Place) -> Iterator[DockerEngine]:
    """The run's Docker host as the last test left it. Tests want `docker_engine`."""
    need("docker")
    with DockerEngine(place) as engine:
        yield engine


@pytest.fixture
def docker_engine(docker_host: DockerEngine) -> DockerEngine:
    """A Docker host with the harness's images and no containers."""
    docker_host.mend()
    return docker_host


@pytest.fixture(scope="session")
def registry(place: Place) -> Iterator[Registry]:
    """A registry on loopback that wants a user and a password; the console under test reaches it, engines do not."""
    need("registry")
    with Registry(place) as server:
        yield server


@pytest.fixture(scope="session")
def lab_registry(place: Place, swarm_lab: SwarmLab) -> Iterator[Registry]:
    """A registry inside the swarm lab, where its engines (and only they) reach it."""
    need("registry")
    with Registry(place, SWITCH, REGISTRY_PORT, swarm_lab.switch) as server:
        yield server


@pytest.fixture(scope="session")
def ssh_server(place: Place, docker_host: DockerEngine) -> Iterator[SshServer]:
    """The run's ssh server as the last test left it. Tests want `ssh`."""
    need("ssh")
    with SshServer(place, docker_host) as server:
        yield server


@pytest.fixture
def ssh(ssh_server: SshServer, docker_engine: DockerEngine) -> SshServer:
    """An ssh server through which a client reaches `docker_engine`, which is mended too."""
    ssh_server.mend()
    return ssh_server


@pytest.fixture(scope="session")
def kube_server(place: Place) -> Iterator[KubeServer]:
    """The run's API server with all custom resources, as the last test left it. Tests want `kube`."""
    need("kubernetes")
    with KubeServer(place) as server:
        server.client.apply_definitions([*definitions.flux_and_argo(), *definitions.own()])
        yield server


@pytest.fixture
def kube(kube_server: KubeServer) -> KubeServer:
    """A ready API server. Objects of earlier tests are still there: take a namespace of your own from `kube.namespace()`."""
    kube_server.mend()
    return kube_server


@pytest.fixture
def namespace(kube: KubeServer) -> str:
    """A new namespace on `kube`."""
    return kube.namespace()


@pytest.fixture(scope="session")
def flux_lab(place: Place) -> Iterator[FluxLab]:
    """The run's kustomize-controller and its own API server, as the last test left them. Tests want `flux`."""
    need("flux")
    with FluxLab(place) as lab:
        yield lab


@pytest.fixture
def flux(flux_lab: FluxLab) -> FluxLab:
    """A live kustomize-controller; take a namespace of your own from `flux.kube.namespace()`."""
    flux_lab.mend()
    return flux_lab


@pytest.fixture(scope="session")
def git(place: Place) -> Iterator[GitServer]:
    """Git repositories over HTTP on loopback; each test commits to a repository of its own name."""
    need("git")
    with GitServer(place) as server:
        yield server


@pytest.fixture(scope="session")
def argocd_lab(place: Place) -> Iterator[ArgoLab]:
    """The run's Argo CD and its own API server, as the last test left them. Tests want `argocd`."""
    need("argocd")
    with ArgoLab(place) as lab:
        yield lab


@pytest.fixture
def argocd(argocd_lab: ArgoLab) -> ArgoLab:
    """A live Argo CD; take an Application's name and a namespace of your own."""
    argocd_lab.mend()
    return argocd_lab


@pytest.fixture(scope="session")
def source_controller_process(place: Place, flux_lab: FluxLab) -> Iterator[SourceController]:
    """The run's source-controller as the last test left it. Tests want `source_controller`."""
    need("source-controller")
    with SourceController(place, flux_lab.kube) as controller:
        yield controller


@pytest.fixture
def source_controller(source_controller_process: SourceController, flux: FluxLab) -> SourceController:
    """A live source-controller on the API server of `flux`, for sources with its label."""
    source_controller_process.start()
    return source_controller_process


@pytest.fixture
def flux_cli(place: Place, flux: FluxLab) -> FluxCli:
    """Flux's command line on the API server of `flux`."""
    need("flux-cli")
    return FluxCli(place, flux.kube)
