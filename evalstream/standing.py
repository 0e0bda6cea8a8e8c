"""Whether a file is still the one that was opened."""

from __future__ import annotations

import os


def change_of(path: str, before: os.stat_result) -> str | None:
    """Say what changed about a file since it was opened, None if nothing did."""
    try:
        now = os.stat(path)
    except OSError:
        return "it is gone"
    if (now.st_ino, now.st_dev) != (before.st_ino, before.st_dev):
        return "another file stands in its place"
    if now.st_size != before.st_size:
        return f"{before.st_size:,} bytes when it was opened, {now.st_size:,} at the end"
    if now.st_mtime_ns != before.st_mtime_ns:
        return "its modification time moved"
    return None
