"""All commands, in the order of the help. A new one is a module with a ``COMMAND`` and a line here."""

from __future__ import annotations

from console.cli import (
    adopt,
    completion,
    demo,
    describe,
    diff,
    dispatch,
    doctor,
    get,
    journal,
    operations,
    plan,
    run,
    shortcuts,
    undo,
)
from console.cli.command import Command

COMMANDS: tuple[Command, ...] = (
    get.COMMAND,
    describe.COMMAND,
    plan.COMMAND,
    run.COMMAND,
    undo.COMMAND,
    shortcuts.RESTART,
    shortcuts.ROLLBACK,
    diff.COMMAND,
    dispatch.APPLY,
    dispatch.HOLD,
    dispatch.RELEASE,
    adopt.COMMAND,
    operations.COMMAND,
    journal.COMMAND,
    doctor.COMMAND,
    demo.COMMAND,
    completion.COMMAND,
)
