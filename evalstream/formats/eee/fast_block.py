"""The fast path: check, hash and record rows in the C scanner, many at a time."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from evalstream.engine.result import BlockFindings, TakenRows
from evalstream.formats.eee.facts import ANSWER, LOG, PROMPT, SOURCE, STRAINS, UNSHOWN
from evalstream.formats.eee.fast_path import ScanPlan
from evalstream.formats.eee.row_groups import RowGroup, RowGroups, notice_key
from evalstream.formats.eee.row_view import answer_digest
from evalstream.formats.eee.rules.answers import judgement
from evalstream.formats.eee.rules.attribution import FOREIGN_SOURCE, NO_ANSWER
from evalstream.formats.eee.rules.row import NOT_A_CHOICE
from evalstream.formats.eee.rules.sample_hash import UNEXPLAINED
from evalstream.formats.eee.rules.source import LIKE_LOG, UNLIKE_LOG
from evalstream.formats.eee.sample_hash import equivalent_recipes
from evalstream.formats.eee.scan_results import ScannerMemory, TakenViolations
from evalstream.formats.eee.scanned_rows import ScannedRows
from evalstream.model.block import Lines
from evalstream.model.finding import Violation
from evalstream.model.options import SampleRequest
from evalstream.model.sample_record import ROW_WORDS, UNKNOWN, SampleRow
from evalstream.parsing import json
from evalstream.parsing.native.binding import LINK_WORDS, Flag, StopReason
from evalstream.parsing.native.scanner import MOST_ROWS, RowKind, Scanner
from evalstream.stats.tally import Tally

_NOTICES: Final = (
    (Flag.UNANSWERED, NO_ANSWER),
    (Flag.FOREIGN, FOREIGN_SOURCE),
    (Flag.NOT_CHOSEN, NOT_A_CHOICE),
)
_HABITS: Final = (
    (Flag.PROMPTED, PROMPT, True),
    (Flag.UNPROMPTED, PROMPT, False),
    (Flag.SOURCED, SOURCE, True),
    (Flag.UNSOURCED, SOURCE, False),
    (Flag.LOGGED, LOG, True),
    (Flag.UNLOGGED, LOG, False),
)
_IDS: Final = (
    *("schema_version", "evaluation_id", "model_id", "evaluation_name", "evaluation_result_id"),
)
"""The members that define a row group, in the order of the scanner."""

FIRST_ROWS: Final = 64
"""How many lines of a block are listed at first: after them it is known which need no words."""

_CLUSTER: Final = SampleRow._fields.index("cluster")
_LINE: Final = SampleRow._fields.index("line")

_IDLE: Final[list[ScannerMemory]] = []
"""Unused scanners, kept for reuse: creating one takes a millisecond."""


@lru_cache(maxsize=256)
def _read_flags(flags: int) -> tuple[tuple[Violation, ...], tuple[tuple[str, bool], ...]]:
    notices = tuple(notice for flag, notice in _NOTICES if flags & flag)
    return notices, tuple((habit, kept) for flag, habit, kept in _HABITS if flags & flag)


class FastBlock:
    """The rows of one block that the scanner takes.

    `offsets` are those of its lines, if they are not contiguous.
    """

    def __init__(
        self,
        fast_path: ScanPlan,
        groups: RowGroups,
        tally: Tally,
        findings: BlockFindings,
        lines: Lines,
        offsets: Sequence[int] | None,
    ) -> None:
        self._fast_path, self._context = fast_path, fast_path.context
        self._groups, self._tally = groups, tally
        memory = _IDLE.pop() if _IDLE else ScannerMemory(Scanner(fast_path.loaded))
        self._memory, self._scanner = memory, memory.scanner
        self._data, self._base, self._offsets = lines.data, lines.base, offsets
        self._known: dict[int, RowGroup] = {}
        self._most_rows = FIRST_ROWS
        self._violations = TakenViolations(
            fast_path, self._data, tally, findings, self._known, memory
        )
        packed = None if offsets is None else array("Q", offsets).tobytes()
        memory.start(fast_path, lines, packed, findings.room())

    def close(self) -> None:
        """Count the rows that were not listed, and return the scanner for reuse."""
        self._violations.count_settled()
        self._scanner.stop()
        _IDLE.append(self._memory)

    def take(self, start: int, first: int) -> TakenRows:
        """Take what rows it can of the next lines, the first of which has number `first`.

        A taken row is in the tally, but for its violations.
        """
        scanner = self._scanner
        scanner.go_to(start, first, self._most_rows)
        self._most_rows = MOST_ROWS
        while scanner.scan() is StopReason.NEW_SCOPE:
            self._add_scope(scanner.line)
        rows = ScannedRows(scanner, first)
        for kind in rows.kinds:
            self._count_kind(kind)
        if self._fast_path.compares_answers:
            rows.add_outputs(self._answers(rows))
        if self._fast_path.lists_samples:
            self._count_unlisted(rows)
        if self._context.links:
            self._link(rows)
        if self._context.options.samples is not None:
            self._sample(rows, self._context.options.samples)
        found = self._violations.of(rows, self._find_offset)
        return TakenRows(scanner.at, rows.lines, rows.records, rows.left(), *found)

    def _find_offset(self, number: int, start: int) -> int:
        return self._base + start if self._offsets is None else self._offsets[number - 1]

    def _add_scope(self, number: int) -> None:
        """Find the group of a row whose ids differ from all before."""
        texts = zip(_IDS, self._scanner.new_ids(), strict=True)
        ids = {name: json.fast(text) for name, text in texts if text is not None}
        scope = len(self._memory.ids)
        self._memory.ids.append(ids)
        if self._may_be_noise(ids):
            self._scanner.add_scope(usual=False)
            return
        group = self._group(scope, number)
        self._scanner.add_scope(
            usual=group.is_named and self._context.choose_version(ids) == self._context.version,
            listed=bool(group.violations) or group.is_unknown,
            evaluation=group.evaluation,
            name=group.name,
            result=group.result,
            doubts=0 if group.named else self._fast_path.id_doubts,
            place=group.place,
        )

    def _group(self, scope: int, number: int) -> RowGroup:
        group = self._known.get(scope)
        if group is None:
            group = self._known[scope] = self._groups.of(self._memory.ids[scope], number)
        return group

    def _may_be_noise(self, ids: Mapping[str, Any]) -> bool:
        """Tell whether a row with some ids may be noise: then it is not a row of any group."""
        context = self._context
        if context.options.noise is None:
            return False
        # Another version than the one that the scanner checks may refuse the row.
        is_other = context.choose_version(ids) != context.version
        return is_other or context.finds_unknown_version(ids.get("schema_version"))

    def _count_kind(self, kind: RowKind) -> None:
        tally, flags, group = self._tally, kind.flags, self._group(kind.scope, kind.first)
        tally.rows += kind.rows
        if not (kind.doubtful or flags & Flag.UNCHECKED):
            self._count_hash(kind)
        notices, habits = _read_flags(flags)
        for notice in notices:
            if notice.code in self._context.enabled_codes:
                tally.notices.add(notice_key(notice), kind.first, kind.rows)
        if flags & (Flag.LIKE_LOG | Flag.UNLIKE_LOG):
            form = LIKE_LOG if flags & Flag.LIKE_LOG else UNLIKE_LOG
            tally.hash_forms.add(form, kind.first, kind.rows)
        for habit, kept in habits:
            tally.habits.add((habit, group.strain, kept), kind.first, kind.rows)
        if flags & Flag.CARRIAGE_RETURN:
            tally.carriage_returns.add(None, kind.first, kind.rows)
        group.rows += kind.rows
        if group.is_counted:
            key = (
                None if flags & Flag.UNSCORED else kind.score,
                None if flags & Flag.UNJUDGED else bool(flags & Flag.IS_CORRECT),
                bool(flags & Flag.FAILED),
            )
            group.scores[key] = group.scores.get(key, 0) + kind.rows
            is_right = judgement(*key[:2], failed=key[2])
            if is_right is not None and flags & (Flag.REFERRED | Flag.RIVAL | Flag.UNSHOWN):
                strain = STRAINS * bool(flags & Flag.ALIASED) + group.strain
                answered = UNSHOWN if flags & Flag.UNSHOWN else bool(flags & Flag.REFERRED)
                judged = ANSWER, group.place, strain, answered, is_right
                tally.habits.add(judged, kind.first, kind.rows)

    def _count_hash(self, kind: RowKind) -> None:
        """Count which recipes give the hashes of rows, unless the exact check does."""
        if kind.flags & Flag.UNHASHED:
            self._tally.hash_forms.add("absent", kind.first, kind.rows)
            return
        if kind.flags & Flag.WRONG_HASH:
            recipes = UNEXPLAINED
        elif kind.flags & Flag.SEVERAL:
            recipes = frozenset({self._context.recipes[0]})
        else:
            recipes = equivalent_recipes(self._context.recipes[0])
        self._tally.recipes.add(recipes, kind.first, kind.rows)

    def _count_unlisted(self, rows: ScannedRows) -> None:
        """Count rows whose sample their result does not list."""
        groups, samples = rows.column("scope"), rows.texts("sample", "hash")
        for place, sample, number in zip(groups, samples, rows.column("line"), strict=True):
            group = self._known[place]
            if group.sample_ids is not None and sample.decode() not in group.sample_ids:
                self._tally.unlisted.add(group.place, number)

    def _answers(self, rows: ScannedRows) -> Iterator[int]:
        ends = map(rows.column, ("output", "output_end", "turns", "turns_end"))
        for output, output_end, turns, turns_end in zip(*ends, strict=True):
            answer = self._data[output:output_end], self._data[turns:turns_end]
            yield answer_digest([json.fast(text) if text else None for text in answer])

    def _link(self, rows: ScannedRows) -> None:
        links = rows.links()
        if len(self._known) == 1:
            (scope,) = self._known
            self._add_links(scope, links)
            return
        for row, place in enumerate(rows.column("scope")):
            self._add_links(place, links[row * LINK_WORDS : (row + 1) * LINK_WORDS])

    def _sample(self, rows: ScannedRows, request: SampleRequest) -> None:
        from evalstream.stats.sample_digests import read_cluster

        words = rows.samples({scope: group.number for scope, group in self._known.items()})
        if request.cluster is None:
            self._fold(rows, words)
        else:
            ends = zip(rows.column("start"), rows.column("stop"), strict=True)
            found = [read_cluster(request, json.fast(self._data[slice(*both)])) for both in ends]
            words[_CLUSTER::ROW_WORDS] = array("Q", found)
        self._groups.sample(words.tobytes())

    def _fold(self, rows: ScannedRows, words: array[int]) -> None:
        """Digest the questions with letters that the scanner cannot fold, and let it learn them."""
        from evalstream.stats.sample_digests import APART, fold_letter, folded_digest

        if not len(rows):
            return
        lines, clusters = words[_LINE::ROW_WORDS], words[_CLUSTER::ROW_WORDS]
        # All rows whose questions it could not fold are listed.
        listed = zip(rows.column("line"), rows.column("flags"), strict=True)
        unread = {
            place: row
            for place, (line, flags) in enumerate(listed)
            if clusters[row := bisect_left(lines, line)] == UNKNOWN and not flags & Flag.UNCOVERED
        }
        if not unread:
            return
        letters = set[str]()
        questions, choices = rows.texts("input", "reference"), rows.texts("options", "prompt")
        for place, row in unread.items():
            texts = (questions[place] + choices[place]).split(APART)
            raw, *options = [text.decode(errors="surrogatepass") for text in texts]
            words[row * ROW_WORDS + _CLUSTER] = folded_digest(raw, options)
            letters.update(raw, *options)
        for letter in letters:
            folded = None if letter.isascii() else fold_letter(letter)
            if folded is not None:
                self._scanner.learn_fold(letter, *folded)

    def _add_links(self, place: int, words: Sequence[int]) -> None:
        links = self._known[place].links
        if links is not None:
            links += words
