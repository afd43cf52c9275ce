"""Deletes of all kinds: files are left out, and statistics answer only what deletes do not change.

The first two of five files have lost rows.
"""

from __future__ import annotations

import pytest

from tests.formats.tables import deleted, fill, united
from tests.launch.statements import Statements

pytestmark = pytest.mark.spark

#: A query, and the files that it reads under position deletes, deletion vectors and equality deletes
#: of Iceberg, and under deletion vectors of Delta. 0: statistics answer it.
#: None: not run, because Delta plans slowly.
QUERIES = [
    ("SELECT id FROM {t} WHERE id + 0 >= 95 AND id + 0 < 110 AND k < 9", 2, 2, 2, None),
    ("SELECT id FROM {t} WHERE id >= 0 AND k >= 0 AND id + 0 < 110", 2, 2, 2, 2),
    # deletion vectors have an exact number of rows, and position deletes have not
    ("SELECT count(*) FROM {t} WHERE id < 200", 2, 0, 2, 0),
    ("SELECT count(*) FROM {t} WHERE id >= 200 AND id < 400", 0, 0, 2, 0),
    ("SELECT count(k) FROM {t} WHERE id < 100", 1, 1, 1, 1),
    # the least and the greatest value may have been deleted
    ("SELECT min(id) FROM {t} WHERE id < 100", 1, 1, 1, 1),
    ("SELECT max(id), count(*) FROM {t} WHERE id < 100", 1, 1, 1, None),
    ("SELECT min(id), max(id) FROM {t} WHERE id >= 200 AND id < 300", 0, 0, 1, 0),
    # the files without deleted rows are answered from statistics
    ("SELECT min(id), count(*) FROM {t}", 2, 2, 5, 2),
    ("SELECT count(*) FROM (SELECT id FROM {t} WHERE id >= 200 LIMIT 100)", 1, 1, 3, 1),
    # 97 and 97 rows of these files are left
    ("SELECT count(*) FROM (SELECT id FROM {t} WHERE id < 200 LIMIT 97)", 2, 1, 2, 1),
    ("SELECT count(*) FROM (SELECT id FROM {t} WHERE id < 200 LIMIT 98)", 2, 2, 2, 2),
    ("SELECT id FROM {t} ORDER BY id LIMIT 97", 3, 1, 5, 1),
    ("SELECT id FROM {t} ORDER BY id LIMIT 98", 3, 2, 5, 2),
]
KINDS = ["positions", "vectors", "equality", "delta"]


def of_kind(formats: Statements, kind: str) -> str:
    """Return the name of a table with deletes of this kind."""
    if kind in ("vectors", "delta"):
        return deleted(formats, "iceberg" if kind == "vectors" else kind)
    name = f"ice.db.by_{kind}"
    formats.sql(
        f"CREATE TABLE {name} (id BIGINT, k INT, s STRING, d DATE) USING iceberg "
        "TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')"
    )
    fill(formats, name, 0, 5)
    if kind == "positions":
        formats.sql(f"DELETE FROM {name} WHERE id IN (0, 5, 98, 105, 107, 199)")
    else:
        formats.text_of("tests.formats.in_session:delete_equal_rows", name, "k", [0, 3])
    return name


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_under_deletes(formats: Statements, kind: str) -> None:
    name = of_kind(formats, kind)
    expected = {each[0]: each[KINDS.index(kind) + 1] for each in QUERIES}
    queries = [query for query, files in expected.items() if files is not None]
    answer = formats.same(united(queries, name))
    assert answer.kept == [files for files in expected.values() if files]
    if kind == "equality":  # a file that was written after the delete
        fill(formats, name, 5, 1)
        later = ["SELECT count(*), min(id), count(k) FROM {t} WHERE id >= 500"]
        assert formats.same(united(later, name)).kept == []
