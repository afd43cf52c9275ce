"""Decode the expression documents of the shim.

    {"n":"lit","t":"long","v":5}
    {"n":"col","p":["s","x"],"t":"long","nullable":true}
    {"n":"in","a":EXPR,"t":"long","v":[1,2],"null":false}
    {"n":"call","f":"EqualTo","t":"boolean","a":[EXPR,EXPR],"o":{}}
    {"n":"opaque","sql":"rand() < 0.5","cols":[["a"]],"t":"boolean"}
    {"n":"evaluable","k":"5f0c…","c":COLUMN,"a":EXPR}

An evaluable node is a predicate that reads one column only, and that Spark can compute for single
values on the driver. Its column is given, because the predicate itself may not be understood.

Calls and opaque nodes may have a key, "k", which is the same for all expressions that have the same
value for the same row. The root of a document may have "zones", a mapping from time zones to tables
of their transitions (evaluation.functions.temporal.zones). In a list of documents, only the first
one that names a zone has its table, which applies to all of them.

Types have the names of Spark's `DataType.json`. Integers are JSON numbers. Dates are days and
timestamps are microseconds since 1970. Calendar intervals are [months, days, microseconds].
Floating-point values are numbers or "NaN", "Infinity", "-Infinity". Decimals are strings, and
binary values are base64. Calls have the simple names of Catalyst's classes.

Decoding is total: an expression that is malformed or not understood becomes Opaque, and the rest
can still be used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tamis.expr.nodes import Call, Column, Expr, In, Literal, Opaque, type_of
from tamis.expr.types import BOOLEAN, CALENDAR_INTERVAL, DataType, interval_type
from tamis.wire.calls import CALLS
from tamis.wire.constants import NotUnderstoodError, require, value_of, values_of

__all__ = ["Evaluable", "decode", "decode_conjuncts"]

#: Deeper documents are cut off, because evaluation recurses with about ten calls per level and
#: Python allows 1,000. Callers with more stack can pass a larger limit.
_DEEPEST: Final = 60

_UNKNOWN: Final = Opaque("<not understood>")


@dataclass(frozen=True, slots=True)
class Evaluable:
    """A predicate that Spark can compute for single values of its only column.

    - `key`: the same for all predicates that have the same value for the same row.
    - `document`: the place of the document that contains it.
    """

    key: str
    predicate: Expr
    column: Column
    document: int


def decode_conjuncts(
    documents: object,
    deepest: int = _DEEPEST,
    resolve: Callable[[Evaluable], Expr] = lambda each: each.predicate,
) -> list[Expr]:
    """Decode a list of documents independently. Nodes below `deepest` levels become opaque.

    Args:
        documents: The documents.
        deepest: The number of levels.
        resolve: Returns the expression for an evaluable predicate.

    >>> decode_conjuncts([{"n": "lit", "t": "boolean", "v": True}, {"n": "?"}])
    [Literal(value=True, type=DataType(name='boolean', precision=None, scale=None)), \
Opaque(sql='<not understood>', columns=(), key=None)]
    """
    if not isinstance(documents, list | tuple):
        return []
    zones = _zones(documents)
    return [
        _decode(each, _Place(zones, deepest, resolve, number))
        for number, each in enumerate(documents)
    ]


def decode(document: object) -> Expr:
    """Decode one document. Never raises.

    >>> from tamis.expr.sql import to_sql
    >>> column = {"n": "col", "p": ["a"], "t": "long"}
    >>> five = {"n": "lit", "t": "long", "v": 5}
    >>> to_sql(decode({"n": "call", "f": "LessThan", "t": "boolean", "a": [column, five]}))
    'a < 5L'
    """
    return _decode(document, _Place(_zones([document]), _DEEPEST))


@dataclass(frozen=True, slots=True)
class _Place:
    """The context of a node: the time zones, and how many levels there may be below it."""

    zones: Mapping[str, str]
    levels: int
    resolve: Callable[[Evaluable], Expr] = lambda each: each.predicate
    document: int = 0

    @property
    def below(self) -> _Place:
        # not `replace`, which takes several times as long: there may be thousands of nodes
        return _Place(self.zones, self.levels - 1, self.resolve, self.document)


def _zones(documents: Iterable[object]) -> dict[str, str]:
    tables: dict[str, str] = {}
    for document in documents:
        zones = document.get("zones") if isinstance(document, Mapping) else None
        for zone, table in zones.items() if isinstance(zones, Mapping) else ():
            if isinstance(zone, str) and isinstance(table, str):
                tables[zone] = table
    return tables


def _decode(document: object, place: _Place) -> Expr:
    if not isinstance(document, Mapping) or place.levels < 0:
        return _UNKNOWN
    decoder = _NODES.get(_text(document.get("n")))
    if decoder is None:
        return _UNKNOWN
    try:
        return decoder(document, place)
    except NotUnderstoodError:
        return _opaque(document, place)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _columns_below(document: object) -> tuple[tuple[str, ...], ...]:
    """Return the columns that a document names, understood or not, for reports."""
    paths: dict[tuple[str, ...], None] = {}
    pending = [document]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending.extend(reversed(node))
        elif isinstance(node, Mapping):
            named = [node.get("p")] if node.get("n") == "col" else node.get("cols")
            for path in named if isinstance(named, list) else []:
                if _is_path(path):
                    paths[tuple(path)] = None
            pending.append(node.get("a"))
    return tuple(paths)


def _literal(document: Mapping[Any, Any], place: _Place) -> Expr:
    data_type = interval_type(document.get("t")) or _type(document)
    return Literal(value_of(document.get("v"), data_type), data_type)


def _column(document: Mapping[Any, Any], place: _Place) -> Expr:
    nullable = document.get("nullable", True)
    return Column(_path(document.get("p")), _type(document), nullable is not False)


def _in(document: Mapping[Any, Any], place: _Place) -> Expr:
    value = _decode(document.get("a"), place.below)
    data_type = _type_of_result(document)
    options, has_null = document.get("v"), document.get("null", False)
    if type_of(value) != data_type or not isinstance(options, list) or type(has_null) is not bool:
        raise NotUnderstoodError
    decoded = values_of(options, data_type)
    # A null among the values means that the list contains NULL.
    ordinary = tuple(option for option in decoded if option is not None)
    return In(value, ordinary, has_null or len(ordinary) < len(decoded))


def _call(document: Mapping[Any, Any], place: _Place) -> Expr:
    name, arguments = document.get("f"), document.get("a")
    if not isinstance(name, str) or not name or not isinstance(arguments, list):
        raise NotUnderstoodError
    data_type = _type_of_result(document)
    decoded = tuple(_decode(argument, place.below) for argument in arguments)
    build = CALLS.get(name)
    if build is None:
        options = _options(document.get("o"), place)
        return Call(name, decoded, options, data_type, _key(document))
    if data_type != BOOLEAN:
        raise NotUnderstoodError
    return build(decoded)


def _options(value: object, place: _Place) -> tuple[tuple[str, Any], ...]:
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise NotUnderstoodError
    pairs = tuple(value.items())
    if not all(isinstance(k, str) and isinstance(v, str | int | float | None) for k, v in pairs):
        raise NotUnderstoodError
    table = place.zones.get(_text(value.get("timeZoneId")))
    return pairs if table is None else (*pairs, ("zoneTable", table))


def _opaque(document: Mapping[Any, Any], place: _Place) -> Expr:
    sql = _text(document.get("sql")) or _UNKNOWN.sql
    return Opaque(sql, _columns_below(document), _key(document))


def _evaluable(document: Mapping[Any, Any], place: _Place) -> Expr:
    key, column = _key(document), _decode(document.get("c"), place)
    predicate = _decode(document.get("a"), place)
    if key is None or not isinstance(column, Column):
        return predicate
    return place.resolve(Evaluable(key, predicate, column, place.document))


def _key(document: Mapping[Any, Any]) -> str | None:
    return _text(document.get("k")) or None


_NODES: Final[dict[str, Callable[[Mapping[Any, Any], _Place], Expr]]] = {
    "lit": _literal,
    "col": _column,
    "in": _in,
    "call": _call,
    "opaque": _opaque,
    "evaluable": _evaluable,
}


def _type(document: Mapping[Any, Any]) -> DataType:
    data_type = DataType.parse(document.get("t"))
    if data_type is None:
        raise NotUnderstoodError
    return data_type


def _type_of_result(document: Mapping[Any, Any]) -> DataType:
    """Return the type of a function's result, which may be an interval but no calendar interval.

    Other intervals compare as integers.
    """
    data_type = interval_type(document.get("t")) or _type(document)
    require(data_type != CALENDAR_INTERVAL)
    return data_type


def _path(value: Any) -> tuple[str, ...]:
    if not _is_path(value):
        raise NotUnderstoodError
    return tuple(value)


def _is_path(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(part, str) for part in value)
