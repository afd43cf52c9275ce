"""Requests for row statistics, as users write them. `entries` resolves them against a schema.

bounds   least and greatest value and the counts of NULL and NaN, per file
bloom    a Bloom filter of the values, per file: for = and IN on columns without clustering
values   the distinct values, per file with few of them: for <> and NOT IN as well
ndv      a sketch of the distinct values, per file: their number, for Spark's optimizer

Aggregates (count, sum, min, max) are recorded per file and combination of values of some columns.
Of the order of rows, it is recorded whether the rows of a file are sorted by some columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from tamis.errors import StatisticsIndexError
from tamis.expr.sql import identifier

__all__ = [
    "KINDS",
    "Columns",
    "Expressions",
    "Grouping",
    "Orders",
    "Predicates",
    "RecordingSpec",
    "passing_sql",
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
#: A list of conditions, or a mapping from conditions to columns whose bounds are recorded in the
#: rows that pass.
Predicates: TypeAlias = Sequence[str] | Mapping[str, Sequence[str]]
#: The columns of an order, or a list of several orders.
Orders: TypeAlias = Sequence[str] | Sequence[Sequence[str]]


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
        orders: Columns by which the rows of the files may be sorted, each a name, or a name and
            " DESC". Older versions do not write it.
        fills_gaps: Whether bounds are recorded of the columns of Parquet files whose footers do not
            suffice, see `build.footer_gaps`. False in indexes of older versions.
    """

    columns: dict[str, tuple[str, ...]] = {}
    expressions: dict[str, tuple[str, ...]] = {}
    fills_gaps: bool = False
    groupings: tuple[Grouping, ...] = ()
    orders: tuple[tuple[str, ...], ...] = ()

    def __bool__(self) -> bool:
        of_rows = self.columns or self.expressions or self.groupings or self.orders
        return bool(of_rows or self.fills_gaps)


def requested_statistics(
    columns: Columns | None,
    expressions: Expressions | None,
    fills_gaps: bool = False,
    aggregates: Sequence[str] | None = None,
    by: Sequence[str] | None = None,
    predicates: Predicates | None = None,
    sorted_by: Orders | None = None,
) -> tuple[Sequence[str] | None, RecordingSpec]:
    """Return the columns whose footer statistics are read (None: all), and the row statistics.

    >>> requested_statistics({"id": "bloom"}, ["upper(name)"])[1].expressions
    {'upper(name)': ('bounds', 'values')}
    >>> requested_statistics(None, None, predicates=["name LIKE '%x%'"])[1].expressions
    {"name LIKE '%x%'": ('bounds',)}
    >>> [*requested_statistics(None, None, predicates={"name LIKE '%x%'": ["a b"]})[1].expressions]
    ["name LIKE '%x%'", "IF(name LIKE '%x%', `a b`, NULL)"]
    """
    if isinstance(columns, str) or isinstance(expressions, str):
        raise StatisticsIndexError(
            "columns= and expressions= take lists, or mappings such as {'id': 'bloom'}"
        )
    columns_of = predicates if isinstance(predicates, Mapping) else {}
    if isinstance(predicates, str) or any(isinstance(each, str) for each in columns_of.values()):
        raise StatisticsIndexError(
            "predicates= takes a list, such as [\"name LIKE '%x%'\"], or a mapping from conditions "
            'to lists of columns, such as {"name LIKE \'%x%\'": ["day"]}'
        )
    if isinstance(aggregates, str) or isinstance(by, str):
        raise StatisticsIndexError("aggregates= and by= take lists, such as ['sum(price)']")
    if isinstance(sorted_by, str):
        raise StatisticsIndexError("sorted_by= takes a list, such as ['day', 'id DESC']")
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
        for name in columns_of.get(sql, ()):
            kinds.setdefault(passing_sql(sql, tuple(name.split("."))), ("bounds",))
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
        _orders(sorted_by or ()),
    )
    return (None if isinstance(columns, Mapping) else columns), recorded


def _orders(sorted_by: Orders) -> tuple[tuple[str, ...], ...]:
    """Return the orders of a request.

    >>> _orders(["day", "id DESC"]), _orders([["day"], ["id"]])
    ((('day', 'id DESC'),), (('day',), ('id',)))
    """
    single = tuple(each for each in sorted_by if isinstance(each, str))
    if single and len(single) < len(sorted_by):
        raise StatisticsIndexError(
            "sorted_by= takes a list of columns, or a list of such lists: not both"
        )
    several = tuple(tuple(each) for each in sorted_by if not isinstance(each, str))
    return (single,) if single else several


def passing_sql(condition: str, path: tuple[str, ...]) -> str:
    """Return SQL of the value of a column in the rows that pass a condition, else NULL."""
    # the condition may end in a comment
    end = "\n" if "--" in condition else ""
    return f"IF({condition}{end}, {identifier(path)}, NULL)"


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
        tuple(dict.fromkeys((*before.orders, *more.orders))),
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
