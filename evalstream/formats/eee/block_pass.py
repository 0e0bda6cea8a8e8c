"""Take one block of rows through the fast path and the exact path, line by line and in order."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from evalstream.engine.result import UNCERTAIN, BlockResult, LineStatus, LineViolations, TakenRows
from evalstream.formats.eee import facts, row_view
from evalstream.formats.eee.exact_path import ExactPath, Row
from evalstream.formats.eee.row_groups import is_aggregated_notice, notice_key
from evalstream.formats.eee.row_view import answer_digest, choices_digest, has_error
from evalstream.formats.eee.rules import answers
from evalstream.formats.eee.rules.source import compare_log
from evalstream.formats.eee.rules.version import ES216
from evalstream.model.block import Lines
from evalstream.model.finding import Violation
from evalstream.model.options import SampleRequest
from evalstream.model.row_record import RECORD_BYTES, RowRecords
from evalstream.parsing import json
from evalstream.parsing.json_values import fast_or_none
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.rules.inputs import ES003
from evalstream.rules.syntax import BEGINS_WITH_MARK, ES102, ES110, ES114, newline_missing
from evalstream.stats.tally import Tally

if TYPE_CHECKING:
    from evalstream.formats.eee.fast_block import FastBlock
    from evalstream.formats.eee.fast_path import ScanPlan


BATCH_BYTES: Final = 100_000
BATCH_LINES: Final = 1_000
"""Batch size in bytes and lines; the objects of a batch fit into the processor caches."""

LONGEST_BLANK: Final = 64
BLANKS: Final = LazyPattern(rb"(?:[ \t]{0,%d}+\n){16,}+" % (LONGEST_BLANK - 1))
"""Many consecutive blank lines."""


class _Entry:
    """A line on its way through the steps of a pass."""

    __slots__ = (
        *("group", "hashed", "line", "number", "offset", "record", "row", "scored", "torn"),
        "violations",
    )

    def __init__(self, line: bytes, number: int, offset: int, torn: bool = False) -> None:
        self.line, self.number, self.offset, self.torn = line, number, offset, torn
        self.row: Any = None
        self.scored = True
        self.group: Any = None
        self.violations: Sequence[Violation] = ()
        self.hashed: Row | None = None
        self.record: bytes | None = None


class BlockPass:
    """One pass over one block; `slow_lines` counts those that Python looked at."""

    def __init__(self, exact_path: ExactPath, fast_path: ScanPlan | None, lines: Lines) -> None:
        self._exact_path, self._lines = exact_path, lines
        self._options = exact_path.context.options
        self._offsets = array("Q", lines.places)[1::2].tolist() if lines.places else None
        self._noted = exact_path.findings(lines)
        self._tally = Tally()
        self.slow_lines = 0
        self._records: list[bytes] = []
        self._found: list[LineViolations] = []
        self._groups = exact_path.groups()
        self._taking: FastBlock | None = None
        if fast_path is not None and not lines.overlong:
            from evalstream.formats.eee.fast_block import FastBlock

            self._taking = FastBlock(
                fast_path, self._groups, self._tally, self._noted, lines, self._offsets
            )

    def result(self) -> BlockResult:
        """Check every line once: rows that the scanner takes together, the others in batches."""
        data, base = self._lines[:2]
        start, end = 0, len(data)
        if not base and data.startswith(json.UTF8_MARK):
            start = len(json.UTF8_MARK)
            mark = [ES102.violation(BEGINS_WITH_MARK)]
            self._noted.add(LineViolations(1, 0, None, mark))
        if self._lines.overlong:
            self._tally.lines += 1
            self._skip(1, base + start)
            self._note_found()
            start = end
        while start < end:
            blank = self._blank_until(start)
            if blank > start:
                self._skip_blanks(start, blank)
                start = blank
                continue
            taken = self._take(start)
            if not taken.lines:
                # The last line has no newline.
                taken = TakenRows(end, 1, b"", [(0, start, end)])
            self._found += taken.violations
            self.slow_lines += len(taken.left) + taken.doubtful
            entries = self._entries(taken.left) if taken.left else []
            self._tally.lines += taken.lines
            if entries:
                self._check_lines(entries)
            self._note_records(taken, entries)
            self._note_found()
            for alike in taken.alike:
                self._noted.count(alike)
            start = taken.stop
        if self._taking is not None:
            self._taking.close()
        if data.startswith(json.UTF8_MARK):
            self._noted.violations.sort(key=lambda located: (located.line, located.violation.code))
        self._groups.tally(self._tally)
        row_records = RowRecords(b"".join(self._records))
        return self._noted.result(self._tally, row_records)._replace(
            links=self._groups.links(), samples=self._groups.samples()
        )

    def _blank_until(self, start: int) -> int:
        """Return the end of many blank lines that begin at `start`, or `start` if there are few."""
        data = self._lines.data
        if data[start] > ord(" ") or self._options.max_line_bytes < LONGEST_BLANK:
            return start
        blanks = BLANKS.match(data, start)
        return start if blanks is None else blanks.end()

    def _take(self, start: int) -> TakenRows:
        """Accept ordinary rows among the next lines, all of which end with a newline."""
        if self._taking is not None:
            return self._taking.take(start, self._tally.lines + 1)
        full, find = start + BATCH_BYTES, self._lines.data.find
        lines: list[tuple[int, int, int]] = []
        while start < full and len(lines) < BATCH_LINES and (stop := find(b"\n", start)) >= 0:
            lines.append((len(lines), start, stop))
            start = stop + 1
        return TakenRows(start, len(lines), b"", lines)

    def _skip_blanks(self, start: int, stop: int) -> None:
        """Skip many blank lines at once: a file may hold nothing else."""
        data, base, violation = self._lines.data, self._lines.base, ES110.violation("a blank line")
        count, first = data.count(b"\n", start, stop), self._tally.lines + 1
        self._tally.lines += count
        most = self._options.max_findings or count
        kept = min(count, most)
        for number in range(first, first + kept):
            self._noted.add(LineViolations(number, base + start, None, [violation]))
            start = data.find(b"\n", start) + 1
        self._noted.count_blank(range(first + kept, first + count), violation)

    def _entries(self, left: Sequence[tuple[int, int, int]]) -> list[_Entry]:
        """Return the next lines that were not taken; only the last of an input may be torn."""
        data, base, torn = self._lines[:3]
        first, offsets, end = self._tally.lines + 1, self._offsets, len(data)
        return [
            _Entry(
                data[start:stop],
                first + place,
                start + base if offsets is None else offsets[first + place - 1],
                torn and stop == end,
            )
            for place, start, stop in left
        ]

    def _note_records(self, taken: TakenRows, entries: list[_Entry]) -> None:
        at = before = 0
        for (place, _, _), entry in zip(taken.left, entries, strict=True):
            upto = at + (place - before) * RECORD_BYTES
            self._records.append(taken.records[at:upto])
            self._records += filter(None, [entry.record])
            at, before = upto, place + 1
        self._records.append(taken.records[at:])

    def _note_found(self) -> None:
        """Add the violations of some lines in the order of the lines."""
        for line in sorted(self._found, key=attrgetter("number")):
            self._noted.add(line)
        self._found.clear()

    def _check_lines(self, entries: list[_Entry]) -> None:
        """Check lines step by step: the code of each step stays in the processor caches."""
        longest = self._options.max_line_bytes
        batch = [entry for entry in entries if len(entry.line) <= longest]
        for entry in entries if len(batch) < len(entries) else ():
            if len(entry.line) > longest:
                self._skip(entry.number, entry.offset)
        rows = self._read(batch)
        self._apply_rules(rows)
        for entry in rows:
            if entry.group.is_counted:
                self._count(entry)
        for entry in rows:
            self._identify(entry)
        for entry in batch:
            if entry.torn and entry.row is not None:
                entry.violations = [*entry.violations, newline_missing()]
            elif not entry.torn and entry.line.endswith(b"\r"):
                self._tally.carriage_returns.add(None, entry.number)
            if entry.violations:
                sample = None if entry.row is None else entry.row.get("sample_id")
                self._found.append(
                    LineViolations(entry.number, entry.offset, sample, entry.violations)
                )

    def _read(self, batch: list[_Entry]) -> list[_Entry]:
        """Parse lines and check them against the schema; return those that are rows."""
        for entry in batch:
            entry.row = fast_or_none(entry.line)
        sound = [self._exact_path.reader.is_valid(entry.row) for entry in batch]
        rows = [
            entry for entry, fits in zip(batch, sound, strict=True) if fits or self._explain(entry)
        ]
        self._tally.rows += len(rows)
        return rows

    def _apply_rules(self, rows: list[_Entry]) -> None:
        """Apply the rules beyond the schema to rows; notices are only counted."""
        tally, of = self._tally, self._groups.of
        checks = self._exact_path.checks
        for entry in rows:
            entry.group = group = of(entry.row, entry.number)
            group.rows += 1
        for entry in rows:
            found = list(entry.group.violations)
            for check in checks:
                for violation in check(entry.row):
                    # What stands in place of NaN, or one of two values of a key, is not a score.
                    if not entry.scored and (violation.pointer or "").startswith("/evaluation/"):
                        continue
                    if is_aggregated_notice(violation):
                        tally.notices.add(notice_key(violation), entry.number)
                    else:
                        found.append(violation)
            if found:
                entry.violations = [*entry.violations, *found]
        self._check_hashes(rows)

    def _check_hashes(self, rows: list[_Entry]) -> None:
        tally, check_hash = self._tally, self._exact_path.check_hash
        for entry in rows:
            wrong_hash = check_hash(entry.hashed or entry.row, entry.number, tally)
            if wrong_hash is not None:
                entry.violations = [*entry.violations, wrong_hash]
            form = compare_log(entry.row) if self._exact_path.compares_log else None
            if form is not None:
                tally.hash_forms.add(form, entry.number)
            for habit, keeps in self._exact_path.habits:
                kept = keeps(entry.row)
                if kept is not None:
                    tally.habits.add((habit, entry.group.strain, kept), entry.number)

    def _explain(self, entry: _Entry) -> bool:
        """Add the violations of a line that was not accepted; tell whether it is a row."""
        if not entry.line.strip(json.BLANK):
            entry.row, entry.violations = None, [ES110.violation("a blank line")]
            return False
        if self._exact_path.is_noise(entry.line):
            entry.row = None
            self._tally.noise.add(None, entry.number)
            self._noted.fates[entry.number] = LineStatus.NOISE
            return False
        entry.row, violations = self._exact_path.reader.explain(
            entry.line, torn=entry.torn, read=entry.row, offset=entry.offset
        )
        entry.violations = violations
        if entry.row is None:
            self._lose(entry.number)
            return False
        codes = {violation.code for violation in violations}
        # Only its texts are read: an integer of too many digits must not end the check.
        if ES114.code in codes:
            from json import loads

            entry.hashed = loads(entry.line, parse_int=float)
        entry.scored = codes.isdisjoint(UNCERTAIN)
        for violation in violations:
            if violation.code == ES216.code:
                self._tally.fitting.add(frozenset(violation.expected["enum"]), entry.number)
        return True

    def _lose(self, number: int) -> None:
        self._tally.rows += 1
        self._tally.unread += 1
        self._noted.lose(number)

    def _skip(self, number: int, offset: int) -> None:
        self._lose(number)
        message = f"longer than {self._options.max_line_bytes:,} bytes; it was not checked"
        self._found.append(LineViolations(number, offset, None, [ES003.violation(message)]))

    def _count(self, entry: _Entry) -> None:
        """Count a row's score; a row without a usable score counts as unscored."""
        row, group = entry.row, entry.group
        listed, scores = group.sample_ids, group.scores
        if listed is not None and str(row.get("sample_id")) not in listed:
            self._tally.unlisted.add(group.place, entry.number)
        key: tuple[float | None, bool | None, bool] = (None, None, False)
        evaluation = row.get("evaluation")
        if entry.scored and evaluation.__class__ is dict:
            score, correct = evaluation.get("score"), evaluation.get("is_correct")
            # 0 and false are equal as keys; 0 alone has no meaning here.
            key = (
                score if isinstance(score, (int, float)) else None,
                correct if correct.__class__ is bool else None,
                has_error(row),
            )
        scores[key] = scores.get(key, 0) + 1
        is_right = answers.judgement(*key[:2], failed=key[2])
        if is_right is not None and self._exact_path.judges:
            answered: int | None = answers.is_reference(row)
            if answered is None and is_right and (mode := self._exact_path.search_mode):
                # Few runs are of such a scorer.
                from evalstream.formats.eee.rules.searched_answers import shows_no_reference

                answered = facts.UNSHOWN if shows_no_reference(row, mode) else None
            if answered is not None:
                strain = facts.STRAINS * answers.has_several_references(row) + group.strain
                habit = facts.ANSWER, group.place, strain, answered, is_right
                self._tally.habits.add(habit, entry.number)

    def _identify(self, entry: _Entry) -> None:
        row, group = entry.row, entry.group
        key = group.sample_digest(row.get("sample_id"))
        if key is None:
            self._tally.doubtful += 1
        else:
            self._link(entry)
        if self._options.samples is not None:
            self._sample(entry, self._options.samples)
        evaluation = row.get("evaluation")
        score = evaluation.get("score") if evaluation.__class__ is dict else None
        content = (
            row_view.input_text(entry.hashed or row),
            row.get("metadata"),
            self._output(row) if self._exact_path.compares_answers else 0,
            score if entry.scored else None,
        )
        entry.record = group.record(entry.number, entry.offset, entry.line, key, content)

    def _sample(self, entry: _Entry, request: SampleRequest) -> None:
        from evalstream.formats.eee.compared import sample_row

        row = sample_row(
            entry.hashed or entry.row, request, entry.number, entry.offset, is_scored=entry.scored
        )
        self._groups.sample(row._replace(group=entry.group.number).pack())

    def _output(self, row: Row) -> int:
        """Digest what copies of a sample share: the choices and the model's output."""
        sample = row.get("input")
        choices = sample.get("choices") if sample.__class__ is dict else None
        answer = row_view.row_answer(row, self._exact_path.context.choose_version(row))
        return choices_digest(row_view.choices_text(choices)) ^ answer_digest(answer)

    def _link(self, entry: _Entry) -> None:
        """Add the words that link a row to those of other runs, if its values are reliable."""
        row, links = entry.row, entry.group.links
        if links is None or not entry.scored:
            return
        from evalstream.stats.run_links import NO_INPUT_HASH, input_hash64, sample_hash64

        covered, word = row_view.hash_input(row), sample_hash64(row["sample_id"])
        shown = NO_INPUT_HASH
        if covered is not None:
            shown = input_hash64(word, *covered, row_view.choices_text(row["input"].get("choices")))
        links += (word, shown, entry.number, entry.offset)
