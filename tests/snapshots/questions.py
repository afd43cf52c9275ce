"""Random questions about random statistics, each with a name, and the answers of the current code.

Every question has its own seed, so adding or removing one does not change the others. Its name
contains the seed and a digest of its text. If the generator or its tables change and the seed now
yields another question, that question has another name, and the recorded answer of the old one is
removed. There is no oracle: other tests check that answers are right, and these detect that an
answer has changed.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, partial
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.classification import Capabilities, classify
from tamis.evaluation import verdicts
from tamis.evaluation.interpreter import truth, value
from tamis.evaluation.raising import can_raise, may_raise
from tamis.evaluation.udf.declared_calls import bind
from tamis.evaluation.udf.images import Declared
from tamis.evaluation.udf.udf_contract import Contract
from tamis.evaluation.udf.udf_guard import UdfGuard
from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    type_of,
    walk,
)
from tamis.expr.sql import to_sql
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)
from tamis.files.columns import count_column
from tamis.files.segments import GroupedFiles, Segment
from tamis.files.table import ArrowStatistics, dotted
from tamis.plan.detail.kinds import deciding_kinds
from tamis.plan.detail.pruning_effects import effects
from tamis.plan.goals.aggregate import answer
from tamis.plan.goals.aggregate_functions import Aggregate, Function
from tamis.plan.goals.file_keys import key_of_files, matching_files
from tamis.plan.goals.fully_matching import fully_matching, fully_matching_blocks
from tamis.plan.goals.limit import enough_files
from tamis.plan.goals.sort_keys import SortKey
from tamis.plan.goals.topk import boundary, first_files
from tamis.plan.goals.unraised_errors import files_that_may_raise
from tamis.plan.joins.key_ranges import key_ranges
from tamis.plan.ranges.implied_ranges import implied_ranges
from tamis.plan.reader_losses import loss_of
from tamis.plan.row_groups import decide_row_groups
from tamis.plan.scan_decision import decide
from tests.cases.tables import CASES
from tests.differential.claims import statistics_of
from tests.differential.generate import (
    POOLS,
    Case,
    random_case,
    random_function,
    random_limits,
    random_predicate,
)
from tests.differential.random_calls import calls_in, random_call, random_test
from tests.differential.row_sweep import random_container
from tests.evaluation.test_exact_bounds import EXACT, NEAR, PIECES, SINGLE
from tests.properties.test_recorded import POOL, RecordedFiles
from tests.snapshots.spell import digest
from tests.snapshots.units import UNITS, asker

#: Zones with settled rules in the past; governments may still change the future.
ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "Australia/Lord_Howe", "+05:30")
MODES = ("LEGACY", "LEGACY", "ANSI", "TRY")
FILES = 12


@dataclass(frozen=True, slots=True)
class Question:
    """`group`: the test. `text`: a description for people. `ask`: computes the answer."""

    group: str
    text: str
    ask: Callable[[], Any]


def questions(family: str) -> Iterator[tuple[str, Question]]:
    """Draw all questions of a family, with their names."""
    for seed in _seeds(family):
        drawn = _drawn(family, seed)
        if drawn is not None:
            yield f"{seed} {_digest(drawn)}", drawn


def question(family: str, name: str) -> Question | None:
    """Draw the question with this name; None if it does not exist any more."""
    seed, _, digest_of_text = name.rpartition(" ")
    drawn = _drawn(family, seed)
    return drawn if drawn is not None and _digest(drawn) == digest_of_text else None


def _drawn(family: str, seed: str) -> Question | None:
    return _DRAW[family](Random(f"{family} {seed}"), seed)


def _digest(drawn: Question) -> str:
    return digest(drawn.text)[:4]


def _seeds(family: str) -> list[str]:
    if family == "calls":
        return list(_calls())
    if family == "changed_calls":
        legacy = [key for key in _calls() if key.endswith("LEGACY")]
        return [f"{key}#{number}" for key in legacy for number in range(6)]
    if family == "units":
        return [f"{name}#{number}" for name in UNITS for number in range(30)]
    return [str(number) for number in range(COUNTS[family])]


#: The number of questions of the other families.
COUNTS = {
    "random_calls": 6_000,
    "columns": 400,
    "predicates": 2_400,
    "scans": 900,
    "members": 400,
    "declared": 300,
}


# --- bounds of calls -----------------------------------------------------------------------------


@cache
def _calls() -> dict[str, tuple[Call, str]]:
    """Return the calls of the tables of cases, in every mode."""
    calls: dict[str, tuple[Call, str]] = {}
    listed: list[Expr] = [each for case in CASES for each in (*case.hits, *case.misses, *case.full)]
    for call in calls_in((*listed, *EXACT, *PIECES, *NEAR, *SINGLE)):
        columns = [each for each in walk(call) if isinstance(each, Column)]
        if columns and all(each.type in POOLS for each in columns):
            for mode in dict.fromkeys(MODES):
                text = to_sql(call).encode("unicode_escape").decode()
                calls[f"{text} {columns[0].type} {digest(call)[:4]} {mode}"] = call, mode
    return calls


def _call_of_a_table(random: Random, key: str) -> Question | None:
    entry = _calls().get(key)
    if entry is None:
        return None
    call, mode = entry
    return _bounds(random, _with(random, call, mode))


def _changed_call(random: Random, key: str) -> Question | None:
    """Draw a call of the tables with other constants, types, options or arguments."""
    entry = _calls().get(key.partition("#")[0])
    if entry is None:
        return None
    call, mode = entry
    for _ in range(random.choice([1, 1, 2, 3])):
        call = _changed(random, call)
    if not any(isinstance(each, Column) for each in walk(call)):
        return None
    return _bounds(random, _with(random, call, mode))


#: Constants of every kind that functions take: formats, units, patterns, lengths.
_CONSTANTS: dict[DataType, list[Any]] = {
    STRING: [
        *("yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss", "yyyy", "MM-dd", "dd.MM.yyyy", "yyyyMMdd", "HH:mm"),
        *("YEAR", "quarter", "MM", "WEEK", "DAY", "HOUR", "MO", "sunday", "UTC", "Asia/Kolkata"),
        *("", "a", "%", "a%", "%a", "a_c%", "^a", "^ab*", "^a|b", "customer#", " ", "é", "-", "x"),
    ],
    INTEGER: [-1_000, -3, -2, -1, 0, 1, 2, 3, 5, 10, 31, 400, 2_147_483_647],
    DOUBLE: [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 10.0, 1e300, math.inf],
    BOOLEAN: [True, False],
}
#: Types that may replace each other.
_SIBLINGS: tuple[tuple[DataType, ...], ...] = (
    (BYTE, SHORT, INTEGER, LONG),
    (FLOAT, DOUBLE),
    (TIMESTAMP, TIMESTAMP_NTZ, DATE),
    (STRING, BINARY),
    (
        decimal(9, 2),
        decimal(38, 10),
        decimal(18, 4),
        decimal(20, 2),
        decimal(5, 0),
        decimal(38, 18),
    ),
)
_UNITS = ["MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "?"]


def _changed(random: Random, call: Call) -> Call:
    place = random.randrange(len(call.arguments)) if call.arguments else 0
    arguments = list(call.arguments)
    match random.randrange(8):
        case 0:
            types = next((each for each in _SIBLINGS if call.type in each), (call.type,))
            return replace(call, type=random.choice(types))
        case 1 if "unit" in dict(call.options):
            return replace(
                call, options=tuple({**dict(call.options), "unit": random.choice(_UNITS)}.items())
            )
        case 2 if arguments:
            del arguments[place]
        case 3 if arguments:
            arguments.append(arguments[place])
        case 4 if len(arguments) > 1:
            arguments.reverse()
        case _ if arguments:
            arguments[place] = _other(random, arguments[place])
    return replace(call, arguments=tuple(arguments))


def _other(random: Random, argument: Expr) -> Expr:
    data_type = type_of(argument)
    if isinstance(argument, Call):
        return _changed(random, argument)
    if data_type is None or not isinstance(argument, Column | Literal):
        return argument
    siblings = next((each for each in _SIBLINGS if data_type in each), (data_type,))
    if isinstance(argument, Column):
        if random.random() < 0.3:
            return Literal(random.choice(_constants(data_type)), data_type)
        return replace(
            argument,
            type=random.choice([each for each in siblings if each in POOLS] or [data_type]),
        )
    if random.random() < 0.3 and data_type in POOLS:
        return Column(("second",), data_type)
    chosen = random.choice(siblings) if random.random() < 0.2 else data_type
    return Literal(random.choice([*_constants(chosen), None]), chosen)


def _constants(data_type: DataType) -> list[Any]:
    if data_type in _CONSTANTS:
        return _CONSTANTS[data_type]
    if data_type in POOLS:
        return POOLS[data_type][0]
    return [Decimal("-1"), Decimal("0"), Decimal("2.5"), 3] if data_type.is_decimal else [0, 1, -5]


def _random_call(random: Random, _: str) -> Question | None:
    data_type = random.choice(list(POOLS))
    draw = random_test if random.random() < 0.15 else random_call
    call = draw(random, Column(("a",), data_type))
    if not isinstance(call, Call):
        return None
    if call.name == "Cast" or random.random() < 0.2:
        call = _changed(random, call)
    if not any(isinstance(each, Column) for each in walk(call)):
        return None
    return _bounds(random, _with(random, call, random.choice(MODES)))


def _with(random: Random, call: Call, mode: str) -> Call:
    """Return the call, and the calls in it, in a session with another time zone and mode."""
    options = dict(call.options)
    if options.get("timeZoneId") == "UTC":
        options["timeZoneId"] = random.choice(ZONES)
    if "evalMode" in options:
        options["evalMode"] = mode
    arguments = (_with(random, e, mode) if isinstance(e, Call) else e for e in call.arguments)
    return replace(call, arguments=tuple(arguments), options=tuple(options.items()))


def _bounds(random: Random, call: Call) -> Question:
    types = {dotted(each.path): each.type for each in walk(call) if isinstance(each, Column)}
    columns = {
        name: [row["a",] for _ in range(24) for row in random_container(random, data_type)]
        for name, data_type in types.items()
    }
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    per_file = len(rows) // 24
    containers = [rows[start : start + per_file] for start in range(0, len(rows), per_file)]
    arrow = {name: POOLS[data_type][1] for name, data_type in types.items()}
    statistics = ArrowStatistics(statistics_of(random, arrow, containers))
    text = f"{to_sql(call)} {dict(call.options)}"
    return Question(call.name, text, partial(_of_call, call, statistics))


def _of_call(call: Call, statistics: ArrowStatistics) -> Any:
    try:
        raises = may_raise(call, statistics) if can_raise(call) else None
        if type_of(call) == BOOLEAN:
            return truth(call, statistics), raises
        return value(call, statistics), raises
    except Exception as error:  # which `evaluate` treats as unknown
        return type(error).__name__


# --- columns, predicates -------------------------------------------------------------------------


def _column(random: Random, _: str) -> Question:
    case = random_case(random, FILES)
    column = case.columns[0]
    text = f"{column.type} {[each.transform for each in case.partition_spec]}"
    return Question(column.type.name, text, partial(_of_columns, case))


def _of_columns(case: Case) -> Any:
    statistics = ArrowStatistics(case.files, case.partition_spec)
    chosen = statistics.slice(0, 5).take(np.array([3, 0, 4]))
    return [
        (statistics.bounds(column), statistics.certain(column), chosen.bounds(column))
        for column in case.columns
    ]


def _of_predicates(random: Random, key: str) -> Question:
    case = random_case(random, FILES)
    predicate = _predicate(random, case)
    return Question(f"{int(key) % 80}", to_sql(predicate), partial(_of_predicate, case, predicate))


def _predicate(random: Random, case: Case) -> Expr:
    column = random.choice(case.columns)
    match random.randrange(4):
        case 0:
            return random_limits(random, column, case.columns)
        case 1:
            predicate = random_function(random, column)
            if predicate is not None:
                return predicate
    return random_predicate(random, case.columns)


def _of_predicate(case: Case, predicate: Expr) -> Any:
    statistics = ArrowStatistics(case.files, case.partition_spec)
    classified = classify(predicate, Capabilities.of_files(case.files, case.partition_spec))
    return {
        "verdicts": verdicts(predicate, statistics),
        "truth": truth(predicate, statistics),
        "pushdown": classified.pushdown,
        "pushed": None if classified.pushed is None else to_sql(classified.pushed),
        "reason": None if classified.reason is None else classified.reason.code,
        "ranges": implied_ranges([predicate]),
        "loss": loss_of(predicate),
    }


# --- scans ---------------------------------------------------------------------------------------


def _scan(random: Random, key: str) -> Question:
    case = random_case(random, FILES, perfect=random.random() < 0.5)
    conjuncts = [_predicate(random, case) for _ in range(random.choice([1, 1, 2, 3]))]
    column = random.choice(case.columns)
    sort = (random.random() < 0.3 and random_call(random, column)) or column
    ask = partial(_of_scan, random.getrandbits(32), case, conjuncts, column, sort)
    text = f"{' AND '.join(map(to_sql, conjuncts))} ORDER BY {to_sql(sort)}"
    return Question(f"{int(key) % 60}", text, ask)


def _of_scan(seed: int, case: Case, conjuncts: Sequence[Expr], column: Column, key: Expr) -> Any:
    random = Random(seed)
    segments = _segments(random, ArrowStatistics(case.files, case.partition_spec))
    ranges = [each.predicate for each in implied_ranges(conjuncts)]
    decision = decide(conjuncts, segments, FILES, detail=True, consequences=ranges)
    kept, records = decision.kept, _records(case.files)
    matching = fully_matching(conjuncts, segments, kept)
    blocks = fully_matching_blocks(conjuncts, segments, kept)
    raising = files_that_may_raise(conjuncts, segments, kept)
    sort = SortKey(key, *(random.random() < 0.5 for _ in range(3)))
    functions = [Function.COUNT, Function.MIN, Function.MAX]
    chosen = functions if random.random() < 0.3 else functions[1:]
    groups = np.array([random.randrange(3) for _ in range(FILES)])
    return {
        "decision": decision,
        "matching": matching,
        "raising": raising,
        "effects": effects(conjuncts, segments, FILES),
        "kinds": [deciding_kinds(each, segments, ~kept) for each in conjuncts],
        "limit": enough_files(random.choice([1, 3, 6]), blocks, records, records),
        "order": _first(sort, conjuncts, segments, kept, records, random.choice([1, 2, 5])),
        "keys": key_ranges(key, conjuncts, segments, kept),
        "answer": answer(
            [Aggregate(each, column) for each in chosen],
            segments,
            kept,
            matching,
            records,
            groups if random.random() < 0.5 else None,
            raising,
        ),
        "row groups": _row_groups(random, case, conjuncts),
    }


def _segments(random: Random, whole: ArrowStatistics) -> list[Segment]:
    """Return all files as one segment, or segments that repeat some files and omit others."""
    if random.random() < 0.6:
        return [Segment(slice(0, FILES), whole)]
    odd = np.arange(1, FILES, 2)
    return [Segment(slice(0, 7), whole.slice(0, 7)), Segment(odd, whole.take(odd))]


def _records(files: pa.Table) -> Any:
    """Return the number of rows of each file; -1 if unknown."""
    has_counts = "num_records" in files.column_names
    counted = count_column(files.column("num_records").combine_chunks()) if has_counts else None
    if counted is None:
        return np.full(FILES, -1)
    counts, known = counted
    return np.where(known, counts, -1)


def _first(
    key: SortKey,
    conjuncts: Sequence[Expr],
    segments: list[Segment],
    kept: Any,
    records: Any,
    k: int,
) -> Any:
    file_keys = key_of_files(key, conjuncts, segments, kept)
    if file_keys is None:
        return None
    matching = matching_files(key, file_keys, conjuncts, segments, kept)
    edge = boundary(k, key, file_keys, matching, records)
    return (
        file_keys,
        matching,
        edge,
        None if edge is None else first_files(key, file_keys, edge, kept),
    )


def _row_groups(random: Random, case: Case, conjuncts: Sequence[Expr]) -> Any:
    """Use files of three row groups. The statistics of a file are those of its first one."""
    places = np.arange(0, FILES, 3)
    groups = ArrowStatistics(case.files, case.partition_spec)
    files = groups.take(places)
    start = 4 + 100 * (np.arange(FILES) % 3)
    known = np.array([random.random() < 0.9 for _ in range(FILES)])
    batch = GroupedFiles(
        np.arange(len(places)),
        np.full(len(places), 1_000),
        np.full(len(places), 30),
        places,
        np.where(known, start, -1),
        np.where(known, start + 100, -1),
        np.where(known, start + 50, -1),
        np.full(FILES, 10),
        files,
        groups,
    )
    segments = [Segment(slice(0, len(places)), files)]
    before = decide(conjuncts, segments, len(places))
    return decide_row_groups(conjuncts, before, segments, [batch])


# --- recorded values and filters, declared functions ----------------------------------------------


def _members(random: Random, _: str) -> Question:
    data_type = random.choice(list(POOL))
    odd = [None, math.nan] if data_type == DOUBLE else [None]
    kind = random.choice(["values", "bloom", "both"])
    files = [
        random.choices(POOL[data_type] + odd, k=random.randrange(6))
        for _ in range(random.randint(1, 6))
    ]
    recorded = RecordedFiles(kind, data_type, files, [random.random() < 0.8 for _ in files])
    predicate = _about_members(random, data_type)
    return Question(kind, to_sql(predicate), partial(_of_members, predicate, recorded))


def _about_members(random: Random, data_type: DataType) -> Expr:
    subject = random.choice([Column(("x",), data_type), Call("F", (), (), data_type, "f(x)")])
    options = random.choices(POOL[data_type], k=random.randint(1, 4))

    def one() -> Expr:
        match random.randrange(4):
            case 0:
                return IsNull(subject)
            case 1:
                return In(subject, tuple(options), random.random() < 0.2)
        op = random.choice([*Comparison, Comparison.EQUAL, Comparison.NULL_SAFE_EQUAL])
        constant = random.choice([*options, *options, None])
        return Compare(op, subject, Literal(constant, data_type))

    parts = tuple(
        Not(one()) if random.random() < 0.3 else one() for _ in range(random.choice([1, 1, 2]))
    )
    if len(parts) == 1:
        return parts[0]
    return And(parts) if random.random() < 0.7 else Or(parts)


def _of_members(predicate: Expr, recorded: RecordedFiles) -> Any:
    segment = Segment(slice(0, recorded.num_containers), recorded)
    codes = verdicts(predicate, recorded)
    return {
        "truth": truth(predicate, recorded),
        "verdicts": codes,
        "kinds": deciding_kinds(predicate, [segment], codes == 0),
        "decision": decide([predicate], [segment], recorded.num_containers, detail=True),
    }


_EPOCH = datetime.datetime(1970, 1, 1)
#: Type of the argument, the function, whether it is increasing, type of the result.
_FUNCTIONS: tuple[tuple[DataType, Callable[..., Any], bool, DataType], ...] = (
    (INTEGER, lambda x: None if x is None else x // 10, True, LONG),
    (LONG, lambda x: None if x is None else -x, False, LONG),
    (LONG, lambda x: 7 if x is None else min(x, 3), True, INTEGER),
    (INTEGER, lambda x: None if x is None else x * 1.5, True, DOUBLE),
    (DOUBLE, lambda x: None if x is None else -x, False, DOUBLE),
    (DOUBLE, lambda x: None if x is None else math.floor(x), True, LONG),
    (DATE, lambda x: None if x is None else x.year, True, INTEGER),
    (TIMESTAMP, lambda x: None if x is None else (x - _EPOCH).days, True, LONG),
    (STRING, lambda x: None if x is None else x[:2], True, STRING),
    (decimal(9, 2), lambda x: None if x is None else x * Decimal("0.5"), True, decimal(12, 3)),
)


def _declared(random: Random, _: str) -> Question:
    place = random.randrange(len(_FUNCTIONS))
    data_type, function, increasing, result = _FUNCTIONS[place]
    strict = random.random() < 0.5
    contract = Contract(
        "f", monotone=function, increasing=increasing, types=[data_type.name], null_to_null=strict
    )
    call = Call("udf:f", (Column(("a",), data_type),), (), result)
    bound = bind(call, {"f": [Declared(contract)]}, UdfGuard())
    containers = [random_container(random, data_type) for _ in range(24)]
    rows = [[{"a": row["a",]} for row in each] for each in containers]
    table = statistics_of(random, {"a": POOLS[data_type][1]}, rows)
    ask = partial(_of_declared, bound, ArrowStatistics(table))
    return Question(str(data_type), f"function {place}, null_to_null={strict}", ask)


def _of_declared(bound: Expr, statistics: ArrowStatistics) -> Any:
    return (
        value(bound, statistics),
        truth(IsNull(bound), statistics),
        truth(Compare(Comparison.EQUAL, bound, bound), statistics),
    )


def _unit(_: Random, key: str) -> Question | None:
    name = key.partition("#")[0]
    if name not in UNITS:
        return None
    return Question(name, f"forty questions about {name}", asker(name, key))


_DRAW: dict[str, Callable[[Random, str], Question | None]] = {
    "calls": _call_of_a_table,
    "changed_calls": _changed_call,
    "random_calls": _random_call,
    "columns": _column,
    "predicates": _of_predicates,
    "scans": _scan,
    "members": _members,
    "declared": _declared,
    "units": _unit,
}

FAMILIES = tuple(_DRAW)
