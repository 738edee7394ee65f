"""The pictures of the documentation are there and are pictures of this console."""

from __future__ import annotations

import pytest

from tests.screenshots import FOLDER, SHOTS, Shot, settle_names


@pytest.mark.parametrize("shot", SHOTS, ids=lambda shot: shot.name)
def test_every_picture_was_taken(shot: Shot) -> None:
    svg = (FOLDER / f"{shot.name}.svg").read_text(encoding="utf-8")
    assert "quarterdeck" in svg
    assert svg == settle_names(svg), "what differs from run to run is left out"


def test_no_picture_is_left_over() -> None:
    assert {path.stem for path in FOLDER.glob("*.svg")} == {shot.name for shot in SHOTS}
