"""The sets of IN: a constant list, or a column of the join keys."""

from __future__ import annotations

import pyarrow as pa

from tamis.wire.vgi.document import Malformed, Node
from tamis.wire.vgi.reader import Reader

__all__ = ["options_of"]


def options_of(reader: Reader, options: Node) -> pa.Array:
    """Return the options of a set.

    Raises:
        Malformed: The constant is not a list.
    """
    if options["kind"] == "external":
        keys: pa.Array = reader.keys[options["batch_index"]].column(options["column_index"])
        return keys
    array = reader.container.value(options["value_ref"])
    types = pa.types
    if not (
        types.is_list(array.type)
        or types.is_large_list(array.type)
        or types.is_fixed_size_list(array.type)
    ):
        raise Malformed(f"value_{options['value_ref']} must be a list scalar")
    if not array[0].is_valid:
        raise Malformed(f"value_{options['value_ref']}: the list must not be NULL")
    return array[0].values
