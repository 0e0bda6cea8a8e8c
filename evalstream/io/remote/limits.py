"""How much is fetched at once, and how long a store may take over it."""

from typing import Final

from evalstream.model.block import MEBIBYTE

BLOCK_BYTES: Final = 8 * MEBIBYTE
WORKERS: Final = 4
"""How many blocks are fetched at once; one more is being handed on."""

PIECE_BYTES: Final = MEBIBYTE
"""The most that one `read` returns."""

TRIES: Final = 5
PAUSE_SECONDS: Final = 1.0
"""How long the first pause between two tries is, give or take half; each is twice the last."""

STALL_SECONDS: Final = 30.0
"""After how long without a byte a connection is given up."""

BLOCK_SECONDS: Final = 120.0
"""After how long a block is given up although its bytes trickle in, or nobody can see them."""
