"""The durable form of an index: layout, store, and each kind of recorded statistics."""
