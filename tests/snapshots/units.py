"""Questions to single functions below the rules: edges of strings, zones, spans, constants."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Buckets
from tamis.evaluation.domain.buckets import hashed, is_hashed, may_share
from tamis.evaluation.domain.distinct_edges import distinct_edges, spread
from tamis.evaluation.domain.edge_values import comparable, edge_of
from tamis.evaluation.domain.interval import decimal_edge, decimal_parts, interval
from tamis.evaluation.domain.order import may_be_less, may_be_less_equal, with_keys
from tamis.evaluation.domain.search import count_at_most, count_less
from tamis.evaluation.domain.spans import complement, edges_of, may_meet, merged, successor, without
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.evaluation.functions.strings.byte_rows import (
    is_ascii,
    joined,
    lengths_of,
    rows_of,
    shared_beginning,
    strings_of,
)
from tamis.evaluation.functions.strings.case_preimages import case_preimage
from tamis.evaluation.functions.strings.preimages import _limits_of
from tamis.evaluation.functions.strings.single_values import (
    padded_left,
    padded_right,
    repeated,
    replaced,
)
from tamis.evaluation.functions.strings.text import literal_prefix, of_points
from tamis.evaluation.functions.temporal.zones import DAY, HOUR, SECOND, _from_table, zone
from tamis.evaluation.nodes.value_sets import true_values
from tamis.evaluation.udf.python_values import from_python, to_python
from tamis.evaluation.udf.udf_contract import Contract
from tamis.expr.nodes import Call, Column, Compare, Comparison, Expr, In, IsNull, Literal, Not
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)
from tamis.plan.reader_losses import loses_within
from tests.differential.generate import POOLS

_PARTS = ["", "a", "A", "i", "I", "j", "b", "k", "s", "ss", "MA", "\x7f", "é", "ß", "\u0307", "ﬁ"]
_TEXTS = [part.encode() for part in _PARTS] + [b"\x80", b"\xff", b"\0", b"abcdefg", b"abcdefgh"]
_TYPES = [*POOLS, decimal(18, 4), decimal(19, 4), decimal(5, 0)]


def _text(random: Random) -> bytes:
    return b"".join(random.choices(_TEXTS, k=random.choice([0, 1, 1, 2, 3])))


def _texts(random: Random, count: int, nulls: float = 0.2) -> pa.Array:
    """Return strings with nulls over hidden bytes, as a slice of a longer array."""
    more = random.choice([0, 0, 2])
    values = [_text(random) for _ in range(count + 2 * more)]
    known = [random.random() >= nulls for _ in values]
    array = pa.array(values, pa.large_binary())
    if not all(known):
        validity = pa.py_buffer(np.packbits(known, bitorder="little").tobytes())
        buffers = [validity, *array.buffers()[1:]]
        array = pa.Array.from_buffers(pa.large_binary(), len(values), buffers)
    return array.slice(more, count)


def _ordered(random: Random, count: int) -> tuple[pa.Array, pa.Array]:
    """Return lower and upper edges, often equal or with a common prefix."""
    low, high = [], []
    for _ in range(count):
        start = _text(random)
        pair = sorted([start + _text(random), start + _text(random)])
        if random.random() < 0.3:
            following = successor(pair[0])
            pair = [pair[0], following] if following is not None and pair[0] else pair
        low.append(pair[0] if random.random() < 0.9 else None)
        high.append(pair[1] if random.random() < 0.9 else None)
    return pa.array(low, pa.large_binary()), pa.array(high, pa.large_binary())


def _flags(random: Random, count: int) -> Any:
    return np.array([random.random() < 0.5 for _ in range(count)], np.bool_)


def _texts_bounds(random: Random, count: int) -> Bounds:
    lower, upper = _ordered(random, count)
    known = _flags(random, count) if random.random() < 0.4 else None
    bounds = Bounds(STRING, lower, upper, NO, NO, YES, upper_open=known)
    bounds = replace(bounds, lower=None) if random.random() < 0.05 else bounds
    bounds = replace(bounds, upper=None) if random.random() < 0.05 else bounds
    return with_keys(bounds) if random.random() < 0.6 else bounds


def _byte_rows(random: Random) -> Any:
    edge, width = _texts(random, random.choice([0, 1, 5])), random.choice([1, 2, 9])
    rows, lengths = rows_of(edge, width), np.minimum(lengths_of(edge), width)
    low, high = _ordered(random, 4)
    opened = _flags(random, 4) if random.random() < 0.6 else None
    return (
        is_ascii(edge),
        is_ascii(pa.array([b"\x80"] * len(edge), pa.large_binary())),
        is_ascii(pa.nulls(2, pa.large_binary())),
        lengths_of(edge),
        rows,
        strings_of(rows, lengths, _flags(random, len(edge))),
        shared_beginning(low, high, random.choice([1, 2, 3, 64]), opened),
        joined(edge, b"-", edge),
        rows_of(pa.array([], pa.large_binary()), 3),
        count_less(pa.array(sorted(filter(None, low.to_pylist())), pa.large_binary()), high),
        count_at_most(pa.array(sorted(filter(None, low.to_pylist())), pa.large_binary()), high),
    )


def _order(random: Random) -> Any:
    count = random.choice([1, 9, 40])
    x, y = (_texts_bounds(random, random.choice([1, count])) for _ in range(2))
    return may_be_less(x, y), may_be_less_equal(x, y)


def _span(random: Random) -> tuple[bytes, bytes | None]:
    low, high = sorted([_text(random), _text(random)])
    return low, None if random.random() < 0.2 else high


def _cases(random: Random) -> Any:
    return case_preimage(random.random() < 0.5, _span(random), random.choice([4, 16, 192]))


def _spans(random: Random) -> Any:
    spans = merged(_span(random) for _ in range(random.choice([0, 1, 2, 4])))
    bounds = _texts_bounds(random, random.choice([1, 6]))
    return (
        spans,
        complement(spans),
        without(spans, _span(random)),
        may_meet(bounds, edges_of(spans)),
    )


def _predicate(random: Random, subject: Expr, data_type: DataType) -> Expr:
    constants = [*POOLS[data_type][0], None] if random.random() < 0.2 else POOLS[data_type][0]
    constant = Literal(random.choice(constants), data_type)
    match random.randrange(7):
        case 0:
            return IsNull(subject)
        case 1:
            options = tuple(random.choices(constants, k=random.randrange(4)))
            return In(subject, options, random.random() < 0.2)
    sides = (subject, constant) if random.random() < 0.7 else (constant, subject)
    return Compare(random.choice(list(Comparison)), *sides)


def _value_sets(random: Random) -> Any:
    data_type = random.choice(list(POOLS))
    column = Column(("a",), data_type)
    one, other = (_predicate(random, column, data_type) for _ in range(2))
    sets = [true_values(Not(one) if random.random() < 0.3 else one), true_values(other)]
    both = sets[0].intersected(sets[1])
    return sets, both, both.settled(data_type), sets[0].settled(data_type)


def _preimages(random: Random) -> Any:
    call: Expr = Column(("a",), STRING)
    for _ in range(random.choice([1, 1, 2, 3])):
        name = random.choice(
            ["Upper", "Lower", "StringTrim", "StringTrimLeft", "StringTrimRight", "Substring"]
        )
        more: tuple[Any, ...] = ()
        if name == "Substring":
            more = (random.choice([0, 1, 2]), random.choice([0, 1, 3]))
        elif name.startswith("StringTrim") and random.random() < 0.3:
            more = (random.choice(["a", " i", "é", ""]),)
        constants = (Literal(each, INTEGER if isinstance(each, int) else STRING) for each in more)
        call = Call(name, (call, *constants), (), STRING)
    texts = [_text(random).decode("utf-8", "ignore") + random.choice(["", " "]) for _ in range(3)]
    match random.randrange(4):
        case 0:
            return _limits_of(In(call, tuple(texts[: random.randint(1, 3)]), random.random() < 0.2))
        case 1:
            name, options = random.choice(
                [("StartsWith", ()), ("Like", (("escapeChar", "\\"),)), ("Like", ())]
            )
            pattern = texts[0] + random.choice(["", "%", "_a"])
            return _limits_of(Call(name, (call, Literal(pattern, STRING)), options, BOOLEAN))
    sides = (call, Literal(texts[0], STRING))
    return _limits_of(
        Compare(random.choice(list(Comparison)), *(sides if random.random() < 0.7 else sides[::-1]))
    )


_MOMENTS = [0, -25_567 * DAY, 47_482 * DAY, 1_710_054_000 * SECOND, 1_730_613_600 * SECOND]
_MOMENTS += [-(1 << 63), (1 << 63) - 1, 1_325_239_200 * SECOND, 4_102_444_800 * SECOND]


def _zones(random: Random) -> Any:
    if random.random() < 0.4:
        moments = sorted(random.sample(range(-5, 6), random.randrange(4)))
        offsets = [
            random.choice([0, 3_600, 7_200, -3_600, 43_200]) for _ in range(len(moments) + 1)
        ]
        pairs = ",".join(f"{m * 86_400}:{o}" for m, o in zip(moments, offsets[1:], strict=True))
        clock = _from_table(f"{offsets[0]};{pairs}")
        if clock is None:
            return None
    else:
        names = [
            "America/New_York",
            "Asia/Kolkata",
            "Pacific/Apia",
            "+05:30",
            "-18:00",
            "UTC",
            "PST",
        ]
        clock = zone(random.choice(names))
    anchors = random.choices([*_MOMENTS, *range(-5 * DAY, 5 * DAY, DAY)], k=20)
    steps = [0, 1, -1, HOUR, -HOUR, 3 * HOUR, DAY, -DAY, 200 * DAY]
    moved = [min(max(a + random.choice(steps), -(1 << 63)), (1 << 63) - 1) for a in anchors]
    ends = [min(a + random.choice([0, 1, HOUR, DAY, 400 * DAY]), (1 << 63) - 1) for a in moved]
    lower, upper = np.array(moved), np.array(ends)
    return clock.local(lower, upper), clock.utc(lower, upper), clock.constant(lower, upper)


def _integers(random: Random, count: int) -> Any:
    anchors = [0, 1, -1, 10, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63), 5, -15, 14]
    return np.array(random.choices(anchors, k=count))


def _exact(random: Random) -> Any:
    x, y = _integers(random, 12), _integers(random, 12)
    divisor = random.choice([1, 2, 10, 1000])
    functions = (
        int64_overflow.add,
        int64_overflow.subtract,
        int64_overflow.multiply,
        int64_overflow.clipped_add,
    )
    with np.errstate(all="ignore"):
        return (
            [function(x, y) for function in functions],
            int64_overflow.ceil_divide(x, divisor),
            int64_overflow.toward_zero(x, divisor),
            int64_overflow.divide_half_up(x, divisor),
            [int64_overflow.power_of_ten(each) for each in (-1, 0, 17, 18, 19)],
        )


def _constants(random: Random) -> Any:
    data_type = random.choice(_TYPES)
    odd = [True, 0, 1.5, "a", b"a", Decimal("1.005"), None, 10**10, Decimal(10) ** 30, -129]
    pool = POOLS.get(data_type, (odd,))[0]
    values = random.choices(pool, k=random.choice([1, 3, 12]))
    if random.random() < 0.3:
        values = [*values, random.choice(odd)]
    edge = edge_of(values, data_type)
    made = hashed(edge, data_type)
    buckets = Buckets(4, np.array([0, 1, 2, 3, -1]))
    return (
        edge,
        is_hashed(data_type),
        made,
        None if made is None else (may_share(buckets, made), made.buckets(7)),
        [to_python(each, data_type) for each in values],
    )


def _hashes(random: Random) -> Any:
    """Use long strings, and UUIDs, which Iceberg hashes as 16 bytes."""
    uuid = "f79c3e09-677c-4bbd-a479-3f349cb785e7"
    texts = random.choices([uuid, uuid.upper(), "a" * 1_000, "a" * 70_000, "", "é", uuid[:-1]], k=3)
    data_type = random.choice([STRING, BINARY])
    return hashed(
        edge_of([t if data_type == STRING else t.encode() for t in texts], data_type), data_type
    )


_NOW = datetime.datetime(2024, 2, 29, 1, 2, 3, 4)
_PYTHON = [True, 0, -1, 1.5, float("nan"), "é", b"\xff", bytearray(b"a"), Decimal("1.005"), _NOW]
_PYTHON += [_NOW.date(), _NOW.replace(tzinfo=datetime.UTC), 1 << 70, Decimal("-12345678.995")]


def _python(random: Random) -> Any:
    value, data_type = random.choice(_PYTHON), random.choice(_TYPES)
    return from_python(value, data_type, random.choice([-1, 0, 1]))


def _of_edges(random: Random) -> Any:
    data_type = random.choice([LONG, BYTE, DOUBLE, STRING, decimal(30, 2), decimal(9, 2)])
    values: list[Any] = [None, *random.choices(POOLS.get(data_type, ([Decimal("1.25")],))[0], k=3)]
    if data_type == decimal(9, 2):
        values = [None if v is None else int(v * 100) for v in values]
    if data_type == STRING:
        values = [None if v is None else v.encode() for v in values]
    codes = np.array([random.randrange(4) for _ in range(6)])
    low, high = (spread(values, codes, data_type, is_lower) for is_lower in (True, False))
    bounds = Bounds(data_type, low, high, NO, NO, YES, lower_known=_flags(random, 6))
    edges = [distinct_edges(bounds, name) for name in ("lower", "upper")]
    wide = decimal_edge(_integers(random, 5), _flags(random, 5), decimal(30, 2))
    return edges, interval(bounds), wide, decimal_parts(wide.slice(1))


def _strings(random: Random) -> Any:
    text, other = (_text(random).decode("utf-8", "ignore") for _ in range(2))
    length = random.choice([-1, 0, 1, 3, 6])
    pattern = "".join(random.choices(["a", "%", "_", "!", "\\", "é"], k=random.randrange(6)))
    bounds = _texts_bounds(random, 5)
    return (
        padded_left(text, length, other),
        padded_right(text, length, other),
        repeated(text, length),
        replaced(text, other, "-"),
        literal_prefix(pattern, random.choice("!\\")),
        of_points(bounds, str.upper),
        successor(_text(random)),
    )


def _contracts(random: Random) -> Any:
    types = random.choice([(), ["INT"], ["decimal(5,2)", "string"], ["timestamp", "Date"]])
    constants = random.choice([None, [], [[1, 2]], [[1], ["a"]], [{"a"}]])

    def annotated(x: int | None) -> int:
        return x or 0

    function = random.choice([annotated, lambda x: x])
    contract = Contract("f", monotone=function, types=types, constants=constants)
    given = random.choice([(), (1,), (3,), (1, "a"), ([],)])
    return contract.types, [contract.covers(each, given) for each in _TYPES]


def _types(random: Random) -> Any:
    return [comparable(x, y) for x, y in product(random.sample(_TYPES, 8), repeat=2)]


def _losses(random: Random) -> Any:
    data_type = random.choice([DOUBLE, FLOAT, TIMESTAMP, TIMESTAMP_NTZ, DATE, INTEGER, STRING])
    odd = [0.0, -0.0] if data_type.is_floating else []
    odd += [1_500, 1_000, -1_500] if data_type.name.startswith("timestamp") else []
    odd += [-141_428, -141_427, -141_437, -141_438, 0] if data_type == DATE else []
    pool = [None, *(odd or POOLS[data_type][0])]
    low, high = random.choice(pool), random.choice(pool)
    return loses_within(low, high, data_type, random.random() < 0.5)


UNITS: dict[str, Callable[[Random], Any]] = {
    "byte rows": _byte_rows,
    "order": _order,
    "letter case": _cases,
    "spans": _spans,
    "value sets": _value_sets,
    "preimages": _preimages,
    "zones": _zones,
    "exact": _exact,
    "constants": _constants,
    "hashes": _hashes,
    "Python values": _python,
    "edges": _of_edges,
    "strings": _strings,
    "contracts": _contracts,
    "types": _types,
    "reader losses": _losses,
}


def ask(name: str, seed: str) -> list[Any]:
    """Return the answers to forty random questions. An error is an answer too."""
    return [_answer(UNITS[name], Random(f"{seed} {number}")) for number in range(40)]


def _answer(unit: Callable[[Random], Any], random: Random) -> Any:
    try:
        return unit(random)
    except Exception as error:
        return type(error).__name__


def asker(name: str, seed: str) -> Callable[[], Any]:
    """Return a function that computes `ask(name, seed)`."""
    return partial(ask, name, seed)
