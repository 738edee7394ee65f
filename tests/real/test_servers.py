"""The harness keeps what it promises: servers come up, break on demand, heal, and start each test clean."""

import ssl

import httpx
import pytest

from tests.real.docker_engine import DockerEngine
from tests.real.images import WEB
from tests.real.processes import wait_until
from tests.real.registry import PASSWORD, USER, Registry
from tests.real.swarm import SwarmLab


def test_a_docker_host_serves_a_published_port_and_loses_it_with_its_power(docker_engine: DockerEngine) -> None:
    docker_engine.docker("run", "-d", "--name", "web", "-p", "8080:8080", f"{WEB}:1")
    url = f"http://{docker_engine.address}:8080/index.html"

    def page() -> str:
        try:
            return httpx.get(url, trust_env=False, timeout=5).text.strip()
        except httpx.TransportError:
            return ""

    wait_until(lambda: page() == "1", "the page is served")
    docker_engine.kill()
    assert page() == ""
    assert not docker_engine.answers()


def test_a_docker_host_starts_a_test_without_containers(docker_engine: DockerEngine) -> None:
    assert docker_engine.api("GET", "/containers/json", all="1") == []


def test_tls_wants_a_client_certificate_of_the_right_authority(docker_engine: DockerEngine) -> None:
    files = docker_engine.certificates
    url = docker_engine.tls_url.replace("tcp", "https") + "/_ping"
    ours = ssl.create_default_context(cafile=files.authority)
    ours.load_cert_chain(files.certificate, files.key)
    assert httpx.get(url, verify=ours, trust_env=False).text == "OK"
    strange = ssl.create_default_context(cafile=files.authority)
    strange.load_cert_chain(files.stranger_certificate, files.stranger_key)
    with pytest.raises(httpx.TransportError):
        httpx.get(url, verify=strange, trust_env=False)


def test_a_hung_docker_host_accepts_and_never_answers(docker_engine: DockerEngine) -> None:
    docker_engine.hang()
    assert docker_engine.running
    assert not docker_engine.answers()
    docker_engine.unhang()
    wait_until(docker_engine.answers, "the engine answers again")


def test_a_swarm_sees_a_power_cut_and_the_return_of_a_node(swarm: SwarmLab) -> None:
    swarm.engine(3).kill()
    swarm.wait_state(3, "down")
    swarm.engine(3).start()
    swarm.wait_state(3, "ready")


def test_a_node_without_its_cable_is_down_and_still_answers_on_its_socket(swarm: SwarmLab) -> None:
    swarm.cut(2)
    swarm.wait_state(2, "down")
    assert swarm.engine(2).answers()
    swarm.heal(2)
    swarm.wait_state(2, "ready")


def test_the_lab_registry_keeps_an_image_by_its_digest(swarm: SwarmLab, lab_registry: Registry) -> None:
    reference = lab_registry.push(swarm.engine(1), f"{WEB}:1", "shop/web:1")
    assert "@sha256:" in reference
    lab_registry.login(swarm.engine(2))
    swarm.engine(2).docker("pull", reference)


def test_a_registry_on_loopback_wants_its_password(registry: Registry) -> None:
    url = f"http://{registry.address}/v2/"
    assert httpx.get(url, trust_env=False).status_code == 401
    assert httpx.get(url, trust_env=False, auth=(USER, PASSWORD)).status_code == 200


def test_a_swarm_that_a_test_has_taken_apart_is_formed_anew(quorum: SwarmLab) -> None:
    quorum.engine(2).docker("swarm", "leave", "--force")
    quorum.engine(1).docker("swarm", "leave", "--force")
    quorum.engine(3).docker("rmi", f"{WEB}:1")
    quorum.mend()
    assert [quorum.state(number) for number in (1, 2, 3)] == ["ready"] * 3
    quorum.engine(3).docker("image", "inspect", f"{WEB}:1")
