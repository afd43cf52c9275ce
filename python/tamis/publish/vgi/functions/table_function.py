"""The interface of a table function: its arguments, and a bound call with its rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from tamis.wire.vgi import Predicate

__all__ = ["Argument", "BoundFunction", "Rows", "Split", "TableFunction"]


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument. One without a default is required."""

    name: str
    type: Any
    doc: str
    is_named: bool = False
    default: int | str | None = None


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a scan that any worker with the same tables can read.

    - `token`: names the part. It is data from a client when it comes back.
    - `rows`: at most this many rows pass the filters; None: unknown.
    - `size`: about how many bytes are read; None: unknown.
    """

    token: bytes
    rows: int | None
    size: int | None


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a function, before its filters.

    - `batch`: at least the columns that were asked for.
    - `passed`: the IDs of the predicates that all of these rows are known to pass.
    """

    batch: pa.RecordBatch
    passed: frozenset[str] = frozenset()


class BoundFunction(ABC):
    """A call of a function with its arguments."""

    schema: pa.Schema
    has_splits: ClassVar[bool] = False

    @abstractmethod
    def rows(
        self,
        columns: Sequence[str],
        predicates: Sequence[Predicate],
        tokens: Sequence[bytes] | None,
    ) -> Iterator[Rows]:
        """Yield the rows. Those that do not pass the predicates may be left out.

        Args:
            columns: The names of the columns that are needed.
            predicates: The filters of the snapshot that have an expression.
            tokens: The tokens of the splits to read; None: all rows. Only given if `has_splits`.

        Raises:
            Refused: A token is not one of this call.
        """

    def splits(
        self, predicates: Sequence[Predicate], size: int | None = None, least: int = 1
    ) -> Sequence[Split]:
        """Return the splits, in the order of the rows. Only called if `has_splits`.

        Args:
            predicates: As in `rows`.
            size: About how many bytes a split should read; None: the function decides.
            least: How many splits there should be, if there is enough to read.
        """
        raise NotImplementedError

    def version(self) -> str:
        """Return a text that changes whenever the rows or the splits do."""
        return ""

    def cardinality(self) -> int | None:
        """Return the number of rows without filters; None: unknown."""
        return None

    def statistics(self) -> pa.RecordBatch | None:
        """Return statistics of the columns, as `statistics.batch_of` writes them; None: unknown."""
        return None


class TableFunction(ABC):
    """A function that returns rows."""

    name: ClassVar[str]
    description: ClassVar[str]
    arguments: ClassVar[tuple[Argument, ...]]
    supports_splits: ClassVar[bool] = False

    @abstractmethod
    def bind(self, arguments: Mapping[str, Any]) -> BoundFunction:
        """Return the call with these arguments, one value per declared argument.

        Raises:
            Refused: An argument has a value that is not allowed.
        """
