"""The wheel is whole: installed outside the checkout it has its themes, its types and its command."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # hatchling is one of the test dependencies, so nothing is fetched for the build.
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return next(folder.glob("quarterdeck-*.whl"))


def test_the_wheel_holds_package_themes_and_type_marker_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "console/py.typed" in names
    assert len([name for name in names if name.startswith("console/_themes/") and name.endswith(".toml")]) >= 8
    assert {name.partition("/")[0] for name in names} == {"console", next(n for n in names if ".dist-info/" in n).split("/")[0]}


def test_the_installed_wheel_lists_its_themes_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    # The wheel alone goes into a new environment; its dependencies are those of the one that runs the tests.
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"], capture_output=True, text=True, check=True
    ).stdout.strip()
    zipfile.ZipFile(wheel).extractall(site)
    ours = subprocess.run(
        [sys.executable, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    Path(site, "test-dependencies.pth").write_text(ours + "\n")
    script = (
        "import console; from console.ui.themes import load_themes, packaged_folder\n"
        "print(console.__file__, len(load_themes([packaged_folder()])[0]))"
    )
    ended = subprocess.run([python, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    place, count = ended.stdout.split()
    assert Path(place).is_relative_to(tmp_path)
    assert int(count) >= 8
