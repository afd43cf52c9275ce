"""Predicates over one column are evaluated for the values that the files can hold."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import tamis
from tests.spark.conftest import kept, rows, scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("no_codegen")

FILES = 8
ROWS = 10
WORDS = ("Robert", "Rupert", "Ashcraft", "Tymczak", "Pfister", "Honeyman", "Jackson", "Gutierrez")
NUMBER = f"CAST(id DIV {ROWS} AS INT)"
WORD = f"element_at(array({', '.join(map(repr, WORDS))}), {NUMBER} + 1)"

#: Two values in each file: one of its own, and one that all files have. NULL in the last file.
COLUMNS = {
    "word": f"CASE WHEN id = 70 THEN NULL WHEN id % 2 = 0 THEN {WORD} ELSE 'Smith' END",
    "document": f"""concat('{{"a": ', IF(id % 2 = 0, {NUMBER}, 100), '}}')""",
    "num": f"IF(id % 2 = 0, {NUMBER} * 1000, 77)",
    "tiny": f"CAST(IF(id % 2 = 0, {NUMBER}, 77) AS TINYINT)",
    "money": f"CAST(IF(id % 2 = 0, {NUMBER} * 1.25, 77) AS DECIMAL(10, 2))",
    "wide": f"CAST(IF(id % 2 = 0, {NUMBER} * 1.25, -77) AS DECIMAL(30, 5))",
    "ratio": f"CASE WHEN id = 0 THEN -0.0D WHEN id = 10 THEN 0.0D WHEN id = 20 THEN double('NaN') "
    f"WHEN id = 30 THEN NULL WHEN id % 2 = 0 THEN {NUMBER} / 2.0D ELSE 9.5D END",
    "small": f"CASE WHEN id = 10 THEN -float(0) WHEN id % 2 = 0 THEN float({NUMBER} / 10) ELSE float(9) END",
    "raw": f"CAST({WORD} AS BINARY)",
    "flag": f"CASE WHEN {NUMBER} < 3 THEN true WHEN {NUMBER} < 6 THEN false "
    f"WHEN {NUMBER} = 6 THEN NULL ELSE id % 2 = 0 END",
    "moment": f"timestamp_seconds(IF(id % 2 = 0, {NUMBER} * 3600 * 5, 77))",
    "local": f"CAST(timestamp_seconds(IF(id % 2 = 0, {NUMBER} * 3600 * 5, 77)) AS TIMESTAMP_NTZ)",
    "`odd.Nàme`": f"IF(id % 2 = 0, {WORD}, 'x')",
    "item": f"IF(id % 10 = 3, NULL, named_struct('a b', {WORD}, 'n', id))",
}
#: Columns of which no values are recorded.
SHORT = {"day": "date_add(DATE '2024-01-01', CAST(id AS INT))", "id": "id"}
RECORDED = [name.strip("`") for name in COLUMNS if name not in ("flag", "item")] + ["item.a b"]


@pytest.fixture(scope="module")
def table(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("values") / "values")
    spark_session.conf.set("spark.sql.session.timeZone", "UTC")
    spark_session.range(0, FILES * ROWS, 1, FILES).selectExpr(
        *(f"{sql} AS {name}" for name, sql in (COLUMNS | SHORT).items())
    ).write.parquet(path)
    spark_session.conf.unset("spark.sql.session.timeZone")
    tamis.index(spark_session, path).build(columns=dict.fromkeys(RECORDED, "values"))
    return path


@pytest.fixture
def values(spark: SparkSession, table: str) -> str:
    spark.conf.set("spark.tamis.remember.enabled", "false")
    spark.read.parquet(table).createOrReplaceTempView("v")
    return "v"


def ideal(spark: SparkSession, predicate: str) -> int:
    """Return how many files hold a row that passes."""
    spark.conf.set("spark.tamis.enabled", "false")
    found = spark.sql(f"SELECT DISTINCT id DIV {ROWS} FROM v WHERE {predicate}").count()
    spark.conf.set("spark.tamis.enabled", "true")
    return found


DECIDED = [
    "soundex(word) = 'R163'",
    "word LIKE '%cz%'",
    "word RLIKE 'ter$'",
    "regexp_extract(word, '(..)$', 1) = 'er'",
    "get_json_object(document, '$.a') = '3'",
    "get_json_object(document, '$.a') > '4' AND get_json_object(document, '$.a') <> '100'",
    "soundex(word) LIKE '%5%' AND word NOT IN ('Honeyman', 'Smith')",
    "soundex(word) LIKE '%5%' AND word < 'I' AND id > 30",
    "soundex(word) IN ('H555', 'J250')",
    "soundex(word) <> 'S530' AND soundex(word) LIKE 'G%'",
    "soundex(word) IS NULL",
    "NOT (soundex(word) = 'S530' OR word LIKE '%r%')",
    "soundex(word) = 'T522' OR word = 'Jackson'",
    "coalesce(soundex(word), 'none') = 'none'",
    "levenshtein(word, 'Rubert') < 2",
    "md5(word) LIKE 'f%'",
    "lpad(word, 12, '*') LIKE '%***J%'",
    "word LIKE '%cz%' OR soundex(document) = 'x'",
    "hash(num) % 5 = 1",
    "conv(CAST(num AS STRING), 10, 16) = 'FA0'",
    "bin(tiny) = '101'",
    "CAST(money AS STRING) LIKE '%.75'",
    "CAST(wide AS STRING) LIKE '%.75000'",
    "xxhash64(wide) % 3 = 1",
    "CAST(ratio AS STRING) = '0.0'",
    "CAST(ratio AS STRING) LIKE '%5' AND CAST(ratio AS STRING) <> '9.5'",
    "CAST(small AS STRING) = '0.4'",
    "hex(raw) LIKE '%7A'",
    "sha1(raw) LIKE 'a%'",
    "CAST(flag AS STRING) LIKE 'f%'",
    "md5(CAST(flag AS STRING)) LIKE 'b%'",
    "date_format(moment, 'HH:mm') = '05:00'",
    "date_format(local, 'HH:mm') = '05:00'",
    "soundex(`odd.Nàme`) = 'R163'",
    "SOUNDEX(`ODD.nàme`) = 'R163'",
    "soundex(item.`a b`) = 'R163'",
    "soundex(item.`a b`) IS NOT NULL AND soundex(item.`A B`) LIKE '%5'",
    "md5(CAST(day AS STRING)) LIKE '00%'",
    "md5(CAST(id AS STRING)) LIKE '00%'",
    "transform(array(word), x -> soundex(x))[0] = 'P123'",
]


@pytest.mark.parametrize("predicate", DECIDED)
def test_only_files_with_a_matching_value_are_read(
    spark: SparkSession, values: str, same: Callable[[str], DataFrame], predicate: str
) -> None:
    expected = ideal(spark, predicate)
    assert expected < FILES
    frame = same(f"SELECT * FROM {values} WHERE {predicate}")
    # an empty scan is left out of the plan
    assert kept(frame) in ([expected], [] if expected == 0 else [expected])


#: True for every row, so the filter leaves the plan.
EXACT = [
    "length(coalesce(soundex(word), 'none')) = 4",
    "get_json_object(document, '$.a') IS NOT NULL",
    "CAST(money AS STRING) LIKE '%.%'",
    "md5(CAST(day AS STRING)) LIKE '________________________________'",
]


@pytest.mark.parametrize("predicate", EXACT)
def test_predicate_that_is_true_for_all_values_leaves_the_plan(
    spark: SparkSession, values: str, same: Callable[[str], DataFrame], predicate: str
) -> None:
    frame = same(f"SELECT id FROM {values} WHERE {predicate}")
    (scan,) = scans(frame)
    assert {each["pushdown"] for each in scan["conjuncts"]} == {"exact"}
    assert "Filter (" not in frame._jdf.queryExecution().executedPlan().toString()


#: Nothing is evaluated for these, or the outcome is not known for some value.
UNDECIDED = [
    "rand() < 0.5 AND word IS NOT NULL",
    "soundex(word) = soundex(document)",
    "soundex(word) = (SELECT max(soundex(word)) FROM v)",
    "CAST(ratio AS STRING) = '-0.0'",
    "xpath_string(concat('<a>', word, '</a>'), 'a') = 'none'",
    "length(repeat(word, num)) = 3",
    "aes_decrypt(aes_encrypt(raw, '0000111122223333'), '0000111122223333') = X'00'",
]


@pytest.mark.parametrize("predicate", UNDECIDED[1:])
def test_other_predicates_are_left_to_spark(
    spark: SparkSession, values: str, same: Callable[[str], DataFrame], predicate: str
) -> None:
    same(f"SELECT * FROM {values} WHERE {predicate}")


def test_signed_zero_is_found_although_lists_hold_only_zero(
    spark: SparkSession, values: str, same: Callable[[str], DataFrame]
) -> None:
    frame = same(f"SELECT * FROM {values} WHERE CAST(ratio AS STRING) = '-0.0'")
    assert (frame.count(), kept(frame)) == (1, [2])  # the files with -0.0 and with 0.0
    frame = same(f"SELECT * FROM {values} WHERE CAST(small AS STRING) = '-0.0'")
    assert frame.count() == 1


def test_nan_is_evaluated(
    spark: SparkSession, values: str, same: Callable[[str], DataFrame]
) -> None:
    frame = same(f"SELECT * FROM {values} WHERE CAST(ratio AS STRING) LIKE 'N%'")
    assert (frame.count(), kept(frame)) == (1, [1])


@pytest.mark.parametrize(("zone", "expected"), [("UTC", "05:00"), ("Asia/Kolkata", "10:30")])
def test_moments_are_evaluated_in_the_time_zone_of_the_session(
    spark: SparkSession, values: str, same: Callable[[str], DataFrame], zone: str, expected: str
) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    predicate = f"date_format(moment, 'HH:mm') = '{expected}'"
    assert ideal(spark, predicate) == 1
    assert kept(same(f"SELECT * FROM {values} WHERE {predicate}")) == [1]


def test_errors_are_raised_as_without_tamis(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    spark.conf.set("spark.tamis.remember.enabled", "false")
    path = str(tmp_path_factory.mktemp("codes") / "codes")
    spark.range(0, 30, 1, 3).selectExpr(
        "id", "IF(id = 11, 'x', CAST(id DIV 10 AS STRING)) AS code"
    ).write.parquet(path)
    tamis.index(spark, path).build(columns={"code": "values"})
    frame = lambda: spark.read.parquet(path).where("CAST(reverse(code) AS INT) = 2")  # noqa: E731
    spark.conf.set("spark.sql.ansi.enabled", "true")
    # the first file holds 0 only; the second one holds x, which is no number
    assert kept(frame()) == [2]
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        frame().collect()
    (scan,) = tamis.explain(frame()).to_dict()["scans"]
    assert [each["reason"]["code"] for each in scan["conjuncts"] if each["reason"]] == [
        "EVALUATION_FAILED"
    ]
    spark.conf.set("spark.sql.ansi.enabled", "false")
    assert kept(frame()) == [1]
    assert len(rows(frame())) == 10


def test_conf_turns_evaluation_off(spark: SparkSession, values: str) -> None:
    spark.conf.set("spark.tamis.evaluateValues.enabled", "false")
    assert kept(spark.sql(f"SELECT * FROM {values} WHERE soundex(word) = 'R163'")) == [FILES]


def reason_of(frame: DataFrame, text: str) -> Any:
    (scan,) = tamis.explain(frame).to_dict()["scans"]
    (conjunct,) = [each for each in scan["conjuncts"] if text in each["sql"]]
    return conjunct["reason"]


def test_too_many_values_are_reported(spark: SparkSession, values: str) -> None:
    spark.conf.set("spark.tamis.evaluateValues.maxValues", "5")
    frame = spark.sql(f"SELECT * FROM {values} WHERE soundex(word) = 'Z163'")
    assert kept(frame) == [FILES]
    why = reason_of(frame, "soundex")
    assert (why["code"], "5 values of word" in why["text"]) == ("TOO_MANY_VALUES", True)


def test_mixed_values_are_reported(spark: SparkSession, values: str) -> None:
    frame = spark.sql(f"SELECT * FROM {values} WHERE soundex(word) = 'S530'")
    assert kept(frame) == [FILES]
    assert reason_of(frame, "soundex")["code"] == "EVALUATED_VALUES_MIXED"


def test_explanation_names_the_evaluation(spark: SparkSession, values: str) -> None:
    frame = spark.sql(f"SELECT * FROM {values} WHERE soundex(word) = 'R163'")
    assert "by evaluation of the values of files" in str(tamis.explain(frame))


def test_slow_predicate_is_given_up(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = str(tmp_path_factory.mktemp("slow") / "slow")
    spark.range(0, 20, 1, 2).selectExpr("id", f"concat('{'a' * 60}', id) AS s").write.parquet(path)
    tamis.index(spark, path).build(columns={"s": "values"})
    # Nothing interrupts a regular expression: this one backtracks for about a second.
    slow = "^" + "(.*)" * 6 + r"\\1Z$"
    spark.conf.set("spark.tamis.evaluateValues.timeout", "100ms")
    frame = spark.read.parquet(path)
    frame = frame.where(frame.s.rlike(slow))
    started = time.monotonic()
    assert kept(frame) == [2]
    assert time.monotonic() - started < 5
    assert reason_of(frame, "RLIKE")["code"] == "EVALUATION_STOPPED"


def test_changed_file_is_read(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    spark.conf.set("spark.tamis.remember.enabled", "false")
    path = str(tmp_path_factory.mktemp("changed") / "changed")

    def write(mode: str, word: str) -> None:
        spark.range(0, 40, 1, 4).selectExpr("id", f"concat('{word}', id DIV 10) AS s").write.mode(
            mode
        ).parquet(path)

    write("overwrite", "Robert")
    tamis.index(spark, path).build(columns={"s": "values"})
    frame = lambda: spark.read.parquet(path).where("soundex(s) = 'S530'")  # noqa: E731
    assert frame().count() == 0
    assert kept(frame()) in ([], [0])
    write("append", "Smith")
    assert frame().count() == 40
    assert kept(frame()) == [4]


def test_padded_and_collated_columns(spark: SparkSession, same: Callable[[str], DataFrame]) -> None:
    spark.conf.set("spark.tamis.remember.enabled", "false")
    spark.sql(
        "CREATE TABLE padded (id BIGINT, c CHAR(5), l STRING COLLATE UTF8_LCASE) USING parquet"
    )
    spark.range(0, 40, 1, 4).selectExpr(
        "id", "concat('x', id DIV 10) AS c", "IF(id % 2 = 0, 'A', 'a') AS l"
    ).write.insertInto("padded")
    tamis.index(spark, "padded").build()
    frame = same("SELECT * FROM padded WHERE md5(c) = md5('x2   ')")
    assert (frame.count(), kept(frame)) == (10, [1])
    same("SELECT * FROM padded WHERE md5(l) = md5('a')")
    same("SELECT * FROM padded WHERE md5(c) = md5('x2')")
    same("SELECT * FROM padded WHERE l LIKE 'A' AND md5(l) <> md5('A')")


#: An index is used only by sessions with the setting that it was built with.
@pytest.mark.parametrize(("sensitive", "files"), [("true", FILES), ("false", 1)])
def test_names_match_as_in_spark(
    spark: SparkSession,
    values: str,
    same: Callable[[str], DataFrame],
    sensitive: str,
    files: int,
) -> None:
    spark.conf.set("spark.sql.caseSensitive", sensitive)
    assert kept(same(f"SELECT * FROM {values} WHERE soundex(word) = 'A261'")) == [files]


def test_user_defined_functions_are_not_called(
    spark: SparkSession, values: str, same: Callable[[str], DataFrame]
) -> None:
    spark.udf.register("shout", lambda s: s and s.upper())
    frame = same(f"SELECT id FROM {values} WHERE shout(word) = 'ROBERT'")
    assert kept(frame) == [FILES]
