"""Sums over some members and samples of a log."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from evalstream.formats.inspect.values import is_count
from evalstream.parsing.json_values import object_or_empty

MOST_MODELS = 1_000
"""Most models, and most numbers of each, whose usage is summed."""


class PartTotals:
    """Sums over some members and samples of a log.

    `samples` counts samples, `loaded` those that the harness loads, `members` the members of an
    archive, `sound_members` those whose bytes are the declared ones. `samples_known` is False where
    samples could not be read, `latest` the time of the sample that was completed last, and
    `missing` says why the harness's own reader was not asked.
    """

    def __init__(self) -> None:
        self.samples = self.loaded = self.members = self.sound_members = 0
        self.attachments = self.sound_attachments = 0
        self.usage: dict[str, dict[str, int]] = {}
        self.latest: datetime | None = None
        self.samples_known = True
        self.missing = ""

    def add_usage(self, usage: Any) -> None:
        """Add the token usage of models."""
        for model, numbers in object_or_empty(usage).items():
            if model not in self.usage and len(self.usage) >= MOST_MODELS:
                continue
            sums = self.usage.setdefault(model, {})
            for name, number in object_or_empty(numbers).items():
                if is_count(number) and (name in sums or len(sums) < MOST_MODELS):
                    sums[name] = sums.get(name, 0) + number

    def add_end(self, ended: datetime | None) -> None:
        """Add the time at which a sample was completed."""
        if ended is not None and (self.latest is None or ended > self.latest):
            self.latest = ended

    def merge(self, later: PartTotals) -> None:
        """Add those of later members."""
        self.samples += later.samples
        self.loaded += later.loaded
        self.members += later.members
        self.sound_members += later.sound_members
        self.attachments += later.attachments
        self.sound_attachments += later.sound_attachments
        self.add_usage(later.usage)
        self.add_end(later.latest)
        self.samples_known = self.samples_known and later.samples_known
        self.missing = self.missing or later.missing
