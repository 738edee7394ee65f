"""Why a confirmed plan is not carried out. Apart from the write path, so that the screen can know them without loading it."""

from __future__ import annotations

from console.errors import Refused, WorldMoved
from console.model.plan import Plan


class MovedOn(WorldMoved):
    """The plan no longer fits the world; :attr:`fresh` is what would be done now."""

    def __init__(self, message: str, fresh: Plan) -> None:
        super().__init__(message, "Look at the new plan and confirm that one.")
        self.fresh = fresh


class Busy(Refused):
    """Another operation of this console writes to the object; :attr:`operation` is its id."""

    def __init__(self, message: str, operation: str) -> None:
        super().__init__(message, "Wait for it or cancel it.")
        self.operation = operation
