"""The benchmarks can be named without running one. What they print is never judged by a test."""

from __future__ import annotations

import pytest

from tests.bench.__main__ import main
from tests.bench.catalogue import BENCHES
from tests.bench.figures import Figure, line


def test_the_benchmarks_are_listed_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [text.split()[0] for text in said] == [bench.name for bench in BENCHES]


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert "nonsense" in capsys.readouterr().err


def test_a_figure_is_a_line_with_its_spread_and_its_demand() -> None:
    assert line(Figure("first paint", [300.0, 310.0, 1200.0], "ms", "<= 350")).split() == [
        *("first", "paint", "310", "ms", "300..1,200", "of", "3", "<=", "350")
    ]
