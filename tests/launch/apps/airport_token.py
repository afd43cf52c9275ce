"""Reads tables of an Airport server with the token in TOKEN; queries of `broken` fail.

The report has the rows, the plans and the errors of all queries.
"""

import contextlib
import io
import json
import os
import sys

from pyspark.sql import SparkSession

import tamis


def main(uri: str, parquet: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    token = os.environ["TOKEN"]
    rows, plans, errors = [], [], []
    for mode in ("apply", "observe"):
        spark.conf.set("spark.tamis.mode", mode)
        for name in ("orders", "broken"):
            orders = tamis.read_airport(spark, uri, "main", name, token=token).where("id > 1")
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                orders.explain("extended")
                orders.explain("formatted")
            plans.append(printed.getvalue() + str(tamis.explain(orders)))
            try:
                rows += sorted(row.id for row in orders.collect())
            except Exception as error:
                errors.append(str(error))
        try:
            tamis.read_airport(spark, uri, "main", "orders", token=token + "-wrong").count()
        except Exception as error:
            errors.append(str(error))
    spark.conf.set("spark.tamis.mode", "apply")
    rows.append(spark.read.parquet(parquet).where("id > 1").count())
    spark.stop()
    print("REPORT", json.dumps({"rows": rows, "plans": plans, "errors": errors}))


main(*sys.argv[1:])
