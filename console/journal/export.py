"""The journal as a report: JSON for programs, Markdown for the page after the incident."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from console.journal.records import OperationRecord
from console.kit.sanitize import sanitize


def as_json(records: Iterable[OperationRecord]) -> str:
    """One object with ``items``, newest first, times in RFC 3339."""
    return msgspec.json.format(msgspec.json.encode({"items": list(records)}), indent=2).decode()


def as_markdown(records: Iterable[OperationRecord]) -> str:
    """A section an operation: what, by whom, why, each step with its result and duration."""
    sections = [_section(record) for record in records]
    return "\n".join(["# Operations", *(sections or ["", "None."])]) + "\n"


def _section(record: OperationRecord) -> str:
    target = record.target
    lines = [
        "",
        f"## {_cell(record.plan.intent.verb)} {_cell(target.kind)} {_cell(target.path)} on {_cell(target.connection)}",
        "",
        f"- state: **{record.state.value}** {_cell(record.message)}".rstrip(),
        f"- begun: {record.started:%Y-%m-%d %H:%M:%S} UTC"
        + (f", ended {record.ended:%H:%M:%S}" if record.ended else ", not ended"),
        f"- by: {_cell(str(record.who))}",
    ]
    if record.why:
        lines.append(f"- why: {_cell(record.why)}")
    lines.append(f"- plan: `{record.plan_hash}`, operation `{record.id[:12]}`" + (", undone since" if record.undone else ""))
    if record.steps:
        lines += ["", "| step | state | detail | seconds |", "|---|---|---|---|"]
        for step in record.steps:
            took = f"{(step.ended - step.started).total_seconds():.1f}" if step.started and step.ended else ""
            lines.append(f"| {_cell(step.title)} | {step.state.value} | {_cell(step.detail)} | {took} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return sanitize(text).replace("|", "\\|")
