"""Existing Parquet files as tables of Iceberg and Delta, without a copy.

Iceberg adds the existing files (add_files). Delta needs its log next to the files, so it gets hard
links of its own and converts these in place.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def to_delta(
    spark: SparkSession, path: Path, target: Path, partitioned_by: str | None = None
) -> None:
    """Create a Delta table of hard links of the files, with statistics, if it is missing."""
    if (target / "_delta_log" / f"{0:020}.json").exists():  # its first commit
        return
    shutil.rmtree(target, ignore_errors=True)
    for file in path.rglob("*.parquet"):
        if any(part.startswith("_") for part in file.relative_to(path).parts):
            continue
        link = target / file.relative_to(path)
        link.parent.mkdir(parents=True, exist_ok=True)
        os.link(file, link)
    partitioned = f" PARTITIONED BY ({partitioned_by} INT)" * bool(partitioned_by)
    spark.sql(f"CONVERT TO DELTA parquet.`{target}`{partitioned}")


def to_iceberg(
    spark: SparkSession, table: str, path: Path, partitioned_by: str | None = None
) -> str:
    """Replace an Iceberg table by one over these files, with metrics from their footers.

    Args:
        spark: The session.
        table: The name with catalog and namespace.
        path: The directory of the files.
        partitioned_by: The column of their directories.

    Returns:
        The name of the table.
    """
    schema = spark.read.parquet(str(path)).schema
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema)
    partitioned = f" PARTITIONED BY ({partitioned_by})" * bool(partitioned_by)
    spark.sql(f"DROP TABLE IF EXISTS {table}")
    spark.sql(f"CREATE TABLE {table} ({columns}) USING iceberg{partitioned}")
    catalog, _, name = table.partition(".")
    spark.sql(
        f"CALL {catalog}.system.add_files(table => '{name}', source_table => '`parquet`.`{path}`')"
    )
    return table
