"""Reading the parts of a remote table on executors, which may have no tamis installed.

The module is pickled by value. It imports only pyarrow, pyspark and `arrow_form`, which is pickled
by value too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import cast

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from tamis.remote.arrow_form import converted

__all__ = ["Task", "TaskReader"]


class Task(InputPartition):
    """A part of a table. It is pickled and sent to an executor."""

    #: The server and the table, for errors.
    where: str

    @abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the part, in columns of the server."""


class TaskReader(DataSourceReader):
    """Reads tasks, and converts their columns.

    Args:
        tasks: The parts of the table.
        declared: The columns to return, with the types that the server has declared.
        limit: The number of rows after which a task ends; None: none.
    """

    def __init__(
        self, tasks: Sequence[Task], declared: pa.Schema, limit: int | None = None
    ) -> None:
        self._tasks = tasks
        self._declared = declared
        self._limit = limit

    def without_tasks(self) -> TaskReader:
        """Return a reader for tasks that are handed to `read` one by one."""
        return TaskReader((), self._declared, self._limit)

    def partitions(self) -> Sequence[InputPartition]:
        return self._tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # not isinstance: classes that are pickled by value may exist twice
        task = cast(Task, partition)
        rows = 0
        for batch in task.batches():
            yield self._converted(batch, task.where)
            rows += batch.num_rows
            if self._limit is not None and rows >= self._limit:
                return

    def _converted(self, batch: pa.RecordBatch, where: str) -> pa.RecordBatch:
        """Return the declared columns of a batch in the types that Spark reads.

        Raises:
            RuntimeError: A column is missing, or has another type than the server has declared.
        """
        columns = []
        for field in self._declared:
            places = batch.schema.get_all_field_indices(field.name)
            if len(places) != 1:
                what = "no column" if not places else f"{len(places)} columns"
                raise RuntimeError(
                    f"{where}: reading failed: a batch has {what} named {field.name}. The table "
                    "has changed since the query was planned: run the query again"
                )
            column = batch.column(places[0])
            if column.type != field.type:
                raise RuntimeError(
                    f"{where}: reading failed: the column {field.name} has the type {column.type}, "
                    f"but the server had declared {field.type}. The table has changed since the "
                    "query was planned: run the query again"
                )
            columns.append(converted(column))
        return pa.RecordBatch.from_arrays(columns, names=self._declared.names)
