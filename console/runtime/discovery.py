"""What can be connected to: kubeconfig contexts, Docker contexts and the fleet file, made into targets with unique names.

Two names for the same endpoint with the same credentials are one target (the other name becomes an alias); the same server with
other credentials is another one, since it can do other things. Nothing here connects, and nothing found wrong hides the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from console.clients.docker_contexts import DockerContext, read_docker_contexts
from console.clients.endpoint import Endpoint
from console.clients.kubeconfig import KubeConfig, KubeContext, kubeconfig_paths, read_kubeconfig
from console.config.fleet import Entry, Fleet
from console.errors import ConfigError
from console.runtime.targets import Target
from console.runtime.whoami import whoami

if TYPE_CHECKING:
    from console.backends.docker import DockerBackend
    from console.backends.kubernetes import KubernetesBackend

Env = Mapping[str, str]

UNVERIFIED = "The server's certificate is not verified: anybody on the way can read and change what is said."


class Discovery(msgspec.Struct, frozen=True):
    """Targets, those of the fleet file first in its order, then the others by name; and what could not be used, in words."""

    targets: tuple[Target, ...]
    problems: tuple[str, ...]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One way to reach something. ``key`` is equal for two ways that reach the same with the same credentials.

    ``make`` builds a backend for a connection of that name, as the fleet file's entry for it wants it. Of several ways to the
    same, a ``preferred`` one gives the name. ``unverified``: the server's certificate is not checked.
    """

    name: str
    kind: str
    key: tuple[Any, ...]
    label: str
    origin: str
    make: Callable[[str, Entry | None], KubernetesBackend | DockerBackend]
    preferred: bool = False
    unverified: bool = False


def discover(env: Env, fleet: Fleet | None = None) -> Discovery:
    """Everything that this environment and fleet file offer."""
    fleet = fleet or Fleet()
    kube = read_kubeconfig(env)
    docker, docker_problems = read_docker_contexts(env)
    problems = [*kube.problems, *docker_problems]
    found = [_kubernetes(context, env) for context in kube.contexts]
    found += [_docker(context, env) for context in docker if not _only_a_guess(context)]
    targets: list[Target] = []
    taken: dict[tuple[Any, ...], int] = {}
    for entry in fleet.connections:
        way, problem = _way_of(entry, kube, docker, env)
        if problem:
            problems.append(problem)
        taken.setdefault(way.key, len(targets))
        targets.append(_target(entry.name, way, fleet, entry))
    if fleet.discover == "all":
        _add_found(targets, taken, found, fleet)
    return Discovery(tuple(targets), tuple(problems))


def _add_found(targets: list[Target], taken: dict[tuple[Any, ...], int], found: list[Found], fleet: Fleet) -> None:
    """Add what no entry of the fleet file reaches already; of several names the preferred one, then the shortest, stays."""
    names = {target.name for target in targets}
    for way in sorted(found, key=lambda way: (not way.preferred, len(way.name), way.name)):
        place = taken.get(way.key)
        if place is not None:
            known = targets[place]
            if way.name != known.name:
                targets[place] = msgspec.structs.replace(known, aliases=(*known.aliases, way.name))
            continue
        name = way.name if way.name not in names else f"{way.name}-{way.kind}"
        number = 2
        while name in names:
            name, number = f"{way.name}-{way.kind}-{number}", number + 1
        names.add(name)
        taken[way.key] = len(targets)
        targets.append(_target(name, way, fleet, None))
    listed = len(fleet.connections)
    targets[listed:] = sorted(targets[listed:], key=lambda target: target.name)


def _target(name: str, way: Found, fleet: Fleet, entry: Entry | None) -> Target:
    return Target(
        name=name,
        make_backend=lambda: way.make(name, entry),
        endpoint=way.label,
        platforms=("kubernetes",) if way.kind == "kubernetes" else ("host",),
        group=(entry.group or "") if entry else "",
        colour=fleet.colour(entry) if entry else "",
        protected=fleet.protected(entry) if entry else False,
        read_only=fleet.read_only(entry) if entry else False,
        warning=UNVERIFIED if way.unverified or (entry is not None and entry.insecure) else "",
        origin=way.origin,
        labels=entry.labels if entry else {},
    )


def _way_of(entry: Entry, kube: KubeConfig, docker: tuple[DockerContext, ...], env: Env) -> tuple[Found, str]:
    """How an entry of the fleet file is reached, and a problem if it can't be."""
    if entry.kubernetes:
        own = {**env, "KUBECONFIG": str(Path(entry.kubeconfig).expanduser())} if entry.kubeconfig else env
        config = read_kubeconfig(own) if entry.kubeconfig else kube
        context = config.context(entry.kubernetes)
        if context is not None:
            return _kubernetes(context, own), ""
        return _absent(entry, "kubernetes", f"there is no context {entry.kubernetes} in the kubeconfig")
    if entry.docker:
        named = next((context for context in docker if context.name == entry.docker), None)
        if named is not None:
            return _docker(named, env), ""
        return _absent(entry, "docker", f"there is no Docker context {entry.docker}")
    return _docker(_endpoint_context(entry, env), env, origin="fleet file"), ""


def _absent(entry: Entry, kind: str, why: str) -> tuple[Found, str]:
    problem = f"Fleet file, connection {entry.name}: {why}."

    def make(_: str, __: Entry | None) -> KubernetesBackend | DockerBackend:
        raise ConfigError(problem, "Correct the name there, or add the context.")

    return Found(name=entry.name, kind=kind, key=("absent", entry.name), label="", origin="fleet file", make=make), problem


def _endpoint_context(entry: Entry, env: Env) -> DockerContext:
    folder = Path(entry.certificates).expanduser() if entry.certificates else None

    def pem(name: str) -> str:
        return str(folder / name) if folder is not None and (folder / name).is_file() else ""

    return DockerContext(
        name=entry.name,
        host=entry.endpoint or "",
        tls=folder is not None or entry.insecure,
        verify=not entry.insecure,
        ca=pem("ca.pem"),
        cert=pem("cert.pem"),
        key=pem("key.pem"),
        env=env,
    )


def _only_a_guess(context: DockerContext) -> bool:
    """Docker's usual socket is offered only where there is one; a name that somebody gave is always shown."""
    return context.implied and not Path(context.host.removeprefix("unix://")).exists()


def _kubernetes(context: KubeContext, env: Env) -> Found:
    files = _Files(context, env)

    def make(name: str, entry: Entry | None) -> KubernetesBackend:
        # The wire is loaded when something connects: finding out what there is needs none of it.
        from console.backends.kubernetes import KubernetesBackend
        from console.clients.kubernetes import KubernetesClient

        endpoint = _insecure(files.context().endpoint(), entry)
        who = whoami(env)
        return KubernetesBackend(
            name,
            KubernetesClient(endpoint),
            namespaces=entry.namespaces if entry else (),
            who=f"{who.user}@{who.host}",
        )

    user = msgspec.json.encode(context.user or {}, order="deterministic", enc_hook=str)
    return Found(
        name=context.name,
        kind="kubernetes",
        key=("kubernetes", context.server.rstrip("/"), user),
        label=_label(context),
        unverified=_unverified(context),
        origin="kubeconfig",
        make=make,
        preferred=context.current,
    )


def _docker(context: DockerContext, env: Env, origin: str = "docker context") -> Found:
    def make(name: str, entry: Entry | None) -> DockerBackend:
        from console.backends.docker import DockerBackend
        from console.clients.docker import DockerClient

        return DockerBackend(name, DockerClient(_insecure(context.endpoint(), entry)))

    return Found(
        name=context.name,
        kind="docker",
        key=("docker", context.host.rstrip("/"), context.cert),
        label=_label(context),
        unverified=_unverified(context),
        origin=origin,
        make=make,
        # "default" says nothing; any name that a person gave is better.
        preferred=context.name != "default",
    )


def _insecure(endpoint: Endpoint, entry: Entry | None) -> Endpoint:
    return msgspec.structs.replace(endpoint, verify=False) if entry is not None and entry.insecure else endpoint


def _label(context: KubeContext | DockerContext) -> str:
    try:
        return context.endpoint().label
    except ConfigError:
        return ""


def _unverified(context: KubeContext | DockerContext) -> bool:
    try:
        endpoint = context.endpoint()
    except ConfigError:
        return False
    return endpoint.secure and not endpoint.verify


class _Files:
    """A kubeconfig context that is read again when its files changed: somebody logged in meanwhile."""

    def __init__(self, context: KubeContext, env: Env) -> None:
        self._context = context
        self._env = env
        self._stamps = self._read_stamps()

    def context(self) -> KubeContext:
        """The context as it stands now. Raises :class:`ConfigError` when it is gone."""
        stamps = self._read_stamps()
        if stamps != self._stamps:
            config = read_kubeconfig(self._env)
            found = config.context(self._context.name)
            if found is None:
                said = f" {config.problems[0]}" if config.problems else ""
                raise ConfigError(f"The context {self._context.name} is no longer in the kubeconfig.{said}")
            self._context, self._stamps = found, stamps
        return self._context

    def _read_stamps(self) -> tuple[tuple[int, int], ...]:
        stamps = []
        for path in kubeconfig_paths(self._env):
            try:
                found = path.stat()
            except OSError:
                stamps.append((0, 0))
            else:
                stamps.append((found.st_mtime_ns, found.st_size))
        return tuple(stamps)
