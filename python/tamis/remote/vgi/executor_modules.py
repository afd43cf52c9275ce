"""The modules that tasks need on executors, which may have no tamis: they are pickled by value."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from tamis.remote import parquet_task
from tamis.remote.vgi.functions import scan_task
from tamis.remote.vgi.protocol import framing
from tamis.remote.vgi.tables import branch_task, lake_task, row_filter
from tamis.remote.vgi.transports import connection, http_connection, location, pipe_connection
from tamis.sources import fields

__all__ = ["EXECUTOR_MODULES"]

EXECUTOR_MODULES: Final[tuple[ModuleType, ...]] = (
    parquet_task,
    branch_task,
    connection,
    fields,
    framing,
    http_connection,
    lake_task,
    location,
    pipe_connection,
    row_filter,
    scan_task,
)
