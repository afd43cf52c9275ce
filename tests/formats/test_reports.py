"""What tamis says about Iceberg and Delta tables: reasons, explanations, files and history."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.tables import deleted
from tests.launch.statements import Statements

pytestmark = pytest.mark.spark

EMPTY = {
    "mapped": "USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    "widening": "USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
    "ice.db.nothing": "USING iceberg",
    "ice.db.refused": "USING iceberg",
    "mem.db.elsewhere": "USING iceberg",
}
NO_FILTER = "and no filter shows which of its files are needed"
#: The reason why a table is left to its format. `{delta}` and `{ice}` have deletion vectors.
LEFT = [
    ("SELECT * FROM {delta}", f"some of its files have deletion vectors, {NO_FILTER}"),
    (
        "SELECT id, _metadata.file_size FROM {delta} WHERE id + 0 < 150",
        "some of its files have deletion vectors, and the query reads its _metadata column",
    ),
    (
        "SELECT * FROM mapped",
        f"its columns have other names in the files (column mapping), {NO_FILTER}",
    ),
    (
        "SELECT * FROM widening",
        f"it uses a feature that only Delta's own reader supports, {NO_FILTER}",
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


def test_why_a_table_is_left_to_its_format(formats: Statements, tmp_path: Path) -> None:
    names = {
        kind: deleted(formats, "iceberg" if kind == "ice" else kind) for kind in ("delta", "ice")
    }
    formats.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/p' USING parquet SELECT 1 a")
    in_memory = {
        "spark.sql.catalog.mem": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.mem.catalog-impl": "org.apache.iceberg.inmemory.InMemoryCatalog",
        "spark.sql.catalog.mem.warehouse": "/warehouse",
    }
    formats.sql("CREATE NAMESPACE mem.db", **in_memory)
    for name, clause in EMPTY.items():
        formats.sql(f"CREATE TABLE {name} (a INT) {clause}")
    formats.sql("INSERT INTO mem.db.elsewhere VALUES (1)")
    add = f"table => 'db.refused', source_table => 'parquet.`{tmp_path}/p`'"
    for _ in range(2):
        formats.sql(f"CALL ice.system.add_files({add}, check_duplicate_files => false)")
    for query, reason in LEFT:
        text = formats.text_of("tests.formats.in_session:explained", query.format(**names))
        assert f"left to Spark, because {reason}" in text, text
    for query in [
        "SELECT * FROM mem.db.elsewhere WHERE a < 5",
        "SELECT * FROM ice.db.refused WHERE a < 5",
    ]:
        assert len(formats.same(query).rows) == (2 if "refused" in query else 1)
    unprepared = {"spark.databricks.delta.stats.skipping": "false"}
    text = formats.text_of(
        "tests.formats.in_session:explained", "SELECT * FROM mapped", **unprepared
    )
    assert "Delta has not chosen the files for this plan" in text


def test_tamis_listed_before_delta(formats: Statements, tmp_path: Path) -> None:
    clause = "USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    formats.sql(f"CREATE TABLE ordered {clause} LOCATION '{tmp_path}' AS SELECT id FROM range(9)")
    formats.sql("DELETE FROM ordered WHERE id IN (1, 7)")
    query = f"SELECT id FROM delta.`{tmp_path}` WHERE id + 0 < 5"
    text = formats.text_of("tests.formats.in_session:in_other_order", query)
    assert "[(0,), (2,), (3,), (4,)]" in text
    assert "because Delta has not chosen the files yet" in text
    assert "list io.delta.sql.DeltaSparkSessionExtension before io.tamis.TamisExtensions" in text


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
