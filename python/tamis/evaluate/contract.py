"""What a person declares of a function that nobody here can read: a contract.

A contract is believed where it prunes, so it is refuted first, if that can be done (see
tamis.declarations), and it never makes a predicate exact: the filter always stays.
"""

from __future__ import annotations

import datetime
import inspect
import types
import typing
from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from tamis.errors import DeclarationError
from tamis.expr.types import DataType

__all__ = ["FAMILIES", "Contract", "family_of"]

#: Types whose values a Python function gets in the same form.
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
    """A function is monotone in one argument, or has a range image; the others are constants.

    `name`: as registered; of a `udf(…)` that was not, the name of its Python function.

    One of these two; both get Python values, as a Python UDF does:

    - `monotone`: the function itself, or one that computes the same. It never falls over the values
      of its argument (`increasing=False`: never rises), so f of the edges are the edges of f.
    - `image`: `(lower, upper, *constants) -> (lower, upper)` or None. For every x from lower to
      upper, f(x) lies from lower to upper of what it gives; None, or a None in it, is not known.

    And, where needed:

    - `argument`: which of its arguments varies, counted from 0.
    - `types`: SQL types of that argument for which this holds (`["BIGINT"]`); if not given, those
      of the annotation of `monotone`, or else all. Widths do not matter: BIGINT stands for INT too.
    - `constants`: one collection for each other argument: the constants for which this holds.
    - `null_to_null`: f(NULL) is NULL. Else `monotone` is asked; of an `image` it is not known, so
      that a file that may hold NULL is read.

    f(x) may always be NULL. NaN is the greatest of values, as in Spark. Where `monotone` or `image`
    raises, nothing is known.

    >>> Contract("tens", monotone=lambda x: x // 10, types=["INT"]).types
    ('integral',)
    >>> Contract("tens")
    Traceback (most recent call last):
    tamis.errors.DeclarationError: tens: give monotone=… or image=…, one of the two
    """

    name: str
    monotone: Callable[..., Any] | None = None
    image: Callable[..., Any] | None = None
    increasing: bool = True
    argument: int = 0
    types: Collection[str] = ()
    constants: Sequence[Container[Any]] | None = None
    null_to_null: bool = False
    #: Tells the Python function that was declared from another that is registered under its name.
    body: str | None = None

    def __post_init__(self) -> None:
        if (self.monotone is None) == (self.image is None):
            raise DeclarationError(f"{self.name}: give monotone=… or image=…, one of the two")
        if not callable(self.monotone or self.image):
            raise DeclarationError(f"{self.name}: monotone and image are functions")
        if self.argument < 0:
            raise DeclarationError(f"{self.name}: arguments are counted from 0")
        if isinstance(self.types, str):
            raise DeclarationError(f'{self.name}: types is a list, such as ["BIGINT"]')
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
            f"{self.name}: {name!r} is no type of an argument: give SQL names such as BIGINT"
        )

    def covers(self, data_type: DataType, constants: tuple[Any, ...]) -> bool:
        """Whether it says anything of a call with an argument of this type and these constants."""
        if family_of(data_type) not in self.types:
            return False
        if self.constants is None:
            return True
        try:
            return len(constants) == len(self.constants) and all(
                value in allowed for value, allowed in zip(constants, self.constants, strict=True)
            )
        except TypeError:  # no value that the collection could hold
            return False


def family_of(data_type: DataType) -> str:
    """The family of a type.

    >>> from tamis.expr.types import BYTE, decimal
    >>> family_of(BYTE), family_of(decimal(10, 2))
    ('integral', 'decimal')
    """
    if data_type.is_integral:
        return "integral"
    return "floating" if data_type.is_floating else data_type.name


def _annotated(function: Callable[..., Any], argument: int) -> tuple[str, ...]:
    """The families of the annotation of an argument; none if there is no such annotation."""
    try:
        parameter = list(inspect.signature(function).parameters)[argument]
        hint = typing.get_type_hints(function).get(parameter)
    except (TypeError, ValueError, NameError, AttributeError, IndexError):
        return ()
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        hints = [each for each in typing.get_args(hint) if each is not types.NoneType]
    else:
        hints = [hint]
    found = [_OF_ANNOTATION.get(each) for each in hints]
    # One that is not understood, and nothing is.
    return tuple(f for each in found if each for f in each) if None not in found else ()
