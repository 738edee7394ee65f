from __future__ import annotations

from pathlib import Path

import pytest

from console.config import settings as settings_module
from console.config.problems import ConfigProblems
from console.config.schema import attribute_docs
from console.config.settings import Section, Settings, load_settings, parse_settings
from console.errors import ConfigError

PATH = Path("config.toml")


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigProblems) as caught:
        parse_settings(text, PATH)
    return [str(problem) for problem in caught.value.problems]


def test_no_file_means_all_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "config.toml") == Settings()
    assert parse_settings("", PATH) == Settings()


def test_given_keys_are_taken_and_the_rest_keeps_its_default() -> None:
    read = parse_settings('[look]\ntheme = "paper"\n[safety]\narm_minutes = 30\n[keys]\n"change.undo" = "ctrl+u"\n', PATH)
    assert read.look.theme == "paper" and read.look.mouse
    assert read.safety.arm_minutes == 30
    assert read.keys == {"change.undo": "ctrl+u"}


def test_all_problems_are_told_at_once_with_line_key_and_nearest_key() -> None:
    text = """
[look]
them = "paper"
bandwidth = "lo"
mouse = "yes"

[safety]
arm_minutes = 0
arm_minutes_protected = 5.5
read_only = 1

[jurnal]
keep_days = 3
"""
    assert problems(text) == [
        "config.toml:3: look.them: is no known key (did you mean theme?)",
        "config.toml:4: look.bandwidth: is “lo”, not one of auto, low (did you mean low?)",
        "config.toml:5: look.mouse: is “yes”, not true or false",
        "config.toml:8: safety.arm_minutes: is 0, less than 1",
        "config.toml:9: safety.arm_minutes_protected: is 5.5, not a whole number",
        "config.toml:10: safety.read_only: is 1, not true or false",
        "config.toml:12: jurnal: is no known key (did you mean journal?)",
    ]


def test_a_syntax_error_names_its_line() -> None:
    assert problems('[look]\ntheme = "paper\n') == ["config.toml:2: is no TOML: Illegal character '\\n'"]
    assert problems("[look]\nmouse = true\nmouse = false\n")[0].startswith("config.toml:3: is no TOML: Cannot overwrite")


def test_lines_are_right_after_multi_line_texts_and_dotted_keys() -> None:
    text = 'keys.a = """\n[look]\nthem = 1\n"""\nlook.mouse = 3\n[[start]]\nview = "bridge"\n'
    assert problems(text) == [
        "config.toml:1: keys.a: holds characters that can't be printed",
        "config.toml:5: look.mouse: is 3, not true or false",
        "config.toml:6: start: is a list, not a mapping",
    ]


def test_the_message_for_a_person_counts_and_lists() -> None:
    with pytest.raises(ConfigProblems) as caught:
        parse_settings("a = 1\nb = 2\n", PATH)
    assert (
        caught.value.message
        == "config.toml has 2 problems:\n  config.toml:1: a: is no known key\n  config.toml:2: b: is no known key"
    )


def test_a_file_that_cant_be_read_is_a_config_error(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="can't be read"):
        load_settings(tmp_path / "config.toml")
    with pytest.raises(ConfigError, match="can't be read"):
        load_settings(tmp_path)


def test_every_setting_says_why_its_default_is_what_it_is() -> None:
    sections = [
        kind
        for kind in vars(settings_module).values()
        if isinstance(kind, type) and issubclass(kind, Section) and kind is not Section
    ]
    assert len(sections) == 5
    for kind in sections:
        assert set(attribute_docs(kind)) == set(kind.__struct_fields__)
