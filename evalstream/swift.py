"""The way of the usual row: typed, judged and recorded in one go, or left to the engine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

import xxhash

from evalstream.digest import RECIPES, same_for_one_reference
from evalstream.formats import eee
from evalstream.identities import UNJOINED, pack
from evalstream.model import Bytes, Fault
from evalstream.parsing import FAST_DEPTH
from evalstream.quiet import quiet_check
from evalstream.records import answer_digest, sample_digest
from evalstream.rule import Context
from evalstream.schema import builtin_schema
from evalstream.scope import Scope, Scopes, is_remark, remark_key
from evalstream.tally import Tally
from evalstream.ties import input_word, sample_word
from evalstream.typed import ABSENT, NotTyped, Typed, TypedRows, pinned, plain

_ALSO: Final = ("evaluation_result_id", "interactions", "messages")
"""Members that only some versions have."""

_IDS: Final = (
    "evaluation_name",
    "evaluation_result_id",
    "evaluation_id",
    "model_id",
    "schema_version",
)
"""All that a scope looks at in a row."""


@lru_cache(maxsize=16)
def typed_rows(version: str, *, declared: bool) -> TypedRows | None:
    """Return the reader of a version's rows, None where its schema allows none.

    With `declared` it reads only rows that declare the version.
    """
    schema = builtin_schema(eee.instance_schema_name(version))
    if declared:
        schema = pinned(schema, "schema_version", eee.forms_of(version))
    try:
        return TypedRows(schema, "interaction_type", also=_ALSO)
    except NotTyped:
        return None


def swift_for(context: Context) -> Swift | None:
    """Return what takes the usual rows of a context, None where none are to be taken so."""
    options = context.options
    if options.schema is not None or options.engine != "auto":
        return None
    if options.max_depth < FAST_DEPTH:
        return None
    typed = typed_rows(context.version, declared=options.schema_version == "auto")
    return None if typed is None else Swift(context, typed)


class Swift:
    """Takes rows of which nothing is to be said but what is counted."""

    def __init__(self, context: Context, typed: TypedRows) -> None:
        self.quiet = quiet_check(context)
        self.read, self.view = typed.read, typed.view
        self._compute: Callable[[bytes], Any] = getattr(hashlib, context.algorithm)
        self._primary = context.recipes[0] if context.recipes else None
        self.compares_answers = len(context.results) > 1

    def pass_over(self, scopes: Scopes, tally: Tally) -> SwiftPass:
        """Begin with a block."""
        return SwiftPass(self, scopes, tally)

    def shown(self, rows: Sequence[Typed | None]) -> list[str | None]:
        """Return for each row with a right hash, or rightly none, a text of its input."""
        if self._primary is None:
            return [None if row is None else _unhashed(row) for row in rows]
        covered, compute = RECIPES[self._primary], self._compute
        shown: list[str | None] = []
        for row in rows:
            digest = None
            if row is not None:
                sample = row.input
                reference = sample.reference
                if reference.__class__ is str or len(reference) <= 1:
                    digest = compute(covered(sample.raw, reference)).hexdigest()
                    if digest != row.sample_hash:
                        digest = None
            shown.append(digest)
        return shown

    def count_hashes(self, rows: int, line: int, tally: Tally) -> None:
        """Count rows that were shown, the first of them on `line`."""
        if self._primary is None:
            tally.hash_forms.add("absent", line, rows)
        else:
            tally.recipes.add(same_for_one_reference(self._primary), line, rows)

    def answer(self, row: Typed) -> int:
        """Return a number that rows share in which the model said the same."""
        output, turns = row.output, row.messages
        turns = row.interactions if turns is None or turns is ABSENT else turns
        return answer_digest([_plain(output), _plain(turns)])


class SwiftPass:
    """The usual rows of one block."""

    def __init__(self, swift: Swift, scopes: Scopes, tally: Tally) -> None:
        self._swift, self._scopes, self._tally = swift, scopes, tally
        self._ids: tuple[Any, ...] = ()
        self._scope: Any = None

    def take(
        self,
        lines: Sequence[Bytes],
        text: Bytes,
        first: int,
        offsets: Sequence[int],
        *,
        spaces_only: bool,
    ) -> list[bytes | None]:
        """Take what rows can be taken, and return their records; None stands for the others.

        `first` is the number of the first line. A row that is taken is in the tally.
        """
        swift, quiet = self._swift, self._swift.quiet
        digest, digest_number = xxhash.xxh3_128_digest, xxhash.xxh3_64_intdigest
        rows = swift.read(lines, text, spaces_only=spaces_only)
        numbers = range(first, first + len(lines))
        records: list[bytes | None] = [None] * len(lines)
        taken: list[int] = []
        for row, shown, line, number, offset in zip(
            rows, swift.shown(rows), lines, numbers, offsets, strict=True
        ):
            if row is None or shown is None:
                continue
            scope = self._scope_of(row, number)
            if scope.faults or not scope.named:
                continue
            remarks = quiet(row)
            if remarks is None or (remarks and not self._remark(remarks, number)):
                continue
            scope.rows += 1
            taken.append(number)
            if scope.place != UNJOINED:
                self._count(row, scope, number)
            sample, asked, metadata = row.sample_id, row.input, row.metadata
            choices = asked.choices
            told = eee.choices_text(choices) if choices else ""
            seen = f"{shown}{told}" if told else shown
            links = scope.links
            if links is not None:
                word = sample_word(sample)
                links += (word, input_word(word, asked.raw, asked.reference, told), number, offset)
            mark = eee.repeat_mark(metadata) if metadata else ""
            records[number - first] = pack(
                number,
                digest(sample.encode(), scope.seed)
                if sample.__class__ is str
                else sample_digest(sample, scope),
                digest(line),
                digest(seen.encode(), scope.seed),
                swift.answer(row) if swift.compares_answers else 0,
                digest_number(mark.encode()) if mark else 0,
                scope.result,
                scope.place,
                offset,
            )
        if taken:
            self._tally.rows += len(taken)
            swift.count_hashes(len(taken), taken[0], self._tally)
        return records

    def _scope_of(self, row: Typed, number: int) -> Scope:
        """Return the scope of a row, which as a rule is that of the row before."""
        ids = _ids_of(row)
        if ids != self._ids:
            said = zip(_IDS, ids, strict=True)
            known = {name: text for name, text in said if text is not ABSENT}
            self._ids, self._scope = ids, self._scopes.of(known, number)
        scope: Scope = self._scope
        return scope

    def _count(self, row: Typed, scope: Scope, number: int) -> None:
        """Count what a row says for its result."""
        evaluation, scores = row.evaluation, scope.scores
        said = (evaluation.score, evaluation.is_correct, bool(row.error))
        if said in scores:
            scores[said] += 1
        else:
            scores[said] = 1
        if scope.sample_ids is not None and str(row.sample_id) not in scope.sample_ids:
            self._tally.unlisted.add(scope.place, number)

    def _remark(self, remarks: Sequence[Fault], number: int) -> bool:
        """Count what is remarked of a row, if it is only remarked."""
        if not all(map(is_remark, remarks)):
            return False
        for fault in remarks:
            self._tally.remarks.add(remark_key(fault), number)
        return True


_ids_of: Final = attrgetter(*_IDS)


def _unhashed(row: Typed) -> str | None:
    """Return a text of a row's input if it has no hash."""
    if row.sample_hash is not None and row.sample_hash is not ABSENT:
        return None
    return eee.shown_text(row.input.raw, row.input.reference)


def _plain(value: Any) -> Any:
    return None if value is ABSENT else plain(value)
