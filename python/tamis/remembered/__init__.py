"""Predicates that earlier scans have evaluated, and the files in which no row passes them.

- `identities`: names files by what their content depends on.
- `notes`: one set of conjuncts, with the files in which no row passes; its form on disk.
- `store`: the notes in the cache directory.
"""

from tamis.remembered.identities import identities_of, settled
from tamis.remembered.notes import Note
from tamis.remembered.store import Store, store_in

__all__ = ["Note", "Store", "identities_of", "settled", "store_in"]
