"""The content of an index, and how much of the table it still describes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from tamis.indexing.format.entries import Entry
from tamis.indexing.format.layout import ColumnEntry, Pointer, index_uri
from tamis.indexing.format.row_sql import FLOATING
from tamis.indexing.problems import refresh_command
from tamis.indexing.read.command_options import command_options
from tamis.indexing.read.field_binding import FieldBinding, other_table
from tamis.indexing.read.freshness import Staleness
from tamis.indexing.read.reader_options import DELTA, ICEBERG, Reading, difference

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table


_SHOWN = 3
_COLUMNS = ("column", "type", "files with bounds", "files with null count")
_RECORDED = ("recorded", "column or expression", "files", "bytes", "seconds")


@dataclass(frozen=True)
class AutomaticPart:
    """What the automatic index of a table knows that its index does not.

    Attributes:
        uri: Where the automatic index is.
        files: The current files that only it describes.
        bytes: Its size.
    """

    uri: str
    files: int
    bytes: int


@dataclass(frozen=True, eq=False)
class Description:
    """The current index. It prints as text, and as a table with rich.

    Attributes:
        uri: Where the index is.
        pointer: The current generation of the index.
        staleness: How the indexed files compare with the current listing.
        recorded: The statistics that were recorded from the rows.
        built_for: How files were read whose rows or values depend on the reader, when the index was
            built.
        now: How they are read now.
        target: The table, as the user named it, if only a catalog finds it.
        is_automatic: Whether this is an automatic index, because the table has no other.
        automatic: The automatic index that the table has in addition.
        waiting: The files whose footers are being read for the automatic index, or will be read
            next; None if the sidecar of this session does not run.
    """

    uri: str
    pointer: Pointer
    staleness: Staleness
    recorded: tuple[Entry, ...] = ()
    built_for: Reading | None = None
    now: Reading | None = None
    is_automatic: bool = False
    automatic: AutomaticPart | None = None
    waiting: int | None = None
    target: str | None = None

    @property
    def _fields(self) -> FieldBinding | None:
        """The fields of a table of a format that identifies them, then and now; else None."""
        built, now = self.built_for, self.now
        if built is None or now is None or built.format != now.format:
            return None
        if now.format not in (ICEBERG, DELTA):
            return None
        return FieldBinding(built, now)

    @property
    def _of_rows(self) -> Reading | None:
        """How files were read that are not Parquet; None: they are Parquet."""
        return self.built_for if self.built_for is not None and self.built_for.is_of_rows else None

    @property
    def unused(self) -> tuple[str, ...]:
        """What queries of a table of a format do not use, because columns have changed."""
        fields = self._fields
        if fields is None:
            return ()
        columns = {each.path: each.leaf.name for each in self.pointer.columns}
        plain = [each for each in self.recorded if not each.is_aggregate]
        columns |= {each.path: each.name for each in plain if each.path is not None}
        expressions = {
            each.name: fields.reads_the_same(each.reads) for each in plain if each.path is None
        }
        for each in self.recorded:
            if each.by is not None:
                paths = [path for path, _ in each.by]
                paths += [] if each.path is None else [each.path]
                is_used = fields.reads_the_same(each.reads) and all(map(fields.is_used, paths))
                expressions[each.name] = is_used
        return (
            *(name for path, name in columns.items() if not fields.is_used(path)),
            *(name for name, is_used in expressions.items() if not is_used),
        )

    @property
    def unusable_because(self) -> str | None:
        """Why queries that read the files as this session does cannot use the index.

        None if they can.
        """
        if self.built_for == self.now:
            return None
        fields = self._fields
        if fields is not None:
            return other_table(fields.built, fields.now)
        if self.built_for is None or self.now is None:
            built, now = (
                "parquet" if each is None else each.format for each in (self.built_for, self.now)
            )
            return f"the format was {built} and now is {now}"
        return difference(self.built_for, self.now)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        pointer, totals, staleness = self.pointer, self.pointer.totals, self.staleness
        return {
            "index": self.uri,
            "root": pointer.root,
            "format": "parquet" if self._of_rows is None else self._of_rows.format,
            "options": {} if self._of_rows is None else dict(self._of_rows.options),
            "unusable_because": self.unusable_because,
            "unused": list(self.unused),
            "generation": pointer.name,
            "segments": len(pointer.segments),
            "created": pointer.created,
            "tamis": pointer.tamis,
            "files": totals.files,
            "rows": totals.rows,
            "row_groups": totals.row_groups,
            "bytes": totals.bytes,
            "unreadable_files": totals.unreadable,
            "problems": list(pointer.problems),
            "index_bytes": pointer.size,
            "columns": [
                {
                    "name": column.leaf.name,
                    "type": column.type,
                    "files_with_bounds": column.files_with_bounds,
                    "files_with_null_count": column.files_with_null_count,
                    "files_with_nan_count": self._nan_counts(column),
                }
                for column in pointer.columns
            ],
            "recorded": [
                {
                    "of": entry.name,
                    "is_expression": entry.path is None,
                    "kind": "order" if entry.order is not None else entry.kind,
                    "type": entry.type,
                    "files": entry.files,
                    "bytes": entry.bytes,
                    "seconds": entry.seconds,
                    "fills_gap": entry.fills_gap,
                }
                for entry in self.recorded
            ],
            "staleness": {
                "fresh": staleness.fresh,
                "changed": staleness.changed,
                "added": staleness.added,
                "gone": staleness.gone,
            },
            "is_automatic": self.is_automatic,
            "automatic": self.automatic and asdict(self.automatic),
            "waiting": self.waiting,
            "untimed": staleness.untimed,
        }

    def _nan_counts(self, column: ColumnEntry) -> int:
        """Return for how many files the number of NaN is known. Footers do not have it."""
        if column.type not in FLOATING:
            return 0
        if self._of_rows is not None:
            return column.files_with_null_count
        bounds = (e for e in self.recorded if e.kind == "bounds" and e.path == column.path)
        return max((entry.files for entry in bounds), default=0)

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [_COLUMNS, *self._rows()]
        if self.recorded:
            rows += [_RECORDED, *self._recorded()]
        return "\n".join([*self._head(), *("\t".join(row) for row in rows)])

    def __rich__(self) -> Table | Group:
        from rich.console import Group
        from rich.table import Table

        table = Table(title="\n".join(self._head()), title_justify="left")
        for name in _COLUMNS:
            table.add_column(name)
        for row in self._rows():
            table.add_row(*row)
        if not self.recorded:
            return table
        recorded = Table(title="recorded from rows", title_justify="left")
        for name in _RECORDED:
            recorded.add_column(name)
        for entry in self._recorded():
            recorded.add_row(*entry)
        return Group(table, recorded)

    def _repr_html_(self) -> str:
        """Return the same text and tables as HTML, for notebooks."""
        head = "".join(f"<p>{escape(line)}</p>" for line in self._head())
        columns = _html_table(_COLUMNS, self._rows())
        recorded = _html_table(_RECORDED, self._recorded()) if self.recorded else ""
        return f"<div>{head}{columns}{recorded}</div>"

    def _head(self) -> list[str]:
        pointer, totals, staleness = self.pointer, self.pointer.totals, self.staleness
        parts = f"{totals.row_groups:,} row groups"
        of_rows = self._of_rows
        if of_rows is not None:
            shown = {} if of_rows.format == ICEBERG else of_rows.options
            options = ", ".join(f"{k}={v!r}" for k, v in shown.items())
            parts = f"{of_rows.format}{f' with {options}' if options else ''}"
        kind = "automatic" if self.is_automatic else f"generation {pointer.name}"
        head = [
            f"{self.uri}, {kind}, built {pointer.created}",
            f"{totals.files:,} files, {totals.rows:,} rows, {parts}, {totals.bytes:,} bytes",
        ]
        if totals.unreadable:
            head.append(
                f"{totals.unreadable:,} files have no statistics: filters on their columns do not "
                "skip them"
            )
            if of_rows is not None:
                head += [f"  {problem}" for problem in pointer.problems[:_SHOWN]]
        if self.unusable_because is not None:
            head.append(
                f"not used by queries with the current schema and settings: {self.unusable_because}"
            )
        if self.unused and self.unusable_because is None:
            head.append(
                "not used, because columns have changed since the build: "
                f"{', '.join(self.unused)}. To record these again, run: {self._refresh()}"
            )
        if self.is_automatic and (staleness.changed or staleness.added):
            missing = staleness.changed + staleness.added
            head.append(
                f"files of the table that the index lacks: {missing:,}. The next query that has to "
                "read them adds them."
            )
        elif staleness.is_stale and not self.is_automatic:
            head.append(
                f"stale: {staleness.changed:,} files changed, {staleness.added:,} added, "
                f"{staleness.gone:,} deleted since the build. To update the index, run: "
                f"{self._refresh()}"
            )
        if self.automatic is not None and self.automatic.files:
            head.append(
                f"files that only the automatic index {self.automatic.uri} describes: "
                f"{self.automatic.files:,}"
            )
        if staleness.untimed:
            head.append(
                "files with a modification time before 1990, whose statistics queries do not use: "
                f"{staleness.untimed:,}. Set their times, for example with touch, and refresh the "
                "index."
            )
        if self.waiting:
            head.append(f"files that wait for the automatic index: {self.waiting:,}")
        return head

    def _refresh(self) -> str:
        """Return what refreshes the index."""
        if self.target is not None:
            target = json.dumps(self.target, ensure_ascii=False)
            return f"tamis.index(spark, {target}).refresh()"
        is_inside = self.uri == index_uri(self.pointer.root, None)
        location = None if is_inside else self.uri.rpartition("/")[0]
        return refresh_command(self.pointer.root, location, command_options(self.built_for))

    def _recorded(self) -> list[tuple[str, str, str, str, str]]:
        files = self.pointer.totals.files
        return [
            (
                _kind(entry),
                entry.name,
                f"{entry.files:,} / {files:,}",
                f"{entry.bytes:,} bytes",
                f"{entry.seconds:.1f} s",
            )
            for entry in self.recorded
        ]

    def _rows(self) -> list[tuple[str, str, str, str]]:
        files = self.pointer.totals.files
        return [
            (
                column.leaf.name,
                column.type,
                f"{column.files_with_bounds:,} / {files:,}",
                f"{column.files_with_null_count:,} / {files:,}",
            )
            for column in self.pointer.columns
        ]


def _kind(entry: Entry) -> str:
    if entry.order is not None:
        return "order"
    return f"{entry.kind} (footers do not suffice)" if entry.fills_gap else entry.kind


def _html_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def row(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row("td", each) for each in rows)
    return f"<table><thead>{row('th', names)}</thead><tbody>{body}</tbody></table>"
