"""A fleet of real servers, named by files in a home that is empty otherwise."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from tests.contract.scene import docker_context
from tests.real.docker_engine import DockerEngine
from tests.real.fleet import fleet, kustomization
from tests.real.images import SHELL
from tests.real.kube import KubeServer
from tests.real.place import Place
from tests.real.processes import wait_until
from tests.real.ssh import SshServer
from tests.real.swarm import SwarmLab
from tests.real.workloads import converged, deploy_stack, run_containers

TEAM = "team"
READ: dict[str, Any] = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
# A log line that would clear the screen, set the title, beep and write to the clipboard, were it not made harmless.
SECRET = "hunter2-in-plain"
EVIL = r"printf 'evil \033[2J\033]0;owned\007\033]52;c;b3duZWQ=\007 and \033[31mred\r\n'"


class RealFleet:
    """Contexts ``prod`` (an API server, may do anything), ``audit`` (the same, sees little), ``oncall`` (a token that ends),
    ``harbour`` (the manager of a swarm of three) and ``tern`` (an engine behind ssh)."""

    def __init__(self, home: Path, place: Place, kube: KubeServer, swarm: SwarmLab, host: DockerEngine, ssh: SshServer) -> None:
        self.home = home
        self.place = place
        self.kube = kube
        self.swarm = swarm
        self.host = host
        self.ssh = ssh
        self.kubeconfig = home / "kubeconfig"
        self.docker_config = home / "docker"
        self.accounts = home / "accounts"

    def mend(self, home: Path) -> None:
        """Everything as it was at first; accounts live in a new folder from now on."""
        home.mkdir()
        self.accounts = home
        self.kube.mend()
        self.ssh.mend()
        self.log_in()
        self.kube.client.merge(kustomization(TEAM), {"spec": {"suspend": None}})
        self.swarm.docker("service", "scale", "--detach", "shop_web=2")
        wait_until(lambda: converged(self.swarm, "shop"), "the stack is as deployed", 60, 0.2)

    @property
    def env(self) -> dict[str, str]:
        """The environment in which this fleet is found, and nothing else."""
        return self.account("one")

    def account(self, name: str) -> dict[str, str]:
        """The environment of one account; each has settings and a journal of its own."""
        own = self.accounts / name
        own.mkdir(parents=True, exist_ok=True)
        return {
            "HOME": str(own),
            "KUBECONFIG": str(self.kubeconfig),
            "DOCKER_CONFIG": str(self.docker_config),
            "PATH": f"{self.ssh.tools}:{os.environ['PATH']}",
        }

    def fill(self) -> None:
        """Put workloads on every server and write the files that lead to them."""
        client = self.kube.client
        client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}})
        for thing in fleet(TEAM):
            client.put(thing)
        client.grant("operator", [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
        client.grant("viewer", [{**READ, "apiGroups": [""], "resources": ["namespaces", "pods", "events"]}])
        deploy_stack(self.swarm, self.place, "shop")
        run_containers(self.host)
        chatter = f"{EVIL}; while :; do echo tick; sleep 1; done"
        self.host.docker("run", "-d", "--name", "chatter", "-e", f"API_TOKEN={SECRET}", SHELL, "sh", "-c", chatter)
        docker_context(self.docker_config, "harbour", self.swarm.manager.url)
        docker_context(self.docker_config, "tern", self.ssh.url)
        self.log_in()

    def log_in(self) -> None:
        """Give ``oncall`` an account and a new token, and write the kubeconfig anew, as a login command does."""
        client = self.kube.client
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "oncall", "namespace": TEAM}}
        client.apply(account)
        client.apply(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": "oncall"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"kind": "ServiceAccount", "name": "oncall", "namespace": TEAM}],
            }
        )
        path = f"/api/v1/namespaces/{TEAM}/serviceaccounts/oncall/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        answer = client.http.post(path, json=request)
        answer.raise_for_status()
        users = {"prod": self.kube.token("operator"), "audit": self.kube.token("viewer")}
        users["oncall"] = answer.json()["status"]["token"]
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "real", "cluster": {"server": self.kube.url, "certificate-authority": str(self.kube.authority)}}
            ],
            "users": [{"name": name, "user": {"token": token}} for name, token in users.items()],
            "contexts": [{"name": name, "context": {"cluster": "real", "user": name}} for name in users],
            "current-context": "prod",
        }
        draft = self.kubeconfig.with_suffix(".new")
        draft.write_text(yaml.safe_dump(document))
        draft.chmod(0o600)
        draft.rename(self.kubeconfig)

    def log_out(self) -> None:
        """Delete the account of ``oncall``: its token is refused from now on."""
        path = self.kube.client.path("v1", "ServiceAccount", TEAM, "oncall")
        self.kube.client.http.delete(path).raise_for_status()
