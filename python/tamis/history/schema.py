"""What the history tells of a scan that ran. Null: not known, or not looked for."""

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
        # of the files that were kept, those of which an index says nothing of one of the columns
        ("files_without_bounds", pa.int64()),
    ]
)

_COLUMN: Final = pa.struct(
    [
        ("name", pa.string()),
        # with how many files, itself among them, a file shares part of its range, on average
        ("depth", pa.float64()),
    ]
)

_AUDIT: Final = pa.struct(
    [
        ("result", pa.string()),  # passed, disagreement, failed
        ("files", pa.int64()),  # read again
        ("text", pa.string()),  # which rows disagree, or why the audit failed
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
        ("files_kept", pa.int64()),  # where only observed: that would have been
        ("files_read", pa.int64()),  # what run-time filters left of them
        ("files_total", pa.int64()),
        ("bytes_kept", pa.int64()),
        ("bytes_total", pa.int64()),
        ("rows_kept", pa.int64()),
        ("rows_total", pa.int64()),
        ("row_groups_kept", pa.int64()),
        ("row_groups_total", pa.int64()),
        ("rows_read", pa.int64()),  # as Spark counted the rows of the scan
        ("rows_passed", pa.int64()),  # and those after the filters right above it
        ("planning_ms", pa.float64()),
        ("fallback", pa.string()),  # why it was read as plain Spark would
        ("goals", pa.list_(_GOAL)),
        ("conjuncts", pa.list_(_CONJUNCT)),
        ("columns", pa.list_(_COLUMN)),  # those that the conjuncts name
        ("has_index", pa.bool_()),
        # of the files that were kept, those that no index in force describes
        ("files_without_index", pa.int64()),
        ("tamis", pa.string()),
        ("observed", pa.bool_()),  # decided and not applied: spark.tamis.mode = observe
        ("bytes_read", pa.int64()),  # of the files that were read
        ("audit", _AUDIT),
    ]
)


def rows_to_table(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows by the names of the schema; what is absent is null."""
    return pa.Table.from_pylist(rows, SCHEMA)
