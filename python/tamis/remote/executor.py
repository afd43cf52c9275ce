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

_BLOCK = 1 << 20  # bytes


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
        offered: The names of all columns that a batch may have; None: any.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        declared: pa.Schema,
        limit: int | None = None,
        offered: frozenset[str] | None = None,
    ) -> None:
        self._tasks = tasks
        self._declared = declared
        self._limit = limit
        self._offered = offered

    def without_tasks(self) -> TaskReader:
        """Return a reader for tasks that are handed to `read` one by one."""
        return TaskReader((), self._declared, self._limit, self._offered)

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
            RuntimeError: A column is missing, is malformed, or has another type than the server has
                declared; or the table does not have it.
        """
        more = set() if self._offered is None else set(batch.schema.names) - self._offered
        if more:
            raise _changed(
                where, f"a batch has the column {min(more)}, which the table does not have"
            )
        columns = [_converted_column(batch, field, where) for field in self._declared]
        return pa.RecordBatch.from_arrays(columns, names=self._declared.names)


def _converted_column(batch: pa.RecordBatch, field: pa.Field, where: str) -> pa.Array:
    places = batch.schema.get_all_field_indices(field.name)
    if len(places) != 1:
        what = "no column" if not places else f"{len(places)} columns"
        raise _changed(where, f"a batch has {what} named {field.name}")
    column = batch.column(places[0])
    if column.type != field.type:
        what = f"has the type {column.type}, but the server had declared {field.type}"
        raise _changed(where, f"the column {field.name} {what}")
    # Neither conversions nor the JVM check offsets, and a wrong one points outside of the buffer.
    try:
        if not _is_ascii(column):
            column.validate(full=True)
    except pa.ArrowException as error:
        what = next(iter(str(error).splitlines()), type(error).__name__)
        raise RuntimeError(
            f"{where}: reading failed: the server sent a malformed batch: the column {field.name}: "
            f"{what}"
        ) from error
    return converted(column)


def _is_ascii(column: pa.Array) -> bool:
    """Return whether a column is text in ASCII with valid offsets.

    Then it is valid. To find this out takes a quarter of the time of a validation, which checks the
    UTF-8 of every value.
    """
    if column.type != pa.string() or len(column) == 0:
        return False
    try:
        column.view(pa.binary()).validate(full=True)
    except pa.ArrowException:
        return False
    _, offsets, data = column.buffers()
    ends = pa.Array.from_buffers(pa.int32(), len(column) + 1, [None, offsets], 0, column.offset)
    first, end = ends[0].as_py(), ends[len(column)].as_py()
    if data is None:
        return False
    # the values, and what lies between them where they are NULL
    text = memoryview(data)
    return all(
        text[start : min(start + _BLOCK, end)].tobytes().isascii()
        for start in range(first, end, _BLOCK)
    )


def _changed(where: str, problem: str) -> RuntimeError:
    return RuntimeError(
        f"{where}: reading failed: {problem}. The table has changed since the query was planned: "
        "run the query again"
    )
