"""Theme files: ours are legible, a bad one is named and hurts nobody."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from textual.color import Color

from console.ui.themes import DEFAULT_THEME, DEFAULTS, LIGHT_THEME, load_themes, packaged_folder, read_theme, signature

THEMES, BAD = load_themes([packaged_folder()])
TEXTS = ("tone-ok", "tone-busy", "tone-warn", "tone-bad", "tone-held", "tone-muted", "tone-accent", "tone-heading", "tone-key")
COLOURED = [name for name, loaded in THEMES.items() if not loaded.theme.ansi]


def _contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [part / 255 for part in Color.parse(colour).rgb]
        red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_all_packaged_themes_load() -> None:
    assert BAD == ()
    assert len(THEMES) >= 10
    assert {DEFAULT_THEME, LIGHT_THEME, "high-contrast", "colour-blind-safe", "ansi"} <= THEMES.keys()


@pytest.mark.parametrize("name", THEMES)
def test_a_theme_gives_every_variable_that_styles_use(name: str) -> None:
    assert DEFAULTS.keys() <= THEMES[name].theme.variables.keys()


@pytest.mark.parametrize("name", COLOURED)
def test_text_can_be_read_on_the_ground_and_under_the_cursor(name: str) -> None:
    theme = THEMES[name].theme
    least = 7.0 if name.startswith("high-contrast") else 3.5
    assert theme.background is not None
    assert theme.foreground is not None
    for ground, text in product((theme.background, theme.variables["row-cursor"]), TEXTS):
        wanted = least if ground == theme.background else min(least, 4.5) - 1.0
        assert _contrast(theme.variables[text], ground) >= wanted, (text, ground)
    assert _contrast(theme.foreground, theme.background) >= max(least, 4.5)
    assert _contrast(theme.foreground, theme.variables["row-cursor"]) >= 4.5


@pytest.mark.parametrize("name", COLOURED)
def test_a_theme_says_truly_whether_it_is_dark(name: str) -> None:
    theme = THEMES[name].theme
    assert theme.background is not None
    assert theme.dark == (_contrast(theme.background, "#ffffff") > 4.5)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name = ", "Invalid value"),
        ("[colours]\nbackground = '#000000'", "is missing"),
        ("colour = 'red'", "unknown key 'colour'"),
        ("name = 'My Theme'", "lower-case words"),
        ("dark = 'yes'\n{good}", "dark must be true or false"),
        ("{good}\nsparkle = '#ffffff'", "unknown colour 'sparkle'"),
    ],
)
def test_a_bad_file_is_named_with_its_problem_and_the_others_load(tmp_path: Path, text: str, problem: str) -> None:
    good = (packaged_folder() / "nord.toml").read_text().partition("\n\n")[2]
    (tmp_path / "bad.toml").write_text(text.format(good=good))
    (tmp_path / "mine.toml").write_text(f'name = "mine"\n{good}')
    themes, bad = load_themes([tmp_path])
    assert list(themes) == ["mine"]
    assert [entry.path.name for entry in bad] == ["bad.toml"]
    assert problem in bad[0].problem


def test_a_colour_that_is_none_is_refused(tmp_path: Path) -> None:
    text = (packaged_folder() / "nord.toml").read_text().replace("#a3be8c", "greenish")
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(ValueError, match="colour 'ok' must be like"):
        read_theme(tmp_path / "x.toml")


def test_a_theme_of_the_operator_replaces_ours_of_the_same_name(tmp_path: Path) -> None:
    text = (packaged_folder() / "nord.toml").read_text().replace('title = "Nord"', 'title = "My Nord"')
    (tmp_path / "nord.toml").write_text(text)
    themes, _ = load_themes([packaged_folder(), tmp_path])
    assert themes["nord"].title == "My Nord"


def test_an_edited_file_changes_the_signature_of_its_folder(tmp_path: Path) -> None:
    before = signature(tmp_path)
    (tmp_path / "a.toml").write_text("x")
    between = signature(tmp_path)
    (tmp_path / "a.toml").write_text("xy")
    assert before != between != signature(tmp_path)
    assert signature(tmp_path / "missing") == ()
