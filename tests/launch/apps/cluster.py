"""`cluster.py SQL [TABLE]`: index the table, run the query and report where its tasks ran."""

import sys

from pyspark.sql import SparkSession
from query import report


def import_tamis(_):
    """Return the outcome of `import tamis` on an executor."""
    try:
        import tamis  # noqa: F401
    except ImportError as error:
        return str(error)
    return "has tamis"


def main(sql, *tables):
    spark = SparkSession.builder.getOrCreate()
    context = spark.sparkContext
    for table in tables:
        import tamis

        tamis.index(spark, table).build()
    spark.sql(sql).collect()
    executors = context._jsc.sc().statusStore().executorList(True)
    each = [executors.apply(i) for i in range(executors.size())]
    report(
        spark,
        sql,
        tasks={executor.id(): executor.totalTasks() for executor in each},
        executors_say=context.parallelize(range(4), 4).map(import_tamis).distinct().collect(),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
