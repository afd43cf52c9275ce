"""Sweep every function over random and adversarial intervals, against Spark itself.

    make sweep SEED=1 N=400        (or: python tests/differential/sweep.py --seed 1 --containers 400)

For each type, N containers of a dozen values each: year ends, days on which clocks change, the ends
of types, NaN, signed zeros, characters beyond the surrogates. Their statistics go to tamis, which
bounds each expression of tests/differential/expressions.py in each container; their rows go to
Spark, which computes it, with ANSI mode off and on and in several time zones. Each value must lie
within the bounds, NULL and NaN must have been allowed for, and in a container of which anything is
claimed no row may raise. Prints counter-examples, then how often anything was claimed of each
expression: a sweep of bounds that are never known would prove nothing. Exit status 1 if anything
was wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root), str(root / "python")]

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tamis
from tamis.evaluate.bounds import Bounds
from tamis.evaluate.interpreter import truth, value
from tamis.evaluate.truth import TruthSet
from tamis.expr.decimals import unscaled
from tamis.expr.nodes import Column, Compare, Expr
from tamis.files.table import ArrowStatistics
from tests.cases.tables import swept
from tests.differential import declared
from tests.differential.expressions import EXPRESSIONS as OWN
from tests.differential.expressions import ZONES, depends_on_zone
from tests.differential.intervals import ARROW, SQL, random_containers
from tests.differential.keys import order_key

EXPRESSIONS = {kind: (*sqls, *declared.SWEEP.get(kind, ())) for kind, sqls in swept(OWN).items()}
_EXPRESSIONS_A_JOB = 40
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Claim:
    """What tamis says of an expression in every container, one entry each."""

    sql: str
    data_type: str
    lower: list[Any]
    upper: list[Any]
    can_be_null: list[bool]
    can_be_nan: list[bool]
    can_be_value: list[bool]
    says_anything: list[bool]


class NotInThisMode(Exception):
    """ANSI mode does not allow the cast at all."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--containers", type=int, default=300)
    parser.add_argument("--only", help="a part of the expressions to sweep")
    parser.add_argument("--kinds", nargs="*", choices=list(EXPRESSIONS), default=list(EXPRESSIONS))
    parser.add_argument("--zones", nargs="*", choices=ZONES, default=list(ZONES))
    options = parser.parse_args()
    spark = _session()
    wrong = checks = 0
    claimed: Counter[tuple[str, str]] = Counter()
    for kind, zone, ansi in _runs(options.seed):
        random = Random(f"{options.seed} {kind} {zone} {ansi}")
        expressions = [
            sql
            for sql in EXPRESSIONS[kind]
            if (options.only is None or options.only in sql)
            and zone in options.zones
            and kind in options.kinds
            and (zone == ZONES[0] or depends_on_zone(sql))
        ]
        if not expressions:
            continue
        found = _sweep(spark, random, kind, zone, ansi, expressions, options.containers, claimed)
        for text in found[0][:_SHOWN]:
            print(f"WRONG {zone} ansi={ansi}: {text}")
        wrong += len(found[0])
        checks += found[1]
        print(f"{kind} {zone} ansi={ansi}: {found[1]} values, {len(found[0])} wrong", flush=True)
    for kind, sqls in EXPRESSIONS.items():
        for sql in sqls:
            if options.only is None and kind in options.kinds and not claimed[kind, sql]:
                print(f"nothing was ever claimed of {sql} ({kind})")
    print(f"seed {options.seed}: {checks} values checked, {wrong} wrong")
    return 1 if wrong else 0


def _runs(seed: int) -> Iterator[tuple[str, str, bool]]:
    for kind in EXPRESSIONS:
        zones = ZONES if kind in ("date", "timestamp", "timestamp_ntz", "day_text") else ZONES[:1]
        for ordinal, zone in enumerate(zones):
            # ANSI mode changes nothing about zones: alternate there.
            for ansi in (False, True) if ordinal == 0 else ((seed + ordinal) % 2 == 0,):
                yield kind, zone, ansi


def _session() -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = tamis.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.conf.set("spark.tamis.enabled", "false")
    spark.conf.set("spark.sql.subexpressionElimination.enabled", "false")
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "CORRECTED")
    declared.register(spark)
    return spark


def _sweep(
    spark: Any,
    random: Random,
    kind: str,
    zone: str,
    ansi: bool,
    expressions: list[str],
    count: int,
    claimed: Counter[tuple[str, str]],
) -> tuple[list[str], int]:
    spark.conf.set("spark.sql.session.timeZone", zone)
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    containers = random_containers(random, kind, count)
    statistics = ArrowStatistics(_statistics(random, kind, containers))
    wrong: list[str] = []
    checks = 0
    with tempfile.TemporaryDirectory() as folder:
        for start in range(0, len(expressions), _EXPRESSIONS_A_JOB):
            claims = []
            for sql in expressions[start : start + _EXPRESSIONS_A_JOB]:
                try:
                    claim = _claim(spark, kind, sql, statistics, count)
                except NotInThisMode:
                    continue
                if claim is None:
                    wrong.append(f"{sql}: did not parse to one expression")
                    continue
                claims.append(claim)
                claimed[kind, sql] += sum(claim.says_anything)
            rows = _rows(kind, containers, claims)
            path = f"{folder}/{start}.parquet"
            pq.write_table(rows, path)
            found = _compare(spark, path, claims, rows)
            wrong += found[0]
            checks += found[1]
    return wrong, checks


def _statistics(random: Random, kind: str, containers: list[list[dict[str, Any]]]) -> pa.Table:
    table: dict[str, pa.Array] = {"num_records": pa.array([len(rows) for rows in containers])}
    for name in ("x", "y", "k"):
        arrow = pa.int32() if name == "k" else ARROW[kind]
        cells: dict[str, list[Any]] = {"min": [], "max": [], "null_count": [], "nan_count": []}
        for rows in containers:
            values = [row[name] for row in rows]
            ordinary = sorted(
                (v for v in values if v is not None and v == v), key=order_key
            )  # NaN is not itself
            tell = random.random() < 0.97
            cells["min"].append(ordinary[0] if ordinary and tell else None)
            tell = random.random() < 0.97
            cells["max"].append(ordinary[-1] if ordinary and tell else None)
            cells["null_count"].append(values.count(None) if random.random() < 0.95 else None)
            cells["nan_count"].append(sum(v is not None and v != v for v in values))
        for cell, column in cells.items():
            if cell != "nan_count" or kind in ("float", "double"):
                table[f"{cell}.{name}"] = pa.array(column, arrow if cell[0] == "m" else pa.int64())
    return pa.table(table)


def _claim(
    spark: Any, kind: str, sql: str, statistics: ArrowStatistics, count: int
) -> Claim | None:
    schema = f"x {SQL[kind]}, y {SQL[kind]}, k INT"
    try:
        field = spark.createDataFrame([], schema).selectExpr(f"{sql} AS r").schema[0]
    except Exception as error:
        if "CAST_WITH_CONF_SUGGESTION" in str(error):
            raise NotInThisMode from error
        raise
    data_type = field.dataType.simpleString()
    # Beside a column, and not as the predicate itself: there Spark lets false stand for NULL.
    parsed = tamis.parse(spark, f"({sql}) = r", f"{schema}, r {data_type}")
    if not isinstance(parsed, Compare):
        return None
    parsed = declared.bound(parsed)
    assert isinstance(parsed, Compare)
    sides = [each for each in (parsed.left, parsed.right) if each != _result_column(parsed)]
    if data_type == "boolean" and len(sides) == 1:
        return _truth_claim(sql, truth(sides[0], statistics), count)
    bounds = value(sides[0], statistics) if len(sides) == 1 else None
    return None if bounds is None else _value_claim(sql, data_type, bounds, count)


def _result_column(parsed: Compare) -> Expr | None:
    for each in (parsed.left, parsed.right):
        if isinstance(each, Column) and each.path == ("r",):
            return each
    return None


def _flags(flags: Any, count: int) -> list[bool]:
    found: list[bool] = np.broadcast_to(flags, (count,)).tolist()
    return found


def _truth_claim(sql: str, truths: TruthSet, count: int) -> Claim:
    true, false = _flags(truths.can_be_true, count), _flags(truths.can_be_false, count)
    null = _flags(truths.can_be_null, count)
    says = [not (t and f and n) for t, f, n in zip(true, false, null, strict=True)]
    either = [t or f for t, f in zip(true, false, strict=True)]
    lower = [0 if each else 1 for each in false]
    upper = [1 if each else 0 for each in true]
    return Claim(sql, "boolean", lower, upper, null, [False] * count, either, says)


def _value_claim(sql: str, data_type: str, bounds: Bounds, count: int) -> Claim:
    lower, upper = _edges(bounds.lower, count), _edges(bounds.upper, count)
    null, nan = _flags(bounds.can_be_null, count), _flags(bounds.can_be_nan, count)
    has_value = _flags(bounds.can_be_value, count)
    least, greatest = None, None
    if bounds.type.is_discrete:
        least, greatest = bounds.type.domain
    elif bounds.type.is_floating:
        least, greatest = -np.inf, np.inf
    says = [
        not (n and v and (a or not bounds.type.is_floating))
        or (lo is not None and lo != least)
        or (hi is not None and hi != greatest)
        for lo, hi, n, a, v in zip(lower, upper, null, nan, has_value, strict=True)
    ]
    return Claim(sql, data_type, lower, upper, null, nan, has_value, says)


def _edges(edge: Any, count: int) -> list[Any]:
    if edge is None:
        return [None] * count
    values: list[Any] = edge.tolist() if isinstance(edge, np.ndarray) else edge.to_pylist()
    return values * count if len(values) == 1 else values


def _rows(kind: str, containers: list[list[dict[str, Any]]], claims: list[Claim]) -> pa.Table:
    flat = [(ordinal, row) for ordinal, rows in enumerate(containers) for row in rows]
    masks = [
        sum(1 << bit for bit, claim in enumerate(claims) if claim.says_anything[ordinal])
        for ordinal in range(len(containers))
    ]
    columns = {
        "c": pa.array([ordinal for ordinal, _ in flat], pa.int32()),
        "m": pa.array([masks[ordinal] for ordinal, _ in flat], pa.int64()),
    }
    for name in ("x", "y", "k"):
        arrow = pa.int32() if name == "k" else ARROW[kind]
        columns[name] = pa.array([row[name] for _, row in flat], arrow)
    return pa.table(columns)


def _compare(spark: Any, path: str, claims: list[Claim], rows: pa.Table) -> tuple[list[str], int]:
    if not claims:
        return [], 0
    frame = spark.read.parquet(path)
    try:
        chosen = [
            f"CASE WHEN (m & {1 << bit}L) <> 0 THEN {claim.sql} END AS r{bit}"
            for bit, claim in enumerate(claims)
        ]
        table = frame.selectExpr("c", "m", *chosen).toArrow()
    except Exception as error:
        return _raised(spark, path, claims, rows, error)
    wrong: list[str] = []
    checks = 0
    containers = table.column("c").to_pylist()
    for bit, claim in enumerate(claims):
        values = plain(table.column(f"r{bit}"))
        for row, (ordinal, found) in enumerate(zip(containers, values, strict=True)):
            if not claim.says_anything[ordinal]:
                continue
            checks += 1
            if not _is_inside(claim, ordinal, found):
                given = rows.slice(row, 1).drop_columns(["c", "m"])
                wrong.append(_describe(claim, ordinal, found, given))
    return wrong, checks


def _raised(
    spark: Any, path: str, claims: list[Claim], rows: pa.Table, error: Exception
) -> tuple[list[str], int]:
    """Which expression raised, in a container that was claimed not to: halve until there is one."""
    if len(claims) > 1:
        wrong: list[str] = []
        checks = 0
        for claim in claims:
            mask = [1 if claim.says_anything[c] else 0 for c in rows.column("c").to_pylist()]
            place = rows.column_names.index("m")
            single = rows.set_column(place, "m", pa.array(mask, pa.int64()))
            own = path.replace(".parquet", "-one.parquet")
            pq.write_table(single, own)
            found = _compare(spark, own, [claim], single)
            wrong += found[0]
            checks += found[1]
        return wrong, checks
    (claim,) = claims
    kept = rows.filter(pa.array([bool(each) for each in rows.column("m").to_pylist()]))
    while kept.num_rows > 1:
        half = kept.slice(0, kept.num_rows // 2)
        own = path.replace(".parquet", f"-{kept.num_rows}.parquet")
        pq.write_table(half, own)
        try:
            spark.read.parquet(own).selectExpr(f"{claim.sql} AS r").toArrow()
            kept = kept.slice(kept.num_rows // 2)
        except Exception:
            kept = half
    ordinal = kept.column("c")[0].as_py()
    reason = str(error).replace("\n", " ")[:160]
    return [_describe(claim, ordinal, f"raised {reason}", kept.drop_columns(["c", "m"]))], 0


def _describe(claim: Claim, ordinal: int, found: Any, given: pa.Table) -> str:
    told = {name: plain(given.column(name))[0] for name in given.column_names}
    return (
        f"{claim.sql} = {found!r} of {told}, outside of [{claim.lower[ordinal]!r}, "
        f"{claim.upper[ordinal]!r}] null={claim.can_be_null[ordinal]} "
        f"nan={claim.can_be_nan[ordinal]} value={claim.can_be_value[ordinal]} ({claim.data_type})"
    )


def plain(column: pa.ChunkedArray) -> list[Any]:
    """Dates and timestamps as numbers: Python has no dates beyond the years 1 to 9999."""
    data_type = column.type
    if pa.types.is_date32(data_type):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(data_type):
        column = column.cast(pa.int64())
    elif pa.types.is_string(data_type):
        column = column.cast(pa.binary())
    found: list[Any] = column.to_pylist()
    return found


def _is_inside(claim: Claim, ordinal: int, found: Any) -> bool:
    if found is None:
        return claim.can_be_null[ordinal]
    if isinstance(found, float) and found != found:
        return claim.can_be_nan[ordinal]
    if not claim.can_be_value[ordinal]:
        return False
    lower, upper = claim.lower[ordinal], claim.upper[ordinal]
    if isinstance(found, Decimal) and isinstance(lower if lower is not None else upper, int):
        found = unscaled(found, -int(found.as_tuple().exponent))
    return (lower is None or lower <= found) and (upper is None or found <= upper)


if __name__ == "__main__":
    raise SystemExit(main())
