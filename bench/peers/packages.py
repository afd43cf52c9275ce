"""The jars of other sources, which Spark's Ivy client downloads from Maven Central, and confs."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

_PACKAGES = (
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "io.delta:delta-spark_4.1_2.13:4.4.0",
    "org.apache.spark:spark-avro_2.13:4.1.1",
)

#: The catalog of the Iceberg tables.
CATALOG = "ice"
#: Downloads are kept here and not repeated.
_CACHE = Path(__file__).resolve().parents[2] / "build" / "ivy"
#: Dependencies that Spark already contains.
_OF_SPARK = (
    "com.fasterxml.jackson.core",
    "com.fasterxml.jackson.datatype",
    "com.github.luben",
    "com.google.code.findbugs",
    "commons-logging",
    "commons-pool",
    "io.airlift",
    "javax.annotation",
    "org.apache.hadoop",
    "org.apache.logging.log4j",
    "org.apache.parquet",
    "org.locationtech.jts",
    "org.roaringbitmap",
    "org.scala-lang",
    "org.scala-lang.modules",
    "org.slf4j",
    "org.tukaani",
    "org.xerial.snappy",
)


def confs() -> dict[str, str]:
    """Return the confs that load Iceberg, Delta and Avro, after downloading them once."""
    return {"spark.jars": ",".join(map(str, _jars()))}


def _jars() -> list[Path]:
    """Return the jars. Other processes wait: Ivy's cache serves one download at a time."""
    _CACHE.mkdir(parents=True, exist_ok=True)
    jars, marker = _CACHE / "jars", _CACHE / "packages.txt"
    with (_CACHE / "download.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (marker.exists() and marker.read_text().split() == [*_PACKAGES]):
            shutil.rmtree(jars, ignore_errors=True)
            _download()
            marker.write_text("\n".join(_PACKAGES))
    return sorted(jars.glob("*.jar"))


def _download(attempts: int = 3) -> None:
    """Download the packages by a spark-submit that runs nothing else.

    Raises:
        RuntimeError: Every attempt failed. The message ends with the last output of Ivy.
    """
    import pyspark

    command = [
        f"{pyspark.__path__[0]}/bin/spark-submit",
        *("--packages", ",".join(_PACKAGES)),
        *("--exclude-packages", ",".join(f"{group}:*" for group in _OF_SPARK)),
        *("--conf", f"spark.jars.ivy={_CACHE}"),
        *("--conf", f"spark.pyspark.python={sys.executable}"),
    ]
    nothing = _CACHE / "nothing.py"
    nothing.write_text("")
    for _ in range(attempts):
        done = subprocess.run(
            [*command, str(nothing)], capture_output=True, text=True, timeout=900, check=False
        )
        if done.returncode == 0:
            return
    raise RuntimeError(
        f"{', '.join(_PACKAGES)} cannot be downloaded ({attempts} attempts):\n{done.stderr[-2000:]}"
    )


def lakes(warehouse: Path) -> dict[str, str]:
    """Return the extensions and catalogs of Iceberg and Delta; Iceberg stores in the warehouse."""
    extensions = (
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "io.delta.sql.DeltaSparkSessionExtension",
    )
    catalog = f"spark.sql.catalog.{CATALOG}"
    return {
        "spark.sql.extensions": ",".join(extensions),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": str(warehouse),
    }
