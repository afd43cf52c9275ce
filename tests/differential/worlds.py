"""Sets of tables for queries, and the steps that create them and can be replayed.

Each step is a line or two of Python. It runs here and is printed in the script that reproduces a
difference. Files are the exception: they are written from memory here and from literals there.
"""

from __future__ import annotations

import itertools
import math
import random
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from tests.differential.formats import FORMATS, copy_of, dropped, format_changes, in_format
from tests.differential.random_tables import File, RandomTable, aside, make
from tests.differential.steps import Step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Random settings and their values. Spark compiles code for every new plan, and each task costs
#: milliseconds, so few worlds have codegen, or many tasks.
SETTINGS: dict[str, list[str]] = {
    "spark.sql.session.timeZone": ["UTC", "America/New_York", "Asia/Kolkata", "Pacific/Apia"],
    "spark.sql.ansi.enabled": ["true", "false"],
    "spark.sql.caseSensitive": ["false", "false", "true"],
    "spark.sql.adaptive.enabled": ["true", "false", "false", "false"],
    "spark.sql.autoBroadcastJoinThreshold": ["-1", "2000", "10485760"],
    "spark.sql.join.preferSortMergeJoin": ["true", "false"],
    "spark.sql.codegen.wholeStage": ["false"] * 11 + ["true"],
    "spark.sql.codegen.factoryMode": ["NO_CODEGEN"] * 11 + ["FALLBACK"],
    "spark.sql.files.maxPartitionBytes": ["2000", *[str(1 << 27)] * 7],
    "spark.sql.files.openCostInBytes": ["1", "1", str(1 << 22)],
    "spark.sql.parquet.filterPushdown": [*["true"] * 4, "false"],
    "spark.sql.parquet.enableVectorizedReader": ["true", "false"],
    "spark.sql.parquet.recordLevelFilter.enabled": ["false", "true", "true"],
    "spark.sql.parquet.mergeSchema": ["false", "false", "true"],
    "spark.sql.parquet.outputTimestampType": ["INT96", "TIMESTAMP_MICROS"],
    "spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly": ["true", "false"],
    "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": ["0", "10GB"],
    "spark.sql.cbo.enabled": ["false", "false", "true"],
    "spark.sql.exchange.reuse": ["true", "true", "false"],
    "spark.sql.sources.bucketing.enabled": ["true", "true", "false"],
    "spark.sql.legacy.bucketedTableScan.outputOrdering": ["true", "false"],
    "spark.sql.sources.useV1SourceList": ["", "orc,csv,json"],
    "spark.sql.shuffle.partitions": [*["1"] * 7, "3"],
    "spark.tamis.topK.sample.minSaved": ["0ms", "0ms", "100ms"],
    "spark.tamis.residualSplit.minSaved": ["0ms", "0ms", "200ms"],
    "spark.tamis.index.auto": ["off", "off", "footers"],
    "spark.tamis.partitionGroups.minSize": ["0b", "0b", "1m"],
    "spark.sql.requireAllClusterKeysForCoPartition": ["true", "false", "false"],
    "spark.sql.sources.v2.bucketing.pushPartValues.enabled": ["true", "true", "false"],
    "spark.sql.sources.v2.bucketing.partiallyClusteredDistribution.enabled": ["false", "true"],
    "spark.sql.sources.v2.bucketing.allowJoinKeysSubsetOfPartitionKeys.enabled": ["false", "true"],
    "spark.sql.sources.v2.bucketing.shuffle.enabled": ["false", "true"],
    "spark.tamis.remember.enabled": ["true", "true", "false"],
    "spark.tamis.evaluateValues.enabled": ["true", "true", "true", "false"],
    "spark.tamis.evaluateValues.maxValues": ["10000", "10000", "3"],
}

#: The session of tests learns nothing by default.
_DEFAULTS: Final = {"spark.tamis.remember.enabled": "true"}

#: A conf that changes what a reader returns, for a table of another session.
OTHER_SESSIONS = [
    *[("spark.sql.parquet.datetimeRebaseModeInRead", "LEGACY")] * 4,
    ("spark.sql.parquet.int96RebaseModeInRead", "LEGACY"),
    ("spark.sql.session.timeZone", "Pacific/Apia"),
    ("spark.sql.caseSensitive", "true"),
]

EXPRESSIONS = {
    "STRING": ["upper({})", "soundex({})", "reverse({})", "length({}) % 3", "{} RLIKE 'b'"],
    "INT": ["{} % 7", "abs({}) % 5", "CAST({} AS STRING)"],
    "BIGINT": ["{} % 7", "hex({})"],
    "DATE": ["date_format({}, 'E')", "dayofweek({})"],
    "TIMESTAMP": ["hour({})", "date_format({}, 'E HH')"],
    "DOUBLE": ["signum({})", "{} * 2"],
}
#: Conditions of one call, by the type of the column.
CONDITIONS = {
    "STRING": ["{} LIKE '%b%'", "{} RLIKE '[0-9]'", "startswith({}, 'a')", "{} ILIKE 'B%'"],
    "INT": ["CAST({} AS STRING) LIKE '%1%'"],
    "BIGINT": ["hex({}) RLIKE 'A|1'"],
    "DATE": ["date_format({}, 'E') LIKE 'S%'"],
    "TIMESTAMP": ["date_format({}, 'HH') RLIKE '^0'"],
    "DOUBLE": ["isnan({})"],
}
#: Conditions that are comparisons: only bounds of the rows that pass are recorded.
COMPARED = {
    "STRING": ["{} <> ''", "{} IN ('a', 'b')"],
    "INT": ["{} <> 0", "{} >= 1"],
    "BIGINT": ["{} <> 0"],
    "DOUBLE": ["{} > 0D"],
}
#: Differences of two columns, mostly of those that raise for no row.
PAIRS = {
    "INT": ["try_subtract({}, {})", "CAST({} AS BIGINT) - {}"],
    "BIGINT": ["try_subtract({}, {})"],
    "DATE": ["datediff({}, {})"],
    "TIMESTAMP": ["timestampdiff(HOUR, {}, {})", "unix_seconds({}) - unix_seconds({})"],
    "DOUBLE": ["{} - {}"],
}


@dataclass(frozen=True)
class Put(Step):
    """A step that writes a file, or replaces one."""

    file: File = field(kw_only=True)

    def run(self, spark: SparkSession, folder: Path) -> None:
        """Write the file."""
        self.file.write(folder / self.table)

    def script(self) -> str:
        """Return the lines of a script that write the file from literals."""
        columns = ", ".join(
            f"{name!r}: {_array(column.combine_chunks())}"
            for name, column in zip(
                self.file.data.column_names, self.file.data.columns, strict=True
            )
        )
        options = "".join(f", {name}={value!r}" for name, value in self.file.options)
        return f"put({f'{self.table}/{self.file.path}'!r}, {{{columns}}}{options})"


def _array(array: pa.Array) -> str:
    kind = array.type
    if pa.types.is_struct(kind):
        children = ", ".join(
            f"{kind.field(i).name!r}: {_array(array.field(i))}" for i in range(kind.num_fields)
        )
        return f"struct({{{children}}}, {array.is_null().to_pylist()!r})"
    if pa.types.is_timestamp(kind):
        zone = "" if kind.tz is None else f", {kind.tz!r}"
        values = array.cast(pa.int64()).to_pylist()
        return f"pa.array({values!r}, pa.timestamp({kind.unit!r}{zone}))"
    if pa.types.is_date32(kind):
        return f"pa.array({array.cast(pa.int32()).to_pylist()!r}, pa.date32())"
    if pa.types.is_decimal(kind):
        values = [None if v is None else str(v) for v in array.to_pylist()]
        name = f"pa.decimal128({kind.precision}, {kind.scale})"
        return f"pa.array([v and Decimal(v) for v in {values!r}], {name})"
    name = {"bool": "bool_", "float": "float32", "double": "float64"}.get(str(kind), str(kind))
    return f"pa.array({_literal(array.to_pylist())}, pa.{name}())"


def _literal(values: list[Any]) -> str:
    return "[" + ", ".join(
        f"float({str(v)!r})" if isinstance(v, float) and not math.isfinite(v) else repr(v)
        for v in values
    ) + "]"  # fmt: skip


_OPENING = '''"""Reproduces a difference between tamis on and off: python SCRIPT"""
import tempfile
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import tamis

folder = Path(tempfile.mkdtemp())


def struct(children, nulls):
    fields = [pa.field(name, array.type) for name, array in children.items()]
    mask = pa.array(nulls, pa.bool_())
    return pa.StructArray.from_arrays(list(children.values()), fields=fields, mask=mask)


def put(path, columns, **options):
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), folder / path, **options)


builder = SparkSession.builder.master("local[1]").config("spark.sql.shuffle.partitions", "2")
builder = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse"))
spark = tamis.configure(builder.config("spark.ui.enabled", "false")).getOrCreate()
'''

_CLOSING = """
for enabled in ("false", "true"):
    spark.conf.set("spark.tamis.enabled", enabled)
    try:
        rows = spark.sql(statement).collect()
        print("tamis", enabled, len(rows), "rows", sorted(map(repr, rows))[:20])
    except Exception as error:
        print("tamis", enabled, "fails:", str(error)[:500])
"""


@dataclass(frozen=True)
class World:
    """Tables, their steps before the query, and the settings of the session."""

    tables: tuple[RandomTable, ...]
    steps: tuple[Step, ...]
    settings: tuple[tuple[str, str], ...]
    #: The format of each table that is a copy in a table format.
    formats: tuple[tuple[str, str], ...] = ()

    def set_up(self, spark: SparkSession, folder: Path) -> None:
        """Create the tables and run every step. Existing tables and files are removed first."""
        shutil.rmtree(folder, ignore_errors=True)
        self.tear_down(spark)
        self.configure(spark)
        for step in self.steps:
            step.run(spark, folder)

    def tear_down(self, spark: SparkSession) -> None:
        """Remove the tables from the catalog."""
        for table in self.tables:
            spark.catalog.dropTempView(view_of(table))
            spark.catalog.dropTempView(table.name)
            spark.catalog.dropGlobalTempView(shared_view_of(table))
            spark.sql(f"DROP TABLE IF EXISTS {table.name}")
            for statement in dropped(table) if self.formats else []:
                spark.sql(statement)

    def configure(self, spark: SparkSession) -> None:
        """Apply the settings; others get the value of the session."""
        given = {**_DEFAULTS, **dict(self.settings)}
        for name in SETTINGS:
            if name in given:
                spark.conf.set(name, given[name])
            else:
                spark.conf.unset(name)

    def script(self, statement: str) -> str:
        """Return a self-contained script that prints both answers."""
        settings = [f"spark.conf.set({name!r}, {value!r})" for name, value in self.settings]
        steps = [step.script() for step in self.steps]
        return "\n".join([_OPENING, *settings, *steps, f'statement = r"""{statement}"""', _CLOSING])


def settings(rng: random.Random, world: World | None = None) -> tuple[tuple[str, str], ...]:
    """Draw all settings; keep those of the world that its index depends on."""
    drawn = {name: rng.choice(values) for name, values in SETTINGS.items()}
    if world is not None:
        drawn["spark.sql.caseSensitive"] = dict(world.settings)["spark.sql.caseSensitive"]
    return tuple(drawn.items())


def random_world(rng: random.Random, number: int, *, with_formats: bool = False) -> World:
    """Return two or three tables with indexes in random states.

    Args:
        rng: Draws everything.
        number: The number of the world.
        with_formats: Whether most tables are tables of Delta and Iceberg.
    """
    tables = tuple(make(rng, f"{letter}{number}") for letter in "tuv"[: rng.choice([2, 3, 3])])
    steps: list[Step] = []
    formats: list[tuple[str, str]] = []
    for table in tables:
        steps += [Put(table.name, "", True, file=file) for file in table.files]
        if with_formats and rng.random() < 0.9:
            formats.append((table.name, rng.choice(FORMATS)))
            steps += [
                Step(table.name, created(table), True),
                *in_format(rng, table, formats[-1][1]),
                *_indexed_copy(rng, table, formats[-1][1]),
            ]
        else:
            steps += _placed(rng, table)
        steps.append(_view(rng, table))
    return World(tables, tuple(steps), settings(rng), tuple(formats))


def _placed(rng: random.Random, table: RandomTable) -> list[Step]:
    """Return the table in the catalog, in a random format, with its index."""
    name = table.name
    create = Step(name, created(table), True)
    where = rng.random()
    if where < 0.12:
        return [create, Step(name, _copied(rng, table), True)]
    if where < 0.2:
        return [create, Step(name, _bucketed(rng, table), True), *indexed(rng, table)]
    if where < 0.34 and table.partition is None:
        code = _viewed(table) if rng.random() < 0.6 else _shared(rng, table)
        return [Step(name, code, True), *indexed(rng, table, f"str(folder / {name!r})")]
    return [create, *indexed(rng, table)]


def view_of(table: RandomTable) -> str:
    """Return the name of a view over some rows of the table."""
    return f"{table.name}_view"


def _view(rng: random.Random, table: RandomTable) -> Step:
    """Create the view, sometimes cached: until a refresh, queries read the cached rows."""
    where = f"_row % 7 <> 3 AND _row >= {rng.randint(-1, 10)}"
    text = f"CREATE TEMPORARY VIEW {view_of(table)} AS SELECT * FROM {table.name} WHERE {where}"
    code = f"spark.sql({text!r})"
    if rng.random() < 0.2:
        code += f"\nspark.sql('CACHE TABLE {view_of(table)}')"
    return Step(table.name, code)


def created(table: RandomTable, folder: str = "", buckets: str = "") -> str:
    """Return CREATE TABLE over the files; `buckets` is its bucketing clause."""
    partitioned = f"PARTITIONED BY ({table.partition})" if table.partition else ""
    text = f"CREATE TABLE {table.name} ({table.ddl}) USING parquet {partitioned} {buckets}"
    path = f"folder / {(folder or table.name)!r}"
    code = f"spark.sql({text!r} + f\"LOCATION '{{({path}).as_uri()}}'\")"
    if table.partition:
        code += f"\nspark.sql('MSCK REPAIR TABLE {table.name}')"
    return code


def _viewed(table: RandomTable) -> str:
    """Return a temporary view over the path instead of a catalog table."""
    path = f"str(folder / {table.name!r})"
    return (
        f"spark.read.schema({table.ddl!r}).parquet({path}).createOrReplaceTempView({table.name!r})"
    )


def _shared(rng: random.Random, table: RandomTable) -> str:
    """Return a view over a DataFrame of another session, which keeps the confs of that session."""
    key, value = rng.choice(OTHER_SESSIONS)
    path = f"str(folder / {table.name!r})"
    copied = f"[other.conf.set(k, spark.conf.get(k)) for k in {[*SETTINGS]!r}]\n"
    own = f"other.conf.set({key!r}, {value!r})\n"
    view = shared_view_of(table)
    text = f"CREATE OR REPLACE TEMPORARY VIEW {table.name} AS SELECT * FROM global_temp.{view}"
    return f"""\
other = spark.newSession()
{rng.choice([copied, own, copied + own])}\
other.read.schema({table.ddl!r}).parquet({path}).createOrReplaceGlobalTempView({view!r})
spark.sql({text!r})"""


def shared_view_of(table: RandomTable) -> str:
    """Return the name of the global view that `_shared` creates."""
    return f"{table.name}_shared"


def _copied(rng: random.Random, table: RandomTable) -> str:
    """Return a copy in a format that tamis adds filters to but does not scan, often indexed."""
    flat = all("BINARY" not in leaf.kind.sql and "." not in leaf.sql for leaf in table.leaves)
    kind = rng.choice(["orc", "orc", "csv", "json"]) if flat else "orc"
    path = f"str(folder / '{table.name}-copy')"
    return f"""\
spark.conf.set("spark.tamis.enabled", "false")
frame = spark.table({table.name!r})
try:
    frame.write.format({kind!r}).mode("overwrite").save({path})
    reader = spark.read.format({kind!r}).schema(frame.schema)
    reader.load({path}).createOrReplaceTempView({table.name!r})
    if {rng.random() < 0.7}:
        spark.conf.set("spark.tamis.enabled", "true")
        tamis.index(spark, {path}, reader=reader).build()
except Exception as problem:  # not every format takes every name, type and value
    print("no copy, or no index:", str(problem).partition("\\n")[0][:100])"""


def _bucketed(rng: random.Random, table: RandomTable) -> str:
    """Return a bucketed copy that replaces the table: Spark scans it, tamis lists its files."""
    names = [leaf.sql for leaf in table.leaves if "." not in leaf.sql and leaf.sql != "part"]
    column = rng.choice([*names, "`k`", "`_row`"]).strip("`")
    if "." in column or "`" in column:
        column = "_row"
    by = rng.choice([column, "_row"])
    is_sorted = rng.random() < 0.5
    buckets = rng.choice([2, 3, 8])
    clause = f"CLUSTERED BY (`{column}`) {f'SORTED BY (`{column}`)' if is_sorted else ''} "
    writer = f'frame.write.bucketBy({buckets}, {column!r}).mode("overwrite")'
    writer += f".option('path', str(folder / '{table.name}-buckets'))"
    if is_sorted:
        writer += f".sortBy({column!r})"
    if table.partition:
        writer += f".partitionBy({table.partition!r})"
    again = created(table, f"{table.name}-buckets", f"{clause}INTO {buckets} BUCKETS ")
    return f"""\
spark.conf.set("spark.tamis.enabled", "false")
frame = spark.table({table.name!r}).repartitionByRange({rng.randint(1, 5)}, "`{by}`")
{writer}.saveAsTable("{table.name}_made")
spark.sql("DROP TABLE {table.name}_made")
spark.sql("DROP TABLE {table.name}")
spark.conf.set("spark.tamis.enabled", "true")
{again}"""


def indexed(rng: random.Random, table: RandomTable, where: str = "") -> list[Step]:
    """Draw no index, a footer index, a partial or a rich one. Later files make it stale."""
    where = where or repr(table.name)
    kind = rng.choice(["none", "footers", "footers", "footers", "footers", "partial", "rich"])
    if kind == "none":
        return []
    arguments = (
        "" if kind == "footers" else _recorded(rng, table, 0.3 if kind == "partial" else 0.8)
    )
    code = f"tamis.index(spark, {where}).build()"
    if where != repr(table.name):  # some lists of sources do not accept paths
        code = f"try:\n    {code}\nexcept tamis.TamisError:\n    pass"
    elif arguments:
        code = f"""\
try:
    tamis.index(spark, {where}).build({arguments})
except tamis.TamisError:  # an expression that raises, a date out of the range of a calendar
    tamis.index(spark, {where}).build()"""
    return [Step(table.name, code)]


def _indexed_copy(rng: random.Random, table: RandomTable, kind: str) -> list[Step]:
    """Draw no index of a copy, one of all columns, or a rich one. Later changes make it stale."""
    name, drawn = copy_of(table, kind), rng.choice(["none", "all", "partial", "rich", "rich"])
    if drawn == "none":
        return []
    share = {"all": 0.0, "partial": 0.3, "rich": 0.8}[drawn]
    arguments = _recorded(rng, table, share) if share else ""
    code = f"""\
for build in [lambda index: index.build({arguments}), lambda index: index.build()]:
    try:
        build(tamis.index(spark, {name!r}))
        break
    except tamis.TamisError as problem:  # as above, a column mapping, or a column of partitions
        print("no index:", str(problem)[:200])"""
    return [Step(table.name, code)]


def _recorded(rng: random.Random, table: RandomTable, share: float) -> str:
    """Return what an index records about the rows, as arguments of `build`."""
    columns: dict[str, list[str]] = {}
    expressions: list[str] = []
    for leaf in table.leaves:
        if leaf.sql == "part":
            continue
        if rng.random() < share:
            kinds = rng.sample(["bounds", "bloom", "values"], rng.randint(1, 3))
            columns[leaf.sql.replace("`", "")] = kinds
        # Random predicates use these expressions too.
        for text in ["hash({}) % 3", *EXPRESSIONS.get(leaf.kind.sql, [])]:
            if rng.random() < share / 3:
                expressions.append(text.replace("{}", leaf.sql))
    leaves = [leaf for leaf in table.leaves if leaf.sql != "part"]
    for one, other in itertools.permutations(leaves, 2):
        if one.kind.sql == other.kind.sql and rng.random() < share / 4:
            text = rng.choice([*PAIRS.get(one.kind.sql, []), "{} < {}", "{} >= {}", "{} = {}"])
            expressions.append(text.format(one.sql, other.sql))
        name, by = (leaf.sql.replace("`", "") for leaf in (one, other))
        if "." not in name and rng.random() < share / 12:
            columns.setdefault(name, []).append(f"bounds by {by}")
    predicates: dict[str, list[str]] = {}
    names = [leaf.sql.replace("`", "") for leaf in leaves]
    for leaf in leaves:
        for text in CONDITIONS.get(leaf.kind.sql, []):
            if rng.random() < share / 3:
                columns_of_passing = rng.sample(names, min(len(names), rng.randint(0, 3)))
                predicates[text.format(leaf.sql)] = columns_of_passing
    is_mapping, own = rng.random() < 0.7, aside(rng)
    for leaf in leaves if is_mapping else []:
        for text in COMPARED.get(leaf.kind.sql, []):
            if own.random() < share / 2:
                bounded = own.sample(names, min(len(names), own.randint(1, 2)))
                own_column = leaf.sql.replace("`", "")
                predicates[text.format(leaf.sql)] = [*dict.fromkeys([own_column, *bounded])]
    listed = repr(predicates if is_mapping else [*predicates])
    recorded = f"columns={columns!r}, expressions={expressions!r}, predicates={listed}"
    if table.order and own.random() < 0.8:
        names = own.choice([table.order, table.order[:1], own.sample([*table.order, "_row"], 1)])
        recorded += f", sorted_by={[*names]!r}"
    return recorded + (_aggregated(rng, table) if rng.random() < share else "")


def _aggregated(rng: random.Random, table: RandomTable) -> str:
    """Return aggregates by some columns that an index records. Random queries have them, too."""
    leaves = [leaf for leaf in table.leaves if leaf.sql != "part"]
    plain = [leaf for leaf in leaves if leaf.kind.sql not in ("FLOAT", "DOUBLE", "BINARY")]
    groups = rng.sample(plain, min(len(plain), rng.choice([0, 1, 1, 2])))
    aggregates = ["count(*)"]
    for leaf in rng.sample(leaves, min(len(leaves), 4)):
        texts = [f"count({leaf.sql})", f"min({leaf.sql})", f"max({leaf.sql})"]
        deviation = rng.choice(["", "", ", 0.2"])
        texts.append(f"approx_count_distinct({leaf.sql}{deviation})")
        if leaf.kind.sql in ("TINYINT", "SMALLINT", "INT", "BIGINT"):
            texts.append(f"sum(CAST({leaf.sql} AS BIGINT) % 1000)")
        if leaf.kind.sql.startswith("DECIMAL"):
            texts.append(f"avg({leaf.sql} % 1000)")
        aggregates += rng.sample(texts, rng.randint(1, len(texts)))
    by = [leaf.sql.replace("`", "") for leaf in groups]
    return f", aggregates={aggregates!r}, by={by!r}"


def _format_changes(rng: random.Random, table: RandomTable, kind: str) -> list[Step]:
    """Return a change of a copy, sometimes followed by a refresh of its index."""
    steps = format_changes(rng, table, kind)
    if rng.random() < 0.35:
        code = f"""\
try:
    tamis.index(spark, {copy_of(table, kind)!r}).refresh()
except tamis.TamisError as problem:
    print("no refresh:", str(problem)[:200])"""
        steps.append(Step(table.name, code))
    return steps


def changes(rng: random.Random, world: World) -> list[Step]:
    """Return a change of one of the tables between two queries."""
    table = rng.choice(world.tables)
    if table.name in dict(world.formats):
        return _format_changes(rng, table, dict(world.formats)[table.name])
    name, folder = table.name, f"folder / {table.name!r}"
    spare, old = rng.choice(table.spare), rng.choice(table.files)
    steps: list[Step] = []
    kind = rng.choice(["append", "append", "overwrite", "overwrite", "delete"])
    if kind == "append":
        steps.append(Put(name, "", file=spare))
    elif kind == "overwrite":
        steps.append(Put(name, "", file=replace(spare, path=old.path)))
    else:
        steps.append(Step(name, f"({folder} / {old.path!r}).unlink(missing_ok=True)"))
    if rng.random() < 0.85:
        steps.append(Step(name, f"spark.catalog.refreshTable({name!r})"))
    is_view = any(s.table == name and "createOrReplaceTempView" in s.code for s in world.steps)
    if table.partition and not is_view:
        steps.append(Step(name, f"spark.sql('MSCK REPAIR TABLE {name}')"))
    if rng.random() < 0.35:
        code = (
            f"try:\n    tamis.index(spark, {name!r}).refresh()\nexcept tamis.TamisError:\n    pass"
        )
        steps.append(Step(name, code))
    return steps
