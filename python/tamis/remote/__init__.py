"""Tables of other servers, read by Spark in parallel. Each protocol has its own folder.

    contract    what a source offers, independent of the protocol
    arrow_form  the Arrow types that Spark reads, and the conversion to them
    reading     the functions that users call
    datasource  the sources as data sources of Spark
    planning    planning a scan
    executor    the part that runs on executors
    program     the process in which executors run it, for the extension
    masking     texts without credentials
    parquet_task, file_pruning  Parquet files that a server refers to
    proof       what statistics of a server prove about filters
    sources     the sources by the name of their format
    spark_types Spark's types as Arrow types
    airport/    DuckDB's Airport protocol over Arrow Flight
    vgi/        table functions and tables of VGI workers

`arrow_form`, `datasource`, `executor` and the `executor_modules` of a source are pickled by value,
because executors may have only pyspark and pyarrow.
"""

from tamis.remote.contract import RemoteError
from tamis.remote.reading import read_airport, read_vgi

__all__ = ["RemoteError", "read_airport", "read_vgi"]
