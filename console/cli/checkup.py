"""What ``doctor`` finds, as data first and text second."""

from __future__ import annotations

import locale
import sys
from collections.abc import Mapping
from typing import Any

from console import __version__
from console.cli import documents
from console.cli.command import Options, Outside
from console.cli.compose import Opened, opened
from console.cli.exits import Exit
from console.cli.listing import terminal_width
from console.config import paths
from console.errors import ConfigError
from console.kit.masking import mask_text
from console.kit.sanitize import sanitize
from console.model.connections import Connection, Phase
from console.model.health import Health
from console.model.resource import KindState
from console.views import connections as connection_views
from console.views import formats, glyphs
from console.views.cells import Context
from console.views.explain import explain

_WRONG_KINDS = ("failed", "restricted")
_NEXT = {
    Phase.LOGIN_EXPIRED: "Log in again (the hint above names how), then run doctor once more.",
    Phase.UNREACHABLE: "Check that its address is right and that this machine may reach it: VPN, bastion, firewall.",
    Phase.STALE: "It answered before and is silent now; look at its load and at the network between.",
    Phase.RESTRICTED: "Ask for the rights to list what is named, or set namespaces in the fleet file.",
    Phase.IDENTITY_CHANGED: "Find out why another one answers before you accept it in the console.",
    Phase.CONNECTING: "It did not answer in time; a longer --timeout shows whether it is only slow.",
}


async def checkup(options: Options, outside: Outside) -> Exit:
    """Connect, wait, report."""
    try:
        async with opened(options, outside.env, connect=options.connection, only_reads=True) as at:
            names = at.names(options.connection)
            at.runtime.connect(names)
            await at.runtime.settled(("Connection",), options.timeout, names)
            report = _report(at, names, outside)
    except ConfigError as error:
        report = {**_surroundings(outside.env), "problems": [error.sentence()], "connections": []}
    if options.output == "json":
        outside.out.write(documents.text(report))
    else:
        outside.out.write(_text(report, terminal_width(outside)))
    well = not report["problems"] and report["connections"] and all(entry["fresh"] for entry in report["connections"])
    return Exit.DONE if well else Exit.FAILED


def _surroundings(env: Mapping[str, str]) -> dict[str, Any]:
    """Versions, files and the terminal: what a report of a problem needs and nobody thinks of."""
    files = {"settings": paths.settings_file(env), "fleet": paths.fleet_file(env), "state": paths.state_dir(env)}
    return {
        "quarterdeck": __version__,
        "python": sys.version.split()[0],
        "platform": sys.platform,
        "encoding": locale.getencoding(),
        "terminal": {key: sanitize(env.get(key, "")) for key in ("TERM", "COLORTERM", "LANG", "NO_COLOR", "TMUX", "SSH_TTY")},
        "files": {name: {"path": str(path), "there": path.exists()} for name, path in files.items()},
    }


def _report(at: Opened, names: tuple[str, ...], outside: Outside) -> dict[str, Any]:
    context = at.context()
    problems = [sanitize(problem) for problem in at.problems]
    if not at.targets:
        problems.append(
            "There is nothing to connect to: no kubeconfig context, no Docker context, no entry in the fleet file. "
            "quarterdeck demo opens the screen over a simulated fleet."
        )
    if at.runtime.journal is None:
        problems.append(f"The journal in {at.state} can't be opened, so nothing can be written to any target.")
    return {
        **_surroundings(outside.env),
        "demo": at.demo,
        "problems": problems,
        "connections": [_connection(at, found, context) for found in at.connections(names)],
    }


def _connection(at: Opened, found: Connection, context: Context) -> dict[str, Any]:
    target = at.runtime.links[found.ref.name].target
    wrong = _unread(at.runtime.store.kind_states(found.ref.name))
    first, second, third = explain(found, context)
    return {
        **documents.connection(found, context),
        "state": connection_views.phase_text(found, context),
        "origin": target.origin,
        "aliases": list(target.aliases),
        "endpoint": mask_text(found.endpoint or target.endpoint),
        "identity": found.identity,
        "latency_ms": round(found.latency * 1000, 1) or None,
        "attempts": found.attempts,
        "sentences": [first, second, third],
        "missing": [documents.missing(state) for state in wrong],
        "next": "" if found.hint else _NEXT.get(found.phase, ""),
        "mark": glyphs.GLYPHS[found.phase.health],
    }


def _text(report: Mapping[str, Any], width: int) -> str:
    lines = [f"quarterdeck {report['quarterdeck']}, Python {report['python']}, {report['platform']}, {report['encoding']}"]
    lines += [f"  {name:<9} {file['path']}{'' if file['there'] else ' (not there)'}" for name, file in report["files"].items()]
    terminal = ", ".join(f"{key}={value}" for key, value in report["terminal"].items() if value)
    lines.append(f"  terminal  {terminal or 'none'}")
    for problem in report["problems"]:
        lines += ["", f"{glyphs.GLYPHS[Health.WARN]} {problem}"]
    for entry in report["connections"]:
        lines += ["", *_connection_lines(entry)]
    fresh = sum(entry["fresh"] for entry in report["connections"])
    count = len(report["connections"])
    if count:
        lines += ["", f"{fresh} of {formats.counted(count, 'connection')} can be read."]
    return "".join(f"{formats.clipped(line, width) if width else line}\n" for line in lines)


def _connection_lines(entry: Mapping[str, Any]) -> list[str]:
    facts = [", ".join(entry["platforms"]), entry["server"], f"{entry['latency_ms']:.0f} ms" if entry["latency_ms"] else ""]
    lines = [f"{entry['mark']} {entry['name']}  {entry['state']}  {' · '.join(fact for fact in facts if fact)}".rstrip()]
    origin = f" ({entry['origin']})" if entry["origin"] else ""
    lines.append(f"    tried     {entry['endpoint'] or 'nothing yet'}{origin}")
    if entry["aliases"]:
        lines.append(f"    also      {', '.join(entry['aliases'])}")
    if not entry["fresh"] or entry["missing"]:
        lines += [f"    {text}" for text in entry["sentences"]]
    lines += [f"    {gap['state']:<9} {gap['kind']}{': ' + gap['detail'] if gap['detail'] else ''}" for gap in entry["missing"]]
    if entry["next"]:
        lines.append(f"    do        {entry['next']}")
    return [sanitize(line) for line in lines]


def _unread(states: tuple[KindState, ...]) -> tuple[KindState, ...]:
    return tuple(state for state in states if state.state in _WRONG_KINDS)
