"""Sweep every function over random and adversarial intervals, against Spark itself.

    make sweep SEED=1 N=400        (or: python tests/differential/sweep.py --seed 1 --containers 400)

Each type gets N containers of a dozen values: year ends, days of clock changes, the ends of types,
NaN, signed zeros, characters beyond the surrogates. tamis gets their statistics and bounds each
expression of `EXPRESSIONS` in each container. Spark gets the rows and computes the expressions,
with ANSI mode off and on and in several time zones. Each value must lie within the bounds, NULL and NaN
must have been allowed, and no row may raise an error in a container with a claim. The command
prints counter-examples, then the expressions and the functions that never had a claim: a sweep of bounds
that are never known proves nothing. The exit status is 1 if anything was wrong.
tests/differential/test_sweep.py is the small run in `make test`.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root), str(root / "python")]

import pyarrow as pa
import pyarrow.parquet as pq

import tamis
from tamis.evaluation.nodes.operators import FUNCTIONS, PREDICATES
from tamis.expr.nodes import And, Column, Compare, Expr
from tamis.files.table import ArrowStatistics
from tests.cases.tables import swept
from tests.differential import declared
from tests.differential.claims import Claim, claim_of, contradictions, plain, statistics_of
from tests.differential.expressions import EXPRESSIONS as OWN
from tests.differential.expressions import ZONES, depends_on_zone
from tests.differential.intervals import ARROW, SQL, random_containers
from tests.differential.random_calls import calls_in

#: Kind of x and y -> expressions from expressions.py, from the tables of cases, and over declared
#: functions.
EXPRESSIONS = {kind: (*sqls, *declared.SWEEP.get(kind, ())) for kind, sqls in swept(OWN).items()}
_ZONED = ("date", "timestamp", "timestamp_ntz", "day_text")
_EXPRESSIONS_A_JOB = 40
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Run:
    """A type, a time zone and an ANSI mode: one table of containers."""

    kind: str
    zone: str
    ansi: bool

    def __str__(self) -> str:
        return f"{self.kind} {self.zone} ansi={self.ansi}"


@dataclass(slots=True)
class Findings:
    """The results of a sweep."""

    wrong: list[str] = field(default_factory=list)
    checks: int = 0
    #: (kind, SQL) -> the number of containers with a claim.
    claimed: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: Catalyst names of the functions in expressions with a claim.
    functions: set[str] = field(default_factory=set)

    def never_claimed(self, expressions: Mapping[str, Sequence[str]]) -> list[str]:
        """Return the expressions that never had a claim."""
        return [
            f"{sql} ({kind})"
            for kind, sqls in expressions.items()
            for sql in sqls
            if not self.claimed[kind, sql]
        ]

    def missing_functions(self) -> list[str]:
        """Return functions that have a rule but that no expression with a claim contains."""
        return sorted({*FUNCTIONS, *PREDICATES} - self.functions)


class NotInThisMode(Exception):
    """ANSI mode does not allow the cast."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--containers", type=int, default=300)
    parser.add_argument("--only", help="text that the expressions must contain")
    parser.add_argument("--kinds", nargs="*", choices=list(EXPRESSIONS), default=list(EXPRESSIONS))
    parser.add_argument("--zones", nargs="*", choices=ZONES, default=list(ZONES))
    options = parser.parse_args()
    chosen = {
        kind: [sql for sql in EXPRESSIONS[kind] if options.only is None or options.only in sql]
        for kind in options.kinds
    }
    runs = [run for run in every_run(options.seed) if run.zone in options.zones]
    findings = sweep(
        _session(), options.seed, options.containers, runs, chosen, lambda text: print(text)
    )
    if options.only is None:
        for text in findings.never_claimed(chosen):
            print(f"no claim was ever made about {text}")
        if options.kinds == list(EXPRESSIONS):
            print(f"functions without any claim: {', '.join(findings.missing_functions())}")
    print(f"seed {options.seed}: {findings.checks} values checked, {len(findings.wrong)} wrong")
    return 1 if findings.wrong else 0


def every_run(seed: int) -> Iterator[Run]:
    """Yield both ANSI modes of every type, and every time zone for types that depend on it."""
    for kind in EXPRESSIONS:
        for ordinal, zone in enumerate(ZONES if kind in _ZONED else ZONES[:1]):
            # ANSI mode does not affect time zones, so the other zones alternate between both modes.
            for ansi in (False, True) if ordinal == 0 else ((seed + ordinal) % 2 == 0,):
                yield Run(kind, zone, ansi)


def few_runs(seed: int, zones: int = 1) -> Iterator[Run]:
    """Yield both ANSI modes of every type, and some time zones, which the seed chooses."""
    random = Random(f"zones {seed}")
    chosen = {kind: {ZONES[0], *random.sample(ZONES[1:], zones)} for kind in _ZONED}
    return (run for run in every_run(seed) if run.zone in chosen.get(run.kind, ZONES[:1]))


def sweep(
    spark: Any,
    seed: int,
    containers: int,
    runs: Iterable[Run],
    expressions: Mapping[str, Sequence[str]],
    report: Callable[[str], None] = lambda text: None,
) -> Findings:
    """Compare claims with values that Spark computes.

    Args:
        spark: A session with tamis loaded. Its settings are changed.
        seed: The seed of the containers.
        containers: How many containers for each run, of a dozen rows each.
        runs: The types, time zones and ANSI modes.
        expressions: SQL over x, y and k, by type.
        report: Receives lines of progress.
    """
    # PySpark logs each cast that ANSI mode does not allow. These are expected.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    _prepare(spark)
    findings = Findings()
    for run in runs:
        sqls = [
            sql
            for sql in expressions.get(run.kind, ())
            if run.zone == ZONES[0] or depends_on_zone(sql)
        ]
        if sqls:
            before = len(findings.wrong), findings.checks
            _sweep(
                spark,
                Random(f"{seed} {run.kind} {run.zone} {run.ansi}"),
                run,
                sqls,
                containers,
                findings,
            )
            mistakes = findings.wrong[before[0] :]
            for text in mistakes[:_SHOWN]:
                report(f"WRONG {text}")
            report(f"{run}: {findings.checks - before[1]} values, {len(mistakes)} wrong")
    return findings


def _session() -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    spark = tamis.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def _prepare(spark: Any) -> None:
    spark.conf.set("spark.tamis.enabled", "false")
    spark.conf.set("spark.sql.subexpressionElimination.enabled", "false")
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "CORRECTED")
    declared.register(spark)


def _sweep(
    spark: Any, random: Random, run: Run, sqls: Sequence[str], count: int, findings: Findings
) -> None:
    spark.conf.set("spark.sql.session.timeZone", run.zone)
    spark.conf.set("spark.sql.ansi.enabled", str(run.ansi).lower())
    types = {"x": ARROW[run.kind], "y": ARROW[run.kind], "k": pa.int32()}
    containers = random_containers(random, run.kind, count)
    statistics = ArrowStatistics(statistics_of(random, types, containers))
    with tempfile.TemporaryDirectory() as folder:
        for start in range(0, len(sqls), _EXPRESSIONS_A_JOB):
            claims: list[Claim] = []
            for sql, (data_type, expr) in _parsed(
                spark, run.kind, sqls[start : start + _EXPRESSIONS_A_JOB]
            ).items():
                claim = None
                if expr is not None:
                    claim = claim_of(sql, data_type, expr, statistics, count)
                if claim is None:
                    findings.wrong.append(f"{run}: {sql}: did not parse to one expression")
                    continue
                claims.append(claim)
                if any(claim.says_anything):
                    findings.claimed[run.kind, sql] += sum(claim.says_anything)
                    findings.functions.update(call.name for call in calls_in(expr))
            rows = _rows(types, containers, claims)
            path = f"{folder}/{start}.parquet"
            pq.write_table(rows, path)
            mistakes, checks = _compare(spark, run.kind, path, claims, rows)
            findings.wrong += [f"{run}: {text}" for text in mistakes]
            findings.checks += checks


def _parsed(spark: Any, kind: str, sqls: Sequence[str]) -> dict[str, tuple[str, Expr | None]]:
    """Return the type and expression of each SQL text that this ANSI mode allows.

    Spark parses all of them at once, and one by one if that fails.
    """
    schema = _schema(kind)
    columns = (f"CAST(NULL AS {t}) AS {n}" for n, t in _columns(kind).items())
    frame = spark.sql(f"SELECT {', '.join(columns)}")
    try:
        return _parsed_together(spark, frame, schema, sqls)
    except Exception:
        if len(sqls) > 1:
            half = len(sqls) // 2
            return {**_parsed(spark, kind, sqls[:half]), **_parsed(spark, kind, sqls[half:])}
        try:
            return _parsed_together(spark, frame, schema, sqls)
        except NotInThisMode:
            return {}


def _columns(kind: str) -> dict[str, str]:
    return {"x": SQL[kind], "y": SQL[kind], "k": "INT"}


def _schema(kind: str) -> str:
    return ", ".join(f"{name} {data_type}" for name, data_type in _columns(kind).items())


def _parsed_together(
    spark: Any, frame: Any, schema: str, sqls: Sequence[str]
) -> dict[str, tuple[str, Expr | None]]:
    try:
        fields = frame.selectExpr(*(f"{sql} AS r{n}" for n, sql in enumerate(sqls))).schema.fields
    except Exception as error:
        if "CAST_WITH_CONF_SUGGESTION" in str(error):
            raise NotInThisMode from error
        raise
    types = [each.dataType.simpleString() for each in fields]
    # Compare with a column: in a predicate of its own, Spark may replace NULL with false.
    equations = " AND ".join(f"(({sql}) = r{n})" for n, sql in enumerate(sqls))
    results = ", ".join(f"r{n} {data_type}" for n, data_type in enumerate(types))
    parsed = tamis.parse(spark, equations, f"{schema}, {results}")
    parts = parsed.parts if isinstance(parsed, And) else (parsed,)
    mistakes: dict[str, Expr] = {}
    for part in parts:
        part = declared.bound(part)
        sides = [part.left, part.right] if isinstance(part, Compare) else []
        results_in = [each for each in sides if isinstance(each, Column) and each.path[0][0] == "r"]
        if len(results_in) != 1:
            break
        (other,) = [each for each in sides if each is not results_in[0]]
        mistakes[results_in[0].path[0]] = other
    if len(parts) != len(sqls) or len(mistakes) != len(sqls):
        if len(sqls) > 1:
            raise ValueError("Spark merges some of these expressions")
        return {sqls[0]: (types[0], None)}
    return {sql: (types[n], mistakes[f"r{n}"]) for n, sql in enumerate(sqls)}


def _rows(
    types: Mapping[str, pa.DataType],
    containers: Sequence[Sequence[Mapping[str, Any]]],
    claims: Sequence[Claim],
) -> pa.Table:
    flat = [(ordinal, row) for ordinal, rows in enumerate(containers) for row in rows]
    masks = [
        sum(1 << bit for bit, claim in enumerate(claims) if claim.says_anything[ordinal])
        for ordinal in range(len(containers))
    ]
    columns = {
        "c": pa.array([ordinal for ordinal, _ in flat], pa.int32()),
        "m": pa.array([masks[ordinal] for ordinal, _ in flat], pa.int64()),
    }
    for name, arrow in types.items():
        columns[name] = pa.array([row[name] for _, row in flat], arrow)
    return pa.table(columns)


def _read(spark: Any, path: str, kind: str) -> Any:
    # With a schema, Spark does not start a job to infer it.
    return spark.read.schema(f"c INT, m BIGINT, {_schema(kind)}").parquet(path)


def _compare(
    spark: Any, kind: str, path: str, claims: Sequence[Claim], rows: pa.Table
) -> tuple[list[str], int]:
    if not claims:
        return [], 0
    frame = _read(spark, path, kind)
    try:
        chosen = [
            f"CASE WHEN (m & {1 << bit}L) <> 0 THEN {claim.sql} END AS r{bit}"
            for bit, claim in enumerate(claims)
        ]
        table = frame.selectExpr("c", "m", *chosen).toArrow()
    except Exception as error:
        return _raised(spark, kind, path, claims, rows, error)
    wrong: list[str] = []
    checks = 0
    containers = table.column("c").to_pylist()
    for bit, claim in enumerate(claims):
        values = plain(table.column(f"r{bit}"))
        checks += sum(claim.says_anything[ordinal] for ordinal in containers)
        for place in contradictions(claim, containers, values):
            wrong.append(claim.describe(containers[place], values[place], _given(rows, place)))
    return wrong, checks


def _raised(
    spark: Any,
    kind: str,
    path: str,
    claims: Sequence[Claim],
    rows: pa.Table,
    error: Exception,
) -> tuple[list[str], int]:
    """Find the expression that raised an error in a container with a claim, by bisection."""
    if len(claims) > 1:
        wrong: list[str] = []
        checks = 0
        for claim in claims:
            mask = [1 if claim.says_anything[c] else 0 for c in rows.column("c").to_pylist()]
            place = rows.column_names.index("m")
            single = rows.set_column(place, "m", pa.array(mask, pa.int64()))
            own = path.replace(".parquet", "-one.parquet")
            pq.write_table(single, own)
            mistakes = _compare(spark, kind, own, [claim], single)
            wrong += mistakes[0]
            checks += mistakes[1]
        return wrong, checks
    (claim,) = claims
    kept = rows.filter(pa.array([bool(each) for each in rows.column("m").to_pylist()]))
    while kept.num_rows > 1:
        half = kept.slice(0, kept.num_rows // 2)
        own = path.replace(".parquet", f"-{kept.num_rows}.parquet")
        pq.write_table(half, own)
        try:
            _read(spark, own, kind).selectExpr(f"{claim.sql} AS r").toArrow()
            kept = kept.slice(kept.num_rows // 2)
        except Exception:
            kept = half
    ordinal = kept.column("c")[0].as_py()
    reason = str(error).replace("\n", " ")[:160]
    return [claim.describe(ordinal, f"raised {reason}", _given(kept, 0))], 0


def _given(rows: pa.Table, place: int) -> dict[str, Any]:
    one = rows.slice(place, 1).drop_columns(["c", "m"])
    return {name: plain(one.column(name))[0] for name in one.column_names}


if __name__ == "__main__":
    raise SystemExit(main())
