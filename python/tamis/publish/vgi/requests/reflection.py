"""The protocols and methods of the worker. Some clients learn the methods from here."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from tamis._version import __version__
from tamis.publish.vgi.refusals import Refused
from tamis.remote.vgi.protocol import records
from tamis.remote.vgi.protocol.framing import APPLICATION, REFLECTION
from tamis.remote.vgi.protocol.methods import METHODS, NOTHING, Method

__all__ = ["VERSION", "describe", "list_protocols"]

#: The version of the protocol that this worker implements.
VERSION: Final = "2.2.0"

_NO_HASH: Final = "0" * 64


def list_protocols() -> bytes:
    return records.PROTOCOLS.pack(
        server_id="tamis",
        server_version=__version__,
        request_version="1",
        protocols=[_summary(APPLICATION, VERSION), _summary(REFLECTION, "")],
    )


def describe(protocol: str) -> bytes:
    """Return the methods of a protocol, by name.

    Raises:
        Refused: There is no such protocol, or it is reflection itself.
    """
    if protocol != APPLICATION:
        raise Refused(f"there is no description of {protocol[:60]!r}", "NOT_FOUND")
    methods = [_method(name, METHODS[name]) for name in sorted(METHODS)]
    return records.DESCRIPTION.pack(**_summary(APPLICATION, VERSION), methods=methods)


def _summary(protocol: str, version: str) -> dict[str, Any]:
    return {
        "protocol": protocol,
        "protocol_version": version,
        "protocol_hash": _NO_HASH,
        "deprecated": False,
        "deprecation_message": "",
        "features": [],
    }


def _method(name: str, method: Method) -> dict[str, Any]:
    has_result = method.result is not None and method.result != NOTHING
    return {
        "name": name,
        "method_type": "unary" if method.header is None else "stream",
        "has_return": has_result,
        "has_header": method.header is not None,
        "stream_kind": "" if method.header is None else "producer",
        "params_schema_ipc": _serialized(method.parameters),
        "result_schema_ipc": _serialized(method.result if has_result else None),
        "header_schema_ipc": _serialized(method.header),
        "idempotency": "unknown",
        "deprecated": False,
        "deprecation_message": "",
    }


def _serialized(schema: pa.Schema | None) -> bytes:
    body: bytes = b"" if schema is None else schema.serialize().to_pybytes()
    return body
