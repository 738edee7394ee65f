"""Kubeconfig files, merged as kubectl does it, and the service account of a pod.

Sources: "Organizing Cluster Access Using kubeconfig Files" (merge rules: the first file that has a name wins) and the
``client.authentication.k8s.io`` and kubeconfig v1 API references.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from console.clients.endpoint import Endpoint
from console.clients.kubeconfig_endpoint import UserPlace, endpoint_of
from console.clients.kubeconfig_files import load_kubeconfig
from console.errors import ConfigError

_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_SECTIONS = (("clusters", "cluster"), ("users", "user"), ("contexts", "context"))


class KubeContext(msgspec.Struct, frozen=True, kw_only=True):
    """One context. ``cluster`` and ``user`` are the entries as written, with paths made absolute; None: there is no such entry.

    ``file`` is where the context stands, ``user_file`` where its user does (a renewed OIDC login is written back there).
    """

    name: str
    namespace: str = ""
    cluster_name: str = ""
    user_name: str = ""
    current: bool = False
    file: str = ""
    user_file: str = ""
    cluster: dict[str, Any] | None = None
    user: dict[str, Any] | None = None
    env: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"KubeContext({self.name!r})"

    @property
    def server(self) -> str:
        """The cluster's URL as written, "" if there is none."""
        return str((self.cluster or {}).get("server") or "")

    def endpoint(self) -> Endpoint:
        """Where and how to connect; raises :class:`ConfigError` naming what is missing or wrong."""
        where = f"context {self.name} in {self.file}"
        if self.cluster is None:
            raise ConfigError(f"{where}: there is no cluster {self.cluster_name!r}", "Correct the context or add the cluster.")
        if self.user is None and self.user_name:
            raise ConfigError(f"{where}: there is no user {self.user_name!r}", "Correct the context or add the user.")
        place = UserPlace(Path(self.user_file), self.user_name)
        return endpoint_of(where, self.cluster, self.user or {}, env=self.env, place=place)


class KubeConfig(msgspec.Struct, frozen=True):
    """All contexts in the order of the files, and what could not be read, in words."""

    contexts: tuple[KubeContext, ...] = ()
    problems: tuple[str, ...] = ()

    def context(self, name: str) -> KubeContext | None:
        """The context of that name."""
        return next((context for context in self.contexts if context.name == name), None)

    @property
    def current(self) -> KubeContext | None:
        """The current context, if it exists."""
        return next((context for context in self.contexts if context.current), None)


def kubeconfig_paths(env: Mapping[str, str]) -> tuple[Path, ...]:
    """The files of ``KUBECONFIG``, or ``~/.kube/config``; each once, whether they exist or not."""
    named = [part for part in env.get("KUBECONFIG", "").split(os.pathsep) if part]
    home = Path(env["HOME"]) if env.get("HOME") else Path.home()
    paths = [Path(part) for part in named] or [home / ".kube" / "config"]
    return tuple(dict.fromkeys(paths))


def read_kubeconfig(env: Mapping[str, str], *, service_account: Path = _SERVICE_ACCOUNT) -> KubeConfig:
    """Read and merge everything. Never raises: a broken file is a problem, the others stay.

    Inside a pod its service account is a context of its own, ``in-cluster``, unless a file already has that name.
    """
    merged: dict[str, dict[str, tuple[Path, dict[str, Any]]]] = {section: {} for section, _ in _SECTIONS}
    current = ""
    problems: list[str] = []
    for path in kubeconfig_paths(env):
        try:
            document = load_kubeconfig(path)
            for section, item in _SECTIONS:
                for name, entry in _entries(path, document, section, item, problems):
                    merged[section].setdefault(name, (path, _absolute(entry, path.parent.absolute(), section)))
            current = current or _text(document.get("current-context"))
        except ConfigError as error:
            problems.append(error.sentence())
    contexts = [_context(name, *entry, merged, current, env) for name, entry in merged["contexts"].items()]
    own = _in_cluster(env, service_account)
    if own is not None and all(context.name != own.name for context in contexts):
        contexts.append(own)
    return KubeConfig(tuple(contexts), tuple(problems))


def _entries(
    path: Path, document: dict[str, Any], section: str, item: str, problems: list[str]
) -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []
    listed = document.get(section) or []
    if not isinstance(listed, list):
        problems.append(f"{path}: {section} is not a list.")
        return found
    for number, entry in enumerate(listed, 1):
        name = _text(entry.get("name")) if isinstance(entry, dict) else ""
        body = entry.get(item) if isinstance(entry, dict) else None
        if not name or not isinstance(body, dict | None):
            problems.append(f"{path}: entry {number} of {section} has no name or no {item}.")
            continue
        found.append((name, body or {}))
    return found


def _absolute(entry: dict[str, Any], folder: Path, section: str) -> dict[str, Any]:
    """Paths count from the folder of the file that holds them; a plugin's only if it looks like a path."""
    result = dict(entry)
    for key in ("certificate-authority", "client-certificate", "client-key", "tokenFile"):
        if _text(result.get(key)):
            result[key] = str(folder / _text(result[key]))
    plugin = result.get("exec") if section == "users" else None
    if isinstance(plugin, dict) and os.sep in _text(plugin.get("command")):
        result["exec"] = {**plugin, "command": str(folder / _text(plugin["command"]))}
    return result


def _context(
    name: str,
    path: Path,
    entry: dict[str, Any],
    merged: dict[str, dict[str, tuple[Path, dict[str, Any]]]],
    current: str,
    env: Mapping[str, str],
) -> KubeContext:
    cluster, user = _text(entry.get("cluster")), _text(entry.get("user"))
    user_path, user_entry = merged["users"].get(user, (path, None))
    return KubeContext(
        name=name,
        namespace=_text(entry.get("namespace")),
        cluster_name=cluster,
        user_name=user,
        current=name == current,
        file=str(path),
        user_file=str(user_path),
        cluster=merged["clusters"].get(cluster, (path, None))[1],
        user=user_entry,
        env=env,
    )


def _in_cluster(env: Mapping[str, str], folder: Path) -> KubeContext | None:
    host, port = env.get("KUBERNETES_SERVICE_HOST", ""), env.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not (folder / "token").is_file():
        return None
    try:
        namespace = (folder / "namespace").read_text("utf-8").strip()
    except OSError:
        namespace = ""
    address = f"[{host}]" if ":" in host else host
    return KubeContext(
        name="in-cluster",
        namespace=namespace,
        current=False,
        file=str(folder),
        cluster={"server": f"https://{address}:{port}", "certificate-authority": str(folder / "ca.crt")},
        user={"tokenFile": str(folder / "token")},
        env=env,
    )


def _text(value: Any) -> str:
    """YAML makes numbers of names that look like one."""
    return "" if value is None or isinstance(value, dict | list) else str(value)
