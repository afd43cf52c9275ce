"""URIs as Hadoop writes them, and Hadoop settings as pyarrow accepts them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest

from tamis.indexing import storage
from tamis.indexing.storage import StorageUnreachableError, open_file_system, split_uri
from tests.indexing.local import uri_of


@pytest.mark.parametrize(
    "name", ["a b", "c.d", "ünï", "x=1#%", "100%25", "a+b", "q?x", "a:b", "[1]", "日本", "%20"]
)
def test_files_with_special_characters_are_opened(tmp_path: Path, name: str) -> None:
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
def test_uri_is_split(uri: str, expected: tuple[str, str, str]) -> None:
    assert split_uri(uri) == expected


def test_error_names_an_unknown_scheme() -> None:
    with pytest.raises(StorageUnreachableError, match="pyarrow cannot reach dbfs://"):
        open_file_system("dbfs:/mnt/t", {})


class TestSettings:
    """The arguments with which pyarrow's file systems are created."""

    @pytest.fixture
    def arguments_used(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        recorded: dict[str, Any] = {}

        def remember(*arguments: Any, **options: Any) -> pafs.FileSystem:
            recorded.update(options, arguments=arguments)
            return pafs.LocalFileSystem()

        for name in ("S3FileSystem", "HadoopFileSystem", "GcsFileSystem", "AzureFileSystem"):
            monkeypatch.setattr(storage.pafs, name, remember, raising=False)
        return recorded

    def test_settings_of_s3a(self, arguments_used: dict[str, Any]) -> None:
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
        arguments_used.pop("arguments")
        assert arguments_used == {
            "access_key": "own",
            "secret_key": "s",
            "region": "eu-west-1",
            "scheme": "http",
            "endpoint_override": "127.0.0.1:5000",
            "force_virtual_addressing": False,
        }

    def test_settings_of_anonymous_s3a(self, arguments_used: dict[str, Any]) -> None:
        provider = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"
        open_file_system("s3a://b/t", {"fs.s3a.aws.credentials.provider": provider})
        assert arguments_used["anonymous"] is True

    def test_settings_of_hdfs(self, arguments_used: dict[str, Any]) -> None:
        _, path = open_file_system("hdfs://name:8020/t/x", {"fs.defaultFS": "hdfs://name:8020"})
        assert path == "/t/x"
        assert arguments_used["arguments"] == ("name", 8020)
        assert arguments_used["extra_conf"] == {"fs.defaultFS": "hdfs://name:8020"}

    def test_settings_of_hdfs_with_a_logical_name(self, arguments_used: dict[str, Any]) -> None:
        open_file_system("hdfs://nameservice/t", {})
        assert arguments_used["arguments"] == ("nameservice", 0)

    def test_settings_of_gs(self, arguments_used: dict[str, Any]) -> None:
        _, path = open_file_system("gs://b/t", {"fs.gs.auth.type": "UNAUTHENTICATED"})
        assert path == "b/t"
        assert arguments_used["anonymous"] is True

    def test_settings_of_abfss(self, arguments_used: dict[str, Any]) -> None:
        host = "account.dfs.core.windows.net"
        _, path = open_file_system(f"abfss://box@{host}/t", {f"fs.azure.account.key.{host}": "k"})
        assert path == "box/t"
        arguments_used.pop("arguments")
        assert arguments_used == {"account_name": "account", "account_key": "k"}
