"""Requests to the planner with the snapshot and the fields that the shim would send."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from tamis.indexing.build.listing import export_listing, index_location, shim_of
from tamis.indexing.read.snapshot import open_snapshot
from tamis.serve.planning import plan
from tamis.wire.file_sets import Kept
from tamis.wire.kept import decode_kept

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EPOCHS = count(1_000_000)


@dataclass(frozen=True)
class PlannerAnswer:
    """Answer of the planner.

    `kept` has file names, `reasons` the codes of conjuncts that are not exact.
    """

    files: int
    kept: list[str]
    kept_records: int | None
    pushdowns: list[str]
    reasons: list[str]
    warnings: list[tuple[str, str]]

    @property
    def kept_files(self) -> int:
        return len(self.kept)

    @property
    def is_exact(self) -> bool:
        return all(each == "exact" for each in self.pushdowns)


def ask_planner(
    spark: SparkSession, frame: DataFrame, condition: str, **more: Any
) -> PlannerAnswer:
    """Ask the planner which files of a relation a filter needs."""
    shim = shim_of(spark)
    assert shim is not None
    with tempfile.TemporaryDirectory() as directory:
        export = export_listing(spark, "asked", directory, frame)
        schema = json.loads(export["schema"])
        partitions = json.loads(export["partition_schema"])
        all_fields = json.dumps(
            {"type": "struct", "fields": [*schema["fields"], *partitions["fields"]]}
        )
        document = json.loads(shim.parse(spark._jsparkSession, condition, all_fields))
        documents = document["a"] if document.get("f") == "And" else [document]
        request = {
            "version": 1,
            "id": "asked",
            "snapshot": {
                "fingerprint": export["fingerprint"],
                "directory": directory,
                "files": export["files"],
            },
            "table": {
                "name": "asked",
                "roots": export["roots"],
                "partition_columns": [
                    {"name": field["name"], "type": field["type"]} for field in partitions["fields"]
                ],
                "case_sensitive": export["case_sensitive"],
            },
            "index": {"location": index_location(spark), "epoch": next(_EPOCHS)},
            "conjuncts": documents,
            "row_groups": True,
            "reading": export.get("reading"),
            **more,
        }
        answer = json.loads(plan(json.dumps(request)))
        assert "error" not in answer, answer
        flags = decode_kept(_kept(answer["kept"]), export["files"])
        uris = open_snapshot(directory, export["fingerprint"]).files.uris()
    return PlannerAnswer(
        export["files"],
        [uri.rpartition("/")[2] for uri, is_kept in zip(uris, flags, strict=True) if is_kept],
        answer["kept_records"],
        [each["pushdown"] for each in answer["conjuncts"]],
        [each["reason"]["code"] for each in answer["conjuncts"] if each.get("reason")],
        [(each["code"], each["text"]) for each in answer["warnings"]],
    )


def _kept(document: dict[str, Any]) -> Any:
    import msgspec

    return msgspec.convert(document, Kept)
