"""The history put together: per table, per predicate, per column."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import pyarrow as pa

from tamis.report.quality import Cause, Scan, is_opaque, lost_bytes, residual, shape, suspects

__all__ = ["ColumnUse", "Findings", "Point", "Predicate", "TableUse", "findings"]

#: Of more scans than that, the latest.
_MOST_SCANS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Point:
    """One scan with a filter. `time`: seconds since 1970."""

    time: float
    files_kept: int
    files_total: int
    bytes_kept: int
    bytes_total: int

    @property
    def pruned(self) -> float:
        """The share of the files that were not read."""
        return 1 - self.files_kept / self.files_total if self.files_total else 0.0


@dataclass(frozen=True, slots=True)
class TableUse:
    """What was read of one table. `points` are the scans with a filter, or a goal that was met."""

    table: str
    scans: int
    unfiltered: int
    fallbacks: int
    bytes_read: int
    bytes_total: int
    planning_ms: float | None
    points: list[Point] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate that is selective for rows and prunes few files."""

    table: str
    predicate: str
    example: str
    cause: Cause
    scans: int
    rows_read: int
    rows_passed: int
    files_kept: int
    files_total: int
    lost_bytes: int
    columns: list[str]
    files_unknown: int | None
    fix: str

    @property
    def share_passed(self) -> float:
        """Of the rows of all these scans together."""
        return min(1.0, self.rows_passed / self.rows_read) if self.rows_read else 0.0


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """A column that scans were filtered by. `depth` of `files_total`, as it was last seen."""

    table: str
    column: str
    scans: int
    depth: float | None
    files_total: int
    lost_bytes: int
    lost_alone: int
    measured: int


@dataclass(frozen=True, slots=True)
class Findings:
    """All that a report tells."""

    first: float | None
    last: float | None
    scans: int
    left_out: int
    #: Of all scans that were let down by their statistics, each once.
    lost_bytes: int
    tables: list[TableUse]
    predicates: list[Predicate]
    columns: list[ColumnUse]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON. Sizes are bytes, times seconds since 1970."""
        return asdict(self)


def findings(history: pa.Table) -> Findings:
    """What a history tells.

    >>> from tamis.history import SCHEMA
    >>> findings(SCHEMA.empty_table()).scans
    0
    """
    recent = history.slice(max(0, len(history) - _MOST_SCANS))
    scans = recent.to_pylist()
    by_table: dict[str, list[Scan]] = defaultdict(list)
    for scan in scans:
        by_table[scan["table"]].append(scan)
    times = [scan["time"].timestamp() for scan in scans]
    tables = [_table(name, its) for name, its in by_table.items()]
    columns = [use for name, its in by_table.items() for use in _columns(name, its)]
    return Findings(
        min(times, default=None),
        max(times, default=None),
        len(scans),
        len(history) - len(scans),
        sum(lost_bytes(scan) or 0 for scan in scans if any(suspects(scan))),
        sorted(tables, key=lambda each: (-each.bytes_read, each.table)),
        _predicates(scans),
        sorted(columns, key=lambda each: (-each.lost_bytes, each.table, each.column)),
    )


def _table(name: str, scans: Sequence[Scan]) -> TableUse:
    chosen = [s for s in scans if s["conjuncts"] or s["files_kept"] < s["files_total"]]
    times = [s["planning_ms"] for s in scans if s["planning_ms"] is not None and s["conjuncts"]]
    return TableUse(
        name,
        len(scans),
        len(scans) - len(chosen),
        sum(s["fallback"] is not None for s in scans),
        sum(s["bytes_kept"] for s in scans),
        sum(s["bytes_total"] for s in scans),
        statistics.median(times) if times else None,
        [
            Point(
                s["time"].timestamp(),
                s["files_kept"],
                s["files_total"],
                s["bytes_kept"],
                s["bytes_total"],
            )
            for s in chosen
        ],
    )


def _predicates(scans: Sequence[Scan]) -> list[Predicate]:
    groups: dict[tuple[str, str, Cause], list[tuple[Scan, Any]]] = defaultdict(list)
    for scan in scans:
        for each in suspects(scan):
            key = (scan["table"], shape(each.conjunct["sql"]), each.cause)
            groups[key].append((scan, each.conjunct))
    found = []
    for (table, predicate, cause), its in groups.items():
        scan, conjunct = its[-1]
        columns = list(conjunct["columns"] or [])
        stale = scan["files_without_index"]
        unknown = stale if cause is Cause.STALE else conjunct["files_without_bounds"]
        found.append(
            Predicate(
                table,
                predicate,
                conjunct["sql"],
                cause,
                len(its),
                sum(s["rows_read"] for s, _ in its),
                sum(s["rows_passed"] for s, _ in its),
                scan["files_kept"],
                scan["files_total"],
                sum(lost_bytes(s) or 0 for s, _ in its),
                columns,
                unknown,
                _fix(cause, scan, conjunct, columns),
            )
        )
    return sorted(found, key=lambda each: (-each.lost_bytes, each.table, each.predicate))


def _fix(cause: Cause, scan: Scan, conjunct: Any, columns: Sequence[str]) -> str:
    root = (scan["roots"] or ["PATH"])[0]
    match cause:
        case Cause.STALE:
            return f"refresh the index: python -m tamis index refresh {root}"
        case Cause.MISSING:
            build = f"build the index: python -m tamis index build {root}"
            return conjunct["fix"] or build
        case Cause.COARSE:
            return f"cluster the table by {', '.join(columns)}" if columns else "cluster the table"
        case Cause.OPAQUE:
            return conjunct["fix"] or "no statistics would help: write the predicate another way"


def _columns(table: str, scans: Sequence[Scan]) -> list[ColumnUse]:
    used: dict[str, int] = defaultdict(int)
    depths: dict[str, tuple[float | None, int]] = {}
    lost: dict[str, list[tuple[int, bool]]] = defaultdict(list)
    for scan in scans:  # the oldest first: the last word is the latest
        of_scan = {name for each in scan["conjuncts"] or [] for name in each["columns"] or []}
        for name in of_scan:
            used[name] += 1
            depths.setdefault(name, (None, scan["files_total"]))
        for each in scan["columns"] or []:
            depths[each["name"]] = (each["depth"], scan["files_total"])
        loss = lost_bytes(scan)
        # of columns whose predicates all hold for what was read, no order would spare more
        open_columns = {
            name for each in residual(scan) if not is_opaque(each) for name in each["columns"] or []
        }
        if loss is not None:
            for name in open_columns:
                lost[name].append((loss, len(open_columns) == 1))
    return [
        ColumnUse(
            table,
            name,
            count,
            *depths[name],
            sum(loss for loss, _ in lost[name]),
            sum(loss for loss, alone in lost[name] if alone),
            len(lost[name]),
        )
        for name, count in used.items()
    ]
