"""One registry of actions: keys, help, footer and documentation can't say different things."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.model.refs import Ref
from console.ui.actions import GROUPS, Registry, Situation, normal_key, show_key
from console.ui.app import ConsoleApp
from console.ui.catalogue import ACTIONS
from console.ui.keys_doc import keys_markdown
from tests.ui.stand_in import StandIn

STACK = Ref("swarm-a", "Stack", "", "shop", "shop")


def test_the_document_of_keys_is_what_the_registry_says() -> None:
    written = Path(__file__).parents[2] / "docs" / "keys.md"
    assert written.read_text(encoding="utf-8") == keys_markdown(), "run: python -m console.ui.keys_doc > docs/keys.md"


def test_no_two_actions_share_a_key() -> None:
    assert Registry(ACTIONS).problems == ()


def test_every_action_is_in_a_known_group_and_says_what_it_does() -> None:
    for action in ACTIONS:
        assert action.group in GROUPS
        assert action.description.endswith(".")
        assert action.keys


def test_what_can_lead_to_a_write_has_no_lower_case_letter_of_its_own() -> None:
    for action in ACTIONS:
        if action.verbs:
            assert action.dangerous
            assert all(key.isupper() for key in action.keys), action.id


async def test_every_action_does_something() -> None:
    app = ConsoleApp(StandIn())
    assert {action.id for action in ACTIONS} <= app._handlers.keys()


def test_an_action_can_be_given_another_key() -> None:
    registry = Registry(ACTIONS, {"change.undo": "ctrl+u"})
    assert registry["change.undo"].keys == ("ctrl+u",)
    assert registry.problems == ()


def test_all_keys_of_an_action_can_be_taken_away() -> None:
    registry = Registry(ACTIONS, {"change.sweep": ""})
    assert registry["change.sweep"].keys == ()
    assert registry.key("change.sweep") == ""


def test_a_key_that_already_has_a_meaning_is_taken_over_and_the_loser_is_named() -> None:
    registry = Registry(ACTIONS, {"change.undo": "d"})
    assert registry["change.undo"].keys == ("d",)
    assert registry["look.describe"].keys == ()
    assert registry.problems == ("keys: d now means change.undo; look.describe has lost it",)


def test_two_wishes_for_one_key_are_named_and_only_one_is_granted() -> None:
    registry = Registry(ACTIONS, {"change.undo": "ctrl+x", "change.sweep": "ctrl+x"})
    assert [action.id for action in registry.all() if "ctrl+x" in action.keys] == ["change.sweep"]
    assert "wanted by both" in registry.problems[0]


def test_an_unknown_action_is_named() -> None:
    assert Registry(ACTIONS, {"change.everything": "x"}).problems == ("keys: there is no action 'change.everything'",)


@pytest.mark.parametrize(("typed", "name"), [("/", "slash"), ("shift+a", "A"), ("ctrl+p", "ctrl+p"), ("?", "question_mark")])
def test_keys_can_be_written_as_people_do(typed: str, name: str) -> None:
    assert normal_key(typed) == name


def test_keys_are_shown_as_people_write_them() -> None:
    assert [show_key(key) for key in ("slash", "ctrl+p", "enter", "A")] == ["/", "^p", "⏎", "A"]


def test_a_change_is_impossible_without_the_verb_and_says_why() -> None:
    apply = Registry(ACTIONS)["change.apply"]
    assert apply.possible(Situation(subjects=(STACK,), verbs=frozenset({"deploy"}))) == ""
    assert "can't be done with a Stack" in apply.possible(Situation(subjects=(STACK,)))
    assert apply.possible(Situation()) == "There is no row to do this with."


def test_nothing_can_be_changed_in_a_read_only_console_or_on_stale_data() -> None:
    apply = Registry(ACTIONS)["change.apply"]
    verbs = frozenset({"apply"})
    assert "only reads" in apply.possible(Situation(subjects=(STACK,), verbs=verbs, read_only=True))
    assert "isn't live" in apply.possible(Situation(subjects=(STACK,), verbs=verbs, fresh=False))


def test_marked_objects_of_two_targets_make_no_common_plan() -> None:
    apply = Registry(ACTIONS)["change.apply"]
    other = Ref("swarm-b", "Stack", "", "shop", "shop")
    assert "one target" in apply.possible(Situation(subjects=(STACK, other), verbs=frozenset({"apply"}))).lower()


def test_the_footer_keeps_what_is_most_useful_when_it_is_narrow() -> None:
    registry = Registry(ACTIONS)
    shown = [action.id for action in registry.footer(60, lambda action: len(action.footer) + 5)]
    assert {"open", "filter", "command", "help"} <= set(shown)
    assert len(shown) < len(registry.footer(400, lambda action: len(action.footer) + 5))
