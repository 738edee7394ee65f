"""What is typed after ``:``, as data: parsed into a place to go or a thing to do, and completed while it is typed.

``:pods shop prod-eu /web`` is a table, then in any order a target (or a group), a namespace, a filter. Other commands stand in
:data:`COMMANDS`. Nothing here touches the screen.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from console.ui.place import Place
from console.views import tables

COMMANDS: dict[str, str] = {
    "ctx": "only this target or group, or all; without a name, the connections",
    "ns": "only this namespace; without a name or with all, every one",
    "stack": "the services of one stack",
    "app": "the containers of one app",
    "all": "no scope and no filter",
    "filter": "use a kept filter",
    "keep": "keep the present filter under a name",
    "forget": "forget a kept filter",
    "sort": "sort by a column; a minus before it turns the order round",
    "theme": "another theme",
    "write": "allow changes to a target for a while: :write prod-eu 15m",
    "read": "forbid changes again",
    "do": "plan a change: :do scale replicas=3",
    "undo": "plan to take back the newest operation on the object",
    "reconnect": "try a connection again at once",
    "accept": "go on with the other cluster, swarm or engine that answers under this name now",
    "low": "fewer screen updates for a slow line: on or off",
    "help": "all keys",
    "quit": "leave",
}
_SHORT = {"q": "quit", "q!": "quit", "context": "ctx", "namespace": "ns", "h": "help", "journal": "operations"}

_ALL = "all"
"""In the place of a name: no narrowing. A target or namespace that is really called so comes first."""


class World(msgspec.Struct, frozen=True, kw_only=True):
    """The names that can be typed now."""

    targets: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()
    apps: tuple[str, ...] = ()
    themes: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()


class Go(msgspec.Struct, frozen=True):
    """Go to this place."""

    place: Place


class Do(msgspec.Struct, frozen=True):
    """Do one of :data:`COMMANDS` with these words."""

    command: str
    words: tuple[str, ...] = ()


class Wrong(msgspec.Struct, frozen=True):
    """The line means nothing; ``why`` is a sentence with the way out."""

    why: str


Parsed = Go | Do | Wrong


def parse(line: str, here: Place, world: World) -> Parsed:
    """What a line means at this place; never raises."""
    word, *words = line.strip().removeprefix(":").split() or [""]
    word = _SHORT.get(word.lower(), word.lower())
    if not word:
        return Wrong("Type the name of a view, or ? for help.")
    if word == "ctx" and not words:
        return Go(Place(table="connections"))
    if word in ("ctx", "ns", "stack", "app", "all"):
        return _scope(word, words, here, world)
    if word in COMMANDS:
        return Do(word, tuple(words))
    table = tables.table(word)
    if table is not None:
        return _table(table.name, words, here, world)
    meant = tables.nearest(word) or _nearest_command(word)
    return Wrong(f"There is no :{word}." + (f" Did you mean :{meant}?" if meant else " Type ? for help."))


def _scope(word: str, words: list[str], here: Place, world: World) -> Parsed:
    if word == "all":
        return Go(Place(table=here.table))
    change: dict[str, object] = {"cursor": None}
    if word == "ns":
        change["namespace"] = _namespace(words[0], world) if words else ""
    elif word == "ctx" and words[0] == _ALL and not find_target(_ALL, world):
        change |= {"target": "", "table": "bridge" if here.table == "connections" else here.table, "owner": ""}
    elif word == "ctx":
        target = find_target(words[0], world)
        if not target:
            return Wrong(_unknown("target or group", words[0], (*world.targets, *world.groups)))
        change |= {"target": target, "table": "bridge" if here.table == "connections" else here.table, "owner": ""}
    else:
        if not words:
            return Go(Place(table="stacks" if word == "stack" else "services", target=here.target))
        change |= {"owner": words[0], "table": "swarmservices" if word == "stack" else "services", "filter": ""}
    return Go(msgspec.structs.replace(here, **change))


def _table(name: str, words: list[str], here: Place, world: World) -> Parsed:
    target, namespace, line = here.target, here.namespace, ""
    for index, word in enumerate(words):
        if word.startswith(("/", "-l", "!", "~")):
            line = " ".join(words[index:]).removeprefix("/")
            break
        known = find_target(word.removeprefix("@"), world)
        if word in world.namespaces and not word.startswith("@"):
            namespace = word
        elif known:
            target = known
        elif word.startswith("@"):
            return Wrong(_unknown("target or group", word[1:], (*world.targets, *world.groups)))
        else:
            namespace = _namespace(word, world)
    return Go(Place(table=name, target=target, namespace=namespace, filter=line))


def _namespace(word: str, world: World) -> str:
    return "" if word == _ALL and word not in world.namespaces else word


def find_target(word: str, world: World) -> str:
    """The target or group that a word names: exactly, or as the only one that begins so; "" if none does."""
    if word in world.targets or word in world.groups:
        return word
    beginning = [name for name in (*world.targets, *world.groups) if name.startswith(word)]
    return beginning[0] if len(beginning) == 1 and word not in ("", _ALL) else ""


def _unknown(what: str, word: str, known: Iterable[str]) -> str:
    names = sorted(set(known))
    return f"There is no {what} {word!r}. Known: {', '.join(names[:8])}{' …' if len(names) > 8 else ''}."


def _nearest_command(word: str) -> str:
    return next((name for name in COMMANDS if name.startswith(word[:2])), "")


def complete(line: str, world: World) -> tuple[str, ...]:
    """Whole lines that the typed one could become, best first."""
    head, space, last = line.rpartition(" ")
    if not space:
        words = (*tables.TABLES, *COMMANDS, *(word for word in tables.words() if word not in tables.TABLES))
        return tuple(dict.fromkeys(word for word in words if word.startswith(last.lower()) and word != last))
    first = head.split(" ", 1)[0].lower()
    choices = _choices(_SHORT.get(first, first), world)
    return tuple(f"{head} {choice}" for choice in dict.fromkeys(choices) if choice.startswith(last) and choice != last)


def _choices(first: str, world: World) -> tuple[str, ...]:
    match first:
        case "ctx":
            return (*world.targets, *world.groups)
        case "write" | "read" | "reconnect" | "accept":
            return world.targets
        case "ns":
            return world.namespaces
        case "stack":
            return world.stacks
        case "app":
            return world.apps
        case "theme":
            return world.themes
        case "filter" | "forget":
            return world.filters
        case "sort":
            return (*world.columns, *(f"-{column}" for column in world.columns))
        case "do":
            return world.verbs
        case "low":
            return ("on", "off")
        case _ if tables.table(first):
            return (*world.targets, *world.groups, *world.namespaces)
        case _:
            return ()


def minutes(text: str) -> float:
    """``15m``, ``1h`` or ``20`` as minutes. Raises ``ValueError``."""
    unit = {"m": 1.0, "h": 60.0, "s": 1 / 60}.get(text[-1:])
    return float(text[:-1]) * unit if unit else float(text)
