"""`statement_app.py CONFS`: run statements and commands of an index, one per line of standard input.

CONFS are the confs of the session, as JSON. Each line is JSON, too:

    {"sql": …, "confs": {…}, "details": BOOLEAN}
    {"index": METHOD, "table": …, "arguments": {…}, "confs": {…}}
    {"maintain": TABLE, "confs": {…}}
    {"call": METHOD of io.tamis.Tamis, "arguments": […], "confs": {}}
    {"function": "MODULE:NAME", "arguments": {…}, "confs": {}}
    {"text_of": "MODULE:NAME", "arguments": […], "confs": {…}}

The answer is a line of JSON that begins with ANSWER. It has the fields of `statements.Answer`, or the
error. A `function` is called with a new session, and returns plain values; the argument `folder` is a
path. A `text_of` is called with the session of all statements.
"""

from __future__ import annotations

import json
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import SparkSession

import tamis

ANSWER = "ANSWER "


def answer(spark: SparkSession, shim: Any, line: dict[str, Any]) -> dict[str, Any]:
    before = {name: spark.conf.get(name, None) for name in line["confs"]}
    for name, value in line["confs"].items():
        spark.conf.set(name, value)
    try:
        if "call" in line:
            getattr(shim, line["call"])(*line["arguments"])
            return {}
        if "index" in line:
            method = getattr(tamis.index(spark, line["table"]), line["index"])
            return {"text": str(method(**line["arguments"]))}
        if "function" in line:
            module, _, name = line["function"].partition(":")
            function = getattr(import_module(module), name)
            arguments = {k: Path(v) if k == "folder" else v for k, v in line["arguments"].items()}
            result = function(spark.newSession(), **arguments)
            return {"value": msgspec.to_builtins(result)}
        if "text_of" in line:
            module, _, name = line["text_of"].partition(":")
            function = getattr(import_module(module), name)
            return {"text": str(function(spark, *line["arguments"]))}
        if "maintain" in line:
            return {"text": str(tamis.maintain(spark, line["maintain"]))}
        details = line.get("details")
        fetched = partitions_fetched(spark) if details else 0
        frame = spark.sql(line["sql"])
        scans = json.loads(shim.scans(frame._jdf))
        found = {"rows": sorted(repr(tuple(row)) for row in frame.collect()), "scans": scans}
        if details:
            plan = frame._jdf.queryExecution()
            found["plan"] = spark._jvm.PythonSQLUtils.explainString(plan, "formatted")
            found["files_read"] = files_read(plan.executedPlan())
            found["partitions_fetched"] = partitions_fetched(spark) - fetched
        return found
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def partitions_fetched(spark: SparkSession) -> int:
    """Return how many partitions the metastore has returned so far."""
    metrics = spark._jvm.org.apache.spark.metrics.source.HiveCatalogMetrics
    count: int = metrics.METRIC_PARTITIONS_FETCHED().getCount()
    return count


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
    shim = spark._jvm.io.tamis.Tamis  # once: py4j asks for a class of each part of the name
    print("READY", flush=True)
    known = 0
    for line in sys.stdin:
        try:
            result = answer(spark, shim, json.loads(line))
        except Exception as error:
            traceback.print_exc()
            result = {"error": f"{type(error).__name__}: {error}"}
        warnings = list(shim.warnings())
        result["warnings"] = warnings[known:]
        known = len(warnings)
        print(ANSWER + json.dumps(result), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
