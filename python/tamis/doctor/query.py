"""`python -m tamis.doctor.query DIRECTORY`: run one query in a local Spark with tamis.

It runs in a separate process, so a Spark that hangs or dies does not take the doctor with it. Each
finding is a line on standard output that starts with MARK.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tamis.doctor.finding import Finding, failed, ok
from tamis.doctor.settings import check_confs, found_confs
from tamis.jar import shim_in
from tamis.wire.messages import VERSION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MARK: Final = "TAMIS-DOCTOR "
_FILES = 4
_PREDICATE = "id >= 130 AND id < 140"  # rows of the second file
_REINSTALL = "use the jar of this package: python -m tamis jar"
_REPORT = (
    "set spark.tamis.enabled = false, and report this with the output of `python -m tamis doctor "
    "--json`"
)


def _say(finding: Finding) -> None:
    print(MARK + json.dumps(finding.to_dict()), flush=True)


def main(directory: Path) -> None:
    """Print one finding after the other. Stop at one that the rest depend on."""
    spark = _session()
    jvm = spark._jvm
    assert jvm is not None
    versions = (
        f"Spark {spark.version}, Scala {jvm.scala.util.Properties.versionNumberString()}, "
        f"Java {jvm.System.getProperty('java.version')}, {spark.sparkContext.master}"
    )
    _say(ok("spark", versions))
    confs = dict(spark.sparkContext.getConf().getAll())
    _say(check_confs(confs, "in the session"))
    shim = shim_in(jvm)
    assert shim is not None  # the confs name the jar
    wire = shim.wireVersion()
    if wire != VERSION:
        text = (
            f"the jar that Spark loaded uses version {wire} of the wire protocol, but "
            f"this package uses version {VERSION}"
        )
        _say(failed("extension", text, _REINSTALL))
        return
    _say(ok("extension", f"loaded, version {wire} of the wire protocol"))
    _say(_pruned(spark, str(directory / "table")))
    spark.stop()


def _session() -> SparkSession:
    from pyspark.sql import SparkSession

    import tamis

    builder = SparkSession.builder.appName("tamis doctor").master("local[1]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }.items():
        builder = builder.config(key, value)
    # The user's own queries use the Python that is set here, and configure does not read it.
    python = found_confs().get("spark.tamis.python")
    spark: SparkSession = tamis.configure(builder, python=python).getOrCreate()
    return spark


def _pruned(spark: SparkSession, path: str) -> Finding:
    """Check that one of four files is read and that the rows are those of plain Spark."""
    import tamis

    frame = spark.range(100 * _FILES).repartitionByRange(_FILES, "id")
    frame.write.parquet(path)
    tamis.index(spark, path).build()

    def query() -> list[int]:
        return sorted(row.id for row in spark.read.parquet(path).where(_PREDICATE).collect())

    for key, value in (("spark.tamis.enabled", "true"), ("spark.tamis.mode", "apply")):
        spark.conf.set(key, value)  # regardless of the user's confs, to test the installation
    pruned = query()
    (scan,) = tamis.explain(spark.read.parquet(path).where(_PREDICATE)).to_dict()["scans"]
    spark.conf.set("spark.tamis.enabled", "false")
    plain = query()
    if pruned != plain:
        text = f"the results differ: {len(pruned)} rows with tamis, {len(plain)} without"
        return failed("prune", text, _REPORT)
    if scan["fallback"]:
        return failed("prune", scan["fallback"], "fix what this reports, and what fails above")
    if scan["files_kept"] >= scan["files_total"]:
        text = (
            f"{scan['files_kept']} of {scan['files_total']} files are read, but only one is needed"
        )
        return failed("prune", text, _REPORT)
    return ok(
        "prune",
        f"{scan['files_kept']} of {scan['files_total']} files read, the same {len(plain)} rows "
        f"with tamis on and off, planned in {scan['planning_ms']:.0f} ms",
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
