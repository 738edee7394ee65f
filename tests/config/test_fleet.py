from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.config.fleet import Fleet, load_fleet, parse_fleet
from console.config.problems import ConfigProblems
from console.errors import ConfigError

PATH = Path("fleet.yaml")
GOOD = """
groups:
  prod: {colour: red, protected: true}
  lab: {}
connections:
  - name: prod-eu
    kubernetes: gke_acme_eu
    group: prod
    labels: {region: eu}
  - name: swarm-a
    docker: swarm-a
    group: prod
    protected: false
    colour: "#ff8800"
  - name: edge-1
    endpoint: ssh://ops@edge-1
    read_only: true
"""


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigProblems) as caught:
        parse_fleet(text, PATH)
    return [str(problem).removeprefix("fleet.yaml:") for problem in caught.value.problems]


def test_a_group_protects_and_colours_and_an_entry_has_the_last_word() -> None:
    fleet = parse_fleet(GOOD, PATH)
    eu, swarm, edge = fleet.connections
    assert fleet.protected(eu) and fleet.colour(eu) == "red" and not fleet.read_only(eu)
    assert not fleet.protected(swarm) and fleet.colour(swarm) == "#ff8800"
    assert fleet.read_only(edge) and not fleet.protected(edge) and fleet.colour(edge) == ""


def test_an_entry_is_found_by_its_name_and_by_what_it_names() -> None:
    fleet = parse_fleet(GOOD, PATH)
    assert fleet.entry("edge-1") is fleet.connections[2]
    assert fleet.entry_of(kubernetes="gke_acme_eu") is fleet.connections[0]
    assert fleet.entry_of(docker="swarm-a") is fleet.connections[1]
    assert fleet.entry("none") is None and fleet.entry_of(docker="none") is None


def test_no_file_is_an_empty_fleet_unless_it_was_asked_for(tmp_path: Path) -> None:
    assert load_fleet(tmp_path / "fleet.yaml") == Fleet()
    assert parse_fleet("# nothing yet\n", PATH) == Fleet()
    with pytest.raises(ConfigError, match="no fleet file"):
        load_fleet(tmp_path / "fleet.yaml", required=True)


def test_all_problems_of_all_kinds_are_told_at_once() -> None:
    text = """groups:
  prod: {colour: redd}
conections: []
connections:
  - name: a
    kubernetes: ctx
    protcted: true
    group: prd
  - name: a
    docker: one
    endpoint: ftp://host
  - name: no
    kubernetes: ctx
    namespaces: [1]
  - kubernetes: ctx
    kubernetes: other
    certificates: /tmp
  - endpoint: tcp://bob:pw@host:2375
    name: "x y"
    namespaces: [web]
  - 7
"""
    assert problems(text) == [
        "2: groups.prod.colour: is “redd”, not red, orange, yellow, green, cyan, blue, magenta, grey or #rrggbb",
        "3: conections: is no known key (did you mean connections?)",
        "7: connections[0].protcted: is no known key (did you mean protected?)",
        "8: connections[0].group: “prd” is not in groups (did you mean prod?)",
        "9: connections[1].name: “a” is taken by the connection in line 5",
        "9: connections[1]: names 2 targets (docker, endpoint): give exactly one of kubernetes, docker, endpoint",
        "11: connections[1].endpoint: has no known scheme (unix, tcp, http, https, ssh) (did you mean tcp?)",
        "12: connections[2].name: is false, not text (put it in quotes)",
        "13: connections[2].kubernetes: “ctx” is named already in line 6",
        "14: connections[2].namespaces[0]: is 1, not text (put it in quotes)",
        "15: connections[3].name: is missing",
        "15: connections[3].kubernetes: “ctx” is named already in line 6",
        "16: connections[3].kubernetes: is given twice, first in line 15",
        "17: connections[3].certificates: means something only with endpoint",
        "18: connections[4].endpoint: holds a password: use ssh keys or certificates",
        "19: connections[4].name: is “x y”, not a name without spaces, “/” and “:”, of at most 63 characters",
        "20: connections[4].namespaces: means something only with kubernetes",
        "21: connections[5]: is 7, not a mapping",
    ]


def test_the_password_of_an_endpoint_is_not_repeated() -> None:
    assert "hunter2" not in "".join(problems("connections: [{name: a, endpoint: 'tcp://bob:hunter2@host:1'}]"))


def test_the_same_context_of_two_kubeconfigs_is_two_targets() -> None:
    text = "connections:\n- {name: a, kubernetes: x, kubeconfig: one}\n- {name: b, kubernetes: x, kubeconfig: two}\n"
    assert len(parse_fleet(text, PATH).connections) == 2


def test_two_entries_on_one_line_may_not_share_a_name() -> None:
    assert len(problems("connections: [{name: a, docker: x}, {name: a, docker: y}]")) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("connections: [", "1: is no YAML: "),
        ("a: b: c", "1: is no YAML: mapping values are not allowed here"),
        ("--- 1\n--- 2\n", "2: is no YAML: "),
        ("[]", "1: is a list, not a mapping"),
        ("connections: &a [*a]", "1: connections"),
        ("<<: {a: 1}", "1: has a key that isn't plain text"),
        ("discover: all\nconnections: \x00", "2: is no YAML: it holds the character U+0000"),
    ],
)
def test_text_that_is_no_fleet_is_told_and_never_run(text: str, told: str) -> None:
    assert problems(text)[0].startswith(told)


def test_a_python_tag_builds_nothing() -> None:
    assert parse_fleet("connections: !!python/object:os.system []", PATH) == Fleet()


def test_an_unknown_scalar_tag_is_a_problem() -> None:
    assert problems("discover: !secret x")[0].startswith("1: ")


@settings(deadline=None, derandomize=True)
@given(st.text(max_size=60))
def test_any_text_is_a_fleet_or_a_list_of_problems(text: str) -> None:
    try:
        parse_fleet(text, PATH)
    except ConfigProblems as caught:
        assert caught.problems
