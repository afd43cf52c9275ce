"""Manifests decoded in lanes equal those that polars decodes, or are left to polars."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tamis.tables.iceberg import avro
from tamis.tables.iceberg.avro_lanes import NotInLanes
from tamis.tables.iceberg.decoding import decode_manifest
from tamis.tables.iceberg.errors import SnapshotUnreadable
from tamis.tables.iceberg.manifest import Manifest
from tests.tables.iceberg.avro_writer import avro_file
from tests.tables.iceberg.hand_made import File, Spec, entry, entry_schema, long

PARTITIONS: Sequence[tuple[Any, Callable[[random.Random], Any]]] = [
    ("int", lambda rng: rng.choice([-(2**31), -1, 0, 63, 64, 2**31 - 1])),
    ("long", lambda rng: rng.choice([-(2**63), -(2**40), 0, 8191, 8192, 2**63 - 1])),
    ({"type": "int", "logicalType": "date"}, lambda rng: rng.randrange(-(10**4), 10**5)),
    (
        {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
        lambda rng: rng.randrange(-(10**15), 10**16),
    ),
    ("boolean", lambda rng: rng.random() < 0.5),
    ("string", lambda rng: rng.choice(["", "é", "x" * 300])),
    ("float", lambda rng: rng.choice([-0.0, 1.5, float("inf")])),
    ("double", lambda rng: rng.choice([-1.25, 1e300, float("-inf")])),
    ("bytes", lambda rng: rng.randbytes(rng.randrange(9))),
    ({"type": "fixed", "name": "f4", "size": 4}, lambda rng: rng.randbytes(4)),
]
SPEC = Spec(0, [(1000 + n, f"p{n}", n, "identity", each) for n, (each, _) in enumerate(PARTITIONS)])


class Decoding:
    """Decodes manifests in both ways."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self.in_lanes = 0
        decode = avro.decode_lanes

        def counted(*arguments: Any) -> Any:
            decoded = decode(*arguments)
            self.in_lanes += 1
            return decoded

        patch.setattr(avro, "decode_lanes", counted)

    def same(self, data: bytes) -> Manifest | None:
        """Return the manifest of both ways; None if both fail."""
        found = [self._decoded(data, many) for many in (1, 10**9)]
        assert (found[0] is None) == (found[1] is None)
        if found[0] is not None and found[1] is not None:
            check_equal(found[0], found[1])
        return found[0]

    def _decoded(self, data: bytes, many: int) -> Manifest | None:
        self._patch.setattr(avro, "_MANY", many)
        try:
            return decode_manifest(data, "m.avro")
        except SnapshotUnreadable:
            return None


@pytest.fixture
def decoding(monkeypatch: pytest.MonkeyPatch) -> Decoding:
    return Decoding(monkeypatch)


def check_equal(one: Manifest, other: Manifest) -> None:
    assert one.files.schema.equals(other.files.schema)
    for name in one.files.column_names:  # a float may be NaN
        found, expected = (repr(each.files.column(name).to_pylist()) for each in (one, other))
        assert found == expected, name
    assert one.metrics.keys() == other.metrics.keys()
    for kind, metrics in one.metrics.items():
        others = other.metrics[kind]
        for part in ("ids", "starts", "row_starts", "rows"):
            assert np.array_equal(getattr(metrics, part), getattr(others, part)), (kind, part)
        assert metrics.values.equals(others.values), kind


def manifest(files: Sequence[File], version: int = 2, spec: Spec = SPEC, **options: Any) -> bytes:
    return avro_file(entry_schema(spec, version), [entry(each, spec) for each in files], **options)


def random_file(rng: random.Random, number: int, is_regular: bool) -> File:
    def counts() -> Mapping[int, int] | None:
        if not is_regular and rng.random() < 0.1:
            return None
        ids = range(1, 6) if is_regular else rng.sample(range(1, 70_000, 997), rng.randrange(8))
        return {each: rng.choice([0, 1, 63, 64, 10**6, 2**62, -1]) for each in ids}

    def bounds() -> Mapping[int, bytes] | None:
        found = counts()
        if found is None:
            return None
        return {each: rng.randbytes(length(each)) for each in found}

    def length(field_id: int) -> int:
        return 8 if is_regular and field_id in (2, 5) else rng.choice([0, 4, 8, 90])

    directory = rng.choice(["", "p=1/", "p=2/deeper/", "x" * 100 + "/"])
    return File(
        f"s3://bucket/warehouse/t/data/{directory}{number}-é.parquet",
        rng.choice([1, 63, 64, 10**9]),
        counts(),
        counts(),
        counts(),
        bounds(),
        bounds(),
        [None if rng.random() < 0.2 else value(rng) for _, value in PARTITIONS],
        rng.choice([0, 1, 1, 1] if is_regular else [0, 1, 1, 2]),
        rng.choice([None, 1, 70, 10_000]),
        size=rng.randrange(1, 10**12),
        referenced=rng.choice([None, None, "elsewhere"]),
        key_metadata=rng.choice([None, None, b"key"]),
    )


@pytest.mark.parametrize("codec", ["null", "deflate", "zstandard"])
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("is_regular", [True, False])
def test_random_manifests(decoding: Decoding, codec: str, version: int, is_regular: bool) -> None:
    rng = random.Random(f"{codec} {version} {is_regular}")
    for _ in range(4):
        count = rng.choice([1, 2, 40, 300])
        files = [random_file(rng, n, is_regular) for n in range(count)]
        data = manifest(files, version, codec=codec, records_per_block=rng.choice([1, 7, 100]))
        found = decoding.same(data)
        assert found is not None
        assert len(found) == sum(each.status != 2 for each in files)
    assert decoding.in_lanes == 4


def test_values_without_a_partition(decoding: Decoding) -> None:
    files = [File(f"/t/data/{n}.parquet", values={1: n}, lower={1: long(n)}) for n in range(50)]
    assert decoding.same(manifest(files, spec=Spec()))
    assert decoding.in_lanes == 1


def test_other_manifests_are_left_to_polars(decoding: Decoding) -> None:
    files = [File(f"/t/data/{n}.parquet", lower={1: b"x"}, partition=[1]) for n in range(20)]
    spec = Spec(0, [(1000, "p", 1, "identity", "int")])
    named = replace(files[3], lower={1: b"in /t/data/, too"})
    decimal = {"type": "fixed", "name": "d", "size": 2, "logicalType": "decimal", "precision": 3}
    cases = {
        "a bound contains the directory": manifest([*files[:3], named, *files[4:]], spec=spec),
        "no directory": manifest([replace(each, location="name") for each in files], spec=spec),
        "other tables": manifest([*files, replace(files[0], location="s3:/u/x")], spec=spec),
        "decimals": manifest(
            [replace(each, partition=[b"\0\1"]) for each in files],
            spec=Spec(0, [(1000, "p", 1, "identity", {**decimal, "scale": 1})]),
        ),
    }
    for case, data in cases.items():
        assert decoding.same(data) is not None, case
        assert decoding.in_lanes == 0, case


def test_a_wrong_guess_is_found(decoding: Decoding) -> None:
    """As many directories as records, but not one in each record."""
    files = [File(f"/t/data/{n}.parquet", lower={1: b"x"}) for n in range(20)]
    files[5] = replace(files[5], lower={1: b"/t/data/"})
    files[6] = replace(files[6], location="/u/elsewhere.parquet")
    assert decoding.same(manifest(files, spec=Spec())) is not None
    assert decoding.in_lanes == 0


@pytest.mark.parametrize("keys", [(1, 2), (2, 1), (1, 1), (7,), ()])
def test_files_with_the_same_keys(decoding: Decoding, keys: tuple[int, ...]) -> None:
    for lengths in ([8], [0], [8, 3], [300, 8, 0]):
        files = [
            File(
                f"/t/data/{n}.parquet",
                nulls=[(key, n + key) for key in keys],
                lower=[(key, bytes([n]) * lengths[n % len(lengths)]) for key in keys],
            )
            for n in range(9)
        ]
        assert decoding.same(manifest(files, spec=Spec())) is not None
    assert decoding.in_lanes == 4


@pytest.mark.parametrize("statuses", [(0, 1, 2), (2,), (1, 0)])
@pytest.mark.parametrize("has_bounds", [(True,), (True, True, False)])
def test_deleted_files_with_the_same_keys(
    decoding: Decoding, statuses: tuple[int, ...], has_bounds: tuple[bool, ...]
) -> None:
    files = [
        File(
            f"/t/data/{n}.parquet",
            values={1: n, 5: 2 * n},
            lower={1: long(n), 2: b"x" * n} if has_bounds[n % len(has_bounds)] else None,
            status=statuses[n % len(statuses)],
        )
        for n in range(20)
    ]
    assert decoding.same(manifest(files, spec=Spec())) is not None
    assert decoding.in_lanes == 1


def test_keys_that_are_there_twice_are_not_known(decoding: Decoding) -> None:
    files = [File(f"/t/data/{n}.parquet", nulls=[(1, 0), (2, 1), (1, 5)]) for n in range(9)]
    found = decoding.same(manifest(files, spec=Spec()))
    assert found is not None
    assert decoding.in_lanes == 1
    assert [metrics.ids.tolist() for metrics in found.metrics.values() if len(metrics.ids)] == [[2]]


def test_damaged_bytes(decoding: Decoding) -> None:
    """Each damage gives what polars reads, or an error in both ways."""
    rng = random.Random(0)
    files = [random_file(rng, n, is_regular=n % 2 == 0) for n in range(5)]
    data = manifest(files, codec="null", records_per_block=3)
    for _ in range(250):
        place, value = rng.randrange(len(data) // 2, len(data)), rng.randrange(256)
        decoding.same(data[:place] + bytes([value]) + data[place + 1 :])
    assert decoding.in_lanes > 50


def test_lengths_that_overlap_or_are_too_great_are_refused() -> None:
    schema = {
        "type": "record",
        "fields": [
            {
                "name": "inner",
                "type": {
                    "type": "record",
                    "fields": [{"name": "key", "type": "string"}, {"name": "b", "type": "bytes"}],
                },
            }
        ],
    }
    for tail in (b"\x01", b"\x14abc", b"\xff" * 9 + b"\x02", b"\xff" * 12):
        data = b"\x06/ab" + b"\x00" + b"\x06/ac" + tail
        with pytest.raises(NotInLanes):
            avro.decode_lanes(data, 2, schema, "inner", "key", ())
    table, _ = avro.decode_lanes(b"\x06/ab\x00\x06/ac\x02z", 2, schema, "inner", "key", ())
    assert table.to_pylist() == [
        {"inner": {"key": "/ab", "b": b""}},
        {"inner": {"key": "/ac", "b": b"z"}},
    ]


def test_manifests_of_few_files_are_left_to_polars(
    decoding: Decoding, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = 1000
    monkeypatch.setattr(avro, "_MANY", many)
    for count, in_lanes in ((many - 1, 0), (many, 1)):
        files = [File(f"/t/data/{n}.parquet") for n in range(count)]
        assert len(decode_manifest(manifest(files, spec=Spec()), "m.avro")) == count
        assert decoding.in_lanes == in_lanes
