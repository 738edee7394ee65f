"""The order of rows while objects come, change and go."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from console.model.health import Health
from console.model.refs import Ref
from console.model.resource import Resource
from console.ui.widgets.row_order import RowOrder
from console.views.cells import trouble_first
from tests.ui.samples import stack

HEALTHS = st.sampled_from(list(Health))
NAMES = st.sampled_from([f"s{number}" for number in range(30)])


def test_trouble_comes_first_and_names_break_ties() -> None:
    order = RowOrder()
    order.arrange(None, trouble_first)
    order.update([stack("b"), stack("a"), stack("z", Health.BAD)])
    assert [ref.name for ref in order] == ["z", "a", "b"]


def test_sorting_downwards_keeps_the_usual_order_among_equals() -> None:
    order = RowOrder()
    order.replace({row.ref: row for row in (stack("a", Health.BAD), stack("c"), stack("b"))})
    order.arrange(lambda row: row.health.trouble, lambda row: row.ref.name, reverse=True)
    assert [ref.name for ref in order] == ["a", "b", "c"]


def test_the_filter_hides_and_counts() -> None:
    order = RowOrder()
    order.update([stack("a"), stack("b", Health.BAD)])
    order.filter(lambda row: row.health is Health.BAD)
    assert [ref.name for ref in order] == ["b"]
    assert order.hidden == 1


def test_an_object_that_no_longer_passes_the_filter_leaves() -> None:
    order = RowOrder()
    order.update([stack(f"s{number}", Health.BAD) for number in range(100)])
    order.filter(lambda row: row.health is Health.BAD)
    order.update([stack("s7")])
    assert len(order) == 99
    assert order.index(stack("s7").ref) is None


def test_rows_without_the_sorted_value_come_last() -> None:
    order = RowOrder()
    order.update([stack("a", changed=None), stack("b")])
    order.arrange(lambda row: row.changed, lambda row: row.ref.name)
    assert [ref.name for ref in order] == ["b", "a"]


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.tuples(NAMES, HEALTHS), max_size=40),
    st.lists(st.tuples(NAMES, st.one_of(st.none(), HEALTHS)), max_size=60),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_placing_one_by_one_gives_the_same_as_sorting_all(
    start: list[tuple[str, Health]],
    changes: list[tuple[str, Health | None]],
    by_trouble: bool,
    reverse: bool,
    filtered: bool,
) -> None:
    def arranged() -> RowOrder:
        order = RowOrder()
        order.arrange((lambda row: row.health.trouble) if by_trouble else None, lambda row: row.ref.name, reverse=reverse)
        order.filter((lambda row: row.health is not Health.OK) if filtered else None)
        return order

    filler = {row.ref: row for row in (stack(f"filler-{number}", Health.WARN) for number in range(70))}
    living, expected = arranged(), arranged()
    living.replace(filler | {stack(name, health).ref: stack(name, health) for name, health in start})
    for name, health in changes:
        if health is None:
            living.update([], [stack(name).ref])
        else:
            living.update([stack(name, health)])
    expected.replace(living.objects)
    assert list(living) == list(expected)
    for index, ref in enumerate(expected):
        assert living.index(ref) == index
        assert living.at(index) == ref
    assert living.index(Ref("x", "Stack", "", "nowhere")) is None


def test_a_filter_that_shows_few_is_asked_only_about_what_changed() -> None:
    order, asked = RowOrder(), list[str]()

    def keep(row: Resource) -> bool:
        asked.append(row.ref.name)
        return row.ref.name == "s7"

    order.replace({row.ref: row for row in map(stack, (f"s{number}" for number in range(500)))})
    order.filter(keep)
    asked.clear()
    order.update([stack("s7", Health.BAD), stack("s8", Health.BAD)])
    assert asked == ["s7", "s8"]
    assert [ref.name for ref in order] == ["s7"]


@settings(derandomize=True, deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=30), st.text("s123", max_size=2), st.text("s123", min_size=1, max_size=2))
def test_a_narrower_filter_gives_the_same_as_a_new_one(names: list[str], first: str, more: str) -> None:
    narrowed, anew = RowOrder(), RowOrder()
    for order in (narrowed, anew):
        order.replace({row.ref: row for row in map(stack, names)})
    narrowed.filter(lambda row: first in row.ref.name)
    narrowed.filter(lambda row: first + more in row.ref.name, narrower=True)
    anew.filter(lambda row: first + more in row.ref.name)
    assert list(narrowed) == list(anew)
    row = stack(names[0], Health.BAD)
    for order in (narrowed, anew):
        order.update([row])
        order.filter(None)
    assert list(narrowed) == list(anew)
