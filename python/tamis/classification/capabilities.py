"""What storage knows about a table, as far as that decides which predicates it can use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from tamis.classification.lifting import LiftingRule, best, lifting_rule
from tamis.evaluation.domain.bounds import is_always
from tamis.evaluation.pairs.relations import relations_in
from tamis.evaluation.statistics import Recorded, Statistics
from tamis.expr.nodes import Call, Column, Compare, Comparison, Expr, IsNull, Opaque, Value, walk
from tamis.files.partition import PartitionField, Transform
from tamis.files.table import dotted

__all__ = ["Capabilities", "capabilities_of"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The columns that have statistics, and how the table is partitioned.

    Attributes:
        statistics: The columns whose minimum and maximum are known per file (dots for struct
            fields).
        null_counts: The columns whose number of NULLs is known. None: those of `statistics`.
        partition_spec: The partition fields. The partition value of a file is assumed to be known
            here; `evaluate` checks it.
        expressions: The keys (`Call.key`, `Opaque.key`) of expressions that have recorded
            statistics, and the relations that follow from these.
        has_index: Whether the table has an index. It only selects the reason: statistics are
            missing from the index, or there is no index.

    >>> known = Capabilities(
    ...     statistics=["price"], partition_spec=[PartitionField("ts", "day", "d")]
    ... )
    >>> known.has_statistics("price"), known.is_partition_column("price")
    (True, False)
    """

    statistics: Collection[str] = ()
    null_counts: Collection[str] | None = None
    partition_spec: Sequence[PartitionField] = ()
    expressions: Collection[Recorded] = ()
    has_index: bool = False

    def __post_init__(self) -> None:
        counted = self.statistics if self.null_counts is None else self.null_counts
        object.__setattr__(self, "statistics", frozenset(self.statistics))
        object.__setattr__(self, "null_counts", frozenset(counted))
        object.__setattr__(self, "partition_spec", tuple(self.partition_spec))
        object.__setattr__(self, "expressions", frozenset(self.expressions))

    @staticmethod
    def of_files(files: pa.Table, partition_spec: Sequence[PartitionField] = ()) -> Capabilities:
        """Return the capabilities of a table of files (see `evaluate`), by its columns.

        >>> Capabilities.of_files(pa.table({"min.a": [1], "null_count.b": [0]})).has_null_counts(
        ...     "b"
        ... )
        True
        """
        names = files.column_names
        return Capabilities(
            {name[4:] for name in names if name.startswith(("min.", "max."))},
            {name.removeprefix("null_count.") for name in names if name.startswith("null_count.")},
            partition_spec,
        )

    def has_statistics(self, column: str) -> bool:
        return not _spellings(column).isdisjoint(self.statistics)

    def has_null_counts(self, column: str) -> bool:
        return not _spellings(column).isdisjoint(self.null_counts or ())

    def has_recorded(self, expr: Expr) -> bool:
        """Return whether there are recorded statistics of the expression as a whole."""
        return any(each in self.expressions for each in _recordable(expr))

    def is_partition_column(self, column: str) -> bool:
        return any(field.source in _spellings(column) for field in self.partition_spec)

    def transforms(self, column: str) -> tuple[Transform, ...]:
        """Return the transforms of the column's partition fields, except those not understood."""
        parsed = (
            Transform.parse(field.transform)
            for field in self.partition_spec
            if field.source in _spellings(column)
        )
        return tuple(transform for transform in parsed if transform is not None)

    def lifting_rule(self, column: Column, op: Comparison, value: Value) -> LiftingRule:
        """Return the best rule for `column op value` among the column's partition fields."""
        return best(
            lifting_rule(transform, op, value, column.type)
            for transform in self.transforms(dotted(column.path))
        )


def _recordable(expr: Expr) -> Iterator[Recorded]:
    """Yield the ways in which an index may have recorded an expression."""
    if isinstance(expr, Call | Opaque) and expr.key is not None:
        yield expr.key
    if isinstance(expr, Call | Compare):
        yield from relations_in(expr)


def _spellings(column: str) -> frozenset[str]:
    """Return the name of a column with and without quotes (see files.table.spellings)."""
    return frozenset((column, column.replace("`", "")))


def capabilities_of(expr: Expr, tables: Iterable[Statistics]) -> Capabilities:
    """Return what any of the given statistics know about the columns of an expression."""
    bounded: set[str] = set()
    counted: set[str] = set()
    recorded: set[Recorded] = set()
    has_index = False
    columns = {node for node in walk(expr) if isinstance(node, Column)}
    null_checked = {node.child for node in walk(expr) if isinstance(node, IsNull)}
    keys = {key for node in walk(expr) for key in _recordable(node)}
    for statistics in tables:
        # Only an index knows which files are empty; partition directories do not.
        has_index = has_index or statistics.empty() is not None
        recorded.update(key for key in keys if statistics.expression(key) is not None)
        for column in columns:
            bounds = statistics.bounds(column)
            has_edge = bounds.lower is not None or bounds.upper is not None
            if has_edge or statistics.members(column) is not None:
                bounded.add(dotted(column.path))
            # If every file has NULLs in the column, only the counts show that they are known.
            if not is_always(bounds.can_be_null) or (
                column in null_checked and statistics.certain(column).nulls.max() >= 0
            ):
                counted.add(dotted(column.path))
    return Capabilities(bounded, counted, expressions=recorded, has_index=has_index)
