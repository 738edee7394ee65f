from __future__ import annotations

import re
from pathlib import Path

from console.config.fleet import parse_fleet
from console.config.reference import renewed
from console.config.settings import Settings, parse_settings

DOCUMENT = Path(__file__).parents[2] / "docs" / "configuration.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


def test_the_examples_load() -> None:
    (fleet,) = [parse_fleet(block, DOCUMENT) for block in blocks("yaml")]
    assert fleet.protected(fleet.connections[0]) and fleet.read_only(fleet.connections[-1])
    (settings,) = [parse_settings(block, DOCUMENT) for block in blocks("toml")]
    assert settings != Settings() and settings.keys["look.versions"] == ""


def test_the_reference_is_what_the_types_say() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert renewed(text) == text
    for section in Settings.__struct_fields__:
        assert f"`[{section}]`" in text


def test_the_named_themes_of_the_examples_are_shipped() -> None:
    themes = {path.stem for path in (DOCUMENT.parents[1] / "themes").glob("*.toml")}
    assert all(parse_settings(block, DOCUMENT).look.theme in themes for block in blocks("toml"))
