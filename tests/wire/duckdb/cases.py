"""Predicates in DuckDB's SQL, and what tamis reads from the documents that DuckDB plans for them.

The expected values are the filters as SQL text, in order. A filter, or a part of one, that is not
understood is in parentheses or a call, as in `(length(title) > 10)`; see OPAQUE.
"""

from __future__ import annotations

from typing import Final

TABLE: Final = """
CREATE TABLE t (
  title VARCHAR, score FLOAT, dbl DOUBLE, bo BOOLEAN, ti TINYINT, i INTEGER, b BIGINT, ub UBIGINT,
  h HUGEINT, n DECIMAL(9,2), w DECIMAL(30,4), d DATE, ts TIMESTAMP, tsms TIMESTAMP_MS,
  tss TIMESTAMP_S, tsns TIMESTAMP_NS, tz TIMESTAMPTZ, bl BLOB, u UUID,
  s STRUCT(x INTEGER, "Y" STRUCT(z VARCHAR)), l INTEGER[], tm TIME, iv INTERVAL
)
"""

#: Understood, completely or in part.
UNDERSTOOD: Final[dict[str, list[str]]] = {
    "title = 'Y Combinator'": ["title = 'Y Combinator'"],
    "title IN ('a', 'b', 'c') OR score > 500.0": ["title IN ('a', 'b', 'c') OR score > 500.0F"],
    "title LIKE 'R%' AND length(title) > 10": ["startswith(title, 'R')", "(length(title) > 10)"],
    "i BETWEEN 1 AND 5": ["i >= 1 AND i <= 5"],
    "i > 1 AND i < 5": ["i > 1 AND i < 5"],
    "NOT (i BETWEEN 1 AND b)": ["NOT (i >= 1 AND i <= b)"],
    "i IN (1, 2, NULL) OR bo": ["i IN (1, 2, NULL) OR bo"],
    "i NOT IN (1, 2)": ["i NOT IN (1, 2)"],
    "i IN (1, b)": ["i = 1 OR i = b"],
    "i IS DISTINCT FROM 5": ["NOT (i <=> 5)"],
    "i IS NOT DISTINCT FROM NULL": ["i <=> NULL"],
    "bo": ["bo"],
    "NOT bo": ["NOT (bo)"],
    "bo IS NULL OR title IS NOT NULL": ["bo IS NULL OR title IS NOT NULL"],
    "(i = 5) IS TRUE": ["(i = 5) <=> true"],
    "(i = 5) IS NOT TRUE": ["NOT ((i = 5) <=> true)"],
    "score = 1.1": ["score = 1.100000023841858F"],
    "dbl = 'nan'::DOUBLE": ["dbl = double('NaN')"],
    "dbl < 'infinity'::DOUBLE AND dbl > '-infinity'::DOUBLE": [
        "dbl > double('-Infinity') AND dbl < double('Infinity')"
    ],
    "ti = 300": ["ti IS NULL AND NULL"],
    "i > 5.5": ["i > 5"],
    "i <= 5.5e0": ["i <= 5"],
    "b > 5.5": ["b > 5L"],
    "ub > -1": ["ub IS NOT NULL OR NULL"],
    "h >= -5": ["h >= -5BD"],
    "n = 1.5": ["n = 1.50BD"],
    "n <> 1.234": ["n IS NOT NULL OR NULL"],
    "w > -123.45": ["w > -123.4500BD"],
    "i = b": ["i = b"],
    "score < dbl": ["score < dbl"],
    "d >= DATE '1995-01-01' + INTERVAL 1 MONTH": ["d >= DATE '1995-02-01'"],
    "d = 'infinity'": ["d = DATE_FROM_UNIX_DATE(2147483647)"],
    "d <= TIMESTAMP '2020-01-01 12:00:00'": ["d <= DATE '2020-01-01'"],
    "CAST(ts AS DATE) = DATE '2020-01-01'": [
        "ts >= TIMESTAMP_NTZ '2020-01-01 00:00:00' AND ts < TIMESTAMP_NTZ '2020-01-02 00:00:00'"
    ],
    "CAST(ts AS DATE) > DATE '2020-01-01' OR bo": [
        "ts >= TIMESTAMP_NTZ '2020-01-02 00:00:00' OR bo"
    ],
    "ts >= '1969-12-31 23:59:59.999999'": ["ts >= TIMESTAMP_NTZ '1969-12-31 23:59:59.999999'"],
    "ts = 'infinity'": ["ts = TIMESTAMP_MICROS(9223372036854775807)"],
    "tsms < '2020-01-01 00:00:00.001'": ["tsms < TIMESTAMP_NTZ '2020-01-01 00:00:00.001000'"],
    "tss > ts": ["tss > ts"],
    "tsns >= '2020-01-01'": ["tsns >= TIMESTAMP_NTZ '2020-01-01 00:00:00'"],
    "tsns = '2020-01-01 00:00:00.000000001'": [
        "tsns = TIMESTAMP_NTZ '2020-01-01 00:00:00' AND <nanoseconds>"
    ],
    "tsns IN ('2020-01-01', '2021-01-01')": [
        "tsns IN (TIMESTAMP_NTZ '2020-01-01 00:00:00', TIMESTAMP_NTZ '2021-01-01 00:00:00') AND <nanoseconds>"
    ],
    "tz > '2020-01-01 00:00:00+02'": ["tz > TIMESTAMP '2019-12-31 22:00:00Z'"],
    "bl = '\\xAA\\x00b'::BLOB": ["bl = X'AA0062'"],
    "bl > '\\x61'::BLOB": ["bl > X'61'"],
    "s.x > 5": ["s.x > 5"],
    "s.y.z = 'a' OR i = 1": ["s.Y.z = 'a' OR i = 1"],
    "s['x'] IN (1, 2)": ["s.x IN (1, 2)"],
    "title LIKE '%a' OR title LIKE '%b%'": ["endswith(title, 'a') OR contains(title, 'b')"],
    "title NOT LIKE 'a_b%'": ["NOT (startswith(title, 'a') AND !~~(title, 'a_b%'))"],
    "starts_with(title, 'a')": ["startswith(title, 'a')"],
    "coalesce(i, 5) > 5": ["coalesce(i, 5) > 5"],
    "coalesce(bo, i > 5)": ["bo IS NOT NULL AND bo OR bo IS NULL AND i > 5"],
    "CASE WHEN i > 5 THEN bo ELSE NOT bo END": [
        "(i > 5) <=> true AND bo OR NOT ((i > 5) <=> true) AND NOT (bo)"
    ],
    "date_trunc('month', ts) = '2020-01-01'": [
        "ts >= TIMESTAMP_NTZ '2020-01-01 00:00:00' AND ts < TIMESTAMP_NTZ '2020-02-01 00:00:00'"
    ],
    "i > 5 OR b < 3 AND NOT (title = 'x' OR d IS NULL)": [
        "i > 5 OR b < 3L AND NOT (title = 'x' OR d IS NULL)"
    ],
}

#: Not understood: Spark gives it another meaning than DuckDB, or statistics cannot decide it.
OPAQUE: Final[dict[str, list[str]]] = {
    "b > 5.5e0": ["(CAST(b) > 5.5)"],
    "h = 170141183460469231731687303715884105727": ["(h = …)"],
    "n > w": ["(CAST(n) > w)"],
    "d > ts": ["(CAST(d) > ts)"],
    "tsms = 'infinity'": ["(tsms = 9223372036854775807)"],
    "tz > ts": ["(tz > CAST(ts))"],
    "u = '00000000-0000-0000-0000-000000000001'": ["(u = …)"],
    "s IS NULL": ["IS_NULL(s)"],
    "tm > TIME '12:00:00'": ["(tm > 43200000000)"],
    "iv > INTERVAL 1 DAY": ["(normalized_interval(iv) > …)"],
    "l = [1, 2]": ["(l = …)"],
    "title COLLATE NOCASE = 'a'": ["(lower(title) = 'a')"],
    "lower(title) = 'a'": ["(lower(title) = 'a')"],
    "title LIKE 'a$_b' ESCAPE '$'": ["like_escape(title, 'a$_b', '$')"],
    "title ILIKE 'a%'": ["~~*(title, 'a%')"],
    "CASE i WHEN 1 THEN 2 ELSE b END = 2": ["(CASE_EXPR(b) = 2)"],
    "nullif(i, 1) = 2": ["(CASE_EXPR(i) = 2)"],
    "i + b > 5": ["(+(CAST(i), b) > 5)"],
    "i // 2 = 1": ["(//(i, 2) = 1)"],
    "i % 2 = 0": ["(%(i, 2) = 0)"],
    "year(d) = 1995": ["(year(d) = 1995)"],
    "d + INTERVAL 1 MONTH > DATE '2020-01-01'": ["(+(d, …) > 1577836800000000)"],
    "TRY_CAST(title AS INTEGER) = 5": ["(CAST(title) = 5)"],
    "random() < 0.5": ["(random() < 0.5)"],
}

#: Predicates that DuckDB 2.0 rewrites before they reach a scan.
FROM_2_0: Final[dict[str, list[str]]] = {
    "NOT (i BETWEEN 1 AND b)": ["i < 1 OR i > b"],
    "i IS NOT DISTINCT FROM NULL": ["i IS NULL"],
    "(i = 5) IS TRUE": ["i = 5"],
    "year(d) = 1995": ["d >= DATE '1995-01-01' AND d <= DATE '1995-12-31'"],
    "i > 5 OR b < 3 AND NOT (title = 'x' OR d IS NULL)": [
        "i > 5 OR b < 3L AND title <> 'x' AND d IS NOT NULL"
    ],
}

CASES: Final = {**UNDERSTOOD, **OPAQUE}
