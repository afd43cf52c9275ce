"""The framing and the records of VGI."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.remote.vgi.protocol import records
from tamis.remote.vgi.protocol.framing import (
    CALL_STATE,
    CURSOR,
    EMPTY,
    CallFailed,
    Kind,
    MalformedMessage,
    Part,
    Stream,
    batch_of,
    error_metadata,
    failure_of,
    kind_of,
    log_metadata,
    request_metadata,
    schema_of,
    stream_bytes,
)
from tamis.remote.vgi.protocol.record import ENUMERATION, TEXTS, Record, needed, optional, row_of

NUMBERS = pa.record_batch({"n": [1, 2]})
ALL = [each for each in vars(records).values() if isinstance(each, Record)]
SAMPLE = Record(
    "the sample",
    pa.schema(
        [
            needed("name", pa.string()),
            needed("kind", ENUMERATION),
            needed("tags", pa.map_(pa.string(), pa.string())),
            needed("paths", TEXTS),
            needed("is_set", pa.bool_()),
            optional("count", pa.int64()),
            optional("body", pa.large_binary()),
        ]
    ),
)


def test_streams_follow_each_other_on_one_source() -> None:
    metadata = request_metadata("bind", "2.2.0")
    source = io.BytesIO(stream_bytes(NUMBERS, metadata) + stream_bytes(EMPTY) + b"rest")
    first, second = Stream(source), None
    parts = list(first)
    assert [(each.batch, each.metadata) for each in parts] == [(NUMBERS, metadata)]
    assert first.next() is None
    second = Stream(source)
    assert [part.batch.num_rows for part in second] == [0]
    assert source.read() == b"rest"


def test_reflection_has_no_version() -> None:
    assert b"vgi_rpc.protocol_version" not in request_metadata("describe", None)
    assert request_metadata("bind", "2.1.0")[b"vgi_rpc.protocol_version"] == b"2.1.0"


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (Part(NUMBERS), Kind.DATA),
        (Part(NUMBERS, log_metadata("INFO", "rows beat metadata")), Kind.DATA),
        (Part(EMPTY), Kind.DATA),
        (Part(EMPTY, {b"vgi_batch_index": b"0"}), Kind.DATA),
        (Part(EMPTY, log_metadata("WARN", "w")), Kind.LOG),
        (Part(EMPTY, {b"vgi_rpc.log_level": b"EXCEPTION"}), Kind.DATA),
        (Part(EMPTY, error_metadata("ValueError", "e")), Kind.ERROR),
        (Part(EMPTY, {b"vgi_rpc.location": b"https://elsewhere"}), Kind.ELSEWHERE),
        (Part(NUMBERS, {b"vgi_rpc.shm_offset": b"0"}), Kind.ELSEWHERE),
        (Part(EMPTY, {CURSOR: b"eA==", CALL_STATE: b"eA=="}), Kind.CURSOR),
    ],
)
def test_kind_of_batch_is_recognized(part: Part, kind: Kind) -> None:
    assert kind_of(part) is kind


def test_error_keeps_its_code_and_kind() -> None:
    metadata = error_metadata("TypeError", "no", "UNIMPLEMENTED", "method_not_implemented")
    failure = failure_of(Part(EMPTY, metadata))
    assert isinstance(failure, CallFailed)
    assert (failure.message, failure.code) == ("TypeError: no", "UNIMPLEMENTED")
    assert failure.kind == "method_not_implemented"
    assert failure_of(Part(EMPTY, {b"vgi_rpc.log_message": b"\xff"})).message == "�"


@given(st.data())
def test_damaged_streams_are_malformed_or_read(data: st.DataObject) -> None:
    """Reading ends with batches or with MalformedMessage, whatever the bytes are."""
    whole = bytearray(stream_bytes(pa.record_batch({"s": ["a", None, "é"], "n": [1, 2, 3]})))
    for _ in range(data.draw(st.integers(0, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    try:
        for part in Stream(io.BytesIO(bytes(cut))):
            part.batch.to_pylist()
    except MalformedMessage:
        pass


@pytest.mark.parametrize("body", [b"", b"garbage", stream_bytes(NUMBERS)[:-20]])
def test_bytes_that_are_not_one_batch(body: bytes) -> None:
    with pytest.raises(MalformedMessage, match="the answer"):
        batch_of(body, "the answer")


def test_stream_without_its_end_is_malformed() -> None:
    """Arrow takes the end of the bytes for the end of the stream; rows would be lost."""
    whole = stream_bytes(NUMBERS)
    assert whole.endswith(b"\xff\xff\xff\xff\0\0\0\0")
    for missing in range(1, len(whole)):
        with pytest.raises(MalformedMessage):
            list(Stream(io.BytesIO(whole[:-missing])))


def test_number_of_batches_is_checked() -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, NUMBERS.schema) as writer:
        writer.write_batch(NUMBERS)
        writer.write_batch(NUMBERS)
    with pytest.raises(MalformedMessage, match="has 2 batches instead of one"):
        batch_of(sink.getvalue().to_pybytes(), "the answer")


def test_schemas_are_read_without_the_end_of_a_stream() -> None:
    assert schema_of(NUMBERS.schema.serialize().to_pybytes(), "it") == NUMBERS.schema
    for body in (b"", b"garbage"):
        with pytest.raises(MalformedMessage, match="it is not a schema"):
            schema_of(body, "it")


@pytest.mark.parametrize("record", ALL, ids=lambda each: each.name)
def test_every_record_keeps_its_values(record: Record) -> None:
    values = {field.name: _sample(field.type) for field in record.schema}
    body = record.pack(**values)
    assert batch_of(body, record.name).schema == record.schema
    assert record.unpack(body) == values


def _sample(data_type: pa.DataType) -> object:
    types = pa.types
    if types.is_map(data_type):
        return {"k": _sample(data_type.item_type)}
    if types.is_dictionary(data_type):
        return _sample(data_type.value_type)
    if types.is_list(data_type):
        return [_sample(data_type.value_type)]
    if types.is_struct(data_type):
        return {field.name: _sample(field.type) for field in data_type}
    if types.is_timestamp(data_type):
        return None
    if types.is_string(data_type):
        return "a"
    if types.is_boolean(data_type):
        return True
    return b"x" if types.is_binary(data_type) or types.is_large_binary(data_type) else 1


def test_absent_fields_are_null_false_or_empty() -> None:
    given = row_of(
        pa.schema([needed("name", pa.string()), needed("kind", pa.string())]),
        {"name": "a", "kind": "TABLE"},
    )
    assert SAMPLE.unpack(stream_bytes(given)) == {
        "name": "a", "kind": "TABLE", "tags": {}, "paths": [], "is_set": False,
        "count": None, "body": None,
    }  # fmt: skip
    assert SAMPLE.unpack(SAMPLE.pack(name="a", kind="TABLE"), ["count"]) == {"count": None}


def test_unknown_fields_are_ignored_and_kindred_types_are_read() -> None:
    batch = pa.record_batch(
        {
            "more": [1.5],
            "name": pa.array(["a"], pa.large_string()),
            "kind": pa.array(["TABLE"]),
            "count": pa.array([3], pa.int32()),
            "body": pa.array([b"x"], pa.binary()),
            "paths": pa.array([["p"]], pa.large_list(pa.string())),
        }
    )
    row = SAMPLE.unpack(stream_bytes(batch))
    assert (row["name"], row["count"], row["body"], row["paths"]) == ("a", 3, b"x", ["p"])


@pytest.mark.parametrize(
    ("batch", "says"),
    [
        (pa.record_batch({"name": ["a"]}), "the sample has no kind"),
        (pa.record_batch({"name": ["a", "b"]}), "has 2 rows instead of one"),
        (pa.record_batch({"name": pa.array([None], pa.string())}), "the sample has no name"),
        (pa.record_batch({"name": [1]}), "the sample.name is int64 instead of string"),
        (pa.record_batch({"name": ["a"], "kind": ["b"], "count": ["1"]}), "count is string"),
        (pa.record_batch([["a"], ["b"]], names=["name", "name"]), "2 columns named name"),
    ],
)
def test_other_records_are_malformed(batch: pa.RecordBatch, says: str) -> None:
    with pytest.raises(MalformedMessage, match=says):
        SAMPLE.unpack(stream_bytes(batch))


def test_records_are_written_with_known_fields_only() -> None:
    with pytest.raises(KeyError, match="unknown fields"):
        SAMPLE.pack(name="a", kind="TABLE", typo=1)
    with pytest.raises(KeyError, match="kind has no value"):
        SAMPLE.pack(name="a")
