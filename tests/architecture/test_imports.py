"""What is loaded when: engines and headless commands never load the screen, the screen nothing heavy before its first paint."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCREEN = ("textual", "rich")
HEAVY = ("kubernetes", "docker", "requests", "aiohttp", "pydantic")


def loaded_after(statement: str, *names: str) -> list[str]:
    script = f"import sys\n{statement}\nprint(*[name for name in {names!r} if name in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return ended.stdout.split()


@pytest.mark.parametrize(
    "module",
    ["console.engines.graph", "console.engines.dispatch", "console.runtime.runtime", "console.demo.fleet", "console.cli"],
)
def test_headless_modules_never_load_the_screen(module: str) -> None:
    assert loaded_after(f"import {module}", *SCREEN, *HEAVY) == []


def test_the_screen_loads_no_wire_before_its_first_paint() -> None:
    assert loaded_after("import console.ui.app", "httpx", "console.demo", "sqlite3", *HEAVY) == []
