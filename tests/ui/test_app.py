"""The app as a whole: themes, palette, colours switched off, names that belong to Textual."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import textual
from rich.color import Color as RichColor
from textual.command import CommandPalette

from console.ui.app import ConsoleApp
from console.ui.themes import packaged_folder
from tests.ui.screen import shown
from tests.ui.stand_in import StandIn

UI = Path(__file__).parents[2] / "console" / "ui"


def test_no_private_attribute_of_textual_is_used_or_overwritten() -> None:
    """A name of ours that Textual also has would break it silently; a name of Textual's breaks with the next version."""
    folder = Path(textual.__file__).parent
    sources = ["app.py", "screen.py", "widget.py", "dom.py", "message_pump.py", "scroll_view.py", "driver.py"]
    sources += ["containers.py", "drivers/linux_driver.py", "widgets/_input.py", "command.py"]
    theirs: set[str] = set()
    for name in sources:
        for pair in re.findall(r"self\.(_[a-z]\w*)|def (_[a-z]\w*)", (folder / name).read_text()):
            theirs |= set(pair)
    for path in UI.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and _is_textual(node):
                used = {item.attr for item in ast.walk(node) if isinstance(item, ast.Attribute) and item.attr.startswith("_")}
                assert not (used & theirs), (path.name, node.name, used & theirs)


def _is_textual(node: ast.ClassDef) -> bool:
    bases = {base.value.id if isinstance(base, ast.Subscript) else base.id for base in node.bases if _named(base)}  # type: ignore[attr-defined]
    ours = {"LineView", "TextPane", "ResourceTable", "Toned"}
    known = {
        "App",
        "Screen",
        "ModalScreen",
        "Widget",
        "ScrollView",
        "Vertical",
        "Horizontal",
        "Input",
        "Provider",
        "LinuxDriver",
    }
    return bool(bases & (known | ours))


def _named(base: ast.expr) -> bool:
    return isinstance(base, ast.Name) or (isinstance(base, ast.Subscript) and isinstance(base.value, ast.Name))


async def test_a_theme_is_chosen_by_command_and_remembered(tmp_path: Path) -> None:
    async with shown(state=tmp_path / "screen.json") as screen:
        await screen.press("colon")
        await screen.enter("theme nord")
        await screen.press("enter")
        assert screen.app.theme == "nord"
    assert ConsoleApp(StandIn(), state=tmp_path / "screen.json").theme == "nord"


async def test_every_theme_can_be_shown() -> None:
    async with shown(80, 24) as screen:
        for name in screen.app.theme_titles:
            screen.app.theme = name
            await screen.pilot.pause()
            assert screen.app.export_screenshot()


async def test_a_theme_file_of_the_operator_is_taken_in_while_the_console_runs(tmp_path: Path) -> None:
    async with shown(theme_folder=tmp_path) as screen:
        text = (packaged_folder() / "nord.toml").read_text().replace('name = "nord"', 'name = "mine"')
        (tmp_path / "mine.toml").write_text(text)
        screen.app._check_themes()
        assert "mine" in screen.app.theme_titles
        (tmp_path / "broken.toml").write_text("dark = 1")
        screen.app._check_themes()
        assert "Theme broken.toml" in screen.message
        assert "mine" in screen.app.theme_titles


async def test_an_unknown_theme_is_named_and_the_default_is_shown() -> None:
    async with shown(theme="sparkle") as screen:
        await screen.pilot.pause()
        assert screen.app.theme == "quarterdeck-dark"
        assert "no theme 'sparkle'" in screen.message


async def test_without_colour_health_is_still_a_shape_and_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with shown() as screen:
        text = screen.lines()
        assert "■" in text
        assert "degraded" in text
        colours = set(re.findall(r"#[0-9a-f]{6}", screen.app.export_screenshot()))
        grey = [colour for colour in colours if len(set(RichColor.parse(colour).get_truecolor())) == 1]
        assert len(grey) >= len(colours) - 6, "only the picture's own window buttons are coloured"


async def test_the_palette_finds_views_targets_and_actions() -> None:
    async with shown() as screen:
        await screen.press("ctrl+p")
        assert isinstance(screen.app.screen, CommandPalette)
        titles = [title for title, _, _ in screen.app.palette_entries()]
        assert "Go to stacks" in titles
        assert "Only prod-eu" in titles
        assert "Roll back  (B)" in titles
        await screen.press("escape")
        assert screen.on_main


async def test_help_lists_every_key_and_closes() -> None:
    async with shown() as screen:
        await screen.press("question_mark")
        text = screen.text("#steps")
        for action in screen.app.registry.all():
            assert action.description in text
        await screen.press("escape")
        assert screen.on_main


async def test_an_own_key_works_and_a_clash_is_named_at_start() -> None:
    async with shown(keys={"view.stacks": "f4", "help": "d"}) as screen:
        assert "d now means help; look.describe has lost it" in screen.message
        await screen.press("f4")
        assert screen.app.main.place.table == "stacks"
        await screen.press("4")
        assert screen.app.main.place.table == "stacks"


async def test_a_click_on_a_view_goes_there() -> None:
    async with shown() as screen:
        await screen.pilot.click("#views", offset=(screen.bar("views").index("Stacks") + 1, 0))
        await screen.pilot.pause()
        assert screen.app.main.place.table == "stacks"


async def test_dropped_frames_switch_to_few_updates_and_paint_the_present() -> None:
    async with shown() as screen:
        screen.app.repaint_all()
        await screen.pilot.pause()
        assert screen.app.main.low_bandwidth


async def test_every_clash_of_keys_is_named_at_the_start() -> None:
    async with shown(120, 24, keys={"nope.nope": "x", "change.undo": "d"}) as screen:
        await screen.until(lambda: "nope.nope" in screen.message)
        assert "d now means change.undo" in screen.message and "more" not in screen.message


async def test_a_clock_that_strikes_while_the_screen_is_taken_apart_harms_nothing() -> None:
    async with shown() as screen:
        main = screen.app.main
        await main.query("#title, #body, #bottom").remove()
        main.tick()
        main.refresh_footer()
        assert not main.query("#list")
