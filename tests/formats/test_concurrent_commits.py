"""Queries while other sessions commit return the rows of one version.

For longer than a test: `python tests/formats/concurrent_commits.py --seed 7 --count 2000`.
"""

from __future__ import annotations

import pytest

from tests.formats.tables import caching_manifests, fill
from tests.launch.statements import OFF, Statements

pytestmark = pytest.mark.spark


COLUMNS = "(id BIGINT, k INT, s STRING, d DATE)"


def test_each_answer_is_that_of_a_version(formats: Statements) -> None:
    tally = formats.function("tests.formats.concurrent_commits:run", seed=1, count=24, seconds=20)
    assert tally["differences"] == []
    # A comparison without rows, commits or pruning proves nothing.
    assert tally["rows"] > 0
    kinds = {each.split()[0] for each in tally["commits"]}
    for some in (
        {"INSERT"},
        {"DELETE", "UPDATE", "MERGE"},
        {"OPTIMIZE", "REORG", "VACUUM", "CALL"},
    ):
        assert kinds & some, kinds
    assert not [each for each in tally["errors"] if each.startswith("fallback: ")]
    assert tally["files_kept"] < tally["files_total"]


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_removed_files_are_missing_with_and_without_tamis(formats: Statements, kind: str) -> None:
    name = "vacuumed" if kind == "delta" else "ice.db.expired_files"
    formats.sql(f"CREATE TABLE {name} {COLUMNS} USING {kind}")
    fill(formats, name, 0, 3)
    if kind == "delta":
        old, confs = f"{name} VERSION AS OF 1", {}
        remove = f"VACUUM {name} RETAIN 0 HOURS"
    else:  # the snapshot that another catalog has loaded before
        old, confs = "cached.db.expired_files", caching_manifests(formats)
        assert formats.same(f"SELECT * FROM {old} WHERE id + 0 >= 250", **confs).kept == [1]
        remove = (
            "CALL ice.system.expire_snapshots(table => 'db.expired_files', retain_last => 1, "
            "older_than => TIMESTAMP '2099-01-01')"
        )
    formats.sql(f"DELETE FROM {name} WHERE id < 50")
    formats.sql(remove, **{"spark.databricks.delta.retentionDurationCheck.enabled": "false"})
    query = f"SELECT * FROM {old} WHERE id + 0 "
    for switch in ({}, OFF):
        with pytest.raises(AssertionError, match=r"FILE_NOT_EXIST|NotFoundException"):
            formats.sql(query + "< 10", **confs, **switch)
    assert formats.same(query + ">= 250", **confs).kept == [1]
    assert formats.same(f"SELECT * FROM {name} WHERE id + 0 < 100").kept == [1]


@pytest.mark.parametrize("name", ["recreated", "ice.db.recreated"])
def test_table_that_was_created_again_is_read_anew(formats: Statements, name: str) -> None:
    kind = "iceberg" if name.startswith("ice.") else "delta"
    for first in (0, 3):
        formats.sql(f"CREATE TABLE {name} {COLUMNS} USING {kind}")
        fill(formats, name, first, 3)
        assert formats.same(f"SELECT * FROM {name} WHERE id + 0 < 200").kept == [
            2 if first == 0 else 0
        ]
        assert formats.same(f"SELECT * FROM {name} WHERE id + 0 >= 400").kept == [
            0 if first == 0 else 2
        ]
        formats.sql(f"DROP TABLE {name}")
