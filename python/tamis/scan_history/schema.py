"""The schema of the history: one row per scan that ran. Null: not known, or not computed."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

__all__ = ["SCHEMA", "rows_to_table"]

_GOAL: Final = pa.struct([("goal", pa.string()), ("reason", pa.string())])

_CONJUNCT: Final = pa.struct(
    [
        ("sql", pa.string()),
        ("pushdown", pa.string()),  # exact, inexact, unsupported
        ("reason", pa.string()),  # a code of docs/reasons.md
        ("text", pa.string()),  # the sentence of the reason
        ("fix", pa.string()),
        ("columns", pa.list_(pa.string())),
        ("pruned_files", pa.int64()),  # ruled out by this conjunct on its own
        # kept files for which the index has no statistics of one of the columns
        ("files_without_bounds", pa.int64()),
    ]
)

_COLUMN: Final = pa.struct(
    [
        ("name", pa.string()),
        # the average number of files, including itself, whose ranges overlap that of a file
        ("depth", pa.float64()),
    ]
)

_AUDIT: Final = pa.struct(
    [
        ("result", pa.string()),  # passed, disagreement, failed
        ("files", pa.int64()),  # read by the audit
        ("text", pa.string()),  # which rows disagree, or why the audit failed
    ]
)

_AGGREGATES: Final = pa.struct(
    [
        # the arguments of Index.add
        ("aggregates", pa.list_(pa.string())),
        ("by", pa.list_(pa.string())),
        ("groups", pa.int64()),  # rows that the aggregate returned
        # kept files whose rows all pass: they would not have been read
        ("files", pa.int64()),
        ("bytes", pa.int64()),
    ]
)

SCHEMA: Final = pa.schema(
    [
        ("id", pa.string()),  # unique
        ("time", pa.timestamp("ms", "UTC")),  # when the query ended
        ("application", pa.string()),
        ("execution", pa.int64()),  # the number of the query in the SQL tab
        ("table", pa.string()),
        ("roots", pa.list_(pa.string())),
        ("files_kept", pa.int64()),  # if observed: the files that would have been kept
        ("files_read", pa.int64()),  # the kept files that run-time filters left
        ("files_total", pa.int64()),
        ("bytes_kept", pa.int64()),
        ("bytes_total", pa.int64()),
        ("rows_kept", pa.int64()),
        ("rows_total", pa.int64()),
        ("row_groups_kept", pa.int64()),
        ("row_groups_total", pa.int64()),
        ("rows_read", pa.int64()),  # Spark's count of the rows of the scan
        ("rows_passed", pa.int64()),  # Spark's count after the filters directly above the scan
        ("planning_ms", pa.float64()),
        ("fallback", pa.string()),  # why the scan was read as plain Spark would read it
        ("goals", pa.list_(_GOAL)),
        ("conjuncts", pa.list_(_CONJUNCT)),
        ("columns", pa.list_(_COLUMN)),  # those that the conjuncts name
        ("has_index", pa.bool_()),
        # kept files that the current index does not describe
        ("files_without_index", pa.int64()),
        ("tamis", pa.string()),
        ("observed", pa.bool_()),  # decided but not applied: spark.tamis.mode = observe
        ("bytes_read", pa.int64()),  # size of the files that were read
        ("audit", _AUDIT),
        # of `python -m tamis index refresh`: the path of the table, and how to read its files
        ("index_arguments", pa.string()),
        # of a query whose aggregates an index could record and does not
        ("aggregates", _AGGREGATES),
    ]
)


def rows_to_table(rows: list[dict[str, Any]]) -> pa.Table:
    """Return the rows as a table of the schema. Missing values are null."""
    return pa.Table.from_pylist(rows, SCHEMA)
