"""A Spark with sources that need jars, a metastore, or extensions beside that of tamis.

It is a separate process, because none of these can be added to a running session. Its jars come
from Maven Central, once. Where they cannot be fetched the tests fail with the error of Ivy.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.peers import packages
from tests.launch.processes import Running, running, shell

EVENTS = """
    SELECT CAST(id AS INT) AS n, date_add(DATE '1994-12-01', CAST(id AS INT)) AS day,
           timestampadd(DAY, id, TIMESTAMP '1994-12-01 00:00:00') AS ts,
           timestampadd(DAY, id, TIMESTAMP_NTZ '1994-12-01 00:00:00') AS clock,
           concat('k', lpad(CAST(id AS STRING), 4, '0')) AS name,
           CAST(id / 4 AS DECIMAL(10, 2)) AS amount
    FROM range(1000)
"""
APP = Path(__file__).parent / "apps" / "statements.py"
_ANSWER = "ANSWER "


@dataclass(frozen=True)
class Answer:
    """The answer to a statement with tamis on."""

    rows: list[str]
    plan: str
    files_read: int | None
    partitions_fetched: int
    warnings: list[str]

    @property
    def pushed_filters(self) -> str:
        """Return the filters that the scan received."""
        (line,) = [
            line
            for line in self.plan.splitlines()
            if line.startswith(("PushedFilters: ", "IcebergScan("))
        ]
        return line


class Statements:
    """Run statements in the process, one by one."""

    def __init__(self, process: Running) -> None:
        self._process = process
        self._answers = 0

    def run(self, sql: str, **confs: str) -> Answer:
        """Return the answer. An error of Spark or a warning of tamis fails the test."""
        assert self._process.process.stdin is not None
        line = json.dumps({"sql": sql, "confs": confs}) + "\n"
        self._process.process.stdin.write(line.encode())
        self._process.process.stdin.flush()
        self._answers += 1
        self._process.wait_until(lambda: len(self._answered()) >= self._answers, sql)
        result: dict[str, Any] = json.loads(self._answered()[-1])
        assert "error" not in result, f"{sql}\n{result['error']}"
        assert result["warnings"] == []
        return Answer(**result)

    def same(self, sql: str, **confs: str) -> Answer:
        """Return the answer with tamis on. Its rows must equal those with tamis off."""
        off = self.run(sql, **confs, **{"spark.tamis.enabled": "false"})
        on = self.run(sql, **{"spark.tamis.enabled": "true"})
        assert on.rows == off.rows, sql
        return on

    def rewrite_rows(self, table: str) -> None:
        """Delete, update and merge rows of a table of the events, and check the remaining rows."""
        self.run(f"DELETE FROM {table} WHERE year(ts) = 1996 AND n + 1 < 500")
        march = "date_trunc('MONTH', ts) = TIMESTAMP '1995-03-01'"
        self.run(f"UPDATE {table} SET n = -n WHERE {march}")
        self.run(
            f"MERGE INTO {table} t USING ({EVENTS} WHERE id > 997) s "
            "ON t.name = s.name AND year(t.ts) = 1997 WHEN MATCHED THEN UPDATE SET n = s.n + 1000 "
            "WHEN NOT MATCHED THEN INSERT *"
        )
        expected = self.run(
            f"SELECT CASE WHEN n >= 998 THEN n + 1000 WHEN {march} THEN -n ELSE n END, name "
            f"FROM ({EVENTS}) WHERE NOT (year(ts) = 1996 AND n + 1 < 500)",
            **{"spark.tamis.enabled": "false"},
        )
        self.run("SET spark.tamis.enabled = true")
        assert self.run(f"SELECT n, name FROM {table}").rows == expected.rows
        assert len(self.same(f"SELECT n FROM {table} WHERE year(ts) = 1996").rows) == 263

    def _answered(self) -> list[str]:
        lines = self._process.output().splitlines(keepends=True)
        return [
            line.removeprefix(_ANSWER)
            for line in lines
            if line.startswith(_ANSWER) and line.endswith("\n")
        ]


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Iterator[Statements]:
    """Start Spark with Iceberg (catalog `ice`), Delta, Avro, a Hive metastore, and tamis last."""
    folder = tmp_path_factory.mktemp("sources")
    confs = {
        **packages.confs(),
        **packages.lakes(folder / "iceberg"),
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.codegen.wholeStage": "false",  # tables are small, and queries many
        "spark.sql.maxMetadataStringLength": "100000",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={folder / 'metastore'};create=true"
        ),
    }
    environment = shell(folder, PYTHONPATH=str(repository / "python"))
    command = [sys.executable, str(APP), json.dumps(confs)]
    with running(command, folder, environment, "sources") as process:
        process.wait_for("READY\n")
        yield Statements(process)
        process.process.stdin.close()  # type: ignore[union-attr]
        process.process.wait(60)
