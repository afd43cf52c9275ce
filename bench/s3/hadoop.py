"""Hadoop's file system for `s3a:`, which PySpark does not contain."""

from __future__ import annotations

import re
from pathlib import Path

from bench.packages import downloaded

__all__ = ["jars"]

#: The AWS SDK with which each version of hadoop-aws was built.
_SDK = {"3.4.1": "2.24.6", "3.4.2": "2.29.52"}
#: The parts of the SDK that hadoop-aws uses. It depends on a bundle of all parts, with 600 MB.
_PARTS = ("s3", "s3-transfer-manager", "sts")
_EXCLUDED = (
    "software.amazon.awssdk:bundle",
    # Spark contains these
    "com.fasterxml.jackson.core:*",
    "commons-codec:*",
    "commons-logging:*",
    "io.netty:*",
    "org.apache.httpcomponents:*",
    "org.slf4j:*",
)


def jars() -> list[Path]:
    """Return the jars for the Hadoop of the installed PySpark, after downloading them once.

    Raises:
        RuntimeError: They cannot be downloaded.
    """
    version = _hadoop_version()
    sdk = _SDK.get(version, max(_SDK.values()))
    parts = [f"software.amazon.awssdk:{part}:{sdk}" for part in _PARTS]
    return downloaded("ivy-s3", [f"org.apache.hadoop:hadoop-aws:{version}", *parts], _EXCLUDED)


def _hadoop_version() -> str:
    import pyspark

    (api,) = Path(pyspark.__path__[0], "jars").glob("hadoop-client-api-*.jar")
    match = re.fullmatch(r"hadoop-client-api-(.+)\.jar", api.name)
    assert match is not None
    return match[1]
