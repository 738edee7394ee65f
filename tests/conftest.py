"""What holds for every test: the real servers' fixtures, the order, the reruns, and the form of scenario marks."""

import asyncio
import re
from pathlib import Path

# Its pytest plugin would load this while it writes the last lines of a run. A collection of garbage in the middle of that
# import can break the parser of Python 3.11 ("AST constructor recursion depth mismatch") and with it the whole run.
import hypothesis.internal.observability  # noqa: F401
import pytest

from tests.real import fixtures, requires

REAL_ROOMS = frozenset({"contract", "crash", "e2e", "real"})
"""Folders (or parts of a file's name) whose tests talk to real servers on a busy machine."""

_SCENARIO = re.compile(r"(graph|dispatch|stacks|services):[A-Z]{1,2}[0-9]+[a-z]?")


def pytest_configure(config: pytest.Config) -> None:
    """Offer the real servers to every folder; refuse an unknown name in `QUARTERDECK_REQUIRE` before anything runs."""
    requires.required()
    # Without this the plugin for async tests makes a loop that nobody closes (Python 3.11, before the first test), and its
    # warning comes in the middle of whatever runs when the collector finds it.
    asyncio.set_event_loop(None)
    config.pluginmanager.register(fixtures, "real-servers")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Check scenario marks; run hermetic tests first; let tests of real servers be tried again."""
    for item in items:
        _check_scenarios(item)
    items.sort(key=_talks_to_real_servers)
    for item in items:
        if _talks_to_real_servers(item):
            # A busy machine may break a timeout that is generous on any other; what fails three times is broken.
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=1))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why a test had to be tried again: what passes at the second try is no less worth mending."""
    again = terminalreporter.stats.get("rerun", [])
    if again:
        terminalreporter.section("why tests were tried again")
    for report in again:
        terminalreporter.write_line(f"{report.nodeid} ({report.when})", bold=True)
        terminalreporter.write_line("\n".join(report.longreprtext.splitlines()[-40:]))


def _talks_to_real_servers(item: pytest.Item) -> bool:
    home = Path(__file__).parent
    # Below this folder only: the checkout may lie in any folder, also in one called `real`.
    parts = item.path.relative_to(home).parts if item.path.is_relative_to(home) else ()
    if REAL_ROOMS.intersection(parts) or item.path.stem.endswith("_real"):
        return True
    # Every real server lives in the run's place, so its fixtures all ask for that one.
    return "place" in getattr(item, "fixturenames", ())


def _check_scenarios(item: pytest.Item) -> None:
    for mark in item.iter_markers("scenario"):
        wrong = [name for name in mark.args if not isinstance(name, str) or not _SCENARIO.fullmatch(name)]
        if wrong or mark.kwargs or not mark.args:
            raise pytest.UsageError(f'{item.nodeid}: scenario marks look like scenario("graph:G07"), not {wrong or mark}')
