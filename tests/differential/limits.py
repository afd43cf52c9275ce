"""Random queries with LIMIT, for tests.differential.queries.

With ORDER BY the rows are those of plain Spark: a key, its direction and where NULLs stand are
random, and `_row`, which is unique, is the last key. Without ORDER BY any rows will do: they are a
part of the rows without LIMIT, none more often than there, and as many as plain Spark gives.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.differential.random_tables import RandomTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHARE = 0.4  # of the queries
_KEYS = {
    "INT": ["{} % 7", "abs({})", "-{}", "CAST({} AS STRING)"],
    "BIGINT": ["{} % 7", "{} DIV 10"],
    "DATE": ["year({})", "month({})", "date_add({}, 3)"],
    "TIMESTAMP": ["date({})", "hour({})", "date_trunc('MONTH', {})"],
    "DOUBLE": ["{} * 2", "-{}"],
    "STRING": ["upper({})", "substring({}, 1, 2)", "length({})", "{} COLLATE UNICODE_CI"],
}


def compared(
    spark: SparkSession,
    rng: random.Random,
    table: RandomTable,
    condition: str,
    tally: Any,
    compare: Callable[[SparkSession, str, Any], None],
) -> bool:
    """Compare one query with LIMIT, or none and answer False."""
    if rng.random() >= SHARE:
        return False
    if rng.random() < 0.65:
        compare(spark, _sorted(rng, table, condition), tally)
    else:
        _part(spark, rng, table, condition, tally)
    return True


def _sorted(rng: random.Random, table: RandomTable, condition: str) -> str:
    where = rng.choice([f"WHERE {condition}", "", "", _plain(rng, table)])
    order = f"ORDER BY {_key(rng, table)}, _row {_tail(rng)}"
    first = f"SELECT * FROM {table.name} {where} {order}"
    return rng.choice(
        [
            first,
            f"SELECT _row FROM {table.name} {where} {order}",
            f"SELECT _row + 1 FROM {table.name} {where} ORDER BY _row DESC {_tail(rng)}",
            f"SELECT _row FROM ({first}) WHERE {condition}",
            f"SELECT a._row FROM ({first}) a JOIN {table.name} b ON a._row = b._row",
            f"WITH c AS ({first}) SELECT _row FROM c UNION ALL SELECT -_row FROM c",
            f"({first}) UNION ALL (SELECT * FROM {table.name} ORDER BY _row DESC {_tail(rng)})",
            f"SELECT _row FROM {table.name} WHERE _row IN (SELECT _row FROM ({first}))",
        ]
    )


def _key(rng: random.Random, table: RandomTable) -> str:
    leaf = rng.choice(table.leaves)
    keys = ["{}", *_KEYS.get(leaf.kind.sql, [])] if rng.random() < 0.4 else ["{}"]
    direction = rng.choice(["", "DESC", "ASC NULLS LAST", "DESC NULLS FIRST"])
    return f"{rng.choice(keys).replace('{}', leaf.sql)} {direction}"


def _plain(rng: random.Random, table: RandomTable) -> str:
    column = rng.choice(table.leaves).sql
    return f"WHERE _row >= {rng.randint(0, table.rows)} AND {column} IS NOT NULL"


def _tail(rng: random.Random) -> str:
    offset = f" OFFSET {rng.randint(1, 20)}" if rng.random() < 0.2 else ""
    return f"LIMIT {rng.choice([1, 1, 2, 5, 10, 40, 1000])}{offset}"


def _part(
    spark: SparkSession, rng: random.Random, table: RandomTable, condition: str, tally: Any
) -> None:
    """The rows of LIMIT: a part of the others, and as many as they are without tamis."""
    columns = rng.choice(["*", "_row"])
    where = rng.choice([f"WHERE {condition}", "", _plain(rng, table)])
    whole = f"SELECT {columns} FROM {table.name} {where}"
    statement = f"{whole} {_tail(rng)}"
    tally.queries += 1
    try:
        spark.conf.set("spark.tamis.enabled", "false")
        every, count = _bag(spark, whole), _bag(spark, statement).total()
    except Exception:  # of a query that fails nothing is said
        tally.failed += 1
        return
    finally:
        spark.conf.set("spark.tamis.enabled", "true")
    found = _bag(spark, statement)
    if found.total() != count or found - every:
        tally.differences.append(
            f"{statement}\n  {found.total()} rows instead of {count}, "
            f"{(found - every).total()} of them not of the table: {list(found - every)[:5]}"
        )


def _bag(spark: SparkSession, statement: str) -> Counter[str]:
    return Counter(repr(tuple(row)) for row in spark.sql(statement).collect())
