"""Finds in the history the aggregates that an index should record.

A query whose aggregates an index records does not read the files whose rows all pass its filters.
The history has, of each scan below aggregates that could be recorded, the number of these files:

    query                                                   groups  files  all rows pass in
    SELECT flag, sum(x) FROM t WHERE day > d GROUP BY flag  3       40     39
    SELECT flag, sum(x) FROM t WHERE x > 5 GROUP BY flag    3       200    0: nothing is gained

The columns of the GROUP BY become `by`. In a file whose rows all pass, each group of the file is a
group of the result, so the file has at most as many groups as the result.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tamis.indexing.format.groups import MAX_GROUPS
from tamis.report.quality import Scan, add_call, cost, index_arguments

__all__ = ["AggregateUse", "aggregate_uses"]

#: Recording takes as long as reading the columns up to this many times (docs/benchmarks.md).
_RECORDING: Final = 2


@dataclass(frozen=True, slots=True)
class AggregateUse:
    """Aggregates that would save more than recording them costs, if the same scans ran again.

    Attributes:
        aggregates: SQL, as for `tamis.Index.add`.
        by: The columns by which they should be recorded.
        groups: The greatest number of groups of a query.
        scans: The number of scans below these aggregates.
        saved_files: The files that these scans would not have read.
        saved_bytes: The size of these files.
        files_kept: All files that these scans read.
        call: The call that records them.
        command: The same on the command line.
    """

    table: str
    aggregates: list[str]
    by: list[str]
    groups: int
    scans: int
    saved_files: int
    saved_bytes: int
    files_kept: int
    call: str
    command: str


def aggregate_uses(table: str, scans: Sequence[Scan]) -> list[AggregateUse]:
    """Return the aggregates of a table that are worth recording, those that save most first.

    Args:
        scans: The scans of the table, oldest first.
    """
    found = [
        _use(table, by, its)
        for by, its in _by_columns(scans).items()
        if _saved(its) > _RECORDING * cost(its[-1]["bytes_total"], its[-1]["files_total"])
    ]
    return sorted(found, key=lambda each: (-cost(each.saved_bytes, each.saved_files), each.by))


def _by_columns(scans: Sequence[Scan]) -> Mapping[tuple[str, ...], list[Scan]]:
    """Return the scans that would gain, by the columns by which to record the aggregates.

    Aggregates by some columns also answer queries that group by fewer of them. Of several choices,
    the one with most of their aggregates is taken.
    """
    by_columns: dict[frozenset[str], list[Scan]] = defaultdict(list)
    for scan in scans:
        if _gains(scan):
            by_columns[frozenset(scan["aggregates"]["by"])].append(scan)
    merged: dict[frozenset[str], list[Scan]] = {}
    for columns in sorted(by_columns, key=lambda each: (-len(each), sorted(each))):
        its = by_columns[columns]
        listed = _aggregates(its)
        wider = max(
            (each for each in merged if each > columns),
            key=lambda each: (len(listed & _aggregates(merged[each])), -len(each)),
            default=columns,
        )
        merged.setdefault(wider, []).extend(its)
    return {
        tuple(sorted(columns)): sorted(its, key=lambda scan: scan["time"])
        for columns, its in merged.items()
    }


def _aggregates(scans: Sequence[Scan]) -> set[str]:
    return {sql for scan in scans for sql in scan["aggregates"]["aggregates"]}


def _gains(scan: Scan) -> bool:
    wanted = scan["aggregates"]
    if not wanted or (scan["fallback"] and not scan["observed"]):
        return False
    # null: not known, so perhaps too many
    is_recorded = wanted["groups"] is not None and wanted["groups"] <= MAX_GROUPS
    return is_recorded and bool(wanted["files"])


def _saved(scans: Sequence[Scan]) -> int:
    return sum(cost(s["aggregates"]["bytes"], s["aggregates"]["files"]) for s in scans)


def _use(table: str, by: Sequence[str], scans: Sequence[Scan]) -> AggregateUse:
    aggregates, columns = sorted(_aggregates(scans)), list(by)
    last = scans[-1]
    return AggregateUse(
        table,
        aggregates,
        columns,
        max(scan["aggregates"]["groups"] for scan in scans),
        len(scans),
        sum(scan["aggregates"]["files"] for scan in scans),
        sum(scan["aggregates"]["bytes"] for scan in scans),
        sum(scan["files_kept"] for scan in scans),
        _call(last, aggregates, columns),
        _command(last, aggregates, columns),
    )


def _call(scan: Scan, aggregates: list[str], by: list[str]) -> str:
    return add_call(scan, {"aggregates": aggregates} | ({"by": by} if by else {}))


def _command(scan: Scan, aggregates: list[str], by: list[str]) -> str:
    options = [*_options(aggregates, by), index_arguments(scan)]
    return " ".join(["python -m tamis index add", *options])


def _options(aggregates: list[str], by: list[str]) -> Iterator[str]:
    for sql in aggregates:
        yield f"--aggregate {shlex.quote(sql)}"
    for column in by:
        yield f"--by {shlex.quote(column)}"
