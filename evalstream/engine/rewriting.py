"""Rewrite the rows of a run: any stored form in, lines out, block by block and in order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from evalstream.engine.line_repairs import LeftRow, LineRepairs
from evalstream.io.compressors import Target
from evalstream.io.progress import Progress
from evalstream.model.changes import ChangeTally
from evalstream.model.data_class import DataClass, field
from evalstream.model.options import Options

KEEP: Final = "keep"
"""The codec of a target that is compressed as its source is."""

MOST_LEFT: Final = 20
"""Number of rows that were not rewritten whose lines and reasons are kept."""


class RewrittenBlock(NamedTuple):
    """Rewritten rows, the changes in them, and the rows that were left.

    `data` holds one line for each row that was not left, in order, and `rows` counts them. Lines of
    `tally` and of `left` count from 1 within the rows that were given.
    """

    data: bytes
    rows: int
    tally: ChangeTally
    left: Sequence[LeftRow] = ()


class BlockRewriter(Protocol):
    """Rewrites blocks of rows: a pure function of the bytes, which can be pickled."""

    def rewrite(self, data: bytes) -> RewrittenBlock:
        """Rewrite whole lines, which end in a newline and are not blank.

        White space may surround a row. A line that cannot be rewritten is left, with the reason; a
        line need not be JSON. Raises nothing.
        """


class RewrittenRows(DataClass):
    """The outcome of rewriting the rows of a run.

    `rows` counts those in the target. `source` has the digests of the source, by what they cover
    (`stored` bytes, and `unpacked` ones if those are compressed) and by algorithm; it is empty if
    the source was not read to its end. `target` has those of the target's stored bytes. `layout`
    and `codec` say how the source holds its rows; `codec` is None if it is not compressed. Lines in
    `tally` and `left` are those of the source; `left` has the first of the rows that were not
    rewritten, and `left_count` is their number. `changed` says how the source changed while it was
    read, and `incomplete_reason` why it was not read to its end.
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
    changed: str | None = None
    incomplete_reason: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the target holds all rows of a source that did not change meanwhile."""
        return not (self.left_count or self.changed or self.incomplete_reason)


def rewrite_rows(
    path: str,
    target: Target | str | None,
    rewriter: BlockRewriter,
    options: Options,
    *,
    name: str | None = None,
    codec: str | None = KEEP,
    repairs: LineRepairs = LineRepairs(),  # noqa: B008 - it is frozen
    algorithms: Sequence[str] = ("sha256",),
    target_algorithms: Sequence[str] = ("sha256",),
    progress: Progress | None = None,
    of_aggregates: Collection[str] = (),
) -> RewrittenRows:
    """Rewrite the rows of a run to a target, in constant memory; reports call them `name`.

    `target` takes bytes as they come, whether the outcome is whole or not; a path is written only
    if it is, and with None the bytes are only digested. `options` has the number of workers
    (`jobs`, `executor`) and the longest line (`max_line_bytes`). The target is compressed with
    `codec`, a key of `evalstream.io.codecs.COMPRESSIONS`, not at all with None, and as the source
    is with KEEP. `of_aggregates` are members that show an aggregate. The bytes of the target are
    the same for any number of workers. Raises Stopped after a signal, CannotWrite where the target
    cannot be written, and MissingExtra where the library of `codec` is not installed.
    """
    raise NotImplementedError
