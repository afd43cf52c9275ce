"""Random predicates in DuckDB's SQL that favor special values and mixed types."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Pool:
    """A column: its type, and SQL of its values and of other values to compare it with."""

    type: str
    values: list[str]
    others: tuple[str, ...] = ()
    is_column: bool = True


def _micros(unit: str, *values: int) -> list[str]:
    return [f"make_timestamp({value})::{unit}" for value in values]


_DAY = 86_400_000_000
_MICROS = (-_DAY - 1, -_DAY, -1, 0, 1, _DAY - 1, _DAY, 19_797 * _DAY + 5)
_STRINGS = ["''", "'a'", "'ab'", "'abc'", "'b'", "'é'", "'a_c'", "'a%'", "chr(1114111)", "'z'"]
_FLOATS = [f"'{each}'" for each in ("nan", "inf", "-inf", "-0.0", "0.0", "1.5", "1.1", "-2")]
_DATES = [f"'{each}'::DATE" for each in ("1969-12-31", "1970-01-01", "1970-01-02", "2024-03-15")]
_DATES += ["'infinity'::DATE", "'-infinity'::DATE"]
_NANOS = ["1969-12-31 23:59:59.999999999", "1970-01-01", "1970-01-01 00:00:00.000000001"]
_NANOS += ["1970-01-01 00:00:00.000001", "1970-01-01 23:59:59.999999500", "1970-01-02"]

POOLS = {
    "bo": Pool("BOOLEAN", ["true", "false"]),
    "ti": Pool("TINYINT", ["-128", "-1", "0", "1", "127"], ("300", "0.5", "1.5e0", "-129")),
    "i": Pool("INTEGER", ["-2147483648", "-1", "0", "1", "2", "3"], ("1.5", "0.5e0", "3000000000")),
    "b": Pool(
        "BIGINT",
        ["-9223372036854775808", "-1", "0", "1", "9007199254740993"],
        ("1.5", "9007199254740992e0"),
    ),
    "ub": Pool(
        "UBIGINT", ["0", "1", "2", "18446744073709551615"], ("-1", "1.5", "18446744073709551616")
    ),
    "h": Pool(
        "HUGEINT",
        ["-1", "0", "1", "99999999999999999999999999999999999999"],
        ("170141183460469231731687303715884105727", "0.5"),
    ),
    "f": Pool(
        "FLOAT", [f"{each}::FLOAT" for each in _FLOATS], ("1.1", "1.1::DOUBLE", "16777217", "1e300")
    ),
    "g": Pool(
        "DOUBLE", [f"{each}::DOUBLE" for each in _FLOATS], ("1.1", "0.1", "5e-324", "1.1::FLOAT")
    ),
    "n": Pool(
        "DECIMAL(9,2)",
        ["-9999999.99", "-0.01", "0", "0.01", "1.5"],
        ("0.015", "1", "1.5e0", "100000000"),
    ),
    "w": Pool(
        "DECIMAL(30,4)",
        ["-99999999999999999999999999.9999", "-0.0001", "0", "12345678901234567890.5"],
        ("0.00001", "1"),
    ),
    "t": Pool("VARCHAR", _STRINGS, ("upper('a')",)),
    "bl": Pool(
        "BLOB", [f"'{each}'::BLOB" for each in ("", "\\x00", "a", "ab c", "\\xFF", "\\xFF\\xFF")]
    ),
    "d": Pool(
        "DATE",
        _DATES,
        ("TIMESTAMP '1970-01-01 12:00:00'", "TIMESTAMP '1970-01-02'", "'infinity'::TIMESTAMP"),
    ),
    "ts": Pool(
        "TIMESTAMP",
        [*_micros("TIMESTAMP", *_MICROS), "'infinity'::TIMESTAMP", "'-infinity'::TIMESTAMP"],
        ("DATE '1970-01-01'", "TIMESTAMP_NS '1970-01-01 00:00:00.0000005'"),
    ),
    "tsms": Pool(
        "TIMESTAMP_MS",
        _micros("TIMESTAMP_MS", -_DAY, -1_000, 0, 1_000, _DAY),
        ("make_timestamp(1)", "'infinity'::TIMESTAMP_MS"),
    ),
    "tss": Pool(
        "TIMESTAMP_S",
        _micros("TIMESTAMP_S", -_DAY, -1_000_000, 0, _DAY),
        ("make_timestamp(1)", "DATE '1970-01-01'"),
    ),
    "tsns": Pool(
        "TIMESTAMP_NS",
        [f"TIMESTAMP_NS '{each}'" for each in _NANOS],
        ("make_timestamp(1)", "DATE '1970-01-02'"),
    ),
    "tz": Pool(
        "TIMESTAMPTZ",
        [
            f"'{each}'::TIMESTAMPTZ"
            for each in (
                "1969-12-31 23:59:59.999999+00",
                "1970-01-01 00:00:00+00",
                "1970-01-01 02:00:00+02",
                "2024-03-15 00:00:00+01",
            )
        ],
    ),
    "u": Pool(
        "UUID",
        [
            f"'{each}'::UUID"
            for each in (
                "00000000-0000-0000-0000-000000000001",
                "7fffffff-ffff-ffff-ffff-ffffffffffff",
                "80000000-0000-0000-0000-000000000000",
                "ffffffff-ffff-ffff-ffff-ffffffffffff",
            )
        ],
    ),
    "x": Pool("INTEGER", ["-1", "0", "1", "2"], ("0.5",), is_column=False),
    "z": Pool("VARCHAR", _STRINGS[:5], is_column=False),
}
_SQL = {"x": "s.x", "z": "s.y.z"}
_PATTERNS = ["'a%b'", "'a_%'", "'_'", "'%'", "'é%'", "'a\\_%'"]
_OPERATORS = ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]
_TIMES = ["d", "ts", "tsms", "tss", "tsns"]
_NUMBERS = ["ti", "i", "b", "ub", "h", "f", "g", "n", "w"]


def random_predicate(random: Random, depth: int | None = None) -> str:
    if depth is None:  # often small: large predicates rarely reveal a mistake
        depth = random.choice([0, 1, 3])
    kind = random.random()
    if depth == 0 or (kind < 0.5 and depth > 1):
        return _leaf(random)

    def below() -> str:
        return random_predicate(random, depth - 1)

    if kind < 0.75:
        operator = random.choice([" AND ", " OR "])
        return "(" + operator.join(below() for _ in range(random.choice([2, 2, 3]))) + ")"
    if kind < 0.87:
        return f"(NOT {below()})"
    return random.choice(
        [
            f"(CASE WHEN {below()} THEN {below()} ELSE {below()} END)",
            f"(CASE WHEN {below()} THEN {below()} WHEN {below()} THEN {below()} END)",
            f"coalesce({below()}, {below()})",
            f"(({below()}) IS {random.choice(['', 'NOT '])}{random.choice(['TRUE', 'FALSE', 'NULL'])})",
            f"(({below()}) {random.choice(_OPERATORS)} ({below()}))",
        ]
    )


def _leaf(random: Random) -> str:
    name = random.choice(list(POOLS))
    pool, column = POOLS[name], _SQL.get(name, name)
    kind = random.random()
    if kind < 0.1:
        return f"({column} IS {random.choice(['', 'NOT '])}NULL)"
    if name == "bo" and kind < 0.4:
        return "bo"
    if name in ("t", "z") and kind < 0.3:
        return _text_leaf(random, column)
    if kind < 0.35:
        options = [_value(random, pool) for _ in range(random.choice([1, 2, 3, 6, 8]))]
        return f"({column} {random.choice(['', 'NOT '])}IN ({', '.join(options)}))"
    if kind < 0.5:
        lower, upper = _value(random, pool), _value(random, pool)
        return f"({column} {random.choice(['', 'NOT '])}BETWEEN {lower} AND {upper})"
    operator = random.choice(_OPERATORS)
    if name in _TIMES and kind < 0.6:
        return f"({column}::DATE {operator} {random.choice(_DATES)})"
    if name in _NUMBERS and kind < 0.55:
        target = random.choice(["SMALLINT", "BIGINT", "DOUBLE", "DECIMAL(5,1)", "FLOAT"])
        return f"(TRY_CAST({column} AS {target}) {operator} {_value(random, pool)})"
    family = _TIMES if name in _TIMES else _NUMBERS if name in _NUMBERS else [name]
    if kind < 0.7:
        other = random.choice(family)
        return f"({column} {operator} {_SQL.get(other, other)})"
    if kind < 0.75:
        return (
            f"(coalesce({column}, {random.choice(pool.values)}) {operator} {_value(random, pool)})"
        )
    sides = [column, _value(random, pool)]
    if random.random() < 0.3:
        sides.reverse()
    return f"({sides[0]} {operator} {sides[1]})"


def _value(random: Random, pool: Pool) -> str:
    if random.random() < 0.05:
        return "NULL"
    values = pool.others if pool.others and random.random() < 0.35 else pool.values
    return random.choice(values)


def _text_leaf(random: Random, column: str) -> str:
    part = random.choice(_STRINGS)
    return random.choice(
        [
            f"({column} {random.choice(['', 'NOT '])}LIKE {part})",
            f"({column} LIKE {random.choice(_PATTERNS)})",
            f"starts_with({column}, {part})",
            f"suffix({column}, {part})",
            f"contains({column}, {part})",
            f"({column} COLLATE NOCASE = {part})",
            f"(lower({column}) = {part})",
            f"(length({column}) > 1)",
        ]
    )
