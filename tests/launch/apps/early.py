"""`early.py SQL RELEASE`: queries that come before the sidecar is ready.

The Python of the sidecar waits until the file RELEASE exists. Reports, for each query in turn, how
many files it read of its only scan, the code of the reason for a fallback, and whether the sidecar
was ready afterwards.
"""

import json
import sys
import threading
from pathlib import Path

from pyspark.sql import SparkSession

import tamis

SECONDS = 2  # that a waiting query waits


def main(sql: str, release: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    jvm = spark._jvm
    shim, supervisor = jvm.io.tamis.Tamis, jvm.io.tamis.bridge.SidecarSupervisor
    answers: dict[str, object] = {}

    def run(name: str, open_cost: str) -> None:
        spark.conf.set("spark.sql.files.openCostInBytes", open_cost)
        frame = spark.sql(sql)
        ids = sorted(row.id for row in frame.collect())
        (scan,) = json.loads(shim.scans(frame._jdf))
        reason = scan["fallback_reason"]
        answers[name] = {
            "rows": ids,
            "files": scan["files_read"],
            "reason": None if reason is None else reason["code"],
            "ready": supervisor.current().isDefined(),
        }

    run("small", "0")
    threading.Timer(SECONDS, Path(release).touch).start()
    if "explained" in release:
        explained = tamis.explain(spark.sql(sql)).to_dict()["scans"][0]
        answers["explained"] = explained["files_kept"]
    else:
        run("large", "1g")
    run("small again", "0")
    answers["warnings"] = list(shim.warnings())
    print("REPORT " + json.dumps(answers), flush=True)
    spark.stop()


main(*sys.argv[1:])
