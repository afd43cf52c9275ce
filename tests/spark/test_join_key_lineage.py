"""A join key computed above an outer join: its value over NULL-extended rows counts too.

The range of such a key is not the range of the column from which it is computed: an unmatched row
has NULL in every column of the null-supplying side, and `coalesce`, `IF`, `CASE` and others turn
that NULL into a value that occurs in no file of that side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

import tamis
from tests.spark.conftest import read_parquet, scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("no_codegen")

Same = Callable[[str], "DataFrame"]


@pytest.fixture(scope="module")
def tables(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Write facts, details and members.

    facts: ids 0 .. 199. details: ids 0 .. 99 with x = 1000 + id. members: keys -5 .. 1199, 40
    files.
    """
    root = tmp_path_factory.mktemp("lineage")
    session = spark_session
    session.range(200).selectExpr("id", "id % 3 AS g").repartitionByRange(4, "id").write.parquet(
        f"{root}/facts"
    )
    details = session.range(100).selectExpr(
        "id",
        "1000 + id AS x",
        "CASE WHEN id % 10 = 9 THEN NULL ELSE 1000 + id END AS y",
        "id % 4 AS g",
    )
    details.repartitionByRange(4, "id").write.parquet(f"{root}/details")
    members = session.range(-5, 1200).selectExpr("id AS k", "concat('m', id) AS name")
    members.repartitionByRange(40, "k").write.parquet(f"{root}/members")
    paths = {name: f"{root}/{name}" for name in ("facts", "details", "members")}
    for path in paths.values():
        tamis.index(session, path).build()
    return paths


@pytest.fixture
def views(spark: SparkSession, tables: dict[str, str]) -> SparkSession:
    for name, path in tables.items():
        read_parquet(spark, path).createOrReplaceTempView(name)
    return spark


#: Expressions over a column of the null-supplying side that are not NULL for an unmatched row.
KEYS = [
    "coalesce(d.x, -1)",
    "coalesce(d.y, -1)",
    "if(d.x IS NULL, -1, d.x)",
    "nvl2(d.x, d.x, -1)",
    "CASE WHEN d.x IS NULL THEN -1 ELSE d.x END",
    "CASE WHEN d.id IS NOT NULL THEN d.x ELSE -1 END",
    "greatest(d.x, -1)",
    "least(d.x, 5)",
    "nanvl(CAST(NULL AS DOUBLE), d.x)",  # a key of a type without ranges
    "if(d.x <=> NULL, -1, d.x)",
    "CAST(d.x IS NULL AS BIGINT)",
    "coalesce(d.x + 1, -2) + 1",
    "length(concat_ws('', d.x)) - 1",
    "coalesce(nullif(d.x, 1005), -3)",
]

JOINS = {
    "left": "facts f LEFT JOIN details d ON f.id = d.id",
    "right": "details d RIGHT JOIN facts f ON f.id = d.id",
    "full": "facts f FULL JOIN details d ON f.id = d.id",
    "left with a filter": "facts f LEFT JOIN details d ON f.id = d.id AND d.id < 30",
    "nested": "facts f LEFT JOIN (SELECT a.* FROM details a LEFT JOIN details b ON a.id = b.x) d ON f.id = d.id",
    "nested null side": "facts f LEFT JOIN (SELECT b.* FROM details a LEFT JOIN details b ON a.id = b.id + 50) d ON f.id = d.id",
    "lateral": "facts f LEFT JOIN LATERAL (SELECT * FROM details d WHERE d.id = f.id) d ON true",
}

SHAPES = {
    "join": "SELECT q.id, t.name FROM (SELECT f.id, {key} AS y FROM {joined}) q JOIN members t ON q.y = t.k",
    "join, other side first": "SELECT q.id, t.name FROM members t JOIN (SELECT f.id, {key} AS y FROM {joined}) q ON q.y = t.k",
    "in": "SELECT name FROM members WHERE k IN (SELECT {key} FROM {joined})",
    "exists": "SELECT name FROM members t WHERE EXISTS (SELECT 1 FROM (SELECT {key} AS y FROM {joined}) q WHERE q.y = t.k)",
    "semi": "SELECT name FROM members t LEFT SEMI JOIN (SELECT {key} AS y FROM {joined}) q ON q.y = t.k",
    "anti": "SELECT q.id FROM (SELECT f.id, {key} AS y FROM {joined}) q LEFT ANTI JOIN members t ON q.y = t.k",
    "outer": "SELECT q.id, t.name FROM (SELECT f.id, {key} AS y FROM {joined}) q LEFT JOIN members t ON q.y = t.k",
    "below groups": "SELECT q.y, t.name, n FROM (SELECT {key} AS y, count(*) AS n FROM {joined} GROUP BY 1) q JOIN members t ON q.y = t.k",
    "below distinct": "SELECT t.name FROM (SELECT DISTINCT {key} AS y FROM {joined}) q JOIN members t ON q.y = t.k",
    "below rollup": "SELECT q.y, t.name FROM (SELECT d.g, {key} AS y, count(*) AS n FROM {joined} GROUP BY ROLLUP (d.g, {key})) q JOIN members t ON coalesce(q.y, -4) = t.k",
    "below a window": "SELECT q.r, t.name FROM (SELECT {key} AS y, row_number() OVER (PARTITION BY f.g ORDER BY f.id) AS r FROM {joined}) q JOIN members t ON q.y = t.k",
    "below a union": "SELECT t.name FROM (SELECT {key} AS y FROM {joined} UNION ALL SELECT {key} + 1 FROM {joined}) q JOIN members t ON q.y = t.k",
    "below a limit": "SELECT t.name FROM (SELECT {key} AS y FROM {joined} ORDER BY f.id DESC LIMIT 150) q JOIN members t ON q.y = t.k",
    "below generate": "SELECT t.name FROM (SELECT {key} AS y, e FROM {joined} LATERAL VIEW explode(array(1, 2)) AS e) q JOIN members t ON q.y = t.k",
}


@pytest.mark.parametrize("key", KEYS)
def test_unmatched_row_keeps_its_partner(views: SparkSession, same: Same, key: str) -> None:
    same(SHAPES["join"].format(key=key, joined=JOINS["left"]))


@pytest.mark.parametrize("shape", SHAPES)
def test_outer_join_below_every_shape(views: SparkSession, same: Same, shape: str) -> None:
    same(SHAPES[shape].format(key="coalesce(d.x, -1)", joined=JOINS["left"]))


@pytest.mark.parametrize("joined", JOINS)
def test_every_outer_join_keeps_partners(views: SparkSession, same: Same, joined: str) -> None:
    same(SHAPES["join"].format(key="coalesce(d.x, -1)", joined=JOINS[joined]))
    same(SHAPES["in"].format(key="coalesce(d.x, -1)", joined=JOINS[joined]))


def test_pivot_makes_nulls_of_missing_groups(views: SparkSession, same: Same) -> None:
    same(
        "SELECT q.id, t.name FROM (SELECT id, coalesce(`0`, -1) AS y FROM "
        "(SELECT id, g, x FROM details) PIVOT (max(x) FOR g IN (0, 1))) q JOIN members t ON q.y = t.k"
    )


def test_scalar_subquery_without_a_row_is_null(views: SparkSession, same: Same) -> None:
    same(
        "SELECT q.id, t.name FROM (SELECT f.id, coalesce((SELECT max(d.x) FROM details d "
        "WHERE d.id = f.id), -1) AS y FROM facts f) q JOIN members t ON q.y = t.k"
    )


@pytest.mark.parametrize(
    ("key", "files"),
    [
        ("d.x", 4),  # NULL for an unmatched row: the range of the files is that of the key
        ("d.x + 0", 4),
        ("coalesce(d.x, -1)", 5),  # the range of the files, and -1
        ("coalesce(d.x, d.y)", 4),
    ],
)
def test_range_above_an_outer_join_still_prunes(
    views: SparkSession, same: Same, key: str, files: int
) -> None:
    frame = same(SHAPES["join"].format(key=key, joined=JOINS["left"]))
    (member_scan,) = (scan for scan in scans(frame) if scan["table"].endswith("members"))
    assert member_scan["files_kept"] == files
