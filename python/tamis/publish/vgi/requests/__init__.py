"""From a request to its answer, independent of the transport."""
