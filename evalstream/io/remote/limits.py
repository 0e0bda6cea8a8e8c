"""Limits of remote reading: block sizes, parallel requests, timeouts and retries."""

from typing import Final

from evalstream.model.block import MEBIBYTE

BLOCK_BYTES: Final = 8 * MEBIBYTE
WORKERS: Final = 4
"""Number of blocks fetched in parallel; one more is being processed."""

PIECE_BYTES: Final = MEBIBYTE
"""Most bytes that one `read` returns."""

TRIES: Final = 5
PAUSE_SECONDS: Final = 1.0
"""First pause between two attempts, ± 50 %; each further pause is twice as long."""

STALL_SECONDS: Final = 30.0
"""Seconds without a byte after which a connection is closed."""

STALL_TRIES: Final = 3
"""Attempts at a server that does not answer in time; each one takes long."""

INFO_SECONDS: Final = 45.0
"""Seconds after which a request for the properties of an object is given up."""

NOTICE_SECONDS: Final = 5.0
"""Seconds without a block after which people are told; each further notice takes twice as long."""

BLOCK_SECONDS: Final = 120.0
"""Seconds after which a block is given up, even if bytes still arrive."""
