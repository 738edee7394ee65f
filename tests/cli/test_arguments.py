from __future__ import annotations

from pathlib import Path

import pytest

from console import __version__
from console.cli.parser import build_parser, parse
from console.cli.registry import COMMANDS
from tests.cli.running import command, isolated


@pytest.mark.parametrize("line", ["--demo get triggers", "get --demo triggers", "get triggers --demo"])
def test_common_options_may_stand_anywhere(line: str) -> None:
    options = parse(build_parser(COMMANDS), line.split())
    assert options.demo and options.command == "get" and options.table == "triggers"
    assert options.fleet is None and not options.read_only


def test_a_common_option_before_the_command_is_not_lost() -> None:
    options = parse(build_parser(COMMANDS), ["--fleet", "f.yaml", "--read-only", "get", "pods"])
    assert options.fleet == Path("f.yaml") and options.read_only


def test_words_of_a_filter_may_stand_after_options() -> None:
    options = parse(build_parser(COMMANDS), ["get", "pods", "web", "-c", "atlas", "!cart", "--demo"])
    assert options.filter == ["web", "!cart"] and options.connection == ["atlas"] and options.demo


def test_no_command_means_the_screen() -> None:
    assert parse(build_parser(COMMANDS), []).command == ""


def test_version_and_help_end_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--version", env=isolated(tmp_path)).code == 0
    assert capsys.readouterr().out == f"quarterdeck {__version__}\n"
    for arguments in (["--help"], ["get", "--help"], ["doctor", "--help"], ["completion", "--help"], ["demo", "--help"]):
        assert command(*arguments, env=isolated(tmp_path)).code == 0
        assert "--read-only" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("get stak", "Did you mean stack"),
        ("get zzzzz", "There are: bridge"),
        ("get stacks --sort nonsense", "stacks have no column nonsense"),
        ("get stacks -l =x", "The filter can't be understood"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(line: str, told: str, tmp_path: Path) -> None:
    ran = command(*line.split(), env=isolated(tmp_path))
    assert ran.code == 2
    assert told in ran.err and ran.out == ""


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "get",
        "get stacks -o xml",
        "get stacks web --nonsense",
        "doctor extra",
        "get stacks --nonsense x",
        "completion nonsense",
        "get stacks --timeout soon",
    ],
)
def test_wrong_arguments_end_with_2(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(*line.split(), env=isolated(tmp_path)).code == 2
    assert "usage: quarterdeck" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_knows_commands_and_tables(shell: str, tmp_path: Path) -> None:
    ran = command("completion", shell, env=isolated(tmp_path))
    assert ran.code == 0
    assert "quarterdeck" in ran.out and "swarmservices" in ran.out and "doctor" in ran.out


def test_the_screen_without_a_terminal_is_refused(tmp_path: Path) -> None:
    ran = command(env=isolated(tmp_path))
    assert ran.code == 2 and "needs a terminal" in ran.err
