"""width_bucket: 0 before the range, count + 1 from its end on, NULL if it is empty."""

from __future__ import annotations

import math

from tamis.expr.nodes import Call, Expr, IsNull, Literal
from tamis.expr.types import LONG
from tests.cases.case import Case
from tests.cases.comparison import NAN, d, l
from tests.cases.functions import call, is_


def bucket(first: float, last: float, count: int | Expr = 5, x: Expr = d) -> Call:
    count = Literal(count, LONG) if isinstance(count, int) else count
    return call("WidthBucket", LONG, x, first, last, count)


rising, falling = bucket(0.0, 10.0), bucket(10.0, 0.0)
counted = bucket(0.0, 10.0, l, Literal(3.0, d.type))

CASES = (
    # Buckets of width 2. The first value of a bucket belongs to it: at the start of the range when
    # the numbers rise, at its end when they fall.
    Case(
        d,
        data=(2.0, 5.9),
        hits=(is_("=", rising, 2), is_("=", rising, 3), is_("=", falling, 5)),
        misses=(is_("=", rising, 1), is_("=", rising, 4), is_("=", falling, 6), IsNull(rising)),
        full=(is_(">=", rising, 2), is_("<=", rising, 3), is_("<=", falling, 5)),
    ),
    # Outside of the range, up to infinity.
    Case(
        d,
        data=(-math.inf, -0.1),
        misses=(is_(">", rising, 0), is_("<", falling, 6)),
        full=(is_("=", rising, 0), is_("=", falling, 6)),
    ),
    Case(d, data=(10.0, math.inf), full=(is_("=", rising, 6),), hits=(is_("=", falling, 1),)),
    # NaN, an empty range and a count of 0 give NULL.
    Case(
        d,
        data=(1.0, NAN),
        hits=(IsNull(rising),),
        misses=(is_("=", rising, 2),),
    ),
    Case(d, data=(1.0,), hits=(IsNull(bucket(1.0, 1.0)), IsNull(bucket(0.0, 9.0, 0)))),
    Case(d, data=(1.0, None), hits=(IsNull(rising),), misses=(is_(">", rising, 1),)),
    # x is 3: the buckets of 1 to 10 buckets are 1 to 4, and no count below 1 has a bucket.
    Case(
        l,
        data=(0, 10),
        hits=(is_("=", counted, 1), is_("=", counted, 4), IsNull(counted)),
        misses=(is_("=", counted, 0), is_("=", counted, 5)),
    ),
    # Overflow: Spark gives 1 for the quotient of two infinities, and wraps around after dividing
    # infinity. Nothing is proven.
    Case(d, data=(1e308,), hits=(is_("=", bucket(-1.5e308, 1.5e308), 1),)),
    Case(
        d,
        data=(9e307,),
        hits=(is_("=", bucket(0.0, 1e308, 4), -(1 << 63)),),
    ),
)


def _on_row(x: float, first: float, last: float, count: int) -> int | None:
    if count <= 0 or count == (1 << 63) - 1 or first == last:
        return None
    if math.isnan(x) or not (math.isfinite(first) and math.isfinite(last)):
        return None
    if first > last:
        x, first, last = -x, -first, -last
    if x < first or x >= last:
        return 0 if x < first else count + 1
    quotient = count * (x - first) / (last - first)
    if math.isfinite(quotient):
        return int(quotient) + 1
    return 1 if math.isnan(quotient) else -(1 << 63)


#: The function on one row.
ON_ROWS = {"WidthBucket": _on_row}

#: SQL over x and y of a type, and k INT: compared with Spark by `make sweep`.
SWEEP = {
    "double": (
        "width_bucket(x, -10, 10, 5)",
        "width_bucket(x, 10, -10, 7)",
        "width_bucket(x, 0, 1e308, k)",
        "width_bucket(3, -20, k, 5)",
        "width_bucket(x, y, 10, 3)",
    ),
    "int": ("width_bucket(x, 1, 100, 9)", "width_bucket(k, 4.5, -3, 20)"),
    "bigint": ("width_bucket(4.5, 0, 10, x)",),
}
