"""What is typed after ``:`` goes where it says."""

from __future__ import annotations

import pytest

from console.ui.command_line import Do, Go, World, Wrong, complete, minutes, parse
from console.ui.place import History, Place, same_place

WORLD = World(
    targets=("prod-eu", "prod-us", "swarm-a"),
    groups=("edge", "prod"),
    namespaces=("shop", "pay"),
    stacks=("shop", "billing"),
    themes=("nord", "gruvbox"),
    columns=("name", "age"),
    verbs=("apply", "restart"),
)
HERE = Place(table="triggers", target="prod-eu", filter="web")


def place(line: str) -> Place:
    parsed = parse(line, HERE, WORLD)
    assert isinstance(parsed, Go), parsed
    return parsed.place


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("pods", Place(table="pods", target="prod-eu")),
        (":stacks swarm-a", Place(table="stacks", target="swarm-a")),
        ("triggers prod", Place(table="triggers", target="prod")),
        ("pods shop", Place(table="pods", target="prod-eu", namespace="shop")),
        ("pods pay prod-us /core -l app=x", Place(table="pods", target="prod-us", namespace="pay", filter="core -l app=x")),
        ("pods swarm", Place(table="pods", target="swarm-a")),
        ("ns pay", Place(table="triggers", target="prod-eu", namespace="pay", filter="web")),
        ("ctx prod-us", Place(table="triggers", target="prod-us", filter="web")),
        ("ctx all", Place(table="triggers", filter="web")),
        ("ns all", Place(table="triggers", target="prod-eu", filter="web")),
        ("pods all", Place(table="pods", target="prod-eu")),
        ("ctx", Place(table="connections")),
        ("stack shop", Place(table="swarmservices", target="prod-eu", owner="shop")),
        ("all", Place(table="triggers")),
    ],
)
def test_a_line_names_a_place(line: str, wanted: Place) -> None:
    assert place(line) == wanted


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("podz", "Did you mean :pod"),
        ("ctx nowhere", "There is no target or group 'nowhere'"),
        ("pods @nowhere", "There is no target or group"),
        ("", "Type the name"),
    ],
)
def test_a_line_that_means_nothing_says_the_way_out(line: str, why: str) -> None:
    parsed = parse(line, HERE, WORLD)
    assert isinstance(parsed, Wrong)
    assert why in parsed.why


def test_other_commands_keep_their_words() -> None:
    assert parse("write prod-eu 15m", HERE, WORLD) == Do("write", ("prod-eu", "15m"))
    assert parse("q", HERE, WORLD) == Do("quit")


def test_completion_knows_views_commands_and_names() -> None:
    assert complete("tri", WORLD)[0] == "triggers"
    assert complete("ctx p", WORLD) == ("ctx prod-eu", "ctx prod-us", "ctx prod")
    assert complete("theme ", WORLD) == ("theme nord", "theme gruvbox")
    assert complete("sort -a", WORLD) == ("sort -age",)
    assert complete("pods sh", WORLD) == ("pods shop",)
    assert complete("nothing x", WORLD) == ()


def test_times_are_minutes() -> None:
    assert [minutes(text) for text in ("15m", "1h", "20")] == [15, 60, 20]
    with pytest.raises(ValueError, match="soon"):
        minutes("soon")


def test_history_goes_back_and_forth_and_forgets_what_lay_ahead() -> None:
    one, two, three = (Place(table=name) for name in ("bridge", "stacks", "pods"))
    history = History(one)
    history.go(two)
    assert history.back() == one
    assert history.forward() == two
    history.back()
    history.go(three)
    assert history.forward() == three, "nothing lies ahead any more"
    assert history.back() == one
    assert history.back() == one


def test_only_another_cursor_is_no_other_place() -> None:
    assert same_place(Place(), Place(cursor=None))
    history = History(Place())
    history.go(Place())
    assert not history.can_back


def test_a_scope_is_widened_step_by_step() -> None:
    wider = Place(table="pods", target="prod-eu", namespace="shop").wider()
    assert wider == Place(table="pods", target="prod-eu")


def test_the_widest_scope_is_the_end() -> None:
    assert Place(table="pods", target="prod-eu").wider() == Place(table="pods")
    assert Place(table="pods").wider() is None
