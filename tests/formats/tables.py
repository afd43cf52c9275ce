"""Tables whose files are clustered by their first column."""

from __future__ import annotations

from typing import Any

from tests.launch.statements import Answer, Statements

__all__ = ["caching_manifests", "create", "deleted", "fill", "only", "united"]


def create(formats: Statements, table: str, clauses: str, files: int) -> None:
    """Create a table of files as `fill` adds them, in one commit."""
    formats.sql(f"CREATE TABLE {table} {clauses} AS {_rows(0, files)}")


def fill(formats: Statements, table: str, first: int, files: int) -> None:
    """Add files of 100 rows each, with the ids from 100 times `first` on."""
    formats.sql(f"INSERT INTO {table} {_rows(first, files)}")


def _rows(first: int, files: int) -> str:
    return (
        f"SELECT /*+ REPARTITION_BY_RANGE({files}, id) */ id, CAST(id % 7 AS INT) k, "
        "concat('text ', id) s, date_add(DATE'2024-01-01', CAST(id div 10 AS INT)) d "
        f"FROM range({first * 100}, {(first + files) * 100})"
    )


def caching_manifests(formats: Statements) -> dict[str, str]:
    """Return the confs of a catalog `cached` over the tables of `ice`.

    Iceberg keeps its tables and the contents of manifests in memory, and so plans a query again
    without their files.
    """
    (warehouse,) = formats.sql("SET spark.sql.catalog.ice.warehouse").rows
    catalog = "spark.sql.catalog.cached"
    return {
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": "file:" + warehouse.rpartition(", '")[2].rstrip("')"),
        f"{catalog}.cache.expiration-interval-ms": "-1",
        f"{catalog}.io.manifest.cache-enabled": "true",
        f"{catalog}.io.manifest.cache.expiration-interval-ms": "600000",
    }


def only(answer: Answer) -> dict[str, Any]:
    """Return the only scan of a query."""
    (scan,) = answer.scans
    assert scan["fallback"] is None
    return scan


#: For each format, the clause with which deletes keep the files.
MERGE_ON_READ = {
    "delta": "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
    "iceberg": "TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read')",
}


def check_sampled(formats: Statements, query: str, files: int) -> dict[str, Any]:
    """Check that a query reads a sample first, and then this many files; return its one scan."""
    confs = {"spark.tamis.topK.sample.minSaved": "0ms"}
    (scan,) = formats.same(query, **confs).scans  # of a plan that has not run: it read no sample
    assert "known from a sample" in scan["runtime"][0]["sql"]
    assert formats.run({"sql": query, "confs": confs, "details": True}).files_read == files
    return scan


def deleted(formats: Statements, kind: str) -> str:
    """Return the name of a table of 5 files, from the first two of which rows were deleted.

    In each hundred of ids, the last two have no `k`. Some of these rows were deleted, and so were
    the first and the last row of a file.
    """
    name = "deleted_delta" if kind == "delta" else "ice.db.deleted_iceberg"
    catalog = name.rpartition(".")[0] or "default"
    tables = formats.sql(f"SHOW TABLES IN {catalog} LIKE 'deleted_{kind}'").rows
    if not tables:
        columns = "(id BIGINT, k INT, s STRING, d DATE)"
        formats.sql(f"CREATE TABLE {name} {columns} USING {kind} {MERGE_ON_READ[kind]}")
        formats.sql(
            f"INSERT INTO {name} SELECT /*+ REPARTITION_BY_RANGE(5, id) */ id, "
            "IF(id % 100 < 98, CAST(id % 7 AS INT), NULL) k, concat('text ', id) s, "
            "date_add(DATE'2024-01-01', CAST(id div 10 AS INT)) d FROM range(500)"
        )
        formats.sql(f"DELETE FROM {name} WHERE id IN (0, 5, 98, 105, 107, 199)")
    return name


def united(queries: list[str], table: str = "") -> str:
    """Return a query with the rows of all of these, each with the number of its query."""
    row = "to_json(struct(*), map('ignoreNullFields', 'false'))"
    parts = [f"SELECT {n} n, {row} r FROM ({q})" for n, q in enumerate(queries)]
    return " UNION ALL ".join(parts).replace("{t}", table)
