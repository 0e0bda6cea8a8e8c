"""The bytes of one document, local, remote or from standard input, up to a limit."""

from __future__ import annotations

import os
import stat
from contextlib import nullcontext

from evalstream.io.file_state import Watch
from evalstream.io.names import is_remote
from evalstream.io.readers import DescriptorReader
from evalstream.model.run import STDIN
from evalstream.model.signals import STOPPING
from evalstream.parsing.limits import MOST_JSON_BYTES, read_bounded, read_regular


def document_bytes(path: str, watch: Watch | None = None, *, most: int = MOST_JSON_BYTES) -> bytes:
    """Return the bytes of a document, from a local or remote file or standard input.

    The state of a local file is added to `watch`. Raises OSError, CannotCheck (also for more than
    `most` bytes), and Stopped.
    """
    if is_remote(path):
        from evalstream.io.remote import read_whole

        return read_whole(path, most)
    if path == STDIN:
        from evalstream.io.standard_input import stream_at

        return read_bounded(stream_at(path).reader(), most)
    # Opening a named pipe blocks until a writer opens it.
    with nullcontext() if os.path.isfile(path) else STOPPING.interruptible():
        descriptor = os.open(path, os.O_RDONLY)
    try:
        status = os.fstat(descriptor)
        if watch is not None:
            watch.add(path, status)
        if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
            return read_regular(descriptor, status, most)
        return read_bounded(DescriptorReader(descriptor), most)
    finally:
        os.close(descriptor)
