"""Remote sources as data sources of Spark.

Spark pickles the data source for executors, which may have no tamis. So this module is pickled by
value, and imports other modules only in methods that run on the driver.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from tamis.remote.executor import TaskReader

__all__ = ["AirportDataSource", "VgiDataSource"]


class _RemoteDataSource(DataSource):
    def schema(self) -> StructType:
        from tamis.remote.planning import spark_schema

        return spark_schema(self.name(), self.options)

    def reader(self, schema: StructType) -> TaskReader:
        from tamis.remote.planning import planned_reader

        # Spark pickles this object for executors after this call, in this process.
        cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
        return planned_reader(self.name(), self.options, schema)


class AirportDataSource(_RemoteDataSource):
    """The format `tamis.airport`."""

    @classmethod
    def name(cls) -> str:
        return "tamis.airport"


class VgiDataSource(_RemoteDataSource):
    """The format `tamis.vgi`."""

    @classmethod
    def name(cls) -> str:
        return "tamis.vgi"
