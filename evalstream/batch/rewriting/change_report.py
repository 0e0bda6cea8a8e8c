"""Reports of runs that were fixed or migrated: changes, refusals, and values to supply.

A report keeps what it says of kinds of change and of needs, and not the outcomes themselves.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from evalstream._version import __version__
from evalstream.batch.rewriting.outcome import ChangeStatus, Outcome
from evalstream.model.changes import Change, ChangeClass, ChangeTally, Example, Need
from evalstream.model.data_class import DataClass, NamedTuple
from evalstream.model.exit_codes import ExitCode
from evalstream.model.text import count_noun, on_one_line
from evalstream.parsing.json import dumps_visible
from evalstream.parsing.lazy_regex import LazyPattern

LONGEST_VALUE: Final = 80
"""Number of characters of a value that an example shows."""


_TEXT: Final = rb'(?:null|"(?:[^"\\\n]|\\.)*")'
_BEGINNING: Final = LazyPattern(
    rb'\{"rows_file":%b,"aggregate":%b,"status":"|' % (_TEXT, _TEXT)
    + rb'\{"summary":\{"tool":\{"name":"evalstream","version":"[^"]*"\},"dry_run":'
)


class Words(NamedTuple):
    """The words of a report for what a command does, where, and for each class."""

    done: str
    would_be: str
    at: str
    titles: Mapping[ChangeClass, str]


MIGRATED: Final = Words(
    "written",
    "would be written",
    "to",
    {
        ChangeClass.MECHANICAL: "mechanical changes, which can be reversed",
        ChangeClass.FILLED: "filled in, because the source does not say it",
        ChangeClass.DECIDED: "decided changes",
    },
)
FIXED: Final = Words(
    "fixed",
    "would be fixed",
    "in",
    {
        ChangeClass.MECHANICAL: "safe repairs",
        ChangeClass.FILLED: "filled in",
        ChangeClass.DECIDED: "unsafe repairs",
    },
)


_NOT_WRITTEN: Final = {
    ChangeStatus.REFUSED: "refused",
    ChangeStatus.UNREAD: "could not be read",
    ChangeStatus.UNWRITTEN: "could not be written",
}


class _Total(DataClass):
    """A change over all runs: in how many runs, rows or documents, and the first place."""

    is_rows: bool
    place: str
    lines: tuple[int, ...]
    example: Example | None
    runs: int = 0
    times: int = 0


class ChangeReport:
    """Collects outcomes; `lines` sums them up at the end."""

    def __init__(
        self, words: Words, *, is_dry: bool, diff: bool = False, show_values: bool = True
    ) -> None:
        self._words = words
        self._is_dry, self._diff, self._show_values = is_dry, diff, show_values
        self._totals: dict[tuple[Change, bool], _Total] = {}
        self._needs: Counter[Need] = Counter()
        self._statuses: Counter[ChangeStatus] = Counter()
        self._left: Counter[tuple[bool, str]] = Counter()
        self.exit_code = ExitCode.PASSED

    def add(self, outcome: Outcome) -> None:
        """Count the outcome of one run."""
        self._statuses[outcome.status] += 1
        self._needs.update(outcome.needs)
        self.exit_code = max(self.exit_code, outcome.exit_code)
        is_done = outcome.status not in _NOT_WRITTEN
        if outcome.checked is not None and is_done and self._words is FIXED:
            for is_unsafe in (False, True):
                checked = outcome.checked
                counts = checked.fixable_unsafely if is_unsafe else checked.fixable
                self._left.update({(is_unsafe, code): n for code, n in counts.items()})
        if outcome.status not in {ChangeStatus.WRITTEN, ChangeStatus.PARTLY}:
            return
        self._count(outcome.row_changes, outcome.rows, is_rows=True)
        self._count(outcome.document_changes, outcome.aggregate, is_rows=False)

    @property
    def would_change(self) -> bool:
        """Whether a dry run found something to change."""
        return self._is_dry and bool(self._totals)

    def describe_outcome(self, outcome: Outcome) -> Iterator[str]:
        """Yield the lines about one run: where it is, or why it is not."""
        name = on_one_line(outcome.rows or outcome.aggregate or "")
        if outcome.status is ChangeStatus.WRITTEN:
            verb = self._verb()
            rows = f" ({count_noun(outcome.row_count, 'row')})" if outcome.rows else ""
            open_ = "; no score was confirmed" if outcome.is_unconfirmed else ""
            yield f"{name}: {verb}{self._where(outcome)}{rows}{open_}"
        elif outcome.status is ChangeStatus.PRESENT:
            since = ", unchanged since it passed" if outcome.is_remembered else ""
            yield f"{name}: already there: {on_one_line(outcome.target or '')}{since}"
        elif outcome.status is ChangeStatus.UNCHANGED:
            yield f"{name}: nothing to change"
        else:
            word = "fails"
            if outcome.status in _NOT_WRITTEN:
                word = _NOT_WRITTEN[outcome.status]
            elif outcome.row_changes or outcome.document_changes:
                word = f"{self._verb()}{self._where(outcome)}, but still fails"
            yield f"{name}: {word}: {on_one_line(''.join(outcome.reasons[:1]))}"
            for reason in outcome.reasons[1:]:
                yield f"  {on_one_line(reason)}"
            for need in outcome.needs:
                yield f"  {on_one_line(need.what)}: {need.options}"

    def lines(self) -> Iterator[str]:
        """Yield the lines about all runs."""
        for change_class, title in self._words.titles.items():
            chosen = [
                (change, total)
                for (change, _), total in self._totals.items()
                if change.kind.change_class is change_class
            ]
            if chosen:
                yield ""
                yield f"{title}:"
            chosen.sort(key=lambda item: (-item[1].runs, -item[1].times, item[0]))
            for change, total in chosen:
                yield from self._change_lines(change, total)
        if self._needs and self._statuses.total() > 1:
            yield ""
            yield "to be supplied:"
            for need, times in sorted(self._needs.items(), key=lambda item: (-item[1], item[0])):
                yield f"  {count_noun(times, 'run')}: {on_one_line(need.what)}: {need.options}"
        if self._left:
            yield ""
            left = (
                f"{code} {times:,}{' (unsafe: add --unsafe)' if is_unsafe else ''}"
                for (is_unsafe, code), times in sorted(self._left.items())
            )
            yield f"repairs left out: {', '.join(left)}"
        yield ""
        yield self._summary()

    def as_dict(self) -> dict[str, object]:
        """Return the totals of the outcomes, as the last line of a report in JSON."""
        changes = [
            {
                "class": change.kind.change_class.value,
                "kind": change.kind.name,
                "pointer": change.pointer,
                "in": "rows" if is_rows else "aggregate",
                "runs": total.runs,
                "times": total.times,
                "first": total.place,
            }
            for (change, is_rows), total in self._totals.items()
        ]
        needs = [
            {"what": need.what, "options": need.options, "runs": times}
            for need, times in self._needs.items()
        ]
        statuses = {status.value: self._statuses[status] for status in ChangeStatus}
        return {
            "summary": {
                "tool": {"name": "evalstream", "version": __version__},
                "dry_run": self._is_dry,
                "runs": statuses,
                "changes": changes,
                "needs": needs,
                "exit_code": int(self.exit_code),
            }
        }

    def _count(self, tally: ChangeTally, file: str | None, *, is_rows: bool) -> None:
        for change, seen in tally.seen.items():
            total = self._totals.get((change, is_rows))
            if total is None:
                lines = ", ".join(f"{line:,}" for line in seen.lines)
                place = f"{file}:{lines}" if lines else f"{file}"
                total = _Total(is_rows, place, seen.lines, seen.example)
                self._totals[change, is_rows] = total
            total.runs += 1
            total.times += seen.times

    def _change_lines(self, change: Change, total: _Total) -> Iterator[str]:
        noun = change.kind.unit if total.is_rows else "aggregate"
        where = f" {change.pointer}" if change.pointer else ""
        times = count_noun(total.times, noun)
        if self._statuses.total() > 1:
            times = f"{times} of {count_noun(total.runs, 'run')}, first {total.place}"
        elif total.lines:
            times = f"{times}, from line {total.lines[0]:,}"
        yield f"  {change.kind.name}{where}: {change.kind.title}: {times}"
        example = total.example
        if not self._diff or example is None or not self._show_values:
            return
        if example.pointer:
            yield f"    {on_one_line(example.pointer)}"
        for sign, text in (("-", example.before), ("+", example.after)):
            if text is not None:
                line = on_one_line(text)
                cut = line if len(line) <= LONGEST_VALUE else f"{line[: LONGEST_VALUE - 1]}…"
                yield f"    {sign} {cut}"

    def _verb(self) -> str:
        return self._words.would_be if self._is_dry else self._words.done

    def _where(self, outcome: Outcome) -> str:
        """Return the place of what was written, unless it is that of the source."""
        target = on_one_line(outcome.target or "")
        if self._words is FIXED:
            sources = (os.path.realpath(path) for path in (outcome.rows, outcome.aggregate) if path)
            if target in sources:
                return ""
        return f" {self._words.at} {target}"

    def _summary(self) -> str:
        words = {
            ChangeStatus.WRITTEN: self._verb(),
            ChangeStatus.PARTLY: "failing for other reasons",
            ChangeStatus.PRESENT: "already there",
            ChangeStatus.UNCHANGED: "unchanged",
            ChangeStatus.REFUSED: "refused",
            ChangeStatus.UNREAD: "not read",
            ChangeStatus.UNWRITTEN: "not written",
        }
        parts = [f"{self._statuses[status]:,} {word}" for status, word in words.items()]
        total = self._statuses.total()
        shown = [part for part in parts if not part.startswith("0 ")]
        return f"{count_noun(total, 'run')}: {', '.join(shown) or 'nothing to do'}"


def outcome_as_dict(outcome: Outcome, *, show_values: bool = True) -> dict[str, object]:
    """Return an outcome as a line of a report in JSON."""
    changes = [
        {
            "class": change.kind.change_class.value,
            "kind": change.kind.name,
            "pointer": change.pointer,
            "in": place,
            "times": seen.times,
            "lines": list(seen.lines),
        }
        for place, tally in (("rows", outcome.row_changes), ("aggregate", outcome.document_changes))
        for change, seen in tally.seen.items()
    ]
    verdict = None if outcome.checked is None else outcome.checked.verdict
    return {
        "rows_file": outcome.rows,
        "aggregate": outcome.aggregate,
        "status": outcome.status.value,
        "target": outcome.target,
        "rows": outcome.row_count,
        "verdict": verdict,
        "reasons": list(outcome.reasons) if show_values else list(outcome.reasons[:1]),
        "needs": [need._asdict() for need in outcome.needs],
        "changes": changes,
    }


def is_change_report(head: bytes) -> bool:
    """Tell by its first bytes whether a file is such a report in JSON."""
    return _BEGINNING.match(head) is not None


def report_line(value: object) -> bytes:
    """Return a value as a line of JSON."""
    return dumps_visible(value) + b"\n"
