"""What the history tells about statistics: where pruning is lost, why, and what would mend it.

A filter that lets few rows pass and yet rules out few files is let down by the statistics:

    stale      an index is there, and most files that were kept are newer than it
    missing    of most files that were kept, nothing is known of a column of the predicate
    coarse     every file is known, and their ranges overlap: the rows lie in no useful order
    opaque     no statistics would help: the predicate itself is not understood

What was lost is measured: of the bytes that a scan read, those whose rows its filter dropped again;
of the files that it opened, those that a perfect layout would not need. A perfect layout has the
rows that pass in files of their own; but a file is read whole, so one file of average size is
always needed for them. Spark's reader may skip most of the rows of a file by itself, and then reads
few bytes of it; opening the file, and reading its footer, is a cost all the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

__all__ = [
    "Cause",
    "cause_of",
    "cost",
    "is_mend",
    "is_opaque",
    "lost_bytes",
    "lost_files",
    "prunes_little",
    "recording_helps",
    "residual",
    "shape",
    "suspects",
]

#: A filter is selective if it drops so much of what was read.
SELECTIVE: Final = 0.10
#: And prunes nothing to speak of, if it rules out less than that of the files.
LITTLE: Final = 0.10

#: What opening a file costs, in bytes that could be read instead: the default of
#: spark.sql.files.openCostInBytes.
OPEN_COST: Final = 4 << 20

#: Reasons that no statistics of the columns would change.
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
_UNKNOWN: Final = frozenset(
    {
        "FILES_WITHOUT_STATISTICS",
        "FOOTERS_WITHOUT_STATISTICS",
        "NO_NULL_COUNTS",
        "NO_STATISTICS",
        "TRANSFORM_IS_NOT_ORDERED",
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
    """The conjuncts that a selective scan which read nearly all files was let down by."""
    passed = share_passed(scan)
    if passed is None or passed > SELECTIVE or not _reads_all(scan):
        return
    if scan["fallback"] and not scan.get("observed"):
        return
    for conjunct in residual(scan):
        if prunes_little(conjunct, scan):
            yield Suspect(conjunct, cause_of(conjunct, scan))


def residual(scan: Scan) -> list[Mapping[str, Any]]:
    """The conjuncts that were applied to rows, without what Spark infers of them."""
    return [
        each
        for each in scan["conjuncts"] or []
        if each["pushdown"] != "exact" and not _IS_NOT_NULL.fullmatch(each["sql"])
    ]


def is_opaque(conjunct: Mapping[str, Any]) -> bool:
    """Whether no statistics, and no order of rows, would make the conjunct prune."""
    return conjunct["reason"] in _OPAQUE


def cause_of(conjunct: Mapping[str, Any], scan: Scan) -> Cause:
    """Why the conjunct rules out no more of the files that were kept."""
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
    """Whether the conjunct on its own rules out hardly any file; that all do is known anyway."""
    pruned = conjunct["pruned_files"]
    return pruned is None or bool(pruned < LITTLE * scan["files_total"])


def is_mend(conjunct: Mapping[str, Any], scan: Scan) -> bool:
    """Whether the conjunct is known to rule out files, so that what was wrong before is mended."""
    return conjunct["pruned_files"] is not None and not prunes_little(conjunct, scan)


def recording_helps(conjunct: Mapping[str, Any], scan: Scan) -> bool:
    """Whether a bloom filter of the column would rule out half of the files or more.

    A single value is looked for, and so few rows pass that at most half of the files hold one,
    wherever these rows lie. Nothing has to be sorted for that.

    >>> conjunct = {"reason": "VALUE_WITHIN_RANGES"}
    >>> recording_helps(conjunct, {"rows_passed": 20, "files_total": 100})
    True
    >>> recording_helps(conjunct, {"rows_passed": 80, "files_total": 100})
    False
    """
    return (
        conjunct["reason"] == "VALUE_WITHIN_RANGES"
        and scan["rows_passed"] is not None
        and bool(2 * scan["rows_passed"] <= scan["files_total"])
    )


def share_passed(scan: Scan) -> float | None:
    """Which share of the rows that were read passed the filters; None: not measured.

    >>> share_passed({"rows_read": 1000, "rows_passed": 5})
    0.005
    """
    read = _rows_read(scan)
    if not read or scan["rows_passed"] is None:
        return None
    return float(min(1.0, scan["rows_passed"] / read))


def _rows_read(scan: Scan) -> int | None:
    """Of a scan that only observes: at most the rows of what it would have read."""
    read: int | None = scan["rows_read"]
    kept: int | None = scan.get("rows_kept")
    if read is None or kept is None or not scan.get("observed"):
        return read
    return min(read, kept)


def lost_bytes(scan: Scan) -> int | None:
    """Bytes that were read and that a perfect layout would not have read; None: not measured.

    Where Spark's reader skipped row groups by itself, or a LIMIT ended it, it gave fewer rows than
    the files have, and read as many fewer of their bytes.

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
    # some row passed: its file is read
    least = scan["bytes_total"] / scan["files_total"] if scan["rows_passed"] else 0.0
    there, rows = scan["rows_kept"], _rows_read(scan) or 0
    read: float = scan["bytes_kept"] * (min(1.0, rows / there) if there else 1.0)
    return max(0, round(read - max(read * passed, least)))


def lost_files(scan: Scan) -> int | None:
    """Files that were opened and that a perfect layout would not have needed; None: not measured.

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
    """Bytes that were read and files that were opened for nothing, in bytes."""
    return lost + files * OPEN_COST


def shape(sql: str) -> str:
    """The predicate without its constants, so that those that differ in them count together.

    >>> shape("(l_quantity < 24.50BD)"), shape("(`a 1` IN ('x', 'it''s', 'z'))")
    ('(l_quantity < ?)', '(`a 1` IN (?, …))')
    >>> shape("(day >= DATE '1995-01-01')"), shape("(c2 = -5L)")
    ('(day >= DATE ?)', '(c2 = ?)')
    """
    without = _CONSTANT.sub(lambda found: found["name"] or "?", sql)
    return _LIST.sub("?, …", without)


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
