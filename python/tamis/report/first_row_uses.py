"""Finds in the history the ORDER BY … LIMIT for which an index should record bounds.

If an index records the bounds of the sort key in the rows that pass the filter, a query that needs
n rows reads at most n files: the least value of each file belongs to a row that passes
(plan.goals.first_passing).

    query                                                       files read   needed at most
    SELECT phrase FROM t WHERE phrase <> '' ORDER BY phrase LIMIT 10     100   10
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tamis.report.quality import Scan, add_call, cost

__all__ = ["FirstRowsUse", "first_row_uses"]

#: The text of the goal of ORDER BY with LIMIT, if a column is the only key.
_GOAL: Final = re.compile(
    r"first (?P<rows>\d+) by (?P<column>`(?:[^`]|``)+`|\w+) (?P<order>ASC|DESC) NULLS \w+"
)
#: Why statistics did not choose the files.
_OPEN: Final = ("TOPK_NOT_COVERED", "TOPK_RANGES_OVERLAP")
_NOT_NULL: Final = re.compile(r"\(?(?:`(?:[^`]|``)+`|[\w.]+) IS NOT NULL\)?")
_LONG: Final = 1_000
#: Recording reads the columns once. Files of several row groups are read once more.
_RECORDING: Final = 2


@dataclass(frozen=True, slots=True)
class FirstRowsUse:
    """Bounds that would save more than recording them costs, if the same scans ran again.

    Attributes:
        condition: The filter, as SQL.
        column: The sort key, whose bounds should be recorded in the rows that pass.
        scans: The number of scans with this filter and key.
        saved_files: The files that these scans would not have read.
        saved_bytes: Their share of the size of the files that were read.
        files_kept: All files that these scans read.
        call: The call that records them.
    """

    table: str
    condition: str
    column: str
    scans: int
    saved_files: int
    saved_bytes: int
    files_kept: int
    call: str


def first_row_uses(table: str, scans: Sequence[Scan]) -> list[FirstRowsUse]:
    """Return the bounds of a table that are worth recording, those that save most first.

    Args:
        scans: The scans of the table, oldest first.
    """
    groups: dict[tuple[str, str], list[tuple[Scan, int, bool]]] = defaultdict(list)
    for scan in scans:
        for goal in scan["goals"] or []:
            found = _GOAL.fullmatch(goal["goal"])
            condition = _only_condition(scan)
            if found and condition and not (scan["fallback"] and not scan["observed"]):
                is_open = goal["reason"] in _OPEN
                name = _unquoted(found["column"])
                groups[condition, name].append((scan, int(found["rows"]), is_open))
    uses = []
    for (condition, column), its in groups.items():
        last, _, is_open = its[-1]
        # the last scan found what it needed: it is recorded, or the table has another layout
        saved = [(scan, _saved(scan, rows)) for scan, rows, was_open in its if was_open]
        files = sum(count for _, count in saved)
        size = sum(s["bytes_kept"] * count // max(1, s["files_kept"]) for s, count in saved)
        limit = _RECORDING * cost(last["bytes_total"], last["files_total"])
        if is_open and cost(size, files) > limit:
            kept = sum(scan["files_kept"] for scan, _ in saved)
            call = add_call(last, {"predicates": {condition: [column]}})
            uses.append(FirstRowsUse(table, condition, column, len(saved), files, size, kept, call))
    return sorted(
        uses, key=lambda each: (-cost(each.saved_bytes, each.saved_files), each.condition)
    )


def _saved(scan: Scan, rows: int) -> int:
    """Return how many files of a scan would not have been read, at least."""
    return max(0, (scan["files_kept"] or 0) - rows)


def _only_condition(scan: Scan) -> str | None:
    """Return the only conjunct that more than NOT NULL requires; None if there are several.

    With several, the row that has the bound need not pass the others.
    """
    sqls = [each["sql"] for each in scan["conjuncts"] or []]
    others = [sql for sql in sqls if not _NOT_NULL.fullmatch(sql)]
    # the history has only the beginning of a long one
    return others[0] if len(others) == 1 and len(others[0]) < _LONG else None


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
