"""The apply dialog: which commit, for which reason, why for the others; and what it would change, as the server says.

Nothing here writes: Enter only goes on to the plan. What can be asked and what would change are read while the dialog is open,
in workers, so that no key ever waits for a server.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input

from console.errors import QuarterdeckError
from console.model.commits import ApplyOffer, ChangePreview
from console.model.refs import Ref
from console.ui import apply_text
from console.ui.ports import ConsoleRuntime
from console.ui.text import Line, Part, line
from console.ui.widgets.bar import Bar, Note
from console.ui.widgets.pick_list import PickList
from console.ui.widgets.text_pane import TextPane

REST = 0.3
"""Seconds the cursor must rest on a commit before the server is asked what it would change."""
BESIDE = 116
"""From this width on the preview stands beside the choices."""
LOW = 20
"""Below this height there is no room for a preview; ``=`` shows it alone."""


class Chosen(msgspec.Struct, frozen=True):
    """How the dialog ended: arguments for the plan, or None with the reason why nothing could be offered."""

    arguments: dict[str, str] | None = None
    unread: str = ""


class ApplyScreen(ModalScreen[Chosen | None]):
    """Asks what to apply; dismissed with :class:`Chosen`, or None when it was left.

    :param only_look: choose a commit only to see what it would change.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave"),
        Binding("ctrl+c", "leave", show=False),
        Binding("q", "leave", show=False),
        Binding("enter", "go", "Show the plan"),
        Binding("pageup", "scroll('page_up')", show=False),
        Binding("pagedown", "scroll('page_down')", show=False),
        Binding("up,k", "scroll('up')", show=False),
        Binding("down,j", "scroll('down')", show=False),
    ]
    AUTO_FOCUS: ClassVar[str | None] = "#commits"

    def __init__(self, runtime: ConsoleRuntime, ref: Ref, *, only_look: bool = False) -> None:
        super().__init__()
        self._runtime = runtime
        self._about = ref
        self._only_look = only_look
        self.offer: ApplyOffer | None = None
        self._previews: dict[str, ChangePreview | str] = {}
        self._rest: Timer | None = None

    def compose(self) -> ComposeResult:
        """Headline and facts; commits, reasons and a why; the preview; the keys."""
        with Vertical(id="box", classes="wide"):
            yield Note(id="headline")
            yield Note(id="facts")
            yield Note(id="notes")
            with Vertical(id="parts"):
                with Vertical(id="choices"):
                    yield PickList(id="commits")
                    yield Input(id="other", compact=True, placeholder="full hash")
                    yield Bar(id="reasons-title")
                    yield PickList(id="reasons")
                    with Horizontal(id="why-line"):
                        yield Bar(id="why-title")
                        yield Input(id="why", compact=True, placeholder="for the journal and for the others")
                yield TextPane(id="preview")
            yield Note(id="answer")

    def on_mount(self) -> None:
        """Ask what can be asked."""
        self.query_one("#headline", Note).put(apply_text.headline(self._about, only_look=self._only_look))
        self.query_one("#facts", Note).put([Part("Reading what can be applied …", "muted")])
        self.query_one("#reasons-title", Bar).put([Part("Reason", "heading", True)])
        self.query_one("#why-title", Bar).put([Part("Why  ", "heading", True)])
        for name in ("other", "notes", "reasons-title", "reasons", "why-line", "preview"):
            self.query_one(f"#{name}").display = False
        self._tell()
        self.run_worker(self._read_offer(), group="offer", exclusive=True, exit_on_error=False, description="the offer")

    # -- what is read

    async def _read_offer(self) -> None:
        try:
            offer = await self._runtime.apply_offer(self._about)
        except QuarterdeckError as error:
            self.dismiss(Chosen(None, error.sentence()))
            return
        self.offer = offer
        self._arrange(self.size.width, self.size.height)
        for name in ("reasons-title", "reasons", "why-line"):
            self.query_one(f"#{name}").display = not self._only_look
        self._put_picks()
        commits = self.query_one("#commits", PickList)
        lawful = [index for index, item in enumerate(offer.commits) if not item.refused or self._only_look]
        # Commits that are all refused can still be looked at; where none is known, one can be typed.
        commits.put(commits.picks, lawful[0] if lawful else 0)
        reasons = self.query_one("#reasons", PickList)
        reasons.put(reasons.picks, next((index for index, item in enumerate(offer.reasons) if not item.refused), 0))
        self._commit_moved()

    def _put_picks(self) -> None:
        if self.offer is None:
            return
        commits, reasons = self.query_one("#commits", PickList), self.query_one("#reasons", PickList)
        commits.put(apply_text.commit_picks(self.offer, self._runtime.clock.now(), commits.room))
        reasons.put(apply_text.reason_picks(self.offer))
        facts = self.query_one("#facts", Note)
        facts.put(apply_text.facts(self.offer, facts.size.width))
        said = apply_text.notes(self.offer)
        self.query_one("#notes", Note).put(said)
        self.query_one("#notes").display = bool(said)

    @property
    def commit(self) -> str:
        """The full hash that is chosen; "" while a typed one is incomplete."""
        pick = self.query_one("#commits", PickList).chosen
        if pick is None:
            return ""
        return apply_text.full_hash(self.query_one("#other", Input).value) if pick.key == apply_text.OTHER else pick.key

    def _look_soon(self) -> None:
        """Show what is known of the chosen commit, and ask for what isn't once the cursor rests."""
        if self._rest is not None:
            self._rest.stop()
        self.workers.cancel_group(self, "preview")
        commit = self.commit
        self._show_preview()
        if commit and commit not in self._previews and self._shows_preview:
            self._rest = self.set_timer(REST, lambda: self._ask(commit))

    def _ask(self, commit: str) -> None:
        work = self._read_preview(commit)
        self.run_worker(work, group="preview", exclusive=True, exit_on_error=False, description="the preview")

    async def _read_preview(self, commit: str) -> None:
        try:
            self._previews[commit] = await self._runtime.preview(self._about, commit)
        except QuarterdeckError as error:
            self._previews[commit] = error.sentence()
        self._show_preview()

    # -- what is shown

    @property
    def _shows_preview(self) -> bool:
        return bool(self.query_one("#preview").display)

    def _show_preview(self) -> None:
        pane, commit = self.query_one("#preview", TextPane), self.commit
        short = commit[:7]
        known = self._previews.get(commit)
        title = line(Part(f"What {short} would change" if short else "What it would change", "heading", True))
        if not commit:
            body = [line(Part("Choose a commit to see what it would change.", "muted"))]
        elif known is None:
            body = [line(Part("Asking the server what would change …", "muted"))]
        elif isinstance(known, str):
            body = [line(Part("It can't be told: ", "warn"), Part(known, "muted"), indent=2)]
        else:
            body = apply_text.preview_lines(known, max(pane.room, 30))
        pane.put([title, *body])

    def _tell(self, note: Line | None = None) -> None:
        """The last line: what is in the way of the plan, else the keys."""
        if note is not None:
            self.query_one("#answer", Note).put(note.parts)
            return
        parts: list[Part] = []
        if self.offer is not None:
            said = self._in_the_way()
            if said and not self._only_look and not apply_text.refusal_of_all(self.offer):
                parts.append(Part(f"{said} ", "warn"))
        stopped = self._only_look or self.offer is None or apply_text.refusal_of_all(self.offer) != ""
        keys = [] if stopped else [("Enter", "show the plan")]
        keys += [] if self._only_look else [("Tab", "next part")]
        for key, word in (*keys, ("PgDn", "read on"), ("Esc", "leave")):
            parts += [Part(f"{'  ' if parts else ''}{key}", "key", True), Part(f" {word}", "muted")]
        self.query_one("#answer", Note).put(parts)

    def _in_the_way(self) -> str:
        """Why there can't be a plan for what is chosen, or that it would do nothing; "" if nothing is."""
        offer, pick = self.offer, self.query_one("#commits", PickList).chosen
        reason = self.query_one("#reasons", PickList).chosen
        if offer is None or pick is None:
            return ""
        if stop := apply_text.refusal_of_all(offer):
            return f"Nothing can be applied now. {stop}"
        if pick.key == apply_text.OTHER:
            typed = self.query_one("#other", Input).value
            if wrong := apply_text.what_is_wrong(typed):
                return wrong if typed or not offer.commits else ""
        if pick.refused:
            return f"{pick.key[:7]} can't be applied now: {pick.refused.rstrip('.')}."
        if reason is not None and reason.refused:
            return f"{reason.key} isn't lawful now: {reason.refused.rstrip('.')}."
        return apply_text.answers_nothing(offer, self.commit, reason.key if reason else "")

    # -- keys

    def on_pick_list_moved(self, event: PickList.Moved) -> None:
        """Another commit or reason."""
        event.stop()
        if event.picks.id == "commits":
            self._commit_moved()
        else:
            self._tell()

    def _commit_moved(self) -> None:
        pick = self.query_one("#commits", PickList).chosen
        self.query_one("#other").display = pick is not None and pick.key == apply_text.OTHER
        self._look_soon()
        self._tell()

    def on_input_changed(self, event: Input.Changed) -> None:
        """A typed hash is looked at as soon as it is whole."""
        event.stop()
        if event.input.id == "other":
            self._look_soon()
            self._tell()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter means the same everywhere."""
        event.stop()
        self.action_go()

    def action_go(self) -> None:
        """On to the plan, if what is chosen can be asked for."""
        offer, pick = self.offer, self.query_one("#commits", PickList).chosen
        if self._only_look:
            self._tell(
                line(Part("This only looks. ", "warn"), Part("Esc", "key", True), Part(" leaves, then A applies.", "muted"))
            )
            return
        if offer is None or pick is None:
            self._tell(line(Part("Still reading; Enter again in a moment.", "warn")))
            return
        reason = self.query_one("#reasons", PickList).chosen
        if pick.refused or (reason is not None and reason.refused) or apply_text.refusal_of_all(offer):
            self._tell(line(Part(self._in_the_way(), "bad")))
            return
        if not self.commit:
            other = self.query_one("#other", Input)
            self._tell(line(Part(apply_text.what_is_wrong(other.value), "bad" if other.value else "warn")))
            other.focus()
            return
        answers = {
            "commit": self.commit,
            "because": reason.key if reason else "",
            "reason": self.query_one("#why", Input).value,
        }
        self.dismiss(Chosen({name: value.strip() for name, value in answers.items() if value.strip()}))

    def action_leave(self) -> None:
        """Nothing was chosen."""
        self.dismiss(None)

    def action_scroll(self, way: str) -> None:
        """Read the preview."""
        self.query_one("#preview", TextPane).move(way)

    # -- room

    def on_resize(self, event: events.Resize) -> None:
        """The preview beside the choices where there is room, else below, else not at all."""
        self._arrange(event.size.width, event.size.height)
        self.call_after_refresh(self._fit_texts)

    def _arrange(self, width: int, height: int) -> None:
        beside = width >= BESIDE
        box = self.query_one("#box")
        box.set_class(beside, "beside")
        box.set_class(width < 100 or height < 30, "tight")
        commits, reasons = self.query_one("#commits", PickList), self.query_one("#reasons", PickList)
        commits.brief = reasons.brief = not beside and height < 40
        commits.styles.max_height = max(height // 2 - 4 if beside else height // 3 - 2, 2)
        self.query_one("#preview").display = self.offer is not None and (self._only_look or beside or height >= LOW)

    def _fit_texts(self) -> None:
        self._put_picks()
        if self.offer is not None:
            self._show_preview()
