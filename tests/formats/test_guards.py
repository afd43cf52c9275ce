"""Guards know tables of Iceberg and Delta by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.tables import fill
from tests.launch.statements import Statements

pytestmark = pytest.mark.spark

REQUIRE = "spark.tamis.requireFilter"
#: Names and paths `{p}` of the guarded tables.
NAMES = {
    "delta": ["spark_catalog.default.Guarded", "default.guarded", "`guarded`", "{p}", "*"],
    "iceberg": ["ice.db.guarded t", "ICE.db.`Guarded T`", "db.guarded t", "guarded t", "{p}", "*"],
}
#: Names of other tables.
OTHERS = {
    "delta": ["other.guarded", "ice.default.guarded", "default.guard", "arded"],
    "iceberg": ["hive.db.guarded t", "ice.guarded t", "ice.db.guarded", "t", "spark_catalog.db.x"],
}


@pytest.fixture(scope="module", params=["delta", "iceberg"])
def guarded(
    request: pytest.FixtureRequest, formats: Statements, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, str, Path]:
    """The format, name and path of a table of three files."""
    kind: str = request.param
    path = tmp_path_factory.mktemp("guarded")
    name = "guarded" if kind == "delta" else "ice.db.`guarded t`"
    formats.sql(
        f"CREATE TABLE {name} (id BIGINT, k INT, s STRING, d DATE) USING {kind}"
        + (f" LOCATION '{path}'" if kind == "delta" else "")
    )
    fill(formats, name, 0, 3)
    if kind == "iceberg":
        formats.sql(f"ALTER TABLE {name} CREATE BRANCH side")
        (row,) = formats.sql(f"SELECT min(file_path) FROM {name}.files").rows
        path = Path(row.split("'")[1].removeprefix("file:")).parents[1]
    return kind, name, path


def test_queries_that_read_every_file_are_refused(
    formats: Statements, guarded: tuple[str, str, Path]
) -> None:
    kind, name, path = guarded
    past = "VERSION AS OF 1" if kind == "delta" else "VERSION AS OF 'side'"
    for written in NAMES[kind]:
        conf = {REQUIRE: f"somewhere.else, {written.replace('{p}', str(path))}"}
        for query in (
            f"SELECT * FROM {name}",
            f"SELECT id FROM {name} {past} WHERE k < 9",
            f"SELECT count(s) FROM {name} a JOIN range(300) b ON a.id = b.id WHERE a.id >= 0",
        ):
            with pytest.raises(AssertionError, match=r"must skip a file"):
                formats.sql(query, **conf)
        assert formats.same(f"SELECT * FROM {name} WHERE id + 0 < 50", **conf).kept == [1]


def test_the_error_names_the_table(formats: Statements, guarded: tuple[str, str, Path]) -> None:
    kind, name, _ = guarded
    full = "spark_catalog.default.guarded" if kind == "delta" else "ice.db.guarded t"
    with pytest.raises(AssertionError, match=f"tamis: a scan of {full} must skip a file"):
        formats.sql(f"SELECT * FROM {name} WHERE k < 9", **{REQUIRE: "*"})


def test_other_names_do_not_guard(formats: Statements, guarded: tuple[str, str, Path]) -> None:
    kind, name, path = guarded
    for written in [*OTHERS[kind], f"{path}x"]:
        formats.sql(f"SELECT * FROM {name}", **{REQUIRE: written})


def test_files_with_deleted_rows_are_guarded(formats: Statements) -> None:
    """Delta's own reader reads them."""
    formats.sql(
        "CREATE TABLE guarded_vectors USING delta TBLPROPERTIES "
        "('delta.enableDeletionVectors' = 'true') AS "
        "SELECT /*+ REPARTITION_BY_RANGE(3, id) */ id FROM range(30)"
    )
    formats.sql("DELETE FROM guarded_vectors WHERE id = 3")
    conf = {REQUIRE: "default.guarded_vectors"}
    for query in ("SELECT * FROM guarded_vectors", "SELECT * FROM guarded_vectors WHERE id >= 0"):
        with pytest.raises(AssertionError, match=r"must skip a file"):
            formats.sql(query, **conf)
    assert formats.same("SELECT * FROM guarded_vectors WHERE id + 0 < 5", **conf).kept == [1]


@pytest.mark.parametrize(
    ("written", "warning"),
    [
        ("ice.db.misspelled", "a table that does not exist yet"),
        ("db.misspelled", "a table that does not exist yet"),
        ("nowhere.db.guarded.x", "whose catalog this session does not have"),
        ("ice.db.outside", None),
        ("db.outside", None),
        ("outside", None),
        ("default.outside_delta", None),
        ("spark_catalog.default.outside_delta", None),
    ],
)
def test_names_that_guard_nothing_are_warned_of(
    formats: Statements, written: str, warning: str | None
) -> None:
    line = {"text_of": "tests.formats.in_session:run_guarded", "arguments": [written], "confs": {}}
    found = [each for each in formats.run(line).warnings if "requireFilter names" in each]
    assert len(found) == (warning is not None)
    assert all(str(warning) in text for text in found)
