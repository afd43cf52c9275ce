"""A bound call of a table function: its columns, and the requests of scans and splits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tamis.remote.vgi.catalog import Catalog, Function
from tamis.remote.vgi.client import Client
from tamis.remote.vgi.functions.arguments import Arguments, UnusableArguments, argument_bytes
from tamis.remote.vgi.protocol.framing import schema_of
from tamis.remote.vgi.protocol.records import BOUND, INIT_REQUEST, PLAN_REQUEST
from tamis.remote.vgi.protocol.version_1 import bind_request

__all__ = ["Call", "bound_call", "chosen_function"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function that the worker has bound.

    `columns` are those of the whole result. Requests name columns by their position in it.
    """

    function: Function
    columns: pa.Schema
    request: bytes
    columns_body: bytes
    opaque: bytes | None

    def scan_request(self, **options: Any) -> bytes:
        """Return the record of a scan with these options."""
        return INIT_REQUEST.pack(
            bind_call=self.request,
            output_schema=self.columns_body,
            bind_opaque_data=self.opaque,
            **options,
        )

    def plan_request(self, **options: Any) -> bytes:
        """Return the record that requests splits with these options."""
        return PLAN_REQUEST.pack(
            bind_call=self.request,
            bind_opaque_data=self.opaque,
            filters_complete=True,
            **options,
        )


def chosen_function(
    client: Client, functions: list[Function], given: Arguments
) -> tuple[Function, bytes]:
    """Return the function that takes the arguments, and the arguments in its types.

    Raises:
        RemoteError: No function takes them.
    """
    problems = []
    for each in functions:
        try:
            return each, argument_bytes(given, each.arguments)
        except UnusableArguments as error:
            problems.append(error)
    raise client.error("reading the arguments", problems[0])


def bound_call(
    client: Client, catalog: Catalog, function: Function, path: list[str] | None, arguments: bytes
) -> Call:
    """Bind a call.

    Raises:
        RemoteError: The worker refuses the call, needs secrets, or its answer is malformed.
    """
    request = bind_request(
        client.version,
        function_name=function.name,
        arguments=arguments,
        function_type="TABLE",
        attach_opaque_data=catalog.key,
        schema_path=path,
    )

    def read(body: bytes) -> tuple[dict[str, Any], pa.Schema]:
        bound = BOUND.unpack(body)
        return bound, schema_of(bound["output_schema"], "the schema of the function")

    bound, columns = client.ask("bind", {"request": request}, read)
    if len(set(columns.names)) != len(columns.names):
        raise client.error("bind", "the function has several columns with the same name")
    secrets = bound["lookup_secret_types"]
    if secrets:
        raise client.error(
            "bind",
            f"the function needs secrets ({', '.join(map(str, secrets))}), and tamis has none",
            "Configure the worker so that it needs none",
        )
    return Call(function, columns, request, bound["output_schema"], bound["opaque_data"])
