"""Constants as expression documents write them, of the types that have ranges."""

from __future__ import annotations

from decimal import Decimal

from tamis.expr.nodes import Value

__all__ = ["constant", "optional"]


def constant(value: Value) -> int | str:
    """A bound: a whole number as a number, a decimal or a string as text."""
    if isinstance(value, Decimal):
        return format(value, "f")
    assert isinstance(value, int | str)
    return value


def optional(value: Value) -> int | str | None:
    """The same, null where there is no bound."""
    return None if value is None else constant(value)
