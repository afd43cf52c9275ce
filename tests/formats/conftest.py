"""A Spark with Delta and Iceberg, whose jars come from Maven Central, once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.peers.packages import confs, lakes
from tests.launch.processes import shell
from tests.launch.statements import Statements, started


def confs_of_formats(folder: Path) -> dict[str, str]:
    """Return the confs of a session whose tables are in this folder; `ice` is Iceberg's catalog."""
    return {
        **confs(),
        **lakes(folder / "iceberg"),
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.codegen.wholeStage": "false",  # tables are small, and queries many
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.tamis.cache.location": str(folder / "cache"),
    }


@pytest.fixture(scope="session")
def formats(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Iterator[Statements]:
    """A Spark with Delta and Iceberg, and an empty namespace `ice.db`."""
    folder = tmp_path_factory.mktemp("formats")
    environment = shell(
        folder, PYTHONPATH=str(repository / "python"), XDG_DATA_HOME=str(folder / "data")
    )
    with started(folder, confs_of_formats(folder), environment) as process:
        yield Statements(process)
