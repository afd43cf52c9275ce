"""Opening a pyarrow file system for a URI as Spark writes it, with Hadoop settings.

This is the only module that maps `fs.*` settings of Hadoop to pyarrow. It imports nothing from this
package, because it also runs on executors, which may have only pyarrow.
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
    """pyarrow cannot open the file system of a URI. The message names the URI and the reason."""


def split_uri(uri: str) -> tuple[str, str, str]:
    """Return scheme, authority and decoded path of a URI from Hadoop's `Path.toUri.toString`.

    A `+` is a plus sign and `%20` is a space, because these are paths and not form data.

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
    """Return the file system of a URI, and the path of the URI inside it.

    Args:
        uri: The URI.
        settings: The Hadoop settings `fs.*` (`spark.hadoop.fs.*` in Spark, without the prefix).

    Raises:
        StorageUnreachableError: pyarrow cannot open the file system.

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
    except Exception as problem:  # pyarrow and the stores below it may raise anything
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
        """Return what `open_file_system` returns."""
        scheme, authority, path = split_uri(uri)
        if scheme not in _OPENERS:
            return open_file_system(uri, self._settings)
        with self._lock:
            if (scheme, authority) not in self._open:
                opened, _ = open_file_system(uri, self._settings)
                self._open[scheme, authority] = opened
            return self._open[scheme, authority], _path_inside(scheme, authority, path)


def _path_inside(scheme: str, authority: str, path: str) -> str:
    # pyarrow's object stores expect "bucket/key"; HDFS and local files expect the absolute path.
    if scheme in ("s3", "s3a", "s3n", "gs"):
        return authority + path
    if scheme in ("abfs", "abfss"):
        return authority.partition("@")[0] + path
    return path


def _local(authority: str, settings: Settings) -> pafs.FileSystem:
    return pafs.LocalFileSystem()


def _s3(bucket: str, settings: Settings) -> pafs.FileSystem:
    def setting(name: str) -> str | None:
        # S3A: a setting for the bucket takes precedence over the general one
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
        # With an endpoint, pyarrow uses path-style addressing, and S3A virtual hosts by default.
        # Path style is kept unless the setting is explicitly false.
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
    # The settings dfs.* come from the hdfs-site.xml that libhdfs reads.
    # An authority without a port is a logical (high-availability) name, for which the port is 0.
    return pafs.HadoopFileSystem(
        host or "default", int(port) if port else 0, extra_conf=dict(settings) or None
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


def is_object_store(file_system: pafs.FileSystem) -> bool:
    """Return whether a file system stores objects, which appear whole and need no directories."""
    return not isinstance(file_system, pafs.LocalFileSystem | pafs.HadoopFileSystem)


def make_directory(file_system: pafs.FileSystem, path: str) -> None:
    """Create a directory and those above it, where files need one.

    Raises:
        OSError: It cannot be created.
    """
    if not is_object_store(file_system):
        file_system.create_dir(path, recursive=True)


def replace_file(file_system: pafs.FileSystem, source: str, target: str) -> None:
    """Replace a file with another, in one step if the file system can.

    Raises:
        OSError: The file cannot be moved.
    """
    if isinstance(file_system, pafs.LocalFileSystem):
        os.replace(source, target)
        return
    try:
        file_system.move(source, target)
    except OSError:
        # HDFS does not rename over a file. Between the two steps no file exists, and queries in
        # that moment are not pruned.
        file_system.delete_file(target)
        file_system.move(source, target)


def write_whole(file_system: pafs.FileSystem, content: bytes, path: str) -> None:
    """Write a small file. Readers see either all of it or the previous content.

    Raises:
        OSError: The file cannot be written.
    """
    if is_object_store(file_system):
        with file_system.open_output_stream(path) as sink:
            sink.write(content)
        return
    folder, _, name = path.rpartition("/")
    draft = f"{folder}/.{name}.{secrets.token_hex(4)}"
    with file_system.open_output_stream(draft) as sink:
        sink.write(content)
    replace_file(file_system, draft, path)
