"""The digest of the scanner's sources, which tells whether a library was compiled from them.

The hook that compiles the scanner runs this file by its path, before evalstream is installed.
"""

from __future__ import annotations

import hashlib
import os


def sources_digest(folder: str | os.PathLike[str]) -> str | None:
    """Return the digest of the C sources in a folder, None where there are none. Raises OSError."""
    digest = hashlib.sha256()
    names = sorted(name for name in os.listdir(folder) if name.endswith((".c", ".h")))
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            content = file.read()
        digest.update(b"%s %d\n" % (name.encode(), len(content)))
        digest.update(content)
    return digest.hexdigest() if names else None
