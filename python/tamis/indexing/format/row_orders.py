"""The order of the rows of each file: whether they are sorted by some columns.

Sorted means in the order of Spark's ORDER BY with its defaults, over the rows as Spark reads them:
NULLS FIRST for ASC and NULLS LAST for DESC, NaN after all other numbers, -0.0 equal to 0.0, strings
by their bytes. Rows with equal values may follow each other in any order. A file with one row or
without rows is sorted.

An index keeps one number for each file, 1 if its rows are sorted and 0 if not, as the bounds of an
expression with the key of the order. No expression of a query has such a key.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["SortColumn", "order_key", "order_name"]


@dataclass(frozen=True, slots=True)
class SortColumn:
    """A column of an order.

    Attributes:
        path: Its path.
        type: Spark's JSON name of its type. Read as another type, the values may be in another
            order.
        descending: Whether the greatest value comes first.
    """

    path: tuple[str, ...]
    type: str
    descending: bool


def order_key(columns: Sequence[SortColumn]) -> str:
    """Return the key of an order in an index.

    >>> order_key([SortColumn(("id",), "long", False)])
    'order [[["id"], "long", false]]'
    """
    return f"order {json.dumps([[list(c.path), c.type, c.descending] for c in columns])}"


def order_name(columns: Sequence[SortColumn]) -> str:
    """Return an order as users write it.

    >>> order_name([SortColumn(("day",), "date", False), SortColumn(("id",), "long", True)])
    'day, id DESC'
    """
    return ", ".join(f"{'.'.join(c.path)}{' DESC' if c.descending else ''}" for c in columns)
