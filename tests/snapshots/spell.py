"""An answer as text, without the last digits, which differ between machines."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.evaluation.domain.truth import TruthSet
from tamis.plan.known_true import KnownTrue
from tamis.reasons import Reason

#: Fields whose values follow from other fields, and what follows from earlier scans: nothing.
_LEFT_OUT = {"keys", "is_remembered", "learnt"}


def digest(answer: Any) -> str:
    """Return ten hexadecimal digits that identify an answer."""
    return hashlib.sha256(spelled(answer).encode("utf-8", "surrogatepass")).hexdigest()[:10]


def spelled(answer: Any) -> str:
    """Return the answer as text, the same on every machine.

    >>> spelled({"kept": np.array([True, False]), "share": 0.1 + 0.2})
    'kept=[True, False], share=0.3'
    """
    match answer:
        case Enum():
            return str(answer.value)
        case float():
            # Last digits of functions such as exp differ between processors.
            return f"{answer:.9g}"
        case np.ndarray():
            return spelled(answer.tolist())
        case pa.Array() | pa.ChunkedArray():
            return spelled([each.as_py() for each in _as_numbers(answer)])
        case pa.Table():
            return spelled({name: answer.column(name) for name in answer.column_names})
        case set() | frozenset():
            return spelled(sorted(map(spelled, answer)))
        case list() | tuple():
            return f"[{', '.join(map(spelled, answer))}]"
        case Mapping():
            return ", ".join(f"{spelled(key)}={spelled(value)}" for key, value in answer.items())
        case str():
            return answer
        case np.generic():
            return spelled(answer.item())
        case pa.Scalar():
            return spelled(answer.as_py())
        case Reason():
            return answer.code  # its sentences may change
        case TruthSet():
            return spelled([answer.can_be_true, answer.can_be_false, answer.can_be_null])
        case None | int() | bytes() | Decimal() | datetime.date():
            return repr(answer)
    if is_dataclass(answer) and not isinstance(answer, type):
        # Values only: a class or a field may get another name.
        names = [each.name for each in fields(answer) if each.name not in _LEFT_OUT]
        values = [getattr(answer, name) for name in names]
        return spelled([each for each in values if not isinstance(each, KnownTrue)])
    raise TypeError(f"no text for {type(answer)}")


def _as_numbers(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return dates and timestamps as numbers: Python lacks some of their years."""
    if pa.types.is_date32(array.type):
        return array.cast(pa.int32())
    return array.cast(pa.int64()) if pa.types.is_timestamp(array.type) else array
