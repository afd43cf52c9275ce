"""Contracts: what a user declares about a function whose code tamis cannot analyze.

Pruning relies on a contract, so tamis.declarations first tries to refute it. A contract never makes
a predicate exact: the filter always stays.
"""

from __future__ import annotations

import datetime
import inspect
import types
import typing
from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from tamis.errors import DeclarationError
from tamis.expr.types import DataType

__all__ = ["FAMILIES", "Contract", "family_of"]

#: Families of types. A Python function gets all values of a family as one Python type.
FAMILIES: Final = (
    "boolean",
    "integral",
    "floating",
    "decimal",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
)
_OF_ANNOTATION: Final[dict[object, tuple[str, ...]]] = {
    bool: ("boolean",),
    int: ("integral",),
    float: ("floating",),
    Decimal: ("decimal",),
    str: ("string",),
    bytes: ("binary",),
    datetime.date: ("date",),
    datetime.datetime: ("timestamp", "timestamp_ntz"),
}
_SQL_NAMES: Final = {
    "int": "integer",
    "bigint": "long",
    "smallint": "short",
    "tinyint": "byte",
    "real": "float",
}


@dataclass(frozen=True, slots=True, eq=False)
class Contract:
    """A declaration that a function is monotone, or that another function bounds its results.

    It is about one argument. All other arguments are constants. Exactly one of `monotone` and
    `image` is given. Both get Python values, as a Python UDF does. f(x) may be NULL for any x. NaN
    is the greatest value, as in Spark. Where `monotone` or `image` raises, nothing is known.

    Attributes:
        name: The registered name, or the name of the Python function of an unregistered `udf(…)`.
        monotone: The function itself, or one that computes the same. It is non-decreasing in its
            argument (non-increasing if `increasing=False`), so it maps edges to edges.
        image: `(lower, upper, *constants) -> (lower, upper)` or None. For every x between the given
            edges, f(x) lies between the returned edges. None in place of the pair or of one of
            its edges means not known.
        increasing: Whether `monotone` is non-decreasing. If False, it is non-increasing.
        argument: The position of the argument that varies, counted from 0.
        types: The SQL types of that argument for which the contract holds (`["BIGINT"]`). The
            default is the annotation of `monotone`, or all types. Only the family counts: a
            contract for any of TINYINT, SMALLINT, INT and BIGINT is used for all four, and one for
            FLOAT also for DOUBLE. It has to hold for every value of the family. After construction,
            the attribute has the names of the families; they may also be passed.
        constants: For each other argument, a collection of the constants for which the contract
            holds.
        null_to_null: f(NULL) is NULL. If False, `monotone` is called with None; for an `image`,
            f(NULL) is not known, so a file that may hold NULL is read.
        function_digest: Internal: identifies the Python function for which `tamis.declare` was
            called, because another one may be registered under the same name later. None: the
            contract applies to any function with this name.

    >>> Contract("tens", monotone=lambda x: x // 10, types=["INT"]).types
    ('integral',)
    >>> Contract("tens")
    Traceback (most recent call last):
    tamis.errors.DeclarationError: tens: pass exactly one of monotone=… and image=…
    """

    name: str
    monotone: Callable[..., Any] | None = None
    image: Callable[..., Any] | None = None
    increasing: bool = True
    argument: int = 0
    types: Collection[str] = ()
    constants: Sequence[Container[Any]] | None = None
    null_to_null: bool = False
    function_digest: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if (self.monotone is None) == (self.image is None):
            raise DeclarationError(f"{self.name}: pass exactly one of monotone=… and image=…")
        if not callable(self.monotone or self.image):
            raise DeclarationError(f"{self.name}: monotone and image must be functions")
        if self.argument < 0:
            raise DeclarationError(f"{self.name}: argument must not be negative: it counts from 0")
        if isinstance(self.types, str):
            raise DeclarationError(f'{self.name}: types must be a list, such as ["BIGINT"]')
        families = [self._family(each) for each in self.types]
        if not families and self.monotone is not None:
            families = list(_annotated(self.monotone, self.argument))
        object.__setattr__(self, "types", tuple(dict.fromkeys(families or FAMILIES)))

    def _family(self, name: str) -> str:
        lowered = name.strip().lower()
        data_type = DataType.parse(_SQL_NAMES.get(lowered, lowered))
        if data_type is not None:
            return family_of(data_type)
        if lowered in FAMILIES:
            return lowered
        raise DeclarationError(
            f"{self.name}: {name!r} is not an argument type: use SQL names such as BIGINT"
        )

    def covers(self, data_type: DataType, constants: tuple[Any, ...]) -> bool:
        """Return whether the contract holds for an argument of this type with these constants."""
        if family_of(data_type) not in self.types:
            return False
        if self.constants is None:
            return True
        try:
            return len(constants) == len(self.constants) and all(
                value in allowed for value, allowed in zip(constants, self.constants, strict=True)
            )
        except TypeError:  # the collection cannot contain such a value
            return False


def family_of(data_type: DataType) -> str:
    """Return the family of a type.

    >>> from tamis.expr.types import BYTE, decimal
    >>> family_of(BYTE), family_of(decimal(10, 2))
    ('integral', 'decimal')
    """
    if data_type.is_integral:
        return "integral"
    return "floating" if data_type.is_floating else data_type.name


def _annotated(function: Callable[..., Any], argument: int) -> tuple[str, ...]:
    """Return the families of the annotated type of an argument; empty if it is not known."""
    try:
        parameter = list(inspect.signature(function).parameters)[argument]
        hint = typing.get_type_hints(function).get(parameter)
    except (TypeError, ValueError, NameError, AttributeError, IndexError):
        return ()
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        hints = [each for each in typing.get_args(hint) if each is not types.NoneType]
    else:
        hints = [hint]
    families = [_OF_ANNOTATION.get(each) for each in hints]
    # One unknown member of a union makes the whole annotation unknown.
    return tuple(f for each in families if each for f in each) if None not in families else ()
