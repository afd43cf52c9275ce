"""Spark writes Iceberg tables, and what Iceberg itself says about their files.

The rows of each table are in `rows/<table>` in the folder, with the location of their file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["write"]

ROWS = """
    SELECT CAST(id AS INT) AS i, id * 1000 - 5000 AS l, CAST(id / 7 AS FLOAT) AS f,
           CASE WHEN id % 13 = 0 THEN DOUBLE('NaN') WHEN id % 13 = 1 THEN -0.0D ELSE id / 3 END AS d,
           CAST(id - 50 AS DECIMAL(9, 2)) AS d9, CAST(id * 12345678901 - 7 AS DECIMAL(18, 4)) AS d18,
           CAST(id * -98765432109876 AS DECIMAL(38, 10)) AS d38,
           CASE WHEN id % 5 <> 0 THEN concat('a long common prefix ', lpad(CAST(id AS STRING), 4, '0'))
           END AS s,
           CASE WHEN id % 11 = 0 THEN '' ELSE concat('ü', CAST(id % 9 AS STRING)) END AS t,
           encode(CAST(id AS STRING), 'UTF-8') AS bin, date_add(DATE '1969-11-20', CAST(id AS INT)) AS dt,
           timestampadd(HOUR, id * 7, TIMESTAMP '1969-12-25 03:04:05.678901') AS ts,
           timestampadd(MINUTE, id * 11, TIMESTAMP_NTZ '2024-02-28 23:04:05.678') AS ntz, id % 2 = 0 AS b,
           CASE WHEN id % 4 <> 0 THEN named_struct('x', CASE WHEN id % 3 <> 0 THEN id END,
                'y', named_struct('z', CAST(id AS STRING))) END AS st,
           array(id, id + 1) AS arr, map('k', id) AS m, CAST(NULL AS INT) AS n, CAST(id % 3 AS INT) AS p
    FROM range({0}, {1})
"""
STATEMENTS = """
CREATE TABLE ice.db.flat USING iceberg TBLPROPERTIES ('format-version' = '2') AS SELECT /*+ REPARTITION_BY_RANGE(4, i) */ * FROM ({rows:0:100});
ALTER TABLE ice.db.flat RENAME COLUMN l TO renamed;
ALTER TABLE ice.db.flat RENAME COLUMN st.x TO xx;
ALTER TABLE ice.db.flat ALTER COLUMN i TYPE BIGINT;
ALTER TABLE ice.db.flat ALTER COLUMN f TYPE DOUBLE;
ALTER TABLE ice.db.flat ALTER COLUMN d9 TYPE DECIMAL(20, 2);
ALTER TABLE ice.db.flat DROP COLUMN t;
ALTER TABLE ice.db.flat ADD COLUMN t STRING;
ALTER TABLE ice.db.flat ALTER COLUMN p FIRST;
INSERT INTO ice.db.flat SELECT p, i, l, f, d, d9, d18, d38, s, bin, dt, ts, ntz, b, st, arr, m, n, t FROM ({rows:200:230});
DELETE FROM ice.db.flat WHERE i BETWEEN 0 AND 24;
CREATE TABLE ice.db.parts USING iceberg PARTITIONED BY (bucket(4, i), days(ts), truncate(3, s), p) TBLPROPERTIES ('format-version' = '2') AS SELECT * FROM ({rows:0:30});
ALTER TABLE ice.db.parts REPLACE PARTITION FIELD days(ts) WITH months(ts);
ALTER TABLE ice.db.parts DROP PARTITION FIELD bucket(4, i);
ALTER TABLE ice.db.parts ADD PARTITION FIELD dt;
ALTER TABLE ice.db.parts ADD PARTITION FIELD truncate(10, d18);
INSERT INTO ice.db.parts SELECT * FROM ({rows:20:50});
INSERT INTO ice.db.parts SELECT * REPLACED FROM ({rows:50:60});
CREATE TABLE ice.db.old USING iceberg PARTITIONED BY (years(ntz), hours(ts), d9) TBLPROPERTIES ('format-version' = '1') AS SELECT * FROM ({rows:0:20});
ALTER TABLE ice.db.old DROP PARTITION FIELD hours(ts);
INSERT INTO ice.db.old SELECT * FROM ({rows:20:40});
CREATE TABLE ice.db.upgraded USING iceberg PARTITIONED BY (p) TBLPROPERTIES ('format-version' = '1') AS SELECT * FROM ({rows:0:20});
ALTER TABLE ice.db.upgraded SET TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read');
INSERT INTO ice.db.upgraded SELECT * FROM ({rows:20:40});
DELETE FROM ice.db.upgraded WHERE i IN (3, 4, 25);
CALL ice.system.rewrite_manifests('db.upgraded');
CREATE TABLE ice.db.deletes2 USING iceberg PARTITIONED BY (p) TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read', 'write.delete.granularity' = 'partition') AS SELECT * FROM ({rows:0:30});
INSERT INTO ice.db.deletes2 SELECT * FROM ({rows:30:60});
DELETE FROM ice.db.deletes2 WHERE i IN (3, 6, 33);
INSERT INTO ice.db.deletes2 SELECT * FROM ({rows:60:90});
DELETE FROM ice.db.deletes2 WHERE i IN (1, 91);
ALTER TABLE ice.db.deletes2 DROP PARTITION FIELD p;
INSERT INTO ice.db.deletes2 SELECT * FROM ({rows:90:100});
DELETE FROM ice.db.deletes2 WHERE i IN (2, 95);
CREATE TABLE ice.db.by_file USING iceberg TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read', 'write.delete.granularity' = 'file') AS SELECT /*+ REPARTITION_BY_RANGE(5, i) */ * FROM ({rows:0:30});
DELETE FROM ice.db.by_file WHERE i IN (3, 29);
CREATE TABLE ice.db.vectors USING iceberg PARTITIONED BY (p) TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read') AS SELECT /*+ REPARTITION_BY_RANGE(5, i) */ * FROM ({rows:0:30});
DELETE FROM ice.db.vectors WHERE i IN (3, 4, 29);
DELETE FROM ice.db.vectors WHERE i IN (5, 7);
CREATE TABLE ice.db.modes USING iceberg TBLPROPERTIES ('format-version' = '2', 'write.metadata.metrics.default' = 'truncate(4)', 'write.metadata.metrics.column.l' = 'none', 'write.metadata.metrics.column.i' = 'counts', 'write.metadata.metrics.column.t' = 'full') AS SELECT * FROM ({rows:0:20});
CREATE TABLE ice.db.empty USING iceberg AS SELECT * FROM ({rows:0:20}) WHERE false;
SET spark.sql.parquet.outputTimestampType = TIMESTAMP_MILLIS;
CREATE TABLE added_source USING parquet LOCATION '{folder}/added' AS SELECT i, l, d9, s, dt, ts, b FROM ({rows:0:20});
CREATE TABLE ice.db.added (i INT, l BIGINT, d9 DECIMAL(9, 2), s STRING, dt DATE, ts TIMESTAMP, b BOOLEAN, later INT) USING iceberg;
CALL ice.system.add_files(table => 'db.added', source_table => '`parquet`.`{folder}/added`');
"""
TABLES = (
    "flat", "parts", "old", "upgraded", "deletes2", "by_file", "vectors", "modes", "empty", "added",
)  # fmt: skip


def statements(folder: Path) -> list[str]:
    text = STATEMENTS.replace("{folder}", str(folder)).replace(" REPLACED", "")
    parts = []
    for each in text.split(";\n"):
        while "{rows:" in each:
            before, _, rest = each.partition("{rows:")
            numbers, _, after = rest.partition("}")
            each = before + ROWS.format(*numbers.split(":")) + after
        parts.append(each)
    return [each for each in parts if each.strip()]


def described(spark: SparkSession, name: str) -> dict[str, Any]:
    """Return what Iceberg's classes say about a table."""
    jvm = spark._jvm
    iceberg = jvm.org.apache.iceberg
    table = iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, f"ice.db.{name}")
    snapshot = table.currentSnapshot()
    tasks = {}
    planned = table.newScan().planFiles().iterator()
    while planned.hasNext():
        task = planned.next()
        tasks[task.file().location()] = [
            [str(each.content()), str(each.format()), each.recordCount()] for each in task.deletes()
        ]
    properties = table.properties()
    files = f"SELECT to_json(struct(*)) FROM ice.db.{name}.data_files"
    return {
        "snapshot": {
            "format_version": table.operations().current().formatVersion(),
            "snapshot_id": None if snapshot is None else snapshot.snapshotId(),
            "manifest_list": None if snapshot is None else snapshot.manifestListLocation(),
            "schema": iceberg.SchemaParser.toJson(table.schema()),
            "specs": [iceberg.PartitionSpecParser.toJson(s) for s in table.specs().values()],
            "name_mapping": properties.get("schema.name-mapping.default"),
        },
        "files": [json.loads(row[0]) for row in spark.sql(files).collect()],
        "tasks": tasks,
    }


def add_equality_deletes(spark: SparkSession, name: str) -> None:
    """Commit an equality delete file for one partition. The file does not exist."""
    iceberg = spark._jvm.org.apache.iceberg
    table = iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, f"ice.db.{name}")
    ids = spark.sparkContext._gateway.new_array(spark._jvm.int, 1)
    ids[0] = 1
    builder = iceberg.FileMetadata.deleteFileBuilder(table.spec())
    builder = (
        builder.ofEqualityDeletes(ids).withPath("/nowhere/eq.parquet").withPartitionPath("p=1")
    )
    builder = builder.withFileSizeInBytes(10).withRecordCount(1)
    builder = builder.withFormat(iceberg.FileFormat.PARQUET)
    table.newRowDelta().addDeletes(builder.build()).commit()


def write(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """Write the tables.

    Returns:
        For each table, what the Spark side sends about its snapshot, the files of `t.files`, and the
        deletes that Iceberg's planning assigns to each data file.
    """
    for name, value in {
        "spark.tamis.enabled": "false",
        "spark.sql.catalog.ice.warehouse": str(folder / "ware house"),
    }.items():
        spark.conf.set(name, value)
    for each in statements(folder):
        spark.sql(each)
    for name in TABLES:
        rows = spark.table(f"ice.db.{name}").selectExpr("_file", "*")
        rows.write.parquet(str(folder / "rows" / name))
    documents = {name: described(spark, name) for name in TABLES}
    for name in ("vectors", "upgraded"):
        add_equality_deletes(spark, name)
        documents[f"{name} and equality deletes"] = described(spark, name)
    return documents
