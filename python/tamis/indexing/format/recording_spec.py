"""Requests for row statistics, and their resolution against the schema of a table.

bounds   least and greatest value and the counts of NULL and NaN, per file
bloom    a Bloom filter of the values, per file: for = and IN on columns without clustering
values   the distinct values, per file with few of them: for <> and NOT IN as well
ndv      a sketch of the distinct values, per file: their number, for Spark's optimizer

Aggregates (count, sum, min, max) are recorded per file and combination of values of some columns.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, TypeAlias

import msgspec

from tamis.errors import StatisticsIndexError
from tamis.evaluation.pairs.relations import pair_of
from tamis.expr.nodes import Call, Column, Expr, Opaque, columns_of
from tamis.expr.rewrites import simplify
from tamis.expr.sql import identifier
from tamis.expr.types import DAY_TIME_INTERVAL, LONG, interval_type
from tamis.indexing.executor.columns_schema import Leaf, is_known
from tamis.indexing.format.aggregate_sql import ROWS, is_exact, is_group, written
from tamis.wire.catalyst import decode

__all__ = [
    "KINDS",
    "Columns",
    "Entry",
    "Expressions",
    "Grouping",
    "RecordingSpec",
    "Schema",
    "column_entry",
    "entries_of",
    "guards_of",
    "is_char",
    "requested_statistics",
    "union_of",
]

KINDS: Final = ("bounds", "bloom", "values", "ndv")
#: The kinds recorded for an expression when none is given.
_OF_EXPRESSIONS: Final = ("bounds", "values")

#: Also bounds by the values of other columns: {"bounds": {"by": "status"}}.
Kinds: TypeAlias = str | Sequence[str] | Mapping[str, Mapping[str, str | Sequence[str]]]
#: Kinds of statistics of all rows of a file.
WholeKinds: TypeAlias = str | Sequence[str]
#: A list of names: read the footer statistics of these columns only.  A mapping: read the footer
#: statistics of all columns, and record these kinds from the rows of the named ones.
Columns: TypeAlias = Sequence[str] | Mapping[str, Kinds]
Expressions: TypeAlias = Sequence[str] | Mapping[str, WholeKinds]


class Grouping(msgspec.Struct, frozen=True):
    """Aggregates of each combination of values of some columns, as users wrote them.

    Attributes:
        by: The columns. Empty: the aggregates are those of all rows of a file.
        aggregates: SQL of aggregates, such as "sum(price * quantity)".
    """

    by: tuple[str, ...]
    aggregates: tuple[str, ...]


class RecordingSpec(msgspec.Struct, frozen=True):
    """The requested row statistics, as users wrote them. A refresh keeps them.

    Attributes:
        columns: Kinds by column.
        expressions: Kinds by expression.
        groupings: Aggregates, at most one item for each list of columns. Older versions do not
            write it.
        fills_gaps: Whether bounds are recorded of the columns of Parquet files whose footers do not
            suffice, see `build.footer_gaps`. False in indexes of older versions.
    """

    columns: dict[str, tuple[str, ...]] = {}
    expressions: dict[str, tuple[str, ...]] = {}
    fills_gaps: bool = False
    groupings: tuple[Grouping, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.columns or self.expressions or self.groupings or self.fills_gaps)


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

    @property
    def is_aggregate(self) -> bool:
        return self.by is not None

    @property
    def leaf(self) -> Leaf:
        """The leaf that gives the arrays of the values their type."""
        return Leaf(self.path or (self.name,), self.type)

    @property
    def meaning(self) -> tuple[object, ...]:
        """A key that is equal for entries whose statistics mean the same."""
        return self.kind, self.path, self.key, self.type, self.guards, self.by


def requested_statistics(
    columns: Columns | None,
    expressions: Expressions | None,
    fills_gaps: bool = False,
    aggregates: Sequence[str] | None = None,
    by: Sequence[str] | None = None,
    predicates: Sequence[str] | None = None,
) -> tuple[Sequence[str] | None, RecordingSpec]:
    """Return the columns whose footer statistics are read (None: all), and the row statistics.

    >>> requested_statistics({"id": "bloom"}, ["upper(name)"])[1].expressions
    {'upper(name)': ('bounds', 'values')}
    >>> requested_statistics(None, None, predicates=["name LIKE '%x%'"])[1].expressions
    {"name LIKE '%x%'": ('bounds',)}
    """
    if isinstance(columns, str) or isinstance(expressions, str):
        raise StatisticsIndexError(
            "columns= and expressions= take lists, or mappings such as {'id': 'bloom'}"
        )
    if isinstance(predicates, str):
        raise StatisticsIndexError("predicates= takes a list, such as [\"name LIKE '%x%'\"]")
    if isinstance(aggregates, str) or isinstance(by, str):
        raise StatisticsIndexError("aggregates= and by= take lists, such as ['sum(price)']")
    if by and not aggregates:
        raise StatisticsIndexError(
            "by= names the columns by whose values aggregates= are recorded: pass both"
        )
    whole, joint = split_joint(columns) if isinstance(columns, Mapping) else ({}, ())
    kinds: dict[str, WholeKinds] = (
        dict(expressions)
        if isinstance(expressions, Mapping)
        else dict.fromkeys(expressions or (), _OF_EXPRESSIONS)
    )
    # the bounds of a condition say whether it is true of no row, of some or of all of them
    for sql in predicates or ():
        listed = kinds.get(sql, ())
        kinds[sql] = ("bounds", *((listed,) if isinstance(listed, str) else listed))
    recorded = RecordingSpec(
        _kinds("columns", whole),
        _kinds("expressions", kinds),
        fills_gaps,
        _together(
            joint,
            (Grouping(tuple(dict.fromkeys(by or ())), tuple(dict.fromkeys(aggregates))),)
            if aggregates
            else (),
        ),
    )
    return (None if isinstance(columns, Mapping) else columns), recorded


_BY: Final = "bounds by "


def split_joint(
    columns: Mapping[str, Kinds],
) -> tuple[dict[str, WholeKinds], tuple[Grouping, ...]]:
    """Return the kinds of statistics of whole files, and bounds by the values of other columns.

    Bounds by other columns are the aggregates MIN and MAX of their groups.

    >>> split_joint({"day": {"bounds": {"by": "mode"}}})[1]
    (Grouping(by=('mode',), aggregates=('min(day)', 'max(day)')),)
    >>> split_joint({"day": ["bloom", "bounds by mode"]})[0]
    {'day': ['bloom']}
    """
    whole: dict[str, WholeKinds] = {}
    joint: list[Grouping] = []
    for name, kinds in columns.items():
        if isinstance(kinds, Mapping):
            joint.append(Grouping(_by_of(name, kinds), _extremes(name)))
            continue
        listed = [kinds] if isinstance(kinds, str) else list(kinds)
        joint += [
            Grouping((kind.removeprefix(_BY).strip(),), _extremes(name))
            for kind in listed
            if kind.startswith(_BY)
        ]
        others = [kind for kind in listed if not kind.startswith(_BY)]
        if others:
            whole[name] = others
    return whole, _together((), joint)


def _by_of(name: str, kinds: Mapping[str, Any]) -> tuple[str, ...]:
    by = kinds["bounds"].get("by") if [*kinds] == ["bounds"] and kinds["bounds"] else None
    listed = (by,) if isinstance(by, str) else tuple(by or ())
    if not listed:
        raise StatisticsIndexError(
            f"columns: {name}: write {{'bounds': {{'by': 'status'}}}}, with the name of a column "
            "or a list of names, or a kind of statistics such as 'bounds'"
        )
    return listed


def _extremes(name: str) -> tuple[str, ...]:
    sql = identifier(tuple(name.split(".")))
    return f"min({sql})", f"max({sql})"


def union_of(before: RecordingSpec, more: RecordingSpec) -> RecordingSpec:
    """Return the union of two requests.

    >>> union_of(RecordingSpec({"id": ("bounds",)}), RecordingSpec({"id": ("bloom",)})).columns
    {'id': ('bounds', 'bloom')}
    """

    def joined(a: Mapping[str, Sequence[str]], b: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        kinds = {name: {*a.get(name, ()), *b.get(name, ())} for name in (*a, *b)}
        return {name: tuple(k for k in KINDS if k in each) for name, each in kinds.items()}

    return RecordingSpec(
        joined(before.columns, more.columns),
        joined(before.expressions, more.expressions),
        before.fills_gaps or more.fills_gaps,
        _together(before.groupings, more.groupings),
    )


def _together(before: Sequence[Grouping], more: Sequence[Grouping]) -> tuple[Grouping, ...]:
    """Return both, with one item for each list of columns."""
    aggregates: dict[tuple[str, ...], dict[str, None]] = {}
    for each in (*before, *more):
        aggregates.setdefault(each.by, {}).update(dict.fromkeys(each.aggregates))
    return tuple(Grouping(by, tuple(listed)) for by, listed in aggregates.items())


def _kinds(argument: str, wanted: Mapping[str, WholeKinds]) -> dict[str, tuple[str, ...]]:
    result: dict[str, tuple[str, ...]] = {}
    for name, kinds in wanted.items():
        chosen = (kinds,) if isinstance(kinds, str) else tuple(kinds)
        for kind in chosen:
            if kind not in KINDS:
                raise StatisticsIndexError(
                    f"{argument}: {name}: {kind!r} is not a kind of statistics: write one of "
                    f"{', '.join(map(repr, KINDS))}, or a list of them"
                )
            if kind == "ndv" and argument == "expressions":
                raise StatisticsIndexError(
                    f"expressions: {name}: 'ndv' is recorded for columns only, because Spark has "
                    "no statistics of expressions: leave it out"
                )
        result[name] = tuple(kind for kind in KINDS if kind in chosen)
    return result


class Schema:
    """The data and partition columns of a table, from Spark's JSON."""

    def __init__(self, schema: str, partition_schema: str, case_sensitive: bool) -> None:
        data, partitions = json.loads(schema), json.loads(partition_schema)
        self.fields: list[dict[str, Any]] = [*data["fields"], *partitions["fields"]]
        self.partitions = [field["name"] for field in partitions["fields"]]
        self.json = json.dumps({"type": "struct", "fields": self.fields})
        self._fold: Callable[[str], str] = (lambda s: s) if case_sensitive else str.lower

    def along(self, path: Sequence[str]) -> list[dict[str, Any]]:
        """Return the fields along a path, from the column to the deepest one that exists."""
        fields = self.fields
        fields_along: list[dict[str, Any]] = []
        for part in path:
            named = [f for f in fields if self._fold(f["name"]) == self._fold(part)]
            if not named:
                break
            fields_along.append(named[0])
            kind = named[0]["type"]
            is_struct = isinstance(kind, dict) and kind.get("type") == "struct"
            fields = kind["fields"] if is_struct else []
        return fields_along

    def is_partition(self, name: str) -> bool:
        return self._fold(name) in map(self._fold, self.partitions)


# How the shim parses a value: from SQL and the JSON of a schema to a document. See PredicateParser.
Parse: TypeAlias = Callable[[str, str], dict[str, Any]]


def entries_of(
    spec: RecordingSpec,
    leaves: Sequence[Leaf],
    schema: Schema,
    parse: Parse,
    gone: dict[str, str] | None = None,
) -> tuple[Entry, ...]:
    """Resolve a request to entries, one per kind of each column and expression.

    Args:
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
            collect(sql, _of_aggregate(sql, grouping.by, leaves, schema, parse))
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
    guards, reads = guards_of(paths, schema, sql), _columns_at(paths, schema)
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
        )


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
    sql: str, by: Sequence[str], leaves: Sequence[Leaf], schema: Schema, parse: Parse
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
            else "of which it cannot be recorded: aggregate a number, string, date or timestamp"
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
        reads = _columns_at(columns_of(expr), schema)
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


def _columns_at(paths: Sequence[tuple[str, ...]], schema: Schema) -> tuple[tuple[str, ...], ...]:
    """Return paths as the schema spells them, without the variables of lambdas."""
    spelled = (tuple(str(field["name"]) for field in schema.along(path)) for path in paths)
    return tuple(dict.fromkeys(path for path in spelled if path))


def guards_of(
    paths: Sequence[tuple[str, ...]], schema: Schema, name: str
) -> tuple[tuple[str, str], ...]:
    """Return SQL and type of each date and timestamp column at these paths.

    Raises:
        StatisticsIndexError: A column at these paths cannot be recorded soundly.
    """
    guards = []
    for path in paths:
        along = schema.along(path)
        if not along:  # the variable of a lambda
            continue
        field = along[-1]
        kind = field["type"]
        # Settings decide whether Spark pads the values when it reads them. The metadata of a column
        # also names a CHAR inside it.
        charred = [each for each in (*along, *_inside(field)) if is_char(each)]
        if charred and "string" in json.dumps(kind):
            raise StatisticsIndexError(
                f"statistics of {name} cannot be recorded: {charred[0]['name']} is a CHAR column, "
                f"whose values Spark pads. Change the column to STRING, or leave {name} out."
            )
        if schema.is_partition(path[0]):
            # Another table, or ADD PARTITION … LOCATION, gives the same files other values. So do
            # other time zones, for timestamps.
            raise StatisticsIndexError(
                f"{name} reads {path[0]}, a partition column, whose values are not in the files: "
                "leave it out"
            )
        if isinstance(kind, str):
            if kind in _OLD:
                guards.append((identifier(path), kind))
        elif any(f'"{old}"' in json.dumps(kind) for old in _OLD):
            raise StatisticsIndexError(
                f"{name} reads {field['name']}, which has dates or timestamps inside a list, map "
                "or struct: use a field of the struct; what lists and maps contain cannot be "
                "recorded"
            )
    return tuple(guards)


_CHAR: Final = "__CHAR_VARCHAR_TYPE_STRING"


def is_char(field: Mapping[str, Any]) -> bool:
    """Return whether a field is a CHAR column or holds one.

    >>> is_char({"name": "c", "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "struct<a:char(5)>"}})
    True
    """
    # VARCHAR is read unchanged
    kind = str((field.get("metadata") or {}).get(_CHAR, "")).lower()
    return "char" in kind.replace("varchar", "")


_OLD: Final = ("date", "timestamp", "timestamp_ntz")


def _inside(field: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a field and all struct fields nested in it."""
    yield field
    pending: list[Any] = [field["type"]]
    while pending:
        kind = pending.pop()
        if not isinstance(kind, dict):
            continue
        for inner in kind.get("fields", []):
            yield inner
            pending.append(inner["type"])
        pending += [kind.get(part) for part in ("elementType", "keyType", "valueType")]
