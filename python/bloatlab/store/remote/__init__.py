"""Results at a URL: a store in a staging directory of this machine, mirrored to what fsspec reaches.

SQLite does not work on an object store, and is not safe on a network filesystem, so the database is never opened there.
"""

from bloatlab.store.remote.location import Place, is_url, local, place, shown
from bloatlab.store.remote.mirror import Mirror

__all__ = ["Mirror", "Place", "is_url", "local", "place", "shown"]
