"""Notices while a check runs: what was lost or is waited for, at that moment."""

from __future__ import annotations


def notify(text: str) -> None:
    """Tell people one thing at once, whatever the report will say.

    It goes to the logger `evalstream`, which writes to stderr unless the program that uses this
    package says otherwise.
    """
    # Few checks lose something, and the import takes 3 ms.
    import logging

    logging.getLogger("evalstream").error("evalstream: %s", text)
