"""The fleet of real servers for the whole room, whole again before every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.dispatch_fleet import App, Shop
from tests.e2e.fleet import RealFleet
from tests.real import definitions
from tests.real.argocd import ArgoLab
from tests.real.docker_engine import DockerEngine
from tests.real.flux import FluxLab
from tests.real.git import GitServer
from tests.real.kube import KubeServer
from tests.real.place import Place
from tests.real.requires import need
from tests.real.source_controller import SourceController
from tests.real.ssh import SshServer
from tests.real.swarm import SwarmLab


@pytest.fixture(scope="session")
def whole_fleet(place: Place, swarm_lab: SwarmLab, docker_host: DockerEngine, ssh_server: SshServer) -> Iterator[RealFleet]:
    """The run's fleet as the last test left it. Its API server is its own: others are full of other tests' objects."""
    need("kubernetes")
    with KubeServer(place) as kube:
        kube.client.apply_definitions([*definitions.flux_and_argo(), *definitions.own()])
        swarm_lab.mend()
        docker_host.mend()
        fleet = RealFleet(place.folder("e2e"), place, kube, swarm_lab, docker_host, ssh_server)
        fleet.fill()
        yield fleet


@pytest.fixture
def fleet(whole_fleet: RealFleet, tmp_path: Path) -> RealFleet:
    """Every server up, every object as it was, and an account that has never run a console."""
    whole_fleet.mend(tmp_path / "home")
    return whole_fleet


@pytest.fixture
def shop(flux: FluxLab, source_controller: SourceController, git: GitServer) -> Shop:
    """A Kustomization of its own on live Flux controllers, which has applied its first commit."""
    made = Shop(flux, git)
    made.begin()
    return made


@pytest.fixture
def wallet(argocd: ArgoLab, git: GitServer) -> App:
    """An Application of its own on a live Argo CD, to be made by its `begin`."""
    return App(argocd, git)
