"""Asking for a hold's note, and putting it on an applier or taking it away."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from console.errors import Refused
from console.kit.dig import text
from console.model.holds import HOLD_NOTE, HoldNote, parse_note
from console.model.plan import Intent

_SPAN = re.compile(r"(\d{1,4})([mhd])")
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def asked(intent: Intent, now: datetime) -> HoldNote:
    """The note that an intent asks for; whoever carries it out is filled in then.

    :raises Refused: ``until`` is no time.
    """
    return HoldNote(why=intent.reason, until=until(intent.arguments.get("until", ""), now))


def until(said: str, now: datetime) -> str:
    """``2h``, ``30m``, ``14:00`` (UTC, today or tomorrow) or RFC 3339 as RFC 3339 to the minute; "" stays "".

    :raises Refused: it is none of these, or past.
    """
    said = said.strip()
    if not said:
        return ""
    if span := _SPAN.fullmatch(said):
        end = now + timedelta(**{_UNITS[span[2]]: int(span[1])})
    elif clock := _CLOCK.fullmatch(said):
        end = now.astimezone(UTC).replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0)
        end = end if end > now else end + timedelta(days=1)
    else:
        try:
            end = datetime.fromisoformat(said)
        except ValueError as error:
            raise Refused(f"{said!r} is no time.", "Write 2h, 30m, 1d, 14:00 (UTC) or a full date.") from error
        end = end if end.tzinfo else end.replace(tzinfo=UTC)
    if end <= now:
        raise Refused(f"{said!r} is past.")
    return f"{end.astimezone(UTC):%Y-%m-%dT%H:%MZ}"


def read_note(raw: dict[str, Any]) -> HoldNote:
    """The note on an applier; an empty one if there is none or it can't be read."""
    return parse_note(text(raw, "metadata", "annotations", HOLD_NOTE))


def note_patch(note: HoldNote | None) -> dict[str, Any]:
    """The merge patch that leaves or takes away the note."""
    value = json.dumps(msgspec.to_builtins(note), sort_keys=True) if note is not None else None
    return {"metadata": {"annotations": {HOLD_NOTE: value}}}
