"""From a question to byte ranges, with real files and an index of them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.indexing.format.layout import ROW_GROUPS, hidden
from tamis.indexing.format.store import Store
from tamis.serve.planning import plan
from tests.indexing.local import LocalIndex, spark_schema, uri_of, write_snapshot

SCHEMA = spark_schema(a="long", s="string", st={"x": "long"})
ROWS = 5  # per row group


class Scene:
    """Four files of four row groups in two partitions, a = 0 .. 79 in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "t"
        for number in range(4):
            self.write(number)
        self.index = LocalIndex(self.root, SCHEMA, folder / "scratch")
        self.index.build()
        self.questions = 0

    def path(self, number: int) -> Path:
        return self.root / f"day={number // 2}" / f"{number}.parquet"

    def write(self, number: int, **options: Any) -> None:
        values = range(20 * number, 20 * number + 20)
        path = self.path(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(
            pa.table(
                {
                    "a": pa.array(values, pa.int64()),
                    "s": [f"t{v:03d}" for v in values],
                    "st": [{"x": v} for v in values],
                }
            ),
            path,
            **({"row_group_size": ROWS} | options),
        )

    def ask(
        self, *conjuncts: tuple[str, str, int | str], row_groups: bool = True, epoch: int = 0
    ) -> dict[str, Any]:
        """Return the answer to conjuncts of (function, column, value)."""
        self.questions += 1
        directory = self.folder / f"snapshots {self.questions}"
        days = sorted(self.root.glob("day=*"))
        values = pa.array([int(d.name[4:]) for d in days], pa.int32())
        fingerprint, files = write_snapshot(self.root, directory, {"day": values})

        def written(function: str, name: str, value: int | str) -> dict[str, Any]:
            kind = "string" if isinstance(value, str) else "integer" if name == "day" else "long"
            column = {"n": "col", "p": name.split("."), "t": kind, "nullable": True}
            literal = {"n": "lit", "t": kind, "v": value}
            return {"n": "call", "f": function, "t": "boolean", "a": [column, literal]}

        answer: dict[str, Any] = json.loads(
            plan(
                json.dumps(
                    {
                        "version": 1,
                        "id": "1",
                        "snapshot": {
                            "fingerprint": fingerprint,
                            "directory": str(directory),
                            "files": files,
                        },
                        "table": {
                            "name": "t",
                            "roots": [uri_of(self.root)],
                            "partition_columns": [{"name": "day", "type": "integer"}],
                        },
                        "index": {"epoch": epoch},
                        "cache_directory": str(self.folder / "cache"),
                        "conjuncts": [written(*each) for each in conjuncts],
                        "row_groups": row_groups,
                    }
                )
            )
        )
        return answer


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def ranges(answer: dict[str, Any]) -> list[tuple[int, int, int]]:
    packed = answer["row_groups"]
    arrays = [
        np.frombuffer(base64.b64decode(packed[name]), kind).tolist()
        for name, kind in (("files", "<i4"), ("starts", "<i8"), ("lengths", "<i8"))
    ]
    return list(zip(*arrays, strict=True))


def read(scene: Scene, answer: dict[str, Any]) -> list[int]:
    """Return the ordinals, 0 to 15, of the row groups read from files that are read in part."""
    ordinals = []
    for number, start, length in ranges(answer):
        metadata = pq.read_metadata(scene.path(number))
        for i in range(metadata.num_row_groups):
            chunks = [metadata.row_group(i).column(k) for k in range(metadata.num_columns)]
            first = chunks[0].dictionary_page_offset or chunks[0].data_page_offset
            midpoint = first + sum(c.total_compressed_size for c in chunks) // 2
            if start <= midpoint < start + length:
                ordinals.append(4 * number + i)
    return ordinals


@pytest.mark.parametrize(
    ("conjuncts", "groups"),
    [
        ([("EqualTo", "a", 33)], [6]),
        ([("GreaterThan", "a", 36), ("LessThan", "a", 47)], [7, 8, 9]),
        ([("EqualTo", "s", "t079")], [15]),
        ([("EqualTo", "st.x", 0)], [0]),
        ([("LessThan", "a", 3), ("EqualTo", "day", 0)], [0]),
    ],
)
def test_row_groups_of_real_files_are_pruned(
    scene: Scene, conjuncts: list[tuple[str, str, int | str]], groups: list[int]
) -> None:
    answer = scene.ask(*conjuncts)
    assert read(scene, answer) == groups
    assert answer["kept_records"] == ROWS * len(groups)
    counts = answer["row_groups"]
    assert (counts["kept"], counts["total"]) == (len(groups), 16)
    assert answer["warnings"] == []


def test_row_groups_are_not_pruned_unless_requested(scene: Scene) -> None:
    answer = scene.ask(("EqualTo", "a", 33), row_groups=False)
    assert answer["row_groups"] is None
    assert answer["kept_records"] == 20
    # Conjuncts that only row groups prove are then not exact.
    both = ("GreaterThanOrEqual", "a", 5), ("LessThan", "a", 10)
    assert [c["pushdown"] for c in scene.ask(*both, row_groups=False)["conjuncts"]] == [
        "inexact",
        "inexact",
    ]
    assert [c["pushdown"] for c in scene.ask(*both)["conjuncts"]] == ["exact", "exact"]


def test_row_groups_are_not_read_if_files_decide(scene: Scene) -> None:
    assert scene.ask(("LessThan", "a", 20))["row_groups"] is None


def test_rewritten_and_added_files_are_read_whole(scene: Scene) -> None:
    scene.write(1, row_group_size=10)
    scene.write(4)
    answer = scene.ask(("LessThan", "a", 33))
    # File 0 is read whole, since all of it survives. Files 1 and 4 are unknown.
    assert answer["kept"]["data"] == [[0, 2], [4, 5]]
    assert ranges(answer) == []
    assert answer["row_groups"]["total"] is None
    answer = scene.ask(("LessThan", "a", 13))
    assert read(scene, answer) == [0, 1, 2]
    assert answer["kept"]["data"] == [[0, 2], [4, 5]]
    assert answer["kept_records"] is None


def test_refresh_restores_the_ranges(scene: Scene) -> None:
    scene.write(1, row_group_size=10)
    scene.write(4)
    scene.index.refresh()
    answer = scene.ask(("EqualTo", "a", 33))
    assert answer["row_groups"]["total"] == 4 + 2 + 4 + 4 + 4
    assert answer["kept_records"] == 10
    assert len(ranges(answer)) == 1
    assert read(scene, scene.ask(("EqualTo", "a", 84))) == [16]


def _without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    write = Store.write_segment

    def fewer(self: Store, files: pa.Table, groups: pa.Table, *rest: Any) -> Any:
        return write(self, files, groups.drop_columns(list(names)), *rest)

    monkeypatch.setattr(Store, "write_segment", fewer)


@pytest.mark.parametrize("name", ["midpoint", "start"])
def test_index_of_an_earlier_version_prunes_files_only(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    _without(monkeypatch, name)
    scene.index.build()
    answer = scene.ask(("EqualTo", "a", 33), epoch=1)
    assert answer["kept"]["data"] == [[1, 2]]
    assert answer["row_groups"] is None
    assert answer["warnings"] == []


def test_column_without_row_group_statistics_prunes_files_only(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    _without(monkeypatch, "min.a", "max.a", "null_count.a")
    scene.index.build()
    assert scene.ask(("EqualTo", "a", 33), epoch=1)["kept"]["data"] == [[1, 2]]
    assert ranges(scene.ask(("EqualTo", "a", 33), epoch=1)) == []
    assert read(scene, scene.ask(("EqualTo", "a", 33), ("EqualTo", "s", "t033"), epoch=1)) == [6]


def _damage(scene: Scene) -> Path:
    (file,) = (scene.root / "_tamis").glob(f"*/{hidden(ROW_GROUPS)}")
    content = bytearray(file.read_bytes())
    for i in range(4, len(content) - 4):
        content[i] ^= 0x55
    file.write_bytes(bytes(content))
    return file


def test_damaged_row_groups_do_not_affect_files(scene: Scene) -> None:
    _damage(scene)
    for _ in range(2):
        answer = scene.ask(("EqualTo", "a", 33))
        assert answer["kept"]["data"] == [[1, 2]]
        assert answer["row_groups"] is None
        assert [each["code"] for each in answer["warnings"]] == ["index.damaged"]


def test_missing_row_groups_do_not_affect_files(scene: Scene) -> None:
    _damage(scene).unlink()
    answer = scene.ask(("EqualTo", "a", 33))
    assert answer["kept"]["data"] == [[1, 2]]
    assert len(answer["warnings"]) == 1


@pytest.mark.parametrize("spoil", ["order", "one less"])
def test_row_groups_of_other_files_are_ignored(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, spoil: str
) -> None:
    write = Store.write_segment

    def wrong(self: Store, files: pa.Table, groups: pa.Table, *rest: Any) -> Any:
        spoilt = groups.slice(1)
        if spoil == "order":
            spoilt = pa.concat_tables([spoilt, groups.slice(0, 1)])
        return write(self, files, spoilt, *rest)

    monkeypatch.setattr(Store, "write_segment", wrong)
    scene.index.build()
    answer = scene.ask(("EqualTo", "a", 33), epoch=1)
    assert answer["kept"]["data"] == [[1, 2]]
    assert answer["row_groups"] is None
    assert [each["code"] for each in answer["warnings"]] == ["index.damaged"]
