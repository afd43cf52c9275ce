"""Filters in VGI's encoding V2: a document in JSON, and its constants in Arrow columns beside it.

    a comparison      {"node": "comparison", "op": "ge", "left": …, "right": …}
    a constant        {"node": "literal", "value_ref": 3}, which is the column value_3
    a column          its position and name in the whole result of the function

Calls are written of standard functions only, which a worker supports without declaring them. The
limits are those of the specification, or lower.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa

from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Value,
    type_of,
)
from tamis.expr.types import BOOLEAN, STRING, DataType
from tamis.remote.vgi.catalog import SEMANTICS
from tamis.remote.vgi.filters.typed_constants import constants, is_compared
from tamis.remote.vgi.protocol.framing import stream_bytes

__all__ = ["OPERATORS", "FilterDocument", "Mode", "NotEncodable", "column_node"]

_ENCODING: Final = "vgi.filters.v2"
_METADATA: Final = {
    "vgi_filter_encoding": _ENCODING,
    "vgi_filter_version": "2",
    "vgi_evaluation_context": "vgi.none.v1",
}
_MOST_PREDICATES: Final = 1_000
_MOST_NODES: Final = 9_000
_MOST_DEPTH: Final = 60
_MOST_BYTES: Final = 12 << 20  # of constants
_MOST_JSON: Final = 900_000
_NODE_JSON: Final = 90  # an estimate of the characters of a node besides the names of columns

OPERATORS: Final = {
    Comparison.EQUAL: "eq",
    Comparison.NOT_EQUAL: "ne",
    Comparison.LESS: "lt",
    Comparison.LESS_EQUAL: "le",
    Comparison.GREATER: "gt",
    Comparison.GREATER_EQUAL: "ge",
    Comparison.NULL_SAFE_EQUAL: "not_distinct_from",
}
_FUNCTIONS: Final = {
    "StartsWith": "starts_with",
    "EndsWith": "ends_with",
    "Contains": "contains",
}

_Node = dict[str, Any]


class NotEncodable(Exception):
    """A predicate that is not sent."""


class Mode(StrEnum):
    """What the worker has to do with a predicate."""

    REQUIRED = "required"  # apply it exactly, or fail
    ADVISORY = "advisory"  # at most leave out rows for which it is not true


@dataclass
class FilterDocument:
    """The filters of a scan, whose columns are `columns`, the whole result of the function.

    - `paths`: the columns that the filters use.
    - `join_keys`: the batches that belong to the document.
    """

    columns: pa.Schema
    paths: set[str] = field(default_factory=set)
    join_keys: list[bytes] = field(default_factory=list)
    _predicates: list[_Node] = field(default_factory=list)
    _values: list[pa.Array] = field(default_factory=list)
    _bytes: int = 0
    _nodes: int = 0
    _json: int = 0

    def add(self, expr: Expr, mode: Mode) -> None:
        """Add a predicate, which the document is AND'ed with.

        Raises:
            NotEncodable: The predicate has another form, or the document becomes too large. The
                document is as before.
        """
        self._extend(mode, "query", lambda writer: writer.predicate(expr, 1))

    def add_keys(self, column: str, keys: pa.Array) -> None:
        """Add the predicate that a column has one of these keys, which are sent in a batch.

        Raises:
            NotEncodable: The document becomes too large.
        """
        listed = {"kind": "external", "batch_index": len(self.join_keys)}
        listed |= {"column_index": 0, "column_name": column}

        def write(writer: _Writer) -> _Node:
            node = column_node(self.columns, (column,))
            writer.paths.add(column)
            writer.nodes += 2
            return {"node": "in", "expression": node, "set": listed, "negated": False}

        self._extend(Mode.ADVISORY, "join", write)
        self.join_keys.append(stream_bytes(pa.RecordBatch.from_arrays([keys], names=[column])))

    def _extend(self, mode: Mode, source: str, write: Any) -> None:
        writer = _Writer(self.columns, len(self._values))
        node = write(writer)
        size = sum(each.nbytes for each in writer.values)
        text = writer.nodes * _NODE_JSON + writer.names
        is_full = (
            len(self._predicates) >= _MOST_PREDICATES
            or self._nodes + writer.nodes > _MOST_NODES
            or self._bytes + size > _MOST_BYTES
            or self._json + text > _MOST_JSON
        )
        if is_full:
            raise NotEncodable("the filters are too large")
        self._bytes += size
        self._nodes += writer.nodes
        self._json += text
        self._values += writer.values
        self.paths |= writer.paths
        self._predicates.append(
            {
                "id": f"{source}:{len(self._predicates)}",
                "revision": 0,
                "mode": str(mode),
                "source": source,
                "expression": node,
            }
        )

    def __len__(self) -> int:
        return len(self._predicates)

    def encoded(self, places: Sequence[int] | None = None) -> bytes | None:
        """Return the document for a request; None if there are no predicates.

        Args:
            places: Ignored: columns have their positions in the whole result.
        """
        if not self._predicates:
            return None
        document = {
            "encoding": _ENCODING,
            "semantics": SEMANTICS,
            "kind": "snapshot",
            "predicates": self._predicates,
        }
        fields = [pa.field("filter_spec", pa.string(), nullable=False)]
        fields += [pa.field(f"value_{n}", each.type) for n, each in enumerate(self._values)]
        arrays = [pa.array([json.dumps(document)]), *self._values]
        schema = pa.schema(fields, metadata=_METADATA)
        return stream_bytes(pa.RecordBatch.from_arrays(arrays, schema=schema))


class _Writer:
    """Writes one predicate. Raises NotEncodable for forms that are not sent."""

    def __init__(self, columns: pa.Schema, first_value: int) -> None:
        self.values: list[pa.Array] = []
        self.paths: set[str] = set()
        self.nodes = 0
        self.names = 0
        self._columns = columns
        self._first = first_value

    def predicate(self, expr: Expr, depth: int) -> _Node:
        self.nodes += 1
        if depth > _MOST_DEPTH or self.nodes > _MOST_NODES:
            raise NotEncodable("the predicate is too large")
        match expr:
            case And(parts=parts) | Or(parts=parts) if len(parts) >= 2:
                kind = "and" if isinstance(expr, And) else "or"
                return {"node": kind, "children": [self.predicate(p, depth + 1) for p in parts]}
            case Not(child=child):
                return {"node": "not", "expression": self.predicate(child, depth + 1)}
            case IsNull(child=child):
                operand = self._operand(child, depth)
                return {"node": "is_null", "expression": operand, "negated": False}
            case Compare(op=op, left=left, right=right):
                return self._comparison(OPERATORS[op], left, right, depth)
            case In(value=Column() as column, options=options, has_null=has_null) if options:
                values = [*options, None] if has_null else list(options)
                return self._membership(column, values)
            case Column(type=data_type) if data_type == BOOLEAN:
                return self._column(expr)[0]
            case Call(name=name, arguments=(left, right)) if name in _FUNCTIONS:
                return self._call(_FUNCTIONS[name], left, right)
            case Call(name="IsNaN", arguments=(Column() as column,)):
                # false for NULL, as IS NOT DISTINCT FROM NaN is
                nan = Literal(float("nan"), column.type)
                return self._comparison("not_distinct_from", column, nan, depth)
        raise NotEncodable(type(expr).__name__)

    def _operand(self, expr: Expr, depth: int) -> _Node:
        return (
            self._column(expr)[0] if isinstance(expr, Column) else self.predicate(expr, depth + 1)
        )

    def _comparison(self, op: str, left: Expr, right: Expr, depth: int) -> _Node:
        self.nodes += 2
        match left, right:
            case Column(), Column():
                (left_node, left_type), (right_node, right_type) = map(self._column, (left, right))
                if left_type != right_type or left.type != right.type:
                    raise NotEncodable("the columns have different types")
                return {"node": "comparison", "op": op, "left": left_node, "right": right_node}
            case Column(), Literal(value=value, type=data_type) if data_type == left.type:
                node, arrow = self._column(left)
                sides = node, self._literal(value, data_type, arrow)
            case Literal(value=value, type=data_type), Column() if data_type == right.type:
                node, arrow = self._column(right)
                sides = self._literal(value, data_type, arrow), node
            case _:
                sides = self._truth_value(left, depth), self._truth_value(right, depth)
        return {"node": "comparison", "op": op, "left": sides[0], "right": sides[1]}

    def _truth_value(self, expr: Expr, depth: int) -> _Node:
        if isinstance(expr, Literal):  # not a predicate: the reference worker keeps rows for NULL
            return self._literal(expr.value, expr.type, pa.bool_())
        if type_of(expr) != BOOLEAN:
            raise NotEncodable("the operands are not columns and constants")
        return self.predicate(expr, depth + 1)

    def _membership(self, column: Column, values: Sequence[Value]) -> _Node:
        node, arrow = self._column(column)
        items = constants(values, column.type, arrow)
        if items is None:
            raise NotEncodable("the column cannot hold a value of the IN list")
        whole = pa.ListArray.from_arrays(pa.array([0, len(items)], pa.int32()), items)
        listed = {"kind": "literal", "value_ref": self._value(whole)}
        return {"node": "in", "expression": node, "set": listed, "negated": False}

    def _call(self, function: str, *operands: Expr) -> _Node:
        self.nodes += 2
        written = []
        for each in operands:
            match each:
                case Column(type=data_type) if data_type == STRING:
                    written.append(self._column(each)[0])
                case Literal(value=value, type=data_type) if data_type == STRING:
                    written.append(self._literal(value, STRING, pa.string()))
                case _:
                    raise NotEncodable("the operands are not strings")
        return {"node": "call", "function": function, "arguments": written}

    def _literal(self, value: Value, data_type: DataType, arrow: Any) -> _Node:
        values = constants([value], data_type, arrow)
        if values is None:
            raise NotEncodable("the column cannot hold the constant")
        return {"node": "literal", "value_ref": self._value(values)}

    def _value(self, value: pa.Array) -> int:
        self.values.append(value)
        return self._first + len(self.values) - 1

    def _column(self, column: Column) -> tuple[_Node, Any]:
        """Return a column, and its Arrow type."""
        node = column_node(self._columns, column.path)
        arrow = _arrow_type_at(self._columns, column.path)
        if not is_compared(column.type, arrow):
            raise NotEncodable(f"the column is {arrow}")
        self.paths.add(column.path[0])
        self.nodes += len(column.path)
        self.names += sum(len(json.dumps(name)) for name in column.path)
        return node, arrow


def column_node(columns: pa.Schema, path: Sequence[str]) -> _Node:
    """Return the node of a column or of a field of a struct.

    Raises:
        NotEncodable: There is no such column, or another one has the same name in another case,
            which DuckDB does not distinguish.
    """
    name, *inner = path
    place = _place(columns, name)
    node = {"node": "column_ref", "column_index": place, "column_name": name}
    arrow = columns.field(place).type
    for each in inner:
        if not pa.types.is_struct(arrow):
            raise NotEncodable("the column is not a struct")
        place = _place(arrow, each)
        node = {"node": "field_ref", "expression": node, "field_index": place, "field_name": each}
        arrow = arrow.field(place).type
    return node


def _arrow_type_at(columns: pa.Schema, path: Sequence[str]) -> Any:
    arrow = columns.field(path[0]).type
    for each in path[1:]:
        arrow = arrow.field(arrow.get_field_index(each)).type
    return arrow


def _place(fields: Iterable[pa.Field], name: str) -> int:
    names = [each.name for each in fields]
    if name not in names or Counter(each.lower() for each in names)[name.lower()] != 1:
        raise NotEncodable(f"the column {name} is not the only one with its name")
    return names.index(name)
