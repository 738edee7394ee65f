from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import msgspec
import pytest

from console.cli import documents
from console.cli.printing import TablePrinter
from console.model.resource import KindState
from console.views import formats, tables
from console.views.cells import Table
from tests.views import samples
from tests.views.samples import ALL, CONTEXT

TRIGGERS = tables.TABLES["triggers"]
ROWS = [samples.FAILED_TRIGGER, samples.trigger("cart")]


def lines(table: Table[Any], rows: list[Any], **how: Any) -> list[str]:
    return TablePrinter(table, CONTEXT, **how).text(rows).splitlines()


def test_in_a_pipe_every_column_is_there_and_nothing_is_cut() -> None:
    heading, first, second = lines(TRIGGERS, ROWS)
    for column in TRIGGERS.columns:
        assert column.wide or column.title in heading
    assert "2 of 3 pods can't pull web:1.44" in first
    assert first.startswith("■  prod-eu  shop") and second.startswith("●  prod-eu  shop")
    assert first.endswith("2m") and not heading.endswith(" ")
    assert "APPLIER" not in heading
    assert "APPLIER" in lines(TRIGGERS, ROWS, wide=True)[0]


def test_columns_start_at_the_same_cell_in_every_line() -> None:
    wide = msgspec.structs.replace(samples.trigger("日本語"), health=samples.FAILED_TRIGGER.health)
    heading, *rows = lines(TRIGGERS, [*ROWS, wide])
    at = formats.display_width(heading[: heading.index("SYNC")])
    for row in rows:
        cells, used = "", 0
        for char in row:
            if used >= at:
                break
            cells += char
            used += formats.display_width(char)
        assert used == at and row[len(cells)] != " "


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 160, 200])
@pytest.mark.parametrize("name", list(tables.TABLES))
def test_on_a_terminal_lines_fit_and_the_name_stays(name: str, width: int) -> None:
    table = tables.TABLES[name]
    rows = [item for item in ALL if item.ref.kind in table.kinds]
    if not rows:
        return
    printed = lines(table, rows, width=width)
    named = table.column("name")
    assert named is not None and named.title in printed[0]
    if width >= 80:
        assert max(formats.display_width(line) for line in printed) <= width


def test_columns_that_say_nothing_are_left_out_on_a_terminal_only() -> None:
    assert "OPERATION" not in lines(TRIGGERS, [samples.trigger("cart")], width=400)[0]
    assert "OPERATION" in lines(TRIGGERS, [samples.trigger("cart")])[0]


def test_colours_are_only_added_when_asked_for() -> None:
    assert not any("\x1b" in line for line in lines(TRIGGERS, ROWS))
    coloured = lines(TRIGGERS, ROWS, colours=True)
    assert "\x1b[31m■\x1b[0m" in coloured[1]


def test_no_rows_print_nothing() -> None:
    assert TablePrinter(TRIGGERS, CONTEXT).text([]) == ""


@pytest.mark.parametrize("width", [0, 80])
def test_a_row_of_a_watch_lines_up_with_the_table_before(width: int) -> None:
    printer = TablePrinter(TRIGGERS, CONTEXT, width=width)
    printed = printer.text(ROWS).splitlines()
    assert printer.row(ROWS[0], CONTEXT).rstrip("\n") == printed[1]
    assert printer.row(ROWS[0], CONTEXT, "(gone)").rstrip("\n").endswith("(gone)")


def test_a_watch_that_began_empty_can_print_its_first_row() -> None:
    printer = TablePrinter(TRIGGERS, CONTEXT, width=80)
    printer.text([])
    assert "cart" in printer.row(samples.trigger("cart"), CONTEXT)


def test_a_document_has_items_connections_and_what_is_missing() -> None:
    gaps = [KindState("edge-1", "Container", "syncing", "unreachable")]
    document = documents.listing("services", [samples.CONTAINER], [samples.GONE, samples.LIVE], gaps, CONTEXT)
    read = json.loads(documents.text(document))
    assert read["items"][0]["id"] == "edge-1:Container/shop-api-1"
    assert read["items"][0]["ref"]["connection"] == "edge-1"
    assert read["items"][0]["health"] == "ok" and read["items"][0]["fresh"] is False
    assert read["items"][0]["started"] == "2026-03-14T11:53:31Z"
    gone, live = read["connections"]
    assert (gone["state"], gone["fresh"], gone["age_seconds"]) == ("unreachable", False, 180.0)
    assert (live["state"], live["fresh"], live["age_seconds"]) == ("live", True, 1.0)
    assert read["missing"] == [{"connection": "edge-1", "kind": "Container", "state": "syncing", "detail": "unreachable"}]


def test_every_kind_makes_a_document() -> None:
    for resource in ALL:
        resource = msgspec.structs.replace(resource, labels=MappingProxyType({"a": "b"}))
        json.loads(documents.text(documents.item(resource, CONTEXT)))


def test_documents_mask_credentials_and_hold_no_raw_control_character() -> None:
    nasty = msgspec.structs.replace(samples.FAILED_TRIGGER, source="https://bob:hunter2@host/x", reason="\x1b[31m\u202e")
    text = documents.text(documents.item(nasty, CONTEXT), line=True)
    assert "hunter2" not in text and text.isascii() and text.count("\n") == 1 and "\x1b" not in text
