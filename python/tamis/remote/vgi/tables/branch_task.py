"""Reading one branch of a table on an executor, in the columns of the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tamis.remote.executor import Task
from tamis.remote.vgi.protocol.framing import READ_FAILURES
from tamis.remote.vgi.tables.row_filter import RowFilter, all_pass, passing_rows
from tamis.remote.vgi.transports.connection import one_line

__all__ = ["BranchTask", "Check"]


@dataclass(frozen=True)
class Check:
    """A filter that the worker must have applied, with what errors call the branch and it."""

    row_filter: RowFilter
    branch: str
    sql: str


@dataclass
class BranchTask(Task):
    """The rows of a branch: those of another task, in the columns of the table.

    - `columns`: the columns to return. NULL if the branch lacks one.
    - `row_filter`: what restricts the branch, if it is applied here.
    - `limit`: the number of rows after which the task ends; None: all rows.
    - `check`: what every row of the other task must satisfy (`spark.tamis.remote.verify.enabled`).
    """

    where: str
    rows: Task
    columns: pa.Schema
    row_filter: RowFilter | None = field(default=None, repr=False)
    limit: int | None = None
    check: Check | None = field(default=None, repr=False)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows.

        Raises:
            RuntimeError: The branch cannot be read, a value does not fit the type of the table, or
                a row does not satisfy the filter that the worker must have applied.
        """
        count = 0
        for batch in self.rows.batches():
            whole = self._in_columns(batch)
            self._verify(whole)
            kept = whole if self.row_filter is None else passing_rows(whole, self.row_filter)
            yield kept
            count += kept.num_rows
            if self.limit is not None and count >= self.limit:
                return

    def _verify(self, batch: pa.RecordBatch) -> None:
        if self.check is not None and not all_pass(batch, self.check.row_filter):
            raise RuntimeError(
                f"{self.where}: reading failed: the server must apply the filter of "
                f"{self.check.branch}, {self.check.sql}, but it returned a row that does not "
                "satisfy it. Report this to the operator of the server. To apply the filter on "
                "executors, set the option filters=advisory."
            )

    def _in_columns(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [self._column(batch, each) for each in self.columns]
        return pa.RecordBatch.from_arrays(columns, schema=self.columns)

    def _column(self, batch: pa.RecordBatch, wanted: pa.Field) -> Any:
        places = batch.schema.get_all_field_indices(wanted.name)
        if not places:
            return pa.nulls(batch.num_rows, wanted.type)
        if len(places) > 1:
            raise RuntimeError(
                f"{self.where}: reading failed: a batch has {len(places)} columns named "
                f"{wanted.name}"
            )
        column = batch.column(places[0])
        try:
            return column if column.type == wanted.type else column.cast(wanted.type)
        except READ_FAILURES as error:
            raise RuntimeError(
                f"{self.where}: reading failed: the column {wanted.name} has a value that "
                f"{wanted.type} cannot hold ({one_line(error)})"
            ) from error
