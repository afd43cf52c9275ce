"""Random tables as tables of Delta and Iceberg, with the changes that these formats allow.

The rows are copied from a directory of Parquet files. A view with the name of the table then reads
the copy. Names and types that a format refuses leave the directory in place.
"""

from __future__ import annotations

import random
from typing import Final

from tests.differential.random_tables import Leaf, RandomTable
from tests.differential.steps import Step

__all__ = ["FORMATS", "copy_of", "dropped", "format_changes", "in_format"]

FORMATS: Final = ("delta", "iceberg")

#: Partition transforms of Iceberg by type, as functions of pyspark.sql.functions.partitioning.
_TRANSFORMS: Final = {
    "INT": ["{}", "bucket(3, {})"],
    "BIGINT": ["{}", "bucket(3, {})"],
    "STRING": ["{}", "bucket(3, {})"],
    "DATE": ["{}", "years({})", "months({})", "days({})"],
    "TIMESTAMP": ["years({})", "months({})", "days({})", "hours({})"],
}

#: Wider types, which a column of Delta can get.
_WIDER: Final = {"TINYINT": "INT", "SMALLINT": "INT", "INT": "BIGINT", "FLOAT": "DOUBLE"}


#: Properties of Iceberg by which files have several row groups, of three rows each.
_ROW_GROUPS: Final = {
    "write.parquet.row-group-size-bytes": "1",
    "write.parquet.row-group-check-min-record-count": "3",
    "write.parquet.row-group-check-max-record-count": "3",
}


def _columns(table: RandomTable) -> list[Leaf]:
    return [leaf for leaf in table.leaves if "." not in leaf.sql and leaf.sql != "part"]


def copy_of(table: RandomTable, kind: str) -> str:
    """Return the name of the copy in the catalog."""
    return (
        f"ice.db.{table.name}" if kind == "iceberg" else f"spark_catalog.default.{table.name}_delta"
    )


def in_format(rng: random.Random, table: RandomTable, kind: str) -> list[Step]:
    """Return the steps that copy a table into a format, and read the copy under its name."""
    write = _iceberg(rng, table) if kind == "iceberg" else _delta(rng, table)
    copy, files = copy_of(table, kind), rng.choice([1, 3, 6, 9])
    by = rng.choice(["_row", "_row", "_row", "k"])
    code = f"""\
spark.conf.set("spark.tamis.enabled", "false")
from pyspark.sql import functions as F
from pyspark.sql import Window
from pyspark.sql.functions import col
from pyspark.sql.functions.partitioning import bucket, days, hours, months, years
frame = spark.table({table.name!r}).repartitionByRange({files}, "{by}")
spark.sql("DROP TABLE IF EXISTS {copy}")
try:
    {write}
    spark.sql("DROP TABLE {table.name}")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW {table.name} AS SELECT * FROM {copy}")
except Exception as problem:  # not every format takes every name and type
    print("no copy:", type(problem).__name__, str(problem)[:300])
spark.conf.set("spark.tamis.enabled", "true")"""
    steps = [Step(table.name, code, True)]
    for _ in range(rng.choice([0, 0, 1, 2] if kind == "iceberg" else [0, 1, 1, 2])):
        steps += format_changes(rng, table, kind)
    return steps


def _iceberg(rng: random.Random, table: RandomTable) -> str:
    version = rng.choice([1, 2, 2, 2, 3])
    properties = {
        "format-version": str(version),
        "write.distribution-mode": rng.choice(["none", "none", "hash"]),
        "write.spark.fanout.enabled": "true",
        "write.metadata.metrics.default": rng.choice(
            ["truncate(16)"] * 4 + ["full", "truncate(2)", "counts", "none"]
        ),
        "read.split.target-size": rng.choice(["134217728", "134217728", "500"]),
        "read.split.open-file-cost": rng.choice(["4194304", "1"]),
        "read.parquet.vectorization.enabled": rng.choice(["true", "false"]),
        **rng.choice([{}, _ROW_GROUPS, _ROW_GROUPS]),
        **{
            f"write.{change}.mode": rng.choice(["copy-on-write", "merge-on-read"])
            for change in ("delete", "update", "merge")
            if version > 1
        },
    }
    given = "".join(f".tableProperty({k!r}, {v!r})" for k, v in properties.items())
    target = f'writeTo("{copy_of(table, "iceberg")}")'
    partition = ""
    if rng.random() < 0.5:
        leaf = rng.choice(_columns(table))
        transform = rng.choice(_TRANSFORMS.get(leaf.kind.sql, ["{}"]))
        by = transform.replace("{}", f"col({leaf.sql!r})")
        partition = f".partitionedBy({by})"
        if rng.random() < 0.7:
            # several commits, whose manifests are of different partitions
            ordered = f"F.ntile(3).over(Window.orderBy(col({leaf.sql!r})))"
            first = (
                f'parts.where("_commit = 1").drop("_commit").{target}{given}{partition}.create()'
            )
            others = f'parts.where(f"_commit = {{n}}").drop("_commit").{target}.append()'
            return (
                f'parts = frame.withColumn("_commit", {ordered}); '
                f"[{first}, *({others} for n in (2, 3))]"
            )
    return f"frame.{target}{given}{partition}.create()"


def _delta(rng: random.Random, table: RandomTable) -> str:
    properties = {
        "delta.enableDeletionVectors": rng.choice(["true", "false"]),
        "delta.columnMapping.mode": rng.choice(["none", "none", "name", "id"]),
        "delta.enableTypeWidening": rng.choice(["false", "false", "true"]),
        "delta.dataSkippingNumIndexedCols": rng.choice(["32", "32", "32", "2", "0"]),
        "delta.checkpointInterval": rng.choice(["10", "2"]),
        "delta.checkpoint.writeStatsAsStruct": rng.choice(["true", "false"]),
        "delta.checkpoint.writeStatsAsJson": rng.choice(["true", "true", "false"]),
        "delta.checkpointPolicy": rng.choice(["classic", "v2"]),
    }
    given = "".join(f".option({k!r}, {v!r})" for k, v in properties.items())
    partition = ""
    if rng.random() < 0.4:
        partition = f".partitionBy({rng.choice(_columns(table)).sql.strip('`')!r})"
    copy = copy_of(table, "delta")
    return f'frame.write.format("delta"){given}{partition}.saveAsTable("{copy}")'


def format_changes(rng: random.Random, table: RandomTable, kind: str) -> list[Step]:
    """Return a change of the rows, the files or the columns of a copy."""
    copy = copy_of(table, kind)
    low = rng.randint(0, max(table.rows, 1))
    rows = f"_row BETWEEN {low} AND {low + rng.choice([0, 2, 5, 20])}"
    some = f"_row % {rng.choice([2, 3, 7])} = 1 AND {rows}"
    leaf = rng.choice(_columns(table))
    statements = [
        f"DELETE FROM {copy} WHERE {rng.choice([rows, some])}",
        f"UPDATE {copy} SET {leaf.sql} = NULL WHERE {some}",
        f"UPDATE {copy} SET k = k WHERE {some}",
        f"INSERT INTO {copy} SELECT * FROM {copy} WHERE {some}",
        f"MERGE INTO {copy} t USING (SELECT * FROM {copy} WHERE {rows}) s ON t._row = s._row "
        f"WHEN MATCHED AND s._row % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET *",
    ]
    if kind == "delta":
        statements += [f"DELETE FROM {copy} WHERE {some}", f"DELETE FROM {copy} WHERE _row % 3 = 1"]
        statements += [f"OPTIMIZE {copy}", f"REORG TABLE {copy} APPLY (PURGE)"]
        if wider := _WIDER.get(leaf.kind.sql):
            statements.append(
                f"ALTER TABLE {copy} ALTER COLUMN {leaf.sql} TYPE {wider};"
                f"INSERT INTO {copy} SELECT * FROM {copy} WHERE {some}"
            )
    else:
        name = copy.removeprefix("ice.")
        statements += [
            f"CALL ice.system.rewrite_data_files('{name}')",
            f"CALL ice.system.rewrite_manifests('{name}')",
            f"ALTER TABLE {copy} ADD PARTITION FIELD bucket(2, _row)",
            f"ALTER TABLE {copy} ADD PARTITION FIELD {leaf.sql}",
            f"ALTER TABLE {copy} DROP COLUMN {leaf.sql};"
            f"ALTER TABLE {copy} ADD COLUMN {leaf.sql} {leaf.kind.sql}",
        ]
    if rng.random() < 0.3:  # a column is renamed and back: later files follow its id
        statements = [
            f"ALTER TABLE {copy} RENAME COLUMN {leaf.sql} TO renamed_;"
            f"INSERT INTO {copy} SELECT * FROM {copy} WHERE {some};"
            f"ALTER TABLE {copy} RENAME COLUMN renamed_ TO {leaf.sql}"
        ]
    code = f"""\
try:
    for statement in {rng.choice(statements).split(";")!r}:
        spark.sql(statement).collect()
except Exception as problem:  # not every table allows every change, and ANSI mode raises errors
    print("no change:", type(problem).__name__, str(problem).partition("\\n")[0][:100])"""
    return [Step(table.name, code)]


def dropped(table: RandomTable) -> list[str]:
    """Return the statements that remove the copies."""
    return [f"DROP TABLE IF EXISTS {copy_of(table, kind)}" for kind in FORMATS]
