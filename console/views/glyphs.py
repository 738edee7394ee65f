"""Health as a shape, a word and a tone, so that it survives a missing colour, a colour-blind eye and a light terminal.

The shapes are in all common terminal fonts and one cell wide; :data:`ASCII` is for terminals without them.
"""

from __future__ import annotations

from console.model.connections import Phase
from console.model.health import Health
from console.model.operations import State
from console.views.cells import Cell, Tone

GLYPHS: dict[Health, str] = {
    Health.OK: "●",
    Health.BUSY: "◐",
    Health.WARN: "▲",
    Health.BAD: "■",
    Health.HELD: "◆",
    Health.UNKNOWN: "○",
}
ASCII: dict[str, str] = {"●": "*", "◐": "~", "▲": "!", "■": "X", "◆": "#", "○": "?"}
WORDS: dict[Health, str] = {
    Health.OK: "healthy",
    Health.BUSY: "progressing",
    Health.WARN: "warning",
    Health.BAD: "degraded",
    Health.HELD: "held",
    Health.UNKNOWN: "unknown",
}
TONES: dict[Health, Tone] = {
    Health.OK: "ok",
    Health.BUSY: "busy",
    Health.WARN: "warn",
    Health.BAD: "bad",
    Health.HELD: "held",
    Health.UNKNOWN: "muted",
}


def glyph(health: Health) -> Cell:
    """The shape of a health in its tone."""
    return Cell(GLYPHS[health], TONES[health])


def word(health: Health) -> Cell:
    """The word of a health. Well and unknown are quiet: colour is for what needs the eye."""
    return Cell(WORDS[health], "muted" if health is Health.OK else TONES[health])


def marked(health: Health, text: str = "") -> Cell:
    """Shape and word in one cell; ``text`` replaces the usual word."""
    return Cell(f"{GLYPHS[health]} {text or WORDS[health]}", TONES[health])


def state_glyph(state: State) -> Cell:
    """The shape of an operation's or a step's state. What is still to come is an empty circle."""
    if state in (State.PENDING, State.SKIPPED):
        return Cell(GLYPHS[Health.UNKNOWN], "muted")
    return glyph(state.health)


def phase_glyph(phase: Phase) -> Cell:
    """The shape of a connection's phase, the same wherever it stands.

    Of an unreachable target nothing is known, which is not the same as knowing that it does badly; it needs somebody all the
    same.
    """
    return Cell(GLYPHS[Health.UNKNOWN], "bad") if phase is Phase.UNREACHABLE else glyph(phase.health)


def attention(health: Health) -> Tone:
    """The tone of text whose meaning is a health: quiet unless somebody should look."""
    return "muted" if health in (Health.OK, Health.UNKNOWN) else TONES[health]
