"""Small rules by themselves: bindings, revisions, tokens, write fates, intervals."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.engines.dispatch.binding import binding_mismatch, reduced, same_repository, shown
from console.engines.dispatch.desk import next_interval
from console.engines.dispatch.faults import WriteFate, classify_write
from console.engines.dispatch.revisions import commit_of, describe_commit, holds
from console.engines.dispatch.tokens import Tokens, instant, written
from console.engines.dispatch.types import ApplierKey, Binding, ObjectName, Source
from console.errors import (
    ApiError,
    Conflict,
    Forbidden,
    Interrupted,
    Invalid,
    LoginExpired,
    NotFound,
    Overloaded,
    ProtocolError,
    QuarterdeckError,
    TimedOut,
    UnclearAnswer,
    Unreachable,
)

HEX = "0123456789abcdef0123456789abcdef01234567"
GIT = ObjectName("flux-system", "shop")


@pytest.mark.parametrize(
    ("revision", "commit"),
    [
        (f"main@sha1:{HEX}", HEX),
        (f"main@sha256:{HEX}{HEX[:24]}", f"{HEX}{HEX[:24]}"),
        (f"refs/heads/x@sha1:{HEX.upper()}", HEX),
        (f"sha1:{HEX}", HEX),
        (f"main/{HEX}", HEX),
        (f"feature/a/{HEX}", HEX),
        (HEX, HEX),
        ("main", None),
        ("", None),
        ("latest@sha512:abc", None),
        ("main@sha1:nothex", None),
    ],
)
def test_a_commit_is_found_in_a_revision(revision: str, commit: str | None) -> None:
    assert commit_of(revision) == commit
    assert holds(revision, HEX) is (commit == HEX)
    assert not holds(revision, "")


def test_a_commit_is_described_by_its_first_digits_or_by_its_absence() -> None:
    assert describe_commit(HEX) == "commit 0123456"
    assert "not on the remote" in describe_commit("")


@pytest.mark.scenario("dispatch:J12", "dispatch:J13")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://git.example.test/a/b.git", "ssh://git@git.example.test/a/b"),
        ("git@git.example.test:a/b.git", "ssh://git@git.example.test/a/b"),
        ("http://GIT.example.test:80/a/b/", "https://git.example.test:443//a/b.git"),
        ("ssh://git@git.example.test:22/a/b", " git@git.example.test:a/b "),
        ("https://git.example.test/a%20b", "https://git.example.test/a b"),
        ("https://git.example.test:8443/a", "ssh://git.example.test:8443/a"),
    ],
)
def test_spellings_of_one_repository_are_equal(one: str, other: str) -> None:
    assert same_repository(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://git.example.test/a/b", "https://git.example.test/a/c"),
        ("https://git.example.test/a/b", "https://other.example.test/a/b"),
        ("https://git.example.test:8443/a/b", "https://git.example.test/a/b"),
        ("https://git.example.test/a/b", "https://git.example.test/A/b"),
        ("https://git.example.test/a/b.git.git", "https://git.example.test/a/b"),
        ("https://git.example.test:port/a", "https://git.example.test/a"),
    ],
)
def test_different_repositories_are_not_equal(one: str, other: str) -> None:
    assert not same_repository(one, other)


_WORD = st.text("abcXYZ019-_", min_size=1, max_size=8)


@settings(deadline=None, derandomize=True, max_examples=60, suppress_health_check=list(HealthCheck))
@given(host=_WORD, path=st.lists(_WORD, min_size=1, max_size=3))
def test_every_way_to_write_a_repository_is_reduced_to_the_same(host: str, path: list[str]) -> None:
    tail = "/".join(path)
    spellings = [
        f"https://{host}/{tail}",
        f"ssh://git@{host}:22/{tail}.git",
        f"git@{host}:{tail}",
        f"http://u:p@{host}/{tail}/",
    ]
    assert len({reduced(url) for url in spellings}) == 1


@pytest.mark.scenario("dispatch:J14")
def test_paths_that_differ_in_case_are_a_mismatch_with_a_hint() -> None:
    source = Source("https://git.example.test/Team/shop", "main", GIT)
    sentence = binding_mismatch(source, Binding("https://git.example.test/team/shop", "main"))
    assert "https://git.example.test/Team/shop" in sentence
    assert "https://git.example.test/team/shop" in sentence
    assert "upper and lower case" in sentence


@pytest.mark.scenario("dispatch:J15")
@pytest.mark.parametrize(
    ("revision", "flux", "matches"),
    [
        ("main", True, True),
        ("refs/heads/main", True, False),
        ("main", False, True),
        ("refs/heads/main", False, True),
        ("HEAD", False, False),
        ("", False, False),
        ("Main", False, False),
    ],
)
def test_a_branch_is_compared_as_its_applier_writes_it(revision: str, flux: bool, matches: bool) -> None:
    source = Source("https://git.example.test/a", revision, GIT if flux else None)
    assert (binding_mismatch(source, Binding("https://git.example.test/a", "main")) == "") is matches


def test_a_mismatch_names_both_sides_without_credentials() -> None:
    sentence = binding_mismatch(
        Source("https://me:secret@git.example.test/a", "main", GIT), Binding("ssh://git.example.test/b", "x")
    )
    assert "secret" not in sentence
    assert "git.example.test/a" in sentence
    assert "git.example.test/b" in sentence
    assert "'dev'" in binding_mismatch(Source("https://h/a", "dev", GIT), Binding("https://h/a", "main"))
    assert "not been read" in binding_mismatch(None, Binding("https://h/a", "main"))
    assert shown("git@git.example.test:a/b") == "git@git.example.test:a/b"


class Still:
    def __init__(self) -> None:
        self.at = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at


@pytest.mark.scenario("dispatch:W24")
def test_two_tokens_within_one_tick_differ_and_increase() -> None:
    clock = Still()
    tokens = Tokens(clock)
    made = [tokens.new() for _ in range(3)]
    assert made[0] == "2026-01-02T03:04:05.000006000Z"
    assert made[1] == "2026-01-02T03:04:05.000006001Z"
    clock.at = datetime(2025, 1, 1, tzinfo=UTC)
    made.append(tokens.new())
    assert made == sorted(set(made)), "not even when the clock goes back"


def test_times_are_read_as_controllers_write_them() -> None:
    assert instant("2026-01-02T03:04:05Z") == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert instant("2026-01-02T03:04:05.123456789Z") == datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=UTC)
    assert instant("soon") is None
    assert instant(written(Still().at)) == Still().at


@pytest.mark.parametrize(
    ("error", "fate"),
    [
        (Unreachable("refused"), WriteFate.NOT_MADE),
        (Invalid("bad", status=400), WriteFate.NOT_MADE),
        (Invalid("bad", status=422), WriteFate.NOT_MADE),
        (LoginExpired("who are you"), WriteFate.NOT_MADE),
        (ApiError("no such method", status=405), WriteFate.NOT_MADE),
        (ApiError("media type", status=415), WriteFate.NOT_MADE),
        (Overloaded("later", status=429), WriteFate.NOT_MADE),
        (NotFound("gone", status=404), WriteFate.GONE),
        (Forbidden("no", status=403), WriteFate.FORBIDDEN),
        (Conflict("changed", status=409), WriteFate.CONFLICT),
        (ApiError("internal", status=500), WriteFate.UNCONFIRMED),
        (ApiError("bad gateway", status=502), WriteFate.UNCONFIRMED),
        (Overloaded("unavailable", status=503), WriteFate.UNCONFIRMED),
        (ApiError("gateway timeout", status=504), WriteFate.UNCONFIRMED),
        (TimedOut("no answer"), WriteFate.UNCONFIRMED),
        (Interrupted("cut"), WriteFate.UNCONFIRMED),
        (UnclearAnswer("lost"), WriteFate.UNCONFIRMED),
        (ProtocolError("HTML"), WriteFate.UNCONFIRMED),
    ],
)
def test_the_fate_of_a_write_is_told_from_its_error(error: QuarterdeckError, fate: WriteFate) -> None:
    assert classify_write(error) is fate


@pytest.mark.scenario("dispatch:W16")
def test_the_interval_doubles_up_to_its_cap() -> None:
    intervals = [next_interval(None, 2, 60)]
    while len(intervals) < 8:
        intervals.append(next_interval(intervals[-1], 2, 60))
    assert intervals == [2, 4, 8, 16, 32, 60, 60, 60]


def test_an_applier_is_named_with_its_cluster_unless_it_is_the_default() -> None:
    assert str(ApplierKey("default", "Kustomization", "a", "b")) == "Kustomization a/b"
    assert str(ApplierKey("east", "Kustomization", "a", "b")) == "Kustomization a/b in east"
