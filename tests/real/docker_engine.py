"""A single Docker host: unix socket, and TLS on an address of its own that only this machine reaches."""

import random
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx
import trustme

from tests.real import images
from tests.real.engine import Engine, ip
from tests.real.place import Place
from tests.real.processes import HarnessError, run

TLS_PORT = 2376


@dataclass(frozen=True)
class Certificates:
    """The files a TLS client needs (PEM): the authority, its certificate, its key; and those of a stranger's authority."""

    authority: Path
    certificate: Path
    key: Path
    stranger_authority: Path
    stranger_certificate: Path
    stranger_key: Path


class DockerEngine(Engine):
    """A dockerd with a bridge network, wired to this machine by a point-to-point link.

    `address` is the host's own address (documentation range, in its own namespace): ports that containers publish are reached
    there, so it is the value of a `probe_address`. TLS listens on `address` port 2376; its certificate also names 127.0.0.1 and
    localhost, so a proxy on loopback in front of it is trusted too.
    """

    def __init__(self, place: Place, name: str = "docker") -> None:
        self.namespace = place.network(place.unique("d"))
        self._link(place)
        tls = place.folder(place.unique("tls"))
        self.certificates = self._issue(tls)
        super().__init__(
            place,
            name,
            self.namespace,
            *("-H", f"tcp://{self.address}:{TLS_PORT}", "--tlsverify", "--tlscacert", str(tls / "ca.pem")),
            *("--tlscert", str(tls / "server.pem"), "--tlskey", str(tls / "server.key")),
            *("--insecure-registry", "198.18.0.0/15"),
        )
        self._archive = images.root_archive(place)

    def __enter__(self) -> Self:
        self.start()
        images.load(self, self._archive)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.kill()
        run("ip", "netns", "del", self.namespace, check=False)

    @property
    def tls_url(self) -> str:
        """The TLS address as docker clients take it (`tcp://address:2376`)."""
        return f"tcp://{self.address}:{TLS_PORT}"

    def mend(self) -> None:
        """Bring it back to a state a test can start from: powered, answering, with no containers."""
        try:
            if not self.running:
                self.start()
            self.unhang()
            self.wait_ready()
            self.sweep()
        except (HarnessError, httpx.TransportError):
            self.wipe()
            self.start()
        images.load(self, self._archive)

    def _link(self, place: Place) -> None:
        """Make the namespace and a link to it, on a network of four addresses that nothing on this machine uses."""
        run("ip", "netns", "add", self.namespace)
        ip("link", "set", "lo", "up", namespace=self.namespace)
        ours = self.namespace  # at most 15 bytes
        ip("link", "add", ours, "type", "veth", "peer", "name", "eth0", "netns", self.namespace)
        taken = run("ip", "-4", "-o", "addr")
        for _ in range(50):
            net = f"198.19.{random.randrange(256)}.{random.randrange(64) * 4}"
            head, last = net.rsplit(".", 1)
            near, self.address = f"{head}.{int(last) + 1}", f"{head}.{int(last) + 2}"
            if f" {near}/" not in taken:
                break
        else:
            raise HarnessError("no free network for the engine's link")
        ip("addr", "add", f"{near}/30", "dev", ours)
        ip("link", "set", ours, "up")
        ip("addr", "add", f"{self.address}/30", "dev", "eth0", namespace=self.namespace)
        ip("link", "set", "eth0", "up", namespace=self.namespace)

    def _issue(self, folder: Path) -> Certificates:
        for prefix, authority in (("", trustme.CA()), ("stranger-", trustme.CA())):
            authority.cert_pem.write_to_path(str(folder / f"{prefix}ca.pem"))
            client = authority.issue_cert("operator@example.test")
            client.private_key_pem.write_to_path(str(folder / f"{prefix}key.pem"))
            client.cert_chain_pems[0].write_to_path(str(folder / f"{prefix}cert.pem"))
            if not prefix:
                server = authority.issue_cert(self.address, "127.0.0.1", "localhost")
                server.private_key_pem.write_to_path(str(folder / "server.key"))
                server.cert_chain_pems[0].write_to_path(str(folder / "server.pem"))
        own = [folder / file for file in ("ca.pem", "cert.pem", "key.pem")]
        strange = [folder / f"stranger-{file.name}" for file in own]
        return Certificates(*own, *strange)
