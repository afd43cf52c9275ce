"""Queries of many forms over tables with deleted rows: the same rows as without tamis.

Forms are united in few queries, because planning takes longer than reading such small tables.
"""

from __future__ import annotations

import pytest

from tests.formats.tables import deleted, united
from tests.launch.statements import Statements

pytestmark = pytest.mark.spark

#: Each form, and the files that its scans keep.
FORMS = [
    (
        "SELECT k, d, count(*) FROM {t} WHERE id + 0 < 150 GROUP BY GROUPING SETS ((k), (d), ())",
        [2],
    ),
    ("SELECT k, year(d), sum(id) FROM {t} WHERE id + 0 >= 400 GROUP BY ROLLUP (k, year(d))", [1]),
    (
        "SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY k ORDER BY id DESC) r FROM {t} "
        "WHERE id + 0 < 150) WHERE r <= 2",
        [2],
    ),
    ("SELECT * FROM (SELECT id, rank() OVER (ORDER BY id DESC) r FROM {t}) WHERE r <= 3", [5]),
    (
        "SELECT id FROM {t} WHERE id + 0 < 110 INTERSECT SELECT id FROM {t} WHERE id + 0 > 95",
        [2, 5],
    ),
    (
        "SELECT id FROM {t} WHERE id + 0 < 110 EXCEPT ALL SELECT id FROM {t} WHERE id + 0 > 95",
        [2, 5],
    ),
    ("SELECT k FROM {t} WHERE id + 0 < 20 UNION SELECT k FROM {t} WHERE id + 0 > 490", [1, 1]),
    ("SELECT * FROM {t} ORDER BY id LIMIT 3", [1]),
    ("SELECT * FROM {t} ORDER BY id LIMIT 3 OFFSET 98", [2]),
    ("SELECT count(*) FROM (SELECT * FROM {t} WHERE id >= 100 LIMIT 150)", [2]),
    ("SELECT count(*) FROM (SELECT * FROM {t} WHERE id < 200 LIMIT 185)", [2]),
    ("SELECT count(*), count(k), min(id), max(id), min(s) FROM {t}", [5]),
    ("SELECT count(*), min(id), max(id), count(k) FROM {t} WHERE id + 0 >= 150", [1]),
    ("SELECT count(k) FROM {t} WHERE id >= 100 AND id < 300", [1]),
    ("SELECT count(DISTINCT k), bool_and(id >= 0) FROM {t} WHERE id + 0 < 300", [3]),
    (
        "SELECT f, count(*) FROM (SELECT regexp_extract(input_file_name(), '[^/]*$', 0) f FROM {t} "
        "WHERE id + 0 < 150) GROUP BY f",
        [2],
    ),
    ("SELECT * FROM {t} PIVOT (sum(id) FOR k IN (0, 1)) WHERE s = 'text 7'", [1]),
    (
        "SELECT id, x FROM {t} LATERAL VIEW explode(array(id, k)) AS x WHERE id + 0 < 9 AND x > 1",
        [1],
    ),
    ("SELECT id FROM {t} TABLESAMPLE (100 PERCENT) WHERE id + 0 < 10", [5]),
]

SUBQUERIES_AND_JOINS = [
    "SELECT id FROM {t} a WHERE k = (SELECT max(k) FROM {t} b WHERE b.id = a.id + 105) AND a.id < 9",
    "SELECT id FROM {t} a WHERE EXISTS (SELECT 1 FROM {t} b WHERE b.id = a.id + 300 AND b.id > 450)",
    "SELECT id FROM {t} a WHERE id > 150 AND k = 2 AND id NOT IN (SELECT id - 300 FROM {t} b)",
    "SELECT a.id, b.id FROM {t} a JOIN {t} b ON a.id = b.id + 1 WHERE b.id BETWEEN 100 AND 110",
    "SELECT t.* FROM {t} t JOIN (SELECT id + 100 AS i FROM {t} WHERE k = 3 AND id < 10) b ON id = i",
    "SELECT * FROM {t} t LEFT SEMI JOIN (SELECT explode(array(3, 150)) AS i) b ON id = i",
    "SELECT * FROM {t} t LEFT ANTI JOIN (SELECT id AS i FROM {t} WHERE id > 15) b ON id = i",
    "SELECT * FROM {t} a RIGHT JOIN (SELECT id AS i FROM {t} WHERE id + 0 > 490) b ON a.id = b.i",
    "SELECT a.id, m FROM {t} a, LATERAL (SELECT max(id) m FROM {t} b WHERE b.k = a.k) WHERE a.id < 9",
]

RECURSION = (
    "WITH RECURSIVE r(n) AS (SELECT min(id) FROM {t} WHERE id + 0 > 450 UNION ALL "
    "SELECT t.id FROM r JOIN {t} t ON t.id = r.n + 7 WHERE t.id < 480) SELECT * FROM r"
)


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_forms_of_queries(formats: Statements, kind: str) -> None:
    name = deleted(formats, kind)
    forms = FORMS if kind == "iceberg" else FORMS[::4]  # Delta plans slowly
    kept = formats.same(united([form for form, _ in forms], name)).kept
    assert kept == [count for _, counts in forms for count in counts]


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_subqueries_joins_and_recursion(formats: Statements, kind: str) -> None:
    name = deleted(formats, kind)
    formats.sql(f"CREATE OR REPLACE TEMPORARY VIEW v AS SELECT id + 1 AS i, d FROM {name}")
    views = ["SELECT * FROM v WHERE i + 0 < 110 AND d < DATE'2024-01-03'", "SELECT count(i) FROM v"]
    joins = SUBQUERIES_AND_JOINS if kind == "iceberg" else SUBQUERIES_AND_JOINS[::4]
    formats.same(united([*joins, *views], name))
    formats.same(RECURSION.format(t=name), **{"spark.sql.adaptive.enabled": "false"})
