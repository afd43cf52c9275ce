"""The expressions that are swept, by the type of x and y; k is a small INT."""

from __future__ import annotations

from typing import Final

ZONES: Final = (
    "UTC",
    "America/New_York",
    "Europe/Berlin",
    "Pacific/Apia",
    "Asia/Kolkata",
    "Africa/Monrovia",
    "America/Sao_Paulo",
    "America/Havana",
    "Australia/Lord_Howe",
    "America/Santiago",
    "+05:30",
    "PST",
)


def depends_on_zone(sql: str) -> bool:
    """Whether it is worth sweeping in more than one time zone."""
    return "(x, y)" not in sql and sql not in ("x < y", "x IN (y)")


_PARTS = (
    *(
        [
            "year(x)",
            "quarter(x)",
            "month(x)",
            "day(x)",
            "dayofyear(x)",
            "dayofweek(x)",
            "weekday(x)",
        ]
    ),
    "weekofyear(x)",
    "extract(YEAROFWEEK FROM x)",
)
_CLOCK = ("hour(x)", "minute(x)", "second(x)", "extract(SECOND FROM x)")
_TEXT = ("CAST(x AS STRING)", "date_format(x, 'yyyy-MM')", "date_format(x, 'yyyyMMdd HH:mm')")
_ANY = (
    "coalesce(x, y)",
    "if(x < y, x, y)",
    "CASE WHEN x < y THEN x WHEN x = y THEN y END",
    "nullif(x, y)",
    "greatest(x, y)",
    "least(x, y)",
    "x < y",
    "coalesce(x, y) IS NULL",
    "greatest(x, y) > x",
    "x IN (y)",
)
_WHOLE = (
    *(
        [
            "x + 1",
            "x - 7",
            "1 - x",
            "x + y",
            "x - y",
            "x * 3",
            "x * y",
            "x * -2",
            "-x",
            "abs(x)",
            "x / 4",
            "x / y",
            "x div 7",
        ]
    ),
    *(
        [
            "x div -3",
            "x div k",
            "x % 7",
            "x % k",
            "pmod(x, 7)",
            "pmod(x, k)",
            "x % -4",
            "round(x)",
            "floor(x)",
        ]
    ),
    *(["CAST(x AS TINYINT)", "CAST(x AS SMALLINT)", "CAST(x AS INT)", "CAST(x AS BIGINT)"]),
    *(["CAST(x AS FLOAT)", "CAST(x AS DOUBLE)", "CAST(x AS DECIMAL(5,1))", "CAST(x AS BOOLEAN)"]),
    *(["CAST(x AS STRING)", "try_cast(x AS TINYINT)", "try_add(x, 100)", "try_divide(x, k)"]),
    *(["CAST(x AS TIMESTAMP)", "CAST(x AS DECIMAL(38,10))"]),
)
_DECIMAL = (
    *(
        [
            "x + 1.5",
            "x - y",
            "x + y",
            "x * 2",
            "x * y",
            "1 - x",
            "x * (1 - y)",
            "-x",
            "abs(x)",
            "x / 3",
            "x / 7.25",
            "x / y",
        ]
    ),
    *(
        [
            "floor(x)",
            "ceil(x)",
            "round(x, 1)",
            "round(x)",
            "bround(x, 1)",
            "round(x, -1)",
            "CAST(x AS INT)",
        ]
    ),
    *(["CAST(x AS TINYINT)", "CAST(x AS DOUBLE)", "CAST(x AS FLOAT)", "CAST(x AS DECIMAL(8,1))"]),
    *(["CAST(x AS DECIMAL(38,10))", "CAST(x AS DECIMAL(12,0))", "x * k", "CAST(x AS BIGINT)"]),
    "try_cast(x AS DECIMAL(6,1))",
)
_FLOATING = (
    *(
        [
            "x + 1",
            "x - 0.1D",
            "x + y",
            "x - y",
            "x * 3",
            "x * -0.5D",
            "x * y",
            "x / 3",
            "x / -2",
            "x / y",
            "1 / x",
            "-x",
        ]
    ),
    *(["abs(x)", "CAST(x AS TINYINT)", "CAST(x AS INT)", "CAST(x AS BIGINT)", "CAST(x AS FLOAT)"]),
    *(["CAST(x AS DOUBLE)", "CAST(x AS DECIMAL(10,2))", "CAST(x AS DECIMAL(30,15))"]),
    *(
        [
            "floor(x)",
            "ceil(x)",
            "round(x, 1)",
            "round(x)",
            "bround(x, 1)",
            "sign(x)",
            "sqrt(x)",
            "exp(x)",
        ]
    ),
    *(
        [
            "ln(x)",
            "log10(x)",
            "log2(x)",
            "log1p(x)",
            "power(x, 2)",
            "power(x, 0.5)",
            "cbrt(x)",
            "isnan(x)",
        ]
    ),
    *(["nanvl(x, y)", "x <=> y", "x = y", "try_cast(x AS INT)", "isnan(x + y)", "isnan(x * y)"]),
)

EXPRESSIONS: Final[dict[str, tuple[str, ...]]] = {
    "date": (
        *_ANY,
        *_PARTS,
        *_TEXT,
        *(["trunc(x, 'YEAR')", "trunc(x, 'quarter')", "trunc(x, 'MM')", "trunc(x, 'WEEK')"]),
        *(
            [
                "last_day(x)",
                "next_day(x, 'TU')",
                "date_add(x, 10)",
                "date_sub(x, 3)",
                "x + k",
                "x - k",
            ]
        ),
        *(["datediff(x, y)", "add_months(x, 1)", "add_months(x, -13)", "add_months(x, k)"]),
        *(["x + INTERVAL 1 DAY", "x - INTERVAL 1 MONTH", "x + INTERVAL 3 YEAR"]),
        *(["x + INTERVAL 5 HOURS", "unix_date(x)", "unix_timestamp(x)", "CAST(x AS TIMESTAMP)"]),
        *(
            [
                "CAST(x AS TIMESTAMP_NTZ)",
                "date_trunc('MONTH', x)",
                "hour(x)",
                "x > DATE '2024-01-01'",
            ]
        ),
        "make_date(year(x), month(x), 1)",
    ),
    "timestamp": (
        *_ANY,
        *_PARTS,
        *_CLOCK,
        *_TEXT,
        *(["date(x)", "CAST(x AS TIMESTAMP_NTZ)", "CAST(x AS BIGINT)", "CAST(x AS INT)"]),
        *(["CAST(x AS DOUBLE)", "to_date(x)", "unix_timestamp(x)", "to_unix_timestamp(x)"]),
        *(["unix_seconds(x)", "unix_millis(x)", "unix_micros(x)", "trunc(x, 'MM')"]),
        *(
            f"date_trunc('{unit}', x)"
            for unit in [
                "YEAR",
                "QUARTER",
                "MONTH",
                "WEEK",
                "DAY",
                "HOUR",
                "MINUTE",
                "SECOND",
                "MILLISECOND",
            ]
        ),
        *(["x + INTERVAL 3 HOURS", "x - INTERVAL '1 02' DAY TO HOUR", "x + INTERVAL 1 DAY"]),
        *(["x + INTERVAL 1 MONTH", "x - INTERVAL 2 YEAR", "timestampadd(HOUR, 3, x)"]),
        *(["timestampadd(DAY, -3, x)", "timestampadd(WEEK, 1, x)", "date_format(x, 'yyyy')"]),
        *(["date(x) = date(y)", "date_trunc('DAY', x) = x", "CAST(date(x) AS TIMESTAMP)"]),
        *(["timestampadd(MINUTE, -90, x)", "last_day(x)", "datediff(x, y)"]),
    ),
    "timestamp_ntz": (
        *_PARTS,
        *_CLOCK,
        *_TEXT,
        *(["date(x)", "CAST(x AS TIMESTAMP)", "x + INTERVAL 3 HOURS", "x + INTERVAL 1 DAY"]),
        *(["x + INTERVAL 1 MONTH", "date_trunc('DAY', x)", "date_trunc('HOUR', x)"]),
        *(["timestampadd(DAY, -3, x)", "timestampadd(HOUR, 5, x)", "unix_timestamp(x)"]),
        *(["greatest(x, y)", "coalesce(x, y)"]),
    ),
    "tinyint": (*_ANY, *_WHOLE),
    "int": (*_ANY, *_WHOLE, "date_from_unix_date(x)", "timestamp_seconds(x)", "make_date(x, 2, 3)"),
    "bigint": (
        *_ANY,
        *_WHOLE,
        *(["timestamp_seconds(x)", "timestamp_millis(x)", "timestamp_micros(x)"]),
        "from_unixtime(x, 'yyyy-MM-dd HH')",
    ),
    "float": (*_ANY, *_FLOATING),
    "double": (*_ANY, *_FLOATING),
    "decimal": (*_ANY, *_DECIMAL),
    "decimal_long": (*_ANY, *_DECIMAL),
    "boolean": (*_ANY, "CAST(x AS INT)", "CAST(x AS DOUBLE)", "CAST(x AS STRING)", "NOT x"),
    "string": (
        *_ANY,
        *(
            [
                "startswith(x, 'a')",
                "x LIKE 'abc%'",
                "x LIKE 'a_c%'",
                "x LIKE 'ab'",
                "x NOT LIKE 'a_%'",
            ]
        ),
        *(["x LIKE 'a%c'", "x LIKE 'a#_b%' ESCAPE '#'", "x LIKE '%b'", "contains(x, 'b')"]),
        *(["endswith(x, 'é')", "x RLIKE '^ab'", "x RLIKE '^abc.*'", "x RLIKE '^a[0-9]+$'"]),
        *(["startswith(x, '')", "startswith(x, '\\U0010ffff')", "x RLIKE '^\U0010ffff'"]),
        *(
            [
                "substring(x, 1, 2)",
                "left(x, 1)",
                "substring(x, 0, 3)",
                "left(x, 0)",
                "concat(x, 'm')",
            ]
        ),
        *(
            [
                "concat('p', x)",
                "concat(x, y)",
                "concat(x, '-', y)",
                "upper(x)",
                "lower(x)",
                "trim(x)",
            ]
        ),
        *(["ltrim(x)", "rtrim(x)", "trim(BOTH 'ab' FROM x)", "length(x)", "octet_length(x)"]),
        *(["upper(x) LIKE 'AB%'", "substring(x, 1, 1) = 'a'", "left(x, 2) IN ('ab', 'AB')"]),
        *(["coalesce(x, 'none')", "nvl2(x, y, 'z')", "CASE x WHEN 'a' THEN 'b' ELSE x END"]),
    ),
}
