"""The samples of a log on disk."""

from __future__ import annotations

from contextlib import closing
from functools import partial

from sql_steps import count_steps

from evalstream.formats.inspect.store import LogStore, SampleFacts, make_rows


def test_copies_are_found_in_time_that_grows_as_the_samples() -> None:
    """Each event is in two samples."""
    steps = []
    for count in (500, 1000):
        with closing(LogStore()) as store:
            for number in range(count):
                facts = SampleFacts(
                    id=f"s{number}", epoch=1, failed=False, uuid=None, target="t", place="p",
                    scores={}, metadata={}, told={}, event=f"e{number // 2}",
                )  # fmt: skip
                store.add_rows(make_rows(facts))
            store.flush()
            found: list[object] = []
            copied = store.iterate_copied()
            steps.append(count_steps(store._table._base, partial(found.extend, copied)))
            assert len(found) == count // 2
    assert steps[1] < 2.2 * steps[0]
