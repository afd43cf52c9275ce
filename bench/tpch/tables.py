"""The tables of TPC-H as Parquet: lineitem and orders in many files, the others in one each.

clustered: lineitem by l_shipdate and orders by o_orderdate, like tables that grow by the day.
natural: both in the order of the generator, which is by order key.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import tamis
from bench.demo.tables import CLUSTERED, generate, write_clustered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LAYOUTS: Final = ("clustered", "natural")
_NATURAL: Final = {"lineitem": "l_orderkey", "orders": "o_orderkey"}
_OTHERS: Final = ("customer", "nation", "part", "partsupp", "region", "supplier")


def make(spark: SparkSession, folder: Path, scale: float, layout: str) -> list[Path]:
    """Write missing data, build the indexes, register the views. Return the directories."""
    generated = generate(folder / "generated", (*CLUSTERED, *_OTHERS), scale)
    places = []
    for name in (*CLUSTERED, *_OTHERS):
        path = folder / (layout if name in CLUSTERED else "others") / name
        if not (path / "_SUCCESS").exists():
            rows = spark.read.parquet(str(generated / f"{name}.parquet"))
            if name in CLUSTERED:
                files, day = CLUSTERED[name]
                column = day if layout == "clustered" else _NATURAL[name]
                write_clustered(rows, path, files, column)
            else:
                rows.coalesce(1).write.mode("overwrite").parquet(str(path))
        tamis.index(spark, str(path)).build()
        spark.read.parquet(str(path)).createOrReplaceTempView(name)
        places.append(path)
    return places
