"""Functions that run in the process of `Statements`, which has the session (`Statements.text_of`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import tamis
from tamis.indexing.build import listing

__all__ = [
    "after_insert",
    "append_again",
    "around_commits",
    "build_while_names_change",
    "create_with_types",
    "delete_equal_rows",
    "explained",
    "has_text",
    "in_other_order",
    "joined_batches",
    "manage_commits",
    "manage_no_commits",
    "merge_streamed",
    "planned",
    "planned_earlier",
    "planned_frame",
    "run_guarded",
    "streamed",
    "streamed_keys",
    "why_not",
]


def explained(spark: SparkSession, query: str) -> str:
    """Return the text of `tamis.explain`."""
    return str(tamis.explain(spark.sql(query)))


def why_not(spark: SparkSession, query: str) -> str:
    """Return the text of `tamis.why_not`."""
    return str(tamis.why_not(spark.sql(query)))


def build_while_names_change(spark: SparkSession, table: str) -> str:
    """Build an index while the columns id and key of a table exchange their names.

    They do after the files are listed, and before rows are read.

    Returns:
        The error, or a description of the index.
    """
    listed = listing.TableListing

    def swapped(*arguments: Any, **more: Any) -> Any:
        for before, after in (("id", "between"), ("key", "id"), ("between", "key")):
            spark.sql(f"ALTER TABLE {table} RENAME COLUMN {before} TO {after}")
        return listed(*arguments, **more)

    listing.TableListing = swapped  # type: ignore[assignment, misc]
    try:
        index = tamis.index(spark, table).build(columns={"key": "values"})
        return str(index.describe())
    except tamis.TamisError as problem:
        return f"{type(problem).__name__}: {problem}"
    finally:
        listing.TableListing = listed  # type: ignore[misc]


def run_guarded(spark: SparkSession, written: str) -> None:
    """Run a query that reads no table while the tables of this name are guarded.

    A session of its own knows no catalog that other tests have used.
    """
    session = spark.newSession()
    session.sql("CREATE TABLE IF NOT EXISTS ice.db.outside (a INT) USING iceberg")
    session.sql("CREATE TABLE IF NOT EXISTS outside_delta (a INT) USING delta")
    session.conf.set("spark.tamis.requireFilter", written)
    session.sql("SELECT 1").collect()


def planned_earlier(
    spark: SparkSession, query: str, planned: dict[str, str], run: dict[str, str]
) -> list[Any]:
    """Return the rows of a query that is planned with some confs, and run with others."""
    for key, value in planned.items():
        spark.conf.set(key, value)
    frame = spark.sql(query)
    frame._jdf.queryExecution().executedPlan()
    for key, value in run.items():
        spark.conf.set(key, value)
    try:
        return sorted(map(tuple, frame.collect()))
    finally:
        for key in run:
            spark.conf.unset(key)


def planned(spark: SparkSession, queries: list[str]) -> str:
    """Plan queries. Return, for each, the number of jobs of its planning and of files that it keeps."""
    found = []
    for query in queries:
        frame, jobs = planned_frame(spark, query)
        scans = json.loads(_jvm(spark).io.tamis.Tamis.scans(frame._jdf))
        found.append((jobs, sum(scan["files_kept"] for scan in scans)))
    return json.dumps(found)


def planned_frame(spark: SparkSession, query: str) -> tuple[DataFrame, int]:
    """Plan a query. Return it, and the number of jobs that Spark ran to plan it."""
    context = spark.sparkContext
    group = str(uuid4())  # Spark forgets the jobs of an old group
    context.setJobGroup(group, query)
    try:
        frame = spark.sql(query)
        frame._jdf.queryExecution().executedPlan()
        return frame, len(context.statusTracker().getJobIdsForGroup(group))
    finally:
        context._jsc.clearJobGroup()


def has_text(spark: SparkSession) -> str:
    """Register a function `f`, about which tamis knows nothing."""
    spark.udf.register("f", lambda text: text is not None, "boolean")
    return ""


def after_insert(spark: SparkSession, query: str, table: str) -> str:
    """Return the only row of a query that was analyzed before a commit, and is run after it."""
    has_text(spark)
    frame = spark.sql(query)
    spark.sql(f"INSERT INTO {table} SELECT id + 500, k, s, d FROM {table} WHERE id < 40")
    (row,) = frame.collect()
    return " ".join(map(str, row))


def around_commits(spark: SparkSession, table: str) -> str:
    """Return the numbers of rows of frames that are collected before and after commits."""
    whole = spark.table(table)
    some, cached = whole.where("id >= 150"), whole.where("id < 150").cache()
    frames = [some, cached, cached.where("k = 2"), some.join(whole, "id")]
    found = []
    try:
        for statement in [
            f"INSERT INTO {table} SELECT id + 200, k, s, d FROM {table} WHERE id < 120",
            f"DELETE FROM {table} WHERE id % 50 = 3",
            f"OPTIMIZE {table}",
        ]:
            found += [len(frame.collect()) for frame in frames]
            spark.sql(statement)
            found += [len(frame.collect()) for frame in frames]
            found += [spark.table(table).where(f"id < {each}").count() for each in (150, 500)]
            frames = [*frames[:3], some.join(whole, "id"), spark.sql(f"SELECT * FROM {table}")]
    finally:
        cached.unpersist()
    return str(found)


def delete_equal_rows(spark: SparkSession, table: str, column: str, values: list[int]) -> None:
    """Commit an equality delete of an Iceberg table, as Flink does: Spark does not write them."""
    iceberg = _jvm(spark).org.apache.iceberg
    loaded = iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table)
    field = loaded.schema().findField(column).fieldId()
    path = Path(loaded.location().removeprefix("file:")) / "data" / f"equal-{values[0]}.parquet"
    ids = {"PARQUET:field_id": str(field)}
    schema = pa.schema([pa.field(column, pa.int32(), metadata=ids)])
    pq.write_table(pa.table({column: pa.array(values, pa.int32())}, schema=schema), path)
    fields = spark.sparkContext._gateway.new_array(_jvm(spark).int, 1)
    fields[0] = field
    builder = iceberg.FileMetadata.deleteFileBuilder(loaded.spec()).ofEqualityDeletes(fields)
    builder = builder.withPath(str(path)).withFileSizeInBytes(path.stat().st_size)
    builder = builder.withRecordCount(len(values)).withFormat(iceberg.FileFormat.PARQUET)
    loaded.newRowDelta().addDeletes(builder.build()).commit()
    spark.catalog.refreshTable(table)


def append_again(spark: SparkSession, table: str, partition: str) -> None:
    """Commit the data files of an Iceberg table once more, as files of this partition.

    If the table has no partitions, the path of the partition is empty.
    """
    iceberg = _jvm(spark).org.apache.iceberg
    loaded = iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table)
    append = loaded.newFastAppend()
    tasks = loaded.newScan().planFiles().iterator()
    while tasks.hasNext():
        file = iceberg.DataFiles.builder(loaded.spec()).copy(tasks.next().file())
        append.appendFile((file.withPartitionPath(partition) if partition else file).build())
    append.commit()
    spark.catalog.refreshTable(table)


def create_with_types(spark: SparkSession, name: str) -> None:
    """Create an Iceberg table `ice.db.NAME` with types and a default that SQL does not offer."""
    jvm = _jvm(spark)
    iceberg, types = jvm.org.apache.iceberg, jvm.org.apache.iceberg.types.Types
    catalog = jvm.org.apache.iceberg.hadoop.HadoopCatalog(
        spark.sparkContext._jsc.hadoopConfiguration(),
        spark.conf.get("spark.sql.catalog.ice.warehouse"),
    )
    fields = {
        "id": types.IntegerType.get(),
        "u": types.UUIDType.get(),
        "f": types.FixedType.ofLength(4),
        "b": types.BinaryType.get(),
        "n": types.TimestampType.withoutZone(),
    }
    columns = [
        types.NestedField.optional(number, column, kind)
        for number, (column, kind) in enumerate(fields.items(), 1)
    ]
    table = catalog.createTable(
        iceberg.catalog.TableIdentifier.parse(f"db.{name}"),
        iceberg.Schema(columns),
        iceberg.PartitionSpec.unpartitioned(),
        {"format-version": "3"},
    )
    spark.sql(
        f"INSERT INTO ice.db.{name} SELECT /*+ REPARTITION_BY_RANGE(3, id) */ CAST(id AS INT), "
        "format_string('%08d-0000-0000-0000-%012d', id % 10, id % 10), CAST(lpad(CAST(id AS STRING), 4, '0') AS BINARY),"
        " CAST(CAST(id AS STRING) AS BINARY), TIMESTAMP_NTZ'2023-12-31 00:00:00' + make_dt_interval(id) FROM range(30)"
    )
    table.refresh()
    default = iceberg.expressions.Literal.of(5)
    table.updateSchema().addColumn("x", types.IntegerType.get(), None, default).commit()
    spark.catalog.refreshTable(f"ice.db.{name}")
    spark.sql(f"INSERT INTO ice.db.{name} (id, x) VALUES (100, 7), (101, NULL)")


def in_other_order(spark: SparkSession, statements: list[str]) -> str:
    """Run statements in a session that lists tamis before the formats.

    Returns:
        For each, its sorted rows and the explanation of a query; as JSON.
    """
    context = spark.sparkContext._jsc.sc()
    names = context.conf().get("spark.sql.extensions")
    tamis_first = ",".join(sorted(names.split(","), key=lambda name: "tamis" not in name))
    sessions = _jvm(spark).org.apache.spark.sql.classic.SparkSession
    try:
        context.conf().set("spark.sql.extensions", tamis_first)
        sessions.clearActiveSession()
        sessions.clearDefaultSession()
        other = SparkSession(spark.sparkContext, sessions.builder().getOrCreate())
        found = []
        for each in statements:
            text = explained(other, each) if each.startswith("SELECT") else ""
            found.append((sorted(repr(tuple(row)) for row in other.sql(each).collect()), text))
        return json.dumps(found)
    finally:
        context.conf().set("spark.sql.extensions", names)
        sessions.setActiveSession(spark._jsparkSession)
        sessions.setDefaultSession(spark._jsparkSession)


def streamed(spark: SparkSession, table: str, where: str) -> list[Any]:
    """Return the rows of a streaming read of everything that a table has."""
    return _written(spark.readStream.table(table).where(where).select("id"))


def streamed_keys(
    spark: SparkSession, table: str, static: str, options: dict[str, str]
) -> list[Any]:
    """Return the ids that a streaming read of a table has in common with another table."""
    reader = spark.readStream.options(**options).option("maxFilesPerTrigger", "2").table(table)
    keys = spark.table(static).where("id + 0 BETWEEN 95 AND 202 AND id % 5 = 0").select("id")
    return _written(reader.select("id").join(keys, "id"))


def joined_batches(spark: SparkSession, source: str, static: str) -> list[Any]:
    """Return what each batch of a streaming read finds in a table that changes after each batch."""
    found = []

    def change(batch: DataFrame, number: int) -> None:
        found.append(sorted(map(tuple, batch.collect())))
        update = f"UPDATE {static} SET k = {number + 10} WHERE id % 3 = 0"
        batch.sparkSession.sql(update)

    keys = spark.table(static).where("id BETWEEN 95 AND 250 AND k <> 5").select("id", "k")
    stream = spark.readStream.option("maxFilesPerTrigger", "1").table(source).select("id")
    query = stream.join(keys, "id").writeStream.foreachBatch(change).trigger(availableNow=True)
    running = query.start()
    try:
        running.awaitTermination(120)
        assert running.exception() is None, running.exception()
    finally:
        running.stop()
    return found


def _written(stream: DataFrame) -> list[Any]:
    spark = stream.sparkSession
    written = stream.writeStream.format("memory").queryName("streamed").trigger(availableNow=True)
    query = written.start()
    try:
        query.awaitTermination(60)
        return sorted(map(tuple, spark.table("streamed").collect()))
    finally:
        query.stop()


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm


def merge_streamed(spark: SparkSession, source: str, target: str, condition: str) -> int:
    """Merge each batch of everything that a table has into another one. Return their number."""
    batches = []

    def merge(batch: DataFrame, number: int) -> None:
        batch.createOrReplaceTempView("batch_of_stream")
        batch.sparkSession.sql(
            f"MERGE INTO {target} t USING batch_of_stream s ON {condition} "
            "WHEN MATCHED THEN UPDATE SET k = s.k WHEN NOT MATCHED THEN INSERT *"
        )
        batches.append(number)

    reader = spark.readStream.option("maxFilesPerTrigger", 1).table(source)
    query = reader.writeStream.foreachBatch(merge).trigger(availableNow=True).start()
    try:
        query.awaitTermination(120)
        assert query.exception() is None, query.exception()
    finally:
        query.stop()
    return len(batches)


def manage_commits(spark: SparkSession, path: str) -> None:
    """Write a table of Delta, with the ids 0 to 9, whose commits a catalog manages.

    The catalog is Delta's coordinator for tests, which publishes no commit before the fifth. Delta
    uses it for a table that is read by its path only in tests of Delta.
    """
    commits = _jvm(spark).org.apache.spark.sql.delta.coordinatedcommits
    builder = commits.InMemoryCommitCoordinatorBuilder(5)
    commits.CatalogOwnedCommitCoordinatorProvider.registerBuilder("spark_catalog", builder)
    _jvm(spark).java.lang.System.setProperty("spark.testing", "true")
    writer = spark.range(10).coalesce(1).write.format("delta")
    writer = writer.option("delta.feature.catalogManaged", "supported")
    writer.option("delta.enableDeletionVectors", "true").save(path)


def manage_no_commits(spark: SparkSession) -> None:
    """End what `manage_commits` began."""
    commits = _jvm(spark).org.apache.spark.sql.delta.coordinatedcommits
    provider = getattr(commits, "CatalogOwnedCommitCoordinatorProvider$")
    getattr(provider, "MODULE$").clearBuilders()
    _jvm(spark).java.lang.System.clearProperty("spark.testing")
