"""Summarizes the history by table, by predicate and by column."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from shlex import quote
from typing import Any, Final

import pyarrow as pa

from tamis.report.aggregate_uses import AggregateUse, aggregate_uses
from tamis.report.first_row_uses import FirstRowsUse, first_row_uses
from tamis.report.quality import (
    Cause,
    Scan,
    Solved,
    Suspect,
    cost,
    index_arguments,
    is_opaque,
    key_of,
    lost_bytes,
    lost_files,
    recordable,
    residual,
    suspects,
)

__all__ = ["Audits", "ColumnUse", "Findings", "Point", "Predicate", "TableUse", "findings"]

#: Only the latest scans up to this number are summarized.
_MOST_SCANS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Point:
    """One scan of the plot. `time` is in seconds since 1970."""

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
    """What was read of one table.

    Attributes:
        points: The scans with a filter, and those that were pruned without one.
        observed: The number of scans in the mode `observe`.
        observed_bytes: The bytes that these scans read.
        would_read: The bytes that these scans would have read if the decision had been applied.
    """

    table: str
    scans: int
    unfiltered: int
    fallbacks: int
    bytes_read: int
    bytes_total: int
    planning_ms: float | None
    points: list[Point] = field(repr=False)
    observed: int = 0
    observed_bytes: int = 0
    would_read: int = 0


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate that matches few rows but prunes few files."""

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
    #: Files that were opened and that a perfect layout would not need.
    lost_files: int = 0

    @property
    def share_passed(self) -> float:
        """The share of matching rows in all these scans together."""
        return min(1.0, self.rows_passed / self.rows_read) if self.rows_read else 0.0


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """A column that scans were filtered by. `depth` and `files_total` are those last recorded."""

    table: str
    column: str
    scans: int
    depth: float | None
    files_total: int
    lost_bytes: int
    lost_alone: int
    measured: int
    lost_files: int = 0


@dataclass(frozen=True, slots=True)
class Audits:
    """Scans that Spark audited (spark.tamis.audit).

    Attributes:
        texts: Descriptions of the disagreements.
        observed: The number of disagreements of scans in the mode `observe`, whose result is right.
    """

    passed: int = 0
    disagreements: int = 0
    failed: int = 0
    files: int = 0
    texts: list[str] = field(default_factory=list)
    observed: int = 0


@dataclass(frozen=True, slots=True)
class Findings:
    """The contents of a report.

    Attributes:
        left_out: The number of older scans that are not summarized.
        fixed: The number of predicates that are not listed because they prune in later scans.
    """

    first: float | None
    last: float | None
    scans: int
    left_out: int
    #: For all scans with a listed predicate, each counted once.
    lost_bytes: int
    tables: list[TableUse]
    predicates: list[Predicate]
    columns: list[ColumnUse]
    lost_files: int = 0
    fixed: int = 0
    audits: Audits = Audits()
    #: Aggregates that are worth recording, those that save most first.
    aggregates: list[AggregateUse] = field(default_factory=list)
    #: Bounds of sort keys that are worth recording, those that save most first.
    first_rows: list[FirstRowsUse] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON. Sizes are in bytes, times in seconds since 1970."""
        return asdict(self)


def findings(history: pa.Table) -> Findings:
    """Summarize a history.

    >>> from tamis.scan_history import SCHEMA
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
    solved = Solved(scans)
    columns = [use for name, its in by_table.items() for use in _columns(name, its, solved)]
    aggregates = [use for name, its in by_table.items() for use in aggregate_uses(name, its)]
    first_rows = [use for name, its in by_table.items() for use in first_row_uses(name, its)]
    suspicious = [(scan, its) for scan in scans if (its := solved.others(scan))]
    every = {key_of(scan, each.conjunct) for scan in scans for each in suspects(scan)}
    listed = {key_of(scan, each.conjunct) for scan, its in suspicious for each in its}
    return Findings(
        min(times, default=None),
        max(times, default=None),
        len(scans),
        len(history) - len(scans),
        sum(lost_bytes(scan) or 0 for scan, _ in suspicious),
        sorted(tables, key=lambda each: (-each.bytes_read, each.table)),
        _predicates(suspicious),
        sorted(columns, key=lambda each: (-_cost(each), each.table, each.column)),
        sum(lost_files(scan) or 0 for scan, _ in suspicious),
        len(every - listed),
        _audits(scans),
        sorted(aggregates, key=lambda each: -cost(each.saved_bytes, each.saved_files)),
        sorted(first_rows, key=lambda each: -cost(each.saved_bytes, each.saved_files)),
    )


def _cost(each: Predicate | ColumnUse) -> int:
    return cost(each.lost_bytes, each.lost_files)


def _audits(scans: Sequence[Scan]) -> Audits:
    audited = [scan for scan in scans if scan["audit"]]
    audits = [scan["audit"] for scan in audited]
    results = [each["result"] for each in audits]
    return Audits(
        results.count("passed"),
        results.count("disagreement"),
        results.count("failed"),
        sum(each["files"] or 0 for each in audits),
        [each["text"] for each in audits if each["result"] == "disagreement"],
        sum(s["audit"]["result"] == "disagreement" and bool(s["observed"]) for s in audited),
    )


def _table(name: str, scans: Sequence[Scan]) -> TableUse:
    chosen = [s for s in scans if s["conjuncts"] or s["files_kept"] < s["files_total"]]
    observed = [s for s in scans if s["observed"]]
    times = [s["planning_ms"] for s in scans if s["planning_ms"] is not None and s["conjuncts"]]
    return TableUse(
        name,
        len(scans),
        len(scans) - len(chosen),
        sum(s["fallback"] is not None and not s["observed"] for s in scans),
        sum(map(_bytes_read, scans)),
        sum(s["bytes_total"] for s in scans),
        statistics.median(times) if times else None,
        [
            Point(
                s["time"].timestamp(),
                (s["files_read"] if s["observed"] else s["files_kept"]) or 0,
                s["files_total"],
                _bytes_read(s),
                s["bytes_total"],
            )
            for s in chosen
        ],
        len(observed),
        sum(map(_bytes_read, observed)),
        sum(s["bytes_kept"] for s in observed),
    )


def _bytes_read(scan: Scan) -> int:
    """Return the bytes read: run-time filters read less than is kept, the mode `observe` more."""
    read: int | None = scan["bytes_read"]
    return int(scan["bytes_kept"]) if read is None else read


def _predicates(suspicious: Sequence[tuple[Scan, list[Suspect]]]) -> list[Predicate]:
    groups: dict[tuple[str, str, Cause], list[tuple[Scan, Any]]] = defaultdict(list)
    for scan, its_suspects in suspicious:
        for each in its_suspects:
            groups[*key_of(scan, each.conjunct), each.cause].append((scan, each.conjunct))
    predicates = []
    for (table, predicate, cause), its in groups.items():
        scan, conjunct = its[-1]
        columns = list(conjunct["columns"] or [])
        stale = scan["files_without_index"]
        unknown = stale if cause is Cause.STALE else conjunct["files_without_bounds"]
        predicates.append(
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
                sum(lost_files(s) or 0 for s, _ in its),
            )
        )
    return sorted(predicates, key=lambda each: (-_cost(each), each.table, each.predicate))


def _fix(cause: Cause, scan: Scan, conjunct: Any, columns: Sequence[str]) -> str:
    command = "python -m tamis index"
    match cause:
        case Cause.STALE:
            return f"refresh the index: {command} refresh {index_arguments(scan)}"
        case Cause.MISSING:
            return conjunct["fix"] or f"build the index: {command} build {index_arguments(scan)}"
        case Cause.COARSE if columns and (kind := recordable(conjunct, scan)):
            column = columns[0]
            return (
                f"record {_KINDS[kind]} of {column}: in any sort order of the table, at most "
                f"half of its files can contain matching rows. Run {command} add --{kind} "
                f"{quote(column)} {index_arguments(scan)}. This does not rewrite the table; "
                f"clustering it by {column} would."
            )
        case Cause.COARSE:
            return f"cluster the table by {', '.join(columns)}" if columns else "cluster the table"
        case Cause.OPAQUE:
            return conjunct["fix"] or "rewrite the predicate: no statistics can help as it stands"


#: What `index add --bloom` and `--values` record.
_KINDS: Final = {"bloom": "Bloom filters", "values": "the distinct values"}


def _columns(table: str, scans: Sequence[Scan], solved: Solved) -> list[ColumnUse]:
    used: dict[str, int] = defaultdict(int)
    depths: dict[str, tuple[float | None, int]] = {}
    lost: dict[str, list[tuple[int, int, bool]]] = defaultdict(list)
    for scan in scans:  # oldest first, so the latest values remain
        of_scan = {name for each in scan["conjuncts"] or [] for name in each["columns"] or []}
        for name in of_scan:
            used[name] += 1
            depths.setdefault(name, (None, scan["files_total"]))
        for each in scan["columns"] or []:
            depths[each["name"]] = (each["depth"], scan["files_total"])
        loss, files = lost_bytes(scan), lost_files(scan)
        # If all predicates of a column are true of every row that was read, no order helps it.
        open_columns = {
            name
            for each in residual(scan)
            if not is_opaque(each) and not solved.includes(scan, each)
            for name in each["columns"] or []
        }
        if loss is not None:
            for name in open_columns:
                lost[name].append((loss, files or 0, len(open_columns) == 1))
    return [
        ColumnUse(
            table,
            name,
            count,
            *depths[name],
            sum(loss for loss, _, _ in lost[name]),
            sum(loss for loss, _, alone in lost[name] if alone),
            len(lost[name]),
            sum(files for _, files, _ in lost[name]),
        )
        for name, count in used.items()
    ]
