"""Errors of remote tables contain no credential of their locations."""

from __future__ import annotations

import traceback

import pyarrow as pa
import pyarrow.flight as flight
import pytest

from tamis.remote.airport.flight_task import FlightTask
from tamis.remote.airport.source import AirportSource
from tamis.remote.contract import ReadRequest, RemoteError
from tamis.remote.masking import masked, without_secrets
from tamis.remote.vgi.source import VgiSource
from tests.remote.airport_server import Served, serving

SECRET = "s3cr3t!pa+ss"

LOCATIONS = [
    ("grpc://user:{}@h:8815", "grpc://…@h:8815"),
    ("grpc://{}@h:8815", "grpc://…@h:8815"),
    ("http://u:{}@h/vgi", "http://…@h/vgi"),
    ("http://u:a@{}@h/vgi", "http://…@h/vgi"),
    ("http://h/vgi?token={}", "http://h/vgi?…"),
    ("http://h/vgi?v=1&{}", "http://h/vgi?…"),
    ("http://h/vgi?v=1@2&t={}", "http://…"),
    ("http://h/vgi#{}", "http://h/vgi#…"),
    ("http://u:a?{}@h/vgi", "http://…"),
    ("user:{}@h:8815", "…@h:8815"),
    ("worker --token={} --rows 3", "worker --token=… --rows 3"),
    ("worker --token {} --rows 3", "worker --token … --rows 3"),
    ("worker --db-password '{} b'", "worker --db-password …"),
    ("env API_KEY={} worker", "env API_KEY=… worker"),
    ("worker --url http://u:{}@h/", "worker --url http://…@h/"),
    ("curl -H 'Authorization: Bearer {}'", "curl -H 'Authorization: Bearer …'"),
]


@pytest.mark.parametrize(("location", "shown"), LOCATIONS)
def test_location_is_shown_without_credentials(location: str, shown: str) -> None:
    secret = "s3cr3t-token" if "Bearer" in location else SECRET
    assert masked(location.format(secret)) == shown


@pytest.mark.parametrize("text", [
    "grpc+tls://h:8815", "/usr/bin/worker --rows 3 -v", "s3://bucket/a@b c", "no token", "",
    "the column author has the type x", "lake:orders", "abc12:3",
])  # fmt: skip
def test_text_without_credentials_is_kept(text: str) -> None:
    assert masked(text) == text.replace("bucket/a@", "…@")


@pytest.mark.parametrize("location", [
    "grpc://user:{}@h", "grpc://{}@h", "http://h/?token={}", "http://h/?v=1&{}", "user:{}@h:8815",
    "worker --token={}", "worker --token {}", "env API_KEY='{}' worker",
])  # fmt: skip
def test_quoted_part_of_a_location_is_masked(location: str) -> None:
    for text in (f"cannot resolve ({SECRET}), {SECRET}:1", location.format(SECRET)):
        assert SECRET not in without_secrets(text, location.format(SECRET))


def test_token_that_a_server_quotes_is_masked() -> None:
    assert without_secrets("no token abc-1", "grpc://h", "abc-1") == "no token …"


def shown_by(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error)


@pytest.mark.parametrize("uri", [
    f"grpc://user:{SECRET}@127.0.0.1:1", f"grpc://{SECRET}@127.0.0.1:1", f"user:{SECRET}@h:x",
    f"grpc://127.0.0.1:1?token={SECRET}", f"http://u:{SECRET}@127.0.0.1:1",
])  # fmt: skip
def test_errors_of_airport_hide_the_credentials(uri: str) -> None:
    options = {"uri": uri, "schema": "main", "table": "t"}
    source = AirportSource(options)
    with pytest.raises(RemoteError, match=r"list_schemas of the table main\.t failed") as error:
        source.schema()
    with pytest.raises(RemoteError, match="tabel is not one of") as refused:
        AirportSource(options | {"tabel": "t"})
    task = FlightTask(source.label, uri, [b""], [(b"authorization", f"Bearer {SECRET}".encode())])
    with pytest.raises(RuntimeError, match=r"the table main\.t .*: reading from .* failed") as read:
        list(task.batches())
    for text in (
        *map(shown_by, (error.value, refused.value, read.value)),
        source.label,
        repr(task),
    ):
        assert SECRET not in text
        assert "…" in text or text == repr(task)


def test_server_that_quotes_credentials_does_not_reveal_them() -> None:
    """The server repeats the token, and a URL with a password, in its errors."""
    problem = f"the token {SECRET} may not read http://u:hidden@h/"
    answers = {"endpoints": flight.FlightServerError(problem)}
    served = Served([pa.table({"n": [1]})])
    with serving({("main", "t"): served}, token=SECRET, answers=answers) as server:
        options = {"uri": server.uri, "schema": "main", "table": "t", "token": SECRET}
        with pytest.raises(RemoteError, match="the token … may not read http://…@h/") as error:
            AirportSource(options).tasks(ReadRequest(("n",)))
    assert SECRET not in shown_by(error.value)
    assert "hidden" not in shown_by(error.value)


def test_stream_that_quotes_credentials_does_not_reveal_them() -> None:
    served = Served([pa.table({"n": [1]})], problem=f"the token {SECRET} has expired")
    with serving({("main", "t"): served}, token=SECRET) as server:
        options = {"uri": server.uri, "schema": "main", "table": "t", "token": SECRET}
        (task,) = AirportSource(options).tasks(ReadRequest(("n",)))
        with pytest.raises(RuntimeError, match="the token … has expired") as error:
            list(task.batches())
    assert SECRET not in shown_by(error.value)


@pytest.mark.parametrize("uri", [
    f"/nowhere/worker --token={SECRET}", f"/nowhere/worker --password {SECRET}",
    f"http://u:{SECRET}@127.0.0.1:1/vgi", f"http://127.0.0.1:1/vgi?token={SECRET}",
])  # fmt: skip
def test_label_of_vgi_hides_the_credentials(uri: str) -> None:
    source = VgiSource({"uri": uri, "function": "f"})
    with pytest.raises(RemoteError, match=r"the VGI worker .*…") as error:
        source.schema()
    assert SECRET not in source.label
    assert SECRET not in str(error.value)
