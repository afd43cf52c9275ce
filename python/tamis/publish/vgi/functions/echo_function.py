"""The function filter_echo: numbers, and the filters that the worker has received."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import pyarrow as pa

from tamis.expr.sql import to_sql
from tamis.publish.vgi.functions.table_function import Argument, BoundFunction, Rows, TableFunction
from tamis.publish.vgi.refusals import Refused
from tamis.wire.vgi import Predicate

__all__ = ["FilterEcho"]

_MOST_ROWS: Final = 1 << 40
_MOST_BATCH: Final = 1 << 16


class FilterEcho(TableFunction):
    """Numbers from 0, each with a text and the filters of the scan."""

    name: ClassVar[str] = "filter_echo"
    description: ClassVar[str] = "The numbers from 0 to count - 1, and the filters of the scan"
    arguments: ClassVar[tuple[Argument, ...]] = (
        Argument("count", pa.int64(), "The number of rows."),
        Argument("batch_size", pa.int64(), "The rows of a batch.", is_named=True, default=2048),
    )

    def bind(self, arguments: Mapping[str, Any]) -> BoundFunction:
        count, size = arguments["count"], arguments["batch_size"]
        if not 0 <= count <= _MOST_ROWS:
            raise Refused("count is not between 0 and 2^40")
        if not 1 <= size <= _MOST_BATCH:
            raise Refused(f"batch_size is not between 1 and {_MOST_BATCH}")
        return _Numbers(count, size)


@dataclass(frozen=True, slots=True)
class _Numbers(BoundFunction):
    count: int
    size: int

    schema = pa.schema({"n": pa.int64(), "s": pa.string(), "pushed_filters": pa.string()})

    def rows(
        self,
        columns: Sequence[str],
        predicates: Sequence[Predicate],
        tokens: Sequence[bytes] | None,
    ) -> Iterator[Rows]:
        shown = " AND ".join(to_sql(each.expr) for each in predicates if each.expr is not None)
        for start in range(0, self.count, self.size):
            numbers = range(start, min(start + self.size, self.count))
            yield Rows(
                pa.record_batch(
                    [
                        pa.array(numbers, pa.int64()),
                        pa.array([f"row_{n}" for n in numbers], pa.string()),
                        pa.array([shown or "(none)"] * len(numbers), pa.string()),
                    ],
                    schema=self.schema,
                )
            )

    def cardinality(self) -> int | None:
        return self.count
