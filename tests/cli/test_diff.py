"""What a commit would change, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console.cli.diff import diff_lines, exit_of
from console.cli.exits import Exit
from console.model.commits import ChangePreview, CommitInfo, ObjectChange
from console.model.plan import FieldChange
from tests.cli.running import awaited, isolated

COMMIT = CommitInfo(hash="4be19d0c" * 5, subject="Turn the new checkout on", author="Ana Prieto")


def preview(*changes: str) -> ChangePreview:
    field = FieldChange(path="spec.replicas", before="2", after="3")
    return ChangePreview(
        commit=COMMIT,
        objects=tuple(
            ObjectChange(what=f"Deployment shop/{change}", change=change, fields=(field,) if change == "update" else ())
            for change in changes
        ),
    )


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ((), Exit.DONE),
        (("same",), Exit.DONE),
        (("same", "update"), Exit.CHANGES),
        (("create",), Exit.CHANGES),
        (("delete", "unknown"), Exit.CHANGES),
        (("same", "unknown"), Exit.FAILED),
    ],
)
def test_the_exit_code_never_calls_unchanged_what_can_not_be_told(changes: tuple[str, ...], code: Exit) -> None:
    assert exit_of(preview(*changes)) is code


def test_a_diff_is_read_object_by_object_and_summed_up() -> None:
    lines = diff_lines(preview("update", "same", "unknown"))
    assert lines[0] == f"{COMMIT.hash} Turn the new checkout on (Ana Prieto)"
    assert "  update   Deployment shop/update" in lines and "      spec.replicas: 2 -> 3" in lines
    assert not any("shop/same" in line for line in lines)
    assert lines[-1] == "1 would change, 1 can't be told, 1 would stay the same."
    assert any("shop/same" in line for line in diff_lines(preview("same"), everything=True))
    assert diff_lines(preview())[-1] == "The commit has no objects."


async def test_the_demo_has_something_to_compare(tmp_path: Path) -> None:
    env = isolated(tmp_path)
    shown = await awaited("--demo", "diff", "search", "--all", env=env)
    assert shown.code == 0, shown.err
    assert "Deployment search/search-indexer" in shown.out and "1 would stay the same." in shown.out
    found = await awaited("--demo", "diff", "search", "--commit", shown.out[:7], "-o", "json", env=env)
    document = json.loads(found.out)
    assert document["commit"]["hash"] == shown.out[:40] and document["commit"]["subject"]
    assert [item["change"] for item in document["objects"]] == ["same"]
    head = await awaited("--demo", "diff", "search", "--commit", "head", env=env)
    assert head.code == 0 and head.out.startswith(shown.out[:40])


async def test_what_is_no_trigger_or_no_offered_commit_is_a_usage_error(tmp_path: Path) -> None:
    env = isolated(tmp_path)
    nobody = await awaited("--demo", "diff", "serch", env=env)
    assert nobody.code == 2 and "Did you mean search?" in nobody.err
    wrong = await awaited("--demo", "diff", "search", "--commit", "abcdef", env=env)
    assert wrong.code == 2 and "There are:" in wrong.err
