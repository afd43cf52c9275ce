"""Filters in VGI's encoding V1: a list in JSON, and its constants in Arrow columns beside it.

    a comparison    {"column_name": "n", "column_index": 0, "type": "constant", "op": "ge",
                     "value_ref": 3}, whose constant is the column _val_3
    IS NULL         {…, "type": "is_null"}, and "is_not_null"
    IN              {…, "type": "join_keys", "keys_column": "n"}, whose values are a batch of the
                    request with the column n
    AND, OR         {…, "type": "and", "children": […]}, whose children have the same column

The list has one filter per column, as that of DuckDB's client. `column_index` is the position of
the column among those that the worker returns.

V1 has neither NOT nor comparisons of columns. It does not specify how a worker evaluates NULL, NaN
and text, and implementations differ, so only forms on which they agree are sent:

    form                    why
    OR                      of comparisons of one column. Some workers take NULL OR true for NULL,
                            and with one column all operands are NULL together. IS NULL would be
                            an operand that is true then.
    FLOAT, DOUBLE           not > and >=, which are true of NaN in Spark, but not for all workers;
                            no NaN, no infinity, and no zero, which some distinguish from -0.0
    whole numbers           up to 2^53, and no UBIGINT: some workers compare as doubles
    DECIMAL, BLOB           none: some workers compare them by reference, or as text
    fields of structs       none: some workers evaluate fields of a struct that is NULL
    < <= > >= of a STRING   constants without characters from U+D800 on. For others, the orders of
                            UTF-8 and UTF-16 differ.
    startswith              as a range: the texts that start with 'ab' are those from 'ab' on and
                            below 'ac'
    IN                      without NULL, which makes no row pass. A second list of the same column
                            is written as OR, if it is short.
    <=>                     as = or IS NULL, which are true for the same rows
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
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
    columns_of,
)
from tamis.expr.rewrites import TRUE, simplify
from tamis.expr.types import BOOLEAN
from tamis.remote.vgi.filters.filter_document import OPERATORS, Mode, NotEncodable, column_node
from tamis.remote.vgi.filters.typed_constants import constants, is_compared
from tamis.remote.vgi.protocol.framing import stream_bytes

__all__ = ["FilterList"]

_METADATA: Final = {"vgi_filter_version": "1"}
_KEYS_METADATA: Final = {"vgi_join_keys_version": "2"}
_MOST_NODES: Final = 5_000
_MOST_LISTED: Final = 100  # values of an IN that is written as OR
_MOST_DEPTH: Final = 30
_MOST_BYTES: Final = 12 << 20  # of constants
_FIRST_SURROGATE: Final = "\ud800"
_GREATEST_IN_DOUBLE: Final = 1 << 53
_LAST_BELOW: Final = "\ud7ff"

#: `<=>` a constant is true for the same rows as `=`, because the constant is not NULL.
_OPERATORS: Final = OPERATORS | {Comparison.NULL_SAFE_EQUAL: "eq"}
_EQUALITIES: Final = frozenset({"eq", "ne"})
_LOWER_BOUNDS: Final = frozenset({"gt", "ge"})

_Node = dict[str, Any]


@dataclass
class FilterList:
    """The filters of a scan, whose columns are `columns`, the whole result of the function.

    - `paths`: the columns that the filters use.
    - `join_keys`: the batches that belong to the list.
    """

    columns: pa.Schema
    paths: set[str] = field(default_factory=set)
    join_keys: list[bytes] = field(default_factory=list)
    _filters: dict[str, list[_Node]] = field(default_factory=dict)
    _listed: set[str] = field(default_factory=set)
    _values: list[pa.Array] = field(default_factory=list)
    _bytes: int = 0
    _nodes: int = 0
    _length: int = 0

    def add(self, expr: Expr, mode: Mode) -> None:
        """Add a predicate, which the list is AND'ed with.

        Args:
            expr: The predicate.
            mode: Ignored: V1 does not distinguish what a worker must apply exactly.

        Raises:
            NotEncodable: The predicate has another form, or the list becomes too large. The list
                is as before.
        """
        whole = simplify(expr)
        parts = whole.parts if isinstance(whole, And) else (whole,)
        if whole == TRUE:
            raise NotEncodable("the predicate is a constant")
        self._extend(parts)

    def add_keys(self, column: str, keys: pa.Array) -> None:
        """Add the predicate that a column has one of these keys, none of which is NULL.

        Raises:
            NotEncodable: The column has a list already, workers differ in its type or in a key, or
                the list becomes too large.
        """
        if column in self._listed:
            raise NotEncodable(f"the column {column} has a list of values already")
        writer = self._writer()
        node = writer.keys((column,), keys)
        self._install([(column, node)], writer)

    def _writer(self) -> _Writer:
        return _Writer(self.columns, len(self._values), frozenset(self._listed))

    def _extend(self, parts: Sequence[Expr]) -> None:
        writer = self._writer()
        nodes = []
        for part in parts:
            paths = columns_of(part)
            if len(paths) != 1:
                raise NotEncodable("the operands do not have one column")
            nodes.append((paths[0][0], writer.predicate(part, 1)))
        self._install(nodes, writer)

    def _install(self, nodes: Sequence[tuple[str, _Node]], writer: _Writer) -> None:
        """Add what a writer has written, if there is space for it."""
        size = sum(each.nbytes for each in (*writer.values, *writer.keys_of.values()))
        if self._nodes + writer.nodes > _MOST_NODES or self._bytes + size > _MOST_BYTES:
            raise NotEncodable("the filters are too large")
        for name, node in nodes:
            self._filters.setdefault(name, []).append(node)
            self.paths.add(name)
        for name, keys in writer.keys_of.items():
            schema = pa.schema([pa.field(name, keys.type)], metadata=_KEYS_METADATA)
            self.join_keys.append(stream_bytes(pa.RecordBatch.from_arrays([keys], schema=schema)))
            self._listed.add(name)
        self._values += writer.values
        self._bytes += size
        self._nodes += writer.nodes
        self._length += 1

    def __len__(self) -> int:
        return self._length

    def encoded(self, places: Sequence[int] | None = None) -> bytes | None:
        """Return the list for a request; None if there are no filters.

        Args:
            places: The positions of the columns that the worker returns; None: all.
        """
        if not self._filters:
            return None
        returned = list(range(len(self.columns)) if places is None else places)
        specs = []
        for name, nodes in self._filters.items():
            node = nodes[0] if len(nodes) == 1 else {"type": "and", "children": nodes}
            index = returned.index(self.columns.get_field_index(name))
            specs.append(_located(node, {"column_name": name, "column_index": index}))
        fields = [pa.field("filter_spec", pa.string(), nullable=False, metadata=_METADATA)]
        fields += [pa.field(f"_val_{n}", each.type) for n, each in enumerate(self._values)]
        arrays = [pa.array([json.dumps(specs)]), *self._values]
        return stream_bytes(pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields)))


class _Writer:
    """Writes predicates of one column each. Raises NotEncodable for forms that are not sent."""

    def __init__(self, columns: pa.Schema, first_value: int, listed: frozenset[str]) -> None:
        self.values: list[pa.Array] = []
        self.keys_of: dict[str, pa.Array] = {}
        self.nodes = 0
        self._columns = columns
        self._first = first_value
        self._listed = listed

    def predicate(self, expr: Expr, depth: int, *, in_or: bool = False) -> _Node:
        """Return a predicate that is true for the same rows. All its columns are the same one."""
        if depth > _MOST_DEPTH or self.nodes > _MOST_NODES:
            raise NotEncodable("the predicate is too large")
        match expr:
            case And(parts=parts) | Or(parts=parts) if len(parts) >= 2:
                is_or = isinstance(expr, Or)
                inside = [self.predicate(each, depth + 1, in_or=in_or or is_or) for each in parts]
                return self._combined("or" if is_or else "and", inside)
            case IsNull(child=Column() as column) if not in_or:
                return self._leaf(column, {"type": "is_null"})
            case Not(child=IsNull(child=Column() as column)):
                return self._leaf(column, {"type": "is_not_null"})
            case Column(type=data_type) if data_type == BOOLEAN:
                return self._comparison(Comparison.EQUAL, expr, True)
            case Compare(op=op, left=Column() as column, right=Literal(value=value, type=of)):
                if of == column.type:
                    return self._comparison(op, column, value)
            case Compare(op=op, left=Literal(value=value, type=of), right=Column() as column):
                if of == column.type:
                    return self._comparison(op.swapped, column, value)
            case In(value=Column() as column, options=options) if options:
                return self._membership(column, options, in_or=in_or)
            case Not(child=In(value=Column() as column, options=options, has_null=False)):
                return self._each("and", Comparison.NOT_EQUAL, column, options)
            case Call(name="StartsWith", arguments=(Column() as column, Literal(value=str(text)))):
                return self._prefix(column, text)
        raise NotEncodable(type(expr).__name__)

    def keys(self, path: Sequence[str], keys: pa.Array) -> _Node:
        self._require_agreed(path)
        if not all(_is_agreed(each, "eq") for each in keys.to_pylist()):
            raise NotEncodable("workers differ in a value of the list")
        self.nodes += 1
        self.keys_of[path[0]] = keys
        return {"type": "join_keys", "keys_column": path[0]}

    def _membership(self, column: Column, options: Sequence[Value], *, in_or: bool) -> _Node:
        name = column.path[0]
        if in_or or name in self._listed or name in self.keys_of:
            return self._each("or", Comparison.EQUAL, column, options)
        return self.keys(column.path, self._constants(column, list(dict.fromkeys(options))))

    def _each(self, kind: str, op: Comparison, column: Column, options: Sequence[Value]) -> _Node:
        if not 0 < len(options) <= _MOST_LISTED:
            raise NotEncodable("the IN list is too long")
        return self._combined(kind, [self._comparison(op, column, each) for each in options])

    def _prefix(self, column: Column, text: str) -> _Node:
        if not text or text[-1] >= _LAST_BELOW:
            raise NotEncodable("the end of the range is not below the surrogates")
        end = text[:-1] + chr(ord(text[-1]) + 1)
        ends = {Comparison.GREATER_EQUAL: text, Comparison.LESS: end}
        return self._combined(
            "and", [self._comparison(op, column, value) for op, value in ends.items()]
        )

    def _combined(self, kind: str, children: list[_Node]) -> _Node:
        self.nodes += 1
        return children[0] if len(children) == 1 else {"type": kind, "children": children}

    def _comparison(self, op: Comparison, column: Column, value: Value) -> _Node:
        operator = _OPERATORS[op]
        if not _is_agreed(value, operator):
            raise NotEncodable("workers differ in the comparison")
        self.values.append(self._constants(column, [value]))
        place = self._first + len(self.values) - 1
        return self._leaf(column, {"type": "constant", "op": operator, "value_ref": place})

    def _constants(self, column: Column, values: Sequence[Value]) -> pa.Array:
        self._require_agreed(column.path)
        typed = constants(values, column.type, self._columns.field(column.path[0]).type)
        if typed is None:
            raise NotEncodable("the column cannot hold a constant")
        return typed

    def _leaf(self, column: Column, node: _Node) -> _Node:
        """Return a test of a column."""
        self.nodes += 1
        self._require_agreed(column.path)
        if not is_compared(column.type, self._columns.field(column.path[0]).type):
            raise NotEncodable("the type of the column is not sent")
        return node

    def _require_agreed(self, path: Sequence[str]) -> None:
        """Raise NotEncodable if workers differ in a column, whatever it is compared with."""
        column_node(self._columns, path)
        if len(path) > 1:
            raise NotEncodable("workers differ in fields of structs that are NULL")
        if pa.types.is_uint64(self._columns.field(path[0]).type):
            raise NotEncodable("workers differ in the type of the column")


def _is_agreed(value: Value, operator: str) -> bool:
    """Return whether workers agree with Spark on a comparison, for every value of the column."""
    match value:
        case None:
            return False
        case bool():
            return operator in _EQUALITIES
        case int():
            return abs(value) <= _GREATEST_IN_DOUBLE  # some workers compare as doubles
        case bytes() | Decimal():
            return False  # some workers compare them by reference, or as text
        case float():
            # NaN > value in Spark, but some workers lose it. For all other operators, NaN
            # passes <> only, also in workers that take every other comparison with NaN for false.
            return math.isfinite(value) and value != 0 and operator not in _LOWER_BOUNDS
        case str() if operator not in _EQUALITIES:
            # The first difference decides. If the character of the constant there is below the
            # surrogates, UTF-8 and UTF-16 have it on the same side of every other character.
            return all(each < _FIRST_SURROGATE for each in value)
    return True


def _located(node: _Node, place: _Node) -> _Node:
    """Return a node that has, at every level, the column that it tests."""
    located = {**place, **node}
    if "children" in node:
        located["children"] = [_located(each, place) for each in node["children"]]
    return located
