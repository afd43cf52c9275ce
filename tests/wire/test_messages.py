"""Requests and answers: the version is checked first, and errors name the invalid field."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import WireError, WireVersionError
from tamis.wire.file_sets import Kept, KeptBitmap, KeptRanges
from tamis.wire.goals import ReasonDocument
from tamis.wire.kept import encode_kept, encode_row_groups
from tamis.wire.messages import (
    VERSION,
    ConjunctAnswer,
    PlanAnswer,
    read_request,
    write_answer,
)

SNAPSHOT = {"fingerprint": "ab", "directory": "/d", "files": 3}
REQUEST = {
    "version": VERSION,
    "id": "q1",
    "snapshot": SNAPSHOT,
    "table": {
        "name": "t",
        "roots": ["file:/data/t"],
        "partition_columns": [{"name": "year", "type": "integer"}],
        "case_sensitive": False,
    },
    "index": {"enabled": True, "location": None, "epoch": 0},
    "storage": {"fs.s3a.endpoint": "http://localhost"},
    "cache_directory": None,
    "conjuncts": [{"n": "lit", "t": "boolean", "v": True}],
    "detail": False,
}


def test_request_is_read() -> None:
    request = read_request(json.dumps(REQUEST))
    assert request.snapshot.files == 3
    assert request.table.partition_columns[0].name == "year"
    assert request.conjuncts == [{"n": "lit", "t": "boolean", "v": True}]


def test_unknown_fields_are_ignored() -> None:
    assert read_request(json.dumps(REQUEST | {"later": 1})).id == "q1"


@pytest.mark.parametrize("version", [0, 2, None])
def test_other_versions_are_rejected_before_other_fields_are_read(version: int | None) -> None:
    with pytest.raises(WireVersionError, match="the Python package uses 1"):
        read_request(json.dumps({"version": version, "snapshot": "of another form"}))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '"q"', "{}", '{"version": "1"}', "[" * 100_000, '{"version": 1}', "\ud800"],
)
def test_malformed_request_is_a_wire_error(text: str) -> None:
    with pytest.raises(WireError):
        read_request(text)


def test_answer_is_written() -> None:
    why = ReasonDocument("NO_STATISTICS", {"column": "a"}, "no statistics are known for a", None)
    answer = PlanAnswer(
        "q1", "ab", 3, KeptRanges([(0, 2)]), conjuncts=[ConjunctAnswer("inexact", why, 1)]
    )
    written: dict[str, Any] = json.loads(write_answer(answer))
    assert written["version"] == VERSION
    assert written["kept"] == {"form": "ranges", "data": [[0, 2]]}
    assert written["conjuncts"][0]["reason"]["code"] == "NO_STATISTICS"


def decoded(kept: Kept, files: int) -> list[bool]:
    document = json.loads(msgspec.json.encode(kept))
    flags = np.zeros(files, np.bool_)
    match document["form"]:
        case "all":
            flags[:] = True
        case "ranges":
            for start, stop in document["data"]:
                assert start < stop
                flags[start:stop] = True
        case "bitmap":
            packed = np.frombuffer(base64.b64decode(document["data"]), np.uint8)
            flags = np.unpackbits(packed, bitorder="little")[:files].astype(np.bool_)
    return flags.tolist()


@given(st.lists(st.booleans(), max_size=300))
def test_kept_files_round_trip(kept: list[bool]) -> None:
    assert decoded(encode_kept(np.array(kept, np.bool_)), len(kept)) == kept


def test_scattered_files_are_written_as_a_bitmap() -> None:
    assert isinstance(encode_kept(np.arange(1_000) % 2 == 0), KeptBitmap)


@given(
    st.lists(
        st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**62), st.integers(1, 2**40)),
        max_size=9,
    )
)
def test_row_groups_are_packed_little_endian(ranges: list[tuple[int, int, int]]) -> None:
    files, starts, lengths = (np.array([each[k] for each in ranges], np.int64) for k in range(3))
    packed = encode_row_groups(files, starts, lengths, kept=1, total=None)
    read = [
        np.frombuffer(base64.b64decode(text), kind).tolist()
        for text, kind in ((packed.files, "<i4"), (packed.starts, "<i8"), (packed.lengths, "<i8"))
    ]
    assert list(zip(*read, strict=True)) == ranges
    answer = json.loads(write_answer(PlanAnswer("q", "f", 3, KeptRanges([]), row_groups=packed)))
    assert answer["row_groups"]["kept"] == 1
    assert answer["row_groups"]["total"] is None


def test_row_groups_are_omitted_unless_requested() -> None:
    assert read_request(json.dumps(REQUEST)).row_groups is False
