"""The cost of `tamis.explain` after planning: the detailed question, and the text."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING

import tamis
from bench.planning.synthetic import link_files, write_index

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZE = 100_000
_ROUNDS = 7
PREDICATE = (
    "id >= {start} AND id < {stop} AND (name LIKE 'n0000%' OR v < 9e5) "
    "AND year(current_date()) > 0 AND id % 7 = 3 AND upper(name) > 'N'"
)


def table(spark: SparkSession, folder: Path) -> list[str]:
    """Return the figures as a Markdown table. Milliseconds; the frame is planned before."""
    path = folder / f"files-{SIZE}"
    if not path.exists():
        link_files(path, SIZE)
    write_index(spark, path, folder / "export")
    files = spark.read.schema("id BIGINT, name STRING, v DOUBLE, batch INT").parquet(str(path))
    document, text, html = [], [], []
    for number in range(_ROUNDS):
        start = 1000 * number
        frame = files.where(PREDICATE.format(start=start, stop=start + SIZE))
        frame._jdf.queryExecution().executedPlan()
        started = time.perf_counter()
        explanation = tamis.explain(frame)
        explained = time.perf_counter()
        assert str(explanation).count("\n") > 10
        printed = time.perf_counter()
        assert "<svg" in explanation._repr_html_()
        document.append(explained - started)
        text.append(printed - explained)
        html.append(time.perf_counter() - printed)
    (scan,) = explanation.to_dict()["scans"]
    assert scan["files_total"] == SIZE
    assert scan["fallback"] is None
    cells = [f"{SIZE:,}", str(len(scan["conjuncts"]))]
    for seconds in (document, text, html):
        cells += [f"{1000 * seconds[0]:.0f}", f"{1000 * statistics.median(seconds):.1f}"]
    heads = ["files", "conjuncts", "explain, first", "median", "text, first", "median"]
    heads += ["HTML, first", "median"]
    return ["| " + " | ".join(heads) + " |", "|" + "---:|" * 8, "| " + " | ".join(cells) + " |"]
