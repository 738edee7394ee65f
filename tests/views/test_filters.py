from __future__ import annotations

from types import MappingProxyType

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.views.cells import row_cells
from console.views.filters import parse
from console.views.triggers import TRIGGERS
from tests.views import samples
from tests.views.samples import CONTEXT

LABELLED = msgspec.structs.replace(samples.trigger("web"), labels=MappingProxyType({"app": "web", "tier": "front"}))


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("", True),
        ("web", True),
        ("WEB", True),
        ("shop main", True),
        ("nothing", False),
        ("!nothing", True),
        ("!web", False),
        ("web !cart", True),
        ("-l app=web", True),
        ("-l app==web,tier=front", True),
        ("-l app=api", False),
        ("-l app!=api", True),
        ("-l tier", True),
        ("-l zone", False),
        ("-l app=web cart", False),
        ("~swb", True),
        ("~bws", False),
        ('"applied main"', True),
        ('"main applied"', False),
        ("!", True),
        ("prod-eu", True),
        ("kustomization", True),
    ],
)
def test_a_filter_line_keeps_what_it_says(line: str, kept: bool) -> None:
    cells = row_cells(TRIGGERS.columns, LABELLED, CONTEXT)
    assert parse(line).keeps(LABELLED, cells) is kept


def test_problems_only_hides_what_is_well() -> None:
    problems = parse("", problems_only=True)
    assert problems and not parse("")
    assert problems.keeps(samples.FAILED_TRIGGER)
    assert not problems.keeps(LABELLED)


def test_half_typed_labels_hide_nothing_and_are_named() -> None:
    assert parse("-l").problem == "-l wants key=value"
    assert parse("-l").keeps(LABELLED)
    assert parse("-l =web").problem == "=web is no label: key=value, key!=value or key"
    assert parse("-l app=web").problem == ""


@settings(deadline=None, derandomize=True)
@given(st.text(max_size=40))
def test_any_input_is_a_filter(line: str) -> None:
    parse(line).keeps(LABELLED)


@pytest.mark.parametrize(
    ("new", "old", "narrows"),
    [
        ("web", "", True),
        ("web", "we", True),
        ("web shop", "web", True),
        ("~wbs", "~wb", True),
        ("-l app=web x", "-l app=web", True),
        ("we", "web", False),
        ("", "w", False),
        ("!we", "!web", False),
        ("!web", "!we", False),
        ("web", "~wb", False),
        ("-l app=web2", "-l app=web", False),
    ],
)
def test_only_a_filter_that_says_more_narrows(new: str, old: str, narrows: bool) -> None:
    assert parse(new).narrows(parse(old)) is narrows


def test_what_needs_attention_narrows_everything_and_not_the_other_way_round() -> None:
    assert parse("web", problems_only=True).narrows(parse("web"))
    assert not parse("web").narrows(parse("web", problems_only=True))
