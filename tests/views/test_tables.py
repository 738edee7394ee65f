from __future__ import annotations

from typing import Any

import msgspec
import pytest

from console.model.connections import Connection
from console.model.health import Condition, Health
from console.model.kubernetes import TRIGGER_KINDS
from console.model.resource import Resource
from console.views import glyphs, tables, triggers, words
from console.views.cells import Context, Table, arranged, cell, now_context, prose, row_cells
from console.views.operations import OPERATIONS
from tests.views import samples
from tests.views.samples import ALL, CONTEXT, NOW

EVERY_TABLE = [pytest.param(table, id=table.name) for table in tables.TABLES.values()]
ASKED_FOR = [
    "triggers",
    "operations",
    "stacks",
    "services",
    "activity",
    "bridge",
    "connections",
    "kustomizations",
    "applications",
    "helmreleases",
    "sources",
    "pods",
    "workloads",
    "namespaces",
    "swarmservices",
    "tasks",
    "nodes",
    "networks",
    "configs",
    "secrets",
    "volumes",
    "containers",
    "rehearsals",
]


def row(table: Table[Any], resource: Resource, context: Context = CONTEXT) -> dict[str, str]:
    cells = row_cells(table.columns, resource, context)
    return {column.key: entry.text for column, entry in zip(table.columns, cells, strict=True)}


def test_every_named_table_is_there_and_no_word_opens_two() -> None:
    assert set(tables.TABLES) == set(ASKED_FOR)
    words_of_all = [word for table in tables.TABLES.values() for word in (table.name, *table.aliases)]
    assert len(words_of_all) == len(set(words_of_all))
    assert tables.table(" SVC ") is tables.TABLES["services"]
    assert tables.table("nonsense") is None
    assert tables.nearest("stak") in ("stack", "stacks")
    assert set(tables.words()) == set(words_of_all)


@pytest.mark.parametrize("table", EVERY_TABLE)
def test_every_cell_of_every_table_is_one_safe_line_and_every_sort_key_compares(table: Table[Any]) -> None:
    rows = [resource for resource in ALL if resource.ref.kind in table.kinds]
    for column in table.columns:
        arranged(table, rows, column.key)
        arranged(table, rows, column.key, descending=True)
    for resource in arranged(table, rows):
        for entry in row_cells(table.columns, resource, CONTEXT):
            assert entry.text.isprintable()


@pytest.mark.parametrize("table", EVERY_TABLE)
def test_every_table_has_unique_columns_a_name_that_stays_and_an_age_at_the_right(table: Table[Any]) -> None:
    keys = [column.key for column in table.columns]
    assert len(keys) == len(set(keys))
    name = table.column("name")
    assert name is not None and name.priority == 1
    assert table.columns[-1].key == "age" and table.columns[-1].align == "right"


@pytest.mark.parametrize("table", EVERY_TABLE)
def test_hostile_text_never_reaches_a_cell(table: Table[Any]) -> None:
    nasty = "\x1b[31m[/x]\u202e\n"
    for resource in ALL:
        if resource.ref.kind not in table.kinds:
            continue
        changed: dict[str, Any] = {
            field.name: nasty
            for field in msgspec.structs.fields(resource)
            if field.type is str and isinstance(getattr(resource, field.name), str)
        }
        changed["ref"] = msgspec.structs.replace(resource.ref, name=nasty)
        hostile = msgspec.structs.replace(resource, **changed)
        for entry in row_cells(table.columns, hostile, CONTEXT):
            assert entry.text.isprintable()


def test_triggers_keep_sync_health_and_operation_apart() -> None:
    shown = row(triggers.TRIGGERS, samples.FAILED_TRIGGER)
    assert (shown["sync"], shown["health"], shown["operation"]) == ("failed", "degraded", "apply failed")
    assert (shown["wanted"], shown["applied"]) == ("9f2c1ab", "4be19d0")
    assert shown["source"] == "github.com/acme/shop@main"
    assert shown["configured"] == "yes"
    assert shown["ready"] == "HealthCheckFailed"


def test_trouble_sorts_first() -> None:
    rows = arranged(triggers.TRIGGERS, [item for item in ALL if item.ref.kind in TRIGGER_KINDS])
    assert rows[0] is samples.FAILED_TRIGGER


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({}, "synced"),
        ({"wanted": samples.BAD}, "behind"),
        ({"applied": ""}, "never applied"),
        ({"applied": "", "wanted": ""}, "unknown"),
        ({"sync": "OutOfSync"}, "out of sync"),
        ({"wanted": f"main@sha1:{samples.GOOD}", "applied": f"main@sha1:{samples.GOOD}"}, "synced"),
    ],
)
def test_sync_compares_what_is_wanted_with_what_is_applied(fields: dict[str, object], word: str) -> None:
    assert words.synced_word(samples.trigger(**fields)) == word  # type: ignore[arg-type]


def test_a_condition_of_an_older_generation_is_marked() -> None:
    stale = triggers.condition_cell(Condition("Ready", "True", observed_generation=1), 2)
    assert (stale.text, stale.tone) == ("~yes", "busy")
    assert triggers.condition_cell(Condition("Ready", "True", observed_generation=2), 2).text == "yes"


def test_rows_of_a_dead_target_are_muted_and_say_how_old_they_are() -> None:
    table = tables.TABLES["services"]
    cells = row_cells(table.columns, samples.CONTAINER, CONTEXT)
    assert {entry.tone for entry in cells} == {"muted"}
    assert row(table, samples.CONTAINER)["where"] == "edge-1 (3m old)"
    fresh = row_cells(table.columns, samples.CONTAINER, Context(NOW))
    assert fresh[0].tone == "ok"


def test_a_connection_says_its_phase_and_the_age_of_its_data() -> None:
    shown = row(tables.TABLES["connections"], samples.GONE)
    assert shown["phase"] == "unreachable 3m"
    assert shown["age"] == "3m"
    assert shown["what"] == "Connection refused. Is the engine running?"
    assert shown["guard"] == "protected"


def test_operations_in_flight_come_first_with_their_step_and_what_would_end_it() -> None:
    rows = arranged(OPERATIONS, [samples.ENDED, samples.RUNNING])
    assert rows == [samples.RUNNING, samples.ENDED]
    shown = row(OPERATIONS, samples.RUNNING)
    assert shown["step"] == "hooks (1/3)"
    assert shown["what"] == "waits for Job pay/migrate to complete"
    assert shown["taken"] == "38s"
    assert row(OPERATIONS, samples.ENDED)["taken"] == "4m"


def test_activity_is_newest_first() -> None:
    table = tables.TABLES["activity"]
    rows = arranged(table, [samples.ENDED, samples.EVENT, samples.RUNNING])
    assert rows == [samples.RUNNING, samples.EVENT, samples.ENDED]
    assert row(table, samples.EVENT)["happened"] == "BackOff ×3"


def test_a_finished_job_is_shown_as_completed_of_wanted() -> None:
    job = msgspec.structs.replace(samples.SWARM_SERVICE, mode="replicated-job", wanted=3, running=0, completed=3)
    assert words.tally(job) == "3/3"


def test_a_swarm_task_is_not_a_service_of_its_host() -> None:
    task = msgspec.structs.replace(samples.CONTAINER, labels={"com.docker.swarm.task.id": "t1"})
    assert arranged(tables.TABLES["services"], [task, samples.CONTAINER]) == [samples.CONTAINER]
    assert len(arranged(tables.TABLES["containers"], [task, samples.CONTAINER])) == 2


def test_sorting_by_a_column_keeps_the_usual_order_among_equals() -> None:
    first, second = samples.trigger("a"), samples.trigger("b")
    assert arranged(triggers.TRIGGERS, [second, first], "sync", descending=True) == [first, second]
    assert arranged(triggers.TRIGGERS, [second, first], "name", descending=True) == [second, first]
    assert arranged(triggers.TRIGGERS, [first, second], descending=True) == [second, first]


def test_health_is_a_different_shape_and_word_for_each_state() -> None:
    assert len({glyphs.glyph(state).text for state in Health}) == len(Health)
    assert len({glyphs.word(state).text for state in Health}) == len(Health)
    assert glyphs.marked(Health.BAD).text == "■ degraded"
    assert set(glyphs.ASCII) == set(glyphs.GLYPHS.values())


def test_prose_masks_credentials_and_keeps_one_line() -> None:
    assert prose("clone of https://bob:hunter2@host/x failed\nmore").text == "clone of https://••••••@host/x failed …"
    assert cell("a\tb").text == "a␉b"


def test_a_kind_is_at_home_in_its_narrowest_table() -> None:
    home = tables.table_of("Kustomization")
    assert home is not None and home.name == "kustomizations"
    assert tables.table_of("Nonsense") is None


def test_a_context_knows_connections_by_name() -> None:
    context = now_context([item for item in ALL if isinstance(item, Connection)], NOW)
    assert context.fresh("prod-eu") and not context.fresh("edge-1") and context.fresh("unheard-of")


@pytest.mark.parametrize(
    ("operation", "shown", "tone"),
    [
        ("Running", "running", "busy"),
        ("Failed", "failed", "bad"),
        ("Succeeded", "succeeded", "muted"),
        ("wave 1 of 3", "wave 1 of 3", "muted"),
    ],
)
def test_an_operation_is_judged_by_its_own_word_not_by_the_health(operation: str, shown: str, tone: str) -> None:
    entry = words.operation(samples.trigger(operation=operation))
    assert (entry.text, entry.tone) == (shown, tone)


@pytest.mark.parametrize(
    ("name", "labels", "shown"),
    [
        ("shop-api-1", {"com.docker.compose.container-number": "1"}, "shop/api"),
        ("shop-api-2", {"com.docker.compose.container-number": "2"}, "shop/api #2"),
        ("api-12ab34cd", {}, "shop/api"),
        ("api-12ab34cd-r1", {}, "shop/api #2"),
    ],
)
def test_containers_of_one_service_are_told_apart(name: str, labels: dict[str, str], shown: str) -> None:
    container = msgspec.structs.replace(samples.CONTAINER, ref=samples.ref("Container", name), labels=labels)
    assert words.title(container) == shown


def test_a_trigger_of_the_cluster_holds_its_kustomization_and_is_not_held_by_itself() -> None:
    applier = samples.ref("Kustomization", "web", "flux-system")
    holding = samples.trigger("shop", "FluxTrigger", held=True, held_by="shop", applier=applier)
    assert words.holder(holding) == "holds web"
    assert words.holder(msgspec.structs.replace(holding, held_by="team-b/other")) == "held by team-b/other"
    assert words.holder(samples.trigger("web", held=True, held_by="oncall@bastion-1, incident 12")).startswith("held by oncall")
