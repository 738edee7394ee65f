"""The rules of the code base that tools can hold: layers, lint, types, file sizes, no broad excepts."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Where an unknown exception must not end the program: the keeper of tasks, the controller loop, the bridge to the screen.
MAY_CATCH_ALL = {"console/kit/supervisor.py", "console/ui/bridge.py"}
LONGEST = 350


def tool(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize(
    "command",
    [("ruff", "check", "console", "tests"), ("ruff", "format", "--check", "console", "tests")],
    ids=["lint", "format"],
)
def test_ruff_finds_nothing(command: tuple[str, ...]) -> None:
    ended = tool(*command)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_strict_typing_holds_for_the_console_and_its_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    ended = tool("mypy", "--cache-dir", str(tmp_path_factory.mktemp("mypy")))
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_lower_layer_never_imports_a_higher_one() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "import sys; from importlinter.cli import lint_imports_command as run; run()", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("path", sources("console", "tests"), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_holds_one_idea(path: Path) -> None:
    lines = path.read_text().count("\n")
    assert lines <= LONGEST, f"{lines} lines: split by idea"


def test_only_three_places_catch_everything() -> None:
    found = set()
    for path in sources("console"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ExceptHandler):
                continue
            names = [node.type.id] if isinstance(node.type, ast.Name) else []
            broad = node.type is None or "Exception" in names or "BaseException" in names
            # What cleans up and raises again hides nothing.
            raises_again = any(isinstance(inner, ast.Raise) and inner.exc is None for inner in ast.walk(node))
            if broad and not raises_again:
                found.add(str(path.relative_to(ROOT)))
    assert found <= MAY_CATCH_ALL


def test_a_package_says_what_belongs_in_it_and_nothing_else() -> None:
    for path in sources("console"):
        if path.name == "__init__.py":
            tree = ast.parse(path.read_text())
            assert ast.get_docstring(tree), path


def test_the_one_sanitizer_and_the_one_mask_have_no_rivals() -> None:
    for path in sources("console"):
        text = path.read_text()
        relative = str(path.relative_to(ROOT))
        if relative not in {"console/kit/sanitize.py", "console/kit/masking.py"}:
            assert "\\x1b[" not in text or relative.startswith(("console/demo/", "console/ui/")), relative
            assert "def mask" not in text, relative
            assert "def sanitize" not in text, relative
