"""The engine's page shows a program that works as printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "graph.md"


def blocks(language: str) -> list[str]:
    """The page's code blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_example_prints_what_the_page_says() -> None:
    (program,), printed = blocks("python"), blocks("text")[0]
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=PAGE.parents[1],
    )
    assert (ran.stdout, ran.stderr) == (printed, "")


def test_the_example_is_about_thirty_lines() -> None:
    (program,) = blocks("python")
    assert len([line for line in program.splitlines() if line.strip()]) <= 30


def test_the_engine_loads_no_screen_and_no_wire() -> None:
    check = (
        "import sys, console.engines.graph, console.views.graph_tree, console.model.graph_progress;"
        "print(sorted({'textual', 'rich', 'httpx', 'cryptography', 'kubernetes', 'pydantic'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True, timeout=120, cwd=PAGE.parents[1]
    )
    assert ran.stdout.strip() == "[]"
