"""Random filters over a published table give the same rows with and without push-down."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

import tamis
from tamis.expr.nodes import Expr
from tamis.expr.sql import to_sql
from tamis.remote.airport.sendable_filters import filter_document
from tests.differential.generate import POOLS, random_case, random_predicate
from tests.publish.client import serving

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES, PREDICATES = 6, 50


def test_random_filters_return_the_same_rows_as_without_push_down(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    random, compared, sent = Random(21), 0, 0
    for number in range(CASES):
        case = random_case(random)
        columns = [each for each in case.columns if len(each.path) == 1]
        schema = pa.schema([(each.path[0], POOLS[each.type][1]) for each in columns])
        folder = tmp_path / str(number)
        folder.mkdir()
        for place, rows in enumerate(case.containers):
            arrays = [
                pa.array([row[each.path] for row in rows], schema.field(each.path[0]).type)
                for each in columns
            ]
            ids = pa.array(range(1000 * place, 1000 * place + len(rows)))
            table = pa.table([*arrays, ids], names=[*schema.names, "row"])
            pq.write_table(table, folder / f"{place}.parquet", row_group_size=3)
        predicates = [random_predicate(random, columns) for _ in range(PREDICATES)]
        with serving({"t": folder}) as uri:
            frame = tamis.read_airport(spark, uri, "main", "t")
            rows_of = {}
            for mode in ("observe", "apply"):
                spark.conf.set("spark.tamis.mode", mode)
                rows_of[mode], accepted = _rows(frame, predicates)
            assert rows_of["apply"] == rows_of["observe"], (number, uri)
        compared += len(accepted)
        sent += sum(bool(filter_document([each], schema)) for each in accepted)
    assert compared > CASES * PREDICATES / 2
    assert sent > 10


def _rows(frame: DataFrame, predicates: list[Expr]) -> tuple[dict[str, Counter[int]], list[Expr]]:
    """Return the rows that pass each predicate, and the predicates that Spark accepts."""
    accepted, parts = [], []
    for each in predicates:
        try:
            part = frame.where(to_sql(each)).selectExpr(f"{len(parts)} AS place", "row")
        except AnalysisException:
            continue
        accepted.append(each)
        parts.append(part)
    rows: dict[str, Counter[int]] = {to_sql(each): Counter() for each in accepted}
    for place, row in reduce(DataFrame.unionAll, parts).collect():
        rows[to_sql(accepted[place])][row] += 1
    return rows, accepted
