"""Waiting for the sidecar of a driver, for tests whose first query has to be pruned.

A query over few small files does not wait for the first sidecar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.waiting import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["await_sidecar"]


def await_sidecar(spark: SparkSession) -> None:
    """Wait until the sidecar of the driver has started."""
    supervisor = spark._jvm.io.tamis.bridge.SidecarSupervisor
    wait_until(lambda: supervisor.current().isDefined())
