from __future__ import annotations

import msgspec

from console.model.connections import Connection, Phase
from console.model.refs import Ref
from console.model.resource import KindState
from console.views import tables
from console.views.emptiness import Absence, absences, concerns, why_empty
from tests.views import samples
from tests.views.samples import CONTEXT

STACKS = tables.TABLES["stacks"]
SWARM = Connection(ref=Ref("swarm-a", "Connection", "", "swarm-a"), phase=Phase.LIVE, platforms=("swarm", "host"))


def state(word: str, **exceptions: str) -> object:
    def of(connection: str, kind: str) -> KindState:
        return KindState(connection, kind, exceptions.get(kind, word))

    return of


def texts(found: tuple[Absence, ...]) -> list[str]:
    return [absence.text for absence in found]


def test_no_target_at_all_is_said() -> None:
    assert texts(why_empty(STACKS, [], state("listed"), CONTEXT)) == ["No target is configured or found."]  # type: ignore[arg-type]


def test_nothing_there_is_only_said_when_everything_was_read() -> None:
    assert texts(why_empty(STACKS, [SWARM, samples.LIVE], state("listed"), CONTEXT)) == ["There are no stacks on swarm-a."]  # type: ignore[arg-type]


def test_not_synced_restricted_and_failed_are_different_facts() -> None:
    for word, text in (
        ("syncing", "Stack not synced yet on swarm-a."),
        ("restricted", "These credentials may not list Stack on swarm-a."),
        ("failed", "Stack could not be listed on swarm-a."),
        ("not served", "swarm-a does not serve stacks."),
    ):
        found = why_empty(STACKS, [SWARM], state(word), CONTEXT)  # type: ignore[arg-type]
        assert texts(found) == [text]
        assert found[0].kind == word


def test_a_cluster_without_argo_cd_serves_triggers_all_the_same() -> None:
    given = state("listed", Application="not served", ArgoCDTrigger="not served", FluxTrigger="not served")
    found = why_empty(tables.TABLES["triggers"], [samples.LIVE], given, CONTEXT)  # type: ignore[arg-type]
    assert texts(found) == ["There are no triggers on prod-eu."]


def test_hidden_rows_are_counted() -> None:
    found = why_empty(STACKS, [SWARM], state("listed"), CONTEXT, hidden=3)  # type: ignore[arg-type]
    assert texts(found) == ["The filter hides 3 stacks."]


def test_a_dead_target_explains_what_is_missing() -> None:
    found = absences(tables.TABLES["services"], [samples.GONE], state("listed"), CONTEXT)  # type: ignore[arg-type]
    assert texts(found) == ["edge-1 is unreachable (connection refused); its data is from 3m ago."]
    never = msgspec.structs.replace(samples.GONE, heard=None)
    assert "nothing was read of it yet" in absences(tables.TABLES["services"], [never], state("listed"), CONTEXT)[0].text  # type: ignore[arg-type]
    idle = msgspec.structs.replace(samples.GONE, phase=Phase.CONNECTING)
    assert texts(absences(tables.TABLES["services"], [idle], state("listed"), CONTEXT)) == ["edge-1 is not connected yet."]  # type: ignore[arg-type]


def test_a_platform_that_cant_have_a_kind_is_not_waited_for() -> None:
    unread = msgspec.structs.replace(samples.GONE, server="")
    assert concerns(unread, "Stack") and not concerns(msgspec.structs.replace(unread, server="Docker 28"), "Stack")
    assert not concerns(samples.LIVE, "Stack") and concerns(SWARM, "Container") and concerns(samples.LIVE, "Event")
    found = why_empty(STACKS, [samples.LIVE], state("syncing"), CONTEXT)  # type: ignore[arg-type]
    assert texts(found) == ["prod-eu has no such thing as stacks."]
