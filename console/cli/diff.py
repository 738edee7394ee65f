"""``quarterdeck diff``: what applying a commit would change, and nothing else."""

from __future__ import annotations

import argparse

import msgspec

from console.cli.command import Command, Options, Outside
from console.cli.exits import Exit
from console.cli.triggers import COMMIT_HELP, entry_of, trigger_argument
from console.errors import NotFound
from console.kit.sanitize import sanitize
from console.model.commits import ChangePreview

_WORDS = (
    ("create", "would be created"),
    ("update", "would change"),
    ("delete", "would be deleted"),
    ("unknown", "can't be told"),
    ("same", "would stay the same"),
)


def _arguments(parser: argparse.ArgumentParser) -> None:
    trigger_argument(parser)
    parser.add_argument("--commit", metavar="SHA", default="", help=COMMIT_HELP)
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="how to print")
    parser.add_argument("--all", action="store_true", help="print objects that stay as they are, too")
    parser.add_argument("--timeout", type=float, default=20.0, metavar="SECONDS", help="how long to wait for the target (20)")


async def _run(options: Options, outside: Outside) -> Exit:
    from console.cli import documents
    from console.cli.compose import opened
    from console.cli.intents import find
    from console.cli.triggers import commit_of

    entry = entry_of(options, outside)
    async with opened(options, outside.env, connect=[entry.connection], only_reads=True) as at:
        (ref,) = await find(at, entry.connection, [(entry.applier_kind, entry.namespace, entry.object)], options.timeout)
        commit = await commit_of(at.runtime, ref, options.commit)
        if not commit:
            raise NotFound(f"What the source of {entry.name} has can't be told.", "Give the commit: --commit SHA.")
        preview = await at.runtime.preview(ref, commit)
    if options.output == "json":
        found = {**msgspec.to_builtins(preview), "trigger": entry.name, "applier": str(ref)}
        outside.out.write(documents.text(found))
    else:
        outside.out.writelines(f"{sanitize(line)}\n" for line in diff_lines(preview, everything=options.all))
        for note in preview.notes:
            outside.say(note)
    return exit_of(preview)


def exit_of(preview: ChangePreview) -> Exit:
    """What scripts go by: nothing is called unchanged while something can't be told."""
    if any(preview.count(change) for change in ("create", "update", "delete")):
        return Exit.CHANGES
    return Exit.FAILED if preview.count("unknown") else Exit.DONE


def diff_lines(preview: ChangePreview, *, everything: bool = False) -> list[str]:
    """A preview as plain text, an object and each of its fields a line."""
    commit = preview.commit
    about = f"{commit.subject} ({commit.author})" if commit.subject else f"({commit.unread})" if commit.unread else ""
    lines = [f"{commit.hash} {about}".rstrip()]
    width = max((len(item.change) for item in preview.objects), default=0)
    for item in preview.objects:
        if item.change == "same" and not (everything or item.said):
            continue
        lines.append(f"  {item.change:{width}}  {item.what}{f'  ({item.said})' if item.said else ''}")
        lines += [f"      {field.path}: {field.before} -> {field.after}" for field in item.fields]
    said = [f"{preview.count(change)} {words}" for change, words in _WORDS if preview.count(change)]
    return [*lines, f"{', '.join(said)}." if said else "The commit has no objects."]


COMMAND = Command(
    name="diff",
    help="show what applying a commit would change",
    description="Build the files of a commit as the trigger's applier does, and ask the API server by dry run what each object "
    "would become. Nothing is stored. The exit code is 3 if something would change, 1 if that can't be told of everything.",
    arguments=_arguments,
    run=_run,
    examples=("quarterdeck diff shop", "quarterdeck diff shop --commit head -o json"),
)
