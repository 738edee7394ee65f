"""Keeping a Kustomization suspended between operations: one look, at most one write, and what ``Held`` is after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from console.engines.dispatch.constants import ConditionReason
from console.engines.dispatch.flux import FluxClient
from console.engines.dispatch.judgement import Condition
from console.engines.dispatch.types import ObjectName, Operation, Suspension, TriggerRef


class Following(Protocol):
    """The dispatcher as whoever keeps a hold sees it."""

    def following(self, trigger: TriggerRef, token: str) -> bool:
        """Whether an attempt of this process carries out or watches the operation of this token."""
        ...


def followed(following: Following, trigger: TriggerRef, operation: Operation | None) -> bool:
    """Whether the Kustomization is resumed on purpose and will be suspended by whoever follows the operation."""
    return operation is not None and operation.in_flight and following.following(trigger, operation.token)


def _unseen(_: Suspension) -> None:
    return None


async def keep_held(
    flux: FluxClient, ref: ObjectName, *, applying: bool, fresh: bool, seen: Callable[[Suspension], None] = _unseen
) -> tuple[Condition, bool]:
    """Suspend the Kustomization unless an operation that somebody follows has it resumed.

    :param applying: such an operation is under way. :param fresh: it is taken into hold only now, so that finding it resumed
        is no surprise. :param seen: gets what was read, before anything is written.
    :returns: the condition ``Held``, and whether to look again soon.
    :raises DispatchError: it could not be read or suspended.
    """
    if applying:
        return Condition("True", ConditionReason.APPLYING, "an operation has it resumed"), True
    suspension = await flux.suspension(ref)
    seen(suspension)
    if suspension.complete:
        return Condition("True", ConditionReason.SUSPENDED), False
    if suspension.suspended and suspension.held:
        return Condition("False", ConditionReason.SUSPENDING, "the suspend is not handled yet"), True
    await flux.suspend(ref)
    expected = fresh or suspension.suspended
    reason = ConditionReason.SUSPENDING if expected else ConditionReason.RESUMED
    return Condition("False", reason, "it was suspended just now"), True
