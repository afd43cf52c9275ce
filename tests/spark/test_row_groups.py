"""Only row groups of kept files that can hold matching rows are read, and no row is lost.

Where rows are counted, Parquet's own filter is off, so that only the byte ranges of the tasks skip
row groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.indexing.executor.row_group_ranges import extents
from tests.spark.conftest import rows, scans, sql_tab

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES, GROUPS, ROWS = 4, 10, 20  # rows per group
PER_FILE = GROUPS * ROWS
TOTAL = FILES * PER_FILE


def table(first: int) -> pa.Table:
    """Return the rows of one file.

    c counts, s is its text, d repeats, n is NULL in every second row group.
    """
    c = list(range(first, first + PER_FILE))
    return pa.table(
        {
            "c": pa.array(c, pa.int64()),
            "s": [f"x{v:05d}" for v in c],
            "d": [v % 7 for v in c],
            "n": pa.array([None if v // ROWS % 2 else v for v in c], pa.int64()),
            "item": [{"sku": v, "a b": {"c.d": f"k{v // 50}"}} for v in c],
        }
    )


def write(folder: Path, options: dict[str, Any], partitioned: bool = False) -> None:
    for number in range(FILES):
        directory = folder / f"p={number // 2}" if partitioned else folder
        directory.mkdir(parents=True, exist_ok=True)
        pq.write_table(
            table(number * PER_FILE),
            directory / f"part {number}.parquet",
            row_group_size=ROWS,
            **options,
        )


@pytest.fixture(scope="module")
def path(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("row groups") / "t"
    write(folder, {})
    tamis.index(spark_session, str(folder)).build()
    return str(folder)


@pytest.fixture
def settings(spark: SparkSession) -> Iterator[None]:
    """Let only byte ranges choose row groups."""
    chosen = {
        "spark.sql.parquet.enableVectorizedReader": "true",
        "spark.sql.parquet.filterPushdown": "false",
        "spark.sql.adaptive.enabled": "false",
    }
    for key, value in chosen.items():
        spark.conf.set(key, value)
    yield
    for key in chosen:
        spark.conf.unset(key)


def scan_node(frame: DataFrame) -> Any:
    (leaf,) = [
        each
        for each in _list(frame._jdf.queryExecution().executedPlan().collectLeaves())
        if each.getClass().getSimpleName() == "BatchScanExec"
    ]
    return leaf


def _list(seq: Any) -> list[Any]:
    return [seq.apply(i) for i in range(seq.size())]


def ranges(frame: DataFrame) -> list[list[tuple[str, int, int]]]:
    """Return (file, start, length) of every task."""
    return [
        [(f.urlEncodedPath().rpartition("/")[2], f.start(), f.length()) for f in partition.files()]
        for partition in scan_node(frame).scan().toBatch().planInputPartitions()
    ]


def rows_read(frame: DataFrame) -> int:
    """Return the number of rows that the scan itself produced."""
    node = scan_node(frame)
    before = node.metrics().apply("numOutputRows").value()  # the frame may have been run already
    frame._jdf.queryExecution().toRdd().count()
    return int(node.metrics().apply("numOutputRows").value() - before)


@pytest.mark.parametrize(
    ("predicate", "groups"),
    [
        ("c = 250", 1),
        ("c BETWEEN 30 AND 70", 3),
        ("c >= 40 AND c < 80", 2),
        ("c IN (5, 399, 400)", 3),
        ("c < 10 OR c >= 790", 2),
        ("s LIKE 'x0003%'", 1),
        ("n IS NULL AND c < 200", 5),
        ("n IS NOT NULL AND c < 200", 5),
        ("item.sku = 601", 1),
        ("item.`a b`.`c.d` = 'k3'", 3),
        ("c + 1 = 100 AND d >= 0", 1),
        ("c <= 399 AND hash(s) > 0", 20),
        ("c = 210 AND d = 9", 0),
    ],
)
def test_only_surviving_row_groups_are_read(
    spark: SparkSession,
    settings: None,
    path: str,
    same: Callable[[str], DataFrame],
    predicate: str,
    groups: int,
) -> None:
    spark.read.parquet(path).createOrReplaceTempView("t")
    frame = same(f"SELECT c, s, d, n, item FROM t WHERE {predicate}")
    assert rows_read(frame) == groups * ROWS
    (scan,) = scans(frame)
    assert scan["rows_kept"] == groups * ROWS
    if groups == 0:  # bounds of the files decide
        assert scan["row_groups_kept"] is None
    else:
        assert (scan["row_groups_kept"], scan["row_groups_total"]) == (groups, FILES * GROUPS)
        assert scan["bytes_kept"] == sum(n for task in ranges(frame) for _, _, n in task)


def test_row_reader_reads_surviving_row_groups(
    spark: SparkSession, settings: None, path: str, same: Callable[[str], DataFrame]
) -> None:
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
    spark.read.parquet(path).createOrReplaceTempView("t")
    assert rows_read(same("SELECT * FROM t WHERE c BETWEEN 30 AND 70 OR c = 790")) == 4 * ROWS
    assert rows_read(same("SELECT d FROM t WHERE c >= 40 AND c < 80")) == 2 * ROWS


def test_conf_disables_row_group_pruning(
    spark: SparkSession, settings: None, path: str, same: Callable[[str], DataFrame]
) -> None:
    spark.read.parquet(path).createOrReplaceTempView("t")
    spark.conf.set("spark.tamis.rowGroups.enabled", "false")
    try:
        frame = same("SELECT * FROM t WHERE c = 250")
        assert rows_read(frame) == PER_FILE
        assert scans(frame)[0]["row_groups_kept"] is None
    finally:
        spark.conf.unset("spark.tamis.rowGroups.enabled")


def test_conjunct_proven_by_every_surviving_row_group_leaves_the_plan(
    spark: SparkSession, path: str
) -> None:
    frame = spark.read.parquet(path).where("c >= 40 AND c < 80 AND d = 3")
    (scan,) = scans(frame)
    pushdown = {c["sql"]: c["pushdown"] for c in scan["conjuncts"]}
    assert pushdown["(c >= 40L)"] == pushdown["(c < 80L)"] == "exact"
    assert pushdown["(d = 3L)"] == "inexact"
    assert frame.count() == len([v for v in range(40, 80) if v % 7 == 3])


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) FROM t WHERE c >= 40 AND c < 80",
        "SELECT count(*), min(c), max(s), sum(d) FROM t WHERE c BETWEEN 30 AND 570",
        "SELECT count(n), min(n), max(n) FROM t WHERE c >= 20 AND c < 40",
        "SELECT count(*) FROM t WHERE c >= 40 AND c < 40 + 20 * (d - d)",
        "SELECT c FROM t WHERE c >= 60 AND c < 80 ORDER BY c LIMIT 5",
        "SELECT count(*) FROM (SELECT * FROM t WHERE c >= 40 AND c < 80 LIMIT 7)",
        "SELECT d, count(*) FROM t WHERE c < 33 GROUP BY d",
        "SELECT a.c FROM t a JOIN t b ON a.c = b.c WHERE a.c < 25 AND b.c >= 20 AND b.c < 220",
        "SELECT c FROM t WHERE c = 5 UNION ALL SELECT c FROM t WHERE c = 205",
        "SELECT count(*) FROM t WHERE c = (SELECT max(c) FROM t WHERE c < 333)",
    ],
)
def test_row_group_pruning_keeps_the_rows(
    spark: SparkSession, path: str, same: Callable[[str], DataFrame], statement: str
) -> None:
    """Aggregates pushed into footers would see row groups that are not read."""
    spark.conf.set("spark.sql.parquet.aggregatePushdown", "true")
    try:
        spark.read.parquet(path).createOrReplaceTempView("t")
        same(statement)
    finally:
        spark.conf.unset("spark.sql.parquet.aggregatePushdown")


@pytest.mark.parametrize(
    ("size", "pieces", "tasks_of_size"), [(1, 7, 7), (700, 7, 7), (5000, 3, 2), (1 << 20, 2, 1)]
)
def test_tasks_of_any_size_read_every_row_once(
    spark: SparkSession,
    settings: None,
    path: str,
    same: Callable[[str], DataFrame],
    size: int,
    pieces: int,
    tasks_of_size: int,
) -> None:
    """Ranges are never cut within a row group. Adjacent ranges may be read as one."""
    spark.read.parquet(path).createOrReplaceTempView("t")
    statement = "SELECT c, d FROM t WHERE c BETWEEN 30 AND 130 OR c >= 790"
    expected = rows(same(statement))  # Spark alone would make a task of every byte
    chosen = {"spark.sql.files.maxPartitionBytes": str(size), "spark.sql.files.openCostInBytes": 1}
    for key, value in chosen.items():
        spark.conf.set(key, value)
    try:
        frame = spark.sql(statement)
        assert rows(frame) == expected
        assert rows_read(frame) == 7 * ROWS
        tasks = ranges(frame)
        read = [each for task in tasks for each in task]
        assert (len(read), len(tasks)) == (pieces, tasks_of_size)
        for task in tasks:
            assert len(task) == 1 or sum(length + 1 for _, _, length in task) <= size
    finally:
        for key in chosen:
            spark.conf.unset(key)


def test_row_groups_of_a_partitioned_table(
    spark: SparkSession, settings: None, folder: str, same: Callable[[str], DataFrame]
) -> None:
    root = Path(folder) / "t"
    write(root, {}, partitioned=True)
    frame = spark.read.parquet(str(root))
    tamis.index(spark, str(root)).build()
    frame.createOrReplaceTempView("t")
    for statement, groups in (
        ("SELECT c, p FROM t WHERE c BETWEEN 195 AND 205", 2),
        ("SELECT p FROM t WHERE c = 777", 1),
        ("SELECT c FROM t WHERE c IN (10, 790) AND p = 1", 1),
        ("SELECT p, c FROM t WHERE c = 10 AND p >= 0", 1),
        ("SELECT * FROM t WHERE d < 9 AND (p = 0 AND c < 30 OR p = 1 AND c > 790)", 3),
    ):
        assert rows_read(same(statement)) == groups * ROWS, statement


def test_dynamic_partition_pruning_keeps_the_ranges(
    spark: SparkSession, folder: str, same: Callable[[str], DataFrame]
) -> None:
    root = Path(folder) / "t"
    write(root, {}, partitioned=True)
    tamis.index(spark, str(root)).build()
    spark.read.parquet(str(root)).createOrReplaceTempView("t")
    spark.range(2).selectExpr("id AS p", "id * 10 AS v").createOrReplaceTempView("dim")
    spark.sql("SELECT * FROM dim").write.parquet(f"{folder}/dim")
    spark.read.parquet(f"{folder}/dim").createOrReplaceTempView("dim")
    frame = same(
        "SELECT t.c, dim.v FROM t JOIN dim ON t.p = dim.p WHERE dim.v = 10 AND c IN (5, 405, 799)"
    )
    assert sorted(row.c for row in frame.collect()) == [405, 799]


@pytest.mark.parametrize(
    ("statement", "groups"),
    [
        ("SELECT c, d FROM t WHERE c > (SELECT max(v) FROM VALUES (758) k(v))", 3),
        ("SELECT c FROM t WHERE c = (SELECT max(v) FROM VALUES (250) k(v))", 1),
        ("SELECT c FROM t WHERE c = (SELECT max(v) FROM VALUES (900) k(v))", 0),
        # two row groups of each file were chosen before; nothing is left of the second file
        (
            "SELECT c FROM t WHERE c IN (5, 199, 205, 399, 405, 599) "
            "AND c NOT BETWEEN (SELECT min(v) FROM VALUES (21) k(v)) AND 500",
            2,
        ),
        ("SELECT c FROM t WHERE hash(s) <> 0 AND n > (SELECT max(v) FROM VALUES (750) k(v))", 1),
        (
            "SELECT /*+ BROADCAST(k) */ c FROM t JOIN (SELECT * FROM VALUES (5), (7), (421) x(v) "
            "WHERE v * 2 < 2000) k ON t.c = k.v",
            2,
        ),
    ],
)
def test_values_of_a_running_query_choose_row_groups(
    spark: SparkSession,
    settings: None,
    path: str,
    same: Callable[[str], DataFrame],
    statement: str,
    groups: int,
) -> None:
    spark.read.parquet(path).createOrReplaceTempView("t")
    spark.conf.set("spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly", "false")
    spark.conf.set("spark.tamis.rowGroups.enabled", "false")
    try:
        whole = rows_read(spark.sql(statement))
        spark.conf.unset("spark.tamis.rowGroups.enabled")
        assert rows_read(same(statement)) == groups * ROWS
        assert whole % PER_FILE == 0
        assert whole > groups * ROWS or groups == 0
    finally:
        spark.conf.unset("spark.tamis.rowGroups.enabled")
        spark.conf.unset("spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly")


def test_input_files_and_size_estimates(spark: SparkSession, path: str) -> None:
    frame = spark.read.parquet(path).where("c = 250")
    assert [each.rpartition("/")[2] for each in frame.inputFiles()] == ["part%201.parquet"]
    whole = spark.read.parquet(path).where("c BETWEEN 200 AND 399")

    def size(sized: DataFrame) -> int:
        return int(str(sized._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))

    assert size(frame) < size(whole) / 5


def test_plans_and_reports_show_row_groups(spark: SparkSession, path: str) -> None:
    frame = spark.read.parquet(path).where("c = 250")
    assert "Files: 1 of 4, RowGroups: 1 of 40" in frame._sc._jvm.PythonSQLUtils.explainString(
        frame._jdf.queryExecution(), "simple"
    )
    frame.collect()
    shown = sql_tab(spark)
    assert shown["row groups in the table"] == [40]
    assert shown["row groups kept"] == [1]
    explanation = tamis.explain(frame)
    (scan,) = explanation.to_dict()["scans"]
    assert (scan["files_kept"], scan["row_groups_kept"], scan["row_groups_total"]) == (1, 1, 40)
    assert scan["rows_kept"] == ROWS
    assert "1 of 4 files, 1 of 40 row groups" in str(explanation)


def test_scans_of_different_row_groups_do_not_share_an_exchange(
    spark: SparkSession, same: Callable[[str], DataFrame], path: str
) -> None:
    spark.read.parquet(path).createOrReplaceTempView("t")
    # both filters are exact and over the same file: an exchange must not be reused
    same(
        "SELECT * FROM (SELECT count(*) FROM t WHERE c >= 20 AND c < 40) "
        "CROSS JOIN (SELECT count(*) * 2 FROM t WHERE c >= 60 AND c < 120)"
    )


def test_changed_file_is_read_completely(
    spark: SparkSession, settings: None, folder: str, same: Callable[[str], DataFrame]
) -> None:
    root = Path(folder) / "t"
    write(root, {})
    tamis.index(spark, str(root)).build()
    pq.write_table(table(200).slice(0, 150), root / "part 1.parquet", row_group_size=50)
    spark.read.parquet(str(root)).createOrReplaceTempView("t")
    assert rows_read(same("SELECT * FROM t WHERE c = 250")) == 150
    assert rows_read(same("SELECT * FROM t WHERE c IN (250, 50)")) == 150 + ROWS


def _rewrite_footer(spark: SparkSession, file: Path, change: Callable[[int, Any], None]) -> None:
    """Write the footer again with each row group changed, as an unknown writer might."""
    jvm = spark._jvm
    content = file.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    body, footer = content[: -8 - length], content[-8 - length : -8]
    util = jvm.org.apache.parquet.format.Util
    metadata = util.readFileMetaData(jvm.java.io.ByteArrayInputStream(footer))
    metadata.setCreated_by("somebody")
    for i, group in enumerate(metadata.getRow_groups()):
        change(i, group)
    out = jvm.java.io.ByteArrayOutputStream()
    util.writeFileMetaData(metadata, out)
    written = bytes(out.toByteArray())
    file.write_bytes(body + written + len(written).to_bytes(4, "little") + b"PAR1")


def _unset_size(_: int, group: Any) -> None:
    group.unsetTotal_compressed_size()
    group.unsetFile_offset()


def _double_size(_: int, group: Any) -> None:
    group.setTotal_compressed_size(2 * group.getTotal_compressed_size() + 9)


def _wrong_file_offset(i: int, group: Any) -> None:
    group.setFile_offset(4 * i)


@pytest.mark.parametrize(
    ("change", "is_believed"),
    [
        (_unset_size, True),
        (_wrong_file_offset, True),
        (_double_size, False),
    ],
)
def test_file_with_inconsistent_footer_is_read_completely(
    spark: SparkSession,
    settings: None,
    folder: str,
    same: Callable[[str], DataFrame],
    change: Callable[[int, Any], None],
    is_believed: bool,
) -> None:
    """The footer places row groups where they are not."""
    root = Path(folder) / "t"
    root.mkdir()
    pq.write_table(table(0).select(["c", "d"]), root / "a.parquet", row_group_size=ROWS)
    _rewrite_footer(spark, root / "a.parquet", change)
    tamis.index(spark, str(root)).build()
    spark.read.parquet(str(root)).createOrReplaceTempView("t")
    for predicate in ("c = 50", "c IN (5, 190)", "c BETWEEN 90 AND 130"):
        same(f"SELECT * FROM t WHERE {predicate}")
    assert rows_read(same("SELECT * FROM t WHERE c = 50")) == (ROWS if is_believed else PER_FILE)


LAYOUTS: dict[str, dict[str, Any]] = {
    "dictionary": {"use_dictionary": True},
    "plain": {"use_dictionary": False},
    "mixed": {"use_dictionary": ["c", "s"], "compression": "none"},
    "page index": {"write_page_index": True, "data_page_version": "2.0"},
    "zstd": {"compression": "zstd", "data_page_size": 64},
}


def _one_at_a_time(spark: SparkSession, file: Path) -> list[int]:
    """Return the rows that parquet-mr reads for one byte, the midpoint, of each row group."""
    jvm = spark._jvm
    conf = spark._jsc.hadoopConfiguration()
    path = jvm.org.apache.hadoop.fs.Path(file.as_uri())
    counts = []
    for _, _, midpoint in extents(pq.read_metadata(file), None):
        assert midpoint is not None
        builder = jvm.org.apache.parquet.HadoopReadOptions.builder(conf)
        options = builder.withRange(midpoint, midpoint + 1).build()
        source = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, conf)
        reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(source, options)
        counts.append(int(reader.getRecordCount()))
        reader.close()
    return counts


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("columns", [["c"], ["s"], ["item", "n", "c", "s"]])
def test_parquet_mr_uses_the_same_midpoints(
    spark: SparkSession, tmp_path: Path, layout: str, columns: list[str]
) -> None:
    file = tmp_path / "a.parquet"
    options = LAYOUTS[layout]
    if isinstance(options.get("use_dictionary"), list):
        chosen = [c for c in options["use_dictionary"] if c in columns]
        options = options | {"use_dictionary": chosen}
    pq.write_table(table(0).select(columns), file, row_group_size=30, **options)
    assert _one_at_a_time(spark, file) == [30, 30, 30, 30, 30, 30, 20]


def test_parquet_mr_uses_the_same_midpoints_for_its_own_files(
    spark: SparkSession, folder: str
) -> None:
    frame = spark.range(200_000).selectExpr("id", "id % 3 AS k", "sha(CAST(id AS STRING)) AS s")
    frame.coalesce(1).write.option("parquet.block.size", 1 << 20).parquet(folder, mode="overwrite")
    (file,) = Path(folder).glob("*.parquet")
    row_counts = _one_at_a_time(spark, file)
    metadata = pq.read_metadata(file)
    assert len(row_counts) > 3
    assert row_counts == [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]


def test_midpoints_of_polars_files(spark: SparkSession, tmp_path: Path) -> None:
    copytree(Path(__file__).parent / "files" / "polars", tmp_path, dirs_exist_ok=True)
    for file in tmp_path.rglob("*.parquet"):
        metadata = pq.read_metadata(file)
        assert metadata.num_row_groups > 1
        rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        assert _one_at_a_time(spark, file) == rows


def test_midpoints_of_duckdb_files(spark: SparkSession, tmp_path: Path) -> None:
    import duckdb

    file = tmp_path / "a.parquet"
    duckdb.sql(
        "COPY (SELECT range AS a, range % 5 AS b, 'x' || range AS s FROM range(9000)) "
        f"TO '{file}' (FORMAT parquet, ROW_GROUP_SIZE 2048)"
    )
    metadata = pq.read_metadata(file)
    rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert len(rows) > 3
    assert _one_at_a_time(spark, file) == rows
