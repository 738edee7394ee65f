"""The composition root: from options and environment to a running :class:`~console.runtime.runtime.Runtime`.

The only place that knows files, discovery and the demo fleet at once. The demo is found like everything else: through a
kubeconfig and Docker contexts that it wrote.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from console.cli.command import Options, UsageError
from console.clients.git import GitProgram
from console.config import paths
from console.config.fleet import Fleet, load_fleet, parse_fleet
from console.config.problems import nearest
from console.config.settings import Settings, load_settings
from console.model.connections import Connection
from console.runtime.commit_book import CommitSource
from console.runtime.discovery import discover
from console.runtime.ports import Guest
from console.runtime.runtime import Runtime
from console.runtime.targets import Target
from console.views.cells import Context

if TYPE_CHECKING:
    from console.demo.fleet import DemoFleet

DEMO_FLEET = """
groups:
  production: {colour: red, protected: true}
  staging: {colour: yellow}
connections:
  - {name: atlas, kubernetes: atlas, group: production}
  - {name: borealis, kubernetes: borealis, group: staging}
triggers:
  - name: ingress
    connection: atlas
    kind: flux
    namespace: flux-system
    object: ingress
    url: https://git.example.test/platform/fleet.git
    branch: main
    hold: true
  - name: search
    connection: borealis
    kind: argocd
    namespace: argocd
    object: search-eu
    url: https://git.example.test/shop/search-eu.git
    branch: main
    revert_refused_edits: true
"""
# What would point past the demo's own files.
_REAL = ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "KUBERNETES_SERVICE_HOST")


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """What a command works with. ``problems`` are sentences about configuration that could not be used.

    ``waiting`` are the targets that the caller wanted to connect later (None: all).
    """

    runtime: Runtime
    settings: Settings
    fleet: Fleet
    targets: tuple[Target, ...]
    problems: tuple[str, ...] = ()
    demo: bool = False
    state: Path | None = None
    waiting: tuple[str, ...] | None = ()

    def names(self, chosen: Collection[str] | None) -> tuple[str, ...]:
        """The connections that somebody named, by name or alias; all of them if nobody named any (None)."""
        links = self.runtime.links
        if chosen is None:
            return tuple(links)
        return tuple(name for name, link in links.items() if not {name, *link.target.aliases}.isdisjoint(chosen))

    def connections(self, names: Iterable[str]) -> tuple[Connection, ...]:
        """These connections as they are shown now."""
        return tuple(found for name in names if (found := self.runtime.connection(name)) is not None)

    def context(self) -> Context:
        """What cells and sentences may know, now."""
        return Context(self.runtime.clock.now(), {found.ref.name: found for found in self.connections(self.runtime.links)})


@asynccontextmanager
async def opened(
    options: Options,
    env: Mapping[str, str],
    *,
    connect: Collection[str] | None = None,
    demo_if_empty: bool = False,
    only_reads: bool = False,
    later: bool = False,
) -> AsyncIterator[Opened]:
    """A runtime for as long as the context lasts, already connecting.

    :param connect: names of the only targets to connect; None leaves it to the settings.
    :param demo_if_empty: use the demo fleet when there is no target at all.
    :param only_reads: the command writes nothing, so it must not keep a console from writing by holding the journal's lease.
    :param later: connect nothing yet; what would be connected is :attr:`Opened.waiting`.
    :raises ConfigError: settings or fleet file can't be used.
    :raises UsageError: ``connect`` names a target that isn't there.
    """
    async with AsyncExitStack() as stack:
        settings = load_settings(paths.settings_file(env))
        demo, fleet = bool(options.demo), Fleet()
        targets: tuple[Target, ...] = ()
        guests: tuple[Guest, ...] = ()
        problems: tuple[str, ...] = ()
        commits: CommitSource = GitProgram(env)
        if not demo:
            fleet = load_fleet(options.fleet or paths.fleet_file(env), required=options.fleet is not None)
            found = discover(env, fleet)
            targets, problems = found.targets, tuple(str(problem) for problem in found.problems)
            demo = demo_if_empty and not targets
        state, file = paths.state_dir(env), options.fleet or paths.fleet_file(env)
        if demo:
            world, found_by = await _demo_world(stack)
            env = {**{key: value for key, value in env.items() if key not in _REAL}, **found_by}
            commits = world.repositories
            file = options.fleet or _demo_file(stack)
            fleet = load_fleet(file, required=True)
            targets, guests = discover(env, fleet).targets, _demo_guests()
            # What is done to a world that ends with this process does not belong into the journal of the real one.
            state = Path(
                env.get(paths.STATE_VARIABLE) or stack.enter_context(tempfile.TemporaryDirectory(prefix="quarterdeck-"))
            )
        wanted = _chosen(connect, targets) if connect is not None else _at_start(settings, fleet, targets)
        runtime = Runtime(
            settings,
            fleet,
            targets,
            connect=() if later else wanted,
            state=state,
            read_only=only_reads or bool(options.read_only) or settings.safety.read_only,
            guests=guests,
            commits=commits,
            fleet_file=file,
        )
        await stack.enter_async_context(runtime)
        yield Opened(
            runtime=runtime,
            settings=settings,
            fleet=fleet,
            targets=targets,
            problems=problems,
            demo=demo,
            state=state,
            waiting=wanted if later else (),
        )


async def _demo_world(stack: AsyncExitStack) -> tuple[DemoFleet, dict[str, str]]:
    """The running demo, and the environment in which it is found."""
    from console.demo.fleet import DemoFleet

    fleet = await stack.enter_async_context(DemoFleet())
    return fleet, fleet.write_config()


def _demo_guests() -> tuple[Guest, ...]:
    from console.demo.rehearsal import Rehearsal

    return (Rehearsal("harbour"),)


def _demo_file(stack: AsyncExitStack) -> Path:
    """A fleet file for as long as the demo lasts: what is adopted there must stand somewhere too."""
    file = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="quarterdeck-"))) / "fleet.yaml"
    file.write_text(DEMO_FLEET)
    return file


def demo_fleet() -> Fleet:
    """What the fleet file of the demo says."""
    return parse_fleet(DEMO_FLEET, Path("demo fleet"))


def _chosen(names: Collection[str], targets: tuple[Target, ...]) -> tuple[str, ...]:
    known = {word: target.name for target in targets for word in (target.name, *target.aliases)}
    unknown = next((name for name in names if name not in known), "")
    if unknown:
        meant = nearest(unknown, known)
        hint = (
            f"Did you mean {meant}?"
            if meant
            else f"There are: {', '.join(sorted(target.name for target in targets)) or 'none'}."
        )
        raise UsageError(f"There is no connection {unknown}.", hint)
    return tuple(dict.fromkeys(known[name] for name in names))


def _at_start(settings: Settings, fleet: Fleet, targets: tuple[Target, ...]) -> tuple[str, ...] | None:
    """Which targets the settings connect at once (None: all)."""
    if settings.start.connect == "none":
        return ()
    if settings.start.connect == "fleet":
        return tuple(target.name for target in targets if fleet.entry(target.name) is not None)
    return None
