"""`statement_app.py CONFS`: run statements and commands of an index, one per line of standard input.

CONFS are the confs of the session, as JSON. Each line is JSON, too: `{"sql": …, "confs": {…}}` or
`{"index": METHOD, "table": …, "arguments": {…}, "confs": {…}}` or
`{"call": METHOD of io.tamis.Tamis, "arguments": […], "confs": {}}`. The answer is a line of JSON that
begins with ANSWER: the rows and the scans, or the error; and the warnings of tamis since the last
answer.
"""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any

from pyspark.sql import SparkSession

import tamis

ANSWER = "ANSWER "


def answer(spark: SparkSession, line: dict[str, Any]) -> dict[str, Any]:
    before = {name: spark.conf.get(name, None) for name in line["confs"]}
    for name, value in line["confs"].items():
        spark.conf.set(name, value)
    try:
        if "call" in line:
            getattr(spark._jvm.io.tamis.Tamis, line["call"])(*line["arguments"])
            return {}
        if "index" in line:
            method = getattr(tamis.index(spark, line["table"]), line["index"])
            return {"text": str(method(**line["arguments"]))}
        frame = spark.sql(line["sql"])
        scans = json.loads(spark._jvm.io.tamis.Tamis.scans(frame._jdf))
        return {"rows": sorted(repr(tuple(row)) for row in frame.collect()), "scans": scans}
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def main(confs: dict[str, str]) -> None:
    spark = tamis.configure(SparkSession.builder.config(map=confs)).getOrCreate()
    shim = spark._jvm.io.tamis.Tamis
    print("READY", flush=True)
    known = 0
    for line in sys.stdin:
        try:
            result = answer(spark, json.loads(line))
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
