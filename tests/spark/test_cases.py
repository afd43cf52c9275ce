"""The tables of hits and misses on real files: what their footers prove, and the rows of Spark.

Each case is a file. A predicate is evaluated over the file of its case, `WHERE _case = 7 AND
<predicate>`; one query combines many predicates. A file of pyarrow holds only the column of its
case, so that every other column is absent. A file of Spark lies in its own directory, `_case=7`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.expr.nodes import Call, Column, Compare, Expr, Literal, Opaque, walk
from tamis.expr.sql import to_sql
from tamis.plan.reader_losses import ReaderLoss, loss_of
from tests.cases.case import arrow_type
from tests.cases.test_cases import CASES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH = 60  # predicates per query
DDL = """i INT, l BIGINT, b TINYINT, f FLOAT, d DOUBLE, n DECIMAL(9,2), w DECIMAL(38,10), s STRING,
    x BINARY, day DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ, flag BOOLEAN, st STRUCT<inner: BIGINT>"""

Row = list[int]  # _case, _row


@dataclass(frozen=True)
class Question:
    number: int
    case: int
    kind: str
    predicate: Expr

    @property
    def sql(self) -> str:
        # Every row satisfies the last conjunct. It distinguishes the scans of a query.
        return f"_case = {self.case} AND ({to_sql(self.predicate)}) AND _row >= -{self.number}"

    @property
    def is_of_floats(self) -> bool:
        # Footers do not count NaN, so predicates that depend on its absence stay unknown. Spark
        # itself loses rows of NaN and -0.0 to its Parquet filters.
        return CASES[self.case].column.type.is_floating

    def __str__(self) -> str:
        return f"{CASES[self.case].data}: {to_sql(self.predicate)}"


@dataclass(frozen=True)
class Answer:
    """The answer of one query.

    files: The number of files that are read; None where Spark answers without a scan.
    """

    question: Question
    files: int | None
    is_exact: bool
    rows: list[Row]
    rows_without_tamis: list[Row]


def _questions() -> Iterator[Question]:
    number = 1
    for case, table in enumerate(CASES):
        for kind in ("hits", "misses", "full"):
            for predicate in getattr(table, kind):
                if _is_sql(predicate):
                    yield Question(number, case, kind, predicate)
                    number += 1


def _is_sql(predicate: Expr) -> bool:
    match predicate:
        case Compare(left=Literal(), right=Column()):
            return False  # Spark rewrites `5 < i` as `i > 5`, which is also in the tables
        case _:
            # The text of calls is for display only, while the sweep runs these calls in Spark.
            is_opaque = any(isinstance(node, Opaque | Call) for node in walk(predicate))
            return not is_opaque and "…" not in to_sql(predicate)  # a long list is truncated


QUESTIONS = list(_questions())


def _write(folder: Path) -> None:
    folder.mkdir()
    for number, case in enumerate(CASES):
        count = len(case.data)
        values = pa.array(case.data, arrow_type(case.column.type))
        if len(case.column.path) == 2:
            values = pa.array([{case.column.path[1]: value} for value in case.data])
        table = pa.table(
            {
                case.column.path[0]: values,
                "_case": pa.array([number] * count, pa.int32()),
                "_row": pa.array(range(count), pa.int32()),
            }
        )
        pq.write_table(table, folder / f"{number}.parquet")


@pytest.fixture(scope="module", params=["pyarrow", "spark"])
def answers(
    request: pytest.FixtureRequest,
    spark_session: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> list[Answer]:
    spark = spark_session.newSession()
    # These are hundreds of small plans, which take longer to compile than to run.
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    folder = tmp_path_factory.mktemp("cases")
    _write(folder / "pyarrow")
    by_arrow = spark.read.schema(f"{DDL}, _row INT, _case INT").parquet(str(folder / "pyarrow"))
    if request.param == "spark":
        # Footers have no bounds of INT96, the default of Spark for timestamps.
        spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        by_arrow.repartition(1).write.partitionBy("_case").parquet(str(folder / "spark"))
    path = str(folder / request.param)
    read = spark.read.schema(f"{DDL}, _row INT, _case INT").option("basePath", path)
    read.parquet(path).createOrReplaceTempView("cases")
    # Without tamis each case reads its own file, which is faster than reading all files.
    name = "_case={}" if request.param == "spark" else "{}.parquet"
    for case in range(len(CASES)):
        read.parquet(f"{path}/{name.format(case)}").createOrReplaceTempView(f"case_{case}")
    tamis.index(spark, "cases").build()
    return list(_answers(spark))


def _answers(spark: SparkSession) -> Iterator[Answer]:
    for start in range(0, len(QUESTIONS), BATCH):
        batch = QUESTIONS[start : start + BATCH]
        spark.conf.set("spark.tamis.enabled", "false")
        off = sorted(map(tuple, _union(spark, batch, "case_{case}").collect()))
        spark.conf.set("spark.tamis.enabled", "true")
        frame = _union(spark, batch, "cases")
        scans = dict(map(_number_and_scan, json.loads(_tamis(spark).scans(frame._jdf))))
        on = sorted(map(tuple, frame.collect()))
        for each in batch:
            scan = scans.get(each.number)
            yield Answer(
                each,
                None if scan is None else scan["files_kept"],
                scan is not None and all(c["pushdown"] == "exact" for c in scan["conjuncts"]),
                [row for number, *row in on if number == each.number],
                [row for number, *row in off if number == each.number],
            )


def _union(spark: SparkSession, batch: list[Question], view: str) -> DataFrame:
    return spark.sql(
        " UNION ALL ".join(
            f"SELECT {each.number}, _case, _row FROM {view.format(case=each.case)} WHERE {each.sql}"
            for each in batch
        )
    )


def _tamis(spark: SparkSession) -> Any:
    return spark._jvm.io.tamis.Tamis


def _number_and_scan(scan: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    assert scan["fallback"] is None
    (mark,) = (c["sql"] for c in scan["conjuncts"] if re.search(r"_row >= -\d+", c["sql"]))
    return int(mark.split("-")[1].rstrip(")")), scan


def test_rows_equal_those_of_plain_spark(answers: list[Answer]) -> None:
    assert [str(a.question) for a in answers if a.rows != a.rows_without_tamis] == []


def test_hits_keep_their_file(answers: list[Answer]) -> None:
    hits = [a for a in answers if a.question.kind == "hits"]
    assert [str(a.question) for a in hits if a.files == 0] == []


def test_misses_skip_their_file(answers: list[Answer]) -> None:
    misses = [a for a in answers if a.question.kind == "misses" and not a.question.is_of_floats]
    assert [str(a.question) for a in misses if a.files] == []
    assert [str(a.question) for a in misses if a.rows] == []


def test_fully_matching_files_make_the_predicate_exact(answers: list[Answer]) -> None:
    full = [a for a in answers if a.question.kind == "full" and not a.question.is_of_floats]
    assert [str(a.question) for a in full if len(a.rows) != len(CASES[a.question.case].data)] == []
    # predicates for which Spark's reader may lose rows stay in the plan
    left = [a for a in full if a.files is not None and loss_of(a.question.predicate) is None]
    assert [str(a.question) for a in left if not a.is_exact] == []


def test_predicates_on_floating_zeros_stay_in_the_plan(answers: list[Answer]) -> None:
    zeros = [
        a for a in answers if a.files and loss_of(a.question.predicate) is ReaderLoss.SIGNED_ZERO
    ]
    assert zeros
    assert not any(a.is_exact for a in zeros)
