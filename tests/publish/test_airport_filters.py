"""Filters of DuckDB: the server never leaves out a row that passes, and knows which are exact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.publish.client import Client, exact, serving
from tests.publish.mixed_table import CONDITIONS, ROWS_A_GROUP, write_mixed_table
from tests.wire.duckdb.planned import planned_filters, prepare
from tests.wire.duckdb.test_documents import PLANNED

pytestmark = pytest.mark.programs

conditions = st.recursive(
    st.sampled_from(CONDITIONS),
    lambda each: st.one_of(
        each.map(lambda c: f"NOT ({c})"),
        st.tuples(each, each).map(lambda pair: f"({pair[0]}) AND ({pair[1]})"),
        st.tuples(each, each).map(lambda pair: f"({pair[0]}) OR ({pair[1]})"),
    ),
    max_leaves=4,
)


@dataclass
class Engine:
    """A client of the mixed table, and DuckDB with its rows."""

    client: Client
    rows: pa.Table
    connection: duckdb.DuckDBPyConnection

    def documents(self, wheres: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
        """Return a document of several conditions, and the condition of each of its filters."""
        filters, names, sources = [], self.rows.schema.names, []
        for where in wheres:
            # DuckDB evaluates a condition without columns itself
            document = planned_filters(self.connection, "mixed", where) or {"filters": []}
            filters += document["filters"]
            sources += [where] * len(document["filters"])
        return {"filters": filters, "column_binding_names_by_index": names}, sources

    def passing(self, where: str) -> set[int]:
        query = f"SELECT id FROM rows_of_table WHERE {where}"
        return {row[0] for row in self.connection.execute(query).fetchall()}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    root = tmp_path_factory.mktemp("mixed")
    write_mixed_table(root)
    with serving({"mixed": root}) as uri, duckdb.connect() as connection:
        client = Client(uri)
        rows = pa.concat_tables(map(client.read, client.endpoints("mixed")))
        prepare(connection)
        connection.register("rows_of_table", rows)
        connection.execute("CREATE TABLE mixed AS SELECT * FROM rows_of_table")
        yield Engine(client, rows, connection)


def test_every_row_is_read_without_filters(engine: Engine) -> None:
    assert sorted(engine.rows.column("id").to_pylist()) == list(range(9 * 3 * ROWS_A_GROUP))
    assert {*engine.rows.column("q").to_pylist()} == {None, "a b", "é%"}
    assert engine.rows.schema.field("p").type == pa.int32()


def check(engine: Engine, wheres: Sequence[str]) -> tuple[int, int]:
    """Check the answer to conditions; return how many rows it has, and how many exact filters."""
    document, sources = engine.documents(wheres)
    endpoints = engine.client.endpoints("mixed", document)
    ids = [row["id"] for row in engine.client.rows(endpoints)]
    assert len(set(ids)) == len(ids)
    passing = set.intersection(*(engine.passing(where) for where in wheres))
    assert passing <= set(ids)
    if not endpoints:
        return 0, 0
    declared = exact(endpoints)
    for where in dict.fromkeys(sources):
        if all(k in declared for k, source in enumerate(sources) if source == where):
            assert set(ids) <= engine.passing(where), where
    if len(declared) == len(sources) and set(sources) == set(wheres):
        assert set(ids) == passing
    return len(ids), len(declared)


@given(st.lists(conditions, min_size=1, max_size=3))
def test_no_row_is_lost_and_exact_filters_are_exact(engine: Engine, wheres: list[str]) -> None:
    check(engine, wheres)


def test_conditions_prune_and_are_exact(engine: Engine) -> None:
    """The property above would also hold for a server that returns everything."""
    results = [check(engine, [where]) for where in CONDITIONS]
    everything = engine.rows.num_rows
    assert sum(0 < rows < everything for rows, _ in results) > 30
    assert sum(exactly for _, exactly in results) >= 8


@pytest.mark.parametrize(
    ("where", "rows", "is_exact"),
    [
        ("p = 2", 36, True),
        ("p = 2 AND q = 'a b'", 12, True),
        ("p IS NULL OR q IS NULL", 60, True),
        ("id < 8", 8, True),
        ("id < 7", 8, False),
        ("id < 8 OR id >= 100", 16, True),
        ("id < 0", 0, False),
        ("id IS NOT NULL", 108, True),
        ("id % 2 = 0", 108, False),
        ("id < 8 AND id % 2 = 0", 8, False),
        ("id < 8 OR id % 2 = 0", 108, False),
        ("NOT (id < 8 AND id % 2 = 0)", 108, False),
        ("id BETWEEN 8 AND 15", 8, True),
        ("d < DATE '1800-01-01'", 0, False),
    ],
)
def test_surviving_row_groups_are_read(
    engine: Engine, where: str, rows: int, is_exact: bool
) -> None:
    document, sources = engine.documents([where])
    endpoints = engine.client.endpoints("mixed", document)
    assert len(engine.client.rows(endpoints)) == rows
    declared = exact(endpoints) if endpoints else []
    assert (declared == list(range(len(sources)))) == is_exact


@pytest.mark.parametrize("version", PLANNED)
def test_documents_of_both_versions_lose_no_row(engine: Engine, version: str) -> None:
    """They are those of another table: some of its columns do not exist here."""
    compared = pruned = 0
    for predicate, document in PLANNED[version].items():
        ids = {row["id"] for row in engine.client.rows(engine.client.endpoints("mixed", document))}
        try:
            passing = engine.passing(predicate)
        except duckdb.Error:  # a column does not exist
            continue
        compared += 1
        pruned += len(ids) < engine.rows.num_rows
        assert passing <= ids, predicate
    assert compared > 40
    assert pruned > 10


@pytest.mark.parametrize(
    "document",
    [
        "{", "null", "[]", '{"filters": 5}', '{"filters": [null, 5, {}]}', '{"filters": [NaN]}', "\0",
        '{"filters": [{"type": "COMPARE_EQUAL"}], "column_binding_names_by_index": [1]}',
        "[" * 10_000,
    ],
)  # fmt: skip
def test_malformed_documents_lose_no_row(engine: Engine, document: str) -> None:
    endpoints = engine.client.endpoints("mixed", document)
    assert len(engine.client.rows(endpoints)) == engine.rows.num_rows
    assert exact(endpoints) == []


def test_unknown_forms_below_known_ones_lose_no_row(engine: Engine) -> None:
    document, _ = engine.documents(["id < 8"])
    (known,) = document["filters"]
    unknown = {"expression_class": "BOUND_TELEPATHY", "type": "TELEPATHY"}
    for combine, rows in (("AND", 8), ("OR", 108)):
        both = {
            "expression_class": "BOUND_CONJUNCTION",
            "type": f"CONJUNCTION_{combine}",
            "children": [known, unknown],
        }
        endpoints = engine.client.endpoints("mixed", {**document, "filters": [both]})
        assert len(engine.client.rows(endpoints)) == rows
        assert exact(endpoints) == []
