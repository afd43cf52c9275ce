"""What is recorded of a table: requests, resolved against its schema."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias

import msgspec

from tamis.errors import StatisticsIndexError
from tamis.evaluation.domain.registers import sketch_kind
from tamis.evaluation.pairs.relations import pair_of
from tamis.expr.condition_keys import condition_key, is_comparison
from tamis.expr.nodes import Call, Column, Expr, Literal, Opaque, columns_of
from tamis.expr.rewrites import simplify
from tamis.expr.sql import identifier
from tamis.expr.types import DAY_TIME_INTERVAL, LONG, interval_type
from tamis.indexing.executor.columns_schema import Leaf, is_known
from tamis.indexing.format.aggregate_sql import ROWS, is_exact, is_group, written
from tamis.indexing.format.recording_spec import RecordingSpec
from tamis.indexing.format.row_orders import SortColumn, order_key, order_name
from tamis.indexing.format.table_schema import Schema, columns_at, guards_of
from tamis.wire.catalyst import decode

__all__ = ["Entry", "Parse", "column_entry", "entries_of", "has_no_key", "microseconds_sql"]


class Entry(msgspec.Struct, frozen=True):
    """One kind of statistics of one column or expression, and its cost.

    Attributes:
        sql: The value, as SQL.
        type: Spark's name of the type.
        path: The path of a column; None for an expression.
        key: The key of an expression; None for a column.
        reads: The paths of the columns that an expression reads. Older versions do not write it.
        guards: SQL and type of each date and timestamp column that the value or the groups read.
        by: Path and type of the columns by whose values an aggregate is recorded; None: the entry
            is not an aggregate. An aggregate without path and key counts rows.
        files: Number of files for which the statistic is known.
        bytes: Size in the durable form.
        seconds: Its share of the time of the jobs of the latest build.
        fills_gap: It was not requested, but recorded because footers do not suffice.
        document: The document (see `wire.catalyst`) of an expression over two values of a row, as
            JSON: it also decides other expressions over them, see `evaluation.pairs`. Older
            versions do not write it.
        passing: The key of the condition and the path of the column, if the expression is
            `IF(condition, column, NULL)`: its bounds are those of the column in the rows that pass
            the condition. Older versions do not write it.
        deviation: The relative standard deviation of approx_count_distinct. Older versions do not
            write it, nor the next one.
        spark: The version of Spark whose hashes its registers depend on.
        order: The path of each column of an order, and whether it descends; None: the entry is not
            an order. The bounds of an order are 1 if the rows of the file are sorted by these
            columns, and 0 if not, see `row_orders`. Older versions do not write it.
    """

    kind: str
    name: str
    sql: str
    type: str
    path: tuple[str, ...] | None = None
    key: str | None = None
    guards: tuple[tuple[str, str], ...] = ()
    reads: tuple[tuple[str, ...], ...] = ()
    files: int = 0
    bytes: int = 0
    seconds: float = 0.0
    fills_gap: bool = False
    document: str | None = None
    by: tuple[tuple[tuple[str, ...], str], ...] | None = None
    passing: tuple[str, tuple[str, ...]] | None = None
    deviation: float | None = None
    spark: str | None = None
    order: tuple[tuple[tuple[str, ...], bool], ...] | None = None

    @property
    def is_aggregate(self) -> bool:
        return self.by is not None

    @property
    def bounds_row_groups(self) -> bool:
        """Whether the bounds of row groups are recorded, too, for which all rows are read again."""
        is_condition = self.key is not None and self.type == "boolean"
        return self.kind == "bounds" and (is_condition or self.passing is not None)

    @property
    def leaf(self) -> Leaf:
        """The leaf that gives the arrays of the values their type."""
        return Leaf(self.path or (self.name,), self.type)

    @property
    def meaning(self) -> tuple[object, ...]:
        """A key that is equal for entries whose statistics mean the same."""
        return self.recorded_kind, self.path, self.key, self.type, self.guards, self.by

    @property
    def recorded_kind(self) -> str:
        """The kind of an aggregate, as a query asks for it."""
        if self.deviation is None or self.spark is None:
            return self.kind
        return sketch_kind(self.deviation, self.spark)


Parse: TypeAlias = Callable[[str, str], dict[str, Any]]


def entries_of(
    spec: RecordingSpec,
    leaves: Sequence[Leaf],
    schema: Schema,
    parse: Parse,
    gone: dict[str, str] | None = None,
    spark: str | None = None,
) -> tuple[Entry, ...]:
    """Resolve a request to entries, one per kind of each column and expression.

    Args:
        spark: The version of Spark. It may be unknown if there are no aggregates.
        gone: A mapping to which the columns and expressions are added that cannot be recorded for
            this schema, each with the reason. None: they are an error.

    Raises:
        StatisticsIndexError: `gone` is None and a column or an expression cannot be recorded.
    """
    entries: dict[tuple[object, ...], Entry] = {}

    def collect(subject: str, resolved: Iterator[Entry]) -> None:
        try:
            for entry in [*resolved]:
                entries.setdefault(entry.meaning, entry)
        except StatisticsIndexError as problem:
            if gone is None:
                raise
            gone.setdefault(subject, str(problem))

    for name, kinds in spec.columns.items():
        collect(name, _of_column(name, kinds, leaves, schema))
    for sql, kinds in spec.expressions.items():
        collect(sql, _of_expression(sql, kinds, schema, parse))
    for grouping in spec.groupings:
        for sql in grouping.aggregates:
            collect(sql, _of_aggregate(sql, grouping.by, leaves, schema, parse, spark))
    for names in spec.orders:
        collect(", ".join(names), _of_order(names, leaves, schema))
    return tuple(entries.values())


def _of_column(
    name: str, kinds: Sequence[str], leaves: Sequence[Leaf], schema: Schema
) -> Iterator[Entry]:
    for leaf in _leaves(name, leaves, schema):
        for kind in kinds:
            yield column_entry(kind, leaf, schema)


def column_entry(kind: str, leaf: Leaf, schema: Schema, fills_gap: bool = False) -> Entry:
    """Return the entry of a column.

    Raises:
        StatisticsIndexError: The column cannot be recorded soundly.
    """
    guards = guards_of([leaf.path], schema, leaf.name)
    sql = identifier(leaf.path)
    return Entry(
        kind, leaf.name, sql, leaf.type, path=leaf.path, guards=guards, fills_gap=fills_gap
    )


def _leaves(name: str, leaves: Sequence[Leaf], schema: Schema) -> list[Leaf]:
    matching = [leaf for leaf in leaves if leaf.name == name or leaf.name.startswith(f"{name}.")]
    if not matching:
        if name in schema.partitions:
            raise StatisticsIndexError(
                f"columns: {name} is a partition column, whose values are known from the "
                "directories: leave it out"
            )
        near = get_close_matches(name, [leaf.name for leaf in leaves], n=1)
        hint = f"did you mean {near[0]}?" if near else "check its name and type"
        raise StatisticsIndexError(
            f"columns: the table has no column {name} that can have statistics: {hint}",
            shell=f"{name}: the table has no such column that can have statistics: {hint}",
        )
    for leaf in matching:
        if leaf.has_default:
            raise StatisticsIndexError(
                f"columns: {leaf.name} has a default value. Spark fills it in when it reads the "
                "table, but not when it reads the files, so statistics would be wrong: leave "
                "the column out"
            )
    return matching


def _of_expression(sql: str, kinds: Sequence[str], schema: Schema, parse: Parse) -> Iterator[Entry]:
    parsed = parse(sql, schema.json)
    if parsed["refusal"] is not None:
        raise StatisticsIndexError(
            f"expressions: {sql}: {parsed['refusal']}: pass a deterministic expression over the "
            "columns of one row"
        )
    expr = decode(parsed["document"])
    if isinstance(expr, Column):
        raise StatisticsIndexError(
            f"expressions: {sql} is a column: name it in columns={{{sql!r}: 'bounds'}}",
            shell=f"--expression: {sql} is a column: pass --bounds {sql}",
        )
    pair, value, data_type = pair_of(simplify(expr)), sql, parsed["type"]
    if pair is not None and interval_type(data_type) == DAY_TIME_INTERVAL:
        value, data_type = microseconds_sql(sql), str(LONG)
    if not is_known(data_type):
        raise StatisticsIndexError(
            f"expressions: {sql} has type {parsed['type']}, which has no statistics: extract a "
            "number, string, date, timestamp or boolean from it"
        )
    if pair is None and not isinstance(expr, Call | Opaque):
        raise StatisticsIndexError(
            f"expressions: {sql} is a predicate: pass the expression that it compares, such as "
            "upper(name) instead of upper(name) = 'A', or its parts one by one"
        )
    document = None if pair is None else json.dumps(parsed["document"])
    key = _key_of(expr, document)
    if key is None:
        raise StatisticsIndexError(
            f"expressions: {sql} cannot be matched with the expressions of a query, because it "
            "reads a CHAR column or a column with a default, or has a constant of an unsupported "
            "type: leave the expression out, or write it without that part"
        )
    paths = columns_of(expr)
    guards, reads = guards_of(paths, schema, sql), columns_at(paths, schema)
    passing = _passing_of(expr)
    for kind in kinds:
        yield Entry(
            kind,
            sql,
            value,
            data_type,
            key=key,
            guards=guards,
            reads=reads,
            document=document,
            passing=passing if kind == "bounds" else None,
        )


def _passing_of(expr: Expr) -> tuple[str, tuple[str, ...]] | None:
    """Return condition and column of `IF(condition, column, NULL)`; None for all else."""
    match expr:
        # A condition that is false or NULL gives NULL, so that the other values are those of the
        # rows for which it is true.
        case Call(name="If", arguments=(condition, Column() as column, second)) if (
            second == Literal(None, column.type) and expr.type == column.type
        ):
            key = condition_key(simplify(condition))
            return None if key is None else (key, column.path)
    return None


def has_no_key(condition: Expr) -> bool:
    """Return whether a condition cannot be recorded itself, but bounds of the rows that pass can.

    These are comparisons with constants, whose columns have bounds, and what NOT and OR make of
    conditions.
    """
    plain = simplify(condition)
    return pair_of(plain) is None and is_comparison(plain) and condition_key(plain) is not None


def _key_of(expr: Expr, document: str | None) -> str | None:
    """Return the key of an expression.

    The extension gives comparisons no key. They are found by their operands, so that any name that
    tells them apart will do.
    """
    if isinstance(expr, Call | Opaque):
        return expr.key
    assert document is not None
    return f"pair {hashlib.sha256(document.encode()).hexdigest()[:32]}"


def microseconds_sql(sql: str) -> str:
    """Return SQL of the microseconds of a day-time interval."""
    interval = f"CAST(({sql}\n) AS INTERVAL DAY TO SECOND)"
    return (
        f"CAST(extract(DAY FROM {interval}) AS BIGINT) * 86400000000L "
        f"+ extract(HOUR FROM {interval}) * 3600000000L "
        f"+ extract(MINUTE FROM {interval}) * 60000000L "
        f"+ CAST(extract(SECOND FROM {interval}) * 1000000 AS BIGINT)"
    )


def _of_aggregate(
    sql: str,
    by: Sequence[str],
    leaves: Sequence[Leaf],
    schema: Schema,
    parse: Parse,
    spark: str | None,
) -> Iterator[Entry]:
    groups = tuple(_group(name, leaves, schema) for name in by)
    aggregate = written(sql)
    name = f"{sql} by {', '.join(by)}" if by else sql
    paths: list[tuple[str, ...]] = [path for path, _ in groups]
    if aggregate.argument is None:
        guards = guards_of(paths, schema, name)
        yield Entry(aggregate.kind, name, ROWS, "long", guards=guards, by=groups)
        return
    parsed = parse(aggregate.argument, schema.json)
    if parsed["refusal"] is not None:
        raise StatisticsIndexError(
            f"aggregates: {sql}: {parsed['refusal']}: aggregate a deterministic expression over "
            "the columns of one row"
        )
    data_type = parsed["type"]
    if not (is_known(data_type) and is_exact(aggregate.kind, data_type)):
        why = (
            "whose sum depends on the order of the rows: cast it to DECIMAL"
            if data_type in ("float", "double")
            else "which cannot be aggregated here: pass a number, string, date or timestamp"
        )
        raise StatisticsIndexError(f"aggregates: {sql}: its argument has type {data_type}, {why}")
    expr = decode(parsed["document"])
    path = key = None
    reads: tuple[tuple[str, ...], ...] = ()
    if isinstance(expr, Column):
        # the columns of the index are those that have statistics
        (leaf,) = _leaves(".".join(expr.path), leaves, schema)
        path = leaf.path
        paths.append(path)
    else:
        key = expr.key if isinstance(expr, Call | Opaque) else None
        if key is None:
            raise StatisticsIndexError(
                f"aggregates: {sql} cannot be matched with the aggregates of a query, because it "
                "is of a predicate, or reads a CHAR column or a column with a default: write it "
                "without that part"
            )
        paths += columns_of(expr)
        reads = columns_at(columns_of(expr), schema)
    guards = guards_of(paths, schema, name)
    yield Entry(
        aggregate.kind,
        name,
        aggregate.argument if path is None else identifier(path),
        data_type,
        path=path,
        key=key,
        guards=tuple(dict.fromkeys(guards)),
        reads=reads,
        by=groups,
        deviation=aggregate.deviation,
        spark=None if aggregate.deviation is None else spark,
    )


def _group(name: str, leaves: Sequence[Leaf], schema: Schema) -> tuple[tuple[str, ...], str]:
    """Return path and type of a column by which aggregates are recorded.

    Raises:
        StatisticsIndexError: Rows cannot be grouped by it, or need not be.
    """
    if schema.is_partition(name):
        raise StatisticsIndexError(
            f"by: {name} is a partition column. Queries may group by it anyway, because each file "
            "has one value: leave it out"
        )
    found = _leaves(name, leaves, schema)
    if len(found) != 1 or not is_group(found[0].type):
        kinds = ", ".join(leaf.type for leaf in found) if len(found) == 1 else "struct"
        raise StatisticsIndexError(
            f"by: {name} has type {kinds}: rows can be grouped by columns of whole numbers, "
            "decimals, strings, dates, timestamps and booleans"
        )
    return found[0].path, found[0].type


def _of_order(names: Sequence[str], leaves: Sequence[Leaf], schema: Schema) -> Iterator[Entry]:
    """Yield an entry for each prefix of an order: files may be sorted by some of its columns."""
    columns = [_sort_column(name, leaves, schema) for name in names]
    if len({column.path for column in columns}) < len(columns):
        raise StatisticsIndexError(f"sorted_by: {', '.join(names)} names a column twice")
    for count in range(1, len(columns) + 1):
        some = columns[:count]
        name = order_name(some)
        paths = [column.path for column in some]
        yield Entry(
            "bounds",
            name,
            "",
            "integer",
            key=order_key(some),
            guards=guards_of(paths, schema, name),
            reads=tuple(paths),
            order=tuple((column.path, column.descending) for column in some),
        )


def _sort_column(name: str, leaves: Sequence[Leaf], schema: Schema) -> SortColumn:
    """Return the column that a name, or a name and a direction, stands for."""
    bare, _, direction = name.rpartition(" ")
    descending = direction.upper() == "DESC"
    # a column may be called "a DESC"
    is_column = any(leaf.path == (name,) for leaf in leaves)
    if not is_column and bare.strip() and direction.upper() in ("ASC", "DESC"):
        name = bare.strip()
    else:
        descending = False
    if schema.is_partition(name):
        raise StatisticsIndexError(
            f"sorted_by: {name} is a partition column, which has one value in each file: leave it "
            "out"
        )
    leaf = next((leaf for leaf in leaves if leaf.path == (name,)), None)
    if leaf is None or leaf.has_default:
        near = get_close_matches(name, [leaf.name for leaf in leaves], n=1)
        hint = f"did you mean {near[0]}?" if near and leaf is None else "check its name and type"
        raise StatisticsIndexError(
            f"sorted_by: the table has no column {name} whose order can be recorded: {hint}"
        )
    return SortColumn(leaf.path, leaf.type, descending)
