"""The specification of an index: what it should hold, kept outside of the table.

`df.write.mode("overwrite")` and INSERT OVERWRITE delete the directory of a table with the index
inside it. So the columns and expressions that the index was built with are also written to

    <spark.tamis.index.location>/_<digest of the root>.json     if that conf is set, else
    <data directory of the user>/indexes/_<digest of the root>.json

An index that can be read takes precedence, because another user may have built it. The file is used
if the index is missing or damaged. `Index.drop` removes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec
import platformdirs
import pyarrow.fs as pafs

from tamis.indexing.format.layout import digest_of
from tamis.indexing.format.recording_spec import RecordingSpec
from tamis.indexing.storage import make_directory, open_file_system, write_whole

__all__ = ["Specification", "SpecificationFile"]

FORMAT: Final = 1


class Specification(msgspec.Struct, frozen=True):
    """The arguments of a build.

    Attributes:
        format: The format number of this file.
        root: The root of the table.
        generation: The current generation when this was written.
        selected: The columns whose footer statistics are read; None: all.
        recorded: The row statistics to record.
    """

    format: int
    root: str
    generation: str
    selected: tuple[str, ...] | None
    recorded: RecordingSpec


@dataclass(frozen=True, slots=True)
class SpecificationFile:
    """The file of the specification of one root."""

    root: str
    file_system: pafs.FileSystem
    path: str

    @staticmethod
    def at(root: str, location: str | None, settings: Mapping[str, str]) -> SpecificationFile:
        """Return the file of a root. Root and location are URL-encoded URIs.

        Raises:
            StorageUnreachableError: pyarrow cannot reach the location.
        """
        root = root.rstrip("/")
        name = f"_{digest_of(root)}.json"
        if location is None:
            return SpecificationFile(root, pafs.LocalFileSystem(), str(_directory() / name))
        opened, folder = open_file_system(location.rstrip("/"), settings)
        return SpecificationFile(root, opened, f"{folder}/{name}")

    @staticmethod
    def all(location: str | None) -> list[tuple[Specification, datetime]]:
        """Return every specification and the time when it was written, ordered by root.

        Files that cannot be read are left out.

        Args:
            location: The URI of a directory, as in `spark.tamis.index.location`. None: the data
                directory of the user.

        Raises:
            StorageUnreachableError: pyarrow cannot reach the location.
        """
        if location is None:
            opened: pafs.FileSystem = pafs.LocalFileSystem()
            folder = str(_directory())
        else:
            opened, folder = open_file_system(location.rstrip("/"), {})
        specifications = []
        for info in opened.get_file_info(pafs.FileSelector(folder, allow_not_found=True)):
            kept = SpecificationFile("", opened, info.path)._decoded()
            if kept is not None and info.base_name == f"_{digest_of(kept.root)}.json":
                specifications.append((kept, info.mtime))
        return sorted(specifications, key=lambda each: each[0].root)

    def exists(self) -> bool:
        """Return whether the file exists. Never raises."""
        try:
            info = self.file_system.get_file_info(self.path)
        except OSError:
            return False
        return bool(info.type == pafs.FileType.File)

    def read(self) -> Specification | None:
        """Return the specification; None if there is none that can be read."""
        decoded = self._decoded()
        # another root means that two digests are equal
        return decoded if decoded is not None and decoded.root == self.root else None

    def _decoded(self) -> Specification | None:
        try:
            with self.file_system.open_input_file(self.path) as file:
                specification = msgspec.json.decode(file.read(), type=Specification)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        return specification if specification.format <= FORMAT else None

    def write(self, specification: Specification) -> None:
        """Replace the specification in one step.

        Raises:
            OSError: The file cannot be written.
        """
        folder = self.path.rpartition("/")[0]
        make_directory(self.file_system, folder)
        write_whole(self.file_system, msgspec.json.encode(specification), self.path)

    def forget(self) -> None:
        """Remove the specification. Removing one that does not exist is not an error."""
        with suppress(FileNotFoundError):
            self.file_system.delete_file(self.path)


def _directory() -> Path:
    return Path(platformdirs.user_data_dir("tamis", appauthor=False)) / "indexes"
