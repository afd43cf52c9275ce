"""The jars of other sources, and the confs that load them."""

from __future__ import annotations

from pathlib import Path

from bench.packages import downloaded

_PACKAGES = (
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "io.delta:delta-spark_4.1_2.13:4.4.0",
    "org.apache.spark:spark-avro_2.13:4.1.1",
)

#: The catalog of the Iceberg tables.
CATALOG = "ice"
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
    jars = downloaded("ivy", _PACKAGES, (f"{group}:*" for group in _OF_SPARK))
    return {"spark.jars": ",".join(map(str, jars))}


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
