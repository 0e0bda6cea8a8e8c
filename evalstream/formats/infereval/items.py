"""The pass over the items of an evaluation, one at a time and in order: their text and claims."""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from evalstream.engine.documents import DocumentCheck
from evalstream.engine.positions import envelope_mover, move_behind, part_locator, place_violations
from evalstream.engine.row_pass import BREAKS
from evalstream.formats.infereval.format import EVALUATION, ITEMS
from evalstream.formats.infereval.rules.benchmarks import INF201, INF202, INF208
from evalstream.formats.infereval.rules.evaluations import INF301
from evalstream.formats.infereval.rules.samples import (
    INF303,
    INF304,
    INF305,
    INF306,
    INF308,
    INF309,
    UsualVerdicts,
    wrong_number_of_samples,
)
from evalstream.formats.infereval.schema import fits, item_validator, schema_violations
from evalstream.formats.infereval.views import Evaluation, Item
from evalstream.formats.infereval.votes import VERDICTS
from evalstream.model.claim import JudgedClaim, Reason, State
from evalstream.model.finding import PlacedViolation, Position, Violation
from evalstream.model.text import count_noun
from evalstream.parsing.array_elements import ArrayError, Element
from evalstream.parsing.json import UTF8_MARK, Parsed, SyntaxIssue, blank_values, member
from evalstream.parsing.json_values import is_number, object_or_empty, parse_document
from evalstream.parsing.object_splitter import Envelope
from evalstream.rules import syntax
from evalstream.rules.syntax import BEGINS_WITH_MARK, ES102, ObjectReading, read_object

if TYPE_CHECKING:
    from evalstream.formats.infereval.compared import ItemSamples
    from evalstream.stats.log_links import LogLinks


_PLACE: Final = re.compile(r"at column \d+ \(byte \d+\)|at byte \d+(?: of the line)?")


def parse_envelope(envelope: Envelope, max_depth: int) -> ObjectReading:
    """Read the part outside the items; offsets and lines are those of the whole document."""
    text, before = envelope.text, 0
    violations: list[PlacedViolation] = []
    if text.startswith(UTF8_MARK):
        before = len(UTF8_MARK)
        text = text[before:]
        violations.append(PlacedViolation(ES102.violation(BEGINS_WITH_MARK), 1))
    parsed = parse_document(text, max_depth)
    move = envelope_mover(envelope)
    issues = [
        one if one.offset is None else _move_issue(one, envelope.offset(one.offset + before), move)
        for one in parsed.issues
    ]
    violations += _explain_issues(issues)
    if parsed.readable and not isinstance(parsed.value, dict):
        violations += read_object(text, max_depth, torn=True, noun="an evaluation").violations
    is_object = parsed.readable and isinstance(parsed.value, dict)
    value, replaced = parsed.value if is_object else None, _replaced_pointers(issues)
    blank_values(value, replaced)
    return ObjectReading(value, violations, replaced)


def read_item(text: bytes, offset: int, start: Position, max_depth: int) -> Parsed:
    """Read an item whose first byte is at an offset and a position of the document."""
    parsed, move = parse_document(text, max_depth), partial(move_behind, start)
    issues = [_move_issue(one, (one.offset or 0) + offset, move) for one in parsed.issues]
    return parsed._replace(issues=issues)


def _replaced_pointers(issues: Iterable[SyntaxIssue]) -> frozenset[str | None]:
    return frozenset(issue.pointer for issue in issues if issue.replaced)


def _move_issue(
    issue: SyntaxIssue, offset: int, move: Callable[[Position], Position]
) -> SyntaxIssue:
    line, column = move(Position(issue.line or 1, issue.column))
    if issue.offset is None:
        return issue._replace(line=line)
    message = _PLACE.sub(f"at byte {offset:,} of the file", issue.message)
    return issue._replace(message=message, offset=offset, line=line, column=column)


def _explain_issues(issues: list[SyntaxIssue]) -> list[PlacedViolation]:
    explained = zip(syntax.explain(issues, torn=True), issues, strict=True)
    return [PlacedViolation(one, issue.line, issue.column) for one, issue in explained]


ID_DIGEST_BYTES: Final = 16
"""The kept length of an item's id: about 150 bytes with its number, 1.5 GB for ten million."""

OF_ITEMS: Final = (*(INF201, INF202, INF301, INF303, INF304), *(INF305, INF306, INF308, INF309))
"""The rules that check an item."""


class ItemPass:
    """Checks items as they come, and notes their violations at once.

    `count` is the number of items so far, `found` the ids of the benchmark's items among them;
    `samples` is the number of samples, and of `answered` ones the verdict stands beside a response.
    `tally` counts the claims of the items.
    """

    def __init__(self, documents: DocumentCheck, evaluation: Evaluation) -> None:
        self.count = 0
        self.found: set[str] = set()
        self.samples = self.answered = 0
        options = documents.options
        self._documents, self._evaluation = documents, evaluation
        self._depth = options.max_depth
        self._schema = item_validator(EVALUATION, options.engine)
        self._seen: dict[bytes, int] = {}
        self._verdicts: int | None = None
        self.tally = VerdictTally()
        self.usual = UsualVerdicts(evaluation.usual_reading)
        # The numbers and lines of items without samples: an evaluation may lack them all.
        self._unsampled = array("Q")
        self._samples = self._sample_collector()
        self.links = self._link_collector()

    def take(self, element: Element) -> None:
        """Check one item, which is complete."""
        parsed = self._read(element)
        found = _explain_issues(parsed.issues)
        if parsed.readable:
            replaced = _replaced_pointers(parsed.issues)
            blank_values(parsed.value, replaced)
            if self._samples is not None and isinstance(parsed.value, dict):
                self._samples.add(parsed.value, element.line, element.offset)
            found += [
                PlacedViolation(violation)
                for violation in self._violations(parsed.value, element.line)
                if violation.pointer not in replaced
            ]
        else:
            self._documents.cannot(f"item {self.count:,} could not be read")
        found = self._placed(found, element)
        for violation, line, column in sorted(found, key=PlacedViolation.order):
            place = f"/{ITEMS}/{self.count}{violation.pointer or ''}"
            self._show(violation._replace(pointer=place), line, column)
        self.count += 1

    def _placed(self, found: list[PlacedViolation], element: Element) -> list[PlacedViolation]:
        """Add the positions of pointers if one may be shown, else the line of the item."""
        if any(self._documents.collector.may_show(one.violation) for one in found):
            start = Position(element.line, element.column)
            found = place_violations(found, part_locator(element.text, "", start))
        return [one._replace(line=one.line or element.line) for one in found]

    def finish(self) -> None:
        """Note that there are no more items."""
        if self._samples is not None:
            self._samples.finish()

    def break_off(self, error: ArrayError, last: Element | None) -> None:
        """Report where the items cannot be read further; `last` is the broken item, if known."""
        before = f"{count_noun(self.count, 'whole item')} before it, and the rest was not checked"
        place = f"/{ITEMS}/{self.count}"
        rule = BREAKS[error.name]
        message = f"{error.message} (byte {error.offset:,} of the file)"
        broken = PlacedViolation(rule.violation(message), error.line, error.column)
        if last is not None and error.name in ("invalid-json", "truncated-record"):
            parsed = self._read(last)
            if not parsed.readable:
                broken = _explain_issues(parsed.issues)[0]
        violation, line, column = broken
        message = f"{violation.message}; {before}"
        self._show(violation._replace(message=message, pointer=place), line, column)
        self._documents.cannot("the items could not be read to their end")

    def _link_collector(self) -> LogLinks | None:
        if not self._documents.options.links:
            return None
        from evalstream.stats.log_links import LogLinks

        document = self._evaluation.document
        run = [document.get(name) for name in ("id", "started_at")]
        model = [member(document.get("model"), name) for name in ("provider", "model_id")]
        is_run = all(isinstance(one, str) for one in run)
        named = document.get("benchmark_id")
        return LogLinks(run if is_run else None, named, "/".join(map(str, model)))

    def _count_said(self, item: Item) -> None:
        """Count what the responses of an item say, and link them to those of other evaluations.

        The times of its calls tell its responses from those of other models.
        """
        self.usual.add(item, f"/{ITEMS}/{self.count}")
        name = item.value.get("id")
        if self.links is None or not isinstance(name, str):
            return
        self.links.add_samples([(name, None)])
        for index, response, _ in item.answers:
            time = item.value["samples"][index].get("wall_time_ms")
            if isinstance(time, float) and not time.is_integer():
                self.links.add_answers([(name, index, response, time)])

    def _sample_collector(self) -> ItemSamples | None:
        request, samples = self._documents.options.samples, self._documents.collector.samples
        if request is None or samples is None:
            return None
        from evalstream.formats.infereval.compared import ItemSamples

        return ItemSamples(samples, request, self._evaluation)

    def _read(self, element: Element) -> Parsed:
        start = Position(element.line, element.column)
        return read_item(element.text, element.offset, start, self._depth)

    def _violations(self, value: Any, line: int) -> Iterator[Violation]:
        if not fits(self._schema, value):
            yield from schema_violations(self._schema, value)
        if not isinstance(value, dict):
            return
        verdicts = value.get("analyst_verdicts")
        if self._verdicts is None and isinstance(verdicts, list):
            self._verdicts = len(verdicts)
        item = Item(self.count, value, self._evaluation, self._verdicts)
        self.samples += len(item.numbered_samples)
        self.answered += len(item.answers)
        self._count_said(item)
        if self.samples:
            self._report_unsampled()
        yield from self._apply_rules(item, line)
        yield from self._check_repeated(value)

    def _apply_rules(self, item: Item, line: int) -> Iterator[Violation]:
        self.tally.add(item)
        is_unsampled = not self.samples and not item.value.get("samples")
        for rule in OF_ITEMS:
            for violation in rule.apply(item):
                if is_unsampled and violation.code == INF303.code:
                    self._unsampled.extend((self.count, line))
                else:
                    yield violation

    def _report_unsampled(self) -> None:
        """Report the earlier items without samples once another item has some."""
        number = self._evaluation.samples
        if self._unsampled and number is not None:
            for place, line in zip(self._unsampled[::2], self._unsampled[1::2], strict=True):
                violation = wrong_number_of_samples(0, number)
                self._show(violation._replace(pointer=f"/{ITEMS}/{place}{violation.pointer}"), line)
            self._unsampled = array("Q")

    def _check_repeated(self, value: dict[str, Any]) -> Iterator[Violation]:
        name, benchmark = value.get("id"), self._evaluation.benchmark
        if not isinstance(name, str):
            return
        digest = _digest(name)
        first = self._seen.setdefault(digest, self.count)
        if first != self.count:
            yield INF208.violation(f"the same id as item {first:,}", "/id", found=name)
        if benchmark is not None and name in benchmark.by_id:
            self.found.add(name)

    def _show(self, violation: Violation, line: int | None, column: int | None = None) -> None:
        """Pass a finding on: items come in order, so all earlier findings are already out."""
        self._documents.collector.note(violation, self._documents.name, line, column)


def _digest(name: str) -> bytes:
    return blake2b(name.encode(errors="replace"), digest_size=ID_DIGEST_BYTES).digest()


VERDICT: Final = "model_verdict"
VOTE: Final = "majority_vote"
KIND: Final = "majority vote"

Verdicts = Mapping[str, int]
"""The number of items, or of samples, by verdict."""


@dataclass(slots=True)
class _Group:
    """The claims of one member that are in one state: how many, and over how many samples."""

    items: int = 0
    samples: int = 0
    claimed: Counter[str] = field(default_factory=Counter)
    recomputed: Counter[str] = field(default_factory=Counter)


class VerdictTally:
    """Counts the claims of items by member, state and reason; claims of one kind become one."""

    def __init__(self) -> None:
        self._groups: defaultdict[tuple[str, State, Reason | None], _Group] = defaultdict(_Group)

    def add(self, item: Item) -> None:
        """Add the claims of an item: the verdict of its model, and the counts of its vote."""
        samples, outcome, reason = item.samples, item.outcome, None
        if not samples:
            reason = Reason.UNREAD if samples is None else Reason.NO_ROWS
        elif outcome.tie_broken and item.evaluation.tie_break is None:
            reason = Reason.UNSURE
        verdict, votes = item.value.get(VERDICT), object_or_empty(item.value.get(VOTE))
        claims: list[tuple[str, Verdicts, Verdicts]] = []
        if verdict in VERDICTS:
            claims.append((VERDICT, {verdict: 1}, {outcome.verdict: 1}))
        counts = [votes.get(name, 0) for name in VERDICTS]
        if votes and all(map(is_number, counts)):
            claims.append((VOTE, dict(zip(VERDICTS, counts, strict=True)), outcome.counts))
        for place, claimed, recomputed in claims:
            # No rule for ties changes what is counted.
            why = None if place == VOTE and samples else reason
            state = State.CONFIRMED if claimed == recomputed else State.REFUTED
            group = self._groups[place, State.OPEN if why else state, why]
            group.items += 1
            group.samples += len(samples or ())
            for name, number in claimed.items():
                group.claimed[name] += number
            for name, number in recomputed.items() if samples else ():
                group.recomputed[name] += number

    def claims(self) -> Iterator[JudgedClaim]:
        """Yield a claim for each member, state and reason, which covers all of its items."""
        for (place, state, reason), group in sorted(self._groups.items(), key=_order):
            yield JudgedClaim(
                f"/{ITEMS}",
                f"{place} of {count_noun(group.items, 'item')}",
                KIND,
                _counts(group.claimed),
                _counts(group.recomputed) if group.samples else None,
                state,
                None if reason is None else reason.value,
                group.samples,
                # The counts of a vote are not scores.
                is_score=place == VERDICT,
            )


def _order(entry: tuple[tuple[str, State, Reason | None], _Group]) -> tuple[int, int, str]:
    (place, state, reason), _ = entry
    return place != VERDICT, list(State).index(state), "" if reason is None else reason.value


def _counts(verdicts: Counter[str]) -> dict[str, int]:
    return {verdict: verdicts[verdict] for verdict in VERDICTS}
