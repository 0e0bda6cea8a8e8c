"""The fast path: accept, hash and record ordinary rows in the C scanner, many at a time."""

from __future__ import annotations

import hashlib
import struct
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from evalstream.engine.result import AcceptedRows
from evalstream.formats.eee.context import RowContext
from evalstream.formats.eee.row_digests import answer_digest
from evalstream.formats.eee.row_groups import RowGroup, RowGroups, notice_key
from evalstream.formats.eee.rules.row import FOREIGN_SOURCE, NO_ANSWER
from evalstream.formats.eee.sample_hash import equivalent_recipes
from evalstream.model.row_record import UNJOINED
from evalstream.parsing import json
from evalstream.parsing.native.binding import LINK_WORDS, Flag, Scanner, ScannerConfig, StopReason
from evalstream.rules.base import RowCheck
from evalstream.stats.tally import Tally

if TYPE_CHECKING:
    from ctypes import CDLL

from evalstream.formats.eee.scanned_rows import ScannedRows

_NOTICES: Final = ((Flag.UNANSWERED, NO_ANSWER), (Flag.FOREIGN, FOREIGN_SOURCE))
_IDS: Final = (
    "schema_version",
    "evaluation_id",
    "model_id",
    "evaluation_name",
    "evaluation_result_id",
)
"""The members that define a row group, in the order of the scanner."""

_WORD: Final = struct.Struct("=Q")
_DOUBLE: Final = struct.Struct("=d")


_IDLE: Final[list[Scanner]] = []
"""Unused scanners, kept for reuse: creating one takes a millisecond."""


class FastPath:
    """Accepts rows in which every rule finds nothing, or only notices that are counted.

    `others` are the checks of rules that the scanner does not test.
    """

    def __init__(
        self, context: RowContext, loaded: CDLL, setting: ScannerConfig, others: Sequence[RowCheck]
    ) -> None:
        self.context, self.setting, self.others = context, setting, others
        self.checks_hashes = bool(context.recipes) and not setting.checks_hashes
        self.compute: Callable[[bytes], Any] = getattr(hashlib, context.algorithm)
        self.compares_answers = len(context.results) > 1
        self.lists_samples = lists_samples(context)
        self._loaded = loaded

    def pass_over(
        self, groups: RowGroups, tally: Tally, data: bytes, base: int, offsets: Sequence[int] | None
    ) -> FastBlock:
        """Start a block."""
        try:
            scanner = _IDLE.pop()
        except IndexError:
            scanner = Scanner(self._loaded)
        return FastBlock(self, scanner, groups, tally, data, base, offsets)


def lists_samples(context: RowContext) -> bool:
    """Tell whether a result lists the samples that it covers."""
    return any(result.sample_ids is not None for result in context.results)


class FastBlock:
    """The ordinary rows of one block, whose first byte has the offset `base`.

    `offsets` are the offsets of its lines, if they are not contiguous.
    """

    def __init__(
        self,
        fast_path: FastPath,
        scanner: Scanner,
        groups: RowGroups,
        tally: Tally,
        data: bytes,
        base: int,
        offsets: Sequence[int] | None,
    ) -> None:
        self._fast_path, self._context, self._groups, self._tally = (
            fast_path,
            fast_path.context,
            groups,
            tally,
        )
        self._data = data
        self._allows_blanks = "ES311" not in fast_path.context.enabled
        self._scanner = scanner
        self._known: list[RowGroup] = []
        packed = None if offsets is None else array("Q", offsets).tobytes()
        scanner.start(
            fast_path.setting, data, base, packed, fast_path.context.options.max_line_bytes
        )

    def close(self) -> None:
        """Return the scanner for reuse."""
        self._scanner.stop()
        _IDLE.append(self._scanner)

    def take(self, start: int, first: int) -> AcceptedRows:
        """Accept what rows it can of the next lines, the first of which has number `first`.

        An accepted row is in the tally.
        """
        scanner = self._scanner
        scanner.go_to(start, first)
        while scanner.scan() is StopReason.NEW_SCOPE:
            self._add_scope(scanner.line)
        rows = ScannedRows(scanner, first)
        if self._fast_path.checks_hashes:
            rows.keep(self._rightly_hashed(rows))
        if self._fast_path.others and rows.have(Flag.WATCHED):
            rows.keep(self._without_findings(rows))
        if rows:
            self._count(rows)
        return AcceptedRows(scanner.at, rows.lines, rows.records, rows.left())

    def _add_scope(self, number: int) -> None:
        """Find the group of a row whose ids differ from all before."""
        texts = zip(_IDS, self._scanner.new_ids(), strict=True)
        ids = {name: json.fast(text) for name, text in texts if text is not None}
        group = self._groups.of(ids, number)
        self._known.append(group)
        self._scanner.add_scope(
            usual=(group.named or self._allows_blanks) and not group.violations,
            evaluation=group.evaluation,
            name=group.name,
            result=group.result,
            place=group.place,
        )

    def _rightly_hashed(self, rows: ScannedRows) -> list[bool]:
        """Tell for each row whether its hash is that of its input."""
        compute = self._fast_path.compute
        digests = [compute(text).hexdigest() for text in rows.texts("covered", "mark")]
        claims = [text.decode() for text in rows.texts("hash", "input")]
        return [one == other for one, other in zip(digests, claims, strict=True)]

    def _without_findings(self, rows: ScannedRows) -> list[bool]:
        """Tell for each row whether the rules outside the scanner find nothing in it."""
        columns = zip(*map(rows.column, ("flags", "start", "stop")), strict=True)
        return [
            not (flags & Flag.WATCHED and self._finds(json.fast(self._data[start:stop])))
            for flags, start, stop in columns
        ]

    def _finds(self, row: Any) -> bool:
        return any(True for check in self._fast_path.others for _ in check(row))

    def _count(self, rows: ScannedRows) -> None:
        """Count the scores and members of rows."""
        tally = self._tally
        tally.rows += len(rows)
        self._count_hashes(rows)
        for flag, notice in _NOTICES:
            noticed = rows.having(flag)
            if noticed and notice.code in self._context.enabled:
                tally.notices.add(notice_key(notice), noticed[0], len(noticed))
        for number in rows.having(Flag.CARRIAGE_RETURN):
            tally.carriage_returns.add(None, number)
        for (place, word, flags), times in rows.alike().items():
            group = self._known[place]
            group.rows += times
            if group.place != UNJOINED:
                (score,) = _DOUBLE.unpack(_WORD.pack(word))
                key = score, bool(flags & Flag.IS_CORRECT), bool(flags & Flag.FAILED)
                group.scores[key] = group.scores.get(key, 0) + times
        if self._fast_path.compares_answers:
            rows.add_outputs(self._answers(rows))
        if self._fast_path.lists_samples:
            self._count_unlisted(rows)
        if self._context.links:
            self._link(rows)

    def _count_hashes(self, rows: ScannedRows) -> None:
        """Count which recipes give the hashes of rows."""
        numbers = rows.numbers
        if not self._context.recipes:
            self._tally.hash_forms.add("absent", numbers[0], len(numbers))
            return
        recipe = self._context.recipes[0]
        several = rows.having(Flag.SEVERAL)
        if several:
            self._tally.recipes.add(frozenset({recipe}), several[0], len(several))
            numbers = sorted({*numbers} - {*several})
        if numbers:
            self._tally.recipes.add(equivalent_recipes(recipe), numbers[0], len(numbers))

    def _count_unlisted(self, rows: ScannedRows) -> None:
        """Count rows whose sample their result does not list."""
        groups, samples = rows.column("scope"), rows.texts("sample", "hash")
        for place, sample, number in zip(groups, samples, rows.numbers, strict=True):
            group = self._known[place]
            if group.sample_ids is not None and sample.decode() not in group.sample_ids:
                self._tally.unlisted.add(group.place, number)

    def _answers(self, rows: ScannedRows) -> Iterator[int]:
        """Digest the model's output."""
        ends = map(rows.column, ("output", "output_end", "turns", "turns_end"))
        for output, output_end, turns, turns_end in zip(*ends, strict=True):
            answer = self._data[output:output_end], self._data[turns:turns_end]
            yield answer_digest([json.fast(text) if text else None for text in answer])

    def _link(self, rows: ScannedRows) -> None:
        """Add the words that link rows to those of other runs."""
        links = rows.links()
        if len(self._known) == 1:
            self._add_links(0, links)
            return
        for row, place in enumerate(rows.column("scope")):
            self._add_links(place, links[row * LINK_WORDS : (row + 1) * LINK_WORDS])

    def _add_links(self, place: int, words: Sequence[int]) -> None:
        links = self._known[place].links
        if links is not None:
            links += words
