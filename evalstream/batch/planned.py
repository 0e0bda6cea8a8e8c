"""A run that is to be checked, among others."""

from __future__ import annotations

from typing import NamedTuple

from evalstream.model.run import NoInput, Run


class PlannedRun(NamedTuple):
    """A run, or an input in which there is none, with its number in the order of the inputs.

    `size` is that of its rows in bytes, 0 where it is not known; a stream has none.
    """

    number: int
    found: Run | NoInput
    size: int
    is_stream: bool = False
