"""tamis.parse: Spark's front end over a schema, for statistics in the spelling of the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import tamis
from tamis.expr.sql import to_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("sql", "schema", "expected"),
    [
        ("A > 5", "a INT", "a > 5"),
        ("S.X = 1 AND `s`.`x` > 0", "s STRUCT<x: INT>", "s.x = 1 AND s.x > 0"),
        ("x.Y.z = 1", "X STRUCT<y: STRUCT<Z: INT>>", "X.y.Z = 1"),
        ("`a``b` = 1", "`a``b` INT", "`a``b` = 1"),
        ("`b.c` > 1", "`b.c` INT", "`b.c` > 1"),
        ("a BETWEEN 1 AND 3", "a INT", "a >= 1 AND a <= 3"),
        ("a NOT BETWEEN 1 AND 3", "a INT", "a < 1 OR a > 3"),
        ("true", "a INT", "true"),
        ("NULL", "a INT", "false"),  # as a filter
        ("CAST(NULL AS BOOLEAN)", "a INT", "false"),
        ("a IS NULL", "a INT NOT NULL", "false"),
        ("s.x IS NULL", "s STRUCT<x: INT NOT NULL> NOT NULL", "false"),
        ("s.x IS NULL", "s STRUCT<x: INT NOT NULL>", "s.x IS NULL"),
        ("a <=> NULL", "a INT", "a IS NULL"),
        ("v = 'ab'", "v VARCHAR(5)", "v = 'ab'"),
        (
            "t = TIMESTAMP_NTZ '1969-12-31 23:59:59'",
            "t TIMESTAMP_NTZ",
            "t = TIMESTAMP_NTZ '1969-12-31 23:59:59'",
        ),
    ],
)
def test_predicate_is_parsed_into_an_expression(
    spark: SparkSession, sql: str, schema: str, expected: str
) -> None:
    assert to_sql(tamis.parse(spark, sql, schema)) == expected


@pytest.mark.parametrize(
    ("sql", "schema", "files", "expected"),
    [
        ("B.C > 1", "b STRUCT<c: INT>", {"min.b.c": [1, 2], "max.b.c": [1, 2]}, ["none", "some"]),
        ("`B.c` > 1", "`b.c` INT", {"min.b.c": [1, 2], "max.b.c": [1, 2]}, ["none", "some"]),
        ("`b.c` > 1", "`b.c` INT", {"min.`b.c`": [1], "max.`b.c`": [1]}, ["none"]),
        # it is unknown whose statistics these are
        (
            "`b.c` > 1 OR b.c > 1",
            "`b.c` INT, b STRUCT<c: INT>",
            {"min.b.c": [1], "max.b.c": [1], "null_count.b.c": [0]},
            ["some"],
        ),
        # Spark reads CHAR padded: it may read 'ab' as 'ab '
        ("c = 'ab'", "c CHAR(5)", {"min.c": ["ab"], "max.c": ["ab"]}, ["some"]),
        ("S.c = 'ab'", "s STRUCT<C: CHAR(5)>", {"min.s.C": ["ab"], "max.s.C": ["ab"]}, ["some"]),
        ("c = 'B'", "c STRING COLLATE UTF8_LCASE", {"min.c": ["a"], "max.c": ["b"]}, ["some"]),
        ("NULL", "a INT", {"path": ["f", "g"]}, ["none", "none"]),
        ("TRUE", "a INT", {"path": ["f"]}, ["all"]),
    ],
)
def test_verdict_of_a_parsed_predicate(
    spark: SparkSession, sql: str, schema: str, files: dict[str, list[object]], expected: list[str]
) -> None:
    expression = tamis.parse(spark, sql, schema)
    assert tamis.evaluate(expression, pa.table(files)).to_pylist() == expected
