"""Contracts of user-defined functions: refuting them, and bringing them to the sidecar."""
