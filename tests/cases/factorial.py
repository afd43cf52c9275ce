"""factorial: NULL below 0 and beyond 20."""

from __future__ import annotations

import math

from tamis.expr.nodes import IsNull
from tamis.expr.types import LONG
from tests.cases.case import Case
from tests.cases.comparison import i
from tests.cases.functions import call, is_

factorial = call("Factorial", LONG, i)

CASES = (
    Case(
        i,
        data=(3, 5),
        hits=(is_("=", factorial, 24),),
        misses=(is_("<", factorial, 6), is_(">", factorial, 120), IsNull(factorial)),
        full=(is_(">=", factorial, 6), is_("<=", factorial, 120)),
    ),
    # 0! = 1! = 1.
    Case(i, data=(0, 1), misses=(is_("=", factorial, 2),), full=(is_("=", factorial, 1),)),
    # NULL on both sides of 0 to 20: nothing proves that every row is above.
    Case(
        i,
        data=(-1, 21),
        hits=(is_("=", factorial, 24), IsNull(factorial)),
        misses=(is_("=", factorial, 0),),
    ),
    Case(i, data=(20, None), misses=(is_("<", factorial, math.factorial(20)),)),
)

#: The function on one row.
ON_ROWS = {"Factorial": lambda n: math.factorial(n) if 0 <= n <= 20 else None}

#: SQL over x and y of a type, and k INT: compared with Spark by `make sweep`.
SWEEP = {"int": ("factorial(x)", "factorial(k)"), "tinyint": ("factorial(x)",)}
