"""The life of the sidecar process: handshake, serving, and death with its parent.

1. The shim writes one line to standard input: `{"token": …, "wire": …}`. The token never appears in
   the arguments or the environment, where other users could read it.
2. The sidecar serves on a free port of the loopback interface and answers `READY {"port": …, …}` on
   standard output: before it imports numpy and pyarrow, which take longer than all the rest.
3. Standard input stays open. Its end means that the driver is gone, however it went. What was to be
   recorded is written then, and the process ends.
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
from tamis.serve.idle import Idle
from tamis.serve.modules import without
from tamis.serve.recorder import Recorder

_LOOPBACK = "127.0.0.1"
#: How long the driver's end is outlived, in seconds, where scans are still to be recorded.
_LAST_WORDS = 1.5


def main() -> NoReturn:
    """Serve until standard input ends."""
    # From here on a print, of whatever library, goes to standard error: not into the handshake.
    handshake = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    without("pandas")
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
    os._exit(0)  # not sys.exit: a thread that hangs must not keep the process


def _serve(token: str, recorder: Recorder) -> int:
    from py4j.java_gateway import CallbackServerParameters, GatewayParameters, JavaGateway

    from tamis.serve.handler import Handler

    idle = Idle(_give_back)
    threading.Thread(target=idle.watch, daemon=True).start()
    gateway = JavaGateway(
        # eager_load False: nothing listens on the JVM's side, and nothing ever calls it.
        gateway_parameters=GatewayParameters(port=1, eager_load=False, auth_token=token),
        callback_server_parameters=CallbackServerParameters(
            address=_LOOPBACK,
            port=0,
            daemonize=True,
            daemonize_connections=True,
            auth_token=token,
            eager_load=True,
        ),
        python_server_entry_point=Handler(idle.asked, recorder),
    )
    port: int = gateway.get_callback_server().get_listening_port()
    _wait_until_open(port)
    return port


def _wait_until_open(port: int) -> None:
    """py4j binds the port here and listens in a thread of its own, perhaps a moment later."""
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


def _give_back() -> None:
    from tamis.index.memory import give_back  # imports pyarrow

    give_back()


def _import_what_planning_needs() -> None:
    from tamis.serve import planning

    planning.__name__  # noqa: B018 - importing it was the point
