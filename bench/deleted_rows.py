"""What queries cost over Delta tables that only Delta's own reader can read.

    python -m bench.deleted_rows [--rows 1000000] [--files 50] [--rounds 3]

Two tables have the same rows in files that are clustered by `id`: one without a deleted row, and
one with deletion vectors in every second file, and with column mapping. Prints for each query the
files that it opens of the second table (see bench.opened), and its time over both, with tamis off
and on. The runs alternate, and their answers are compared.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from bench.opened import Opened
from bench.peers import packages
from bench.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: `{t}` is the table, and `{one}` the number of rows of a file.
QUERIES = (
    "SELECT count(*) FROM {t}",
    "SELECT count(*) FROM {t} WHERE id + 0 >= {one} AND id + 0 < 3 * {one} + 10",
    "SELECT max(id), count(*) FROM {t} WHERE id + 0 < 10 * {one}",
    "SELECT id FROM {t} WHERE id + 0 >= {one} LIMIT 10",
    "SELECT id FROM {t} ORDER BY id DESC LIMIT 10",
    "SELECT count(*) FROM {t} a JOIN (SELECT id i FROM {t} WHERE id + 0 = 17) b ON a.id = b.i",
    "SELECT count(k) FROM {t} WHERE id >= (SELECT max(id) - 5 FROM {t})",
    "SELECT count(*) FROM {t} WHERE id IN (SELECT id + 1 FROM {t} WHERE id + 0 < 5)",
    "SELECT sum(k), max(s) FROM {t} WHERE hash(s) % 3 = 1",
)


def write(spark: SparkSession, folder: Path, rows: int, files: int) -> None:
    """Write both tables."""
    for name, properties in (
        ("plain", {}),
        ("deleted", {"enableDeletionVectors": "true", "columnMapping.mode": "name"}),
    ):
        frame = spark.range(0, rows, 1, files).selectExpr(
            "id", "id % 97 k", "sha2(string(id), 256) s"
        )
        writer = frame.write.format("delta")
        for key, value in properties.items():
            writer = writer.option(f"delta.{key}", value)
        writer.save(str(folder / name))
    some = f"id % 1000 = 0 AND (id DIV {rows // files}) % 2 = 0"
    spark.sql(f"DELETE FROM delta.`{folder / 'deleted'}` WHERE {some}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        confs = {**packages.confs(), **packages.lakes(folder / "iceberg")}
        spark = session("3g", confs)
        write(spark, folder, arguments.rows, arguments.files)
        heads = ("query", "files: Delta", "+ tamis", "s: Delta", "+ tamis", "ratio")
        print(*heads, "s, no vectors: Delta", "+ tamis", "ratio", sep="\t")
        for query in QUERIES:
            print(query, *_figures(spark, query, folder, arguments), sep="\t", flush=True)
        spark.stop()


def _figures(
    spark: SparkSession, query: str, folder: Path, arguments: argparse.Namespace
) -> list[str]:
    figures = []
    for table in ("deleted", "plain"):
        one = arguments.rows // arguments.files
        text = query.format(t=f"delta.`{folder / table}`", one=one)
        seconds: dict[str, list[float]] = {"false": [], "true": []}
        files: dict[str, int] = {}
        answers = {}
        for number in range(-1, arguments.rounds):
            for on in ("false", "true") if number % 2 else ("true", "false"):
                spark.conf.set("spark.tamis.enabled", on)
                with Opened([folder / table]) as opened:
                    started = time.perf_counter()
                    answers[on] = sorted(map(repr, spark.sql(text).collect()))
                    took = time.perf_counter() - started
                files[on] = len(opened.files)
                if number >= 0:  # the first round compiles
                    seconds[on].append(took)
        if "LIMIT 10" not in text or "ORDER BY" in text:
            assert answers["false"] == answers["true"], text
        off, on_ = median(seconds["false"]), median(seconds["true"])
        if table == "deleted":
            figures += [str(files["false"]), str(files["true"])]
        figures += [f"{off:.2f}", f"{on_:.2f}", f"{on_ / off:.2f}"]
    return figures


if __name__ == "__main__":
    main()
