"""Lets Spark find the format `tamis.airport`: it looks for packages named `pyspark_…`."""

from tamis.remote.datasource import AirportDataSource as DefaultSource

__all__ = ["DefaultSource"]
