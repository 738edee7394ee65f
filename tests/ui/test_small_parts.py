"""Clipboard, memory, sparklines, wrapping, the bridge from store to screen."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest

from console.model.refs import Ref
from console.model.resource import Upserted
from console.runtime.store import Store
from console.ui.bridge import StoreBridge
from console.ui.clipboard import MOST, osc52
from console.ui.memory import Memory
from console.ui.spark import spark
from console.ui.text import Part, line, wrap
from tests.ui.samples import stack


def test_copying_sends_the_text_to_the_terminal() -> None:
    assert osc52("shop/web", {"TERM": "xterm-256color"}) == f"\x1b]52;c;{base64.b64encode(b'shop/web').decode()}\x07"


def test_tmux_and_screen_let_the_copy_through() -> None:
    assert osc52("x", {"TERM": "tmux-256color", "TMUX": "/tmp/t,1,0"}).startswith("\x1bPtmux;\x1b\x1b]52;c;")
    wrapped = osc52("x" * 300, {"TERM": "screen-256color"})
    assert wrapped.startswith("\x1bP\x1b]52;c;")
    assert all(len(piece) <= 78 for piece in wrapped.split("\x1b\\"))


def test_too_much_to_copy_is_said_and_not_sent() -> None:
    with pytest.raises(ValueError, match="Too long to copy"):
        osc52("x" * MOST, {"TERM": "xterm"})
    with pytest.raises(ValueError, match="no clipboard"):
        osc52("x", {"TERM": "linux"})


def test_filters_and_commands_are_remembered_between_runs(tmp_path: Path) -> None:
    path = tmp_path / "state" / "screen.json"
    memory = Memory(path)
    memory.keep_filter("mine", "-l team=shop")
    memory.add_command("pods")
    memory.add_command("stacks")
    memory.add_command("pods")
    again = Memory(path)
    assert again.now.filters == {"mine": "-l team=shop"}
    assert again.now.commands == ["stacks", "pods"]
    assert [entry.name for entry in path.parent.iterdir()] == ["screen.json"]


def test_a_broken_memory_is_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "screen.json"
    path.write_text("{")
    assert Memory(path).now.filters == {}


def test_a_trend_is_drawn_in_its_width() -> None:
    assert spark([0, 5, 10], 5) == "··▁▅█"
    assert spark([1, 2, 3], 2) == "▆█"
    assert spark([], 3) == "···"
    assert spark([0, 0], 2) == "▁▁"
    assert spark([1], 1, top=8) == "▂"


def test_long_lines_are_broken_between_words_and_indented() -> None:
    source = line(Part("  "), Part("one two three four five"), indent=2)
    assert ["".join(part.text for part in piece) for piece in wrap(source, 12)] == ["  one two ", "  three four ", "  five"]


def test_a_word_longer_than_the_line_is_cut() -> None:
    pieces = ["".join(part.text for part in piece) for piece in wrap(line("abcdefghijkl"), 5)]
    assert pieces == ["abcde", "fghij", "kl"]


@pytest.mark.looptime
async def test_a_single_change_is_shown_at_once_and_a_storm_in_batches() -> None:
    store = Store()
    batches: list[frozenset[Ref]] = []
    bridge = StoreBridge(store, batches.append)
    bridge.watch({"Stack"})
    await asyncio.sleep(1)
    store.apply(Upserted(stack("first")))
    await asyncio.sleep(0.001)
    assert len(batches) == 1
    for number in range(100):
        store.apply(Upserted(stack(f"s{number}")))
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    bridge.close()
    assert 15 <= len(batches) <= 23
    assert len(frozenset().union(*batches)) == 101


@pytest.mark.looptime
async def test_a_slow_line_gets_five_batches_a_second() -> None:
    store = Store()
    batches: list[frozenset[Ref]] = []
    bridge = StoreBridge(store, batches.append)
    bridge.flushes_per_second = 5
    bridge.watch({"Stack"})
    await asyncio.sleep(1)
    for number in range(200):
        store.apply(Upserted(stack(f"s{number}")))
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.3)
    bridge.close()
    assert 9 <= len(batches) <= 12


@pytest.mark.looptime
async def test_another_place_hears_nothing_of_the_former_one() -> None:
    store = Store()
    heard: list[frozenset[Ref]] = []
    bridge = StoreBridge(store, heard.append)
    bridge.watch({"Stack"})
    store.apply(Upserted(stack("a")))
    bridge.watch({"Pod"})
    await asyncio.sleep(1)
    bridge.close()
    assert heard == []
