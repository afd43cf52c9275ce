"""A Spark with sources that need jars, a metastore, or extensions beside that of tamis.

It is a separate process, because none of these can be added to a running session. Its jars come
from Maven Central, once. Where they cannot be fetched the tests fail with the error of Ivy.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.peers import packages
from tests.launch.processes import shell
from tests.launch.statements import OFF, Answer, Statements, confs_of_small_queries, started

EVENTS = """
    SELECT CAST(id AS INT) AS n, date_add(DATE '1994-12-01', CAST(id AS INT)) AS day,
           timestampadd(DAY, id, TIMESTAMP '1994-12-01 00:00:00') AS ts,
           timestampadd(DAY, id, TIMESTAMP_NTZ '1994-12-01 00:00:00') AS clock,
           concat('k', lpad(CAST(id AS STRING), 4, '0')) AS name,
           CAST(id / 4 AS DECIMAL(10, 2)) AS amount
    FROM range(1000)
"""


class Sources(Statements):
    """A running Spark with tamis, whose answers have details and never come with warnings."""

    def run(self, line: dict[str, Any]) -> Answer:
        """Run a line of `statement_app.py`."""
        answer = super().run({"details": True, **line})
        assert answer.warnings == []
        return answer

    def rewrite_rows(self, table: str) -> None:
        """Delete, update and merge rows of a table of the events, and check the remaining rows."""
        self.sql(f"DELETE FROM {table} WHERE year(ts) = 1996 AND n + 1 < 500")
        march = "date_trunc('MONTH', ts) = TIMESTAMP '1995-03-01'"
        self.sql(f"UPDATE {table} SET n = -n WHERE {march}")
        self.sql(
            f"MERGE INTO {table} t USING ({EVENTS} WHERE id > 997) s "
            "ON t.name = s.name AND year(t.ts) = 1997 WHEN MATCHED THEN UPDATE SET n = s.n + 1000 "
            "WHEN NOT MATCHED THEN INSERT *"
        )
        expected = self.sql(
            f"SELECT CASE WHEN n >= 998 THEN n + 1000 WHEN {march} THEN -n ELSE n END, name "
            f"FROM ({EVENTS}) WHERE NOT (year(ts) = 1996 AND n + 1 < 500)",
            **OFF,
        )
        assert self.sql(f"SELECT n, name FROM {table}").rows == expected.rows
        assert len(self.same(f"SELECT n FROM {table} WHERE year(ts) = 1996").rows) == 263


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Iterator[Sources]:
    """Start Spark with Iceberg (catalog `ice`), Delta, Avro, a Hive metastore, and tamis last."""
    folder = tmp_path_factory.mktemp("sources")
    confs = {
        **packages.confs(),
        **packages.lakes(folder / "iceberg"),
        **confs_of_small_queries(folder),
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.maxMetadataStringLength": "100000",
        # `save_work` removes the defaults of Hadoop by which Delta finds this class
        "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={folder / 'metastore'};create=true"
        ),
    }
    path = os.pathsep.join([str(repository / "python"), str(repository)])
    with started(folder, confs, shell(folder, PYTHONPATH=path)) as process:
        found = Sources(process)
        found.text_of("tests.small_queries:save_work")
        yield found
