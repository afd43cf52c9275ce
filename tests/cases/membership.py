"""IN and NOT IN over constants."""

from __future__ import annotations

import math

from tests.cases.case import Case, is_in, not_in
from tests.cases.comparison import NAN, d, day, i, l, s, w

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1

CASES = (
    Case(
        i,
        data=(3, 7),
        hits=(is_in(i, 1, 3), is_in(i, 5), is_in(i, 7, 9), not_in(i, 3), not_in(i, 3, 4, 5, 6)),
        misses=(
            is_in(i, 1, 2),
            is_in(i, 1, 8),
            is_in(i, 8, 9, null=True),
            not_in(i, 3, 4, 5, 6, 7),
            not_in(i, 1, null=True),
            not_in(i, null=True),
            is_in(i, null=True),
        ),
        # Every integer from 3 to 7 is in the list.
        full=(is_in(i, 7, 6, 5, 4, 3), is_in(i, *range(100), null=True), not_in(i, 2, 8)),
    ),
    Case(
        i,
        data=(3, None),
        hits=(is_in(i, 3), is_in(i, 3, 4, null=True), not_in(i, 4)),
        misses=(is_in(i, 4), not_in(i, 3), not_in(i, 4, null=True)),
    ),
    Case(i, data=(None,), misses=(is_in(i, 3), not_in(i, 3), is_in(i, null=True))),
    # The whole type has more values than 63 bits can count.
    Case(
        l,
        data=(LEAST, GREATEST),
        hits=(is_in(l, 0), is_in(l, LEAST, GREATEST), not_in(l, LEAST, GREATEST)),
    ),
    Case(l, data=(GREATEST,), full=(is_in(l, GREATEST),), misses=(is_in(l, LEAST, 0),)),
    # Between two doubles there are others: full is only proven for a single value.
    Case(
        d, data=(1.0, 2.0), hits=(is_in(d, 1.0, 2.0), not_in(d, 1.0, 2.0)), misses=(is_in(d, 3.0),)
    ),
    Case(d, data=(0.0,), full=(is_in(d, -0.0), is_in(d, 0.0, NAN)), misses=(is_in(d, NAN),)),
    Case(
        d,
        data=(1.0, NAN),
        hits=(is_in(d, NAN), is_in(d, 1.0), not_in(d, NAN), not_in(d, 1.0)),
        misses=(is_in(d, 2.0, math.inf), not_in(d, 1.0, NAN)),
        full=(is_in(d, NAN, 1.0),),
    ),
    Case(
        s,
        data=("b", "d"),
        hits=(is_in(s, "c"), is_in(s, "a", "d"), not_in(s, "b", "d")),
        misses=(is_in(s, "a", "e"), is_in(s, "")),
        full=(not_in(s, "a", "e"),),
    ),
    Case(s, data=("b", "b"), full=(is_in(s, "a", "b"),), misses=(not_in(s, "a", "b"),)),
    Case(w, data=(1, 3), hits=(is_in(w, 2),), misses=(is_in(w, 0, 4),), full=(not_in(w, 0, 4),)),
    Case(w, data=(1, 1), full=(is_in(w, 0, 1),)),
    Case(day, data=(-2, 1), full=(is_in(day, -2, -1, 0, 1),), misses=(is_in(day, -3, 2),)),
)
