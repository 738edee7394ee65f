"""``fleet.yaml``: names, groups and protection for what the console connects to.

Targets are found in kubeconfigs and Docker contexts without this file; it gives them the names people say, puts them in groups,
and says which are protected. An entry picks one found target, or names an endpoint that is found nowhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from msgspec import Meta

from console.config.checking import check
from console.config.located import Located, read_yaml
from console.config.problems import ConfigProblems, Problem, nearest
from console.config.settings import Section
from console.config.triggers import TriggerEntry, twice
from console.errors import ConfigError

_A_NAME = "a name without spaces, “/” and “:”, of at most 63 characters"
_A_COLOUR = "red, orange, yellow, green, cyan, blue, magenta, grey or #rrggbb"
Name = Annotated[str, Meta(pattern=r"^[^\s/:]+$", max_length=63, extra={"means": _A_NAME})]
Text = Annotated[str, Meta(min_length=1)]
Colour = Annotated[
    str, Meta(pattern=r"^(red|orange|yellow|green|cyan|blue|magenta|grey|#[0-9a-fA-F]{6})$", extra={"means": _A_COLOUR})
]
Taken = dict[tuple[str, str, str], Located]
"""Who used a name or a target first, by (key, value, kubeconfig)."""
SCHEMES = ("unix", "tcp", "http", "https", "ssh")


class Group(Section, frozen=True, kw_only=True):
    """What all connections of a group have in common; a connection's own word wins."""

    colour: Colour | None = None
    """Tints the name. None, because colour should mean something to those who choose it."""

    protected: bool = False
    """Whether its targets need a typed name before a write. Off, since only people know what is production."""

    read_only: bool = False
    """Whether nothing can be written to its targets from here at all, not even after arming."""


class Entry(Section, frozen=True, kw_only=True):
    """One connection. Exactly one of ``kubernetes``, ``docker`` and ``endpoint`` says what it connects to."""

    name: Name
    """What it is called everywhere: on the screen, in commands, in the journal. Unique."""

    kubernetes: Text | None = None
    """A context of the kubeconfig."""

    docker: Text | None = None
    """A Docker context; a swarm manager shows its swarm as well as its own containers."""

    endpoint: Text | None = None
    """A Docker endpoint without a context: ``unix:///run/docker.sock``, ``ssh://ops@host`` or ``tcp://host:2376``."""

    kubeconfig: Text | None = None
    """The kubeconfig that holds the context. None: the usual ones (``KUBECONFIG``, ``~/.kube/config``)."""

    namespaces: tuple[Text, ...] = ()
    """Read only these namespaces, for credentials that may not list a whole cluster. Empty: all."""

    group: Name | None = None
    """A heading to sort under, and whose colour and protection it takes over."""

    colour: Colour | None = None
    """Overrides the group's."""

    protected: bool | None = None
    """Overrides the group's. A protected target tints the frame and asks for its name before a write."""

    read_only: bool | None = None
    """Overrides the group's. Nothing can be written from here, not even after arming."""

    insecure: bool = False
    """Don't verify the server's certificate. Off; a warning stays on the screen while it is on."""

    certificates: Text | None = None
    """For a ``tcp`` endpoint: a folder with ``ca.pem``, ``cert.pem`` and ``key.pem``."""

    labels: dict[str, str] = {}
    """Your own labels of the connection, to find it by in the list of connections (``-l region=eu``)."""


class Fleet(Section, frozen=True, kw_only=True):
    """The whole of ``fleet.yaml``. An empty or absent file means: everything that is found, unprotected."""

    discover: Literal["all", "listed"] = "all"
    """``all`` shows found targets that no entry names, too; ``listed`` only entries. All, since a first start should work
    without this file."""

    groups: dict[str, Group] = {}
    """Groups by name. When there are any, an entry's group must be one of them."""

    connections: tuple[Entry, ...] = ()
    """The entries, in the order in which they are shown among equals."""

    triggers: tuple[TriggerEntry, ...] = ()
    """Appliers that this console may drive itself, on clusters that have no trigger resources."""

    def entry(self, name: str) -> Entry | None:
        """The entry of this name."""
        return next((entry for entry in self.connections if entry.name == name), None)

    def entry_of(self, *, kubernetes: str = "", docker: str = "") -> Entry | None:
        """The entry that names this kubeconfig context or Docker context."""
        for entry in self.connections:
            if (kubernetes and entry.kubernetes == kubernetes) or (docker and entry.docker == docker):
                return entry
        return None

    def protected(self, entry: Entry) -> bool:
        """Whether an entry is protected, by itself or by its group."""
        return self._group(entry).protected if entry.protected is None else entry.protected

    def read_only(self, entry: Entry) -> bool:
        """Whether an entry is read-only for ever, by itself or by its group."""
        return self._group(entry).read_only if entry.read_only is None else entry.read_only

    def colour(self, entry: Entry) -> str:
        """An entry's colour, its own or its group's, or ""."""
        return entry.colour or self._group(entry).colour or ""

    def _group(self, entry: Entry) -> Group:
        return self.groups.get(entry.group or "", Group())


def parse_fleet(text: str, path: Path) -> Fleet:
    """The fleet from the text of a file.

    :raises ConfigProblems: with everything that is wrong in it.
    """
    tree, problems = read_yaml(text, str(path))
    fleet, found = check(tree, Fleet, str(path))
    problems += found
    problems += _cross_check(tree, str(path))
    if fleet is not None and (again := twice(fleet.triggers)):
        problems.append(Problem(str(path), tree.key_lines.get("triggers", tree.line), ("triggers",), again))
    if fleet is None or problems:
        raise ConfigProblems(path, problems)
    return fleet


def load_fleet(path: Path, *, required: bool = False) -> Fleet:
    """The fleet of a file; an empty one when there is none and none was asked for by name.

    :raises ConfigError: it can't be read or holds anything wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        if required:
            raise ConfigError(f"There is no fleet file {path}.") from error
        return Fleet()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can't be read: {error}.") from error
    return parse_fleet(text, path)


def _cross_check(tree: Located, path: str) -> list[Problem]:
    """What no type can say: unique names and targets, exactly one target an entry, known groups, usable endpoints.

    Works on the tree, so that it finds these together with wrong types elsewhere in the file.
    """
    entries = _of(tree, "connections", list) or []
    groups = _of(tree, "groups", dict)
    problems: list[Problem] = []
    taken: Taken = {}
    for index, entry in enumerate(entries):
        if not isinstance(entry.value, dict):
            continue
        problems += _cross_check_entry(entry, index, path, taken)
        group = _text(entry, "group")
        if group and groups is not None and group not in groups:
            at = entry.key_lines["group"]
            problems.append(
                Problem(path, at, ("connections", index, "group"), f"“{group}” is not in groups", nearest(group, groups))
            )
    return problems


def _cross_check_entry(entry: Located, index: int, path: str, taken: Taken) -> list[Problem]:
    problems: list[Problem] = []
    key = ("connections", index)

    def problem(name: str, message: str, meant: str = "") -> None:
        problems.append(Problem(path, entry.key_lines.get(name, entry.line), (*key, name) if name else key, message, meant))

    name = _text(entry, "name")
    if name and (other := taken.setdefault(("name", name, ""), entry)) is not entry:
        problem("name", f"“{name}” is taken by the connection in line {other.key_lines['name']}")
    given = [kind for kind in ("kubernetes", "docker", "endpoint") if kind in entry.value]
    if len(given) != 1:
        told = "names no target" if not given else f"names {len(given)} targets ({', '.join(given)})"
        problem("", f"{told}: give exactly one of kubernetes, docker, endpoint")
    for kind in given:
        target = (kind, _text(entry, kind), _text(entry, "kubeconfig"))
        if target[1] and (other := taken.setdefault(target, entry)) is not entry:
            problem(kind, f"“{target[1]}” is named already in line {other.key_lines[kind]}")
    endpoint = _text(entry, "endpoint")
    if endpoint:
        scheme = endpoint.partition("://")[0] if "://" in endpoint else ""
        if scheme not in SCHEMES:
            problem("endpoint", f"has no known scheme ({', '.join(SCHEMES)})", nearest(scheme, SCHEMES))
        elif urlsplit(endpoint).password:
            problem("endpoint", "holds a password: use ssh keys or certificates")
    for option, needs in (("kubeconfig", "kubernetes"), ("namespaces", "kubernetes"), ("certificates", "endpoint")):
        if option in entry.value and given and needs not in given:
            problem(option, f"means something only with {needs}")
    return problems


def _of(tree: Located, key: str, kind: type) -> Any:
    item = tree.value.get(key) if isinstance(tree.value, dict) else None
    return item.value if item is not None and isinstance(item.value, kind) else None


def _text(tree: Located, key: str) -> str:
    return _of(tree, key, str) or ""
