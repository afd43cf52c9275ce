"""Recording of scans in the history, and reading it for the shim."""
