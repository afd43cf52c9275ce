"""A statistics index built without Spark: this process lists the files and runs the job."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import datasketches
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tamis.evaluation.domain.edge_values import edge_of
from tamis.expr.types import DataType
from tamis.indexing.build.listing import TableListing
from tamis.indexing.build.rows.footer_gaps import fill
from tamis.indexing.build.rows.group_job_result import GroupJobResult
from tamis.indexing.build.table_reader import TableReader
from tamis.indexing.executor.columns_schema import Leaf, arrow_type
from tamis.indexing.executor.executor_job import files_table, harvest, row_groups_table
from tamis.indexing.format import blooms, distinct_sketches, value_lists
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.entry_statistics import Columns, RowStatistics
from tamis.indexing.format.hashing import hash_int, hash_long, hashes_of
from tamis.indexing.format.layout import POINTER, VISIBLE_FORMAT, VISIBLE_POINTER, seal, unseal
from tamis.indexing.format.specification import SpecificationFile
from tamis.indexing.format.store import Store
from tamis.indexing.handle import Index
from tamis.indexing.read.snapshot import open_snapshot

# Characters other than letters and digits that java.net.URI leaves unescaped in a path.
_UNQUOTED = "/-_.~!$&'()*+,;=:@"


def uri_of(path: Path) -> str:
    """Return the URI as Hadoop's Path.toUri.toString does: non-ASCII letters are not escaped."""
    text = str(path)
    return "file:" + "".join(c if ord(c) > 127 else quote(c, safe=_UNQUOTED) for c in text)


def spark_schema(**columns: Any) -> str:
    """Return Spark's JSON of a schema: name=type, or name={field: type} for a struct."""

    def struct(fields: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "type": "struct",
            "fields": [
                {
                    "name": name,
                    "type": struct(kind) if isinstance(kind, dict) else kind,
                    "nullable": True,
                    "metadata": {},
                }
                for name, kind in fields.items()
            ],
        }

    return json.dumps(struct(columns))


def write_snapshot(
    root: Path,
    directory: Path,
    partitions: Mapping[str, pa.Array] | None = None,
    order: Sequence[Path] | None = None,
) -> tuple[str, int]:
    """List the Parquet files below a root as the JVM does; return the fingerprint and file count.

    `partitions` has one value per directory, in the order of directory names.
    """
    files = list(order) if order is not None else sorted(root.rglob("*.parquet"))
    directories = sorted({file.parent for file in files})
    rows = [(directories.index(f.parent), f, f.stat()) for f in files]
    table = pa.table(
        {
            "group": pa.array([group for group, _, _ in rows], pa.int32()),
            "name": pa.array([uri_of(f).rpartition("/")[2] for _, f, _ in rows], pa.string()),
            "size": pa.array([status.st_size for _, _, status in rows], pa.int64()),
            "mtime": pa.array([status.st_mtime_ns // 10**6 for _, _, status in rows], pa.int64()),
        }
    )
    groups = pa.table(
        {
            "directory": pa.array([uri_of(d) for d in directories], pa.string()),
            **{f"partition.{name}": values for name, values in (partitions or {}).items()},
        }
    )
    fingerprint = hashlib.sha256(repr(table.to_pydict()).encode()).hexdigest()[:32]
    directory.mkdir(parents=True, exist_ok=True)
    for part, content in (("files", table), ("groups", groups)):
        path = directory / f"{fingerprint}.{part}.arrow"
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, content.schema) as writer:
            # Several batches, as the JVM writes them.
            writer.write_table(content, max_chunksize=3)
    return fingerprint, len(files)


def to_visible_layout(root: Path) -> Path:
    """Convert the index of a table to format 1, whose names are not hidden."""
    folder = root / "_tamis"
    pointer = unseal((folder / POINTER).read_bytes())
    (folder / POINTER).unlink()
    generation = pointer.generation.removeprefix("_")
    (folder / pointer.generation).rename(folder / generation)
    for path in (folder / generation).iterdir():
        path.rename(path.with_name(path.name.removeprefix("_")))
    visible = msgspec.structs.replace(pointer, format=VISIBLE_FORMAT, generation=generation)
    (folder / VISIBLE_POINTER).write_bytes(seal(visible))
    return folder / generation


class LocalIndex(Index):
    """`tamis.index(spark, root)` for a local directory, without Spark."""

    #: Of Spark.
    version = "4.1.3"

    def __init__(
        self,
        root: Path,
        schema: str,
        scratch: Path,
        location: str | None = None,
        case_sensitive: bool = False,
    ) -> None:
        super().__init__(None, str(root))  # type: ignore[arg-type]
        self.root, self.schema, self.scratch = root, schema, scratch
        self.location, self.case_sensitive = location, case_sensitive
        self.read: list[str] = []  # names of files whose footers were read, over all builds
        self.aggregated: list[str] = []  # names of files whose rows were read

    def _list(self) -> TableListing:
        fingerprint, _ = write_snapshot(self.root, self.scratch / "listing")
        return TableListing(
            uri_of(self.root),
            open_snapshot(str(self.scratch / "listing"), fingerprint),
            self.schema,
            spark_schema(),
            self.case_sensitive,
        )

    def store(self) -> Store:
        return Store.at(uri_of(self.root), self.location, {})

    def _store(self, listing: TableListing) -> Store:
        return self.store()

    def _specification(self, listing: TableListing | None = None) -> SpecificationFile:
        return SpecificationFile.at(uri_of(self.root), self.location, {})

    def _automatic_location(self, listing: TableListing) -> None:
        return None

    def _reader_of(self, listing: TableListing) -> TableReader:
        return LocalReader(self, self._target, listing)  # type: ignore[arg-type]


class LocalReader(TableReader):
    """Reads files in this process. The session is a LocalIndex, which notes what is read."""

    _spark: Any

    def read(self, ordinals: np.ndarray, leaves: Sequence[Leaf]) -> tuple[pa.Table, pa.Table]:
        keys = self.listing.snapshot.files
        uris = [keys.uris()[i] for i in ordinals]
        self._spark.read += [uri.rpartition("/")[2] for uri in uris]
        if not uris:
            return files_table([], [], leaves), row_groups_table([], [], leaves)
        batch = pa.record_batch(
            {
                "ordinal": pa.array(ordinals, pa.int64()),
                "uri": pa.array(uris),
                "size": pa.array([keys.size[i].as_py() for i in ordinals], pa.int64()),
            }
        )
        results = list(harvest([batch], leaves, self.listing.case_sensitive, {}))
        files, row_groups = (
            pa.concat_tables(
                pa.ipc.open_stream(r.column(name)[0].as_py()).read_all() for r in results
            )
            for name in ("files", "row_groups")
        )
        return files, row_groups

    def _parse(self, sql: str, schema: str) -> dict[str, Any]:
        """Parse the name of a column, and `twice(a)`."""
        for field in json.loads(schema)["fields"]:
            if field["name"] == sql:
                named = {"n": "col", "p": [sql], "t": field["type"]}
                return {"refusal": None, "type": field["type"], "document": named}
        column = {"n": "col", "p": ["a"], "t": "long"}
        call = {"n": "call", "f": "Twice", "t": "long", "a": [column], "k": "key of twice(a)"}
        return {"refusal": None, "type": "long", "document": call}

    def _fill_gaps(
        self,
        ordinals: np.ndarray,
        files: pa.Table,
        candidates: Sequence[Entry],
        known: Sequence[Entry],
    ) -> tuple[list[Entry], RowStatistics, dict[str, list[str]]]:
        """Fill the gaps of top-level columns."""

        def aggregate(places: np.ndarray, entries: Sequence[Entry]) -> RowStatistics:
            return self._aggregate(places, files, entries)

        shallow = [entry for entry in candidates if len(entry.path or ()) == 1]
        return *fill(shallow, files, ordinals, known, aggregate), {}

    def _aggregate(
        self, ordinals: np.ndarray, files: pa.Table, entries: Sequence[Entry]
    ) -> RowStatistics:
        """Compute what Spark would aggregate: top-level columns, read with pyarrow."""
        uris = self.listing.snapshot.files.uris()
        paths = [Path(unquote(uris[i].removeprefix("file:"))) for i in ordinals]
        self._spark.aggregated += [path.name for path in paths]
        return RowStatistics(tuple(_part(entry, paths) for entry in entries), (0.5,) * len(entries))


def _part(entry: Entry, paths: Sequence[Path]) -> Columns:
    if entry.is_aggregate:
        return groups_of(entry, paths)
    data_type = DataType.parse(entry.type)
    assert data_type is not None
    read = [_values(entry, path) for path in paths]
    distinct = [None if v is None else sorted({x for x in v if x is not None}) for v in read]
    if entry.kind == "bounds":
        kind = arrow_type(entry.leaf)
        return Columns(
            {
                "min": pa.array([min(v) if v else None for v in distinct], kind),
                "max": pa.array([max(v) if v else None for v in distinct], kind),
                "null_count": pa.array(
                    [None if v is None else v.count(None) for v in read], pa.int64()
                ),
            }
        )
    if entry.kind == "ndv":
        return Columns(sketches=sketches_of(entry, read))
    if entry.kind == "values":
        lists = [None if v is None else [str(x).encode() for x in v] for v in distinct]
        return Columns(lists=value_lists.listed(lists, data_type))
    return Columns(filters=blooms.joined([_filter(v, data_type) for v in distinct]))


def groups_of(entry: Entry, paths: Sequence[Path]) -> Columns:
    """Return the aggregates of groups that Spark would compute: of top-level columns."""
    result = GroupJobResult(entry, len(paths))
    names = [path[0] for path, _ in entry.by or ()]
    found: list[dict[str, Any]] = []
    places = []
    for place, file in enumerate(paths):
        rows = pq.read_table(file).to_pylist()
        groups: dict[tuple[Any, ...], list[Any]] = {}
        for row in rows:
            value = 1 if entry.path is None else row[entry.path[0]]
            groups.setdefault(tuple(row[name] for name in names), []).append(value)
        ordered = sorted(groups.items(), key=lambda each: [(v is not None, v) for v in each[0]])
        for key, values in ordered:
            known = [value for value in values if value is not None]
            cells = {f"by{i}": value for i, value in enumerate(key)}
            cells |= {"n": len(values), "count0": len(known), "old0": False}
            if entry.kind == "sum":
                cells["positive0"] = sum(value for value in known if value > 0)
                cells["negative0"] = sum(value for value in known if value < 0)
            elif entry.kind != "count":
                cells["value0"] = (min if entry.kind == "min" else max)(known, default=None)
            found.append(cells)
            places.append(place)
    kinds = [arrow_type(Leaf(path, kind)) for path, kind in entry.by or ()]
    schema = {f"by{i}": kind for i, kind in enumerate(kinds)}
    schema |= {"n": pa.int64(), "count0": pa.int64(), "old0": pa.bool_()}
    data_type = DataType.parse(entry.type)
    wide = pa.decimal128(38, (data_type and data_type.scale) or 0)
    schema |= {"positive0": wide, "negative0": wide, "value0": arrow_type(entry.leaf)}
    listed = [{name: cells.get(name) for name in schema} for cells in found]
    table = pa.Table.from_pylist(listed, pa.schema(schema))
    result.add(0, table, np.array(places, np.int64))
    empty = [place for place in range(len(paths)) if place not in places]
    return result.finished(empty)


def sketches_of(entry: Entry, files: Sequence[list[Any] | None]) -> distinct_sketches.Sketches:
    """Return the sketches that Spark would compute from the values of files."""
    data_type = DataType.parse(entry.type)
    assert data_type is not None

    def hashed(values: list[Any]) -> set[int]:
        known = [each for each in values if each is not None]
        numbers = [each for each in known if each == each]
        if data_type.name.startswith(("date", "timestamp")):
            numbers = pa.array(numbers, arrow_type(entry.leaf)).cast(
                pa.int32() if data_type.name == "date" else pa.int64()
            ).to_pylist()  # fmt: skip
        hashes = set(hashes_of(edge_of(numbers, data_type), data_type)) if numbers else set()
        if len(numbers) < len(known):
            is_float = data_type.name == "float"
            hashes.add(hash_int(0x7FC00000) if is_float else hash_long(0x7FF8 << 48))
        return hashes

    sketches = [None if values is None else sketch_of(hashed(values)) for values in files]
    if not data_type.is_text:
        return distinct_sketches.joined(sketches)
    lengths = [None if v is None else [len(x) for x in v if x is not None] for v in files]
    return distinct_sketches.joined(
        sketches,
        np.array([-1 if each is None else sum(each) for each in lengths], np.int64),
        np.array([-1 if each is None else max(each, default=-1) for each in lengths], np.int64),
    )


def sketch_of(hashes: Collection[int]) -> bytes:
    """Return a sketch of hashes, which are unsigned numbers of 64 bits."""
    sketch = datasketches.hll_sketch(11, datasketches.HLL_8)
    for each in hashes:
        sketch.update(each - (1 << 64) if each >= 1 << 63 else each)
    return distinct_sketches.compact(sketch.serialize_updatable())


def _values(entry: Entry, path: Path) -> list[Any] | None:
    try:
        table = pq.ParquetFile(path).read()
    except pa.ArrowException:
        return None
    if entry.path is None:
        return [None if v is None else 2 * v for v in table.column("a").to_pylist()]
    name = entry.path[0]
    return table.column(name).to_pylist() if name in table.column_names else [None] * len(table)


def _filter(distinct: list[Any] | None, data_type: DataType) -> Any:
    if distinct is None:
        return None
    words = np.zeros((64, 4), np.uint64)
    for hashed in hashes_of(edge_of(distinct, data_type), data_type):
        words[(hashed >> 40) & 63] |= blooms._bits(hashed)
    return blooms.folded(words) if distinct else words[:0]
