"""The contract of a remote source.

    predicates  the nodes of `tamis.expr`, over columns of the table
    types       the Arrow types of `arrow_form`
    requests    columns, filters, keys of a join, the order and the limit of a query
    answers     how each filter is applied, and tasks that executors read in parallel
    statistics  the number of rows, and bounds of columns

A protocol implements `RemoteSource` in a folder of its own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from tamis.errors import TamisError
from tamis.remote.masking import masked
from tamis.remote.spark_types import arrow_type

if TYPE_CHECKING:
    from types import ModuleType

    from tamis.expr.nodes import Column, Expr, Value
    from tamis.remote.executor import Task

__all__ = [
    "Applied",
    "ColumnStatistics",
    "JoinKeys",
    "Order",
    "ReadRequest",
    "RemoteError",
    "RemoteSource",
    "TableStatistics",
]


class Applied(StrEnum):
    """How a source applies a filter."""

    EXACTLY = "exactly"  # every row that it returns passes, so Spark need not apply the filter
    PARTLY = "partly"  # it may leave out rows that do not pass
    IGNORED = "ignored"  # the filter is not sent


@dataclass(frozen=True, slots=True)
class JoinKeys:
    """The values that a column must have for a row to find a partner in a join.

    A row with another value, or with NULL, may be left out.
    """

    column: Column
    options: tuple[Value, ...]

    @property
    def values(self) -> pa.Array:
        """The values, in the type in which Spark reads the column."""
        return pa.array(self.options, arrow_type(self.column.type))


@dataclass(frozen=True, slots=True)
class Order:
    """A key of ORDER BY."""

    column: str
    is_descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What a query needs of a table. A source may ignore all of it except `columns` and `required`.

    - `columns`: the names of the columns. The tasks return at least these, in any order.
    - `required`: conjuncts that the source has promised to apply exactly. Spark does not apply
      them again, so every returned row must pass all of them.
    - `filters`: further conjuncts. A task may leave out rows for which one of them is not true.
      Spark applies all of them to the rows that it gets.
    - `keys`: values of join keys. A task may leave out rows with other values.
    - `limit`: the number of rows after which a task may end; None if the query needs all rows. It
      is set only if `filters` and `keys` are empty.
    - `order`: the order in which the query needs the first `limit` rows. If it is not empty, a
      task may end only after the first `limit` rows of this order.
    - `tasks`: the number of tasks beyond which more of them do not make the query faster. A source
      may combine parts of the table into this many tasks; None: unknown.
    - `verify`: whether a task fails if a row does not satisfy a filter that the source has sent to
      the server of its own accord, and that Spark does not know.
    """

    columns: tuple[str, ...]
    filters: tuple[Expr, ...] = ()
    limit: int | None = None
    required: tuple[Expr, ...] = ()
    keys: tuple[JoinKeys, ...] = ()
    order: tuple[Order, ...] = ()
    verify: bool = False
    tasks: int | None = None


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """Statistics of a column that a server provides. None: unknown.

    - `minimum`, `maximum`: no value except NULL is below or above them. Their type is that in which
      Spark reads the column (`arrow_form.readable_type`), and they are not NULL.
    - `has_nulls`, `has_values`: whether the column may have NULLs, or other values. False is a
      proof that it has none.
    - `distinct`: an estimate of the number of distinct values, for the optimizer only.
    """

    minimum: pa.Scalar | None = None
    maximum: pa.Scalar | None = None
    has_nulls: bool | None = None
    has_values: bool | None = None
    distinct: int | None = None


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """Statistics of a table that a server provides.

    - `rows`: an estimate of the number of rows, for the optimizer only; None: unknown.
    - `columns`: bounds that hold for every row, by the name of the column.
    """

    rows: int | None = None
    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)


class RemoteError(TamisError):
    """A remote table cannot be read. The message names the server, the table and the step.

    Text that looks like a credential is masked.
    """

    def __init__(self, server: str, table: str, step: str, problem: object, fix: str = "") -> None:
        what = f" of the table {table}" if table else ""
        super().__init__(
            f"{server}: {step}{what} failed: {masked(str(problem))}{f'. {fix}.' if fix else ''}"
        )


class RemoteSource(ABC):
    """A table on a server. Every error is a `RemoteError`.

    Spark requests the schema when it analyzes a query, in a process that it starts for this. The
    extension then requests from the sidecar how filters are applied, statistics, and the tasks.
    Without the extension, or if the sidecar does not answer, another process plans the tasks.
    """

    #: The modules of the tasks, which are pickled by value, because executors may have no tamis.
    executor_modules: ClassVar[Sequence[ModuleType]]

    @property
    @abstractmethod
    def label(self) -> str:
        """The table and the server, as messages name them."""

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Return the columns of the table as the server declares them."""

    @abstractmethod
    def tasks(self, request: ReadRequest) -> Sequence[Task]:
        """Return the parts of the table. Executors read them in parallel, in any order.

        Raises:
            RemoteError: The server cannot be read, or no longer applies a required filter.
        """

    def stream_columns(self) -> frozenset[str] | None:
        """Return the names of all columns that batches of tasks may have.

        A batch with another column fails the query. The default, None, allows any column.
        """
        return None

    def applied(self, filters: Sequence[Expr]) -> Sequence[Applied]:
        """Return how the source applies each of these conjuncts."""
        return [Applied.IGNORED] * len(filters)

    def files(
        self,
        filters: Sequence[Expr],
        storage: Mapping[str, str] | None = None,
        seconds: float = math.inf,
    ) -> Sequence[str] | None:
        """Return the Parquet files that hold the rows of the table, for Spark to read.

        Args:
            filters: Conjuncts. Files without a row for which all of them are true may be left out.
            storage: The Hadoop settings `fs.*` with which Spark reads the files; None: unknown.
            seconds: The time that reading footers may take.

        Returns:
            Paths or URIs as Hadoop spells them; None if `tasks` reads the table.
        """
        return None

    def statistics(self, columns: Sequence[str]) -> TableStatistics:
        """Return the statistics that the server has for these columns.

        It must describe at least the rows that `tasks` returns, if that is called afterwards and
        the table does not change.
        """
        return TableStatistics()
