"""The order of Spark's values."""

from __future__ import annotations

import math
from typing import Any


def order_key(value: Any) -> Any:
    """Return a key that Python orders as Spark orders the value."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value
