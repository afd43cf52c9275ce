"""Maintenance of the indexes of an idle driver: `spark.tamis.index.auto = full`.

    python -m tamis.maintenance.worker

The driver starts this process and sends it an order on standard input. The process runs its jobs in
the driver, through a gateway of PySpark. The driver ends it when a query of a user starts.

The driver keeps standard input open as long as it runs.
"""

from __future__ import annotations

import os
import sys
import threading
import types
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tamis.errors import TamisError
from tamis.indexing.build.spark_errors import causes
from tamis.jar import shim_in
from tamis.maintenance.planning import past_scans, placed, planned, run
from tamis.maintenance.steps import Step
from tamis.scan_history import maintenance_log
from tamis.scan_history.log import default_location
from tamis.scan_history.schema import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tamis.indexing.state import State

__all__ = ["Order", "maintain_for"]

#: How much lower the priority of this process is than that of the driver.
_NICE: Final = 10


class Order(msgspec.Struct, frozen=True):
    """What the driver asks for.

    Attributes:
        run: Identifies the run in the driver.
        table: The path or table.
        keeps_history: Whether steps are recorded, and what past queries lacked is read.
        history: The directory of the history; None: that of this user.
    """

    run: str
    table: str
    keeps_history: bool
    history: str | None = None


class Run:
    """The run of the driver to which this process belongs."""

    def __init__(self, java_run: Any) -> None:
        self._java_run = java_run

    def bytes_left(self) -> int:
        """Return how many bytes may still be read."""
        return int(self._java_run.bytesLeft())

    def cost(self) -> tuple[float, int]:
        """Return the seconds of tasks and the bytes of the jobs since the last call."""
        nanos, read = self._java_run.takeCost()
        return nanos / 1e9, int(read)

    def report(self, problem: str) -> None:
        """Tell the driver that a step has failed."""
        self._java_run.failed(problem)


def attach(order: Order) -> tuple[SparkSession, Run]:
    """Return a session of the driver in whose environment this process runs."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    class Attached(SparkContext):
        """The context of the driver, which this process never stops, whatever fails."""

        def stop(self) -> None:
            pass

    # connects to the driver, because of PYSPARK_GATEWAY_PORT
    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    shim = shim_in(gateway.jvm)
    assert shim is not None
    java_run = shim.maintenance(order.run)
    java_session = java_run.session()
    java_context = gateway.jvm.org.apache.spark.api.java.JavaSparkContext(
        java_session.sparkContext()
    )
    conf = SparkConf(_jconf=java_context.getConf())
    context = Attached(conf=conf, gateway=gateway, jsc=java_context)
    # otherwise the session would become the default of the driver
    SparkSession._instantiatedSession = types.SimpleNamespace(_sc=context)  # type: ignore[assignment]
    session = SparkSession(context, java_session)
    SparkSession._instantiatedSession = session
    # by this group, the driver recognizes the jobs of this run
    context.setJobGroup(order.run, f"tamis: maintenance of the index of {order.table}", True)
    return session, Run(java_run)


def maintain_for(spark: SparkSession, order: Order, run_of_driver: Run) -> None:
    """Maintain the index of a table, one step after the other, within the budget.

    Raises:
        TamisError: The table cannot be listed.
    """
    from tamis.indexing.handle import Index

    folder = Path(order.history) if order.history else default_location()
    scans = past_scans(spark, folder) if order.keeps_history else SCHEMA.empty_table()
    index, state = placed(Index(spark, order.table))
    done: set[Step] = set()
    while not _is_of_others(state):
        left = run_of_driver.bytes_left()
        # a new index without bounds from rows reads footers only
        affordable = [
            step
            for step in planned(index, state, scans).worthwhile
            if step not in done
            and (step.read_bytes <= left or (step.action == "build" and not state.is_known))
        ]
        if not affordable:
            return
        if not done:
            state.require_writable()
        step = affordable[0]
        done.add(step)
        started, problem = datetime.now(UTC), None
        try:
            run(index, state, [step], fill_gaps=step.read_bytes <= left)
        except Exception as error:  # of Spark, py4j or the index
            problem = str(error) if isinstance(error, TamisError) else causes(error)
        ended = datetime.now(UTC)
        cpu_seconds, bytes_read = run_of_driver.cost()
        if order.keeps_history:
            maintenance_log.append(
                folder,
                {
                    "time": ended,
                    "application": spark.sparkContext.applicationId,
                    "table": order.table,
                    "root": state.table.listing.root,
                    "location": index.directory,
                    "action": step.action,
                    "kind": step.kind,
                    "name": step.name,
                    "files": step.files,
                    "seconds": (ended - started).total_seconds(),
                    "cpu_seconds": cpu_seconds,
                    "bytes_read": bytes_read,
                    "problem": problem,
                },
            )
        if problem is not None:
            run_of_driver.report(f"{step} ({problem})")
            if step.action != "record":
                return
        state = index.state()


def _is_of_others(state: State) -> bool:
    """Return whether a session with other settings built the index, for which it is right.

    Drivers with different settings would otherwise replace the index of each other all the time.
    """
    held = state.held
    if held is None or state.is_current:
        return False
    other_case = held.pointer.case_sensitive != state.table.listing.case_sensitive
    return other_case or any(entry.key is not None for entry in held.entries)


def main() -> None:
    """Execute the order on standard input."""
    # Ctrl-C in the terminal of the driver is not for this process, which would cancel all jobs.
    os.setsid()
    os.nice(_NICE)
    order = msgspec.json.decode(sys.stdin.readline(), type=Order)
    threading.Thread(target=_end_with_the_driver, daemon=True).start()
    spark, run_of_driver = attach(order)
    # a table that is gone, or whose index cannot be written, is none of the user's concern
    with suppress(TamisError):
        maintain_for(spark, order, run_of_driver)
    os._exit(0)  # without the end of the gateway, which belongs to the driver


def _end_with_the_driver() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    main()
