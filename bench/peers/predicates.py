"""Predicates on lineitem by layout. Each contains the column that the layout is sorted by."""

from __future__ import annotations

from typing import Final

_DAY: Final = "DATE'1995-03-15'"
#: Keys of the first thousand orders from the middle of the table.
_KEYS: Final = ", ".join(str(key) for key in range(3_000_000, 3_004_000, 4))

BY_DATE: Final = (
    f"l_shipdate = {_DAY}",
    "l_shipdate BETWEEN DATE'1995-03-01' AND DATE'1995-03-31'",
    "NOT (l_shipdate >= DATE'1992-03-01')",
    f"l_shipdate IN (DATE'1992-05-05', {_DAY}, DATE'1998-07-07')",
    f"l_shipdate <=> {_DAY}",
    "l_shipdate > DATE'1995-03-15' AND l_shipdate < DATE'1995-03-16'",
    f"l_shipdate = {_DAY} AND l_shipdate = DATE'1996-03-15'",
    "year(l_shipdate) = 1995",
    "year(l_shipdate) = 1995 AND month(l_shipdate) = 3",
    "year(l_shipdate) = 1995 AND quarter(l_shipdate) IN (1, 2)",
    "date_trunc('MONTH', l_shipdate) = TIMESTAMP'1995-03-01 00:00:00'",
    "trunc(l_shipdate, 'MM') = DATE'1995-03-01'",
    "date_format(l_shipdate, 'yyyy-MM') = '1995-03'",
    "CAST(l_shipdate AS STRING) LIKE '1995-03-%'",
    "CAST(l_shipdate AS TIMESTAMP) = TIMESTAMP'1995-03-15 00:00:00'",
    f"l_shipdate + INTERVAL 1 DAY = {_DAY}",
    f"l_shipdate + INTERVAL '1' MONTH = {_DAY}",
    f"date_add(l_shipdate, 30) = {_DAY}",
    f"date_sub(l_shipdate, 30) = {_DAY}",
    f"add_months(l_shipdate, 2) = {_DAY}",
    f"datediff(l_shipdate, {_DAY}) = 0",
    f"months_between(l_shipdate, {_DAY}) BETWEEN 0 AND 1",
    "last_day(l_shipdate) = DATE'1995-03-31'",
    "unix_timestamp(l_shipdate) < unix_timestamp(DATE'1992-02-01')",
    f"coalesce(l_shipdate, DATE'1970-01-01') = {_DAY}",
    f"nullif(l_shipdate, DATE'1970-01-01') = {_DAY}",
    f"if(l_quantity > 10, l_shipdate, l_shipdate + INTERVAL 1 DAY) = {_DAY}",
    f"CASE WHEN l_linestatus = 'F' THEN l_shipdate ELSE DATE'1970-01-01' END = {_DAY}",
    f"greatest(l_shipdate, DATE'1992-01-01') = {_DAY}",
    f"l_shipdate = {_DAY} OR year(l_shipdate) = 2001",
    f"(l_shipdate = {_DAY} AND length(l_comment) % 3 = 1) OR l_shipdate = DATE'1998-07-07'",
    "l_shipdate > l_receiptdate",
    "dayofweek(l_shipdate) = 1 AND weekofyear(l_shipdate) = 11 AND year(l_shipdate) = 1995",
)

BY_KEY: Final = (
    "l_orderkey = 3000000",
    f"l_orderkey IN ({_KEYS})",
    "l_orderkey + 1 = 3000001",
    "l_orderkey * 2 = 6000000",
    "-l_orderkey = -3000000",
    "l_orderkey DIV 100000 = 30",
    "l_orderkey / 100000 < 0.5",
    "floor(l_orderkey / 100000) = 30",
    "round(l_orderkey, -5) = 3000000",
    "abs(l_orderkey) = 3000000",
    "sqrt(l_orderkey) < 100",
    "ln(l_orderkey) < 9",
    "power(l_orderkey, 2) < 1000000",
    "sign(l_orderkey - 100) < 0",
    "CAST(l_orderkey AS INT) = 3000000",
    "CAST(l_orderkey AS DOUBLE) = 3000000D",
    "CAST(l_orderkey AS DECIMAL(20, 2)) = 3000000.00",
    "least(l_orderkey, 5000000) = 3000000",
)

BY_MODE: Final = (
    "l_shipmode = 'MAIL'",
    "l_shipmode = 'MAIL' AND l_comment LIKE 'b%'",
    "l_shipmode LIKE 'MA%'",
    "l_shipmode NOT LIKE 'M%' AND l_shipmode > 'F' AND l_shipmode < 'RAI'",
    "startswith(l_shipmode, 'MA')",
    "substring(l_shipmode, 1, 2) = 'MA'",
    "left(l_shipmode, 2) = 'MA'",
    "upper(l_shipmode) = 'MAIL'",
    "lower(l_shipmode) = 'mail'",
    "trim(l_shipmode) = 'MAIL'",
    "concat(l_shipmode, '-x') = 'MAIL-x'",
    "l_shipmode RLIKE '^MA'",
    "coalesce(l_shipmode, '') = 'MAIL'",
    "length(l_shipmode) = 3",
    "l_shipmode IN ('MAIL', 'SHIP')",
)

BY_YEAR: Final = (
    "year = 1995",
    "year + 1 = 1996",
    "year = 1995 AND l_shipdate < DATE'1995-02-01'",
    "year(l_shipdate) = 1995",
    "CAST(year AS STRING) = '1995'",
    "year % 2 = 1",
    "year = 1995 OR month(l_shipdate) = 13",
)
