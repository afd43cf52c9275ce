"""A table whose pruning is visible, and what every start of Spark needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tamis import jar as tamis_jar
from tests.launch.processes import shell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 8
ROWS = [210, 211, 212, 213, 214]


@pytest.fixture(scope="session")
def orders(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write 800 ids in 8 indexed files of 4 partitions by year. One file has the ids of ROWS."""
    root = tmp_path_factory.mktemp("orders") / "orders"
    for number in range(FILES):
        partition = root / f"year={1992 + number // 2}"
        partition.mkdir(parents=True, exist_ok=True)
        ids = pa.array(range(number * 100, number * 100 + 100), pa.int64())
        pq.write_table(pa.table({"id": ids}), partition / f"part-{number}.parquet")
    tamis.index(spark_session, str(root)).build()
    return str(root)


@pytest.fixture
def query(orders: str) -> str:
    """Return a query that yields ROWS.

    Spark alone opens 8 files for it, as no conjunct names a year.
    """
    return f"SELECT id FROM parquet.`{orders}` WHERE id BETWEEN {ROWS[0]} AND {ROWS[-1]}"


@pytest.fixture(scope="session")
def jar() -> str:
    """Return the output of `python -m tamis jar`."""
    return str(tamis_jar.path())


@pytest.fixture
def app(repository: Path) -> Callable[[str], str]:
    """Return the path of an application in `apps/`."""
    return lambda name: str(repository / "tests" / "launch" / "apps" / f"{name}.py")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a shell (see processes.shell)."""
    return shell(tmp_path)
