"""URIs as Hadoop writes them, and Hadoop settings as pyarrow takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest

from tamis.index import storage
from tamis.index.storage import StorageUnreachableError, open_file_system, split_uri
from tests.index.local import uri_of


@pytest.mark.parametrize(
    "name", ["a b", "c.d", "ünï", "x=1#%", "100%25", "a+b", "q?x", "a:b", "[1]", "日本", "%20"]
)
def test_files_of_odd_names_are_found(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"here")
    fs, inside = open_file_system(uri_of(path), {})
    assert inside == str(path)
    assert fs.get_file_info(inside).size == 4


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("file:///data/t", ("file", "", "/data/t")),
        ("hdfs://name:8020/data/t", ("hdfs", "name:8020", "/data/t")),
        ("/data/t", ("file", "", "/data/t")),
        (
            "abfss://box@account.dfs.core.windows.net/t",
            ("abfss", "box@account.dfs.core.windows.net", "/t"),
        ),
    ],
)
def test_parts_of_a_uri(uri: str, expected: tuple[str, str, str]) -> None:
    assert split_uri(uri) == expected


def test_an_unknown_scheme_is_an_error_that_names_it() -> None:
    with pytest.raises(StorageUnreachableError, match="pyarrow cannot reach dbfs://"):
        open_file_system("dbfs:/mnt/t", {})


class TestSettings:
    """What the file systems of pyarrow are made with."""

    @pytest.fixture
    def made(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        given: dict[str, Any] = {}

        def remember(*arguments: Any, **options: Any) -> pafs.FileSystem:
            given.update(options, arguments=arguments)
            return pafs.LocalFileSystem()

        for name in ("S3FileSystem", "HadoopFileSystem", "GcsFileSystem", "AzureFileSystem"):
            monkeypatch.setattr(storage.pafs, name, remember, raising=False)
        return given

    def test_s3a(self, made: dict[str, Any]) -> None:
        _, path = open_file_system(
            "s3a://bucket/t/a%20b",
            {
                "fs.s3a.access.key": "general",
                "fs.s3a.bucket.bucket.access.key": "own",
                "fs.s3a.secret.key": "s",
                "fs.s3a.endpoint": "http://127.0.0.1:5000/",
                "fs.s3a.endpoint.region": "eu-west-1",
                "fs.s3a.path.style.access": "true",
            },
        )
        assert path == "bucket/t/a b"
        made.pop("arguments")
        assert made == {
            "access_key": "own",
            "secret_key": "s",
            "region": "eu-west-1",
            "scheme": "http",
            "endpoint_override": "127.0.0.1:5000",
            "force_virtual_addressing": False,
        }

    def test_anonymous_s3a(self, made: dict[str, Any]) -> None:
        provider = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"
        open_file_system("s3a://b/t", {"fs.s3a.aws.credentials.provider": provider})
        assert made["anonymous"] is True

    def test_hdfs(self, made: dict[str, Any]) -> None:
        _, path = open_file_system("hdfs://name:8020/t/x", {"fs.defaultFS": "hdfs://name:8020"})
        assert path == "/t/x"
        assert made["arguments"] == ("name", 8020)

    def test_hdfs_with_a_logical_name(self, made: dict[str, Any]) -> None:
        open_file_system("hdfs://nameservice/t", {})
        assert made["arguments"] == ("nameservice", 0)

    def test_gs(self, made: dict[str, Any]) -> None:
        _, path = open_file_system("gs://b/t", {"fs.gs.auth.type": "UNAUTHENTICATED"})
        assert path == "b/t"
        assert made["anonymous"] is True

    def test_abfss(self, made: dict[str, Any]) -> None:
        host = "account.dfs.core.windows.net"
        _, path = open_file_system(f"abfss://box@{host}/t", {f"fs.azure.account.key.{host}": "k"})
        assert path == "box/t"
        made.pop("arguments")
        assert made == {"account_name": "account", "account_key": "k"}
