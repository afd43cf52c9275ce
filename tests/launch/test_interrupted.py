"""Ctrl-C during a command that builds an index."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tamis
from tests.launch.processes import LIMIT, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

#: Lets the first task that reads a footer create a file, and never end. Python imports this module
#: when it starts; `pyspark.daemon` is the parent of the Python processes of tasks.
HANGING = """
import sys
if "pyspark.daemon" in sys.orig_argv:
    import pathlib, threading
    import pyarrow.parquet

    def hang(file):
        pathlib.Path({marker!r}).touch()
        threading.Event().wait()

    pyarrow.parquet.read_metadata = hang
"""


def test_interrupted_build_preserves_the_former_index(
    spark_session: SparkSession, tmp_path: Path, environment: dict[str, str], repository: Path
) -> None:
    table, marker = tmp_path / "table", tmp_path / "reads_footers"
    spark_session.range(100).write.parquet(str(table))
    index = tamis.index(spark_session, str(table)).build(columns={"id": "values"})
    before = index.describe().to_dict()
    (tmp_path / "sitecustomize.py").write_text(HANGING.format(marker=str(marker)))
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), str(repository / "python")])
    command = [sys.executable, "-m", "tamis", "index", "build", str(table), "--bloom", "id"]
    with running(command, tmp_path, environment) as build:
        build.wait_until(marker.exists, "reading footers")
        os.killpg(build.pid, signal.SIGINT)  # as a terminal does
        assert build.process.wait(LIMIT) == 130
        lines = build.output().splitlines()
    assert "tamis: interrupted: the index was not changed" in lines
    assert not [line for line in lines if "Traceback" in line or "Exception" in line]
    assert index.describe().to_dict() == before
