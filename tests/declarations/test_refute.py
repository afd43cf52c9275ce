"""Contracts contradicted by a value are rejected, and the error names the value."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from tamis.declarations.edge_cases import random_values
from tamis.declarations.refute import check
from tamis.errors import DeclarationError
from tamis.evaluation.udf.udf_contract import FAMILIES, Contract

HOLDS: list[tuple[list[str], Callable[..., Any]]] = [
    (["INT"], lambda x: x // 10),
    (["INT"], lambda x: 0),
    (["INT"], lambda x: None if x < 0 else x),
    (["DOUBLE"], math.floor),
    (["DOUBLE"], lambda x: math.sqrt(x)),
    (["DOUBLE"], lambda x: math.nan if x > 9 else x),
    (["DECIMAL"], lambda x: round(x, 1)),
    (["STRING"], lambda x: x[:3]),
    (["BINARY"], lambda x: x[:1]),
    (["BOOLEAN"], lambda x: x),
    (["DATE"], lambda x: x.year),
    (["DATE"], lambda x: x.replace(day=1)),
    (["TIMESTAMP"], lambda x: x.replace(minute=0, second=0, microsecond=0)),
    (["TIMESTAMP_NTZ"], lambda x: x.date()),
]
REFUTED: list[tuple[list[str], Callable[..., Any], str]] = [
    (["INT"], lambda x: x % 10, r"f\(-1\) = 9 and f\(0\) = 0"),
    (["INT"], abs, r"f\(-\d+\) = \d+ and f\(-?\d+\) = \d+"),
    (["BIGINT"], lambda x: (x + 2**63) % 2**64 - 2**62 if x < 2**62 else 0, "never to decrease"),
    (["INT"], str, r"f\(\d+\) = '\d+' and f\(\d+\) = '\d+'"),
    (["DOUBLE"], lambda x: 1 / x, "never to decrease"),
    (["DOUBLE"], lambda x: -math.copysign(1.0, x), "f"),
    (["DOUBLE"], lambda x: math.nan if x < 0 else x, "= nan"),
    (["DECIMAL"], lambda x: x * x, "never to decrease"),
    (["STRING"], str.lower, "never to decrease"),
    (["STRING"], len, "never to decrease"),
    (["STRING"], lambda x: x + "z", "never to decrease"),
    # UTF-16 sorts characters beyond the surrogates before U+E000.
    (["STRING"], lambda x: x.encode("utf-16-be"), "never to decrease"),
    (["DATE"], lambda x: x.month, "never to decrease"),
    (["DATE"], lambda x: x.strftime("%d.%m.%Y"), "never to decrease"),
    (["TIMESTAMP"], lambda x: x.hour, "never to decrease"),
    (["INT"], lambda x: "a" if x < 0 else 1, "cannot be compared"),
    (["INT"], lambda x: 1 // 0, "raised an error or returned None"),
    (["STRING"], lambda x, n: x[n], r"f\("),
]


@pytest.mark.parametrize(("types", "f"), HOLDS)
def test_monotone_functions_are_accepted(types: list[str], f: Callable[..., Any]) -> None:
    check(Contract("f", monotone=f, types=types))
    falling = Contract("f", monotone=_negated(f), increasing=False, types=types)
    if types[0] in ("INT", "DECIMAL"):
        check(falling)


def _negated(f: Callable[..., Any]) -> Callable[..., Any]:
    def negated(x: Any) -> Any:
        result = f(x)
        return None if result is None else -result

    return negated


@pytest.mark.parametrize(("types", "f", "says"), REFUTED)
def test_other_functions_are_refuted(types: list[str], f: Callable[..., Any], says: str) -> None:
    for seed in range(5):
        with pytest.raises(DeclarationError, match=says):
            check(Contract("f", monotone=f, types=types), seed=seed)


def test_direction_is_checked() -> None:
    with pytest.raises(DeclarationError, match="never to increase"):
        check(Contract("f", monotone=lambda x: x, increasing=False, types=["INT"]))


def test_images_are_checked_against_the_function() -> None:
    def hull(low: int, high: int) -> tuple[int, int]:
        return 0, max(abs(low), abs(high))

    check(Contract("f", image=hull, types=["INT"]), body=abs)
    check(Contract("f", image=lambda low, high: None, types=["INT"]), body=abs)
    check(Contract("f", image=lambda low, high: (0, None), types=["INT"]), body=abs)
    wrong: list[tuple[Callable[..., Any], str]] = [
        (lambda low, high: (abs(low), abs(high)), "the lower bound is above|Widen the image"),
        (lambda low, high: (0, high), "the lower bound is above|Widen the image"),
        (lambda low, high: (1, None), r"is 1 to None, but f\(0\) = 0\. Widen"),
        (lambda low, high: low, "is neither a pair"),
        (lambda low, high: 1 // 0, "raised an error or returned None"),
    ]
    for image, says in wrong:
        with pytest.raises(DeclarationError, match=says):
            check(Contract("f", image=image, types=["INT"]), body=abs)


def test_function_is_checked_with_the_declared_constants() -> None:
    def shift(x: int, n: int) -> int:
        return x * n

    with pytest.raises(DeclarationError, match=r"f\(.*, -1\) = "):
        check(Contract("f", monotone=shift, types=["INT"]))
    for constants in (range(5), [0, 1, 7], {2, 3}, (1,)):
        check(Contract("f", monotone=shift, types=["INT"], constants=[constants]))
    with pytest.raises(DeclarationError, match=r"f\(.*, -7\) = "):
        check(Contract("f", monotone=shift, types=["INT"], constants=[[1, 2, 3, -7]]))


@pytest.mark.parametrize("family", FAMILIES)
def test_tried_values_are_ordered_and_reach_the_ends(family: str) -> None:
    values = random_values(Random(1), family, 300)
    assert all(not (y < x) for x, y in pairwise(values))
    ends = {
        "boolean": (False, True),
        "integral": (-(2**63), 2**63 - 1),
        "floating": (-math.inf, math.inf),
        "date": (datetime.date.min, datetime.date.max),
        "string": ("", "\U0010ffff"),
    }
    assert set(ends.get(family, ())) <= set(values)
