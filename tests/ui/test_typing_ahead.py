"""Over a slow line keys arrive in bursts: those after the one that opens the line at the bottom belong in that line."""

from __future__ import annotations

import pytest
from textual import events

from tests.ui.screen import Shown
from tests.ui.screen import shown as console

_NAMES = {":": "colon", "/": "slash", "\r": "enter", " ": "space"}


def _burst(shown: Shown, text: str) -> None:
    for character in text:
        shown.app.post_message(events.Key(_NAMES.get(character, character), character))


@pytest.mark.parametrize(("burst", "table"), [(":pods\r", "pods"), (":stacks\r", "stacks")])
async def test_a_command_that_arrives_in_one_go_is_run_as_it_was_typed(burst: str, table: str) -> None:
    async with console() as shown:
        _burst(shown, burst)
        await shown.until(lambda: shown.app.main.place.table == table)
        assert shown.on_main
        assert shown.app.main.detail.active is None or not shown.app.main.detail.display


async def test_a_filter_that_arrives_in_one_go_filters_and_opens_no_plan() -> None:
    async with console() as shown:
        _burst(shown, "/RHU\r")
        await shown.until(lambda: shown.app.main.place.filter == "RHU" and not shown.app.main.prompt.mode)
        assert shown.on_main


async def test_the_keys_that_open_the_line_can_be_changed_and_taken_away() -> None:
    async with console(keys={"command": "f6", "filter": ""}) as shown:
        await shown.press("colon", "slash")
        assert not shown.app.main.prompt.mode
        await shown.press("f6")
        await shown.until(lambda: shown.app.main.prompt.mode == "command")
        await shown.press("f6", "colon", "slash")
        await shown.until(lambda: shown.app.main.prompt.input.value == ":/")
