"""Objects in stores, by URL: their bytes in order, out of blocks that threads fetch ahead."""

from evalstream.sources.remote.addresses import is_remote, shown
from evalstream.sources.remote.fetching import RemoteReader, exists, read_whole

__all__ = ["RemoteReader", "exists", "is_remote", "read_whole", "shown"]
