"""The pairs of objects of a store, each checked as `check` does, judged by its legacy_path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from evalstream.batch.batch import check_many
from evalstream.formats.registry import MAIN_CATALOGUE
from evalstream.model.data_class import replace
from evalstream.model.finding import Finding
from evalstream.model.options import Options
from evalstream.model.report import RunSequence, Totals
from evalstream.model.run import Run
from evalstream.model.run_summary import RunSummary
from evalstream.rules.catalogue import DEFAULT, FLAT
from evalstream.store.layout import RECORD, SAMPLES, object_path
from evalstream.store.snapshot import Entries
from evalstream.store.verify import StoreCheck


def check_pairs(
    store: StoreCheck,
    options: Options,
    show: Callable[[Finding], None],
    *,
    ledger: str | None,
    overwrite: bool,
    progress: bool,
) -> tuple[Sequence[RunSummary], Totals]:
    """Check the chosen pairs of a store that was verified, under the profile `flat` by default."""
    if options.profile == DEFAULT:
        options = replace(options, profile=FLAT)
    enabled = MAIN_CATALOGUE.selection(options).enabled
    if all(MAIN_CATALOGUE[code].in_store for code in enabled):
        return (), Totals()
    return check_many(
        find_pairs(store),
        options,
        show,
        ledger=ledger,
        overwrite=overwrite,
        shard=None,
        progress=progress,
    )


def find_pairs(store: StoreCheck) -> Iterator[Run]:
    """Iterate over the chosen pairs whose objects are there."""
    if store.current is None:
        return
    join = store.files.join
    for _, entry in Entries(store.files, store.current.entries_path):
        if not store.takes(entry):
            continue
        rows = join(object_path(entry.uuid, SAMPLES)) if entry.companion is not None else None
        size = entry.companion.size if entry.companion is not None else None
        aggregate = join(object_path(entry.uuid, RECORD))
        yield Run(rows, aggregate, size=size, legacy_path=entry.legacy_path)


class StoreRuns(RunSequence):
    """The summary of a store, and those of its pairs, which may be on disk."""

    def __init__(self, store: RunSummary, pairs: Sequence[RunSummary]) -> None:
        self._store, self._pairs = store, pairs

    def __len__(self) -> int:
        return 1 + len(self._pairs)

    def __iter__(self) -> Iterator[RunSummary]:
        yield self._store
        yield from self._pairs

    def read_run(self, index: int) -> RunSummary:
        """Return the run at an index from 0."""
        return self._store if index == 0 else self._pairs[index - 1]
