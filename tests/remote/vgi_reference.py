"""The unmodified reference implementation of VGI, in a virtual environment of its own."""

from __future__ import annotations

import shlex
from pathlib import Path

from tests.remote.published import bin_of

PACKAGES = ("vgi-python==0.47.0", "vgi-rpc[http]==0.52.2", "duckdb==1.5.5", "numpy==2.4.6")
WORKER = Path(__file__).with_name("vgi_worker.py")


def reference_python() -> str:
    """Return the Python that has the reference implementation."""
    return str(bin_of("vgi-reference", (3, 13), PACKAGES) / "python")


def worker_command() -> str:
    """Return the command of a worker on standard input and output."""
    return shlex.join([reference_python(), str(WORKER), "--quiet"])
