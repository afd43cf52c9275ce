"""A server of the S3 protocol in its own process, what was requested of it, and faults."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs

__all__ = ["BUCKET", "PYTHON", "SPARK", "Request", "Store", "serving"]

BUCKET = "lake"
#: Texts in the user agents of pyarrow and of Hadoop.
PYTHON = "aws-sdk-cpp"
SPARK = "aws-sdk-java"
_ROOT = Path(__file__).resolve().parents[2]
_LIMIT = 60.0  # seconds until the server is ready


@dataclass(frozen=True)
class Request:
    """A request that the server received.

    Attributes:
        method: The method of HTTP.
        path: Bucket and key, decoded.
        query: The query string.
        agent: The user agent.
        range: The requested bytes; empty: all.
    """

    method: str
    path: str
    query: str
    agent: str
    range: str

    @property
    def is_of_spark(self) -> bool:
        return SPARK in self.agent

    @property
    def kind(self) -> str:
        """The operation of S3."""
        is_list = self.method == "GET" and "list-type=" in self.query
        return "LIST" if is_list else self.method


@dataclass(frozen=True)
class Store:
    """A server with one bucket."""

    port: int

    @property
    def settings(self) -> dict[str, str]:
        """The Hadoop settings with which the bucket is read and written."""
        return {
            "fs.s3a.endpoint": f"http://127.0.0.1:{self.port}",
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.access.key": "the-access-key",
            "fs.s3a.secret.key": "the-secret-key",
        }

    @property
    def confs(self) -> dict[str, str]:
        """The same as confs of Spark."""
        return {f"spark.hadoop.{key}": value for key, value in self.settings.items()}

    def files(self) -> pafs.S3FileSystem:
        """Return the file system of the server."""
        return pafs.S3FileSystem(
            access_key="the-access-key",
            secret_key="the-secret-key",
            endpoint_override=f"127.0.0.1:{self.port}",
            scheme="http",
            region="us-east-1",
            allow_bucket_creation=True,
        )

    def requests(self) -> list[Request]:
        """Return the requests since the last call."""
        fields = Request.__dataclass_fields__
        return [
            Request(**{name: each[name] for name in fields}) for each in self._command("requests")
        ]

    def hanging(self) -> int:
        """Return how many of the requests since the last call of `requests` are not answered."""
        number: int = self._command("hanging")
        return number

    @contextmanager
    def failing(self, *faults: Mapping[str, Any]) -> Iterator[None]:
        """Answer requests with faults (see `bench.s3.server.Recorder`) inside of the context."""
        self._command("faults", faults)
        try:
            yield
        finally:
            self._command("faults", ())

    def _command(self, name: str, content: object = None) -> Any:
        url = f"http://127.0.0.1:{self.port}/-/{name}"
        request = urllib.request.Request(url, json.dumps(content).encode(), method="POST")
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)


@contextmanager
def serving() -> Iterator[Store]:
    """Start a server with the bucket `lake`, and stop it afterwards."""
    with tempfile.TemporaryDirectory(prefix="tamis-s3-") as folder:
        port = Path(folder, "port")
        command = [sys.executable, "-m", "bench.s3.server", str(port)]
        with Path(folder, "log").open("wb") as log:
            process = subprocess.Popen(command, cwd=_ROOT, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + _LIMIT
            while not port.exists():
                is_waiting = process.poll() is None and time.monotonic() < deadline
                if not is_waiting:
                    raise RuntimeError(Path(folder, "log").read_text())
                time.sleep(0.05)
            store = Store(int(port.read_text()))
            store.files().create_dir(BUCKET)
            yield store
        finally:
            process.terminate()
            process.wait()
