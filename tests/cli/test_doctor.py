from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Fleet
from tests.cli.running import command, isolated


async def test_it_says_of_each_connection_what_was_tried_and_what_to_do(fleet: Fleet) -> None:
    ran = await fleet.quarterdeck("doctor")
    assert ran.code == 1
    assert "● atlas  live  kubernetes · Kubernetes v" in ran.out
    assert "■ faro  unreachable" in ran.out and "connection refused" in ran.out
    assert "6 of 7 connections can be read." in ran.out
    assert "fleet.yaml (not there)" in ran.out and "\x1b" not in ran.out


async def test_it_ends_well_when_everything_asked_about_is_well(fleet: Fleet) -> None:
    ran = await fleet.quarterdeck("doctor", "-c", "atlas", "-c", "heron")
    assert ran.code == 0 and "2 of 2 connections can be read." in ran.out


async def test_refused_credentials_say_to_log_in(fleet: Fleet) -> None:
    await fleet.demo.fail("borealis", "unauthorized")
    ran = await fleet.quarterdeck("doctor", "-c", "borealis", "-o", "json")
    (entry,) = json.loads(ran.out)["connections"]
    assert ran.code == 1 and entry["state"] == "login expired" and not entry["fresh"]
    assert entry["hint"] or entry["next"]


async def test_the_report_for_machines_names_files_and_problems(fleet: Fleet) -> None:
    (Path(fleet.env["KUBECONFIG"])).write_text("contexts: 7\n", encoding="utf-8")
    ran = await fleet.quarterdeck("doctor", "-o", "json")
    report = json.loads(ran.out)
    assert ran.code == 1 and report["problems"]
    assert report["files"]["settings"]["there"] is False
    assert {entry["name"] for entry in report["connections"]} >= {"harbour", "heron"}


def test_a_broken_configuration_is_part_of_the_report(tmp_path: Path) -> None:
    env = isolated(tmp_path, DOCKER_HOST="")
    folder = Path(env["QUARTERDECK_CONFIG_DIR"])
    folder.mkdir()
    (folder / "config.toml").write_text("[look]\nthem = 1\n", encoding="utf-8")
    ran = command("doctor", env=env)
    assert ran.code == 1 and "look.them: is no known key (did you mean theme?)" in ran.out


def test_nothing_found_is_a_problem_with_a_way_out(tmp_path: Path) -> None:
    ran = command("doctor", env=isolated(tmp_path, DOCKER_HOST=""))
    assert ran.code == 1 and "nothing to connect to" in ran.out
