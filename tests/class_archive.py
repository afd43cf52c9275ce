"""What lets the JVMs of tests do less: an archive of Spark's classes, and local files without `chmod`.

`python -m tests.class_archive` writes both (`make test` does). With the archive, a JVM starts in half
the time. Without it, or with that of another JVM or class path, a JVM loads its classes as usual. See
"class data sharing" of the JDK. The jar with `LocalFiles` is last on the class path, where Hadoop's
service loader prefers it; without it, Hadoop uses its own class.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

_REPOSITORY = Path(__file__).resolve().parents[1]
_ARCHIVE = _REPOSITORY / "build" / "spark.jsa"
_FILES = "LocalFiles"
_JAR = _REPOSITORY / "build" / f"{_FILES}.jar"

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


def class_path() -> dict[str, str]:
    """Return the environment that adds the local files to the class path of a Spark of tests."""
    return {"SPARK_DIST_CLASSPATH": str(_JAR)} if _JAR.exists() else {}


def write() -> None:
    """Write the archive and the jar."""
    _ARCHIVE.parent.mkdir(exist_ok=True)
    _write_archive()
    _write_jar()


def _write_jar() -> None:
    source = Path(__file__).with_name(f"{_FILES}.java")
    jars = Path(str(find_spec("pyspark").origin)).parent / "jars" / "*"  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory() as directory:
        command = ["javac", "-proc:none", "-cp", str(jars), "-d", directory, str(source)]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        draft = _JAR.with_suffix(".new")
        with zipfile.ZipFile(draft, "w") as jar:
            for each in sorted(Path(directory).iterdir()):
                jar.write(each, each.name)
            jar.writestr("META-INF/services/org.apache.hadoop.fs.FileSystem", f"{_FILES}\n")
    draft.replace(_JAR)


def _write_archive() -> None:
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
