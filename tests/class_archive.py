"""What lets the JVMs of tests do less: an archive of Spark's classes, and two classes of their own.

`python -m tests.class_archive` writes all of it (`make test` does). With the archive, a JVM starts in
half the time. Without it, or with that of another JVM or class path, a JVM loads its classes as usual.
See "class data sharing" of the JDK. `LocalFiles` sets permissions without `chmod`; its jar is last on
the class path, where Hadoop's service loader prefers it. `SparkClosureCleaner$` replaces that of Spark,
because the first class loader has it. Without the jars, Hadoop and Spark use their own classes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_REPOSITORY = Path(__file__).resolve().parents[1]
_ARCHIVE = _REPOSITORY / "build" / "spark.jsa"
_FILES = "LocalFiles"
_JAR = _REPOSITORY / "build" / f"{_FILES}.jar"
#: For this version of Spark only: its classes call this one.
_CLOSURES = _REPOSITORY / "build" / f"closures-{version('pyspark')}.jar"

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
    options = FAST_START
    if _CLOSURES.exists():
        options += f" -Xbootclasspath/a:{_CLOSURES}"
    if _ARCHIVE.exists():
        options += f" -XX:SharedArchiveFile={_ARCHIVE} -Xshare:auto -Xlog:cds=off"
    return options


def class_path() -> dict[str, str]:
    """Return the environment that adds the local files to the class path of a Spark of tests."""
    return {"SPARK_DIST_CLASSPATH": str(_JAR)} if _JAR.exists() else {}


def write() -> None:
    """Write the archive and the jars."""
    _ARCHIVE.parent.mkdir(exist_ok=True)
    _write_jars()
    _write_archive()


def _write_jars() -> None:
    jars = Path(str(find_spec("pyspark").origin)).parent / "jars" / "*"  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory() as directory:
        sources = map(str, Path(__file__).parent.glob("*.java"))
        command = ["javac", "-proc:none", "-cp", str(jars), "-d", directory, *sources]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        classes = sorted(Path(directory).rglob("*.class"))
        names = {each: str(each.relative_to(directory)) for each in classes}
        service = {"META-INF/services/org.apache.hadoop.fs.FileSystem": f"{_FILES}\n"}
        _write_jar(_JAR, {f: n for f, n in names.items() if n.startswith(_FILES)}, service)
        _write_jar(_CLOSURES, {f: n for f, n in names.items() if not n.startswith(_FILES)}, {})


def _write_jar(jar: Path, files: Mapping[Path, str], texts: Mapping[str, str]) -> None:
    draft = jar.with_suffix(".new")
    with zipfile.ZipFile(draft, "w") as archive:
        for file, name in files.items():
            archive.write(file, name)
        for name, text in texts.items():
            archive.writestr(name, text)
    draft.replace(jar)


def _write_archive() -> None:
    with tempfile.TemporaryDirectory() as directory:
        draft = Path(directory) / "spark.jsa"
        options = f"{FAST_START} -Xbootclasspath/a:{_CLOSURES}"
        options += f" -XX:ArchiveClassesAtExit={draft} -Xlog:cds=off"
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
