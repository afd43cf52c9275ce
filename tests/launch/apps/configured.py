"""`configured.py SQL CASE`: a Python process that calls tamis.configure."""

import sys
import time

from pyspark.sql import SparkSession
from query import report

import tamis
from tamis.errors import TamisError


def settings(spark):
    """Return the jars and extensions of other packages in the driver."""
    context = spark.sparkContext
    loader = context._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    names = ("first", "second")
    return {
        "jars": context.getConf().get("spark.jars"),
        "extensions": context.getConf().get("spark.sql.extensions"),
        "loaded": [n for n in names if loader.getResource(f"{n}.txt") is not None],
    }


def refusal():
    """Return the error of configure in a process that has a session without tamis."""
    plain = SparkSession.builder.getOrCreate()
    try:
        tamis.configure(SparkSession.builder)
    except TamisError as error:
        return str(error)
    finally:
        plain.stop()
    return None


def main(sql, case):
    if case == "remote":
        spark = tamis.configure(SparkSession.builder.remote("local[2]")).getOrCreate()
        report(spark, sql, kind=type(spark).__module__)
    elif case == "late":
        refused = refusal()
        spark = tamis.configure(SparkSession.builder).getOrCreate()
        report(spark, sql, refused=refused)
    else:
        tamis.configure(tamis.configure(SparkSession.builder)).getOrCreate()
        spark = tamis.configure(SparkSession.builder).getOrCreate()
        report(spark, sql, **settings(spark))
    if case == "endless":
        time.sleep(600)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
