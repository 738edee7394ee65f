from __future__ import annotations

import asyncio
import io
import json
import tempfile
from pathlib import Path

import pytest

from console.cli.command import Outside
from console.cli.compose import opened
from console.cli.entry import carry_out
from console.cli.parser import build_parser, parse
from console.cli.registry import COMMANDS
from console.views import tables
from tests.cli.conftest import Fleet
from tests.cli.running import command, isolated


async def test_a_table_has_the_rows_of_all_targets_worst_first_and_no_colour(fleet: Fleet) -> None:
    ran = await fleet.quarterdeck("get", "triggers")
    heading, first, *rest = ran.out.splitlines()
    assert ran.code == 0
    assert heading.split()[:4] == ["WHERE", "NAMESPACE", "NAME", "KIND"]
    assert first.startswith("■") and rest[-1].startswith("●")
    assert {line.split()[1] for line in (first, *rest)} == {"atlas", "borealis"}
    assert "\x1b" not in ran.out


async def test_a_dead_target_is_named_and_does_not_fail_the_others(fleet: Fleet) -> None:
    ran = await fleet.quarterdeck("get", "services")
    assert ran.code == 0 and "heron" in ran.out
    assert "faro is unreachable" in ran.err and "connection refused" in ran.err


async def test_a_dead_target_that_was_asked_for_fails(fleet: Fleet) -> None:
    ran = await fleet.quarterdeck("get", "services", "-c", "faro")
    assert (ran.code, ran.out) == (1, "")
    assert "faro is unreachable" in ran.err


async def test_json_is_one_object_with_items_states_and_ages(fleet: Fleet) -> None:
    ran = await fleet.quarterdeck("get", "stacks", "-o", "json")
    document = json.loads(ran.out)
    assert ran.code == 0 and document["table"] == "stacks"
    market = next(item for item in document["items"] if item["ref"]["name"] == "market")
    assert market["health"] == "bad" and market["fresh"] is True
    states = {entry["name"]: entry for entry in document["connections"]}
    assert states["harbour"]["state"] == "live" and states["harbour"]["age_seconds"] >= 0
    assert states["faro"]["fresh"] is False and states["faro"]["age_seconds"] is None


async def test_names_are_one_id_a_line(fleet: Fleet) -> None:
    ran = await fleet.quarterdeck("get", "st", "-o", "name", "--sort", "name")
    names = [f"harbour:Stack/{name}" for name in ("batch", "mail", "market", "metrics")]
    assert ran.out.splitlines() == names
    ran = await fleet.quarterdeck("get", "st", "-o", "name", "--sort", "NAME", "-r")
    assert ran.out.splitlines() == names[::-1]


async def test_filters_narrow_and_an_empty_answer_says_why(fleet: Fleet) -> None:
    ran = await fleet.quarterdeck("get", "stacks", "mar", "!mail", "-o", "name")
    assert ran.out == "harbour:Stack/market\n"
    ran = await fleet.quarterdeck("get", "stacks", "--problems", "-o", "name")
    assert ran.out == "harbour:Stack/market\n"
    ran = await fleet.quarterdeck("get", "stacks", "nonsense")
    assert (ran.code, ran.out) == (0, "")
    assert "The filter hides 4 stacks." in ran.err


async def test_rows_of_one_connection_only(fleet: Fleet) -> None:
    ran = await fleet.quarterdeck("get", "containers", "-c", "tern", "-o", "name")
    assert ran.code == 0
    assert {line.partition(":")[0] for line in ran.out.splitlines()} == {"tern"}
    assert "faro" not in ran.err


async def test_an_unknown_connection_is_a_usage_error_with_the_nearest_name(fleet: Fleet) -> None:
    ran = await fleet.quarterdeck("get", "stacks", "-c", "harbor")
    assert ran.code == 2 and "Did you mean harbour?" in ran.err


async def test_kinds_that_may_not_be_listed_are_named(fleet: Fleet) -> None:
    await fleet.demo.fail("atlas", "forbidden:Kustomization")
    ran = await fleet.quarterdeck("get", "kustomizations", "-c", "atlas")
    assert ran.out == "" and "may not list Kustomization on atlas" in ran.err


@pytest.mark.parametrize("name", ["bridge", "activity", "operations", "connections", "workloads", "nodes"])
async def test_tables_over_several_platforms_print_all_their_columns(name: str, fleet: Fleet) -> None:
    ran = await fleet.quarterdeck("get", name, "-o", "wide")
    assert ran.code == 0
    heading = ran.out.splitlines()[0]
    for column in tables.TABLES[name].columns:
        assert column.title in heading


async def test_an_applier_on_the_bridge_is_spoken_for_by_its_trigger(fleet: Fleet) -> None:
    ran = await fleet.quarterdeck("get", "bridge", "-c", "atlas", "-o", "name")
    names = ran.out.splitlines()
    assert "atlas:FluxTrigger/team-a/storefront" in names
    assert "atlas:Kustomization/flux-system/storefront" not in names


async def test_on_a_terminal_lines_fit_and_are_coloured_unless_forbidden(fleet: Fleet) -> None:
    fleet.env.update(TERM="xterm", COLUMNS="80")
    ran = await fleet.quarterdeck("get", "triggers", "-c", "atlas", terminal=True)
    assert "\x1b[31m" in ran.out
    fleet.env["NO_COLOR"] = "1"
    ran = await fleet.quarterdeck("get", "triggers", "-c", "atlas", terminal=True)
    assert "\x1b" not in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


async def test_a_watch_tells_changes_until_it_is_stopped(fleet: Fleet) -> None:
    out = io.StringIO()
    options = parse(build_parser(COMMANDS), ["get", "pods", "-c", "atlas", "--watch", "-o", "json"])
    watching = asyncio.create_task(carry_out(options, Outside(env=fleet.env, out=out, err=io.StringIO())))
    try:
        async with asyncio.timeout(30):
            while "\n" not in out.getvalue():
                await asyncio.sleep(0.01)
            first = json.loads(out.getvalue())
            gone = next(item["ref"] for item in first["items"] if item["ref"]["name"].startswith("ledger"))
            store = fleet.demo.world.clusters["atlas"].store
            store.remove(store.by_word["Pod"], gone["namespace"], gone["name"])
            while '"gone"' not in out.getvalue():
                await asyncio.sleep(0.01)
    finally:
        watching.cancel()
        await asyncio.wait({watching})
    told = [json.loads(line) for line in out.getvalue().splitlines()[1:]]
    assert gone["name"] in [entry["item"]["ref"]["name"] for entry in told if entry["event"] == "gone"]


def test_nothing_to_connect_to_is_said(tmp_path: Path) -> None:
    ran = command("get", "stacks", env=isolated(tmp_path, DOCKER_HOST=""))
    assert ran.code == 2 and "nothing to connect to" in ran.err and "--demo" in ran.err


def test_the_demo_fleet_needs_nothing(tmp_path: Path) -> None:
    ran = command("get", "stacks", "--demo", "-o", "name", env=isolated(tmp_path))
    assert ran.code == 0 and "harbour:Stack/market" in ran.out


async def test_a_watch_does_not_keep_a_console_from_writing(fleet: Fleet) -> None:
    options = parse(build_parser(COMMANDS), [])
    async with opened(options, fleet.env, connect=(), only_reads=True) as watching:
        assert watching.runtime.journal is not None and not watching.runtime.journal.lease.held
        async with opened(options, fleet.env, connect=()) as console:
            assert console.runtime.journal is not None and console.runtime.journal.lease.held


async def test_what_is_done_to_the_demo_fleet_is_not_kept(tmp_path: Path) -> None:
    env = isolated(tmp_path)
    del env["QUARTERDECK_STATE_DIR"]
    async with opened(parse(build_parser(COMMANDS), ["--demo"]), env) as at:
        assert at.demo and at.state is not None and at.state.is_dir()
        assert at.state.name.startswith("quarterdeck-") and at.state.parent == Path(tempfile.gettempdir())
    assert not at.state.exists()


async def test_the_screen_falls_back_to_the_demo_fleet_only_when_nothing_is_found(tmp_path: Path, fleet: Fleet) -> None:
    nothing = parse(build_parser(COMMANDS), [])
    async with opened(nothing, isolated(tmp_path, DOCKER_HOST=""), connect=(), demo_if_empty=True) as at:
        assert at.demo and {target.name for target in at.targets} >= {"atlas", "harbour", "faro"}
        assert next(target for target in at.targets if target.name == "atlas").protected
    async with opened(nothing, fleet.env, connect=(), demo_if_empty=True) as at:
        assert not at.demo


def test_a_broken_fleet_file_stops_everything_with_all_its_problems(tmp_path: Path) -> None:
    fleet_file = tmp_path / "fleet.yaml"
    fleet_file.write_text("conections: []\ndiscover: some\n", encoding="utf-8")
    ran = command("get", "stacks", "--fleet", str(fleet_file), env=isolated(tmp_path))
    assert ran.code == 2
    assert f"{fleet_file}:1: conections: is no known key" in ran.err and f"{fleet_file}:2: discover" in ran.err
    ran = command("get", "stacks", "--fleet", str(tmp_path / "none.yaml"), env=isolated(tmp_path))
    assert ran.code == 2 and "no fleet file" in ran.err
