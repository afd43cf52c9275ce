"""The archive of Spark's classes with which the JVMs of tests start in half the time.

`python -m tests.class_archive` writes it (`make test` does). Without it, or with that of another
JVM or class path, a JVM loads its classes as usual. See "class data sharing" of the JDK.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

_REPOSITORY = Path(__file__).resolve().parents[1]
_ARCHIVE = _REPOSITORY / "build" / "spark.jsa"

#: Options of JVMs that run for minutes: the compiler that starts fast, room for its code, which the
#: JVM otherwise removes and compiles again, and room for classes and young objects, for which it
#: otherwise collects all garbage again and again.
FAST_START = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=400m -XX:+UseSerialGC "
    "-XX:MetaspaceSize=512m -Xmn320m"
)

_PROGRAM = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.range(100).selectExpr("id", "id % 7 AS k").write.partitionBy("k").parquet(sys.argv[1])
table = spark.read.parquet(sys.argv[1])
table.join(table.groupBy("k").count(), "k").where("id > 5").orderBy("id").limit(3).collect()
"""


def java_options() -> str:
    """Return the options of a JVM of tests."""
    if not _ARCHIVE.exists():
        return FAST_START
    return f"{FAST_START} -XX:SharedArchiveFile={_ARCHIVE} -Xshare:auto -Xlog:cds=off"


def write() -> None:
    """Write the archive."""
    _ARCHIVE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        draft = Path(directory) / "spark.jsa"
        options = f"{FAST_START} -XX:ArchiveClassesAtExit={draft} -Xlog:cds=off"
        subprocess.run(
            [sys.executable, "-c", _PROGRAM, f"{directory}/table"],
            env={**os.environ, "SPARK_SUBMIT_OPTS": options, "SPARK_LOCAL_IP": "127.0.0.1"},
            cwd=directory,
            check=True,
            capture_output=True,
            timeout=300,
        )
        draft.replace(_ARCHIVE)


if __name__ == "__main__":
    write()
