"""Who holds an applier, why and until when: a note on the applier itself, so that everybody's lists show it.

The note is for people. The hold itself is the field ownership of ``spec.suspend`` and the engine's own record, another
annotation.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

HOLD_NOTE = "quarterdeck/hold"
DISPATCH_RECORD = "quarterdeck/dispatch"
# Under these names dispatch engines own ``spec.suspend``: ours for triggers declared here, and that of custom triggers.
LOCAL_HOLDER = "quarterdeck-dispatch"
TRIGGER_HOLDER = "gitops-reverser"


class HoldNote(msgspec.Struct, frozen=True):
    """``until`` is RFC 3339 or "" (until released)."""

    by: str = ""
    why: str = ""
    until: str = ""

    def words(self) -> str:
        """One line for lists and plans; "" when there is no note."""
        return ", ".join(part for part in (self.who(), f"until {self.until}" if self.until else "") if part)

    def who(self) -> str:
        """By whom and why."""
        return ", ".join(part for part in (self.by, self.why) if part)

    def end(self) -> datetime | None:
        """``until`` as an instant in UTC; None when there is none or it can't be read."""
        try:
            found = datetime.fromisoformat(self.until)
        except ValueError:
            return None
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


class HeldOperation(msgspec.Struct, frozen=True, rename="camel"):
    """The operation in the engine's record, as far as others need to know it."""

    token: str = ""
    commit: str = ""
    reason: str = ""
    outcome: str = ""
    completed_at: str = ""
    message: str = ""


class HoldRecord(msgspec.Struct, frozen=True):
    """What a list or another plan needs to know of the engine's record on an applier."""

    holding: bool = False
    operation: HeldOperation | None = None


def parse_note(text: str) -> HoldNote:
    """The note in an annotation; an empty one if there is none or it can't be read."""
    try:
        return msgspec.json.decode(text or "{}", type=HoldNote)
    except msgspec.MsgspecError:
        return HoldNote()


def says_holding(text: str) -> bool:
    """Whether the engine's record in an annotation says that a console holds the applier; an unreadable one says nothing."""
    try:
        return msgspec.json.decode(text or "{}", type=HoldRecord).holding
    except msgspec.MsgspecError:
        return False


def found_apply(text: str) -> HeldOperation | None:
    """The apply of somebody else that the engine found and put on its record; None if the last one is another."""
    try:
        operation = msgspec.json.decode(text or "{}", type=HoldRecord).operation
    except msgspec.MsgspecError:
        return None
    return operation if operation is not None and operation.reason == "External" else None


def commit_in_flight(text: str) -> str:
    """The commit that the engine's record in an annotation says is being applied now; "" if none is."""
    try:
        operation = msgspec.json.decode(text or "{}", type=HoldRecord).operation
    except msgspec.MsgspecError:
        return ""
    if operation is None or operation.outcome in ("Succeeded", "Failed"):
        return ""
    return operation.commit or "no commit"
