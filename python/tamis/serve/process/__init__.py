"""The process of the sidecar: its lifecycle, and the interface that the shim calls."""
