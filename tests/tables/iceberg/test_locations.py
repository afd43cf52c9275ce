"""Locations as Hadoop's `new Path(location).toUri.toString` writes them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tamis.tables.iceberg import SnapshotUnreadable
from tamis.tables.iceberg.locations import hadoop_uri, hadoop_uris

#: Pairs of a location and its URI, as Hadoop 3.4 in Spark 4.1.3 writes them.
HADOOP = [
    ("file:///a/b", "file:///a/b"),
    ("file:/a/b", "file:/a/b"),
    ("/a b/c%20", "/a%20b/c%2520"),
    ('s3a://b/x y/#?[]{}|\\^`<>"', "s3a://b/x%20y/%23%3F%5B%5D%7B%7D%7C%5C%5E%60%3C%3E%22"),
    ("s3://b/a//c///d/", "s3://b/a/c/d"),
    ("/é\u00a0\u3000\u0085😀/x", "/é%C2%A0%E3%80%80%C2%85😀/x"),
    ("/a:b@&=+$,;!~*'()", "/a:b@&=+$,;!~*'()"),
    ("hdfs://h:8020/p", "hdfs://h:8020/p"),
    ("/a/", "/a"),
    ("s3://b_u.c/x", "s3://b_u.c/x"),
    ("abfss://c@acc.dfs.core.windows.net/p=1/x", "abfss://c@acc.dfs.core.windows.net/p=1/x"),
    ("file://localhost/a", "file://localhost/a"),
    ("S3://B/x", "S3://B/x"),
    ("/a\u0001\u007f", "/a%01%7F"),
    ("s3:///x", "s3:///x"),
    ("file:////a", "file:///a"),
    ("s3://b/%", "s3://b/%25"),
    ("/\u2028a\u200bb", "/%E2%80%A8a\u200bb"),
    ("/a/.hidden/x..y/...", "/a/.hidden/x..y/..."),
]


@pytest.mark.parametrize(("location", "uri"), HADOOP)
def test_locations_are_encoded_like_hadoop_does(location: str, uri: str) -> None:
    assert hadoop_uri(location) == uri
    assert hadoop_uris(pa.array([location])).to_pylist() == [uri]


def test_plain_locations_are_returned_as_they_are() -> None:
    plain = pa.array(["/a", "s3://b/c=1/d.parquet"])
    assert hadoop_uris(plain) is plain
    assert hadoop_uris(pa.array([], pa.string())).to_pylist() == []
    mixed = pa.array([location for location, _ in HADOOP])
    assert hadoop_uris(mixed).to_pylist() == [uri for _, uri in HADOOP]


@pytest.mark.parametrize(
    "location",
    ["a/b", "", "a:b", "/a/../b", "/a/./b", "s3://b c/x", "s3://b%20c/x", "s3://b", "//h/x", ":/x"],
)
def test_locations_that_hadoop_opens_elsewhere_are_refused(location: str) -> None:
    with pytest.raises(SnapshotUnreadable):
        hadoop_uri(location)
    with pytest.raises(SnapshotUnreadable):
        hadoop_uris(pa.array(["/a", location]))
