"""Starts a sidecar and sends it a request as the extension does, but without Spark."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import tamis
from tamis.doctor.finding import Finding, failed, ok
from tamis.wire.messages import VERSION

__all__ = ["round_trip"]

_SECONDS = 60.0


def round_trip(confs: Mapping[str, str]) -> Finding:
    """Start `python -m tamis.serve`, perform the handshake, and call `ping`."""
    configured = confs.get("spark.tamis.python")
    python = configured or sys.executable
    named = "spark.tamis.python is" if configured else "the sidecar runs in"
    fix = (
        f"{named} {python}: install tamis {tamis.__version__} there, or set spark.tamis.python to "
        "another interpreter"
    )
    root = str(Path(tamis.__file__).resolve().parents[1])
    paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            [python, "-m", "tamis.serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
        )
    except OSError as error:
        return failed("sidecar", f"{python} cannot be run ({error.strerror})", fix)
    timer = threading.Timer(_SECONDS, process.kill)
    timer.start()
    try:
        return _check_handshake(process, python, started, fix)
    except OSError as error:
        return failed("sidecar", f"the sidecar in {python} does not answer: {error}", fix)
    finally:
        timer.cancel()
        process.kill()
        process.communicate()


def _check_handshake(
    process: subprocess.Popen[bytes], python: str, started: float, fix: str
) -> Finding:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    token = secrets.token_hex(32)
    try:
        process.stdin.write(json.dumps({"token": token, "wire": VERSION}).encode() + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass  # it has already ended; its output is read below
    line = process.stdout.readline().decode("utf-8", "replace").strip()
    if not line.startswith("READY "):
        process.kill()
        lines = process.stderr.read().decode("utf-8", "replace").strip().splitlines()
        last = line or (lines[-1] if lines else "it printed nothing")
        if time.monotonic() - started >= _SECONDS:
            last = f"it was killed after {_SECONDS:.0f} s"
        return failed("sidecar", f"{python} -m tamis.serve is not ready: {last}", fix)
    ready = json.loads(line.removeprefix("READY "))
    if ready["wire"] != VERSION:
        text = (
            f"tamis {ready['tamis']} in {python} uses version {ready['wire']} of the wire "
            f"protocol, not {VERSION}"
        )
        return failed("sidecar", text, fix)
    start = 1000 * (time.monotonic() - started)
    sent = time.monotonic()
    answer = _ping(ready["port"], token)
    if answer != "pong":
        return failed("sidecar", f"the sidecar in {python} answers {answer!r} to ping", fix)
    trip = 1000 * (time.monotonic() - sent)
    text = f"ready in {start:.0f} ms, answers in {trip:.1f} ms, tamis {ready['tamis']} in {python}"
    return ok("sidecar", text)


def _ping(port: int, token: str) -> str:
    """Authenticate and call `ping` of the entry point in py4j's protocol; return the answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        lines = connection.makefile("r", encoding="utf-8")
        connection.sendall(f"A\n{token}\ne\n".encode())
        if not lines.readline().startswith("!y"):
            return "refused"
        connection.sendall(b"c\nt\nping\ne\n")
        return lines.readline().strip().removeprefix("!ys")
