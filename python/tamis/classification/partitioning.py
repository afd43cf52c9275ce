"""Generate docs/partitioning.md from the lifting rules (`make partitioning`)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from tamis.classification.lifting import LiftingRule, lifting_rule, null_lifting_rule
from tamis.expr.nodes import Comparison
from tamis.expr.types import BINARY, DATE, INTEGER, LONG, STRING, TIMESTAMP, DataType, decimal
from tamis.files.partition import Transform

__all__ = ["to_markdown"]

_HOUR: Final = 3_600_000_000
_DAY: Final = 24 * _HOUR

#: The transform, the type of its source, and constants: within a partition, at its start, at its
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
    """Return the text of docs/partitioning.md."""
    names = [f"`{name}`" for name, _ in _COLUMNS]
    lines = [
        "# Partition transforms",
        "",
        "<!-- Made by `make partitioning` from python/tamis/classification/partitioning.py. -->",
        "",
        "A partition value limits the values of its source column: a file of month 303 holds",
        "dates of April 1995. Every predicate that prunes by minimum and maximum therefore also",
        "prunes by partition values, including predicates with functions: `year(d) = 1995` reads",
        "the files of twelve months. For `=` and `IN`, a `bucket` value rules out the files of",
        "other buckets.",
        "",
        "`tamis.classify` returns how a predicate is pushed down by the partition spec alone:",
        "",
        "- tight: the partition value decides. Kept files are fully matching and the filter is",
        "  *exact*.",
        "- conservative: the partition value rules out files. The filter is applied again to the",
        "  rows, so it is *inexact*.",
        "- none: the partition value proves nothing. Statistics of the column may still rule out",
        "  files.",
        "",
        "If a cell has two rules, the first one holds for constants on the boundary of a",
        "partition: its first value for `<` and `>=`, its last value for `<=` and `>`, and for `=`",
        "a constant that is the only value of its partition.",
        "",
        "| transform | source | " + " | ".join(names) + " | `IS NULL` |",
        "|" + " --- |" * (len(names) + 3),
        *(_row(*row) for row in _ROWS),
        "",
        "## Special cases",
        "",
        "- A null cell means *not known*. It is not a NULL partition: a file that was written with",
        "  another spec has no value for the field either. `null_count` and `num_records` show",
        "  whether all rows are NULL.",
        "- Several fields may have the same source, and fields of several specs may be used",
        "  together. Each known value narrows the bounds. Values that contradict each other or the",
        "  statistics of the column are ignored.",
        "- Ordinals of time transforms are rounded down, also before 1970. Some writers round",
        "  toward zero and so put values before 1970 one period too late. Files of ordinal 0 and",
        "  below may therefore also hold values of the previous period, and boundaries up to 1970",
        "  are conservative. Iceberg's own projections do the same. `day` of a date is the date",
        "  itself, so nothing is rounded.",
        "- Buckets follow appendix B of the Iceberg specification. A string in the form of a UUID",
        "  may be in the bucket of the string or in that of the UUID.",
        "- `truncate` counts code points of strings and bytes of binary values. It rounds down,",
        "  also below zero. A value that no truncation returns is ignored, and so is a transform",
        "  with another name.",
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
