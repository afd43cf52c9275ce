"""What an index is to hold, kept where an overwrite of the table does not reach it.

`df.write.mode("overwrite")` and INSERT OVERWRITE delete the directory of a table with the index
inside it. The columns and expressions that the index was built with are therefore also written to

    <spark.tamis.index.location>/_<digest of the root>.json     where that conf is set, else
    <data directory of the user>/indexes/_<digest of the root>.json

An index that can be read states itself what it holds, and takes precedence: others may have built
it. The file counts where the index is missing or damaged. `Index.drop` removes it.
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

from tamis.index.asked import Asked
from tamis.index.layout import digest_of
from tamis.index.storage import open_file_system, write_whole

__all__ = ["Specification", "SpecificationFile"]

FORMAT: Final = 1


class Specification(msgspec.Struct, frozen=True):
    """The arguments of a build.

    generation: the one that was in force when this was written.  selected: the columns whose
    footers are read; None: all.  recorded: what Spark records of the rows.
    """

    format: int
    root: str
    generation: str
    selected: tuple[str, ...] | None
    recorded: Asked


@dataclass(frozen=True, slots=True)
class SpecificationFile:
    """The file that holds the specification of one root."""

    root: str
    file_system: pafs.FileSystem
    path: str

    @staticmethod
    def at(root: str, location: str | None, settings: Mapping[str, str]) -> SpecificationFile:
        """The file of a root, both as URL-encoded URIs.

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
        """Every specification that is kept, and when it was written, ordered by root.

        Files that cannot be read are left out.

        Args:
            location: A directory as a URI, as in `spark.tamis.index.location`. None: the data
                directory of the user.

        Raises:
            StorageUnreachableError: pyarrow cannot reach the location.
        """
        if location is None:
            opened: pafs.FileSystem = pafs.LocalFileSystem()
            folder = str(_directory())
        else:
            opened, folder = open_file_system(location.rstrip("/"), {})
        found = []
        for info in opened.get_file_info(pafs.FileSelector(folder, allow_not_found=True)):
            kept = SpecificationFile("", opened, info.path)._decoded()
            if kept is not None and info.base_name == f"_{digest_of(kept.root)}.json":
                found.append((kept, info.mtime))
        return sorted(found, key=lambda each: each[0].root)

    def exists(self) -> bool:
        """Whether a specification is kept. Never raises."""
        try:
            info = self.file_system.get_file_info(self.path)
        except OSError:
            return False
        return bool(info.type == pafs.FileType.File)

    def read(self) -> Specification | None:
        """The specification; None where there is none that can be read."""
        found = self._decoded()
        # another root: two digests are equal
        return found if found is not None and found.root == self.root else None

    def _decoded(self) -> Specification | None:
        try:
            with self.file_system.open_input_file(self.path) as file:
                found = msgspec.json.decode(file.read(), type=Specification)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        return found if found.format <= FORMAT else None

    def write(self, specification: Specification) -> None:
        """Replaces the specification in one step. Raises OSError."""
        folder = self.path.rpartition("/")[0]
        self.file_system.create_dir(folder, recursive=True)
        write_whole(self.file_system, msgspec.json.encode(specification), self.path)

    def forget(self) -> None:
        """Removes the specification. Removing one that does not exist is not an error."""
        with suppress(FileNotFoundError):
            self.file_system.delete_file(self.path)


def _directory() -> Path:
    return Path(platformdirs.user_data_dir("tamis", appauthor=False)) / "indexes"
