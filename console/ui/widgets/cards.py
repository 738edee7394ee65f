"""A card for each connection: where it stands, how old its data is, and what needs a person there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from console.ui.text import Part
from console.ui.tones import COMPONENTS, TONE_CSS, Tones
from console.ui.widgets.columns import fit_text
from console.views.bridge import Card
from console.views.glyphs import GLYPHS, TONES

_WIDTH = 25
"""A card is at least so wide; cards of a row share what is left."""


class Cards(Widget):
    """Cards side by side, as many rows of them as there is height for; those that don't fit are counted."""

    COMPONENT_CLASSES: ClassVar[set[str]] = COMPONENTS | {"cards--ground"}
    DEFAULT_CSS = (
        "Cards { height: auto; background: $background; color: $foreground; padding: 0 1 0 1;"
        "& > .cards--ground { background: $surface; }" + TONE_CSS + "}"
    )

    class Picked(Message):
        """A card was clicked."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.connection = name

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.cards: tuple[Card, ...] = ()
        self.most_rows = 1
        self.brief = False
        self._tones = Tones(self)

    def put(self, cards: Sequence[Card], most_rows: int, *, brief: bool = False) -> None:
        """Show these cards in at most so many rows; ``brief`` ones take a single line."""
        if (tuple(cards), most_rows, brief) != (self.cards, self.most_rows, self.brief):
            self.cards, self.most_rows, self.brief = tuple(cards), most_rows, brief
            self._set_height()
            self.refresh()

    def notify_style_update(self) -> None:
        """Use the new theme's tones."""
        super().notify_style_update()
        self._tones.forget()

    def on_resize(self) -> None:
        """Another width holds another number of cards a row."""
        self._set_height()

    def _set_height(self) -> None:
        height = max(self._rows() * self._pitch - 1, 0)
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height

    @property
    def _pitch(self) -> int:
        """Lines from one row of cards to the next, the gap included."""
        return 2 if self.brief else 3

    def _per_row(self) -> int:
        return max((self.size.width + 1) // (_WIDTH + 1), 1)

    def _card_width(self) -> int:
        per_row = min(self._per_row(), max(len(self.cards), 3))
        return (self.size.width - (per_row - 1)) // per_row

    def _rows(self) -> int:
        return min(-(-len(self.cards) // self._per_row()), 1 if self.brief else self.most_rows)

    def render_line(self, y: int) -> Strip:
        """One line across all cards of a row, or the gap between two rows."""
        ground = self.rich_style
        row, inner = divmod(y, self._pitch)
        room = self.size.width
        if inner == self._pitch - 1 or row >= self._rows():
            return Strip.blank(room, ground)
        per_row, size = self._per_row(), self._card_width()
        shown = self.cards[row * per_row : (row + 1) * per_row]
        hidden = len(self.cards) - self._rows() * per_row
        segments: list[Segment] = []
        card_ground = ground + Style(bgcolor=self.get_component_rich_style("cards--ground").bgcolor)
        for index, card in enumerate(shown):
            if index:
                segments.append(Segment(" ", ground))
            if hidden > 0 and row == self._rows() - 1 and index == len(shown) - 1:
                parts = self._more(hidden + 1, inner)
            elif self.brief:
                parts = self._only(card, size)
            else:
                parts = self._first(card, size) if inner == 0 else self._second(card, size)
            segments += self._fitted(parts, card_ground, size)
        return Strip(segments).crop_extend(0, room, ground)

    def _only(self, card: Card, size: int) -> list[Part]:
        phase = "" if card.phase.text == "live" else card.phase.text
        trouble = "".join(f" {GLYPHS[health]}{number}" for health, number in card.counts if health.needs_attention)
        name_room = max(size - 4 - cell_len(phase) - cell_len(trouble), 6)
        return [
            Part(f" {card.mark.text} ", card.mark.tone),
            Part(fit_text(card.name, name_room), "plain", True),
            Part(f" {phase}" if phase else "", card.phase.tone),
            Part(trouble, "bad"),
        ]

    def _first(self, card: Card, size: int) -> list[Part]:
        badge = card.guard.split()[0] if card.guard else ""
        name_room = size - 4 - (cell_len(badge) + 1 if badge else 0)
        badge_tone = "warn" if badge == "armed" else "held"
        return [
            Part(f" {card.mark.text} ", card.mark.tone),
            Part(fit_text(card.name, name_room), "plain", True),
            *([Part(f" {badge}", badge_tone)] if badge else []),
        ]

    def _second(self, card: Card, size: int) -> list[Part]:
        counts = [Part(f" {GLYPHS[health]}{number}", TONES[health]) for health, number in card.counts]
        if card.operations:
            counts.append(Part(f" »{card.operations}", "busy"))
        room = size - 4 - sum(cell_len(part.text) for part in counts)
        return [Part("   "), Part(fit_text(card.phase.text, max(room, 0)), card.phase.tone), *counts]

    def _more(self, number: int, inner: int) -> list[Part]:
        return [Part(f" … {number} more", "muted")] if inner == 0 else [Part("   :ctx shows all", "faint")]

    def _fitted(self, parts: Sequence[Part], ground: Style, size: int) -> list[Segment]:
        bold = Style(bold=True)
        strip = Strip(
            [Segment(part.text, ground + self._tones[part.tone] + (bold if part.bold else Style.null())) for part in parts]
        )
        return list(strip.crop_extend(0, size, ground))

    def on_click(self, event: events.Click) -> None:
        """A click on a card goes to that connection."""
        row, inner = divmod(event.y, self._pitch)
        at = row * self._per_row() + event.x // (self._card_width() + 1)
        if inner < self._pitch - 1 and at < len(self.cards):
            self.post_message(self.Picked(self.cards[at].name))
