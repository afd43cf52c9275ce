"""Predicates that earlier scans have evaluated, and the files in which no or every row passes.

- `identities`: names files by what their content depends on.
- `notes`: one set of conjuncts, with the files in which no row, or every row, passes; its form on
  disk.
- `partial`, `values`: parts of a note.
- `bodies`: what a note says, compared with a listing.
- `store`: the notes in the cache directory.
"""

from tamis.remembered.identities import identities_of, settled
from tamis.remembered.notes import Note
from tamis.remembered.store import Store, store_in

__all__ = ["Note", "Store", "identities_of", "settled", "store_in"]
