"""Compare what Iceberg plans for some manifests with its plan of the snapshot.

For tables of many kinds, queries and modes of planning, the tasks of each subset of manifests must
be those of the whole plan whose files these manifests list. Tasks are compared as Java writes them,
which includes every field of the file, its deletes, the schema, the partition spec and the residual.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.formats.iceberg_tables import add_equality_deletes, statements

#: Those of iceberg_tables.py that have several manifests or specs, deletes, or no file.
TABLES = ("parts", "old", "upgraded", "deletes2", "vectors", "empty")
#: A table with several snapshots.
MORE = """
CREATE TABLE ice.db.travel (i INT, s STRING) USING iceberg TBLPROPERTIES ('format-version' = '3');
INSERT INTO ice.db.travel SELECT CAST(id AS INT), CAST(id AS STRING) FROM range(10);
ALTER TABLE ice.db.travel CREATE TAG first;
INSERT INTO ice.db.travel SELECT CAST(id AS INT), CAST(id AS STRING) FROM range(10, 20);
INSERT INTO ice.db.travel SELECT CAST(id AS INT), CAST(id AS STRING) FROM range(20, 30);
ALTER TABLE ice.db.travel CREATE TAG third;
ALTER TABLE ice.db.travel CREATE BRANCH side;
INSERT INTO ice.db.travel.branch_side SELECT CAST(id AS INT), CAST(id AS STRING) FROM range(30, 40);
DELETE FROM ice.db.travel.branch_side WHERE i < 5;
INSERT INTO ice.db.travel SELECT CAST(id AS INT), CAST(id AS STRING) FROM range(40, 50);
"""
KEYS = "SELECT i FROM ice.db.{} WHERE i IN (3, 25, 55, 200) AND s IS NOT NULL"
CONFS: tuple[Mapping[str, str], ...] = (
    {"spark.sql.iceberg.data-planning-mode": "distributed"},
    {"spark.sql.iceberg.data-planning-mode": "local", "spark.sql.caseSensitive": "true"},
    {"spark.sql.iceberg.delete-planning-mode": "distributed"},
)


@dataclass(frozen=True)
class Planned:
    """The tasks of a plan: the location of the manifest and the serialized form, by data file."""

    manifests: Mapping[str, str]
    written: Mapping[str, bytes]

    def of(self, manifests: Collection[str]) -> Mapping[str, bytes]:
        return {
            file: written
            for file, written in self.written.items()
            if self.manifests[file] in manifests
        }


class Check:
    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._jvm: Any = spark._jvm
        # each name of a package is a call of its own
        self._members = self._jvm.io.tamis.formats.Members
        self._some_manifests = self._jvm.io.tamis.formats.iceberg.SomeManifests
        self._converters = self._jvm.scala.jdk.javaapi.CollectionConverters
        self._serialize = self._jvm.org.apache.commons.lang3.SerializationUtils.serialize
        self.compared = 0
        self.with_deletes = 0

    def query(self, query: str) -> None:
        """Compare the plans of a query, which has one scan."""
        leaves = self._spark.sql(query)._jdf.queryExecution().executedPlan().collectLeaves()
        of_spark = leaves.head().scan()
        tasks = self._call(of_spark, "tasks")
        whole = self._planned(tasks)
        assert len(whole.written) == tasks.size(), f"a file twice: {query}"
        scan = self._call(of_spark, "scan")
        snapshot = self._call(self._inner(scan), "snapshot")
        listed = snapshot.dataManifests(self._call(self._inner(scan), "table").io())
        manifests = [each.path() for each in listed]
        for chosen in _subsets(manifests):
            some = self._some(scan, chosen)
            assert (some is None) == (len(chosen) == len(manifests)), query
            if some is not None:
                assert some.written == whole.of(chosen), f"{query} over {chosen}"
                self._check_report(of_spark, len(some.written))
                self.compared += len(some.written)
        # they are not those of the snapshot
        assert self._some(scan, ["elsewhere"]) is None
        assert self._some(scan, [*manifests[1:], "elsewhere"]) is None

    def _some(self, scan: Any, manifests: Collection[str]) -> Planned | None:
        locations = self._jvm.java.util.HashSet()
        for each in manifests:
            locations.add(each)
        chosen = self._converters.asScala(locations).toSet()
        tasks = self._some_manifests.tasks(scan, chosen)
        return None if tasks.isEmpty() else self._planned(self._converters.asJava(tasks.get()))

    def _planned(self, tasks: Any) -> Planned:
        manifests, written = {}, {}
        for task in tasks:
            file = task.file()
            location = file.location()
            manifests[location] = file.manifestLocation()
            written[location] = bytes(self._serialize(task))
            self.with_deletes += not task.deletes().isEmpty()
        return Planned(manifests, written)

    def _check_report(self, of_spark: Any, files: int) -> None:
        """Check that Iceberg's reporter got a report of the confined plan."""
        report = self._members.field(of_spark, "scanReportSupplier").get()
        assert report.scanMetrics().resultDataFiles().value() == files

    def _inner(self, scan: Any) -> Any:
        is_adapter = scan.getClass().getSimpleName() == "BatchScanAdapter"
        return self._members.field(scan, "scan") if is_adapter else scan

    def _call(self, target: Any, method: str) -> Any:
        none = self._converters.asScala(self._jvm.java.util.ArrayList()).toSeq()
        return self._members.call(target, method, none)


def _subsets(manifests: list[str]) -> Iterator[list[str]]:
    """Yield no manifest, all of them, and up to twice one or all but one of them."""
    count = len(manifests)
    for size in {0, min(1, count), max(0, count - 1), count}:
        found = [*combinations(manifests, size)]
        yield from map(list, found[:: -(-len(found) // 2)])


def _queries(spark: SparkSession, tables: Collection[str]) -> Iterator[str]:
    for name in tables:
        yield f"SELECT * FROM ice.db.{name}"
        yield KEYS.format(name)
        if "p" in spark.table(f"ice.db.{name}").columns:
            yield f"SELECT * FROM ice.db.{name} WHERE p = 1 AND d18 > 10"


def _queries_of_versions() -> Iterator[str]:
    for version in ("", "VERSION AS OF 'first'", "VERSION AS OF 'third'", "VERSION AS OF 'side'"):
        yield f"SELECT * FROM ice.db.travel {version} WHERE i <> 15"


def compare(spark: SparkSession, folder: Path) -> dict[str, int]:
    """Return how many tasks were compared, and how many of them had deletes.

    Raises:
        AssertionError: A task differs.
    """
    spark.conf.set("spark.tamis.enabled", "false")
    spark.conf.set("spark.sql.catalog.ice.warehouse", str(folder / "ice berg"))
    more = [each for each in MORE.strip().split(";\n") if each]
    written = [s for s in statements(folder) if any(f"db.{name}" in s for name in TABLES)]
    for each in [*written, *more]:
        spark.sql(each.removesuffix(";"))
    check = Check(spark)
    deleted = ("vectors", "upgraded")
    for query in _queries(spark, deleted):
        check.query(query)
    for name in deleted:
        add_equality_deletes(spark, name)
        spark.sql(f"REFRESH TABLE ice.db.{name}")
    for query in (*_queries(spark, TABLES), *_queries_of_versions()):
        check.query(query)
    for changed in CONFS:
        for conf, value in changed.items():
            spark.conf.set(conf, value)
        for name in ("parts", "deletes2", "vectors"):
            check.query(KEYS.format(name))
        for conf in changed:
            spark.conf.unset(conf)
    return {"compared": check.compared, "with_deletes": check.with_deletes}
