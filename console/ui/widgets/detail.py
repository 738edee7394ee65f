"""The pane about one object: what it is in words, as YAML, its events, what belongs to it, its log."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.timer import Timer
from textual.widget import Widget

from console.errors import QuarterdeckError
from console.model.docker import Sample
from console.model.kubernetes import TRIGGER_KINDS
from console.model.refs import Ref
from console.model.resource import Resource
from console.model.trigger_report import TriggerReport
from console.ui.describe_text import heading_lines, section_lines, stats_lines, yaml_lines
from console.ui.ports import ConsoleRuntime
from console.ui.text import Line, Part, line
from console.ui.widgets.bar import Bar
from console.ui.widgets.log_pane import LogPane
from console.ui.widgets.resource_table import ResourceTable
from console.ui.widgets.text_pane import TextPane
from console.views import describe, tables
from console.views.cells import Context, Table, now_context
from console.views.trigger_sheet import sheet
from console.views.yaml_text import yaml_text

TABS: dict[str, str] = {
    "describe": "Describe",
    "yaml": "YAML",
    "events": "Events",
    "related": "Related",
    "logs": "Logs",
    "timeline": "Timeline",
    "versions": "Versions",
}
LOGGED = frozenset({"Pod", "Container", "Task", "SwarmService", "Deployment", "StatefulSet", "DaemonSet", "Job"})
"""Kinds that have a log."""
_MEASURED = frozenset({"Container"})
_SAMPLES = 120
_SETTLE = 0.15
"""Seconds the cursor must rest before anything is asked of a server for the object under it."""
_AGAIN = 2.0
"""Seconds between two readings of a trigger that changes all the time."""


class Detail(Vertical):
    """Shows one object at a time; :meth:`open` chooses object and tab, :meth:`refresh_now` takes in what changed."""

    DEFAULT_CSS: ClassVar[str] = """
    Detail { width: 1fr; height: 1fr; background: $background; }
    Detail > Bar { background: $background; padding: 0 1; }
    Detail > #tabs { background: $surface; }
    """

    def __init__(self, runtime: ConsoleRuntime, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self._runtime = runtime
        self.ref: Ref | None = None
        self.tab = "describe"
        self.next_steps: tuple[Part, ...] = ()
        self._samples: list[Sample] = []
        self._yaml: tuple[Ref, str] | None = None
        self._report: tuple[Ref, TriggerReport | str | None] | None = None
        self._reported: Resource | None = None
        self._settle: Timer | None = None
        self._context_now = now_context(now=runtime.clock.now())

    def compose(self) -> ComposeResult:
        """Two lines of heading, the tabs, and one pane of each sort."""
        yield Bar(id="what")
        yield Bar(id="where")
        yield Bar(id="tabs")
        yield TextPane(id="text")
        yield ResourceTable(self._context_now, id="rows")
        yield LogPane(self._runtime, id="log")

    def on_mount(self) -> None:
        """Show the first tab."""
        self._show_pane()

    @property
    def text(self) -> TextPane:
        """The pane for describe and YAML."""
        return self.query_one("#text", TextPane)

    @property
    def rows(self) -> ResourceTable:
        """The pane for events, related objects, timeline and versions."""
        return self.query_one("#rows", ResourceTable)

    @property
    def log_pane(self) -> LogPane:
        """The pane for the log."""
        return self.query_one(LogPane)

    @property
    def active(self) -> TextPane | ResourceTable:
        """The pane that is shown now."""
        return self.log_pane if self.tab == "logs" else self.text if self.tab in ("describe", "yaml") else self.rows

    def tabs_for(self, ref: Ref | None) -> tuple[str, ...]:
        """The tabs that make sense for an object."""
        return tuple(tab for tab in TABS if tab != "logs" or (ref is not None and ref.kind in LOGGED))

    def open(self, ref: Ref | None, tab: str = "", context: Context | None = None) -> None:
        """Show this object; "" keeps the tab."""
        if context is not None:
            self._context_now = context
        changed = ref != self.ref
        wanted = tab or self.tab
        if wanted not in self.tabs_for(ref):
            wanted = "describe"
        if not changed and wanted == self.tab and self.display:
            self.refresh_now(self._context_now)
            return
        tab_changed = wanted != self.tab
        self.ref, self.tab = ref, wanted
        if changed:
            self._samples.clear()
            self.workers.cancel_group(self, "stats")
            self.workers.cancel_group(self, "yaml")
        if tab_changed or changed:
            self.text.search("")
        self._show_pane(fresh=True)
        self._ask_soon()

    def step_tab(self, by: int) -> None:
        """The next or previous tab."""
        tabs = self.tabs_for(self.ref)
        self.open(self.ref, tabs[(tabs.index(self.tab) + by) % len(tabs)])

    def close(self) -> None:
        """Ask nothing of servers any more."""
        self.ref = None
        self._samples.clear()
        self.log_pane.close_stream()
        for group in ("stats", "yaml", "notes"):
            self.workers.cancel_group(self, group)

    def refresh_now(self, context: Context) -> None:
        """Take in changed objects or a later time."""
        self._context_now = context
        self._show_pane()

    # -- what the tabs show

    def _show_pane(self, *, fresh: bool = False) -> None:
        resource = self._runtime.store.get(self.ref) if self.ref is not None else None
        self._show_heading(resource)
        for pane in (self.text, self.rows, self.log_pane):
            pane.display = pane is self.active
        if self.tab != "logs":
            self.log_pane.close_stream()
        if self.ref is None:
            self.text.put([line(Part("Nothing is chosen.", "muted"))])
        elif self.tab == "describe":
            self.text.put(self._described(resource), keep_place=not fresh)
        elif self.tab == "yaml":
            if self._yaml is None or self._yaml[0] != self.ref:
                self.text.put([line(Part("Reading …", "muted"))])
        elif self.tab != "logs":
            self._show_rows(self.ref, fresh)

    def _show_heading(self, resource: Resource | None) -> None:
        what, where, tabs = (self.query_one(f"#{name}", Bar) for name in ("what", "where", "tabs"))
        if resource is None:
            gone = f"{self.ref.kind} {self.ref.path} is gone" if self.ref else ""
            what.put([Part(gone, "muted")])
            where.put([])
        else:
            first, second = heading_lines(describe.heading(resource, self._context_now))
            what.put(first)
            where.put(second)
        parts = []
        names = self.tabs_for(self.ref)
        needed = sum(len(TABS[name]) for name in names)
        gap = " " * max(min((self.size.width - 3 - needed) // max(len(names) - 1, 1), 3), 1)
        for name in names:
            here = name == self.tab
            parts += [
                Part(TABS[name], "accent" if here else "muted", here, f"tab:{name}"),
                Part(gap if name != names[-1] else ""),
            ]
        tabs.put(parts)

    def _described(self, resource: Resource | None) -> list[Line]:
        if resource is None or self.ref is None:
            return [line(Part("It was removed, or its target no longer tells about it.", "muted"))]
        room = max(self.text.room, 20)
        sections = describe.describe(
            resource,
            self._context_now,
            related=self._runtime.related(self.ref),
            operations_on=self._runtime.operations_on(self.ref),
            events=self._runtime.events_about(self.ref),
        )
        sections = (*sections[:1], *self._dispatch(resource, room), *sections[1:])
        lines = section_lines(sections, room)
        first_end = next((index for index, entry in enumerate(lines) if not entry.parts), len(lines)) + 1
        extra = list(stats_lines(self._samples, room))
        if self.next_steps:
            extra += [line(Part("Next", "heading", True)), line("  ", *self.next_steps, indent=2), Line()]
        lines[first_end:first_end] = extra
        return lines

    def _dispatch(self, resource: Resource, room: int) -> tuple[describe.Section, ...]:
        """What the dispatch engine knows of a trigger. It is asked again when the trigger changed, and while an operation runs:
        the end of one is written where no list shows it.
        """
        if self._report is None or self._report[0] != self.ref:
            return ()
        told = self._report[1]
        running = isinstance(told, TriggerReport) and told.operation is not None and told.operation.in_flight
        if (running or resource is not self._reported) and not self._busy("notes") and self._settle is None:
            self._ask_soon(_AGAIN)
        if isinstance(told, str):
            return describe.notes_section("Dispatch", (told,))
        return sheet(told, resource, self._context_now, room) if told is not None else ()

    def _busy(self, group: str) -> bool:
        return any(worker.group == group and worker.node is self and worker.is_running for worker in self.workers)

    def _show_rows(self, ref: Ref, fresh: bool) -> None:
        table, found = self._rows_of(ref)
        if fresh or self.rows.columns is not table.columns:
            self.rows.show(table)
        self.rows.tick(self._context_now)
        self.rows.replace({resource.ref: resource for resource in found})

    def _rows_of(self, ref: Ref) -> tuple[Table[Any], list[Resource]]:
        runtime = self._runtime
        if self.tab == "events":
            return tables.TABLES["activity"], list(runtime.events_about(ref))
        if self.tab == "timeline":
            return tables.TABLES["activity"], [*runtime.events_about(ref), *runtime.operations_on(ref)]
        if self.tab == "versions":
            same = (ref.namespace, ref.name)
            found = [item for other, item in runtime.store.of(ref.kind).items() if (other.namespace, other.name) == same]
            return tables.table_of(ref.kind) or tables.TABLES["bridge"], found
        return tables.TABLES["bridge"], list(runtime.related(ref))

    # -- what is asked of servers, once the cursor rests

    def _ask_soon(self, after: float = _SETTLE) -> None:
        if self._settle is not None:
            self._settle.stop()
        self._settle = self.set_timer(after, self._ask)

    def _ask(self) -> None:
        self._settle = None
        ref = self.ref
        if ref is None or not self.display:
            return
        if self.tab == "logs":
            self.log_pane.open(ref)
        elif self.tab == "yaml":
            self.run_worker(self._read_yaml(ref), group="yaml", exclusive=True, exit_on_error=False, description="yaml")
        if ref.kind in TRIGGER_KINDS and self.tab == "describe":
            self.run_worker(self._read_notes(ref), group="notes", exclusive=True, exit_on_error=False, description="notes")
        if ref.kind in _MEASURED and self.tab == "describe":
            self.run_worker(self._measure(ref), group="stats", exclusive=True, exit_on_error=False, description="stats")

    async def _read_yaml(self, ref: Ref) -> None:
        try:
            raw = await self._runtime.raw(ref)
        except QuarterdeckError as error:
            lines = [line(Part(error.message, "bad")), line(Part(error.hint, "muted"))]
        else:
            lines = yaml_lines(yaml_text(raw))
        if self.ref == ref and self.tab == "yaml":
            self._yaml = (ref, "shown")
            self.text.put(lines)

    async def _read_notes(self, ref: Ref) -> None:
        """What the dispatch engine knows of a trigger; a cluster that can't be read now says so by its own state."""
        self._reported = self._runtime.store.get(ref)
        told: TriggerReport | str | None
        try:
            told = await self._runtime.trigger_report(ref)
        except QuarterdeckError as error:
            told = error.sentence()
        if self.ref == ref:
            self._report = (ref, told)
            if self.tab == "describe":
                self._show_pane()

    async def _measure(self, ref: Ref) -> None:
        try:
            async with aclosing(self._runtime.stats(ref)) as samples:
                async for sample in samples:
                    self._samples.append(sample)
                    del self._samples[:-_SAMPLES]
                    if self.tab == "describe":
                        self._show_pane()
        except QuarterdeckError:
            # A container that isn't running has no measurements; its state is told by everything else on the pane.
            self._samples.clear()

    def focus_active(self) -> Widget:
        """Give the focus to the pane that is shown."""
        return self.active.focus()
