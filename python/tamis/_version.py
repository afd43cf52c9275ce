"""The version of tamis. pyproject.toml and build.sbt read it from this file."""

__version__ = "0.1.0"
