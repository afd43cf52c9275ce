"""A server that speaks as much of S3 as reading an object needs."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


@dataclass
class Bucket:
    """The files of a directory as objects. `keys` are the access keys of the requests."""

    root: Path
    endpoint: str = ""
    pause: float = 0  # seconds that every answer takes
    requests: list[str] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)

    @property
    def settings(self) -> dict[str, str]:
        """The Hadoop settings with which the bucket is read."""
        return {
            "fs.s3a.endpoint": self.endpoint,
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.access.key": "the-access-key",
            "fs.s3a.secret.key": "the-secret-key",
        }


@contextmanager
def serving_bucket(root: Path) -> Iterator[Bucket]:
    """Serve the files of a directory as the objects of the bucket `lake`."""
    bucket = Bucket(root)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = unquote(self.path.partition("?")[0]).removeprefix("/lake/")
            bucket.requests.append(f"{self.command} {path}")
            credential = re.search(r"Credential=([^/]+)/", self.headers["Authorization"] or "")
            bucket.keys.add(credential[1] if credential else "")
            time.sleep(bucket.pause)
            file = bucket.root / path
            content = file.read_bytes() if file.is_file() else b""
            size, status = len(content), 200 if file.is_file() else 404
            wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"] or "")
            self.send_response(206 if wanted and status == 200 else status)
            if wanted:
                content = content[int(wanted[1]) : int(wanted[2]) + 1]
                self.send_header("Content-Range", f"bytes {wanted[1]}-{wanted[2]}/{size}")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Last-Modified", "Wed, 01 Jan 2025 00:00:00 GMT")
            self.send_header("ETag", '"1"')
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    bucket.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield bucket
    finally:
        server.shutdown()
        server.server_close()
