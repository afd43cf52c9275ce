"""The swept expressions, by the type of x and y; k is a small INT.

Expressions are separated by semicolons or line ends.
"""

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
    "Pacific/Kwajalein",
    "+05:30",
    "PST",
)


def _each(text: str) -> tuple[str, ...]:
    parts = (part.strip() for line in text.splitlines() for part in line.split(";"))
    return tuple(part for part in parts if part)


_ANY: Final = _each("""
    coalesce(x, y); if(x < y, x, y); CASE WHEN x < y THEN x WHEN x = y THEN y END; nullif(x, y)
    greatest(x, y); least(x, y); x < y; coalesce(x, y) IS NULL; greatest(x, y) > x; x IN (y)
""")


def depends_on_zone(sql: str) -> bool:
    """Return whether the result depends on the time zone, so that several zones are swept."""
    return sql not in _ANY


_PARTS = _each("""
    year(x); quarter(x); month(x); day(x); dayofyear(x); dayofweek(x); weekday(x); weekofyear(x)
    extract(YEAROFWEEK FROM x)
""")
_CLOCK = _each("hour(x); minute(x); second(x); extract(SECOND FROM x)")
_TEXT = _each("""
    CAST(x AS STRING); date_format(x, 'yyyy-MM'); date_format(x, 'yyyyMMdd HH:mm')
    date_format(x, 'MM/dd/yyyy'); date_format(x, 'dd.MM.yyyy HH:mm'); date_format(x, 'HH:mm')
    CAST(CAST(x AS STRING) AS DATE); CAST(CAST(x AS STRING) AS TIMESTAMP)
    try_cast(CAST(x AS STRING) AS TIMESTAMP_NTZ)
""")
_APART = _each("""
    months_between(x, y); months_between(x, DATE '2024-02-29'); months_between(x, y, false)
    months_between(TIMESTAMP '2024-01-31 12:00:00', x); timestampdiff(MONTH, x, y)
    timestampdiff(YEAR, x, TIMESTAMP '2024-02-29 10:00:00'); timestampdiff(QUARTER, y, x)
    timestampdiff(DAY, x, y); timestampdiff(WEEK, x, y); timestampdiff(HOUR, TIMESTAMP '2011-12-30 00:00:00', x)
    timestampdiff(SECOND, x, y); timestampdiff(MICROSECOND, y, x)
    x - y > INTERVAL '3' DAY; y - x <= INTERVAL '0' DAY; x - y = make_dt_interval(k)
    extract(DAY FROM x - y)
""")
_WHOLE = _each("""
    x + 1; x - 7; 1 - x; x + y; x - y; x * 3; x * y; x * -2; -x; abs(x); x / 4; x / y; x div 7
    x div -3; x div k; x % 7; x % k; pmod(x, 7); pmod(x, k); x % -4; pmod(x, -4); x % y; pmod(x, y)
    round(x); floor(x); round(x, -1); bround(x, -1); round(x, -2); floor(x, -1); ceil(x, -1); ceil(x, 1)
    CAST(x AS TINYINT); CAST(x AS SMALLINT); CAST(x AS INT); CAST(x AS BIGINT)
    CAST(x AS FLOAT); CAST(x AS DOUBLE); CAST(x AS DECIMAL(5,1)); CAST(x AS BOOLEAN)
    CAST(x AS STRING); try_cast(x AS TINYINT); try_cast(x AS SMALLINT); try_cast(x AS INT)
    try_cast(x AS DECIMAL(4,2)); try_add(x, 100); try_divide(x, k); try_mod(x, k)
    CAST(x AS TIMESTAMP); CAST(x AS DECIMAL(38,10)); CAST(CAST(x AS STRING) AS INT)
    CAST(CAST(x AS STRING) AS DECIMAL(12,2)); CAST(CAST(x AS STRING) AS DOUBLE)
    power(x, 2); power(x, 3); power(2, x); log(2, x); length(CAST(x AS STRING))
""")
_DECIMAL = _each("""
    x + 1.5; x - y; x + y; x * 2; x * y; 1 - x; x * (1 - y); -x; abs(x); x / 3; x / 7.25; x / y; x / -2.5
    x div 3; x div y; x div -1.5; x % 7; x % 1.25; x % y; pmod(x, 3.5); pmod(x, y); pmod(x, -2); x % k
    floor(x); ceil(x); round(x, 1); round(x); bround(x, 1); round(x, -1); round(x, -3); bround(x, -1)
    floor(x, 1); ceil(x, 1); floor(x, -1); ceil(x, -2); floor(x, 0); CAST(x AS STRING)
    CAST(x AS INT); CAST(x AS TINYINT); CAST(x AS DOUBLE); CAST(x AS FLOAT); CAST(x AS DECIMAL(8,1))
    CAST(x AS DECIMAL(38,10)); CAST(x AS DECIMAL(12,0)); x * k; CAST(x AS BIGINT); CAST(x AS SMALLINT)
    try_cast(x AS DECIMAL(6,1)); try_cast(x AS INT); try_cast(x AS TINYINT); CAST(x AS BOOLEAN)
    CAST(x AS TIMESTAMP); CAST(CAST(x AS STRING) AS DOUBLE); CAST(CAST(x AS STRING) AS DECIMAL(5,1))
    try_cast(x AS DECIMAL(38,0)); CAST(x AS DECIMAL(3,2))
""")
_FLOATING = _each("""
    x + 1; x - 0.1D; x + y; x - y; x * 3; x * -0.5D; x * y; x / 3; x / -2; x / y; 1 / x; -x; abs(x)
    x % 3; x % -0.7D; x % y; pmod(x, 2.5D); pmod(x, y); pmod(x, -3); x % k; try_mod(x, k)
    CAST(x AS TINYINT); CAST(x AS SMALLINT); CAST(x AS INT); CAST(x AS BIGINT); CAST(x AS FLOAT)
    CAST(x AS DOUBLE); CAST(x AS DECIMAL(10,2)); CAST(x AS DECIMAL(30,15)); CAST(x AS DECIMAL(4,1))
    try_cast(x AS INT); try_cast(x AS TINYINT); try_cast(x AS BIGINT); try_cast(x AS DECIMAL(5,2))
    CAST(x AS BOOLEAN); CAST(x AS TIMESTAMP); try_cast(x AS TIMESTAMP); CAST(x AS STRING)
    CAST(CAST(x AS STRING) AS DOUBLE)
    round(x, -1); round(x, -3); bround(x, -1); round(x, 4)
    floor(x); ceil(x); round(x, 1); round(x); bround(x, 1); sign(x); sqrt(x); exp(x); floor(x, 1); ceil(x, 2)
    ln(x); log10(x); log2(x); log1p(x); cbrt(x); isnan(x); log(2, x); log(0.5D, x); log(10, x)
    power(x, 2); power(x, 0.5); power(x, 3); power(x, -1); power(x, -2); power(x, 2.5D); power(x, 0.1D)
    power(2, x); power(0.5D, x); power(x, -0.5D); expm1(x); atan(x); sinh(x); tanh(x)
    degrees(x); radians(x); rint(x); sin(x); cos(x)
    nanvl(x, y); x <=> y; x = y; isnan(x + y); isnan(x * y); isnan(x % y); isnan(power(x, 0.5))
""")
_FROM_TEXT = _each("""
    CAST(x AS TINYINT); CAST(x AS INT); CAST(x AS BIGINT); CAST(x AS FLOAT); CAST(x AS DOUBLE)
    CAST(x AS DECIMAL(10,2)); CAST(x AS DECIMAL(38,18)); CAST(x AS DECIMAL(3,0)); CAST(x AS BOOLEAN)
    try_cast(x AS TINYINT); try_cast(x AS INT); try_cast(x AS BIGINT); try_cast(x AS DOUBLE)
    try_cast(x AS DECIMAL(5,1)); try_cast(x AS BOOLEAN); try_cast(x AS FLOAT)
""")
_FROM_MOMENT_TEXT = _each("""
    CAST(x AS DATE); CAST(x AS TIMESTAMP); CAST(x AS TIMESTAMP_NTZ); try_cast(x AS DATE)
    try_cast(x AS TIMESTAMP); try_cast(x AS TIMESTAMP_NTZ); year(try_cast(x AS DATE))
    to_date(x); to_timestamp(x, 'yyyy-MM-dd'); to_date(x, 'yyyy-MM-dd'); to_date(x, 'yyyy-MM')
    unix_timestamp(x, 'yyyy-MM-dd'); to_timestamp(x, 'yyyy-MM-dd HH:mm:ss'); substring(x, 6, 2)
    substring(x, 1, 4); substring(x, 9, 2); try_to_timestamp(x, 'yyyy-MM-dd'); month(try_cast(x AS DATE))
    try_cast(x AS INT); CAST(substring(x, 1, 4) AS INT)
""")
_UNITS = [
    "MICROSECOND",
    "MILLISECOND",
    "SECOND",
    "MINUTE",
    "HOUR",
    "DAY",
    "WEEK",
    "MONTH",
    "QUARTER",
    "YEAR",
]

EXPRESSIONS: Final[dict[str, tuple[str, ...]]] = {
    "date": (
        *_ANY,
        *_PARTS,
        *_TEXT,
        *_APART,
        *_each("""
            trunc(x, 'YEAR'); trunc(x, 'quarter'); trunc(x, 'MM'); trunc(x, 'WEEK')
            last_day(x); next_day(x, 'TU'); date_add(x, 10); date_sub(x, 3); x + k; x - k
            datediff(x, y); add_months(x, 1); add_months(x, -13); add_months(x, k)
            x + INTERVAL 1 DAY; x - INTERVAL 1 MONTH; x + INTERVAL 3 YEAR; x + INTERVAL 5 HOURS
            x + make_interval(0, 1, 0, 3); x - make_interval(1, 2, 1, 1); x + make_interval(0, 0, 1)
            unix_date(x); unix_timestamp(x); CAST(x AS TIMESTAMP); CAST(x AS TIMESTAMP_NTZ)
            date_trunc('MONTH', x); hour(x); x > DATE '2024-01-01'; make_date(year(x), month(x), 1)
            from_utc_timestamp(x, 'America/New_York'); dateadd(MONTH, 2, x); dateadd(DAY, 40, x)
        """),
    ),
    "timestamp": (
        *_ANY,
        *_PARTS,
        *_CLOCK,
        *_TEXT,
        *_APART,
        *(f"date_trunc('{unit}', x)" for unit in _UNITS),
        *(f"timestampadd({unit}, {count}, x)" for unit in _UNITS for count in (3, -25)),
        *_each("""
            date(x); CAST(x AS TIMESTAMP_NTZ); CAST(x AS BIGINT); CAST(x AS INT); CAST(x AS TINYINT)
            CAST(x AS SMALLINT); try_cast(x AS INT); CAST(x AS DOUBLE); CAST(x AS FLOAT)
            CAST(x AS DECIMAL(20,6)); CAST(x AS DECIMAL(12,0)); CAST(x AS DECIMAL(38,3))
            CAST(x AS BOOLEAN); to_date(x); unix_timestamp(x); to_unix_timestamp(x)
            unix_seconds(x); unix_millis(x); unix_micros(x); trunc(x, 'MM')
            x + INTERVAL 3 HOURS; x - INTERVAL '1 02' DAY TO HOUR; x + INTERVAL 1 DAY
            x + INTERVAL 1 MONTH; x - INTERVAL 2 YEAR; x + make_interval(0, 1, 0, 2, 3)
            x - make_interval(1, 0, 2, 0, 0, 30); x + make_interval(0, 0, 0, 0, 0, 0, 1.5)
            date_format(x, 'yyyy'); date(x) = date(y); date_trunc('DAY', x) = x
            CAST(date(x) AS TIMESTAMP); last_day(x); datediff(x, y)
            from_utc_timestamp(x, 'Asia/Tokyo'); from_utc_timestamp(x, 'America/New_York')
            to_utc_timestamp(x, 'America/New_York'); to_utc_timestamp(x, 'Pacific/Apia')
            from_utc_timestamp(x, 'Pacific/Apia'); to_utc_timestamp(x, '+03:00')
            from_utc_timestamp(x, if(k > 0, 'Asia/Tokyo', NULL))
            to_utc_timestamp(x, if(k > 0, NULL, 'Asia/Tokyo'))
            from_utc_timestamp(x, 'PST'); convert_timezone('UTC', 'America/Havana', CAST(x AS TIMESTAMP_NTZ))
        """),
    ),
    "timestamp_ntz": (
        *_PARTS,
        *_CLOCK,
        *_TEXT,
        *_APART,
        *(f"timestampadd({unit}, {count}, x)" for unit in _UNITS for count in (3, -25)),
        *_each("""
            date(x); CAST(x AS TIMESTAMP); x + INTERVAL 3 HOURS; x + INTERVAL 1 DAY
            x + INTERVAL 1 MONTH; date_trunc('DAY', x); date_trunc('HOUR', x); unix_timestamp(x)
            x + make_interval(0, 1, 0, 2, 3); greatest(x, y); coalesce(x, y)
        """),
    ),
    "tinyint": (*_ANY, *_WHOLE),
    "smallint": (*_ANY, *_WHOLE),
    "int": (
        *_ANY,
        *_WHOLE,
        *_each("""
            date_from_unix_date(x); timestamp_seconds(x); make_date(x, 2, 3); make_date(2024, x, 7)
            date_add(DATE '2024-01-01', x)
        """),
    ),
    "bigint": (
        *_ANY,
        *_WHOLE,
        *_each("""
            timestamp_seconds(x); timestamp_millis(x); timestamp_micros(x)
            from_unixtime(x, 'yyyy-MM-dd HH'); from_unixtime(x, 'HH:mm dd.MM.yyyy'); hour(CAST(x AS TIMESTAMP))
        """),
    ),
    "float": (*_ANY, *_FLOATING),
    "double": (*_ANY, *_FLOATING),
    "decimal": (*_ANY, *_DECIMAL),
    "decimal_long": (*_ANY, *_DECIMAL),
    "boolean": (
        *_ANY,
        *_each("""
            CAST(x AS INT); CAST(x AS DOUBLE); CAST(x AS STRING); NOT x; CAST(x AS DECIMAL(3,1))
            CAST(x AS TINYINT); CAST(CAST(x AS STRING) AS BOOLEAN); CAST(x AS TIMESTAMP)
        """),
    ),
    "binary": (*_ANY, *_each("length(x); octet_length(x); bit_length(x)")),
    "numeral": (*_FROM_TEXT, *_each("length(x); CAST(x AS BINARY); CAST(x AS INT) + 1 > 5")),
    "day_text": _FROM_MOMENT_TEXT,
    "string": (
        *_ANY,
        *_FROM_TEXT,
        *_FROM_MOMENT_TEXT,
        *_each(r"""
            startswith(x, 'a'); x LIKE 'abc%'; x LIKE 'a_c%'; x LIKE 'ab'; x NOT LIKE 'a_%'
            x LIKE 'a%c'; x LIKE 'a#_b%' ESCAPE '#'; x LIKE '%b'; contains(x, 'b'); contains(x, '')
            x LIKE '_b%c_'; x LIKE '%a%b%'; x LIKE 'a\\%%'; contains(x, 'é'); contains(x, 'bc')
            endswith(x, 'é'); endswith(x, ''); x RLIKE '^ab'; x RLIKE '^abc.*'; x RLIKE '^a[0-9]+$'
            startswith(x, ''); startswith(x, '\\U0010ffff')
            substring(x, 1, 2); left(x, 1); substring(x, 0, 3); left(x, 0); concat(x, 'm')
            substring(x, 2, 2); substring(x, -2, 1); right(x, 2); substring(x, 3); substring(x, 70, 3)
            substring(x, -5, 4); concat('p', x); concat(x, y); concat(x, '-', y); concat(x, 'é')
            concat(x, ''); concat(x, 'a'); concat('', x, y); concat(x, '\U0010ffff')
            upper(x); lower(x); trim(x); ltrim(x); rtrim(x); trim(BOTH 'ab' FROM x); rtrim('b', x)
            length(x); octet_length(x); bit_length(x); upper(x) LIKE 'AB%'; substring(x, 1, 1) = 'a'
            left(x, 2) IN ('ab', 'AB'); coalesce(x, 'none'); nvl2(x, y, 'z')
            CASE x WHEN 'a' THEN 'b' ELSE x END; replace(x, 'a', 'zz'); replace(x, 'ab'); replace(x, '', 'q')
            lpad(x, 5, 'ab'); rpad(x, 6); rpad(x, 4, 'éz'); lpad(x, 2); lpad(x, 7, ''); lpad(x, -1, 'x')
            repeat(x, 3); repeat(x, 0); reverse(x); instr(x, 'b'); instr(x, ''); instr(x, 'é')
            CAST(x AS BINARY)
        """),
        "x RLIKE '^\U0010ffff'",
    ),
}
