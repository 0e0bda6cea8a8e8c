"""The way of the usual row: accepted by the scanner, hashed and recorded, many rows in one go."""

from __future__ import annotations

import hashlib
import struct
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, compress, repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalstream.engine.result import AcceptedRows
from evalstream.formats.eee import row_view
from evalstream.formats.eee.context import RowContext
from evalstream.formats.eee.row_digests import answer_digest
from evalstream.formats.eee.row_groups import RowGroup, RowGroups, notice_key
from evalstream.formats.eee.rules.row import FOREIGN_SOURCE, NO_ANSWER, common_bounds, timed_members
from evalstream.io.digest import equivalent_recipes
from evalstream.model.row_record import RECORD_BYTES, UNJOINED
from evalstream.parsing import json
from evalstream.parsing.json import FAST_DEPTH
from evalstream.parsing.native.binding import (
    COLUMNS,
    LINK_WORDS,
    Flag,
    RowConstraints,
    Scanner,
    ScannerConfig,
    StopReason,
    hasher,
    library,
)
from evalstream.parsing.native.binding import recipes as known_recipes
from evalstream.parsing.native.binding import slots as known_slots
from evalstream.parsing.native.schema_tables import NotTabled, Tables, pinned, tables_of
from evalstream.parsing.schema_files import builtin_schema
from evalstream.rules.base import Rule
from evalstream.stats.tally import Tally

if TYPE_CHECKING:
    from ctypes import CDLL

FAST_PATH_RULES: Final = frozenset(
    {
        "ES301",
        "ES302",
        "ES303",
        "ES304",
        "ES305",
        "ES306",
        "ES307",
        "ES308",
        "ES309",
        "ES310",
        "ES311",
        "ES313",
        "ES314",
        "ES315",
        "ES319",
    }
)
"""The rules that say nothing of a row that the scanner accepts, or notice what its flags tell."""

_NOTICES: Final = ((Flag.UNANSWERED, NO_ANSWER), (Flag.FOREIGN, FOREIGN_SOURCE))
_KIND: Final = "interaction_type"
_TURNS: Final = "turns"
"""What the scanner calls the transcript, whatever a version calls it."""

_NULL: Final = {"type": "null"}
_HEX_DIGITS: Final = {"sha256": 64, "md5": 32}
_IDS: Final = (
    "schema_version",
    "evaluation_id",
    "model_id",
    "evaluation_name",
    "evaluation_result_id",
)
"""All that a scope looks at in a row, in the order of the scanner."""

_COLUMN: Final = {name: place for place, name in enumerate(COLUMNS)}
_WORDS: Final = len(COLUMNS)
_RECORD_WORDS: Final = RECORD_BYTES // 8
_OUTPUT: Final = 6
"""Which word of a record tells what the model said."""

_WORD: Final = struct.Struct("=Q")
_DOUBLE: Final = struct.Struct("=d")


def needs_slow_path(rule: Rule) -> bool:
    """Tell whether a rule for single rows may say something of a row that is accepted here."""
    return rule.code not in FAST_PATH_RULES and not rule.by_ids


def fast_path_for(context: RowContext) -> FastPath | None:
    """Return what takes the usual rows of a context, None where none are to be taken so."""
    options, loaded = context.options, library()
    if loaded is None or options.schema is not None or options.engine != "auto":
        return None
    lowest, highest = common_bounds(context)
    if options.max_depth < FAST_DEPTH or not (_is_double(lowest) and _is_double(highest)):
        return None
    shape = _shape_of(context.version, declared=options.schema_version == "auto")
    if shape is None:
        return None
    found = hasher(context.algorithm)
    demands = RowConstraints(
        lowest=lowest,
        highest=highest,
        wanted=shape.tables.wanted,
        unwanted=shape.tables.unwanted,
        recipe=known_recipes().index(context.recipes[0] if context.recipes else ""),
        hash_digits=_HEX_DIGITS[context.algorithm],
        times_generation="generation_time_ms" in timed_members(context),
        keeps_texts=_lists_samples(context) or found is None,
        links=context.links,
        compares=len(context.results) > 1,
        transcript=shape.transcript.encode(),
    )
    setting = ScannerConfig(shape.tables, demands, found)
    return FastPath(context, loaded, setting, checks_hashes=found is None and bool(context.recipes))


class _Shape(NamedTuple):
    """The rows of a version as tables, and what it calls the transcript."""

    tables: Tables
    transcript: str


@lru_cache(maxsize=16)
def _shape_of(version: str, *, declared: bool) -> _Shape | None:
    """Return the shape of a version's rows, None where no tables can say it.

    With `declared` they are only rows that declare the version.
    """
    schema = builtin_schema(row_view.instance_schema_name(version))
    if declared:
        schema = pinned(schema, "schema_version", row_view.forms_of(version))
    members, transcript = schema["properties"], row_view.transcript_key(version)
    if (
        transcript not in members
        or tuple(members[_KIND].get("enum", ())) != row_view.INTERACTION_TYPES
    ):
        return None
    if schema.get("additionalProperties", True) is not False:
        # A second transcript, under the key of other versions, is for the rules to judge.
        others = dict.fromkeys({*row_view.TRANSCRIPT_KEYS} - members.keys(), _NULL)
        schema = {**schema, "properties": {**members, **others}}
    try:
        return _Shape(tables_of(schema, known_slots(), _KIND, {transcript: _TURNS}), transcript)
    except NotTabled:
        return None


def _is_double(number: float) -> bool:
    """Tell whether a number, which may be an integer of any size, is one that a double holds."""
    try:
        return float(number) == number
    except OverflowError:
        return False


def _lists_samples(context: RowContext) -> bool:
    """Tell whether a result lists the samples that it is made of."""
    return any(result.sample_ids is not None for result in context.results)


_IDLE: Final[list[Scanner]] = []
"""Scanners that nobody uses just now: making one takes a millisecond."""


class FastPath:
    """Takes rows of which nothing is to be said but what is counted.

    `checks_hashes` says that scanners do not.
    """

    def __init__(
        self, context: RowContext, loaded: CDLL, setting: ScannerConfig, *, checks_hashes: bool
    ) -> None:
        self.context, self.setting, self.checks_hashes = context, setting, checks_hashes
        self.compute: Callable[[bytes], Any] = getattr(hashlib, context.algorithm)
        self.compares_answers = len(context.results) > 1
        self.lists_samples = _lists_samples(context)
        self._loaded = loaded

    def pass_over(
        self, groups: RowGroups, tally: Tally, data: bytes, base: int, offsets: Sequence[int] | None
    ) -> FastBlock:
        """Begin with a block."""
        try:
            scanner = _IDLE.pop()
        except IndexError:
            scanner = Scanner(self._loaded)
        return FastBlock(self, scanner, groups, tally, data, base, offsets)


class FastBlock:
    """The usual rows of one block, whose first byte has the offset `base`.

    `offsets` are those of its lines, where they do not stand one behind the other.
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
        self._scanner = scanner
        self._known: list[RowGroup] = []
        packed = None if offsets is None else array("Q", offsets).tobytes()
        scanner.start(
            fast_path.setting, data, base, packed, fast_path.context.options.max_line_bytes
        )

    def close(self) -> None:
        """Let go of the scanner."""
        self._scanner.stop()
        _IDLE.append(self._scanner)

    def take(self, start: int, first: int) -> AcceptedRows:
        """Take what rows can be taken of the next lines, the first of which has number `first`.

        A row that is taken is in the tally.
        """
        scanner = self._scanner
        scanner.go_to(start, first)
        while scanner.scan() is StopReason.NEW_SCOPE:
            self._add_scope(scanner.line)
        rows = _Rows(scanner, first)
        if self._fast_path.checks_hashes:
            self._refuse_wrong_hashes(rows)
        if rows:
            self._count(rows)
        return AcceptedRows(scanner.at, rows.lines, rows.records, rows.left())

    def _add_scope(self, number: int) -> None:
        """Find out the scope of a row that has other ids than all before."""
        said = zip(_IDS, self._scanner.new_ids(), strict=True)
        ids = {name: json.fast(text) for name, text in said if text is not None}
        group = self._groups.of(ids, number)
        self._known.append(group)
        self._scanner.add_scope(
            usual=group.named and not group.violations,
            evaluation=group.evaluation,
            name=group.name,
            result=group.result,
            place=group.place,
        )

    def _refuse_wrong_hashes(self, rows: _Rows) -> None:
        """Keep only rows whose hash is that of their input."""
        compute = self._fast_path.compute
        digests = [compute(text).hexdigest() for text in rows.texts("covered", "mark")]
        claims = [text.decode() for text in rows.texts("hash", "input")]
        if digests != claims:
            rows.keep([one == other for one, other in zip(digests, claims, strict=True)])

    def _count(self, rows: _Rows) -> None:
        """Count what rows say."""
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
                said = score, bool(flags & Flag.IS_CORRECT), bool(flags & Flag.FAILED)
                group.scores[said] = group.scores.get(said, 0) + times
        if self._fast_path.compares_answers:
            rows.add_outputs(self._answers(rows))
        if self._fast_path.lists_samples:
            self._count_unlisted(rows)
        if self._context.links:
            self._link(rows)

    def _count_hashes(self, rows: _Rows) -> None:
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

    def _count_unlisted(self, rows: _Rows) -> None:
        """Count rows whose sample is not among those that their result lists."""
        groups, samples = rows.column("scope"), rows.texts("sample", "hash")
        for place, sample, number in zip(groups, samples, rows.numbers, strict=True):
            group = self._known[place]
            if group.sample_ids is not None and sample.decode() not in group.sample_ids:
                self._tally.unlisted.add(group.place, number)

    def _answers(self, rows: _Rows) -> Iterator[int]:
        """Digest what the model said."""
        ends = map(rows.column, ("output", "output_end", "turns", "turns_end"))
        for output, output_end, turns, turns_end in zip(*ends, strict=True):
            said = self._data[output:output_end], self._data[turns:turns_end]
            yield answer_digest([json.fast(text) if text else None for text in said])

    def _link(self, rows: _Rows) -> None:
        """Note what ties rows to those of other runs."""
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


class _Rows:
    """What a scanner told of some lines, column by column, and of the rows that it accepted.

    `lines` counts all lines, `numbers` are those of the rows, `records` what they amount to.
    """

    def __init__(self, scanner: Scanner, first: int) -> None:
        self._scanner, self._words, self._texts = scanner, scanner.words(), scanner.texts()
        self._right: Sequence[bool] | None = None
        self.records = scanner.records()
        flags = self._all("flags")
        self.lines = len(flags)
        self._kinds = {*flags}
        self._accepted: Sequence[int] = range(self.lines)
        self.numbers: Sequence[int] = range(first, first + self.lines)
        if 0 in self._kinds:
            self._keep([flag > 0 for flag in flags])

    def __len__(self) -> int:
        """Return how many rows were accepted."""
        return len(self._accepted)

    def keep(self, right: Sequence[bool]) -> None:
        """Refuse all accepted rows but some."""
        starts = range(0, len(self.records), RECORD_BYTES)
        records = [self.records[start : start + RECORD_BYTES] for start in starts]
        self.records = b"".join(compress(records, right))
        self._right = right
        self._keep(right)

    def left(self) -> Sequence[tuple[int, int, int]]:
        """Return place, start and end of the lines that were not accepted."""
        if len(self) == self.lines:
            return ()
        accepted = frozenset(self._accepted)
        lines = zip(range(self.lines), self._all("start"), self._all("stop"), strict=True)
        return [line for line in lines if line[0] not in accepted]

    def column(self, name: str) -> list[int]:
        """Return a column of the accepted rows."""
        column = self._all(name)
        return column if len(self) == self.lines else [column[place] for place in self._accepted]

    def having(self, flag: int) -> list[int]:
        """Return the numbers of the rows that have a flag."""
        if not any(kind & flag for kind in self._kinds):
            return []
        flags = zip(self.numbers, self.column("flags"), strict=True)
        return [number for number, said in flags if said & flag]

    def alike(self) -> Counter[tuple[int, int, int]]:
        """Count the rows with the same scope, score (the bits of a double) and flags."""
        return Counter(zip(*map(self.column, ("scope", "score", "flags")), strict=True))

    def texts(self, name: str, behind: str) -> list[bytes]:
        """Return a text of each accepted row, which ends where another one starts."""
        texts = self._texts
        places = zip(self.column(name), self.column(behind), strict=True)
        return [texts[start:stop] for start, stop in places]

    def links(self) -> list[int]:
        """Return what ties the rows to those of other runs, LINK_WORDS for each."""
        links = self._scanner.links()
        if self._right is None:
            return links
        return list(
            compress(links, chain.from_iterable(repeat(one, LINK_WORDS) for one in self._right))
        )

    def add_outputs(self, digests: Iterator[int]) -> None:
        """Join digests of what the model said with those of the choices in the records."""
        words = array("Q", self.records)
        both = zip(words[_OUTPUT::_RECORD_WORDS], digests, strict=True)
        words[_OUTPUT::_RECORD_WORDS] = array("Q", [choices ^ said for choices, said in both])
        self.records = words.tobytes()

    def _all(self, name: str) -> list[int]:
        return self._words[_COLUMN[name] :: _WORDS].tolist()

    def _keep(self, right: Sequence[bool]) -> None:
        self._accepted = list(compress(self._accepted, right))
        self.numbers = list(compress(self.numbers, right))
