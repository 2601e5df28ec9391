"""Results at a URL: a store in a staging directory of this machine, mirrored to what fsspec reaches.

SQLite can live neither on an object store nor safely on a network filesystem, so nobody opens it there.
"""

from bloatlab.store.remote.location import Place, is_url, local, place, shown
from bloatlab.store.remote.mirror import Mirror

__all__ = ["Mirror", "Place", "is_url", "local", "place", "shown"]
