"""What an index holds, and how much of the table it still describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tamis.index.asked import Entry
from tamis.index.layout import Pointer

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table


@dataclass(frozen=True)
class Staleness:
    """Counts of files against the listing of now."""

    fresh: int
    changed: int
    added: int
    gone: int

    @property
    def is_stale(self) -> bool:
        return bool(self.changed or self.added or self.gone)


@dataclass(frozen=True, eq=False)
class Description:
    """An index in force; prints as text, and as a table with rich."""

    uri: str
    pointer: Pointer
    staleness: Staleness
    recorded: tuple[Entry, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        pointer, totals, staleness = self.pointer, self.pointer.totals, self.staleness
        return {
            "index": self.uri,
            "root": pointer.root,
            "generation": pointer.generation,
            "created": pointer.created,
            "tamis": pointer.tamis,
            "files": totals.files,
            "rows": totals.rows,
            "row_groups": totals.row_groups,
            "bytes": totals.bytes,
            "unreadable_files": totals.unreadable,
            "problems": list(pointer.problems),
            "index_bytes": sum(file.size for file in pointer.data.values()),
            "columns": [
                {
                    "name": column.leaf.name,
                    "type": column.type,
                    "files_with_bounds": column.files_with_bounds,
                    "files_with_null_count": column.files_with_null_count,
                    "files_with_nan_count": 0,  # footers do not hold it
                }
                for column in pointer.columns
            ],
            "recorded": [
                {
                    "of": entry.name,
                    "is_expression": entry.path is None,
                    "kind": entry.kind,
                    "type": entry.type,
                    "files": entry.files,
                    "bytes": entry.bytes,
                    "seconds": entry.seconds,
                }
                for entry in self.recorded
            ],
            "staleness": {
                "fresh": staleness.fresh,
                "changed": staleness.changed,
                "added": staleness.added,
                "gone": staleness.gone,
            },
        }

    def __str__(self) -> str:
        rows = (*self._rows(), *self._recorded())
        return "\n".join([*self._head(), *("\t".join(row) for row in rows)])

    def __rich__(self) -> Table | Group:
        from rich.console import Group
        from rich.table import Table

        table = Table(title="\n".join(self._head()), title_justify="left")
        for name in ("column", "type", "files with bounds", "files with null count"):
            table.add_column(name)
        for row in self._rows():
            table.add_row(*row)
        if not self.recorded:
            return table
        recorded = Table(title="recorded of rows", title_justify="left")
        for name in ("recorded", "of", "files", "bytes", "seconds"):
            recorded.add_column(name)
        for entry in self._recorded():
            recorded.add_row(*entry)
        return Group(table, recorded)

    def _head(self) -> list[str]:
        pointer, totals, staleness = self.pointer, self.pointer.totals, self.staleness
        head = [
            f"{self.uri}, generation {pointer.generation}, built {pointer.created}",
            f"{totals.files:,} files, {totals.rows:,} rows, {totals.row_groups:,} row groups, "
            f"{totals.bytes:,} bytes",
        ]
        if totals.unreadable:
            head.append(f"{totals.unreadable:,} files could not be read and are never skipped")
        if staleness.is_stale:
            head.append(
                f"stale: {staleness.changed:,} files changed, {staleness.added:,} added, "
                f"{staleness.gone:,} gone since (python -m tamis index refresh {pointer.root})"
            )
        return head

    def _recorded(self) -> list[tuple[str, str, str, str, str]]:
        files = self.pointer.totals.files
        return [
            (
                entry.kind,
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
