"""A server of the S3 protocol, and a Spark with hadoop-aws that reads from it.

Spark is a separate process, because a file system cannot be added to a running one. Its jars come
from Maven Central, once. Where they cannot be fetched the tests fail with the error of Ivy.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

from bench.s3 import hadoop
from bench.s3.store import BUCKET, Store, serving
from tests.launch.processes import Running, running, shell

APP = Path(__file__).parent / "app.py"
_ANSWER = "ANSWER "
OFF = {"spark.tamis.enabled": "false"}
ROWS = 100  # of a file
LIMIT = 120.0  # seconds; a machine may be busy


@dataclass(frozen=True)
class Answer:
    """The answer to a statement or a command.

    Attributes:
        rows: The rows, as a bag.
        scans: The decisions of tamis.
        warnings: The warnings of tamis since the last answer.
        text: The result of the command.
    """

    rows: list[str] = field(default_factory=list)
    scans: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    text: str = ""

    @property
    def kept(self) -> list[int]:
        """The number of files that each scan keeps."""
        assert [scan["fallback"] for scan in self.scans] == [None] * len(self.scans)
        return [scan["files_kept"] for scan in self.scans]


class Lake:
    """A Spark with tamis, and the store of its tables."""

    def __init__(self, process: Running, store: Store, cache: Path) -> None:
        self.store = store
        self.files = store.files()
        self._process = process
        self._cache = cache
        self._log = process.log.open(encoding="utf-8", errors="replace")

    def sql(self, statement: str, **confs: str) -> Answer:
        """Return the answer to a statement, which is run with these confs."""
        return self._run({"sql": statement, "confs": confs})

    def index(
        self, method: str, table: str, confs: dict[str, str] | None = None, **arguments: object
    ) -> Answer:
        """Call a method of the index of a table."""
        line = {"index": method, "table": table, "arguments": arguments, "confs": confs or {}}
        return self._run(line)

    def same(self, query: str, **confs: str) -> Answer:
        """Return the answer with tamis on. Its rows must equal those with tamis off."""
        off = self.sql(query, **confs, **OFF)
        on = self.sql(query, **confs)
        assert on.rows == off.rows, query
        return on

    def restart(self) -> None:
        """Restart the planner, with an empty local cache."""
        shutil.rmtree(self._cache, ignore_errors=True)
        self._run({"call": "restart", "arguments": [], "confs": {}})

    def forget(self) -> None:
        """Let the planner open all indexes again, from the store."""
        shutil.rmtree(self._cache, ignore_errors=True)
        self._run({"call": "invalidate", "arguments": ["x"], "confs": {}})

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

    def _run(self, line: dict[str, Any]) -> Answer:
        assert self._process.process.stdin is not None
        self._process.process.stdin.write((json.dumps(line) + "\n").encode())
        self._process.process.stdin.flush()
        while (answer := self._next_answer()) is None:
            time.sleep(0.01)
        result: dict[str, Any] = json.loads(answer)
        assert "error" not in result, f"{line}\n{result['error']}"
        return Answer(**result)

    def _next_answer(self) -> str | None:
        """Return the next answer in the output of the process; None if there is none yet."""
        assert self._process.process.poll() is None, self._process.output()
        while (start := self._log.tell()) is not None:
            line = self._log.readline()
            if not line.endswith("\n"):
                self._log.seek(start)
                return None
            if line.startswith(_ANSWER):
                return line.removeprefix(_ANSWER)
        return None


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
        "spark.driver.extraClassPath": ":".join(map(str, hadoop.jars())),
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
        "spark.tamis.index.auto": "off",  # except where a test turns it on
    }
    environment = shell(
        folder,
        PYTHONPATH=str(repository / "python"),
        XDG_DATA_HOME=str(folder / "data"),
        HADOOP_CONF_DIR=str(hadoop_files),
        AWS_EC2_METADATA_DISABLED="true",
    )
    command = [sys.executable, str(APP), json.dumps(confs)]
    with running(command, folder, environment, "lake") as process:
        process.wait_for("READY\n")
        yield Lake(process, store, folder / "cache")
        process.process.stdin.close()  # type: ignore[union-attr]
        process.process.wait(60)
