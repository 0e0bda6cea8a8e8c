"""Unpacks the members of a log of Inspect one by one: python DRIVER FILE."""

from __future__ import annotations

import sys
from importlib import import_module
from struct import Struct

LOCAL = Struct("<4sHHHHHIIIHH")
SIGN = b"PK\x03\x04"


def main() -> None:
    """Print how many bytes the members have when they are unpacked.

    The members lie one behind another, with their sizes before them.
    """
    try:
        library = import_module("compression.zstd")
    except ImportError:
        library = import_module("backports.zstd")
    size = 0
    with open(sys.argv[1], "rb") as file:
        while (head := file.read(LOCAL.size))[: len(SIGN)] == SIGN:
            *_, packed, _, name, extra = LOCAL.unpack(head)
            file.read(name + extra)
            size += len(library.decompress(file.read(packed)))
    print(size)


if __name__ == "__main__":
    main()
