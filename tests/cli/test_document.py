from __future__ import annotations

from pathlib import Path

from console.cli.exits import Exit
from console.cli.registry import COMMANDS
from console.views import tables

TEXT = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


def test_every_command_table_and_exit_code_is_documented() -> None:
    for command in COMMANDS:
        assert f"quarterdeck {command.name}" in TEXT
    for name in tables.TABLES:
        assert f"`{name}`" in TEXT
    for code in Exit:
        assert f"| {code.value} |" in TEXT
