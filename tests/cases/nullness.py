"""IS NULL and IS NOT NULL."""

from __future__ import annotations

from tamis.expr.nodes import IsNull, Not
from tests.cases.case import Case, compare, is_not_null, is_null
from tests.cases.comparison import NAN, d, field, flag, i

CASES = (
    Case(i, data=(1, 2), misses=(is_null(i),), full=(is_not_null(i),)),
    Case(i, data=(1, None), hits=(is_null(i), is_not_null(i))),
    Case(i, data=(None, None), misses=(is_not_null(i),), full=(is_null(i),)),
    # NaN is not NULL.
    Case(d, data=(NAN, NAN), misses=(is_null(d),), full=(is_not_null(d),)),
    # NULL because the struct or the field is NULL: the leaf counts both.
    Case(field, data=(None, 1), hits=(is_null(field), is_not_null(field))),
    Case(field, data=(1,), misses=(is_null(field),)),
    # A predicate is NULL if an operand is NULL.
    Case(i, data=(1, None), hits=(IsNull(compare("<", i, 5)), Not(IsNull(compare("<", i, 5))))),
    Case(
        i,
        data=(1, 2),
        misses=(IsNull(compare("<", i, 5)),),
        full=(Not(IsNull(compare("<", i, 2))),),
    ),
    Case(flag, data=(None,), full=(is_null(flag),)),
)
