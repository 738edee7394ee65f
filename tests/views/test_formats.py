from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.views import formats
from tests.views.samples import GOOD, NOW, ago


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-30, "now"), (0, "now"), (4.9, "now"), (38, "38s"), (119, "1m"), (3_600, "1h"), (200_000, "2d"), (40_000_000, "1y")],
)
def test_an_age_has_one_unit(seconds: float, text: str) -> None:
    assert formats.age(ago(seconds=seconds), NOW) == text


def test_an_unknown_instant_has_no_age() -> None:
    assert formats.age(None, NOW) == ""
    assert formats.ago(None, NOW) == "at an unknown time"
    assert formats.ago(ago(minutes=4), NOW) == "4m ago"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0s"),
        (6.4, "6.4s"),
        (3, "3s"),
        (42, "42s"),
        (252, "4m12s"),
        (240, "4m"),
        (11_100, "3h05m"),
        (7_200, "2h"),
        (180_000, "2d"),
    ],
)
def test_a_duration_has_at_most_two_units(seconds: float, text: str) -> None:
    assert formats.duration(seconds) == text


def test_commits_are_cut_and_other_revisions_stay() -> None:
    assert formats.short_sha(GOOD) == "4be19d0"
    assert formats.short_sha("19.0.1") == "19.0.1"
    assert formats.revision(f"main@sha1:{GOOD}") == "main@4be19d0"
    assert formats.revision(f"sha256:{'a' * 64}") == "aaaaaaa"
    assert formats.revision("1.2.3") == "1.2.3"
    assert formats.revision("latest@md5:abcdef0") == "latest@md5:abcdef0"


@pytest.mark.parametrize(
    ("reference", "shown", "leaf", "tag"),
    [
        ("ghcr.io/acme/web:1.44@sha256:" + "a" * 64, "ghcr.io/acme/web:1.44", "web:1.44", "1.44"),
        ("docker.io/library/redis:7", "redis:7", "redis:7", "7"),
        ("sha256:" + "b" * 64, "b" * 12, "b" * 12, ""),
        ("localhost:5000/app", "localhost:5000/app", "app", ""),
    ],
)
def test_an_image_name_loses_its_digest(reference: str, shown: str, leaf: str, tag: str) -> None:
    assert formats.image(reference) == shown
    assert formats.image_leaf(reference) == leaf
    assert formats.image_tag(reference) == tag


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://github.com/acme/shop.git", "github.com/acme/shop"),
        ("ssh://git@host:22/acme/shop", "host:22/acme/shop"),
        ("git@github.com:acme/shop.git", "github.com/acme/shop"),
        ("https://user:word@host/acme/shop/", "host/acme/shop"),
        ("", ""),
    ],
)
def test_a_repository_is_shown_without_scheme_and_user(url: str, shown: str) -> None:
    assert formats.repository(url) == shown


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0B"), (999, "999B"), (1536, "1.5K"), (25_165_824, "24M"), (1_288_490_189, "1.2G"), (1023 * 1024, "1.0M")],
)
def test_sizes_have_three_digits_at_most(number: int, text: str) -> None:
    assert formats.size(number) == text


def test_wide_characters_count_two_and_marks_none() -> None:
    assert formats.display_width("日本") == 4
    assert formats.display_width("e\u0301") == 1
    assert formats.display_width("●") == 1


@settings(deadline=None, derandomize=True)
@given(st.text(), st.integers(min_value=0, max_value=40), st.booleans())
def test_padding_gives_exactly_the_width(text: str, width: int, right: bool) -> None:
    assert formats.display_width(formats.padded(text, width, right=right)) == width


def test_lists_read_as_sentences() -> None:
    assert formats.listed([]) == ""
    assert formats.listed(["a"]) == "a"
    assert formats.listed(["a", "b"]) == "a and b"
    assert formats.listed(["a", "b", "c"]) == "a, b and c"
    assert formats.listed("abcde") == "a, b and 3 more"
    assert formats.sentence("no answer") == "No answer."
    assert formats.lowered("A person: look.") == "a person: look"
    assert formats.lowered("Job pay/migrate to complete") == "Job pay/migrate to complete"
    assert formats.lowered("GitOps") == "GitOps" and formats.lowered("") == ""
    assert formats.sentence("") == ""
    assert formats.counted(1, "pod") == "1 pod"
    assert formats.counted(2, "entry", "entries") == "2 entries"


def test_a_time_of_another_day_names_the_day() -> None:
    assert formats.clock_time(ago(minutes=1), NOW) == "12:03:31"
    assert formats.clock_time(ago(days=1), NOW) == "03-13 12:04"
    assert formats.timestamp(NOW) == "2026-03-14T12:04:31Z"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("10m0s", "10m"), ("1h0m0s", "1h"), ("1h30m0s", "1h30m"), ("90s", "90s"), ("0s", "0s"), ("", ""), ("10m", "10m")],
)
def test_an_interval_loses_its_zero_parts(text: str, shown: str) -> None:
    assert formats.interval(text) == shown
