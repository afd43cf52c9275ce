"""Spark with a sidecar that each test chooses, over a table whose pruning is visible."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAKE = Path(__file__).parent / "fakes" / "sidecar.py"


@pytest.fixture(scope="session")
def table(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write four partitions p = 0 … 3. A predicate over two columns needs two of them."""
    path = str(tmp_path_factory.mktemp("bridge") / "table")
    frame = spark_session.range(400).selectExpr("id", "id % 4 AS p")
    frame.repartition(1).write.partitionBy("p").parquet(path)
    return path


@pytest.fixture
def shim(spark: SparkSession) -> Iterator[object]:
    """Return io.tamis.Tamis of the driver, with a fresh sidecar and no cached failures."""
    shim = spark._jvm.io.tamis.Tamis
    shim.restart()
    yield shim
    shim.restart()


def requests_of(folder: Path) -> Path:
    """Return one line per plan request that a fake sidecar of the test received."""
    return folder / "requests"


@pytest.fixture
def use_fake(spark: SparkSession, tmp_path: Path) -> Callable[[str], None]:
    """Make the fake sidecar of this mode the session's Python."""

    def use(mode: str) -> None:
        script = tmp_path / f"python-{mode}"
        log = requests_of(tmp_path)
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" {mode} "{log}"\n')
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        spark.conf.set("spark.tamis.python", str(script))

    return use


@pytest.fixture
def use_python(spark: SparkSession, tmp_path: Path) -> Callable[[str], None]:
    """Make a shell script with this body the session's Python."""

    def use(body: str) -> None:
        script = tmp_path / "python-script"
        script.write_text(f"#!/bin/sh\n{body}\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        spark.conf.set("spark.tamis.python", str(script))

    return use


def alive(pid: int) -> bool:
    """Return whether the process runs or is stopped, and is not a zombie."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return False
    return state not in ("Z", "X")
