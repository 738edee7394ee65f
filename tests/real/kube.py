"""A Kubernetes API server with its etcd: real storage, watches, server-side apply and access rules; no controllers.

Without controllers nothing is collected and a deleted namespace never goes: each test takes a new one (`KubeServer.namespace`).
"""

import base64
import secrets
import signal
import ssl
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx
import trustme
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.real.binaries import APISERVER, ETCD
from tests.real.kube_client import KubeClient
from tests.real.place import Place
from tests.real.ports import free_port
from tests.real.processes import STARTED, HarnessError, Process

USERS = {"admin": "system:masters", "operator": "operators", "viewer": "viewers", "nobody": "strangers"}
"""Users with a static token and their group. Only `admin` may do anything until a test grants it (`KubeClient.grant`)."""


class KubeServer:
    """etcd and kube-apiserver on free ports of 127.0.0.1, which both keep when they restart.

    `flags` are added to the API server's, for instance `--etcd-compaction-interval=5s`.
    """

    def __init__(self, place: Place, *flags: str) -> None:
        self._place = place
        self._name = place.unique("kube")
        self._flags = flags
        self._home = place.folder(self._name)
        self._tokens = {user: secrets.token_hex(16) for user in USERS}
        self._authority = trustme.CA()
        self.port = self._etcd_port = self._peer_port = 0
        self._etcd: Process | None = None
        self._server: Process | None = None
        self._write_keys()

    def __enter__(self) -> Self:
        for attempt in range(3):
            self.port, self._etcd_port, self._peer_port = free_port(), free_port(), free_port()
            try:
                self.start()
            except HarnessError:
                self.kill()
                if attempt == 2:
                    raise
            else:
                break
        self.client = KubeClient(self.http("admin"))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.client.close()
        self.kill()

    @property
    def url(self) -> str:
        """`https://127.0.0.1:PORT`."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def authority(self) -> Path:
        """The certificate (PEM) of the authority that signed the server's."""
        return self._home / "ca.pem"

    def token(self, user: str = "admin") -> str:
        """The static token of one of `USERS`."""
        return self._tokens[user]

    def http(self, user: str = "admin", timeout: float = 30) -> httpx.Client:
        """A plain HTTP client as a user; the caller closes it."""
        context = ssl.create_default_context(cafile=self.authority)
        headers = {"Authorization": f"Bearer {self.token(user)}"}
        return httpx.Client(base_url=self.url, headers=headers, verify=context, timeout=timeout, trust_env=False)

    def kubeconfig(self, user: str = "admin", *, server: str = "", certificate: bool = False, namespace: str = "") -> Path:
        """Write a kubeconfig with one context called after the user; `server` replaces the address (a proxy on loopback).

        With `certificate` the user logs in with a client certificate instead of a token.
        """
        authority = base64.b64encode(self.authority.read_bytes()).decode()
        login: dict[str, str] = {"token": self.token(user)}
        if certificate:
            pair = self._authority.issue_cert(f"{user}.example.test", common_name=user, organization_name=USERS[user])
            chain = b"".join(blob.bytes() for blob in pair.cert_chain_pems)
            login = {
                "client-certificate-data": base64.b64encode(chain).decode(),
                "client-key-data": base64.b64encode(pair.private_key_pem.bytes()).decode(),
            }
        context = {"cluster": "real", "user": user, **({"namespace": namespace} if namespace else {})}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "real", "cluster": {"server": server or self.url, "certificate-authority-data": authority}}],
            "users": [{"name": user, "user": login}],
            "contexts": [{"name": user, "context": context}],
            "current-context": user,
        }
        file = self._home / f"kubeconfig-{secrets.token_hex(4)}.yaml"
        file.write_text(yaml.safe_dump(document))
        file.chmod(0o600)
        return file

    def namespace(self, prefix: str = "team") -> str:
        """Make a new namespace and return its name."""
        name = f"{prefix}-{secrets.token_hex(4)}"
        self.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return name

    def start(self) -> None:
        """Start what does not run and wait until the server is ready; the stored objects survive a `kill`."""
        if self._etcd is None or not self._etcd.running:
            self._etcd = self._launch_etcd()
        if self._server is None or not self._server.running:
            self._server = self._launch_server()
        self._server.wait_ready(self.ready, 2 * STARTED)

    def ready(self) -> bool:
        """True when the server says it is ready."""
        try:
            with self.http(timeout=5) as client:
                return client.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """End both at once."""
        for process in (self._server, self._etcd):
            if process:
                process.kill()

    def kill_server(self) -> None:
        """End the API server only; `start` brings it back in about 3 s."""
        if self._server:
            self._server.kill()

    def forget_history(self) -> None:
        """Drop all old revisions and restart the API server: a watch or list at a revision from before is told 410 Gone.

        The restart matters: the server's own watch cache would go on answering for revisions etcd has dropped.
        """
        with httpx.Client(base_url=f"http://127.0.0.1:{self._etcd_port}", timeout=STARTED, trust_env=False) as etcd:
            written = etcd.post("/v3/kv/put", json={"key": "aGlzdG9yeQ==", "value": "Zm9yZ290dGVu"}).raise_for_status().json()
            revision = written["header"]["revision"]
            etcd.post("/v3/kv/compaction", json={"revision": revision, "physical": True}).raise_for_status()
        self.kill_server()
        self.start()

    def hang(self) -> None:
        """Freeze the API server: it accepts connections and never answers."""
        self._signal(self._server, signal.SIGSTOP)

    def hang_storage(self) -> None:
        """Freeze etcd: the server still says it is ready while reads and writes hang."""
        self._signal(self._etcd, signal.SIGSTOP)

    def unhang(self) -> None:
        """Let both go on."""
        self._signal(self._etcd, signal.SIGCONT)
        self._signal(self._server, signal.SIGCONT)

    def mend(self) -> None:
        """Bring it back to running and ready; objects stay."""
        try:
            self.unhang()
            self.start()
        except HarnessError:
            self.kill()
            self.start()

    @staticmethod
    def _signal(process: Process | None, number: signal.Signals) -> None:
        if process:
            process.signal(number)

    def _launch_etcd(self) -> Process:
        client, peer = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{self._peer_port}"
        return self._place.spawn(
            f"{self._name}-etcd",
            *(
                str(ETCD.find()),
                "--data-dir",
                str(self._home / f"etcd-{self._peer_port}"),
                "--unsafe-no-fsync",
                "--log-level",
                "error",
            ),
            *("--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer),
            *("--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"),
        )

    def _launch_server(self) -> Process:
        home = self._home
        flags = {
            "etcd-servers": f"http://127.0.0.1:{self._etcd_port}",
            "bind-address": "127.0.0.1",
            "secure-port": str(self.port),
            "tls-cert-file": str(home / "server.pem"),
            "tls-private-key-file": str(home / "server.key"),
            "client-ca-file": str(self.authority),
            "token-auth-file": str(home / "tokens.csv"),
            "authorization-mode": "RBAC",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": str(home / "accounts.key"),
            "service-account-signing-key-file": str(home / "accounts.key"),
            "service-cluster-ip-range": "10.96.0.0/16",
            # Pods need no service account here: nothing would make its token.
            "disable-admission-plugins": "ServiceAccount",
            # Loopback is no address for other nodes, and there are none.
            "endpoint-reconciler-type": "none",
            "profiling": "false",
            "v": "1",
        }
        argv = [f"--{name}={value}" for name, value in flags.items()]
        return self._place.spawn(self._name, str(APISERVER.find()), *argv, *self._flags)

    def _write_keys(self) -> None:
        home = self._home
        self._authority.cert_pem.write_to_path(str(self.authority))
        server = self._authority.issue_cert("127.0.0.1", "localhost", "kubernetes.default.svc")
        server.private_key_pem.write_to_path(str(home / "server.key"))
        (home / "server.pem").write_bytes(b"".join(blob.bytes() for blob in server.cert_chain_pems))
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
        (home / "accounts.key").write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
        rows = [f'{self._tokens[user]},{user},{user},"{group}"' for user, group in USERS.items()]
        (home / "tokens.csv").write_text("\n".join(rows) + "\n")
