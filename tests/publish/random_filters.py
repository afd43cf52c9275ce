"""Random filter documents of VGI, and the same predicates as SQL of DuckDB."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from tests.wire.vgi.documents import Node, batch, column, literal, predicate, snapshot

UTC = datetime.UTC
_TIMES = [
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime.datetime(1970, 1, 1),
    datetime.datetime(2024, 2, 29, 12, 30, 0, 1),
]
_NANOSECONDS = [-1001, -1000, -999, -1, 0, 1, 999, 1000, 1001, 86_400_000_000_000]

#: The values that occur in rows and in constants, by column.
POOLS: dict[str, tuple[Any, list[Any]]] = {
    "i": (pa.int32(), [-5, 0, 1, 2, 7, 2**31 - 1, -(2**31)]),
    "h": (pa.int16(), [-5, 0, 1, 2, 7]),
    "n": (pa.int64(), [-5, 0, 1, 2, 7, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]),
    "u": (pa.uint64(), [0, 1, 2, 2**63, 2**64 - 1]),
    "f": (pa.float32(), [-0.0, 0.0, 1.0, 1.5, 0.1, math.nan, math.inf, -math.inf]),
    "x": (pa.float64(), [-0.0, 0.0, 1.0, 2.0**53, 0.1, math.nan, math.inf, -math.inf]),
    "d": (pa.decimal128(10, 2), [Decimal(each) for each in ("-1.50", "0", "1", "1.5", "7.25")]),
    "e": (pa.decimal128(25, 3), [Decimal(each) for each in ("-1.5", "0", "1.001", "9e20")]),
    "b": (pa.bool_(), [False, True]),
    "s": (pa.string(), ["", "a", "ab", "abc", "b", "é", "\U0010ffff", "a\0b", "A"]),
    "z": (pa.binary(), [b"", b"a", b"ab", b"\xff", b"\x00"]),
    "day": (pa.date32(), [each.date() for each in _TIMES]),
    "t": (pa.timestamp("us"), _TIMES),
    "m": (pa.timestamp("ms"), [each.replace(microsecond=1000) for each in _TIMES]),
    "w": (pa.timestamp("ns"), _NANOSECONDS),
    "tz": (pa.timestamp("us", "UTC"), [each.replace(tzinfo=UTC) for each in _TIMES]),
    "k": (pa.dictionary(pa.int8(), pa.string()), ["a", "ab"]),
    "l": (pa.list_(pa.int32()), [[], [1, None], [2, 7], [None]]),
    "lx": (pa.list_(pa.float64()), [[1.0], [2.0, math.nan], [None, 7.0]]),
    "tm": (pa.time64("us"), [datetime.time(0), datetime.time(12, 30, 0, 1)]),
    "p": (
        pa.struct({"a": pa.int64(), "q": pa.struct({"r": pa.string()})}),
        [{"a": 1, "q": {"r": "ab"}}, {"a": None, "q": None}, {"a": 7, "q": {"r": None}}],
    ),
    "iv": (
        pa.month_day_nano_interval(),
        [
            (1, 0, 0),
            (0, 30, 0),
            (0, 29, 86_400_000_000_000),
            (-1, 0, 0),
            (0, -29, -86_400_000_000_000),
        ],
    ),
}
SCHEMA = pa.schema({name: data_type for name, (data_type, _) in POOLS.items()})
_OPS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_DISTINCT = {"distinct_from": "DISTINCT", "not_distinct_from": "NOT DISTINCT"}
_SCALARS = [name for name in POOLS if name != "p"]
_NUMBERS = ("i", "h", "n", "u", "f", "x", "d", "e")
_TEXTS = ("s", "k")


def random_rows(random: Random, count: int) -> pa.RecordBatch:
    columns = [
        array_of(name, [_maybe(random, name) for _ in range(count)], data_type)
        for name, (data_type, _) in POOLS.items()
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def array_of(name: str, values: list[Any], data_type: Any) -> pa.Array:
    if name == "w":
        return pa.array(values, pa.int64()).cast(data_type)
    return pa.array(values, data_type)


def _maybe(random: Random, name: str) -> Any:
    return None if random.random() < 0.2 else random.choice(POOLS[name][1])


@dataclass(slots=True)
class Filter:
    """A document under construction: each method returns a node and its SQL."""

    random: Random
    payloads: dict[str, pa.Array] = field(default_factory=dict)

    def content(self, node: Node) -> bytes:
        return batch(snapshot(predicate(node)), self.payloads)

    def predicate(self, depth: int = 0) -> tuple[Node, str]:
        kinds = ["comparison", "comparison", "in", "null", "text", "list", "bool", "arithmetic"]
        if depth < 3:
            kinds += ["and", "or", "not"] * 2
        match self.random.choice(kinds):
            case "and" | "or" as kind:
                parts = [self.predicate(depth + 1) for _ in range(self.random.randint(2, 3))]
                node = {"node": kind, "children": [each for each, _ in parts]}
                return node, "(" + f" {kind.upper()} ".join(sql for _, sql in parts) + ")"
            case "not":
                below, sql = self.predicate(depth + 1)
                return {"node": "not", "expression": below}, f"(NOT {sql})"
            case "in":
                return self._in()
            case "null":
                return self._null()
            case "text":
                return self._text()
            case "list":
                return self._list()
            case "bool":
                return self._column("b")
            case "arithmetic":
                return self._arithmetic()
        return self._comparison()

    def _comparison(self) -> tuple[Node, str]:
        name = self.random.choice([*_SCALARS, "p"])
        left, left_sql = self._column(name)
        if self.random.random() < 0.3:
            right, right_sql = self._column(self._like(name))
        else:
            right, right_sql = self._literal(self._like(name))
        if self.random.random() < 0.3:
            left, left_sql, right, right_sql = right, right_sql, left, left_sql
        op = self.random.choice([*_OPS, *_DISTINCT])
        sql = (
            f"({left_sql} {_OPS[op]} {right_sql})"
            if op in _OPS
            else f"({left_sql} IS {_DISTINCT[op]} FROM {right_sql})"
        )
        return {"node": "comparison", "op": op, "left": left, "right": right}, sql

    def _like(self, name: str) -> str:
        """Return a column whose values can be compared with those of another one."""
        if self.random.random() < 0.6 and name != "p":
            return name
        for family in (_NUMBERS, _TEXTS, ("day", "t", "m", "w"), ("l", "lx")):
            if name in family:
                return self.random.choice(family)
        return "n" if name == "p" else name

    def _column(self, name: str) -> tuple[Node, str]:
        node, sql = column(SCHEMA.get_field_index(name), name), f'c."{name}"'
        if name != "p":
            return node, sql
        return self._field(node, 0, "a"), f"struct_extract({sql}, 'a')"

    def _field(self, node: Node, index: int, name: str) -> Node:
        return {"node": "field_ref", "expression": node, "field_index": index, "field_name": name}

    def _payload(self, array: pa.Array) -> int:
        self.payloads[f"value_{len(self.payloads)}"] = array
        return len(self.payloads) - 1

    def _literal(self, name: str) -> tuple[Node, str]:
        name = "n" if name == "p" else name
        data_type = POOLS[name][0]
        if pa.types.is_dictionary(data_type):
            data_type = data_type.value_type
        reference = self._payload(array_of(name, [_maybe(self.random, name)], data_type))
        return literal(reference), f"v.value_{reference}"

    def _in(self) -> tuple[Node, str]:
        name = self.random.choice(_SCALARS)
        node, sql = self._column(name)
        other = self._like(name)
        data_type = POOLS[other][0]
        if pa.types.is_dictionary(data_type):
            data_type = data_type.value_type
        count = self.random.randint(0, 4)
        values = array_of(other, [_maybe(self.random, other) for _ in range(count)], data_type)
        reference = self._payload(pa.ListArray.from_arrays([0, count], values))
        negated = self.random.random() < 0.5
        options = {"kind": "literal", "value_ref": reference}
        found = {"node": "in", "expression": node, "set": options, "negated": negated}
        if count == 0:
            return found, str(negated)
        listed = ", ".join(f"v.value_{reference}[{place + 1}]" for place in range(count))
        return found, f"({sql} {'NOT ' if negated else ''}IN ({listed}))"

    def _null(self) -> tuple[Node, str]:
        name = self.random.choice([*POOLS, "r"])
        if name == "r":
            outer, sql = column(SCHEMA.get_field_index("p"), "p"), 'c."p"'
            node = self._field(self._field(outer, 1, "q"), 0, "r")
            sql = f"struct_extract(struct_extract({sql}, 'q'), 'r')"
        else:
            node, sql = column(SCHEMA.get_field_index(name), name), f'c."{name}"'
        negated = self.random.random() < 0.5
        found = {"node": "is_null", "expression": node, "negated": negated}
        return found, f"({sql} IS {'NOT ' if negated else ''}NULL)"

    def _text(self) -> tuple[Node, str]:
        function = self.random.choice(["starts_with", "ends_with", "contains"])
        left, left_sql = self._column(self.random.choice(_TEXTS))
        side = self._column if self.random.random() < 0.3 else self._literal
        right, right_sql = side("s")
        node = {"node": "call", "function": function, "arguments": [left, right]}
        return node, f"{function}({left_sql}, {right_sql})"

    def _list(self) -> tuple[Node, str]:
        lists, sql = self._column("l")
        needle, needle_sql = self._literal("i")
        node = {"node": "call", "function": "list_contains", "arguments": [lists, needle]}
        return node, f"list_contains({sql}, {needle_sql})"

    def _arithmetic(self) -> tuple[Node, str]:
        """Return a comparison of a sum, difference or product that does not overflow."""
        op, sign = self.random.choice([("add", "+"), ("subtract", "-"), ("multiply", "*")])
        names = ("h", "h", "x", "f", "d") if op != "multiply" else ("h", "h", "x", "d")
        one, other = self.random.choice(names), self.random.choice(("h", names[2], "d"))
        (left, left_sql), (right, right_sql) = self._column(one), self._column(other)
        node: Node = {"node": "arithmetic", "op": op, "left": left, "right": right}
        sql = f"({left_sql} {sign} {right_sql})"
        if self.random.random() < 0.3:
            node, sql = {"node": "negate", "expression": node}, f"(-{sql})"
        number, number_sql = self._literal(self.random.choice(("h", "x", "e")))
        compared = {"node": "comparison", "op": "lt", "left": node, "right": number}
        return compared, f"({sql} < {number_sql})"
