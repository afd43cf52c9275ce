"""Contracts of user-defined functions: refuting them and passing them to the sidecar."""
