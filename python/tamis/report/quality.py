"""Finds in the history where pruning is lost, and why.

A filter that matches few rows but rules out few files lacks useful statistics. The causes are:

    stale      there is an index, but most kept files are newer than the index
    missing    most kept files have no statistics of a column of the predicate
    coarse     the files have statistics, but their ranges overlap: the rows are in no useful order
    opaque     tamis cannot use statistics for the predicate as a whole; its reason says why

The loss is measured in two ways: the bytes that a scan read for rows that its filter then dropped,
and the files that it opened and that a perfect layout would not need. A perfect layout stores the
matching rows in separate files. A file is read whole, so at least one file of average size is
needed for them. Spark's reader may skip most rows of a file on its own, and then reads few of its
bytes. Opening the file and reading its footer still has a cost.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from tamis.indexing.problems import arguments

__all__ = [
    "Cause",
    "Scan",
    "Solved",
    "Suspect",
    "add_call",
    "cause_of",
    "cost",
    "has_few_matches",
    "index_arguments",
    "is_mend",
    "is_opaque",
    "key_of",
    "lost_bytes",
    "lost_files",
    "prunes_little",
    "recordable",
    "residual",
    "shape",
    "suspects",
]

#: A filter is selective if at most this share of the rows that were read pass it.
SELECTIVE: Final = 0.10
#: A filter prunes little if it rules out less than this share of the files.
LITTLE: Final = 0.10

#: The cost of opening a file, in bytes that could be read instead: the default of
#: spark.sql.files.openCostInBytes.
OPEN_COST: Final = 4 << 20

#: The codes of reasons why statistics cannot be used for a predicate as a whole.
_OPAQUE: Final = frozenset(
    {
        "AND_KEEPS_BRANCH",
        "COLUMNS_ARE_COMPARED",
        "CONSTANTS_NOT_COMPARABLE",
        "EXPRESSION_NOT_UNDERSTOOD",
        "FUNCTION_NOT_DECLARED",
        "FUNCTION_NOT_UNDERSTOOD",
        "OR_NEEDS_EVERY_BRANCH",
    }
)
#: The codes of reasons for missing statistics.
_UNKNOWN: Final = frozenset(
    {
        "FILES_WITHOUT_STATISTICS",
        "FOOTERS_WITHOUT_STATISTICS",
        "INDEX_IS_OFF",
        "NO_NULL_COUNTS",
        "NO_STATISTICS",
        "PARTITION_VALUE_PROVES_NOTHING",
    }
)

Scan = Mapping[str, Any]


class Cause(StrEnum):
    """Why a selective predicate rules out no files."""

    STALE = "stale"
    MISSING = "missing"
    COARSE = "coarse"
    OPAQUE = "opaque"


@dataclass(frozen=True, slots=True)
class Suspect:
    """A conjunct of a selective scan that rules out few files."""

    conjunct: Mapping[str, Any]
    cause: Cause


def suspects(scan: Scan) -> Iterator[Suspect]:
    """Yield the conjuncts that prune little in a selective scan that kept nearly all files."""
    passed = share_passed(scan)
    if passed is None or passed > SELECTIVE or not _reads_all(scan):
        return
    if scan["fallback"] and not scan.get("observed"):
        return
    for conjunct in residual(scan):
        if prunes_little(conjunct, scan):
            yield Suspect(conjunct, cause_of(conjunct, scan))


def residual(scan: Scan) -> list[Mapping[str, Any]]:
    """Return the conjuncts that were applied to rows, without the IS NOT NULL that Spark infers."""
    return [
        each
        for each in scan["conjuncts"] or []
        if each["pushdown"] != "exact" and not _IS_NOT_NULL.fullmatch(each["sql"])
    ]


def is_opaque(conjunct: Mapping[str, Any]) -> bool:
    """Return whether tamis cannot use statistics for the conjunct as a whole."""
    return conjunct["reason"] in _OPAQUE


def cause_of(conjunct: Mapping[str, Any], scan: Scan) -> Cause:
    """Return why the conjunct does not rule out more of the kept files."""
    half = scan["files_kept"] / 2
    reason = conjunct["reason"]
    if scan["has_index"] and (scan["files_without_index"] or 0) >= half:
        return Cause.STALE
    if is_opaque(conjunct):
        return Cause.OPAQUE
    unknown = conjunct["files_without_bounds"]
    if reason in _UNKNOWN if unknown is None else unknown >= half:
        return Cause.MISSING
    return Cause.COARSE


def prunes_little(conjunct: Mapping[str, Any], scan: Scan) -> bool:
    """Return whether the conjunct on its own rules out few files, or an unknown number."""
    pruned = conjunct["pruned_files"]
    return pruned is None or bool(pruned < LITTLE * scan["files_total"])


def is_mend(conjunct: Mapping[str, Any], scan: Scan) -> bool:
    """Return whether the conjunct is known to rule out files, so earlier problems are fixed."""
    return conjunct["pruned_files"] is not None and not prunes_little(conjunct, scan)


def key_of(scan: Scan, conjunct: Mapping[str, Any]) -> tuple[str, str]:
    """Return what scans with the same predicate have in common: their table, and its shape."""
    return scan["table"], shape(conjunct["sql"])


class Solved:
    """The predicates that prune in a later scan, for example because an index was built.

    Args:
        scans: The scans of a history, oldest first.
    """

    def __init__(self, scans: Iterable[Scan]) -> None:
        self._last = {
            key_of(scan, conjunct): scan["time"]
            for scan in scans
            for conjunct in scan["conjuncts"] or []
            if is_mend(conjunct, scan)
        }

    def includes(self, scan: Scan, conjunct: Mapping[str, Any]) -> bool:
        """Return whether the conjunct of a scan prunes in a later scan."""
        last = self._last.get(key_of(scan, conjunct))
        return last is not None and bool(scan["time"] < last)

    def others(self, scan: Scan) -> list[Suspect]:
        """Return the suspects of a scan that do not prune in a later one."""
        return [each for each in suspects(scan) if not self.includes(scan, each.conjunct)]


def recordable(conjunct: Mapping[str, Any], scan: Scan) -> str | None:
    """Return the kind of row statistics that is likely to rule out half of the files or more.

    That is so if the predicate depends on which values a file holds (its reason says so, and which
    kind shows that), and the number of matching rows is at most half of the number of files: then
    at most half of the files hold a matching row, however the table is sorted. With further filters
    this is an estimate, because the matching rows are those that pass all filters.

    Returns:
        "bloom", "values" or None.

    >>> conjunct = {"reason": "VALUE_WITHIN_RANGES"}
    >>> recordable(conjunct, {"rows_passed": 20, "files_total": 100})
    'bloom'
    >>> recordable(conjunct, {"rows_passed": 80, "files_total": 100})
    """
    return _RECORDABLE.get(conjunct["reason"]) if has_few_matches(scan) else None


def has_few_matches(scan: Scan) -> bool:
    """Return whether at most half of the files can hold a matching row, in any order of the rows.

    >>> has_few_matches({"rows_passed": 20, "files_total": 100})
    True
    """
    passed: int | None = scan["rows_passed"]
    return passed is not None and bool(2 * passed <= scan["files_total"])


#: The kind of row statistics that a reason proposes.
_RECORDABLE: Final = {"VALUE_WITHIN_RANGES": "bloom", "VALUES_NOT_LISTED": "values"}


def share_passed(scan: Scan) -> float | None:
    """Return the share of the rows read that passed the filters; None if it was not measured.

    >>> share_passed({"rows_read": 1000, "rows_passed": 5})
    0.005
    """
    read = _rows_read(scan)
    if not read or scan["rows_passed"] is None:
        return None
    return float(min(1.0, scan["rows_passed"] / read))


def _rows_read(scan: Scan) -> int | None:
    """Return the rows read. For an observed scan, at most those that it would have read."""
    read: int | None = scan["rows_read"]
    kept: int | None = scan.get("rows_kept")
    if read is None or kept is None or not scan.get("observed"):
        return read
    return min(read, kept)


def lost_bytes(scan: Scan) -> int | None:
    """Return the bytes read that a perfect layout would not have read; None if not measured.

    If Spark's reader skipped row groups on its own, or a LIMIT ended the scan early, fewer rows
    were read than the files hold. The bytes read are then assumed to be fewer in proportion.

    >>> lost_bytes(
    ...     {
    ...         "rows_read": 1000,
    ...         "rows_passed": 5,
    ...         "rows_kept": 1000,
    ...         "bytes_kept": 800,
    ...         "bytes_total": 1000,
    ...         "files_total": 10,
    ...     }
    ... )
    700
    """
    passed = share_passed(scan)
    if passed is None or not scan["files_total"]:
        return None
    # If a row passed, its file has to be read.
    least = scan["bytes_total"] / scan["files_total"] if scan["rows_passed"] else 0.0
    there, rows = scan["rows_kept"], _rows_read(scan) or 0
    read: float = scan["bytes_kept"] * (min(1.0, rows / there) if there else 1.0)
    return max(0, round(read - max(read * passed, least)))


def lost_files(scan: Scan) -> int | None:
    """Return the files opened that a perfect layout would not have needed; None if not measured.

    >>> lost_files(
    ...     {
    ...         "rows_read": 8000,
    ...         "rows_passed": 8000,
    ...         "rows_total": 3_000_000,
    ...         "files_kept": 300,
    ...         "files_total": 300,
    ...     }
    ... )
    299
    """
    passed = share_passed(scan)
    if passed is None or not scan["files_total"]:
        return None
    opened: int = scan["files_kept"]
    if not scan.get("observed") and scan.get("files_read") is not None:
        opened = min(opened, scan["files_read"])
    rows = scan.get("rows_total") or scan["rows_read"]
    of_one_file = rows / (scan["files_total"] if scan.get("rows_total") else max(1, opened))
    needed: int = math.ceil(scan["rows_passed"] / of_one_file)
    return max(0, opened - needed)


def cost(lost: int, files: int) -> int:
    """Return the cost, in bytes, of bytes read and files opened needlessly."""
    return lost + files * OPEN_COST


def index_arguments(scan: Scan) -> str:
    """Return the arguments of `python -m tamis index …` for the table of a scan."""
    known: str | None = scan["index_arguments"]
    # null: an earlier tamis recorded the scan, or it reads several tables
    return arguments((scan["roots"] or ["PATH"])[0], None, None) if known is None else known


def add_call(scan: Scan, arguments: Mapping[str, Any]) -> str:
    """Return the Python call that adds to the index of the table of a scan.

    Args:
        scan: The scan.
        arguments: The arguments of `tamis.Index.add`, made of texts, lists and mappings.
    """
    path = _python(shlex.split(index_arguments(scan))[0])
    given = ", ".join(f"{name}={_python(value)}" for name, value in arguments.items())
    return f"tamis.index(spark, {path}).add({given})"


def _python(value: Any) -> str:
    """Return texts, lists and mappings as Python spells them."""
    return json.dumps(value, ensure_ascii=False)


def shape(sql: str) -> str:
    """Replace the constants of a predicate, so predicates that differ only in them are grouped.

    >>> shape("(l_quantity < 24.50BD)"), shape("(`a 1` IN ('x', 'it''s', 'z'))")
    ('(l_quantity < ?)', '(`a 1` IN (?, …))')
    >>> shape("(day >= DATE '1995-01-01')"), shape("(c2 = -5L)")
    ('(day >= DATE ?)', '(c2 = ?)')
    """
    replaced = _CONSTANT.sub(lambda match: match["name"] or "?", sql)
    return _LIST.sub("?, …", replaced)


_CONSTANT: Final = re.compile(
    r"(?P<name>`(?:[^`]|``)*`|[A-Za-z_]\w*)"
    r"|'(?:[^'\\]|''|\\.)*'"
    r"|(?<![\w.])-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?[A-Za-z]*"
)
_LIST: Final = re.compile(r"\?(?:, \?)+")
_IS_NOT_NULL: Final = re.compile(r"\(?[^()]+ IS NOT NULL\)?")


def _reads_all(scan: Scan) -> bool:
    total: int = scan["files_total"]
    return total > 1 and bool(total - scan["files_kept"] < LITTLE * total)
