"""Objects in stores, by URL: their bytes in order, out of blocks that threads fetch ahead."""

from evalstream.sources.remote.addresses import is_remote, shown
from evalstream.sources.remote.fetching import RemoteReader, exists, read_whole
from evalstream.sources.remote.listing import Listed, as_prefix, listed, read_each

__all__ = [
    "Listed",
    "RemoteReader",
    "as_prefix",
    "exists",
    "is_remote",
    "listed",
    "read_each",
    "read_whole",
    "shown",
]
