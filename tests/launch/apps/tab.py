"""`tab.py SQL`: run the query, print `REPORT {"url", "rows"}`, and keep the UI open."""

import json
import sys
import time

from pyspark.sql import SparkSession

if __name__ == "__main__":
    spark = SparkSession.builder.getOrCreate()
    rows = spark.sql(sys.argv[1]).collect()
    print("REPORT " + json.dumps({"url": spark.sparkContext.uiWebUrl, "rows": len(rows)}))
    sys.stdout.flush()
    time.sleep(600)
