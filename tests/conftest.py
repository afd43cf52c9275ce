"""What every test may ask for: a Spark session of its own, the paths of the tree."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from pytest_spark.config import SparkConfigBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).resolve().parents[1]
SPARK_FIXTURES = {"_spark_session", "spark_context", "spark_session", "spark"}

# Spark and the processes that it starts import this tree, installed or not.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(REPOSITORY / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]
)
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
# The history of whoever runs the tests is none of theirs.
os.environ["XDG_STATE_HOME"] = str(REPOSITORY / "build" / "state")
# Nor are the indexes that they once built: what an earlier run kept of a path is not of this one's.
_DATA = tempfile.TemporaryDirectory(prefix="tamis-data-")
os.environ["XDG_DATA_HOME"] = _DATA.name

# No deadlines: a loaded machine is not a failure. On CI a change is judged by the same examples
# as its parent; elsewhere each run takes new ones, and HYPOTHESIS_PROFILE=long many of them.
_SLOW_IS_FINE = [HealthCheck.too_slow]
settings.register_profile("default", deadline=None, suppress_health_check=_SLOW_IS_FINE)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.register_profile("long", settings.get_profile("default"), max_examples=5000)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "default")
)


@pytest.hookimpl(trylast=True)  # after pytest-spark has read its options
def pytest_configure() -> None:
    """Each process of a run that is spread (-n) keeps its tables in a folder of its own."""
    process = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    warehouse = REPOSITORY / "build" / "spark-warehouse" / process
    shutil.rmtree(warehouse, ignore_errors=True)  # tables of a run that was killed
    SparkConfigBuilder().initialize().set("spark.sql.warehouse.dir", str(warehouse))


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """--doctest-modules imports every file; what lies beside the tests is theirs, and no module."""
    is_script = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if is_script else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever uses Spark bears the mark, so that `-m "not spark"` runs without a JVM."""
    for item in items:
        if SPARK_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The top of the tree."""
    return REPOSITORY


@pytest.fixture
def spark(spark_session: SparkSession) -> Iterator[SparkSession]:
    """A session with confs and temporary views of its own, over the one Spark of this run.

    The extension is loaded and on; `spark.conf.set("spark.tamis.enabled", "false")` turns it off
    for this test only.
    """
    session = spark_session.newSession()
    yield session
    session.catalog.clearCache()
