"""A table like `hits` of ClickBench: 105 columns, most of them small numbers, clustered by time.

It is generated from row numbers, so that every run makes the same rows. A real log arrives in the
order of its events: files cover consecutive stretches of time, and overlap a little.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS: Final = 1_000_000
FILES: Final = 100
_NUMBERS: Final = 74
_TEXTS: Final = 21


def make(spark: SparkSession, path: Path, rows: int = ROWS, files: int = FILES) -> None:
    """Write the table, if it is missing."""
    if (path / "_SUCCESS").exists():
        return
    shutil.rmtree(path, ignore_errors=True)
    # Neighbouring rows change places by up to a minute.
    second = "CAST(id DIV 4 + pmod(hash(id), 60) AS INT)"
    named = [
        "xxhash64(id) AS WatchID",
        "1 AS JavaEnable",
        "concat(IF(pmod(hash(id, 10), 6000) = 0, 'Google ', 'page '), pmod(hash(id, 1), 5000),"
        " ' of the site') AS Title",
        f"TIMESTAMP '2013-07-01 00:00:00' + make_dt_interval(0, 0, 0, {second}) AS EventTime",
        f"CAST(TIMESTAMP '2013-07-01 00:00:00' + make_dt_interval(0, 0, 0, {second}) AS DATE) "
        "AS EventDate",
        "pmod(hash(id, 2), 6000) AS CounterID",
        "pmod(xxhash64(id, 3), 100000) AS UserID",
        "concat('http://', IF(pmod(hash(id, 4), 400) = 0, 'www.google.com', 'example.org'), '/', "
        "pmod(hash(id, 5), 100000), '?from=', pmod(hash(id, 6), 1000)) AS URL",
        "concat('http://referer.example/', pmod(hash(id, 7), 50000)) AS Referer",
        "IF(pmod(hash(id, 8), 8) = 0, concat('phrase ', pmod(hash(id, 9), 40000)), '') "
        "AS SearchPhrase",
    ]
    numbers = [
        f"CAST(pmod(hash(id, {100 + k}), {2 + 3 * k}) AS {'SMALLINT' if k % 3 else 'INT'}) AS N{k}"
        for k in range(_NUMBERS)
    ]
    texts = [
        f"IF(pmod(hash(id, {300 + k}), 20) = 0, concat('t', pmod(hash(id, {400 + k}), 90)), '') "
        f"AS T{k}"
        for k in range(_TEXTS)
    ]
    table = spark.range(0, rows, 1, files).selectExpr(*named, *numbers, *texts)
    table.write.mode("overwrite").parquet(str(path))
