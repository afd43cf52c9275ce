"""What the tasks of a scan of Iceberg read, as Iceberg's own classes say.

The functions run in the process of `Statements`, which has the session.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tamis.indexing.executor.row_group_ranges import extents

__all__ = ["midpoints", "scanned"]


def scanned(spark: SparkSession, query: str) -> str:
    """Return what the only scan of an Iceberg table in a query reads, as JSON.

    - `groups`: by file, in the order of their names, the numbers of the row groups whose midpoints
      lie in the planned tasks.
    - `rows`: how many rows the scan returned, after run-time filters.
    - `partitions`: the number of partitions.
    """
    before = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        frame = spark.sql(query)
        plan = frame._jdf.queryExecution().executedPlan()
        frame.collect()
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", before)
    leaves = plan.collectLeaves()
    (node,) = [
        leaf
        for leaf in (leaves.apply(i) for i in range(leaves.size()))
        if leaf.getClass().getSimpleName() == "BatchScanExec"
    ]
    groups: dict[str, set[int]] = {}
    for location, start, length in _parts(spark, node):
        groups.setdefault(location, set()).update(_groups_in(location, start, length))
    return json.dumps(
        {
            "groups": [sorted(groups[name]) for name in sorted(groups, key=_first_row)],
            "rows": int(node.metrics().apply("numOutputRows").value()),
            "partitions": node.inputPartitions().size(),
        }
    )


def _parts(spark: SparkSession, node: Any) -> Iterator[tuple[str, int, int]]:
    """Yield file, start and length of each task that was planned."""
    jvm: Any = spark._jvm
    members = jvm.io.tamis.formats.Members
    nothing = jvm.scala.jdk.javaapi.CollectionConverters.asScala(jvm.java.util.ArrayList()).toSeq()

    def call(target: Any, name: str) -> Any:
        return members.call(target, name, nothing)

    partitions = node.inputPartitions()
    for i in range(partitions.size()):
        for task in call(call(call(partitions.apply(i), "taskGroup"), "tasks"), "toArray"):
            location = call(call(task, "file"), "location").removeprefix("file:")
            yield location, call(task, "start"), call(task, "length")


def _groups_in(location: str, start: int, length: int) -> list[int]:
    """Return the row groups of a file whose midpoints lie in these bytes."""
    metadata = pq.read_metadata(location)
    if metadata.num_row_groups == 1:
        return [0]
    found = enumerate(extents(metadata, None))
    return [i for i, (_, _, middle) in found if middle is not None and 0 <= middle - start < length]


def _first_row(location: str) -> Any:
    return pq.ParquetFile(location).read_row_group(0).column(0)[0].as_py()


def midpoints(spark: SparkSession, location: str) -> str:
    """Return the rows that Iceberg's own parquet-mr reads for one byte, the midpoint, of each row
    group, and those that the footer states, as JSON."""
    shaded = spark._jvm.org.apache.iceberg.shaded.org.apache.parquet
    conf = spark._jsc.hadoopConfiguration()
    path = spark._jvm.org.apache.hadoop.fs.Path(location)
    metadata = pq.read_metadata(location)
    found, offsets = [], []
    for _, _, midpoint in extents(metadata, None):
        assert midpoint is not None
        options = shaded.HadoopReadOptions.builder(conf).withRange(midpoint, midpoint + 1).build()
        source = shaded.hadoop.util.HadoopInputFile.fromPath(path, conf)
        reader = shaded.hadoop.ParquetFileReader.open(source, options)
        found.append(int(reader.getRecordCount()))
        offsets.append(int(reader.getRowGroups()[0].getRowIndexOffset()))
        reader.close()
    rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    return json.dumps({"found": found, "stated": rows, "offsets": offsets})
