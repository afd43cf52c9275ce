"""The lifecycle of the sidecar process: handshake, serving, and exit with its parent.

1. The shim writes one line to standard input: `{"token": …, "wire": …}`. The token never appears in
   the arguments or the environment, where other users could read it.
2. The sidecar serves on a free port of the loopback interface and answers `READY {"port": …, …}` on
   standard output. It does so before it imports numpy and pyarrow, which takes longer than all
   other steps.
3. Standard input stays open. Its end means that the driver has exited, in whatever way. The sidecar
   then writes the scans that are still to be recorded, and exits.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from typing import NoReturn

from tamis._version import __version__
from tamis.serve.history.recorder import Recorder
from tamis.serve.process.import_blocker import block_imports
from tamis.serve.process.memory_trimmer import Idle

_LOOPBACK = "127.0.0.1"
#: Seconds that the sidecar may outlive the driver to record scans.
_LAST_WORDS = 1.5


def main() -> NoReturn:
    """Serve until standard input ends."""
    # From here on, anything that a library prints goes to standard error, not into the handshake.
    handshake = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    block_imports("pandas")
    greeting = sys.stdin.buffer.readline()
    if not greeting:
        os._exit(0)
    recorder = Recorder()
    port = _serve(json.loads(greeting)["token"], recorder)
    handshake.write(f"READY {json.dumps(_ready(port))}\n")
    handshake.close()
    threading.Thread(target=_import_what_planning_needs, daemon=True).start()
    while sys.stdin.buffer.read(4096):
        pass
    recorder.end(_LAST_WORDS)
    os._exit(0)  # not sys.exit: a thread that hangs must not keep the process alive


def _serve(token: str, recorder: Recorder) -> int:
    from py4j.java_gateway import CallbackServerParameters, GatewayParameters, JavaGateway

    from tamis.serve.process.handler import Handler

    idle = Idle(_release_unused_memory)
    threading.Thread(target=idle.watch, daemon=True).start()
    gateway = JavaGateway(
        # eager_load False: the JVM does not listen, and the sidecar never calls it.
        gateway_parameters=GatewayParameters(port=1, eager_load=False, auth_token=token),
        callback_server_parameters=CallbackServerParameters(
            address=_LOOPBACK,
            port=0,
            daemonize=True,
            daemonize_connections=True,
            auth_token=token,
            eager_load=True,
        ),
        python_server_entry_point=Handler(idle.note_question, recorder),
    )
    port: int = gateway.get_callback_server().get_listening_port()
    _wait_until_open(port)
    return port


def _wait_until_open(port: int) -> None:
    """Wait until py4j listens: it binds the port here, but listens in a separate thread."""
    while True:
        try:
            socket.create_connection((_LOOPBACK, port), timeout=1).close()
        except ConnectionRefusedError:
            time.sleep(0.001)
        else:
            return


def _ready(port: int) -> dict[str, object]:
    from tamis.wire.messages import VERSION

    return {"port": port, "wire": VERSION, "tamis": __version__, "pid": os.getpid()}


def _release_unused_memory() -> None:
    from tamis.indexing.read.memory import release_unused_memory  # imports pyarrow

    release_unused_memory()


def _import_what_planning_needs() -> None:
    from tamis.serve import planning

    planning.__name__  # noqa: B018 - only the import matters
