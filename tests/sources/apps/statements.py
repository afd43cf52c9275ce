"""`statements.py CONFS`: run statements with tamis, one per line of standard input.

CONFS are the confs of the session, as JSON. Each line is JSON too: {"sql": …, "confs": {…}}. The
answer is a line of JSON that begins with ANSWER: the rows, the input of each scan, or the error.
"""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any

from pyspark.sql import SparkSession

import tamis

ANSWER = "ANSWER "


def answer(spark: SparkSession, sql: str, confs: dict[str, str]) -> dict[str, Any]:
    for name, value in confs.items():
        spark.conf.set(name, value)
    metrics = spark._jvm.org.apache.spark.metrics.source.HiveCatalogMetrics
    fetched = metrics.METRIC_PARTITIONS_FETCHED().getCount()
    frame = spark.sql(sql)
    rows = sorted(repr(tuple(row)) for row in frame.collect())
    plan = frame._jdf.queryExecution()
    return {
        "rows": rows,
        "plan": spark._jvm.PythonSQLUtils.explainString(plan, "formatted"),
        "files_read": files_read(plan.executedPlan()),
        "partitions_fetched": metrics.METRIC_PARTITIONS_FETCHED().getCount() - fetched,
    }


def files_read(plan: Any) -> int | None:
    """Return the number of files that the scans of an executed plan read.

    None: they do not report it.
    """
    if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        plan = plan.finalPhysicalPlan()
    leaves = plan.collectLeaves()
    read = None
    for leaf in (leaves.apply(i) for i in range(leaves.size())):
        if leaf.getClass().getSimpleName().endswith("QueryStageExec"):
            counts = files_read(leaf.plan())
        else:
            counts = next(
                (
                    int(leaf.metrics().apply(name).value())
                    for name in ("tamisFilesRead", "resultDataFiles", "numFiles")
                    if leaf.metrics().contains(name)
                ),
                None,
            )
        read = counts if read is None else read + (counts or 0)
    return read


def main(confs: dict[str, str]) -> None:
    spark = tamis.configure(SparkSession.builder.config(map=confs)).getOrCreate()
    print("READY", flush=True)
    for line in sys.stdin:
        try:
            result = answer(spark, **json.loads(line))
        except Exception as error:
            traceback.print_exc()
            result = {"error": str(error)}
        result["warnings"] = list(spark._jvm.io.tamis.Tamis.warnings())
        print(ANSWER + json.dumps(result), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
