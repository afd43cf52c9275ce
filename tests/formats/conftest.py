"""A Spark with Delta and Iceberg, whose jars come from Maven Central, once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.peers.packages import confs, lakes
from tests.launch.processes import shell
from tests.launch.statements import Statements, confs_of_small_queries, started


def confs_of_formats(folder: Path) -> dict[str, str]:
    """Return the confs of a session whose tables are in this folder; `ice` is Iceberg's catalog."""
    return {
        **confs(),
        **lakes(folder / "iceberg"),
        # `save_work` removes the defaults of Hadoop by which Delta finds this class
        "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
        "spark.databricks.delta.snapshotPartitions": "1",
        # VACUUM lists the files of a table in as many tasks
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
        # what the pages of a user interface would show, and small blocks, are not worth the work
        "spark.ui.liveUpdate.period": "-1",
        "spark.sql.ui.retainedExecutions": "2",
        "spark.broadcast.checksum": "false",
        "spark.broadcast.compress": "false",
        "spark.shuffle.checksum.enabled": "false",
        "spark.shuffle.compress": "false",
        **confs_of_small_queries(folder),
    }


@contextmanager
def spark_in(folder: Path, confs: Mapping[str, str], repository: Path) -> Iterator[Statements]:
    """Start a Spark whose own files are in this folder."""
    path = os.pathsep.join([str(repository / "python"), str(repository)])
    environment = shell(folder, PYTHONPATH=path, XDG_DATA_HOME=str(folder / "data"))
    with started(folder, confs, environment) as process:
        statements = Statements(process)
        statements.text_of("tests.small_queries:save_work")
        yield statements


@pytest.fixture(scope="session")
def formats(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Iterator[Statements]:
    """A Spark with Delta and Iceberg, and an empty namespace `ice.db`."""
    folder = tmp_path_factory.mktemp("formats")
    with spark_in(folder, confs_of_formats(folder), repository) as statements:
        statements.sql("CREATE NAMESPACE ice.db")
        yield statements
