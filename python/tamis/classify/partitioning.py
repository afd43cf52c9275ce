"""docs/partitioning.md, made from the lifting rules themselves: `make partitioning`."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from tamis.classify.lifting import LiftingRule, lifting_rule, null_lifting_rule
from tamis.expr.nodes import Comparison
from tamis.expr.types import BINARY, DATE, INTEGER, LONG, STRING, TIMESTAMP, DataType, decimal
from tamis.files.partition import Transform

__all__ = ["to_markdown"]

_HOUR: Final = 3_600_000_000
_DAY: Final = 24 * _HOUR

#: Transform, type of its source, and constants: in the midst of a partition, at its start, at its
#: end, and one that is a whole partition.
_ROWS: Final[tuple[tuple[str, DataType, tuple[Any, ...]], ...]] = (
    ("identity", LONG, (5,)),
    ("year", DATE, (400, 365, 730 - 1)),
    ("month", TIMESTAMP, (40 * _DAY, 31 * _DAY, 31 * _DAY - 1)),
    ("day", TIMESTAMP, (_DAY + 5, _DAY, _DAY - 1)),
    ("day", DATE, (5,)),
    ("hour", TIMESTAMP, (_HOUR + 5, _HOUR, _HOUR - 1)),
    ("truncate[10]", INTEGER, (5, 10, 19)),
    ("truncate[50]", decimal(9, 2), (Decimal("0.77"), Decimal("0.50"), Decimal("0.99"))),
    ("truncate[3]", STRING, ("abcd", "abc", "ab")),
    ("truncate[3]", BINARY, (b"abcd", b"abc", b"ab")),
    ("bucket[16]", LONG, (5,)),
    ("void", LONG, (5,)),
)
_COLUMNS: Final = (
    ("= IN <=>", Comparison.EQUAL),
    ("<> NOT IN", Comparison.NOT_EQUAL),
    ("<", Comparison.LESS),
    (">=", Comparison.GREATER_EQUAL),
    ("<=", Comparison.LESS_EQUAL),
    (">", Comparison.GREATER),
)


def to_markdown() -> str:
    """The text of docs/partitioning.md."""
    names = [f"`{name}`" for name, _ in _COLUMNS]
    lines = [
        "# Partition transforms",
        "",
        "<!-- Made by `make partitioning` from python/tamis/classify/partitioning.py. -->",
        "",
        "A partition value is one more bound on its source column: a file of the month 303 holds",
        "dates of April 1995. So every predicate prunes by it that prunes by minimum and maximum,",
        "functions included: `year(d) = 1995` reads the files of twelve months. A `bucket` tells",
        "which files may hold a constant, or one of a list.",
        "",
        "`tamis.classify` says what becomes of a predicate by the partition spec alone:",
        "",
        "- tight: the partition value decides; kept files match as a whole, the filter is *exact*.",
        "- conservative: it rules files out, and the filter is applied again: *inexact*.",
        "- none: it says nothing. Statistics of the column may still rule files out.",
        "",
        "Where two rules stand, the first one holds for constants that fall on the boundary of a",
        "partition: its first value for `<` and `>=`, its last one for `<=` and `>`, and for `=`",
        "a constant that has a partition to itself.",
        "",
        "| transform | source | " + " | ".join(names) + " | `IS NULL` |",
        "|" + " --- |" * (len(names) + 3),
        *(_row(*row) for row in _ROWS),
        "",
        "## What is taken care of",
        "",
        "- A null cell is *not known*. It is no NULL partition: a file that was written under",
        "  another spec has no value for the field either. That all rows are NULL is known from",
        "  `null_count` and `num_records`.",
        "- Several fields may have one source, and fields of several specs may lie side by side:",
        "  each known value narrows the bounds. Values that contradict each other, or the",
        "  statistics of the column, tell nothing.",
        "- Ordinals of time are floors, before 1970 too. Some writers round toward zero, and so",
        "  file what is older than 1970 one period late. Files of ordinal 0 and below may hold",
        "  values of the period before as well, and boundaries up to 1970 are conservative.",
        "  Iceberg's own projections do the same. A date is its own day: nothing is rounded there.",
        "- Buckets are the Iceberg specification's (appendix B). A string that reads as a UUID may",
        "  lie in the bucket of the string or in that of the UUID.",
        "- `truncate` counts code points of strings and bytes of binary; it rounds down, below",
        "  zero too. A value that no truncation gives tells nothing, and so does a transform with",
        "  another name.",
    ]
    return "\n".join([*lines, ""])


def _row(text: str, data_type: DataType, constants: tuple[Any, ...]) -> str:
    transform = Transform.parse(text)
    assert transform is not None
    cells = []
    for _, op in _COLUMNS:
        rules = [lifting_rule(transform, op, value, data_type) for value in constants]
        cells.append(", else ".join(rule for rule in LiftingRule if rule in rules))
    cells.append(str(null_lifting_rule(transform, data_type)))
    return f"| `{text}` | {data_type} | " + " | ".join(cells) + " |"
