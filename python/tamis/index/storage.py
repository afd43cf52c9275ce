"""Where files are: from a URI as Spark writes it, and Hadoop settings, to a pyarrow file system.

The one place that knows how `fs.*` settings of Hadoop map to pyarrow. The module imports nothing
of this package, because it also runs on executors, which may have nothing but pyarrow.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

import pyarrow.fs as pafs

Settings = Mapping[str, str]


class StorageUnreachableError(Exception):
    """No file system of pyarrow can be had for a URI. The text says which, and why."""


def split_uri(uri: str) -> tuple[str, str, str]:
    """Scheme, authority and decoded path of a URI as Hadoop's `Path.toUri.toString` writes it.

    A `+` is a plus sign and `%20` a space: these are paths, not forms.

    >>> split_uri("file:/data/a%20b/x=1%23%25.parquet")
    ('file', '', '/data/a b/x=1#%.parquet')
    >>> split_uri("s3a://bucket/t/a+b")
    ('s3a', 'bucket', '/t/a+b')
    """
    scheme, colon, rest = uri.partition(":")
    if not colon or "/" in scheme:
        return "file", "", unquote(uri)
    authority = ""
    if rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
    return scheme.lower(), authority, unquote(rest)


def open_file_system(uri: str, settings: Settings) -> tuple[pafs.FileSystem, str]:
    """The file system of a URI, and the path of the URI inside it.

    `settings`: the Hadoop settings `fs.*` (in Spark `spark.hadoop.fs.*`, prefix removed).
    Raises StorageUnreachableError.

    >>> fs, path = open_file_system("file:/tmp/a%20b", {})
    >>> fs.type_name, path
    ('local', '/tmp/a b')
    """
    scheme, authority, path = split_uri(uri)
    opener = _OPENERS.get(scheme)
    try:
        if opener is not None:
            return opener(authority, settings), _path_inside(scheme, authority, path)
        file_system, inside = pafs.FileSystem.from_uri(uri)
        return file_system, inside
    except Exception as problem:  # pyarrow and the stores below it raise of every kind
        raise StorageUnreachableError(
            f"pyarrow cannot reach {scheme}://{authority}: {type(problem).__name__}: {problem}"
        ) from problem


class FileSystems:
    """File systems by scheme and authority, each opened once. Thread-safe."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._open: dict[tuple[str, str], pafs.FileSystem] = {}
        self._lock = threading.Lock()

    def locate(self, uri: str) -> tuple[pafs.FileSystem, str]:
        """As `open_file_system`."""
        scheme, authority, path = split_uri(uri)
        if scheme not in _OPENERS:
            return open_file_system(uri, self._settings)
        with self._lock:
            if (scheme, authority) not in self._open:
                opened, _ = open_file_system(uri, self._settings)
                self._open[scheme, authority] = opened
            return self._open[scheme, authority], _path_inside(scheme, authority, path)


def _path_inside(scheme: str, authority: str, path: str) -> str:
    # Object stores of pyarrow take "bucket/key"; HDFS and local files take the absolute path.
    if scheme in ("s3", "s3a", "s3n", "gs"):
        return authority + path
    if scheme in ("abfs", "abfss"):
        return authority.partition("@")[0] + path
    return path


def _local(authority: str, settings: Settings) -> pafs.FileSystem:
    return pafs.LocalFileSystem()


def _s3(bucket: str, settings: Settings) -> pafs.FileSystem:
    def setting(name: str) -> str | None:
        # S3A: a setting of the bucket goes before the general one
        return settings.get(f"fs.s3a.bucket.{bucket}.{name}") or settings.get(f"fs.s3a.{name}")

    options: dict[str, Any] = {}
    options["access_key"] = setting("access.key")
    options["secret_key"] = setting("secret.key")
    options["session_token"] = setting("session.token")
    options["region"] = setting("endpoint.region")
    endpoint = setting("endpoint")
    if endpoint:
        scheme, separator, host = endpoint.partition("://")
        if separator:
            options["scheme"] = scheme
            endpoint = host
        elif setting("connection.ssl.enabled") == "false":
            options["scheme"] = "http"
        options["endpoint_override"] = endpoint.rstrip("/")
        # pyarrow addresses by path once an endpoint is given; S3A by host unless told
        virtual = setting("path.style.access") == "false"
        options["force_virtual_addressing"] = virtual
    if "Anonymous" in (setting("aws.credentials.provider") or ""):
        options["anonymous"] = True
    role = setting("assumed.role.arn")
    if role:
        options["role_arn"] = role
        options["session_name"] = setting("assumed.role.session.name") or "tamis"
    return pafs.S3FileSystem(**{k: v for k, v in options.items() if v is not None})


def _hdfs(authority: str, settings: Settings) -> pafs.FileSystem:
    host, _, port = authority.partition(":")
    extra = {key: value for key, value in settings.items() if key.startswith(("fs.", "dfs."))}
    # an authority without a port is a logical (high availability) name: port 0
    return pafs.HadoopFileSystem(
        host or "default", int(port) if port else 0, extra_conf=extra or None
    )


def _gcs(bucket: str, settings: Settings) -> pafs.FileSystem:
    options: dict[str, Any] = {}
    endpoint = settings.get("fs.gs.storage.root.url")
    if endpoint:
        scheme, separator, host = endpoint.partition("://")
        options["endpoint_override"] = host.rstrip("/") if separator else endpoint
        options["scheme"] = scheme if separator else "https"
    if settings.get("fs.gs.auth.type") == "UNAUTHENTICATED":
        options["anonymous"] = True
    if settings.get("fs.gs.project.id"):
        options["project_id"] = settings["fs.gs.project.id"]
    return pafs.GcsFileSystem(**options)


def _azure(authority: str, settings: Settings) -> pafs.FileSystem:
    host = authority.partition("@")[2] or authority
    account = host.partition(".")[0]

    def setting(name: str) -> str | None:
        return settings.get(f"{name}.{host}") or settings.get(name)

    options: dict[str, Any] = {"account_name": account}
    key = setting("fs.azure.account.key")
    token = setting("fs.azure.sas.fixed.token")
    secret = setting("fs.azure.account.oauth2.client.secret")
    if key:
        options["account_key"] = key
    elif token:
        options["sas_token"] = token
    elif secret:
        endpoint = setting("fs.azure.account.oauth2.client.endpoint") or ""
        options["client_id"] = setting("fs.azure.account.oauth2.client.id")
        options["client_secret"] = secret
        # https://login.microsoftonline.com/<tenant>/oauth2/token
        options["tenant_id"] = endpoint.partition("://")[2].split("/")[1]
    return pafs.AzureFileSystem(**options)


_OPENERS: dict[str, Callable[[str, Settings], pafs.FileSystem]] = {
    "file": _local,
    "s3": _s3,
    "s3a": _s3,
    "s3n": _s3,
    "hdfs": _hdfs,
    "gs": _gcs,
    "abfs": _azure,
    "abfss": _azure,
}


def replace_file(file_system: pafs.FileSystem, source: str, target: str) -> None:
    """Moves a file over another, in one step where the file system can. Raises OSError."""
    if isinstance(file_system, pafs.LocalFileSystem):
        os.replace(source, target)
        return
    try:
        file_system.move(source, target)
    except OSError:
        # HDFS does not rename over a file. Between the two steps there is none, which costs pruning
        # and nothing else.
        file_system.delete_file(target)
        file_system.move(source, target)


def write_whole(file_system: pafs.FileSystem, content: bytes, path: str) -> None:
    """Writes a small file so that readers find all of it or what was there before.

    Raises:
        OSError: the file system refuses.
    """
    if not isinstance(file_system, pafs.LocalFileSystem | pafs.HadoopFileSystem):
        # an object appears whole or not at all
        with file_system.open_output_stream(path) as sink:
            sink.write(content)
        return
    folder, _, name = path.rpartition("/")
    draft = f"{folder}/.{name}.{secrets.token_hex(4)}"
    with file_system.open_output_stream(draft) as sink:
        sink.write(content)
    replace_file(file_system, draft, path)
