"""What can be pressed, as data: one registry feeds bindings, footer, help, palette and ``docs/keys.md``.

An action says itself when it is possible; an impossible one is greyed and, when pressed, answers with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from console.model.refs import Ref

GROUPS = ("Moving", "Looking", "Lists", "Views", "Changing", "Console")


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """What is on the screen now, as far as actions care.

    ``subjects`` is what an action would be about, ``verbs`` what can be planned for the first of them. ``pane`` is the tab of
    the detail pane that is shown ("" if closed).
    """

    view: str = ""
    subjects: tuple[Ref, ...] = ()
    verbs: frozenset[str] = frozenset()
    fresh: bool = True
    armed: bool = False
    read_only: bool = False
    filtered: bool = False
    can_back: bool = False
    can_forward: bool = False
    pane: str = ""
    pane_focused: bool = False
    has_logs: bool = False


Possible = Callable[[Situation], str]
"""Returns "" when the action is possible, else why not, as a sentence."""


def always(_: Situation) -> str:
    """Possible at any time."""
    return ""


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that can be done.

    ``keys`` are Textual's names; ``footer`` is the word in the footer ("" keeps it out), in the order of ``rank``;
    ``dangerous`` marks everything that can lead to a write. ``verbs`` are the intents it plans, by preference.
    """

    id: str
    keys: tuple[str, ...]
    title: str
    description: str
    group: str
    possible: Possible = always
    dangerous: bool = False
    footer: str = ""
    rank: int = 50
    verbs: tuple[str, ...] = ()


class Registry:
    """All actions with the keys that are really theirs, after the operator's own choices.

    :param overrides: action id -> keys, comma-separated; "" takes all keys away.
    """

    def __init__(self, actions: Iterable[Action], overrides: Mapping[str, str] | None = None) -> None:
        defaults = tuple(actions)
        self._by_id = {action.id: action for action in defaults}
        if len(self._by_id) != len(defaults):
            raise ValueError("two actions have the same id")
        self.problems: tuple[str, ...] = ()
        self._apply(overrides or {})

    def _apply(self, overrides: Mapping[str, str]) -> None:
        problems = []
        chosen: dict[str, tuple[str, ...]] = {}
        for name, keys in overrides.items():
            if name in self._by_id:
                chosen[name] = tuple(key for key in (key.strip() for key in keys.split(",")) if key)
            else:
                problems.append(f"keys: there is no action {name!r}")
        owner: dict[str, str] = {}
        for name in sorted(self._by_id, key=lambda name: name not in chosen):
            action = self._by_id[name]
            kept = []
            for key in (normal_key(key) for key in chosen.get(name, action.keys)):
                if key in owner and owner[key] != name:
                    both = name in chosen and owner[key] in chosen
                    problems.append(
                        f"keys: {show_key(key)} is wanted by both {owner[key]} and {name}; {owner[key]} has it"
                        if both
                        else f"keys: {show_key(key)} now means {owner[key]}; {name} has lost it"
                    )
                    continue
                owner[key] = name
                kept.append(key)
            self._by_id[name] = msgspec.structs.replace(action, keys=tuple(kept))
        self.problems = tuple(problems)

    def __getitem__(self, name: str) -> Action:
        return self._by_id[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_id

    def all(self) -> tuple[Action, ...]:
        """Every action, in the order of the catalogue."""
        return tuple(self._by_id.values())

    def key(self, name: str) -> str:
        """The first key of an action as people write it, or "" if it has none."""
        action = self._by_id[name]
        return show_key(action.keys[0]) if action.keys else ""

    def footer(self, room: int, size: Callable[[Action], int]) -> tuple[Action, ...]:
        """The actions of the footer that fit into ``room`` cells: chosen by rank, shown in the order of the catalogue."""
        wanted = sorted((action for action in self.all() if action.footer and action.keys), key=lambda action: action.rank)
        chosen = set()
        for action in wanted:
            room -= size(action)
            if room < 0:
                break
            chosen.add(action.id)
        return tuple(action for action in self.all() if action.id in chosen)


_NAMES = {
    "slash": "/",
    "colon": ":",
    "question_mark": "?",
    "exclamation_mark": "!",
    "equals_sign": "=",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "comma": ",",
    "full_stop": ".",
    "minus": "-",
    "plus": "+",
    "asterisk": "*",
    "tilde": "~",
    "number_sign": "#",
    "less_than_sign": "<",
    "greater_than_sign": ">",
}
_CODES = {sign: name for name, sign in _NAMES.items()}
_WORDS = {
    "enter": "⏎",
    "escape": "Esc",
    "space": "Space",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "tab": "Tab",
    "shift+tab": "⇧Tab",
    "backspace": "⌫",
}


def normal_key(key: str) -> str:
    """A key as Textual names it: ``/`` is ``slash``, ``shift+a`` is ``A``."""
    if key in _CODES:
        return _CODES[key]
    if key.startswith("shift+") and len(key) == 7 and key[6].isalpha():
        return key[6].upper()
    return key


def show_key(key: str) -> str:
    """A key as people write it: ``slash`` is ``/``, ``ctrl+p`` is ``^p``."""
    if key in _NAMES:
        return _NAMES[key]
    if key in _WORDS:
        return _WORDS[key]
    return f"^{show_key(key[5:])}" if key.startswith("ctrl+") else key
