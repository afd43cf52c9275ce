"""`airport.py URI`: reads a table of an Airport server, and reports its ids (see query.py)."""

import json
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
options = {"uri": sys.argv[1], "schema": "main", "table": "orders"}
frame = spark.read.format("tamis.airport").options(**options).load().where("id > 1")
print("REPORT " + json.dumps({"rows": sorted(row.id for row in frame.collect())}), flush=True)
