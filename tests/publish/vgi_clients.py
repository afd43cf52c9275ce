"""What the published clients of VGI get from a worker. Runs in a virtual environment of its own.

    python vgi_clients.py LOCATION CORPUS < cases

LOCATION is the command of a worker or a URL, CORPUS the folder of the conformance corpus or `-`.
Prints one JSON object.
"""

import json
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import vgi_polars
from vgi.arguments import Arguments
from vgi.client import Client


def main() -> None:
    location, corpus = sys.argv[1:]
    is_http = location.startswith("http")
    with Client.from_http(location) if is_http else Client(location) as client:
        seen = {
            "catalogs": [each.name for each in client.catalogs()],
            "echo": rows(client, "filter_echo", [5], projection_ids=[1, 0]),
            "table": len(rows(client, "scan", ["t"], projection_ids=[0])),
            "files": rows(client, "files", ["t"], projection_ids=[3, 5]),
            "unknown": failure(client, "nope", []),
            "missing": failure(client, "scan", ["nope"]),
            "corpus": [] if corpus == "-" else conformance(client, Path(corpus)),
        }
    json.dump({**seen, "polars": polars(location)}, sys.stdout)


def rows(client, function, positional, **options):
    arguments = Arguments(positional=tuple(pa.scalar(each) for each in positional))
    batches = client.table_function(
        function_name=function, schema_path=["main"], arguments=arguments, **options
    )
    return [row for batch in batches for row in batch.to_pylist()]


def failure(client, function, positional):
    try:
        rows(client, function, positional)
    except Exception as error:
        return str(error)
    return None


def polars(location):
    catalog = vgi_polars.attach(location, name="tamis")
    table = catalog.table("main", "t")
    frames = [
        table.scan().filter(pl.col("n") >= 990).select("n", "s").sort("n").collect(),
        table.scan().filter(pl.col("s").str.starts_with("row_99")).select("n").sort("n").collect(),
        table.scan().filter(pl.col("n").is_in([3, 5])).select("n").sort("n").collect(),
        table.scan().filter(pl.col("part") == 1).select(pl.len()).collect(),
        table.scan().select(pl.len()).collect(),
    ]
    found = {
        "schemas": catalog.schemas(),
        "tables": catalog.tables("main"),
        "frames": [each.to_dicts() for each in frames],
    }
    catalog.detach()
    return found


def conformance(client, corpus):
    """Return the cases that a worker answers in another way than the corpus says."""
    manifest = json.loads((corpus / "runtime-manifest.json").read_text())
    differences = []
    for case in manifest["cases"]:
        if "worker" not in case:
            continue
        call = case["worker"]
        keys = [batch_of(corpus / each) for each in case.get("join_keys", [])]
        try:
            found = rows(
                client,
                call["function"],
                call["arguments"],
                projection_ids=call["projection_ids"],
                pushdown_filters=(corpus / case["filter"]).read_bytes(),
                join_keys=keys,
            )
        except Exception as error:
            found = str(error)
        if "error" in case:
            is_right = isinstance(found, str) and case["error"] in found
        else:
            is_right = found == batch_of(corpus / case["worker_expected"]).to_pylist()
        if not is_right:
            differences.append([case["id"], str(found)])
    return differences


def batch_of(path):
    with pa.ipc.open_stream(path.read_bytes()) as reader:
        return reader.read_next_batch()


if __name__ == "__main__":
    main()
