"""`query.py SQL`: an ordinary application, written without tamis.

Prints one line, `REPORT {"rows", "plan", "python", "sidecar", "private", "warnings", …}`. The last
values come from the driver after the query.
"""

import json
import sys

from pyspark.sql import SparkSession


def report(spark, sql, **more):
    frame = spark.sql(sql)
    values = {
        "rows": sorted(row.id for row in frame.collect()),
        "plan": spark.sql("EXPLAIN " + sql).first()[0],
        **more,
    }
    jvm = getattr(spark, "_jvm", None)
    if jvm is not None:
        bridge = jvm.io.tamis.bridge.SidecarSupervisor
        sidecar = bridge.current()
        values["python"] = sidecar.get().python() if sidecar.isDefined() else None
        values["sidecar"] = sidecar.get().pid() if sidecar.isDefined() else None
        values["private"] = bridge.privateDirectory().toString()
        values["warnings"] = list(jvm.io.tamis.Tamis.warnings())
    print("REPORT " + json.dumps(values), flush=True)


if __name__ == "__main__":
    report(SparkSession.builder.getOrCreate(), sys.argv[1], app_python=sys.executable)
