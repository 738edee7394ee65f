"""A plan on the command line: shown, confirmed, begun, followed; the answer is how it ended."""

from __future__ import annotations

import asyncio
import signal
import sys

from console.cli.command import Options, Outside
from console.cli.exits import Exit
from console.cli.plan_printing import outcome, plan_lines
from console.errors import Refused
from console.kit.sanitize import sanitize
from console.model.operations import Operation, State
from console.model.plan import Plan, Strength
from console.runtime.runtime import Runtime


async def carry_out(runtime: Runtime, plan: Plan, options: Options, outside: Outside) -> Exit:
    """Show ``plan`` on standard error, have it confirmed, do it; the outcome goes to standard output.

    :raises Refused: not confirmed, or the write path says no.
    """
    for line in plan_lines(plan):
        outside.err.write(f"{line}\n")
    if not plan.steps:
        return Exit.DONE
    typed = await _confirmed(plan, options, outside)
    name = plan.intent.connection
    runtime.arming.arm(name, protected=plan.protected)
    identity = await runtime.commands.run(plan, typed, why=options.why)
    outside.say(f"operation {identity[:12]}")
    # Ctrl-C asks for a stop between calls; what was sent is followed to its answer and journaled.
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, runtime.commands.cancel, identity)
    unsubscribe = runtime.store.subscribe({"Operation"}, _Progress(runtime, identity, outside))
    try:
        state = await runtime.commands.wait(identity)
    finally:
        unsubscribe()
        loop.remove_signal_handler(signal.SIGINT)
    ended = _find(runtime, identity)
    outside.out.write(sanitize(f"{outcome(state)}: {ended.message if ended else state.value}") + "\n")
    return Exit.DONE if state is State.SUCCEEDED else Exit.FAILED


async def _confirmed(plan: Plan, options: Options, outside: Outside) -> str:
    """What counts as typed; asks on a terminal."""
    if plan.strength is Strength.REFUSED:
        raise Refused(plan.forbidden)
    if options.plan_hash:
        if options.plan_hash != plan.hash:
            raise Refused(f"The plan is {plan.hash} now, not {options.plan_hash}.", "The world moved: look at the plan again.")
        if options.yes:
            return plan.confirmation
    elif options.yes:
        if plan.strength is Strength.NAME:
            hint = f"Look at the plan, then add --plan-hash {plan.hash}."
            raise Refused("--yes alone does not confirm this plan: what it does is too far-reaching.", hint)
        return plan.confirmation
    if not sys.stdin.isatty():
        raise Refused("Not confirmed: there is no terminal to ask on.", "Add --yes, and --plan-hash with the plan's hash.")
    asked = "Type yes to go on: " if not plan.confirmation else f"Type {sanitize(plan.confirmation)} to go on: "
    outside.err.write(asked)
    outside.err.flush()
    typed: str = (await asyncio.to_thread(sys.stdin.readline)).strip()
    if plan.confirmation:
        return typed
    if typed != "yes":
        raise Refused("Not confirmed: nothing was done.")
    return ""


def _find(runtime: Runtime, identity: str) -> Operation | None:
    found = (item for item in runtime.store.of("Operation").values() if item.ref.uid == identity)
    return next((item for item in found if isinstance(item, Operation)), None)


class _Progress:
    """Says on standard error what an operation waits for, each thing once."""

    def __init__(self, runtime: Runtime, identity: str, outside: Outside) -> None:
        self._runtime = runtime
        self._identity = identity
        self._outside = outside
        self._said = ""

    def __call__(self, _: object) -> None:
        operation = _find(self._runtime, self._identity)
        if operation is None or operation.state.ended:
            return
        words = operation.waiting_for or operation.step
        if words and words != self._said:
            self._said = words
            self._outside.say(sanitize(words))
