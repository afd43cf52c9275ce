"""Fixtures for all tests: a Spark session for each test, and the paths of the repository."""

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
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from tests.class_archive import class_path, java_options
from tests.sidecar_start import await_sidecar
from tests.small_queries import save_work

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).resolve().parents[1]
DIRECTORIES = {
    "spark.sql.warehouse.dir": "spark-warehouse",
    "spark.tamis.cache.location": "tamis-cache",
}
#: Units of files, by the beginnings of their paths, that share a Spark of their own, so that it starts
#: once. A file belongs to the first unit that names it. The units are the longest work of a run.
UNITS = (
    (
        "tests/formats/test_delta",
        "tests/formats/test_row_level_commands",
        "tests/formats/test_written_by_delta",
    ),
    ("tests/formats/test_catalogs",),
    ("tests/formats/",),
    ("tests/sources/",),
)
SPARK_FIXTURES = {"_spark_session", "spark_context", "spark_session", "spark"}

# Spark and the processes that it starts import this tree, whether or not it is installed.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(REPOSITORY / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]
)
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ["SPARK_SUBMIT_OPTS"] = java_options()
os.environ.update(class_path())
# Tests do not read or write the history of the user who runs them.
os.environ["XDG_STATE_HOME"] = str(REPOSITORY / "build" / "state")
# They do not use existing indexes either: an earlier run may have stored one under the same path.
_DATA = tempfile.TemporaryDirectory(prefix="tamis-data-")
os.environ["XDG_DATA_HOME"] = _DATA.name

# No deadlines, because a loaded machine is not a failure. CI uses the same examples for a change
# and its parent. Elsewhere each run takes new examples. HYPOTHESIS_PROFILE=long takes many;
# `make check` takes few, with `quick`.
_SLOW_IS_FINE = [HealthCheck.too_slow]
settings.register_profile("default", deadline=None, suppress_health_check=_SLOW_IS_FINE)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.register_profile("long", settings.get_profile("default"), max_examples=5000)
settings.register_profile("quick", settings.get_profile("default"), max_examples=25)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "default")
)


@pytest.hookimpl(trylast=True)  # after pytest-spark has read its options
def pytest_configure() -> None:
    """Give each process of a distributed run (-n) its own directories."""
    process = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    confs = SparkConfigBuilder().initialize()
    for conf, name in DIRECTORIES.items():
        directory = REPOSITORY / "build" / name / process
        shutil.rmtree(directory, ignore_errors=True)  # what an earlier run left
        confs.set(conf, str(directory))


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Ignore scripts beside tests.

    --doctest-modules imports every file, but scripts are not modules.
    """
    is_script = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if is_script else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that uses Spark, so that `-m "not spark"` runs without a JVM.

    Units and files with slow tests come first: a distributed run ends when its last file does.
    """
    ranks: dict[Path, int] = {}
    for item in items:
        if SPARK_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.spark)
        marks = ("programs", "spark")
        rank = next(
            (k for k, mark in enumerate(marks) if item.get_closest_marker(mark)), len(marks)
        )
        ranks[item.path] = min(rank, ranks.get(item.path, rank))
    items.sort(key=lambda item: (_unit(item.nodeid), ranks[item.path]))


def _unit(nodeid: str) -> int:
    """Return the number of the unit of a test, or that of units."""
    return next((k for k, unit in enumerate(UNITS) if nodeid.startswith(unit)), len(UNITS))


class _Scheduling(LoadFileScheduling):
    """Gives the tests of a file, or of one of UNITS, to one process."""

    def _split_scope(self, nodeid: str) -> str:
        unit = _unit(nodeid)
        return str(UNITS[unit]) if unit < len(UNITS) else str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _Scheduling | None:
    """Distribute the tests of a run with `--dist loadfile`."""
    return _Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def repository() -> Path:
    """Return the root of the repository."""
    return REPOSITORY


@pytest.fixture(scope="session")
def spark_session(spark_session: SparkSession) -> SparkSession:
    """Return the session of pytest-spark, set up for many small queries, with its sidecar."""
    save_work(spark_session)
    await_sidecar(spark_session)
    return spark_session


@pytest.fixture
def spark(spark_session: SparkSession) -> Iterator[SparkSession]:
    """Yield a session with its own confs and temporary views over the one Spark of this run.

    The extension is loaded and enabled. `spark.conf.set("spark.tamis.enabled", "false")` disables
    it for this test only.
    """
    session = spark_session.newSession()
    # Java methods called through py4j, such as `stats()`, read the confs of the active session
    session._get_j_spark_session_class(session._jvm).setActiveSession(session._jsparkSession)
    yield session
    session.catalog.clearCache()
