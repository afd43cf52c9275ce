"""What tamis says about Iceberg and Delta tables: reasons, explanations, files and history."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from tests.formats.tables import MERGE_ON_READ, create, deleted, united
from tests.launch.statements import OFF, Statements

pytestmark = pytest.mark.spark

EMPTY = {
    "no_variants": "USING delta TBLPROPERTIES ('delta.feature.variantType' = 'supported')",
    "ice.db.nothing": "USING iceberg",
    "ice.db.refused": "USING iceberg",
    "mem.db.elsewhere": "USING iceberg",
}
DAY = "DATE'2024-02-01'"
NO_FILTER = "and no filter shows which of its files are needed"
#: The reason why a table is left to its format. `{delta}` and `{ice}` have deletion vectors.
LEFT = [
    (
        "SELECT id, _metadata.file_size FROM {delta} WHERE id + 0 < 150",
        "some of its files have deletion vectors, and the query reads its _metadata column",
    ),
    (
        "SELECT * FROM no_variants",
        "it uses VARIANT or the change data feed, for which Delta's own relation stays in the plan, "
        f"{NO_FILTER}",
    ),
    (
        "SELECT * FROM {ice}.files",
        "it is a table of the class org.apache.iceberg.FilesTable, which plans its own scans",
    ),
    ("SELECT * FROM ice.db.nothing", "it has no snapshot yet"),
    (
        "SELECT * FROM {ice} WITH (`split-size` = '1000')",
        "it is read with the options split-size",
    ),
    ("SELECT _file, _pos FROM {ice}", "the query reads its metadata columns"),
    (
        "SELECT * FROM mem.db.elsewhere",
        "its catalog accesses files through org.apache.iceberg.inmemory.InMemoryFileIO",
    ),
    ("SELECT * FROM ice.db.refused", "its manifests could not be read (the snapshot has the file "),
]
#: Queries of these tables, to which tamis adds the range that `year` implies.
RANGED = [
    "SELECT id, _metadata.file_size FROM {delta} WHERE year(d) = 2024",
    "SELECT * FROM {ice}.snapshots WHERE year(committed_at) = 2024",
    "SELECT * FROM {ice} WITH (`split-size` = '1000') WHERE year(d) = 2024",
    "SELECT _file, _pos FROM {ice} WHERE year(d) = 2024",
    "SELECT * FROM mem.db.elsewhere WHERE year(d) = 2024",
    "SELECT * FROM ice.db.refused WHERE year(d) = 2024",
]
RANGE = re.compile(r"(d|committed_at)#\d+ >= 2024-01-01")


def test_why_a_table_is_left_to_its_format(formats: Statements, tmp_path: Path) -> None:
    names = {
        kind: deleted(formats, "iceberg" if kind == "ice" else kind) for kind in ("delta", "ice")
    }
    formats.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/p' USING parquet SELECT 1 a, {DAY} d")
    in_memory = {
        "spark.sql.catalog.mem": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.mem.catalog-impl": "org.apache.iceberg.inmemory.InMemoryCatalog",
        "spark.sql.catalog.mem.warehouse": "/warehouse",
    }
    formats.sql("CREATE NAMESPACE mem.db", **in_memory)
    for name, clause in EMPTY.items():
        formats.sql(f"CREATE TABLE {name} (a INT, d DATE) {clause}")
    formats.sql(f"INSERT INTO mem.db.elsewhere VALUES (1, {DAY})")
    add = f"table => 'db.refused', source_table => 'parquet.`{tmp_path}/p`'"
    for _ in range(2):
        formats.sql(f"CALL ice.system.add_files({add}, check_duplicate_files => false)")
    for query, reason in LEFT:
        text = formats.text_of("tests.formats.in_session:explained", query.format(**names))
        assert f"left to Spark, because {reason}" in text, text
        adds_ranges = "and tamis only adds the ranges that its filters imply" in text
        assert adds_ranges == (NO_FILTER not in reason), text
    for query in RANGED:
        explain = f"EXPLAIN {query.format(**names)}"
        (with_tamis,), (without,) = (formats.sql(explain, **confs).rows for confs in ({}, OFF))
        assert RANGE.search(with_tamis), with_tamis
        assert not RANGE.search(without), without
    for query in RANGED[-2:]:
        assert len(formats.same(query).rows) == (2 if "refused" in query else 1)
    unprepared = {"spark.databricks.delta.stats.skipping": "false"}
    text = formats.text_of(
        "tests.formats.in_session:explained", "SELECT * FROM no_variants", **unprepared
    )
    assert "Delta has not chosen the files for this plan" in text


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_tamis_listed_before_the_formats(formats: Statements, tmp_path: Path, kind: str) -> None:
    name = {"delta": f"delta.`{tmp_path}/t`", "iceberg": "ice.db.ordered"}[kind]
    create(formats, name, f"USING {kind} {MERGE_ON_READ[kind]}", 2)
    queries = [
        "SELECT k, id FROM {t} WHERE id + 0 < 10",
        "SELECT count(*) count, min(id) min, max(id) max, sum(k) sum FROM {t}",
        "SELECT b.k, a.id FROM {t} a JOIN {t} b ON a.id = b.id + 100 WHERE a.id * 2 < 208",
    ]
    statements = [
        f"DELETE FROM {name} WHERE id * 2 = 10 OR id = 7",
        f"UPDATE {name} SET k = 50 WHERE id * 2 = 202",
        f"MERGE INTO {name} t USING (SELECT * FROM VALUES (3L, 60), (900L, 70) v(a, b)) s "
        "ON t.id = s.a WHEN MATCHED THEN UPDATE SET k = b "
        "WHEN NOT MATCHED THEN INSERT (id, k) VALUES (a, b)",
        united(queries, name),
    ]
    found = json.loads(formats.text_of("tests.formats.in_session:in_other_order", statements))
    rows, explained = found[-1]
    if kind == "iceberg":  # the catalog of this session has not seen the changes
        formats.sql(f"REFRESH TABLE {name}")
    assert rows == formats.sql(statements[-1], **OFF).rows
    assert """(1, '{"count":199,"min":0,"max":900,"sum":763}')""" in rows
    if kind == "iceberg":
        assert "1 of 2 files" in explained
    else:
        assert "because Delta has not chosen the files yet" in explained
        fix = "list io.delta.sql.DeltaSparkSessionExtension before io.tamis.TamisExtensions"
        assert fix in explained


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_explanations_files_and_history(formats: Statements, kind: str) -> None:
    name = deleted(formats, kind)
    query = f"SELECT id FROM {name} WHERE id + 0 >= 100 AND k = 3"
    explained, why_not = (
        formats.text_of(f"tests.formats.in_session:{function}", query)
        for function in ("explained", "why_not")
    )
    assert f"{name}: 4 of 5 files" in explained
    assert ("Delta itself leaves out 1 of 5 files" in explained) == (kind == "delta")
    assert "exact       (id >= 100L)" in explained
    assert "inexact     (k = 3)" in why_not
    assert "(id >= 100L)" not in why_not
    files = formats.sql(
        "SELECT count(*), sum(CAST(kept AS INT)), max(rows), count(modified) > 0 FROM "
        f"tamis_files('{query}')"
    )
    assert files.rows == ["(5, 4, 100, False)" if kind == "iceberg" else "(4, 4, 100, True)"]
    formats.sql(query)
    (recorded,) = formats.sql(
        "SELECT files_kept, files_total, rows_passed FROM tamis_history() "
        f"WHERE table LIKE '%{name}' ORDER BY time DESC LIMIT 1"
    ).rows
    assert recorded == "(4, 5, 56)"


COLUMNS = (
    "id BIGINT, k INT, b BOOLEAN, s STRING, d DATE, t TIMESTAMP, n TIMESTAMP_NTZ, x DOUBLE, y FLOAT, "
    "small DECIMAL(9, 2), big DECIMAL(30, 2), nothing INT, `a.b` INT"
)
#: The values of a row with this number; with 5, NULL or NaN where that is possible.
VALUES = (
    "SELECT /*+ REPARTITION(1) */ id, CAST(IF(id = 5, NULL, id * 2) AS INT), id > 3, "
    "concat(IF(id = 7, 'z', 'a'), repeat('b', 40), id), date_add(DATE'1969-12-30', CAST(id AS INT)), "
    "timestampadd(SECOND, id, TIMESTAMP'2024-01-01 00:00:00'), "
    "timestampadd(MICROSECOND, id * 1000, TIMESTAMP_NTZ'2024-01-01 00:00:00'), "
    "IF(id = 5, DOUBLE('NaN'), id / 2), CAST(id AS FLOAT), CAST(id - 4 AS DECIMAL(9, 2)), "
    "CAST(id AS DECIMAL(30, 2)) * 100000000000000000000, CAST(NULL AS INT), CAST(id AS INT)"
)
#: Cells of the file with the rows 0 to 7. Delta has no bounds of booleans and counts no NaN, and its
#: times are milliseconds, so that the greatest one may be later.
CELLS = {
    "num_records": "8",
    "min.id": "0L",
    "max.id": "7L",
    "null_count.id": "0",
    "min.k": "0",
    "max.k": "14",
    "null_count.k": "1",
    "min.d": "DATE '1969-12-30'",
    "max.d": "DATE '1970-01-06'",
    "min.t": "TIMESTAMP '2024-01-01 00:00:00Z'",
    "min.small": "-4.00BD",
    "max.small": "3.00BD",
    "min.big": "0.00BD",
    "null_count.nothing": "8",
    "min.`a.b`": "0",
    "max.`a.b`": "7",
}


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_files_are_shown_with_the_statistics_of_the_format(formats: Statements, kind: str) -> None:
    name = {"delta": "celled", "iceberg": "ice.db.celled"}[kind]
    properties = {
        "delta": "'delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'true'",
        "iceberg": "'format-version' = '3', 'write.delete.mode' = 'merge-on-read'",
    }
    formats.sql(f"CREATE TABLE {name} ({COLUMNS}) USING {kind} TBLPROPERTIES ({properties[kind]})")
    for first in (0, 8):
        formats.sql(f"INSERT INTO {name} {VALUES} FROM range({first}, {first + 8})")
    names = ["id", "k", "b", "s", "d", "t", "n", "x", "y", "small", "big", "nothing", "`a.b`"]
    query = f"SELECT * FROM {name} WHERE " + " OR ".join(f"{each} IS NULL" for each in names)

    def cells() -> dict[str, str]:
        """Return the statistics of the file with the least ids."""
        text = (
            "SELECT to_json(statistics) FROM tamis_files(\"{}\") WHERE statistics['min.id'] = '0L'"
        )
        (row,) = formats.sql(text.format(query)).rows
        found: dict[str, str] = json.loads(ast.literal_eval(row)[0])
        return found

    found = cells()
    assert {each: found.get(each) for each in CELLS} == CELLS
    # strings are cut, and the greatest one is rounded up: in Delta's case to bytes that are no text
    assert "a" + "b" * 15 in found["min.s"]
    assert found["max.s"].startswith({"delta": "X'7A62", "iceberg": "'zb"}[kind])
    assert "min.nothing" not in found
    if kind == "iceberg":
        assert found["max.big"] == "700000000000000000000.00BD"  # Delta rounds it
        assert (found["min.b"], found["max.b"], found["null_count.b"]) == ("false", "true", "0")
        assert (found["min.x"], found["max.x"]) == ("0.0D", "3.5D")
        assert "nan_count.x" not in found  # it is not zero, and not counted here
        assert found["nan_count.y"] == "0"
    formats.sql(f"DELETE FROM {name} WHERE id = 5")
    left = cells()
    assert left["num_records"] == "7"
    assert {each: left.get(each) for each in CELLS if each.startswith(("min", "max"))} == {
        each: cell for each, cell in CELLS.items() if each.startswith(("min", "max"))
    }
    assert left["null_count.nothing"] == "7"
    # the row with the NULL was deleted, which the statistics do not say
    assert "null_count.k" not in left


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_the_cells_prove_the_verdicts(formats: Statements, kind: str) -> None:
    name = deleted(formats, kind)
    for where in (
        "id >= 250",
        "k < 3 AND id < 400",
        "d = DATE'2024-01-12'",
        "s > 'text 3'",
        "k IS NULL",
    ):
        rows = formats.sql(
            f"SELECT verdict, statistics['not_in_cells'] FROM tamis_files(\"SELECT * FROM {name} WHERE {where}\")"
        ).rows
        assert len(rows) == 5 or kind == "delta"  # which leaves out some by itself
        assert not any("true" in each for each in rows), where
