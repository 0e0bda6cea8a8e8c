"""Rewrite the rows of a run: any stored form in, lines out, block by block and in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

from evalstream.engine import layout
from evalstream.engine.block_rewriting import (
    MOST_LEFT,
    BlockOutcome,
    BlockRewriter,
    LeftRow,
    LineRepairs,
    RewriteJob,
    rewrite_block,
)
from evalstream.engine.open_rows import OpenRows, open_rows
from evalstream.engine.row_pass import plan_blocks, run_blocks, usable_cores
from evalstream.io.compressors import ByteSink, DigestedTarget
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.model.block import MEBIBYTE
from evalstream.model.changes import ARRAY_TO_LINES, Change, ChangeTally
from evalstream.model.data_class import DataClass, field
from evalstream.model.errors import BrokenCompression, CannotCheck, describe_error
from evalstream.model.options import Options
from evalstream.model.text import count_noun

BLOCK_BYTES: Final = MEBIBYTE // 2
"""Size of a block, which stays in a cache while it is rewritten, digested and written."""

SALVAGE: Final = "`evalstream salvage`"


class RewrittenRows(DataClass):
    """The outcome of rewriting the rows of a run.

    `rows` counts those in the target. `source` has the digests of the source, by what they cover
    (`stored` bytes, and `unpacked` ones if those are compressed) and by algorithm; it is empty if
    the source was not read to its end. `target` has those of the target's stored bytes. `layout`
    and `codec` say how the source holds its rows; `codec` is None if it is not compressed. Lines in
    `tally` and `left` are those of the source; `left` has the first of the rows that were not
    rewritten, and `left_count` is their number. `unsuited` says why not all of the file is rows to
    rewrite: its encoding, its layout, or where its array breaks. `changed` says how the source
    changed while it was read, and `incomplete_reason` why it was not read to its end.
    """

    name: str
    rows: int = 0
    source: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    target: Mapping[str, str] = field(default_factory=dict)
    layout: str = "unread"
    codec: str | None = None
    tally: ChangeTally = field(default_factory=ChangeTally)
    left: tuple[LeftRow, ...] = ()
    left_count: int = 0
    unsuited: str | None = None
    changed: str | None = None
    incomplete_reason: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the target holds all rows of a source that did not change meanwhile."""
        reasons = self.unsuited, self.changed, self.incomplete_reason
        return not self.left_count and reasons == (None, None, None)


def rewrite_rows(
    path: str,
    target: ByteSink | None,
    rewriter: BlockRewriter | Callable[[bytes], BlockRewriter],
    options: Options,
    *,
    repairs: LineRepairs = LineRepairs(),  # noqa: B008 - it is frozen
    algorithms: Sequence[str] = ("sha256",),
    target_algorithms: Sequence[str] = ("sha256",),
    progress: Progress | None = None,
) -> RewrittenRows:
    """Rewrite the rows of a run to a target, in constant memory.

    `rewriter` may be a function that makes it from the first line of the rows. `target` takes bytes
    as they come, whether the outcome is whole or not; with None they are only digested. `options`
    has the number of workers (`jobs`, `executor`) and the longest line (`max_line_bytes`). The
    target is compressed as the source is, and its bytes are the same for any number of workers.
    Raises Stopped after a signal, CannotWrite where the target cannot be written, and MissingExtra
    where the library of its compression is not installed.
    """
    rewritten = RewrittenRows(printable(path))
    try:
        opened = open_rows(path, rewritten.name, options, algorithms)
    except (OSError, CannotCheck) as error:
        rewritten.incomplete_reason = f"cannot be opened: {describe_error(error)}"
        return rewritten
    try:
        opened.take_head()
        rewritten.layout, rewritten.codec = opened.layout.kind, opened.packed
        threads = 1 if options.executor == "serial" else options.jobs or usable_cores()
        written = DigestedTarget(target, opened.packed, target_algorithms, threads)
        chosen_rewriter = rewriter(opened.head) if callable(rewriter) else rewriter
        job = RewriteJob(chosen_rewriter, repairs, options.max_line_bytes)
        one_pass = _Pass(opened, written, rewritten, progress or Progress(shown=False))
        try:
            one_pass.run(job, options, algorithms)
        finally:
            written.close()
    finally:
        opened.source.close()
    return rewritten


class _Pass:
    """One pass over the rows of a run, which fills in its outcome."""

    def __init__(
        self, opened: OpenRows, target: DigestedTarget, rewritten: RewrittenRows, progress: Progress
    ) -> None:
        self._opened, self._target, self._rewritten = opened, target, rewritten
        self._progress = progress
        self._lines = 0

    def run(self, job: RewriteJob, options: Options, algorithms: Sequence[str]) -> None:
        """Rewrite all rows. Raises Stopped, and CannotWrite."""
        opened, rewritten = self._opened, self._rewritten
        rewritten.unsuited = _describe_layout(opened, job.repairs)
        if rewritten.unsuited is not None:
            return
        if opened.layout.kind == layout.JSON_ARRAY:
            rewritten.tally.add(Change(ARRAY_TO_LINES))
        self._progress.begin(rewritten.name, opened.total)
        try:
            with self._noting_failures():
                self._rewrite(job, options, algorithms)
                rewritten.source = opened.digests()
                rewritten.changed = opened.describe_change()
            rewritten.target = self._target.finish()
        finally:
            self._progress.end()

    def _rewrite(self, job: RewriteJob, options: Options, algorithms: Sequence[str]) -> None:
        opened, rewritten = self._opened, self._rewritten
        is_native = partial(job.rewriter.is_native, opened.sample)
        plan = plan_blocks(opened, options, algorithms, is_native=is_native, most=BLOCK_BYTES)
        for outcome in run_blocks(plan, partial(rewrite_block, job)):
            block = plan.under_way.popleft()
            self._take(outcome, is_array=block.places is not None)
            if plan.backend is not None:
                # The first result shows that the workers are forked.
                self._target.use_thread()
            self._target.write(outcome.data)
            self._progress.add(block.length, rows=rewritten.rows)
        error = opened.array_error
        if error is not None:
            rewritten.unsuited = (
                f"{error.message} (line {error.line:,}, byte {error.offset:,} of the file), so the "
                f"rest was not read; {SALVAGE} saves the whole rows before"
            )

    def _take(self, outcome: BlockOutcome, *, is_array: bool) -> None:
        shift = 0 if is_array else self._lines
        self._lines += outcome.lines
        self._rewritten.rows += outcome.rows
        self._rewritten.tally.merge(outcome.tally, shift)
        left = [row._replace(line=row.line + shift) for row in outcome.left]
        self._rewritten.left = (*self._rewritten.left, *left)[:MOST_LEFT]
        self._rewritten.left_count += outcome.left_count

    @contextmanager
    def _noting_failures(self) -> Iterator[None]:
        """Note why the source was not read to its end."""
        rewritten = self._rewritten
        try:
            yield
        except BrokenCompression as error:
            before = count_noun(rewritten.rows + rewritten.left_count, "row")
            rewritten.incomplete_reason = f"{error}; {before} before the break could be read"
        except OSError as error:
            rewritten.incomplete_reason = f"reading failed part-way: {describe_error(error)}"
        except CannotCheck as error:
            rewritten.incomplete_reason = str(error)


def _describe_layout(opened: OpenRows, repairs: LineRepairs) -> str | None:
    """Return why the layout of a file does not let its rows be rewritten, or None."""
    kind, detail = opened.layout
    if kind == layout.WIDE:
        return f"the file is in {detail}, not UTF-8"
    if kind == layout.FOREIGN:
        return detail
    if kind == layout.JSON_ARRAY and not repairs.array_to_lines:
        return f"the rows are in a JSON array; {SALVAGE} writes them on lines"
    return None
