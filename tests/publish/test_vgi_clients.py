"""The published clients of VGI, unmodified, against the worker; and the conformance corpus."""

from __future__ import annotations

import base64
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.expr.nodes import Column, Compare, Comparison, Literal
from tamis.expr.types import LONG
from tamis.publish.vgi.rows import passing
from tamis.remote.vgi.filters.filter_document import FilterDocument, Mode
from tamis.wire.vgi import Filters, Malformed
from tests.publish import published_clients

pytestmark = pytest.mark.programs

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "python"


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command of a worker with a table of 1,000 rows in two partitions."""
    folder = tmp_path_factory.mktemp("vgi") / "t"
    for part in range(2):
        (folder / f"part={part}").mkdir(parents=True)
        numbers = range(part * 500, part * 500 + 500)
        rows = pa.table({"n": list(numbers), "s": [f"row_{n}" for n in numbers]})
        pq.write_table(rows, folder / f"part={part}" / "a.parquet", row_group_size=100)
    start = f"import sys; sys.path.insert(0, {str(SOURCES)!r}); from tamis.cli import main; main()"
    return [sys.executable, "-c", start, "serve-vgi", f"t={folder}"]


@pytest.fixture(scope="module")
def url(worker: list[str]) -> Iterator[str]:
    with subprocess.Popen([*worker, "--http"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        name, _, port = process.stdout.readline().strip().partition(":")
        assert name == "PORT"
        yield f"http://127.0.0.1:{port}"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def seen_by_clients(location: str, corpus: str = "-") -> dict[str, Any]:
    command = [str(published_clients.python()), str(HERE / "vgi_clients.py"), location, corpus]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def check_seen(seen: dict[str, Any]) -> None:
    assert seen["catalogs"] == ["tamis"]
    assert seen["echo"] == [{"s": f"row_{n}", "n": n} for n in range(5)]
    assert seen["table"] == 1000
    assert seen["files"] == [{"rows": 500, "verdict": None}] * 2
    assert "there is no function 'nope'" in seen["unknown"]
    assert "there is no table 'nope'" in seen["missing"]
    polars = seen["polars"]
    assert (polars["schemas"], polars["tables"]) == (["main"], ["t"])
    last = [{"n": n, "s": f"row_{n}"} for n in range(990, 1000)]
    prefixed = [{"n": n} for n in (99, *range(990, 1000))]
    counts = [[{"len": 500}], [{"len": 1000}]]
    assert polars["frames"] == [last, prefixed, [{"n": 3}, {"n": 5}], *counts]


def test_python_and_polars_over_standard_input_and_output(worker: list[str]) -> None:
    check_seen(seen_by_clients(shlex.join(worker)))


def test_python_and_polars_over_http_with_the_conformance_corpus(url: str) -> None:
    seen = seen_by_clients(url, str(published_clients.corpus()))
    check_seen(seen)
    assert seen["corpus"] == []


def test_corpus_runner_passes_the_worker(worker: list[str]) -> None:
    cases = ["runtime.in-with-null"]
    chosen = [word for case in cases for word in ("--case", case)]
    runner = published_clients.corpus() / "run_worker.py"
    command = [str(published_clients.python()), str(runner), "--worker", shlex.join(worker)]
    done = subprocess.run([*command, *chosen], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "1 worker corpus cases passed" in done.stdout


def last_rows() -> str:
    """Return the filter `n >= 995` of the table as base64."""
    document = FilterDocument(pa.schema({"n": pa.int64(), "s": pa.string()}))
    n = Column(("n",), LONG)
    document.add(Compare(Comparison.GREATER_EQUAL, n, Literal(995, LONG)), Mode.REQUIRED)
    encoded = document.encoded()
    assert encoded is not None
    return base64.b64encode(encoded).decode()


def test_typescript_over_http(url: str, tmp_path: Path) -> None:
    folder = published_clients.typescript()
    script = folder / "vgi_typescript.mjs"  # modules are found beside the script
    shutil.copy(HERE / script.name, script)
    done = subprocess.run(
        ["node", str(script), url, last_rows()],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    seen = json.loads(done.stdout)
    assert sorted(seen.pop("files")) == [["part=0/a.parquet", 500], ["part=1/a.parquet", 500]]
    assert seen.pop("scanned") == list(range(1000))
    assert seen.pop("filtered") == [[n, f"row_{n}"] for n in range(995, 1000)]
    assert seen == {
        "catalogs": ["tamis"],
        "tables": ["t"],
        "functions": [["scan", True], ["files", True], ["filter_echo", True]],
        "echo": 2500,
        "last": [2499, "row_2499"],
    }


#: Cases that need a context which this package does not offer.
NOT_OFFERED = {"runtime.session-integer-division"}


def test_conformance_corpus_passes() -> None:
    folder = published_clients.corpus()
    cases = json.loads((folder / "runtime-manifest.json").read_text())["cases"]
    assert len(cases) == 49
    for case in cases:
        rows = _batch(folder / case["input"])
        outcome: pa.RecordBatch | str
        try:
            outcome = _filtered(folder, case, rows)
        except Malformed as problem:
            outcome = str(problem)
        if case["id"] in NOT_OFFERED:
            assert "vgi.duckdb.session.v1 is not supported" in outcome
        elif "error" in case:
            assert isinstance(outcome, str), case["id"]
            assert case["error"] in outcome, case["id"]
        else:
            assert isinstance(outcome, pa.RecordBatch), (case["id"], outcome)
            # NaN differs from itself, but its text does not.
            expected = _batch(folder / case["expected"])
            assert str(outcome.to_pylist()) == str(expected.to_pylist()), case["id"]


def _filtered(folder: Path, case: dict[str, Any], rows: pa.RecordBatch) -> pa.RecordBatch:
    keys = [_batch(folder / each) for each in case.get("join_keys", [])]
    filters = Filters.snapshot((folder / case["filter"]).read_bytes(), rows.schema, keys)
    for each in case.get("deltas", []):
        filters = filters.delta((folder / each).read_bytes())
    for predicate in filters.predicates.values():
        rows = rows.take(pa.array(np.flatnonzero(passing(predicate, rows))))
    return rows


def _batch(path: Path) -> pa.RecordBatch:
    with pa.ipc.open_stream(path.read_bytes()) as reader:
        return reader.read_next_batch()
