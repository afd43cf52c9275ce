"""A standalone cluster whose executors have pyspark and pyarrow, but no tamis."""

from __future__ import annotations

import os
import re
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.launch.conftest import FILES, ROWS
from tests.launch.processes import EXTENSION, free_port, report, run, running, shell, spark
from tests.remote.airport_server import Served, serving

pytestmark = pytest.mark.spark

NO_TAMIS = "no tamis here"


def hide(directory: Path, *modules: str) -> str:
    """Make a directory for PYTHONPATH that prevents the import of these modules."""
    directory.mkdir()
    for module in modules:
        (directory / f"{module}.py").write_text(f"raise ImportError('no {module} here')\n")
    return str(directory)


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a master with two workers of one core each."""
    directory = tmp_path_factory.mktemp("cluster")
    hidden = hide(
        directory / "hidden",
        "tamis",
        "cachetools",
        "msgpack",
        "msgspec",
        "numpy",
        "pandas",
        "platformdirs",
    )
    environment = shell(directory, PYTHONPATH=hidden, SPARK_DAEMON_MEMORY="256m")
    url = f"spark://127.0.0.1:{free_port()}"
    listen = ["--host", "127.0.0.1", "--webui-port", "0"]
    deploy = [spark("spark-class"), "org.apache.spark.deploy"]
    with ExitStack() as processes:

        def start(kind: str, name: str, *arguments: str) -> None:
            command = [deploy[0], f"{deploy[1]}.{kind}", *listen, *arguments]
            process = processes.enter_context(running(command, directory, environment, name))
            process.wait_for("New state: ALIVE" if name == "master" else "registered with master")

        start("master.Master", "master", "--port", url.rpartition(":")[2])
        for name in ("worker-1", "worker-2"):
            work = ["--work-dir", str(directory / name)]
            start("worker.Worker", name, *work, "--cores", "1", "--memory", "1g", url)
        yield url


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the files of `orders`, without an index."""
    root = tmp_path_factory.mktemp("table")
    for number in range(FILES):
        ids = pa.array(range(number * 100, number * 100 + 100), pa.int64())
        pq.write_table(pa.table({"id": ids}), root / f"part-{number}.parquet")
    return str(root)


def test_index_built_by_executors_prunes_their_reads(
    tmp_path: Path,
    environment: dict[str, str],
    app: Callable[[str], str],
    repository: Path,
    master: str,
    table: str,
    jar: str,
) -> None:
    environment["PYSPARK_PYTHON"] = sys.executable
    path = [str(repository / "python"), hide(tmp_path / "hidden", "pandas")]
    with_package = {**environment, "PYTHONPATH": os.pathsep.join(path)}
    confs = ["--conf", f"spark.master={master}", "--conf", "spark.executor.memory=512m"]
    sql = f"SELECT id FROM parquet.`{table}` WHERE id BETWEEN {ROWS[0]} AND {ROWS[-1]}"
    submit = [spark("spark-submit"), *confs, "--conf", EXTENSION]
    builds = [*submit, "--jars", jar, app("cluster"), sql, table]
    # queries do not need the jar on executors either
    asks = [*submit, "--driver-class-path", jar, app("cluster"), sql]
    result = [run(builds, tmp_path, with_package), run(asks, tmp_path, environment)]
    for of_run in map(report, result):
        assert of_run["rows"] == ROWS
        assert "Files: 1 of 8" in of_run["plan"]
        assert of_run["warnings"] == []
        assert of_run["executors_say"] == [NO_TAMIS]
        assert sum(of_run["tasks"][executor] for executor in ("0", "1")) > 0
        assert of_run["tasks"]["driver"] == 0


def test_executors_without_tamis_read_an_airport_table(
    tmp_path: Path,
    environment: dict[str, str],
    app: Callable[[str], str],
    repository: Path,
    master: str,
    jar: str,
) -> None:
    environment["PYSPARK_PYTHON"] = sys.executable
    environment["PYTHONPATH"] = str(repository / "python")
    submit = [spark("spark-submit"), "--driver-class-path", jar, "--conf", EXTENSION]
    submit += ["--conf", f"spark.master={master}", "--conf", "spark.executor.memory=512m"]
    parts = [pa.table({"id": [1, 2]}), pa.table({"id": [3]})]
    with serving({("main", "orders"): Served(parts)}) as server:
        output = run([*submit, app("airport"), server.uri], tmp_path, environment)
    assert report(output)["rows"] == [2, 3]
    assert server.endpoints()[-1]["json_filters"]


def test_token_is_in_no_plan_log_history_or_error(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    environment: dict[str, str],
    app: Callable[[str], str],
    repository: Path,
    master: str,
    table: str,
    jar: str,
) -> None:
    """The server quotes the token in the error of a stream."""
    token = "t0ken-" + uuid.uuid4().hex
    environment |= {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(repository / "python"),
        "TOKEN": token,
    }
    events = tmp_path / "events"
    events.mkdir()
    confs = {
        "spark.master": master,
        "spark.executor.memory": "512m",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{events}",
        "spark.eventLog.compress": "false",
    }
    submit = [spark("spark-submit"), "--driver-class-path", jar, "--conf", EXTENSION]
    submit += [word for name, value in confs.items() for word in ("--conf", f"{name}={value}")]
    orders = Served([pa.table({"id": [1, 2]}), pa.table({"id": [3]})])
    broken = Served([pa.table({"id": [4]})], problem=f"the token {token} has expired")
    tables = {("main", "orders"): orders, ("main", "broken"): broken}
    with (
        serving(tables, token=token) as server,
        running(
            [*submit, app("airport_token"), server.uri, table], tmp_path, environment
        ) as driver,
    ):
        driver.wait_for("REPORT ")
    of_run = report(driver.output())
    assert of_run["rows"] == [2, 3, 2, 3, FILES * 100 - 2]
    broke = "the table main.broken of the Airport server .*the token … has expired"
    assert sum(bool(re.search(broke, each)) for each in of_run["errors"]) == 2
    assert sum("Check the option token" in each for each in of_run["errors"]) == 2

    directories = [tmp_path, *tmp_path_factory.getbasetemp().glob("cluster*")]
    files = [each for folder in directories for each in folder.rglob("*") if each.is_file()]
    holds = [each for each in files if token.encode() in each.read_bytes()]
    assert holds == []
    logs = [each.read_text(errors="replace") for each in files if each.name == "stderr"]
    assert any("has expired" in each for each in logs), "the executor logs the failure"
    assert any("has expired" in each.read_text() for each in events.rglob("*") if each.is_file())
    assert any("history" in each.parts for each in files)
