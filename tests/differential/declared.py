"""User-defined functions for the sweep: Spark computes them in Python, tamis uses their contracts.

None of them raises an error: Spark computes a Python function for every row, needed or not.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from pyspark import cloudpickle

from tamis.declarations.refute import check
from tamis.evaluation.udf.declared_calls import bind
from tamis.evaluation.udf.images import Declared
from tamis.evaluation.udf.udf_contract import Contract
from tamis.evaluation.udf.udf_guard import UdfGuard
from tamis.expr.nodes import Expr


def _of_null(given: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    def total(x: Any, *constants: Any) -> Any:
        return given if x is None else f(x, *constants)

    return total


def _whole(x: float) -> int | None:
    return None if x != x or abs(x) > 2.0**62 else math.floor(x)


def _sign(x: float) -> float:
    return -7.0 if x != x else math.copysign(1.0, x)


def _hull(lower: int, upper: int) -> tuple[int, int]:
    return 0, max(abs(lower), abs(upper))


#: Name -> contract, the function that Spark runs, its SQL type, and kinds of x.
FUNCTIONS: Final[dict[str, tuple[Contract, Callable[..., Any], str, tuple[str, ...]]]] = {}


def _add(
    name: str, f: Callable[..., Any], result: str, kinds: tuple[str, ...], **contract: Any
) -> None:
    contract.setdefault("monotone", None if "image" in contract else f)
    FUNCTIONS[name] = (Contract(name, **contract), f, result, kinds)


# fmt: off
_add("d_tens", _of_null(None, lambda x: x // 10), "long", ("tinyint", "int", "bigint"), types=["INT"])
_add("d_null_is_7", _of_null(7, lambda x: x // 100), "long", ("tinyint", "int"), types=["INT"])
_add("d_narrow", _of_null(None, lambda x: x), "int", ("int", "bigint"), types=["BIGINT"])
_add("d_bucket", _of_null(None, lambda x, n: x // n), "long", ("int",), types=["INT"], constants=[range(1, 99)])
_add("d_falls", _of_null(None, lambda x: -x), "long", ("tinyint", "int"), types=["INT"], increasing=False)
_add("d_size", _of_null(None, abs), "long", ("tinyint", "int"), types=["INT"], image=_hull, null_to_null=True)
_add("d_whole", _of_null(None, _whole), "long", ("float", "double"), types=["DOUBLE"])
_add("d_sign", _of_null(0.5, _sign), "double", ("float", "double"), types=["DOUBLE"])
_add("d_single", _of_null(None, lambda x: x / 3), "float", ("double",), types=["DOUBLE"])
_add("d_round", _of_null(None, lambda x: x / Decimal(8)), "decimal(10,2)", ("decimal",), types=["DECIMAL"])
_add("d_first", _of_null("?", lambda x: x[:2]), "string", ("string",), types=["STRING"])
_add("d_bytes", _of_null(None, lambda x: x.encode()[:3]), "binary", ("string",), types=["STRING"])
_add("d_late", _of_null(None, lambda x: x > 7), "boolean", ("int",), types=["INT"])
# fmt: on

SWEEP: Final[dict[str, tuple[str, ...]]] = {
    kind: tuple(
        f"{name}(x, {constant})" if contract.constants else f"{name}(x)"
        for name, (contract, _, _, kinds) in FUNCTIONS.items()
        if kind in kinds
        for constant in ((3, 98) if contract.constants else (0,))
    )
    for kind in ("tinyint", "int", "bigint", "float", "double", "decimal", "string")
}

_IN_FORCE: Final = {name: [Declared(contract)] for name, (contract, *_) in FUNCTIONS.items()}


def register(spark: Any) -> None:
    """Register the functions with Spark after their contracts were tested."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    for name, (contract, f, result, _) in FUNCTIONS.items():
        check(contract, f)
        spark.udf.register(name, f, result)


def bound(expr: Expr) -> Expr:
    """Bind the declared functions of the expression, without a time limit."""
    return bind(expr, _IN_FORCE, UdfGuard(seconds=600.0))
