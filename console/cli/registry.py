"""All commands, in the order of the help. A new one is a module with a ``COMMAND`` and a line here."""

from __future__ import annotations

from console.cli import completion, demo, describe, diff, dispatch, doctor, get, journal, plan, run, undo
from console.cli.command import Command

COMMANDS: tuple[Command, ...] = (
    get.COMMAND,
    describe.COMMAND,
    plan.COMMAND,
    run.COMMAND,
    undo.COMMAND,
    diff.COMMAND,
    dispatch.APPLY,
    dispatch.HOLD,
    dispatch.RELEASE,
    journal.COMMAND,
    doctor.COMMAND,
    demo.COMMAND,
    completion.COMMAND,
)
