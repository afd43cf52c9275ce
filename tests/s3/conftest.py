"""A server of the S3 protocol, and a Spark with hadoop-aws that reads from it.

Spark is a separate process, because a file system cannot be added to a running one. Its jars come
from Maven Central, once. Where they cannot be fetched the tests fail with the error of Ivy.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

from bench.s3 import hadoop
from bench.s3.store import BUCKET, Store, serving
from tests.launch.processes import Running, shell
from tests.launch.statements import Statements, confs_of_small_queries, started

ROWS = 100  # of a file
LIMIT = 120.0  # seconds; a machine may be busy


class Lake(Statements):
    """A Spark with tamis, and the store of its tables."""

    def __init__(self, process: Running, store: Store, cache: Path) -> None:
        super().__init__(process)
        self.store = store
        self.files = store.files()
        self._cache = cache

    def restart(self) -> None:
        """Restart the planner, with an empty local cache."""
        shutil.rmtree(self._cache, ignore_errors=True)
        self.run({"call": "restart", "arguments": [], "confs": {}})

    def forget(self) -> None:
        """Let the planner open all indexes again, from the store."""
        shutil.rmtree(self._cache, ignore_errors=True)
        self.run({"call": "invalidate", "arguments": ["x"], "confs": {}})

    def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until a condition is met."""
        deadline = time.monotonic() + LIMIT
        while not is_so():
            assert time.monotonic() < deadline
            time.sleep(0.1)

    def put(self, path: str, table: pa.Table) -> None:
        """Write a Parquet file into the bucket. Its size depends on the sizes of the values only."""
        with self.files.open_output_stream(f"{BUCKET}/{path}") as sink:
            pq.write_table(table, sink, compression="none", use_dictionary=False)

    def table(self, name: str, files: int = 5) -> str:
        """Create a table of files that are clustered by id; return its directory."""
        for number in range(files):
            self.put(f"{name}/{number:02}.parquet", rows(number))
        uri = f"s3a://{BUCKET}/{name}"
        self.sql(f"CREATE TABLE {name} (id LONG, s STRING) USING parquet LOCATION '{uri}'")
        return uri

    def keys(self, folder: str) -> list[str]:
        """Return the keys below a folder of the bucket."""
        selector = pa.fs.FileSelector(f"{BUCKET}/{folder}", recursive=True, allow_not_found=True)
        return sorted(
            info.path.removeprefix(f"{BUCKET}/")
            for info in self.files.get_file_info(selector)
            if info.is_file
        )


def rows(number: int) -> pa.Table:
    """Return the rows of a file."""
    ids = list(range(number * ROWS, (number + 1) * ROWS))
    return pa.table({"id": ids, "s": [f"text {i % 7}" for i in ids]})


@pytest.fixture(scope="session")
def store() -> Iterator[Store]:
    with serving() as started:
        yield started


def core_site(store: Store) -> str:
    """Return a configuration of Hadoop with the endpoint of the store."""
    properties = [
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in store.settings.items()
        if "endpoint" in name
    ]
    return f"<configuration>{''.join(properties)}</configuration>"


@pytest.fixture(scope="session")
def lake(
    store: Store, tmp_path_factory: pytest.TempPathFactory, repository: Path
) -> Iterator[Lake]:
    folder = tmp_path_factory.mktemp("lake")
    # the endpoint is a setting of Hadoop's, the keys are confs of Spark
    keys = {name: value for name, value in store.confs.items() if "endpoint" not in name}
    hadoop_files = folder / "hadoop"
    hadoop_files.mkdir()
    (hadoop_files / "core-site.xml").write_text(core_site(store))
    confs = {
        **keys,
        # Spark's own requests do not fail, so nothing is gained by patience
        "spark.hadoop.fs.s3a.attempts.maximum": "1",
        "spark.hadoop.fs.s3a.fast.upload.buffer": "bytebuffer",
        **confs_of_small_queries(folder),
        "spark.tamis.index.auto": "off",  # except where a test turns it on
        "spark.tamis.remember.enabled": "false",  # a repeated query would read fewer files
    }
    environment = shell(
        folder,
        PYTHONPATH=str(repository / "python"),
        XDG_DATA_HOME=str(folder / "data"),
        HADOOP_CONF_DIR=str(hadoop_files),
        SPARK_DIST_CLASSPATH=":".join(map(str, hadoop.jars())),
        AWS_EC2_METADATA_DISABLED="true",
    )
    with started(folder, confs, environment) as process:
        yield Lake(process, store, folder / "cache")
