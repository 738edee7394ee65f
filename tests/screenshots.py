"""Makes ``screenshots/*.svg`` from the demo fleet: ``python -m tests.screenshots``.

The world stands still at one instant, so that the pictures only change when the console does.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from textual.pilot import Pilot

from console.cli.compose import DEMO_FLEET
from console.config.fleet import parse_fleet
from console.config.settings import Settings
from console.demo.fleet import DemoFleet
from console.model.connections import Phase
from console.runtime.discovery import discover
from console.runtime.runtime import Runtime
from console.ui.app import ConsoleApp

FOLDER = Path(__file__).parent.parent / "screenshots"
NOW = datetime(2026, 3, 2, 2, 14, 7, tzinfo=UTC)
_WAITING = (Phase.IDLE, Phase.CONNECTING)


class Still:
    """A clock that stands."""

    def now(self) -> datetime:
        """The instant of all pictures."""
        return NOW


class Shot(NamedTuple):
    """One picture: its size and theme, and what to press on the way there (``+word`` is typed as one text)."""

    name: str
    size: tuple[int, int]
    theme: str
    keys: tuple[str, ...] = ()


SHOTS = (
    Shot("bridge", (160, 44), "quarterdeck-dark"),
    Shot("bridge-light", (160, 44), "quarterdeck-light"),
    Shot("narrow", (80, 24), "quarterdeck-dark"),
    Shot("triggers", (160, 40), "quarterdeck-dark", ("2",)),
    Shot("operations", (140, 34), "nord", ("3",)),
    Shot("stacks", (140, 36), "gruvbox", ("4",)),
    Shot("services", (140, 36), "catppuccin-mocha", ("5",)),
    Shot("activity", (140, 36), "solarized-light", ("6",)),
    Shot("pods", (140, 36), "dracula", ("colon", "+pods", "enter")),
    Shot("connections", (140, 24), "colour-blind-safe", ("colon", "+ctx", "enter")),
    Shot("plan", (140, 40), "quarterdeck-dark", ("R",)),
    Shot("apply", (160, 40), "quarterdeck-dark", ("2", "slash", "+search-eu", "enter", "A")),
    Shot("change", (160, 40), "quarterdeck-dark", ("2", "equals_sign", "j")),
    Shot("help", (200, 50), "quarterdeck-dark", ("question_mark",)),
    Shot("palette", (120, 36), "tokyo-night", ("ctrl+p",)),
)


async def _press(pilot: Pilot[None], keys: tuple[str, ...]) -> None:
    for key in keys:
        if key.startswith("+"):
            for letter in key[1:]:
                await pilot.press("space" if letter == " " else letter)
        else:
            await pilot.press(key)
        await pilot.pause(0.3)


async def _settled(runtime: Runtime) -> None:
    """Wait until every target is connected or known not to answer, and what it holds is listed."""
    async with asyncio.timeout(60):
        while any(link.phase in _WAITING and link.name != "faro" for link in runtime.links.values()):
            await asyncio.sleep(0.05)
    await runtime.settled({"FluxTrigger", "Kustomization", "Application", "Stack", "Container", "Event", "Pod"}, 30)


async def take(shots: tuple[Shot, ...], keep: Callable[[Shot, str], Awaitable[None]]) -> None:
    """Take these pictures of one fleet; ``keep`` gets each as SVG text."""
    with tempfile.TemporaryDirectory(prefix="quarterdeck-") as state:
        async with DemoFleet(speed=0, now=NOW) as demo:
            fleet = parse_fleet(DEMO_FLEET, Path("demo fleet"))
            targets = discover(demo.write_config(), fleet).targets
            async with Runtime(
                Settings(), fleet, targets, clock=Still(), state=Path(state), commits=demo.repositories
            ) as runtime:
                end = runtime.look({"Pod"})
                await _settled(runtime)
                for shot in shots:
                    app = ConsoleApp(runtime, theme=shot.theme)
                    async with app.run_test(size=shot.size) as pilot:
                        await pilot.pause(0.3)
                        await _press(pilot, shot.keys)
                        await pilot.pause(0.5)
                        await keep(shot, app.export_screenshot(title="quarterdeck"))
                end()


def settle_names(svg: str) -> str:
    """The picture without what differs from run to run: ports that the system chose, and ids that follow from the text."""
    return re.sub(r"terminal-\d+", "terminal", re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:40000", svg))


async def _keep(shot: Shot, svg: str) -> None:
    path = FOLDER / f"{shot.name}.svg"
    path.write_text(settle_names(svg), encoding="utf-8")
    print(path.relative_to(FOLDER.parent))


if __name__ == "__main__":
    chosen = set(sys.argv[1:])
    asyncio.run(take(tuple(shot for shot in SHOTS if not chosen or shot.name in chosen), _keep))
