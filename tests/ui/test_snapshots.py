"""Pictures of the screen, compared with those that were looked at. Write them anew with ``QUARTERDECK_SNAPSHOTS=write``.

The clock stands still and the fleet is always the same, so a picture differs only when the screen does.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from console.model.kubernetes import LogLine
from console.model.operations import Operation
from console.ui.screens import plan as plan_module
from console.ui.screens.apply import ApplyScreen
from console.ui.screens.operation import OperationScreen
from tests.ui.fleet import API, SHOP, WEB, fill
from tests.ui.samples_commits import offer_commits
from tests.ui.samples_operations import ARGO, FLUX
from tests.ui.samples_reports import REPORT
from tests.ui.screen import Shown, shown
from tests.ui.stand_in import NOW, StandIn

FOLDER = Path(__file__).parent / "snapshots"
NARROW, MIDDLE, WIDE = (80, 24), (120, 40), (200, 60)


class Picture(NamedTuple):
    """One picture: the size, the theme, and the keys that lead there."""

    name: str
    size: tuple[int, int]
    theme: str = "quarterdeck-dark"
    keys: tuple[str, ...] = ()


PICTURES = (
    Picture("bridge-narrow", NARROW),
    Picture("bridge-middle", MIDDLE),
    Picture("bridge-wide", WIDE),
    Picture("bridge-light", MIDDLE, "quarterdeck-light"),
    Picture("bridge-ansi", NARROW, "ansi"),
    Picture("detail-narrow", NARROW, keys=("enter",)),
    Picture("detail-middle-light", MIDDLE, "quarterdeck-light", ("enter",)),
    Picture("operation-middle", MIDDLE, keys=("3", "enter")),
    Picture("triggers-wide-light", WIDE, "quarterdeck-light", ("2",)),
    Picture("help-wide", WIDE, keys=("question_mark",)),
    Picture("empty-narrow", NARROW, keys=("4", "slash", "z", "z")),
)


async def compare(screen: Shown, name: str) -> None:
    """Wait until the screen looks as the picture; fails with the new picture beside the old one."""
    path = FOLDER / f"{name}.svg"
    if os.environ.get("QUARTERDECK_SNAPSHOTS") == "write":
        await screen.pilot.pause(2.5)  # longer than a tick: what only settles then must not differ
        path.write_text(screen.app.export_screenshot(title="quarterdeck"), encoding="utf-8")
        return
    expected, found = path.read_text(encoding="utf-8"), ""
    for _ in range(400):
        found = screen.app.export_screenshot(title="quarterdeck")
        if found == expected:
            return
        await screen.pilot.pause(0.05)
    beside = path.with_suffix(".new.svg")
    beside.write_text(found, encoding="utf-8")
    pytest.fail(f"{name} looks different: compare {path} with {beside}", pytrace=False)


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
async def test_the_screen_looks_as_it_did(picture: Picture) -> None:
    async with shown(*picture.size, theme=picture.theme) as screen:
        await screen.press(*picture.keys)
        if screen.app.main.prompt.display:
            screen.app.main.prompt.input.cursor_blink = False
        await compare(screen, picture.name)


@pytest.mark.parametrize("theme", ["quarterdeck-dark", "quarterdeck-light"])
async def test_the_plan_dialog_looks_as_it_did(theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "GRACE", 0.0)
    async with shown(*MIDDLE, theme=theme) as screen:
        screen.table.select(SHOP)
        await screen.press("C")
        await compare(screen, f"plan-{theme}")


async def _reading(screen: Shown, what: str) -> None:
    await screen.until(lambda: what in screen.text("#preview"))


@pytest.mark.parametrize(
    ("name", "size", "theme"),
    [("narrow", NARROW, "quarterdeck-dark"), ("middle", MIDDLE, "quarterdeck-dark"), ("wide-light", WIDE, "quarterdeck-light")],
)
async def test_the_apply_dialog_looks_as_it_did(name: str, size: tuple[int, int], theme: str) -> None:
    def setup(runtime: StandIn) -> None:
        fill(runtime)
        offer_commits(runtime)

    async with shown(*size, setup=setup, theme=theme) as screen:
        await screen.press("A")
        await screen.dialog(ApplyScreen)
        await _reading(screen, "Deployment shop/web")
        await compare(screen, f"apply-{name}")


@pytest.mark.parametrize(
    ("name", "size", "theme"),
    [("narrow", NARROW, "quarterdeck-dark"), ("middle", MIDDLE, "quarterdeck-dark"), ("wide-light", WIDE, "quarterdeck-light")],
)
async def test_a_trigger_looks_as_it_did(name: str, size: tuple[int, int], theme: str) -> None:
    def setup(runtime: StandIn) -> None:
        fill(runtime)
        runtime.reports[WEB] = REPORT

    async with shown(*size, setup=setup, theme=theme) as screen:
        await screen.press("d")
        await screen.until(lambda: "Written and applied" in screen.text())
        await screen.press(*["j"] * (8 if size == NARROW else 0))
        await compare(screen, f"trigger-{name}")


@pytest.mark.parametrize(
    ("name", "size", "theme", "operation"),
    [("flux-narrow", NARROW, "quarterdeck-light", FLUX), ("argo-middle", MIDDLE, "quarterdeck-dark", ARGO)],
)
async def test_a_time_line_looks_as_it_did(name: str, size: tuple[int, int], theme: str, operation: Operation) -> None:
    def setup(runtime: StandIn) -> None:
        fill(runtime)
        runtime.put(operation)

    async with shown(*size, setup=setup, theme=theme) as screen:
        screen.app.push_screen(OperationScreen(screen.runtime, operation.ref))
        await screen.dialog(OperationScreen)
        await compare(screen, f"timeline-{name}")


async def test_a_log_looks_as_it_did() -> None:

    async with shown(*MIDDLE) as screen:
        screen.runtime.log = [
            LogLine("listening on :8080", NOW),
            LogLine("WARN slow query: 412 ms", NOW),
            LogLine("ERROR upstream closed the connection", NOW, stream="stderr"),
            LogLine("connection lost, reconnecting", NOW, stream="note"),
        ]
        screen.table.select(API)
        await screen.press("l", "m")
        await compare(screen, "log-middle")
