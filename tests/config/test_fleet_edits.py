"""A local trigger is written into a fleet file and taken out again; nothing else in the file changes."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.config.fleet import parse_fleet
from console.config.fleet_edits import fingerprint, line_of, read_text, replace_text, with_trigger, without_trigger
from console.config.triggers import TriggerEntry
from console.errors import ConfigError, WorldMoved

PATH = Path("fleet.yaml")
SHOP = TriggerEntry(
    name="shop",
    connection="atlas",
    kind="flux",
    namespace="flux-system",
    object="shop",
    url="https://git.example.test/team/shop.git",
    branch="main",
    hold=True,
)
ITEM = line_of(SHOP)
OTHER = '{name: other, connection: atlas, kind: argocd, namespace: argocd, object: other, url: "https://g", branch: main}'
BLOCK = """  - name: other   # ours
    connection: atlas
    kind: argocd
    namespace: argocd
    object: other
    url: https://g
    branch: main  # not master
"""

FILES = {
    "nothing": "",
    "only a comment": "# my fleet\n",
    "no line feed at the end": "connections:\n  - {name: atlas, kubernetes: atlas}",
    "no triggers": "connections:\n  - {name: atlas, kubernetes: atlas}\n\n# the end\n",
    "one in a line": f"# mine\ntriggers:\n- {OTHER}\ndiscover: all\n",
    "one in a block": f"triggers:\n{BLOCK}\n# about connections\nconnections: []\n",
    "one in a block at the end": f"connections: []\ntriggers:\n{BLOCK}",
    "flow list": f"triggers: [{OTHER}]  # short\ndiscover: all\n",
    "flow list with a comma": f"triggers: [\n  {OTHER},\n]\n",
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_a_trigger_is_added_and_everything_else_stays(text: str) -> None:
    before = parse_fleet(text, PATH)
    after = with_trigger(text, PATH, SHOP)
    assert parse_fleet(after, PATH).triggers == (*before.triggers, SHOP)
    kept = after.replace(f", {ITEM.removeprefix('- ')}", "").replace(ITEM, "").replace(ITEM.removeprefix("- "), "")
    for line in text.splitlines():
        assert line.strip().rstrip(",") in kept
    assert parse_fleet(without_trigger(after, PATH, "shop"), PATH) == before


@pytest.mark.parametrize("name", ["nothing", "only a comment", "no triggers", "one in a line", "one in a block", "flow list"])
def test_taking_it_out_again_leaves_the_file_as_it_was(name: str) -> None:
    assert without_trigger(with_trigger(FILES[name], PATH, SHOP), PATH, "shop") == FILES[name]


@pytest.mark.parametrize("text", ["triggers:\n", "triggers: []\n", "triggers: []  # none yet\ndiscover: all\n"])
def test_an_empty_list_gets_its_first_item(text: str) -> None:
    if "[]" not in text:
        with pytest.raises(ConfigError):
            parse_fleet(text, PATH)
        return
    after = with_trigger(text, PATH, SHOP)
    assert parse_fleet(after, PATH).triggers == (SHOP,)
    assert ("# none yet" in after) == ("# none yet" in text)


def test_a_block_between_others_is_taken_out_with_its_own_lines_only() -> None:
    text = f"triggers:\n- {OTHER}\n{ITEM}\n- {OTHER.replace('other', 'third')}\n# end\n"
    assert without_trigger(text, PATH, "shop") == text.replace(f"{ITEM}\n", "")


def test_a_file_that_cannot_be_changed_alone_is_left_to_its_owner() -> None:
    text = f"triggers: [{OTHER}  # a comment in the way\n]\n"
    after = with_trigger(text, PATH, SHOP) if "#" not in text else None
    assert after is None
    with pytest.raises(ConfigError, match="can't be changed here") as caught:
        with_trigger(text, PATH, SHOP)
    assert ITEM in caught.value.hint


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(ConfigError):
        with_trigger(with_trigger("", PATH, SHOP), PATH, SHOP)


def test_what_is_not_there_cannot_be_taken_out() -> None:
    with pytest.raises(ConfigError, match="declares no trigger shop"):
        without_trigger("", PATH, "shop")


@settings(deadline=None, max_examples=40)
@given(url=st.text(string.printable[:95], min_size=1, max_size=30))
def test_any_url_survives_the_way_into_the_file(url: str) -> None:
    entry = TriggerEntry(**{**{name: getattr(SHOP, name) for name in SHOP.__struct_fields__}, "url": url})
    assert parse_fleet(with_trigger("discover: all\n", PATH, entry), PATH).triggers == (entry,)


def test_the_file_is_replaced_whole_with_its_mode_and_behind_its_link(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.yaml", tmp_path / "fleet.yaml"
    real.write_text("discover: all\n")
    real.chmod(0o640)
    link.symlink_to(real)
    replace_text(link, fingerprint("discover: all\n"), "discover: listed\n")
    assert (link.is_symlink(), real.read_text(), real.stat().st_mode & 0o777) == (True, "discover: listed\n", 0o640)
    with pytest.raises(WorldMoved, match="was changed since the plan was made"):
        replace_text(link, fingerprint("discover: all\n"), "discover: all\n")
    assert (real.read_text(), sorted(path.name for path in tmp_path.iterdir())) == (
        "discover: listed\n",
        ["dotfiles.yaml", "fleet.yaml"],
    )


def test_a_file_that_is_not_there_is_made_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "quarterdeck" / "fleet.yaml"
    assert read_text(path) == ""
    replace_text(path, fingerprint(""), "discover: all\n")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("discover: all\n", 0o600)
