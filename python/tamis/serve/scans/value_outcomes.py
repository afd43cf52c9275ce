"""Predicates over one column that Spark evaluates for the values that the files can hold.

1. The shim marks such predicates in a question. An answer names the values for which they would
   decide more files: those that the kept files can hold, if they are few.
2. The shim evaluates them and asks again, with the outcomes.
3. The outcomes are kept for later questions. They are facts about the predicates, so they stay
   true whatever happens to the files.
"""

from __future__ import annotations

import base64
import binascii
import threading
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import WireError
from tamis.evaluation.domain.bounds import Edge
from tamis.expr.nodes import Evaluated, Expr
from tamis.expr.outcomes import Outcome, Outcomes
from tamis.expr.rewrites import simplify
from tamis.expr.types import DataType
from tamis.files.columns import plain
from tamis.recent import Recent
from tamis.serve.scans.arrow_export import path_of, written
from tamis.wire.catalyst import Evaluable
from tamis.wire.messages import PlanRequest, ValueOutcomes

__all__ = ["learn_outcomes", "resolved", "unknown_values", "write_values"]

#: Predicates whose outcomes are kept, and values of one of them.
_MOST_PREDICATES: Final = 256
_MOST_VALUES: Final = 1 << 16

#: The metadata of a file of values that names their type.
_TYPE: Final = b"type"


class _Known:
    """The outcomes of predicates, by key. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outcomes = Recent[Outcomes](_MOST_PREDICATES)

    def of(self, evaluable: Evaluable) -> Outcomes | None:
        found = self._outcomes.get(evaluable.key)
        return None if found is None or found.type != evaluable.column.type else found

    def add(self, key: str, found: Outcomes) -> None:
        with self._lock:
            before = self._outcomes.get(key)
            if before is not None and before.type == found.type:
                joined = _joined(before, found)
                found = joined if len(joined.values) <= _MOST_VALUES else found
            self._outcomes.keep(key, found)


_known: Final = _Known()


def resolved(evaluable: Evaluable) -> Expr:
    """Return the predicate, with its outcomes if there are any."""
    outcomes, predicate = _known.of(evaluable), simplify(evaluable.predicate)
    return predicate if outcomes is None else Evaluated(predicate, evaluable.column, outcomes)


def learn_outcomes(request: PlanRequest) -> None:
    """Keep the outcomes that the shim has found.

    Raises:
        WireError: They do not fit the values.
        OSError, ValueError: The values cannot be read.
    """
    for each in request.outcomes:
        path = path_of(request.snapshot.directory, each.request, _kind(each.place))
        _known.add(each.key, _outcomes(each, path))


def _outcomes(sent: ValueOutcomes, path: Path) -> Outcomes:
    with pa.OSFile(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    data_type = DataType.parse((table.schema.metadata or {}).get(_TYPE, b"").decode())
    column = plain(table.column("value"))
    is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    values: Edge = column.to_numpy(zero_copy_only=False) if is_number else column
    try:
        codes = np.frombuffer(base64.b64decode(sent.codes, validate=True), np.uint8)
        of_null, of_nan = map(Outcome, codes[-2:].tolist())
    except (binascii.Error, ValueError) as error:
        raise WireError(f"the outcomes of {sent.key} cannot be read: {error}") from error
    if data_type is None or len(codes) != len(values) + 2 or codes.max() > max(Outcome):
        raise WireError(f"{len(codes)} outcomes for {len(values)} values of type {data_type}")
    return Outcomes(data_type, values, codes[:-2], of_null, of_nan)


def unknown_values(evaluable: Evaluable, pool: Edge) -> Edge:
    """Return the values of a pool for which nothing is known yet."""
    known = _known.of(evaluable)
    if known is None:
        return pool
    if isinstance(pool, pa.Array):
        return pool.filter(pc.invert(pc.is_in(pool, value_set=known.values)))
    left: Edge = np.setdiff1d(pool, known.values, assume_unique=True)
    return left


def write_values(values: Edge, data_type: DataType, request: PlanRequest, place: int) -> None:
    """Write values for the shim, which evaluates a predicate for each of them.

    Raises:
        OSError: They cannot be written.
    """
    table = pa.table({"value": values}).replace_schema_metadata({_TYPE: str(data_type)})
    written(table, request.snapshot.directory, request.id, _kind(place))


def _kind(place: int) -> str:
    return f"values{place}"


def _joined(one: Outcomes, other: Outcomes) -> Outcomes:
    """Return what both know of the same predicate. The other counts where both know a value."""
    if isinstance(one.values, pa.Array) and isinstance(other.values, pa.Array):
        codes = dict(zip(one.values.to_pylist(), one.codes.tolist(), strict=True))
        codes.update(zip(other.values.to_pylist(), other.codes.tolist(), strict=True))
        values = pa.array(sorted(codes), one.values.type)
        joined = np.array([codes[each] for each in values.to_pylist()], np.uint8)
        return replace(other, values=values, codes=joined)
    together = np.concatenate([other.values, one.values])
    values, places = np.unique(together, return_index=True)  # the first of equal values
    return replace(other, values=values, codes=np.concatenate([other.codes, one.codes])[places])
