"""Filter documents: what is understood and how it is written; no document raises an error."""

from __future__ import annotations

import doctest
import json
import math
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.classification import Capabilities, classify
from tamis.expr.nodes import And, Call, Column, Compare, Comparison, Expr, Literal, Opaque, walk
from tamis.expr.sql import to_sql
from tamis.expr.types import BINARY, STRING
from tamis.files.verdicts import evaluate
from tamis.wire.duckdb import from_duckdb
from tests.wire.duckdb.build import (
    cast,
    column,
    combine,
    compare,
    constant,
    decimal,
    document,
    function,
    node,
    operator,
    type_of,
)
from tests.wire.duckdb.cases import CASES, FROM_2_0, OPAQUE, TABLE
from tests.wire.duckdb.distribution import planned as planned_by_distribution
from tests.wire.duckdb.planned import planned_filters, prepare

PLANNED = {
    path.stem: json.loads(path.read_text())
    for path in sorted((Path(__file__).parent / "documents").glob("*.json"))
}


def read(*filters: Any, names: list[Any] | None = None, schema: Any = None) -> list[str]:
    return [to_sql(each) for each in from_duckdb(document(*filters, names=names), schema)]


def is_opaque(expr: Expr) -> bool:
    return isinstance(expr, Opaque)


# Documents that DuckDB plans.


def expected(version: str, predicate: str) -> list[str]:
    return FROM_2_0.get(predicate, CASES[predicate]) if version >= "2" else CASES[predicate]


@pytest.mark.parametrize("predicate", CASES)
@pytest.mark.parametrize("version", PLANNED)
def test_planned_document_is_read(version: str, predicate: str) -> None:
    planned = PLANNED[version][predicate]
    assert [to_sql(each) for each in from_duckdb(planned)] == expected(version, predicate)
    assert [to_sql(each) for each in from_duckdb(json.dumps(planned))] == expected(
        version, predicate
    )


@pytest.mark.parametrize("predicate", OPAQUE)
@pytest.mark.parametrize("version", PLANNED)
def test_document_that_is_not_understood_has_a_reason(version: str, predicate: str) -> None:
    (expr,) = from_duckdb(PLANNED[version][predicate])
    why = classify(expr, Capabilities()).reason
    if isinstance(expr, Opaque):
        assert why is not None
        assert why.code == "EXPRESSION_NOT_UNDERSTOOD"
        assert to_sql(expr) in why.text
    else:  # DuckDB 2.0 plans something else
        assert predicate in FROM_2_0


def test_documents_of_both_forms_exist() -> None:
    assert list(PLANNED) == ["1.5", "2.0"]
    assert all(list(documents) == list(CASES) for documents in PLANNED.values())


def test_stored_documents_equal_those_of_the_installed_duckdb() -> None:
    connection = duckdb.connect()
    connection.execute(TABLE)
    prepare(connection)
    kept = PLANNED[".".join(duckdb.__version__.split(".")[:2])]
    for predicate in CASES:
        planned = planned_filters(connection, "t", predicate)
        assert json.dumps(planned) == json.dumps(kept[predicate]), predicate


def test_stored_documents_equal_those_of_a_distribution_of_duckdb() -> None:
    documents = planned_by_distribution(TABLE, "t", list(CASES))
    for predicate, planned in zip(CASES, documents, strict=True):
        assert json.dumps(planned) == json.dumps(PLANNED["1.5"][predicate]), predicate


# The examples of the Airport page.

title, score = column(0, "VARCHAR", "title"), column(1, "FLOAT", "score")
strings = [constant("VARCHAR", each) for each in "abc"]


@pytest.mark.parametrize(
    ("filters", "names", "sql"),
    [
        (
            [compare("EQUAL", title, constant("VARCHAR", "Y Combinator"))],
            ["title", "post_time", "score"],
            ["title = 'Y Combinator'"],
        ),
        (
            [
                combine(
                    "OR",
                    operator("COMPARE_IN", title, *strings),
                    compare("GREATERTHAN", score, constant("FLOAT", 500)),
                )
            ],
            ["title", "score", "post_time"],
            ["title IN ('a', 'b', 'c') OR score > 500.0F"],
        ),
        (
            [
                function("prefix", title, constant("VARCHAR", "R")),
                compare(
                    "GREATERTHAN",
                    function("length", title, returns="BIGINT"),
                    constant("BIGINT", 10),
                ),
            ],
            ["title", "post_time", "score"],
            ["startswith(title, 'R')", "(length(title) > 10)"],
        ),
    ],
)
def test_examples_of_the_airport_page_are_understood(
    filters: Any, names: list[str], sql: list[str]
) -> None:
    assert read(*filters, names=names) == sql


# Constants, type by type.

UUID_ONE = {"upper": -(1 << 63), "lower": 1}


@pytest.mark.parametrize(
    ("data_type", "value", "sql"),
    [
        ("BOOLEAN", True, "c = true"),
        ("TINYINT", -128, "c = -128Y"),
        ("SMALLINT", 5, "c = 5S"),
        ("INTEGER", 5, "c = 5"),
        ("BIGINT", (1 << 63) - 1, "c = 9223372036854775807L"),
        ("UTINYINT", 255, "c = 255S"),
        ("USMALLINT", 65535, "c = 65535"),
        ("UINTEGER", (1 << 32) - 1, "c = 4294967295L"),
        ("UBIGINT", (1 << 64) - 1, "c = 18446744073709551615BD"),
        ("HUGEINT", {"upper": -1, "lower": (1 << 64) - 5}, "c = -5BD"),
        ("UHUGEINT", {"upper": 1, "lower": 0}, "c = 18446744073709551616BD"),
        ("FLOAT", 1.1, "c = 1.100000023841858F"),
        ("FLOAT", 500, "c = 500.0F"),
        ("DOUBLE", math.nan, "c = double('NaN')"),
        ("DOUBLE", -math.inf, "c = double('-Infinity')"),
        (decimal(9, 2), -150, "c = -1.50BD"),
        (decimal(30, 4), {"upper": -1, "lower": (1 << 64) - 1}, "c = -0.0001BD"),
        ("DATE", 8116, "c = DATE '1992-03-22'"),
        ("TIMESTAMP_S", -1, "c = TIMESTAMP_NTZ '1969-12-31 23:59:59'"),
        ("TIMESTAMP_MS", 1, "c = TIMESTAMP_NTZ '1970-01-01 00:00:00.001000'"),
        ("TIMESTAMP", 1, "c = TIMESTAMP_NTZ '1970-01-01 00:00:00.000001'"),
        ("TIMESTAMP WITH TIME ZONE", 0, "c = TIMESTAMP '1970-01-01 00:00:00Z'"),
        ("VARCHAR", "it's", "c = 'it\\'s'"),
        ("VARCHAR", {"base64": "w6k="}, "c = 'é'"),
        ("BLOB", "\\xAA\\x00b", "c = X'AA0062'"),
        ("BLOB", "a b", "c = X'612062'"),
        ("BLOB", {"base64": "AP8="}, "c = X'00FF'"),
        ("BLOB", "", "c = X''"),
    ],
)
def test_constant_is_understood(data_type: Any, value: Any, sql: str) -> None:
    filters = compare("EQUAL", column(0, data_type), constant(data_type, value))
    assert read(filters, names=["c"]) == [sql]


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        ("BOOLEAN", 1),
        ("TINYINT", 128),
        ("INTEGER", 5.0),
        ("INTEGER", True),
        ("INTEGER", "5"),
        ("BIGINT", 1 << 63),
        ("UTINYINT", -1),
        ("HUGEINT", {"upper": 0}),
        ("HUGEINT", {"upper": 0, "lower": -1}),
        ("HUGEINT", {"upper": (1 << 63) - 1, "lower": 0}),  # more digits than any decimal
        ("FLOAT", 1e300),
        ("DOUBLE", "1"),
        ("DOUBLE", 10**400),
        (decimal(9, 2), 10**9),
        (decimal(9, 2), "1.50"),
        (decimal(39, 2), 1),
        ("DATE", 1 << 31),
        ("TIMESTAMP_S", (1 << 63) - 1),  # infinity, in another unit
        ("VARCHAR", "\ud800"),
        ("VARCHAR", {"base64": "/w=="}),
        ("VARCHAR", {"base64": "%"}),
        ("BLOB", "\\x0"),
        ("BLOB", "é"),
        ("BLOB", "YWJj"),  # text, or base64 that is not marked as such
        ("UUID", UUID_ONE),  # bytes or text: only a schema decides
        ("TIME", 43200000000),
        ("INTERVAL", {"months": 0, "days": 1, "micros": 0}),
        (type_of("VARCHAR", type="STRING_TYPE_INFO", alias="", collation="NOCASE"), "a"),
        (type_of("ENUM", type="ENUM_TYPE_INFO", values=["a"]), "a"),
    ],
)
def test_constant_of_an_unknown_form_is_opaque(data_type: Any, value: Any) -> None:
    filters = compare("EQUAL", column(0, data_type), constant(data_type, value))
    (expr,) = from_duckdb(document(filters, names=["c"]))
    assert is_opaque(expr)
    assert expr.columns == (("c",),)


@pytest.mark.parametrize("spelling", ["NaN", "NAN", "nan", "-nan"])
def test_bare_nan_is_read(spelling: str) -> None:
    text = json.dumps(document(compare("EQUAL", column(2, "DOUBLE"), constant("DOUBLE", "?"))))
    assert to_sql(from_duckdb(text.replace('"?"', spelling))[0]) == "score = double('NaN')"


@pytest.mark.parametrize(("spelling", "value"), [("Infinity", math.inf), ("-inf", -math.inf)])
def test_bare_infinity_is_read(spelling: str, value: float) -> None:
    text = json.dumps(document(compare("EQUAL", column(2, "DOUBLE"), constant("DOUBLE", "?"))))
    (expr,) = from_duckdb(text.replace('"?"', spelling))
    assert isinstance(expr, Compare)
    assert isinstance(expr.right, Literal)
    assert expr.right.value == value


def test_nan_and_infinity_inside_strings_are_kept() -> None:
    text = 'NaN, "nan" and \\" -Infinity'
    filters = compare("EQUAL", column(0, "VARCHAR"), constant("VARCHAR", text))
    (expr,) = from_duckdb(json.dumps(document(filters)))
    assert isinstance(expr, Compare)
    assert expr.right == Literal(text, STRING)


# Columns.


def test_columns_are_resolved_by_their_binding() -> None:
    alias = column(2, "VARCHAR", alias="title")
    assert read(operator("OPERATOR_IS_NULL", alias)) == ["score IS NULL"]


@pytest.mark.parametrize("index", [-1, 3, True, None, "0", 1.0])
def test_column_binding_without_a_name_is_opaque(index: Any) -> None:
    assert is_opaque(from_duckdb(document(operator("OPERATOR_IS_NULL", column(index, "DATE"))))[0])


def test_column_of_an_outer_query_is_opaque() -> None:
    outer = column(0, "INTEGER") | {"depth": 1}
    assert is_opaque(from_duckdb(document(operator("OPERATOR_IS_NULL", outer)))[0])


FIVE = constant("INTEGER", 5)


@pytest.mark.parametrize(
    ("schema", "data_type", "sql"),
    [
        (pa.int32(), None, "score > 5"),
        (pa.int32(), type_of("INVALID"), "score > 5"),
        (pa.int16(), type_of("INTEGER"), "score > 5S"),
        (pa.dictionary(pa.int8(), pa.int32()), type_of("INTEGER"), "score > 5"),
        (pa.int64(), type_of("INTEGER"), "(score > 5)"),
        (pa.string(), type_of("INTEGER"), "(score > 5)"),
        (pa.struct({"x": pa.int32()}), type_of("INTEGER"), "(score > 5)"),
        (pa.list_(pa.int32()), None, "(score > 5)"),
    ],
)
def test_schema_supplies_types_and_must_agree_with_the_document(
    schema: Any, data_type: Any, sql: str
) -> None:
    score = column(2, "INTEGER") | {"return_type": data_type}
    if data_type is None:
        del score["return_type"]
    conjuncts = read(compare("GREATERTHAN", score, FIVE), schema=pa.schema({"score": schema}))
    assert conjuncts == [sql]


def test_schema_supplies_the_spelling_of_columns() -> None:
    above = compare("GREATERTHAN", column(2, "INTEGER"), FIVE)
    assert read(above, schema=pa.schema({"Score": pa.int32()})) == ["Score > 5"]
    two = pa.schema({"Score": pa.int32(), "SCORE": pa.int32()})
    assert read(above, schema=two) == ["(score > 5)"]
    assert read(above, schema=pa.schema({"other": pa.int32()})) == ["(score > 5)"]


@pytest.mark.parametrize("stored", [pa.binary(16), pa.uuid()])
def test_uuid_is_compared_by_its_bytes_if_the_schema_has_bytes(stored: pa.DataType) -> None:
    filters = compare("EQUAL", column(2, "UUID"), constant("UUID", UUID_ONE))
    (expr,) = from_duckdb(document(filters), pa.schema({"score": stored}))
    one = Literal(b"\0" * 15 + b"\1", BINARY)
    assert expr == Compare(Comparison.EQUAL, Column(("score",), BINARY), one)
    assert is_opaque(from_duckdb(document(filters), pa.schema({"score": pa.string()}))[0])


STRUCT = type_of(
    "STRUCT",
    type="STRUCT_TYPE_INFO",
    child_types=[
        {"first": "x", "second": type_of("INTEGER")},
        {"first": "Y", "second": type_of("VARCHAR")},
    ],
)


@pytest.mark.parametrize(
    ("name", "which", "returns", "sql"),
    [
        ("struct_extract", constant("VARCHAR", "x"), "INTEGER", "score.x IS NULL"),
        ("struct_extract", constant("VARCHAR", "y"), "VARCHAR", "score.Y IS NULL"),
        ("array_extract", constant("VARCHAR", "x"), "INTEGER", "score.x IS NULL"),
        ("struct_extract_at", constant("BIGINT", 2), "VARCHAR", "score.Y IS NULL"),
        ("struct_extract_at", cast(FIVE, "BIGINT"), "VARCHAR", None),
        ("struct_extract", constant("VARCHAR", "z"), "INTEGER", None),
        ("struct_extract", constant("VARCHAR", "x"), "BIGINT", None),
        ("struct_extract", constant("VARCHAR", None), "INTEGER", None),
        ("list_extract", constant("BIGINT", 1), "INTEGER", None),
    ],
)
def test_struct_fields_are_understood(name: str, which: Any, returns: str, sql: str | None) -> None:
    field = function(name, column(2, STRUCT), which, returns=returns)
    filters = document(operator("OPERATOR_IS_NULL", field))
    schema = pa.schema({"score": pa.struct({"x": pa.int32(), "Y": pa.string()})})
    for each in (from_duckdb(filters)[0], from_duckdb(filters, schema)[0]):
        assert is_opaque(each) if sql is None else to_sql(each) == sql


def test_ambiguous_dotted_path_is_opaque() -> None:
    names = ["b.c", "b", "b.x"]
    filters = [column(0, "INTEGER"), column(2, "INTEGER")]
    field = function(
        "struct_extract", column(1, STRUCT), constant("VARCHAR", "x"), returns="INTEGER"
    )
    nulls = [operator("OPERATOR_IS_NULL", each) for each in (*filters, field)]
    # Without a schema, `b` may be a struct with any fields: `b.c` and `b.x` are ambiguous.
    assert all(map(is_opaque, from_duckdb(document(*nulls, names=names))))
    struct = pa.struct({"x": pa.int32(), "Y": pa.string()})
    schema = pa.schema({"b.c": pa.int32(), "b": struct, "b.x": pa.int32()})
    own, *shared = from_duckdb(document(*nulls, names=names), schema)
    assert to_sql(own) == "`b.c` IS NULL"
    assert all(map(is_opaque, shared))


# Documents that must not be misread.

one = column(0, "INTEGER")


@pytest.mark.parametrize(
    "filters",
    [
        None,
        5,
        {},
        [],
        node("BOUND_SUBQUERY", "SUBQUERY"),
        compare("EQUAL", one, constant("BIGINT", 5)) | {"type": "COMPARE_ABOUT"},
        compare("EQUAL", one, constant("VARCHAR", "5")),
        compare("EQUAL", column(0, "BIGINT"), constant("DOUBLE", 5.0)),
        compare("EQUAL", column(0, "TIMESTAMP"), constant("TIMESTAMP WITH TIME ZONE", 5)),
        compare("EQUAL", cast(column(0, "BIGINT"), "DOUBLE"), constant("DOUBLE", 5.0)),
        compare("EQUAL", cast(column(0, "VARCHAR"), "INTEGER"), FIVE),
        compare("EQUAL", cast(column(0, "BIGINT"), "INTEGER"), FIVE),
        compare("EQUAL", cast(column(0, "INTEGER"), "BIGINT", is_try=True), FIVE),
        compare("EQUAL", cast(column(0, "TIMESTAMP_NS"), "TIMESTAMP"), constant("TIMESTAMP", 5)),
        compare("EQUAL", cast(column(0, "TIMESTAMP_NS"), "DATE"), constant("DATE", 5)),
        compare(
            "LESSTHAN", cast(column(0, "DATE"), "TIMESTAMP"), constant("TIMESTAMP", (1 << 63) - 1)
        ),
        compare("EQUAL", function("//", one, FIVE, returns="INTEGER"), FIVE),
        operator("COMPARE_IN", one),
        operator("COMPARE_IN", one, constant("VARCHAR", "a")),
        operator("OPERATOR_IS_NULL", one, one),
        combine("AND"),
        function("prefix", column(0, "BLOB"), constant("BLOB", "a a")),
        function("prefix", column(0, "VARCHAR"), constant("VARCHAR", "a"), schema_name="mine"),
        function("~~", column(0, "VARCHAR"), column(1, "VARCHAR")),
        function("~~", column(0, "VARCHAR"), constant("VARCHAR", "%a_")),
        node("BOUND_BETWEEN", "COMPARE_BETWEEN") | {"input": one, "lower": FIVE, "upper": FIVE},
        constant("INTEGER", 1),
        one,
    ],
)
def test_ambiguous_filters_are_opaque(filters: Any) -> None:
    assert is_opaque(from_duckdb(document(filters))[0])


@pytest.mark.parametrize(
    "broken",
    [None, 5, "", "{", "[]", "[" * 100_000, {}, {"filters": {}}, b"\xff", '{"filters": 1}'],
)
def test_malformed_document_is_one_opaque_conjunct(broken: Any) -> None:
    assert from_duckdb(broken) == [Opaque("<not understood>")]


def test_empty_document_has_no_conjuncts() -> None:
    assert from_duckdb({"filters": []}) == []
    assert is_opaque(from_duckdb({"filters": [operator("OPERATOR_IS_NULL", one)]})[0])


def test_opaque_part_leaves_the_other_conjuncts_usable() -> None:
    strange = compare("EQUAL", function("f", one, returns="INTEGER"), FIVE)
    (expr,) = from_duckdb(document(combine("AND", strange, compare("EQUAL", one, FIVE))))
    assert isinstance(expr, And)
    assert expr.parts[0] == Opaque("(f(title) = 5)", (("title",),))
    assert to_sql(expr.parts[1]) == "title = 5"


def test_depth_is_bounded() -> None:
    deep: Any = column(0, "BOOLEAN")
    for _ in range(500):
        deep = operator("OPERATOR_NOT", deep)
    (expr,) = from_duckdb(document(deep))
    assert sum(1 for _ in walk(expr)) < 100
    for _ in range(100_000):
        deep = operator("OPERATOR_NOT", deep)
    assert len(from_duckdb(document(deep))) == 1


def test_functions_with_the_same_meaning_get_catalyst_names() -> None:
    (expr,) = from_duckdb(document(function("suffix", title, constant("VARCHAR", "z"))))
    assert isinstance(expr, Call)
    assert expr.name == "EndsWith"


# Casts, by the constant that they are compared with.


@pytest.mark.parametrize(
    ("left", "right", "kind", "sql"),
    [
        (cast(one, "DOUBLE"), constant("DOUBLE", 5.5), "LESSTHAN", "title < 6"),
        (cast(one, "DOUBLE"), constant("DOUBLE", 5.5), "LESSTHANOREQUALTO", "title <= 5"),
        (cast(one, "DOUBLE"), constant("DOUBLE", -5.5), "GREATERTHAN", "title > -6"),
        (cast(one, "DOUBLE"), constant("DOUBLE", -5.5), "GREATERTHANOREQUALTO", "title >= -5"),
        (cast(one, "DOUBLE"), constant("DOUBLE", 5.0), "EQUAL", "title = 5"),
        (
            cast(one, "DOUBLE"),
            constant("DOUBLE", math.nan),
            "LESSTHAN",
            "title IS NOT NULL OR NULL",
        ),
        (cast(one, "DOUBLE"), constant("DOUBLE", math.nan), "EQUAL", "title IS NULL AND NULL"),
        (cast(one, "DOUBLE"), constant("DOUBLE", -math.inf), "LESSTHAN", "title IS NULL AND NULL"),
        (cast(one, "BIGINT"), constant("BIGINT", 1 << 40), "LESSTHAN", "title IS NOT NULL OR NULL"),
        (cast(one, "BIGINT"), constant("BIGINT", 1 << 40), "NOT_DISTINCT_FROM", "false"),
        (cast(one, "BIGINT"), constant("BIGINT", None), "EQUAL", "title = NULL"),
        (column(0, decimal(9, 2)), FIVE, "EQUAL", "title = 5.00BD"),
        (
            cast(column(0, "DATE"), "TIMESTAMP"),
            constant("TIMESTAMP", 86_400_000_001),
            "GREATERTHANOREQUALTO",
            "title >= DATE '1970-01-03'",
        ),
        (
            cast(column(0, "TIMESTAMP"), "DATE"),
            constant("DATE", -1),
            "LESSTHANOREQUALTO",
            "title < TIMESTAMP_NTZ '1970-01-01 00:00:00'",
        ),
    ],
)
def test_cast_of_a_column_moves_to_the_constant(left: Any, right: Any, kind: str, sql: str) -> None:
    assert read(compare(kind, left, right)) == [sql]
    swapped = {"LESS": "GREATER", "GREATER": "LESS"}
    for one_way, other_way in swapped.items():
        if kind.startswith(one_way):
            mirrored = kind.replace(one_way, other_way)
            assert read(compare(mirrored, right, left)) == [sql]
            break
    else:
        assert read(compare(kind, right, left)) == [sql]


@pytest.mark.parametrize(
    ("value", "options", "sql"),
    [
        (cast(one, "DOUBLE"), [constant("DOUBLE", each) for each in (1.0, 1.5)], "title IN (1)"),
        (cast(one, "DOUBLE"), [constant("DOUBLE", 1.5)], "title IS NULL AND NULL"),
        (cast(one, "DOUBLE"), [constant("DOUBLE", None)], "title IN (NULL)"),
        (
            cast(column(0, "FLOAT"), "DOUBLE"),
            [constant("DOUBLE", each) for each in (0.5, 1.1, 1e300, math.nan)],
            "title IN (0.5F, float('NaN'))",
        ),
    ],
)
def test_in_options_that_no_value_equals_are_removed(value: Any, options: Any, sql: str) -> None:
    assert read(operator("COMPARE_IN", value, *options)) == [sql]


# Any change of a document: neither reading nor evaluating it ever raises.

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["BOUND_FUNCTION", "BOUND_CAST", "COMPARE_IN", "CASE_EXPR", "NULL", "UUID"]),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=4), below),
    max_leaves=6,
)
FILES = pa.table({"num_records": [1], "min.i": pa.array([1], pa.int32())})
SCHEMA = pa.schema({"i": pa.int32(), "title": pa.string(), "d": pa.date32()})


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return [path, *(each for key, below in items for each in places(below, (*path, key)))]
    return [path]


def changed(value: Any, path: tuple[Any, ...], replacement: Any) -> Any:
    if not path:
        return replacement
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], replacement)
    return copy


@given(st.randoms(use_true_random=False), st.lists(json_values, min_size=1, max_size=3))
def test_changed_documents_never_raise(random: Random, replacements: list[Any]) -> None:
    mutated = PLANNED[random.choice(list(PLANNED))][random.choice(list(CASES))]
    for replacement in replacements:
        everywhere = places(mutated)
        path = random.choice(everywhere)
        if random.random() < 0.5:  # or a value from elsewhere in the document
            replacement = mutated
            for key in random.choice(everywhere):
                replacement = replacement[key]
        mutated = changed(mutated, path, replacement)
    for schema in (None, SCHEMA):
        for expr in from_duckdb(mutated, schema):
            to_sql(expr)
            assert evaluate(expr, FILES).to_pylist()[0] in ("none", "some", "all")


@given(st.text() | json_values)
def test_arbitrary_json_never_raises(anything: Any) -> None:
    from_duckdb(anything)
    from_duckdb({"filters": [anything], "column_binding_names_by_index": anything})


def test_decimals_keep_all_digits() -> None:
    wide = decimal(38, 10)
    unscaled = 10**37 + 1
    halves = {"upper": unscaled >> 64, "lower": unscaled & ((1 << 64) - 1)}
    (expr,) = from_duckdb(document(compare("EQUAL", column(0, wide), constant(wide, halves))))
    assert isinstance(expr, Compare)
    assert isinstance(expr.right, Literal)
    assert expr.right.value == Decimal("1000000000000000000000000000.0000000001")


def test_example_of_the_documentation_page_works(repository: Path) -> None:
    page = repository / "docs" / "duckdb.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert failed == 0
    assert tried > 5
