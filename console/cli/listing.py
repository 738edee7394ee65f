"""What ``get`` does: look, wait until it is known what is there, print, and go on if asked to."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from console.cli import documents
from console.cli.command import Options, Outside, UsageError
from console.cli.compose import Opened, opened
from console.cli.exits import Exit
from console.cli.printing import TablePrinter
from console.errors import ConfigError
from console.kit.sanitize import sanitize
from console.model.connections import Connection, Phase
from console.model.refs import Ref
from console.model.resource import KindState, Resource
from console.views import emptiness, filters, formats
from console.views.cells import Context, Table, arranged, row_cells

# Operations have no list of their own: they are seen on these kinds, and in the journal.
_CARRIES_OPERATIONS = ("Application", "Kustomization", "HelmRelease", "SwarmService")
_PATIENCE = 1.5
"""Seconds after which a person at a terminal is told what is waited for."""
_INCOMPLETE = ("syncing", "failed")


class Listing:
    """One run of ``get``.

    :param wanted: which rows of the table at all; :param limit: at most so many rows (0: all), the first in its order.
    """

    def __init__(
        self,
        table: Table[Any],
        options: Options,
        outside: Outside,
        *,
        wanted: Callable[[Resource], bool] = lambda row: True,
        limit: int = 0,
    ) -> None:
        self._wanted = wanted
        self._limit = limit
        self._table = table
        self._options = options
        self._outside = outside
        self._descending = options.reverse
        self._sort = _column_key(table, options.sort)
        # The shell has split the words already, so each is quoted again for the filter line.
        line = " ".join(
            [*(_quoted(word) for word in options.filter), *([f"-l {options.selector}"] if options.selector else [])]
        )
        self._filter = filters.parse(line, problems_only=options.problems)
        if self._filter.problem:
            raise UsageError(f"The filter can't be understood: {self._filter.problem}.")

    async def run(self) -> Exit:
        """Print, and return whether everything could be read.

        :raises ConfigError: there is no target at all.
        """
        async with opened(self._options, self._outside.env, connect=self._options.connection, only_reads=True) as at:
            for problem in at.problems:
                self._outside.say(sanitize(problem))
            if not at.targets:
                raise ConfigError("There is nothing to connect to.", "Add --demo to try the demo fleet.")
            names = at.names(self._options.connection)
            stop_looking = at.runtime.look(self._table.kinds, names)
            try:
                gaps = await self._settle(at, names)
                ended = self._print(at, names, gaps)
                if self._options.watch:
                    await self._follow(at, names)
                return ended
            finally:
                stop_looking()

    async def _settle(self, at: Opened, names: tuple[str, ...]) -> tuple[KindState, ...]:
        at.runtime.connect(names)
        kinds = {kind for kind in self._table.kinds if kind not in ("Operation", "Connection")}
        if "Operation" in self._table.kinds:
            kinds |= set(_CARRIES_OPERATIONS)
        telling = asyncio.create_task(self._tell_waiting(at, names), name="progress")
        try:
            gaps = await at.runtime.settled(tuple(sorted(kinds or {"Connection"})), self._options.timeout, names)
        finally:
            telling.cancel()
            await asyncio.wait({telling})
        return tuple(gap for gap in gaps if gap.kind in self._table.kinds)

    async def _tell_waiting(self, at: Opened, names: tuple[str, ...]) -> None:
        """On a terminal, say what takes so long."""
        if not self._outside.err.isatty():
            return
        await asyncio.sleep(_PATIENCE)
        late = [found.ref.name for found in at.connections(names) if found.phase in (Phase.IDLE, Phase.CONNECTING)]
        self._outside.say(f"waiting for {formats.listed(late)}…" if late else "waiting for rows…")

    def _rows(self, at: Opened, names: Iterable[str], context: Context) -> tuple[list[Resource], int]:
        chosen = set(names)
        everything = [row for kind in self._table.kinds for row in at.runtime.store.of(kind).values()]
        rows = arranged(self._table, everything, self._sort, descending=self._descending)
        rows = [row for row in rows if row.ref.connection in chosen and self._wanted(row)]
        shown = [row for row in rows if self._keeps(row, context)]
        shown = shown[: self._limit] if self._limit else shown
        return shown, len(rows) - len(shown)

    def _keeps(self, row: Resource, context: Context) -> bool:
        return not self._filter or self._filter.keeps(row, row_cells(self._table.columns, row, context))

    def _print(self, at: Opened, names: tuple[str, ...], gaps: tuple[KindState, ...]) -> Exit:
        context, connections = at.context(), at.connections(names)
        rows, hidden = self._rows(at, names, context)
        out = self._outside.out
        match self._options.output:
            case "json":
                document = documents.listing(self._table.name, rows, connections, gaps, context)
                out.write(documents.text(document, line=self._options.watch))
            case "yaml":
                document = documents.listing(self._table.name, rows, connections, gaps, context)
                out.write(documents.yaml_text(document, more=self._options.watch))
            case "name":
                out.writelines(f"{sanitize(str(row.ref))}\n" for row in rows)
            case _:
                self._printer = self._make_printer(context)
                out.write(self._printer.text(rows))
        out.flush()
        self._explain(at, connections, context, rows, hidden)
        return self._judge(connections, gaps)

    def _judge(self, connections: tuple[Connection, ...], gaps: tuple[KindState, ...]) -> Exit:
        """Failed only if nothing could be read, or something that was asked for by name: in a fleet one host is always down."""
        unread = {gap.connection for gap in gaps if gap.state in _INCOMPLETE}
        relevant = [found for found in connections if any(emptiness.concerns(found, kind) for kind in self._table.kinds)]
        if self._table.kinds == ("Connection",):
            return Exit.DONE
        read = [found.phase.fresh and found.ref.name not in unread for found in relevant]
        asked = self._options.connection is not None
        return Exit.FAILED if read and not (all(read) if asked else any(read)) else Exit.DONE

    def _make_printer(self, context: Context) -> TablePrinter:
        width = terminal_width(self._outside)
        wide = self._options.output == "wide"
        return TablePrinter(self._table, context, wide=wide, width=width, colours=self._outside.colours())

    def _explain(
        self, at: Opened, connections: tuple[Connection, ...], context: Context, rows: list[Resource], hidden: int
    ) -> None:
        """Why there are no rows, or what those printed may be missing."""
        tell = emptiness.absences if rows else emptiness.why_empty
        for absence in tell(self._table, connections, at.runtime.store.kind_state, context, hidden):
            # Rows hidden by a filter that was just typed are no news, unless nothing is left.
            if not rows or absence.kind != "filtered":
                self._outside.say(sanitize(absence.text))

    async def _follow(self, at: Opened, names: tuple[str, ...]) -> None:
        """Print each change until interrupted. Rows that stop matching the filter are told as gone, like removed ones."""
        store = at.runtime.store
        shown = {row.ref: row for row in self._rows(at, names, at.context())[0]}
        changed: set[Ref] = set()
        bell = asyncio.Event()

        def ring(refs: frozenset[Ref]) -> None:
            changed.update(refs)
            bell.set()

        unsubscribe = store.subscribe({*self._table.kinds, "Connection"}, ring)
        try:
            while True:
                await bell.wait()
                bell.clear()
                context = at.context()
                present = {row.ref: row for row in self._rows(at, names, context)[0]}
                # The rows may be ahead of what was rung for: what isn't there any more goes by the rows alone.
                for ref in sorted({*(changed & present.keys()), *(shown.keys() - present.keys())}):
                    if ref in present:
                        self._tell_change("changed", present[ref], context)
                    else:
                        self._tell_change("gone", shown[ref], context)
                changed.clear()
                shown = present
                self._outside.out.flush()
        finally:
            unsubscribe()

    def _tell_change(self, event: str, row: Resource, context: Context) -> None:
        out = self._outside.out
        match self._options.output:
            case "json":
                out.write(documents.text({"event": event, "item": documents.item(row, context)}, line=True))
            case "yaml":
                out.write(documents.yaml_text({"event": event, "item": documents.item(row, context)}, more=True))
            case "name":
                out.write(f"{event} {sanitize(str(row.ref))}\n")
            case _:
                out.write(self._printer.row(row, context, "(gone)" if event == "gone" else ""))


def _column_key(table: Table[Any], word: str) -> str:
    """The key of the column that a word means, by key or heading; "" for none given."""
    columns = [column for column in table.columns if word.lower() in (column.key, column.title.lower())]
    if word and not columns:
        known = ", ".join(column.key for column in table.columns)
        raise UsageError(f"{table.name} have no column {word}.", f"There are: {known}.")
    return columns[0].key if word else ""


def _quoted(word: str) -> str:
    sign = word[0] if word[:1] in ("!", "~") else ""
    return f'{sign}"{word[len(sign) :]}"' if " " in word else word


def terminal_width(outside: Outside) -> int:
    """Columns of the terminal that the answer goes to; 0 if it goes elsewhere."""
    if not outside.out.isatty():
        return 0
    if outside.env.get("COLUMNS", "").isdecimal():
        return int(outside.env["COLUMNS"])
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except OSError:
        return 0
