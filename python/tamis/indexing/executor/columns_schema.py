"""The leaf columns that an index describes, and the types of their statistics.

Imports nothing from this package: it also runs on executors, which may have only pyarrow.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Leaf:
    """A leaf column of a table's Spark schema: outside lists and maps, of a type with an order.

    Attributes:
        path: The parts of its name, as the schema spells them.
        type: Spark's JSON name of the type, such as "decimal(9,2)".
        has_default: Spark reads a default value, not NULL, from files without the column (ALTER
            TABLE … ADD COLUMN … DEFAULT). So its absence from a file proves nothing.
    """

    path: tuple[str, ...]
    type: str
    has_default: bool = False

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def decimal(self) -> tuple[int, int] | None:
        """Precision and scale of a decimal; None for other types."""
        if not self.type.startswith("decimal("):
            return None
        precision, scale = self.type[len("decimal(") : -1].split(",")
        return int(precision), int(scale)


# Spark types, and Arrow types that can hold all of their values.
_ARROW: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    # bytes for both, because a writer may truncate the bound of a string inside a character
    "string": pa.binary(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def arrow_type(leaf: Leaf) -> pa.DataType:
    """Return the Arrow type of the bounds of a leaf.

    >>> arrow_type(Leaf(("a",), "decimal(9,2)"))
    Decimal128Type(decimal128(9, 2))
    """
    if leaf.decimal is not None:
        return pa.decimal128(*leaf.decimal)
    return _ARROW[leaf.type]


def leaves_of(schema_json: str) -> tuple[Leaf, ...]:
    """Return the leaves of a Spark schema (its JSON) that can have statistics.

    Left out are lists, maps and what is inside them, types without statistics (intervals, variants,
    collated strings …), columns that Spark may match by field id rather than by name, and leaves
    whose dotted names clash (a column `b.c` beside a struct `b` with a field `c`).

    >>> leaves_of('{"type":"struct","fields":[{"name":"a","type":"long","metadata":{}}]}')
    (Leaf(path=('a',), type='long', has_default=False),)
    """
    leaves = list(_walk(json.loads(schema_json), (), False))
    times = Counter(leaf.name for leaf in leaves)
    # with a case-insensitive resolver `A` and `a` clash too, but Spark itself rejects such a schema
    return tuple(leaf for leaf in leaves if times[leaf.name] == 1 and is_known(leaf.type))


def is_known(type_name: str) -> bool:
    """Return whether a Spark type can have statistics."""
    return type_name in _ARROW or type_name.startswith("decimal(")


def _walk(struct: dict[str, Any], parents: tuple[str, ...], has_default: bool) -> Iterator[Leaf]:
    for field in struct["fields"]:
        metadata = field.get("metadata") or {}
        if "parquet.field.id" in metadata:
            continue
        default = has_default or "EXISTS_DEFAULT" in metadata
        kind = field["type"]
        path = (*parents, field["name"])
        if isinstance(kind, str):
            # a collated string has the type "string", and its collation in the field's metadata
            if "__COLLATIONS" not in metadata:
                yield Leaf(path, kind, default)
        elif kind.get("type") == "struct":
            yield from _walk(kind, path, default)
