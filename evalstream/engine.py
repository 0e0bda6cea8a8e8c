"""One block of lines in, findings and a tally out: the hot loop, at two speeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from json import loads
from typing import Any, Final, NamedTuple

import xxhash

from evalstream import parsing
from evalstream.aggregate import Join
from evalstream.catalog import RULES, severity_of
from evalstream.formats import eee
from evalstream.identities import ABSENT, UNJOINED, Identities, pack
from evalstream.model import Excerpt, Fault, Lines, Severity
from evalstream.quiet import QUIET, quiet_check
from evalstream.rule import Context, RowCheck, Rule
from evalstream.rules import identity, json, schema
from evalstream.rules.json import BEGINS_WITH_MARK, ES102, ES107, ES108, ES110, ES111, ES113, ES114
from evalstream.rules.schema import ES215, ES216
from evalstream.rules.stream import ES003
from evalstream.schema import Validator, builtin_validator, compile_schema, finite_check
from evalstream.scope import KNOWN_VERSIONS, Row, Scope, Scopes, is_remark, remark_key
from evalstream.tally import Tally
from evalstream.versions import versions_that_fit

JSON_BLANK: Final = b" \t\r"
UNCERTAIN: Final = frozenset({ES107.code, ES108.code})
"""Faults after which the values of a row are not those that its writer meant."""

_MODULUS: Final = 1 << 64

BATCH_ROWS: Final = 32
BATCH_BYTES: Final = 1 << 18
"""How many rows, and bytes of them, go through the steps together."""

Counts = dict[tuple[str, Severity], int]
"""Occurrences by code and severity."""


class Located(NamedTuple):
    """A fault with its line (from 1 within the block), byte offset and sample."""

    line: int
    offset: int
    sample_id: str | int | None
    fault: Fault


class BlockResult(NamedTuple):
    """What became of a block.

    `faults` are in order of line, code and pointer, and hold at most `max_findings` per code
    and severity (all with 0); `counts` is exact.
    """

    faults: list[Located]
    counts: Counts
    tally: Tally
    identities: Identities


def parse(line: bytes) -> Any:
    """Return what the fast parser makes of a line, None where it makes nothing of it."""
    try:
        return parsing.fast(line)
    except ValueError:
        return None


@lru_cache(maxsize=8)
def engine_for(context: Context) -> Engine:
    """Return the engine of a context, compiled once per process."""
    return Engine(context)


class Engine:
    """A pure function of (bytes, context): holds compiled rules and no state between blocks."""

    def __init__(self, context: Context) -> None:
        self.context = context
        options = context.options
        self._own_schema = options.schema is None
        # A lower bound for nesting than the parser's own is left to the exact path.
        self._shallow = options.max_depth < parsing.FAST_DEPTH
        self._finite = finite_check(options.engine)
        self._accepting = _Accepting(self._validator)
        self._only: Validator | None = None
        if options.schema is not None:
            self._only = compile_schema(
                parsing.fast(options.schema.encode()), options.engine, trusted=False
            )
        elif options.schema_version != "auto":
            self._only = self._validator(options.schema_version)
        else:
            # Compiled here, before workers are forked.
            self._accepting[context.version]
        self._quiet = quiet_check(context)
        self._checks = list(_bound(context, lambda rule: rule.code in QUIET))
        self._loud = list(_bound(context, lambda rule: not rule.by_ids and rule.code not in QUIET))
        self._by_ids = list(_bound(context, lambda rule: rule.by_ids))
        self._join = Join(context.results)
        self.judge_hash = identity.hash_judge(context)
        # Copies of a sample are only compared where there can be several.
        self.compares_answers = len(context.results) > 1

    def run(self, lines: Lines) -> BlockResult:
        """Check some whole lines of an input."""
        return _Pass(self, lines).result()

    def scopes(self) -> Scopes:
        """Return the scopes of a block that has no rows yet."""
        return Scopes(self.context, self._join, self._by_ids)

    def is_sound(self, row: Any) -> bool:
        """Tell whether what the fast parser made of a line is surely a well-formed row."""
        try:
            only = self._only
            accepts = self._accepting[row["schema_version"]] if only is None else only.accepts
        except (KeyError, TypeError):
            return False
        return row.__class__ is dict and accepts(row) and not self._shallow

    def accept(self, line: bytes) -> Row | None:
        """Return the row if the line holds one that is beyond doubt well formed."""
        row = parse(line)
        return row if self.is_sound(row) else None

    def explain(
        self, line: bytes, *, torn: bool, read: Any = None
    ) -> tuple[Row | None, list[Fault]]:
        """Say everything that is wrong with a line by itself; return its row if it is one.

        `read` is what the fast parser made of it; it needs no second parser as long as its
        numbers are finite, which is the one thing that parser lets pass.
        """
        if read.__class__ is dict and not self._shallow and self._finite(read):
            return read, list(self._schema_faults(read))
        reading = json.read_object(line, self.context.options.max_depth, torn=torn, noun="a row")
        faults = [fault for fault, _ in reading.faults]
        if reading.value is None:
            return None, faults
        try:
            faults.extend(reading.concerned(self._schema_faults(reading.value)))
        except RecursionError:
            return None, [*faults, ES113.fault("nested too deep to be judged by the schema")]
        return reading.value, faults

    def check_row(self, row: Row, line: int, scope: Scope, tally: Tally) -> list[Fault]:
        """Apply the rules beyond schema and hash to a row; remarks are counted, not returned."""
        accepted = self._quiet(row) if scope.named else None
        if not self._loud and accepted == ():
            return list(scope.faults)
        faults = list(scope.faults)
        checks = self._loud if accepted is not None else (*self._checks, *self._loud)
        said = list(accepted or ())
        for check in checks:
            said.extend(check(row))
        for fault in said:
            if is_remark(fault):
                tally.remarks.add(remark_key(fault), line)
            else:
                faults.append(fault)
        return faults

    def _schema_faults(self, row: Row) -> Iterable[Fault]:
        if self._only is not None:
            version = "" if self.context.options.schema else self.context.options.schema_version
            return schema.explain(self._only.faults(row), own=self._own_schema, version=version)
        declared = row.get("schema_version")
        version = self.context.version
        unknown: list[Fault] = []
        if isinstance(declared, str):
            version = eee.nearest_version(declared, instance=True)
            if not eee.is_known(declared, instance=True):
                message = f"no version that is known; the row is judged by {version}"
                place: dict[str, Any] = {"pointer": "/schema_version", "found": declared}
                unknown.append(ES215.fault(message, expected=list(eee.INSTANCE_VERSIONS), **place))
        validator = self._validator(version)
        faults = schema.explain(validator.faults(row), own=True, version=version)
        if faults and ES216.code in self.context.enabled:
            fitting = versions_that_fit(row, version, self.context.options.engine, instance=True)
            unknown.extend(schema.fits_another(version, fitting))
        return unknown + faults

    def _validator(self, version: str) -> Validator:
        name = eee.instance_schema_name(version)
        return builtin_validator(name, self.context.options.engine)


def _bound(context: Context, wanted: Callable[[Rule], bool]) -> Iterator[RowCheck]:
    for rule in RULES.values():
        if rule.row is not None and rule.code in context.enabled and wanted(rule):
            check = rule.row(context)
            if check is not None:
                yield check


class _Accepting(dict[str, Callable[[Any], bool]]):
    """The accepting pass by declared version; each is compiled when a row first declares it."""

    def __init__(self, validator: Callable[[str], Validator]) -> None:
        self._validator = validator

    def __missing__(self, declared: str) -> Callable[[Any], bool]:
        if declared not in KNOWN_VERSIONS:
            raise KeyError(declared)
        self[declared] = self._validator(declared.removeprefix(eee.ANNOTATION_PREFIX)).accepts
        return self[declared]


class _Entry:
    """A line on its way through the steps of a pass."""

    __slots__ = (
        "faults",
        "hashed",
        "line",
        "number",
        "offset",
        "row",
        "scope",
        "scored",
        "shown",
        "sound",
        "torn",
    )

    def __init__(self, line: bytes, number: int, offset: int, torn: bool) -> None:
        self.line, self.number, self.offset, self.torn = line, number, offset, torn
        self.row: Any = None
        self.sound = False
        self.scored = True
        self.scope: Any = None
        self.faults: Sequence[Fault] = ()
        self.hashed: Row | None = None
        self.shown: str | None = None


class _Pass:
    """One pass over one block."""

    def __init__(self, engine: Engine, lines: Lines) -> None:
        self._engine, self._lines = engine, lines
        self._options = engine.context.options
        self._faults: list[Located] = []
        self._counts: Counts = {}
        self._tally = Tally()
        self._records = bytearray()
        self._scopes = engine.scopes()

    def result(self) -> BlockResult:
        """Look at every line once."""
        data, start, base, tail, final = self._lines
        find, end, longest = data.find, len(data), self._options.max_line_bytes
        number = size = 0
        batch: list[_Entry] = []
        if base + start == 0 and data.startswith(parsing.UTF8_MARK):
            start = len(parsing.UTF8_MARK)
            self._note(1, 0, None, [ES102.fault(BEGINS_WITH_MARK)])
        while start < end:
            stop = find(b"\n", start)
            number += 1
            if stop >= 0:
                line, torn = data[start:stop], False
            else:
                stop = end
                line, torn = _last_line(data, start, tail, final=final)
            length = len(line)
            if length > longest:
                self._look(batch)
                batch, size = [], 0
                self._skip(number, base + start)
            else:
                batch.append(_Entry(line, number, base + start, torn))
                size += length
                if size >= BATCH_BYTES or len(batch) == BATCH_ROWS:
                    self._look(batch)
                    batch, size = [], 0
            start = stop + 1
        self._look(batch)
        if data.startswith(parsing.UTF8_MARK):
            self._faults.sort(key=lambda located: (located.line, located.fault.code))
        self._tally.lines = number
        self._scopes.tally(self._tally)
        identities = Identities(bytes(self._records))
        return BlockResult(self._faults, self._counts, self._tally, identities)

    def _look(self, batch: list[_Entry]) -> None:
        """Judge some lines, step by step: each step's code stays in the processor's caches."""
        rows = self._read(batch)
        self._judge(rows)
        for entry in rows:
            if entry.scope.place != UNJOINED:
                self._count(entry)
        for entry in rows:
            self._identify(entry)
        for entry in batch:
            if entry.torn and entry.row is not None:
                entry.faults = [*entry.faults, ES111.fault("the last row has no newline")]
            elif not entry.torn and entry.line.endswith(b"\r"):
                self._tally.carriage_returns.add(None, entry.number)
            if entry.faults:
                self._note(entry.number, entry.offset, entry.row, entry.faults)

    def _read(self, batch: list[_Entry]) -> list[_Entry]:
        """Parse lines and hold them against the schema; return those that are rows."""
        for entry in batch:
            entry.row = parse(entry.line)
        is_sound = self._engine.is_sound
        for entry in batch:
            entry.sound = is_sound(entry.row)
        rows = [entry for entry in batch if entry.sound or self._explain(entry)]
        self._tally.rows += len(rows)
        return rows

    def _judge(self, rows: list[_Entry]) -> None:
        """Apply the rules beyond the schema to rows."""
        tally, of = self._tally, self._scopes.of
        check, judge = self._engine.check_row, self._engine.judge_hash
        for entry in rows:
            entry.scope = scope = of(entry.row, entry.number)
            scope.rows += 1
        for entry in rows:
            faults = check(entry.row, entry.number, entry.scope, tally)
            if faults:
                entry.faults = [*entry.faults, *faults]
        for entry in rows:
            fault, entry.shown = judge(entry.hashed or entry.row, entry.number, tally)
            if fault is not None:
                entry.faults = [*entry.faults, fault]

    def _explain(self, entry: _Entry) -> bool:
        """Say what is wrong with a line that was not accepted; tell whether it is a row at all."""
        if not entry.line.strip(JSON_BLANK):
            entry.row, entry.faults = None, [ES110.fault("a blank line")]
            return False
        entry.row, faults = self._engine.explain(entry.line, torn=entry.torn, read=entry.row)
        entry.faults = faults
        if entry.row is None:
            self._tally.rows += 1
            self._tally.unread += 1
            return False
        codes = {fault.code for fault in faults}
        entry.hashed = loads(entry.line) if ES114.code in codes else None
        entry.scored = codes.isdisjoint(UNCERTAIN)
        if ES216.code in codes:
            self._note_fitting(faults, entry.number)
        return True

    def _skip(self, number: int, offset: int) -> None:
        self._tally.rows += 1
        self._tally.unread += 1
        message = f"longer than {self._options.max_line_bytes:,} bytes; it was not looked at"
        self._note(number, offset, None, [ES003.fault(message)])

    def _note_fitting(self, faults: list[Fault], number: int) -> None:
        for fault in faults:
            if fault.code == ES216.code:
                self._tally.fitting.add(frozenset(fault.expected), number)

    def _count(self, entry: _Entry) -> None:
        """Count a row's score; one that is not to be scored counts as without a score."""
        row, scope = entry.row, entry.scope
        listed, scores = scope.sample_ids, scope.scores
        if listed is not None and str(row.get("sample_id")) not in listed:
            self._tally.unlisted.add(scope.place, entry.number)
        key = (None, None, False)
        evaluation = row.get("evaluation")
        if entry.scored and evaluation.__class__ is dict:
            failed = row.get("error")
            key = (evaluation.get("score"), evaluation.get("is_correct"), bool(failed))
        try:
            scores[key] = scores.get(key, 0) + 1
        except TypeError:
            # A list where a number should be; the schema says so.
            scores[None, None, False] = scores.get((None, None, False), 0) + 1

    def _identify(self, entry: _Entry) -> None:
        """Add a row's record."""
        digest, number = xxhash.xxh3_128_digest, xxhash.xxh3_64_intdigest
        row, scope, shown = entry.row, entry.scope, entry.shown
        content, sample, seed = digest(entry.line), row.get("sample_id"), scope.seed
        if sample.__class__ is str:
            key = digest(sample.encode(), seed)
        elif isinstance(sample, int):
            # The integer 1 and the text "1" are different samples.
            key = digest(f"{sample}".encode(), ~seed % _MODULUS)
        else:
            self._tally.doubtful += 1
            key, shown = content, None
        named = key is not content
        if shown is not None:
            shown += eee.choices_text(row)
        mark = eee.repeat_mark(row) if named else ""
        compared = named and self._engine.compares_answers
        self._records += pack(
            entry.number,
            key,
            content,
            ABSENT if shown is None else digest(shown.encode(), seed),
            number(parsing.dumps(eee.answer(row))) if compared else 0,
            number(mark.encode()) if mark else 0,
            scope.result if named else 0,
            scope.place,
            entry.offset,
        )

    def _note(self, number: int, offset: int, row: Row | None, faults: Sequence[Fault]) -> None:
        enabled, most = self._engine.context.enabled, self._options.max_findings
        sample = _sample(row)
        for fault in sorted(faults, key=lambda fault: (fault.code, fault.pointer or "")):
            if fault.code not in enabled:
                continue
            key = (fault.code, severity_of(fault, self._options.profile))
            count = self._counts.get(key, 0) + 1
            self._counts[key] = count
            if not most or count <= most:
                shown = trimmed(fault, show_values=self._options.show_values)
                self._faults.append(Located(number, offset, sample, shown))


def _last_line(data: bytes, start: int, tail: bytes, *, final: bool) -> tuple[bytes, bool]:
    """Put together the line that has no newline in `data`; tell whether it has none at all."""
    line = data[start:] + tail
    return (line[:-1], False) if line.endswith(b"\n") else (line, final)


def trimmed(fault: Fault, *, show_values: bool) -> Fault:
    """Cut the values of a fault short, or hide the found one."""
    found = fault.found if show_values else None
    if not isinstance(found, Excerpt):
        found = parsing.shorten(found)
    return fault._replace(found=found, expected=_shortened(fault.expected))


def _shortened(expected: Any) -> Any:
    if isinstance(expected, (list, tuple)):
        return [parsing.shorten(item) for item in expected[:20]]
    return parsing.shorten(expected)


def _sample(row: Row | None) -> str | int | None:
    sample = None if row is None else row.get("sample_id")
    if isinstance(sample, bool) or not isinstance(sample, (str, int)):
        return None
    shown: str | int = parsing.shorten(sample)
    return shown
