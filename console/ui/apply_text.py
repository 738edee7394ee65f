"""What can be applied and what that would change, as lines: offered commits, reasons, and a dry run by object. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from console.kit.masking import mask_text
from console.kit.sanitize import sanitize
from console.model.commits import ApplyOffer, ChangePreview, CommitInfo, CommitOffer, ObjectChange
from console.model.refs import Ref
from console.ui.plan_text import change_lines
from console.ui.text import Line, Part, line, width
from console.ui.widgets.pick_list import Pick
from console.views import formats, words

OTHER = "other"
"""The key of the entry for a commit that is typed."""
_FULL = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_CHANGES = {
    "delete": ("−", "bad", "deleted"),
    "create": ("+", "ok", "created"),
    "update": ("~", "warn", "changed"),
    "unknown": ("?", "held", "not known"),
    "same": ("=", "muted", "the same"),
}
_MOST_SAME = 8


def headline(ref: Ref, *, only_look: bool) -> tuple[Part, ...]:
    """What the dialog is about, in one line."""
    verb = "What a commit would change: " if only_look else "Apply a commit: "
    return (
        Part(verb),
        Part(sanitize(f"{words.kind_word(ref.kind)} {ref.path}"), "plain", True),
        Part(" on "),
        Part(sanitize(ref.connection), "accent", True),
    )


def facts(offer: ApplyOffer, room: int) -> tuple[Part, ...]:
    """Where it applies from, and what is applied now; in one line if ``room`` allows."""
    applied = next((item.commit for item in offer.commits if item.commit.hash == offer.applied), None)
    repository, at, branch = offer.binding.rpartition("@")
    source = f"{formats.repository(repository)}@{branch}" if at and "/" not in branch else formats.repository(offer.binding)
    parts = [Part("from ", "muted"), Part(sanitize(mask_text(source))), Part("   applied now ", "muted")]
    if not offer.applied:
        return (*parts, Part("nothing yet", "warn"))
    parts.append(Part(formats.short_sha(offer.applied), "plain", True))
    told = sanitize(mask_text(applied.subject)) if applied is not None else ""
    return (*parts, Part(formats.clipped(f" {told}", room - width(parts)) if told else "", "muted"))


def notes(offer: ApplyOffer) -> tuple[Part, ...]:
    """What stands in the way of everything, loudly, then what else is to be known."""
    stop = refusal_of_all(offer)
    parts = [Part(f"■ {sanitize(mask_text(stop))}  ", "bad")] if stop else []
    others = [note for note in offer.notes if note.strip() and note != stop]
    return (*parts, *(Part(f"{sanitize(mask_text(note.strip()))}  ", "muted" if stop else "warn") for note in others))


def refusal_of_all(offer: ApplyOffer) -> str:
    """Why nothing at all can be applied now; "" if some commit can be."""
    refusals = {item.refused for item in offer.commits} | {item.refused for item in offer.reasons}
    return refusals.pop() if len(refusals) == 1 else ""


def full_hash(text: str) -> str:
    """A typed hash as Git writes it; "" if it is none."""
    found = text.strip().lower()
    return found if _FULL.fullmatch(found) else ""


def what_is_wrong(text: str) -> str:
    """Why a typed text is no full hash, as a sentence; "" if it is one."""
    typed = text.strip()
    if full_hash(typed):
        return ""
    if not typed:
        return "Type the full hash of the commit: 40 or 64 hex digits."
    if re.fullmatch(r"[0-9a-fA-F]+", typed):
        return f"That are {len(typed)} digits; a full hash has 40 or 64."
    return "A hash has only the digits 0-9 and a-f."


def commit_picks(offer: ApplyOffer, now: datetime, room: int) -> list[Pick]:
    """One pick for each offered commit, and one for another that is typed."""
    stop = refusal_of_all(offer)
    picks = [
        Pick(key=item.commit.hash, lines=tuple(_commit_lines(item, now, room, stop)), refused=item.refused)
        for item in offer.commits
    ]
    other = line(Part("another  ", "plain"), Part("one that isn't listed: type its full hash", "muted"), indent=9)
    return [*picks, Pick(key=OTHER, lines=(other,))]


def _commit_lines(item: CommitOffer, now: datetime, room: int, said_above: str) -> Iterable[Line]:
    commit, tone = item.commit, "faint" if item.refused else "plain"
    left = [Part(f"{sanitize(commit.short)}  ", "faint" if item.refused else "accent", not item.refused)]
    right = _whence(commit, now, room)
    free = room - width(left) - (len(right) + 2 if right else 0)
    subject = sanitize(mask_text(commit.subject)) or (
        f"its message can't be read: {sanitize(mask_text(commit.unread))}" if commit.unread else "no message"
    )
    told = formats.clipped(subject, max(free, 8))
    parts = [*left, Part(told, tone if commit.subject else "muted")]
    if right:
        parts.append(Part(" " * max(room - width(parts) - formats.display_width(right), 2) + right, "muted"))
    yield Line(tuple(parts), 9)
    places = " · ".join(sanitize(place) for place in item.places)
    if places:
        yield line(Part(" " * 9), Part(places, "faint" if item.refused else "busy"), indent=9)
    if item.refused and item.refused != said_above:
        yield line(Part(" " * 9), Part(f"not now: {sanitize(item.refused)}", "muted"), indent=9)


def _whence(commit: CommitInfo, now: datetime, room: int) -> str:
    author = formats.clipped(sanitize(commit.author), 16) if room >= 60 else ""
    age = formats.ago(commit.when, now) if commit.when is not None else ""
    return " · ".join(part for part in (author, age) if part)


def reason_picks(offer: ApplyOffer) -> list[Pick]:
    """One pick for each reason, in words."""
    found, stop = offer.reasons, refusal_of_all(offer)
    column = max((len(item.reason) for item in found), default=0)
    picks = []
    for item in found:
        tone = "faint" if item.refused else "plain"
        head = Part(f"{sanitize(item.reason).ljust(column)}  ", tone, not item.refused)
        said = Part(sanitize(item.words), "faint" if item.refused else "muted")
        lines = [line(head, said, indent=column + 2)]
        if item.refused and item.refused != stop:
            lines.append(line(Part(" " * (column + 2)), Part(f"not now: {sanitize(item.refused)}", "muted"), indent=column + 2))
        picks.append(Pick(key=item.reason, lines=tuple(lines), refused=item.refused))
    return picks


def answers_nothing(offer: ApplyOffer, commit: str, reason: str) -> str:
    """That an apply would be answered "already applied", and what to choose instead; "" if it would run.

    Argo CD has no such answer: its sync runs whenever it is asked for.
    """
    if not offer.applied or commit != offer.applied or offer.ref.kind in ("Application", "ArgoCDTrigger"):
        return ""
    if reason not in ("CatchUp", "ForeignCommit"):
        return ""
    again = next((item.reason for item in offer.reasons if item.reason in ("Repair", "Refusal") and not item.refused), "")
    told = f"{commit[:7]} is applied already, so {reason} asks for nothing."
    return f"{told} Choose {again} to apply it again." if again else told


def preview_lines(preview: ChangePreview, width_: int) -> list[Line]:
    """The dry run by object: what goes, comes and changes first, then what isn't known, then what stays."""
    lines = [_counts(preview)]
    notes = [line(Part(sanitize(mask_text(note)), "muted"), indent=2) for note in preview.notes]
    if not preview.objects:
        said = "It tells no objects." if preview.notes else "Nothing: the cluster is as this commit says."
        return [line(Part(said, "muted")), *notes]
    lines.append(Line())
    for change in ("delete", "create", "update", "unknown"):
        for item in preview.objects:
            if item.change == change:
                lines += _object(item, width_)
    same = [item for item in preview.objects if item.change == "same"]
    if same:
        if len(lines) > 2:
            lines.append(Line())
        named = ", ".join(sanitize(item.what) for item in same[:_MOST_SAME])
        more = f" and {len(same) - _MOST_SAME} more" if len(same) > _MOST_SAME else ""
        lines.append(line(Part("= ", "muted"), Part(f"the same: {named}{more}", "muted"), indent=2))
    return [*lines, *([Line()] if notes else []), *notes]


def _counts(preview: ChangePreview) -> Line:
    parts: list[Part] = []
    for change, (sign, tone, word) in _CHANGES.items():
        number = preview.count(change)
        if number:
            parts.append(Part(f"{sign}\N{NO-BREAK SPACE}{number}\N{NO-BREAK SPACE}{word}   ", tone, change != "same"))
    return line(*parts) if parts else line(Part("no objects", "muted"))


def _object(item: ObjectChange, width_: int) -> list[Line]:
    sign, tone, _ = _CHANGES[item.change]
    parts = [Part(f"{sign} ", tone, True), Part(sanitize(item.what), "plain" if item.change != "delete" else "bad")]
    if item.said:
        parts.append(Part(f"   {sanitize(mask_text(item.said))}", "muted"))
    return [line(*parts, indent=4), *change_lines(item.fields, width_)]
