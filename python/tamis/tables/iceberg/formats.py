"""The decoders of manifests, by the format version of the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from tamis.tables.iceberg import decoding
from tamis.tables.iceberg.errors import SnapshotUnreadable, UnreadableCode
from tamis.tables.iceberg.manifest import Manifest, ManifestFile
from tamis.wire.iceberg import FORMAT_VERSIONS, unknown_version

__all__ = ["ManifestDecoder", "decoder"]


class ManifestDecoder(Protocol):
    """Decodes the metadata files of one or more format versions."""

    def manifest_list(self, data: bytes, location: str) -> tuple[ManifestFile, ...]:
        """Return the entries of a manifest list. Raises SnapshotUnreadable."""
        ...

    def manifest(self, data: bytes, location: str) -> Manifest:
        """Return the live entries of a manifest. Raises SnapshotUnreadable."""
        ...


class _AvroDecoder:
    def manifest_list(self, data: bytes, location: str) -> tuple[ManifestFile, ...]:
        return decoding.decode_manifest_list(data, location)

    def manifest(self, data: bytes, location: str) -> Manifest:
        return decoding.decode_manifest(data, location)


_AVRO: Final = _AvroDecoder()
_DECODERS: Final[Mapping[int, ManifestDecoder]] = dict.fromkeys(FORMAT_VERSIONS, _AVRO)


def decoder(format_version: int) -> ManifestDecoder:
    """Return the decoder of a format version.

    Raises:
        SnapshotUnreadable: The version is not known.
    """
    if why := unknown_version(format_version):
        raise SnapshotUnreadable(UnreadableCode.FORMAT_VERSION, why)
    return _DECODERS[format_version]
