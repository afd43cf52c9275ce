"""Lets Spark find the format `tamis.vgi`: it looks for packages named `pyspark_…`."""

from tamis.remote.datasource import VgiDataSource as DefaultSource

__all__ = ["DefaultSource"]
