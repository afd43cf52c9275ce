"""Filter documents that DuckDB itself plans.

Airport sends the filters that reach a scan. DuckDB's own plans contain the same expressions if no
scan takes them: above a LIMIT. There a column is a BOUND_REF with its position in the rows of the
LIMIT, which is its position in the table. Airport writes a BOUND_COLUMN_REF with the position in
the scan. This module converts one into the other; nothing else differs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

#: Optimizers that run after filters reach a scan, or that move columns.
_DISABLED = (
    "column_lifetime,common_subexpressions,compressed_materialization,empty_result_pullup,"
    "in_clause,late_materialization,limit_pushdown,reorder_filter,statistics_propagation,"
    "unused_columns"
)


def prepare(connection: duckdb.DuckDBPyConnection) -> None:
    """Apply the settings that `planned_filters` requires."""
    connection.execute("SET disabled_optimizers = ?", [_DISABLED])
    connection.execute("SET TimeZone = 'UTC'")


def planned_filters(
    connection: duckdb.DuckDBPyConnection, table: str, predicate: str, *, optimize: bool = True
) -> dict[str, Any] | None:
    """Return the document of `SELECT … FROM table WHERE predicate`; None if no filter remains."""
    query = f"SELECT * FROM (SELECT * FROM {table} LIMIT 1000000000) WHERE {predicate}"
    switch = "true" if optimize else "false"
    statement = f"SELECT json_serialize_plan(?, optimize := {switch})"
    ((text,),) = connection.execute(statement, [query]).fetchall()
    plan = json.loads(re.sub(r'(?<="value":)NAN\b', "NaN", text))
    if plan["error"]:
        raise ValueError(plan["error_message"])
    filters = [node["expressions"] for node in _nodes(plan) if node.get("type") == "LOGICAL_FILTER"]
    if len(filters) != 1:
        return None
    names = [row[0] for row in connection.execute(f"DESCRIBE {table}").fetchall()]
    return {
        "filters": [_as_column_refs(each) for each in filters[0]],
        "column_binding_names_by_index": names,
    }


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _nodes(each)


def _as_column_refs(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_column_refs(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") != "BOUND_REF":
        return {key: _as_column_refs(each) for key, each in value.items()}
    node = dict(value)
    binding = {"table_index": 0, "column_index": node.pop("index")}
    kind = "BOUND_COLUMN_REF"
    return {**node, "expression_class": kind, "type": kind, "binding": binding, "depth": 0}
