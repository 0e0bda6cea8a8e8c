"""The engine of rows: it runs blocks under a context, and words repeated rows."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Final

from evalstream.engine.result import BlockResult
from evalstream.formats.eee.block_pass import BlockPass
from evalstream.formats.eee.exact_path import ExactPath
from evalstream.formats.eee.facts import RowContext
from evalstream.formats.eee.rules import sample_hash
from evalstream.formats.eee.rules.coverage import ES608
from evalstream.formats.eee.rules.sample_hash import Duplicate
from evalstream.model.block import Lines
from evalstream.model.finding import Severity, Violation
from evalstream.rules.base import Where
from evalstream.stats.duplicates import DuplicateKind, DuplicateMatch

if TYPE_CHECKING:
    from evalstream.formats.eee.fast_path import ScanPlan


WORTH_A_SCANNER_BYTES = 1 << 19
"""From this size in bytes it is worth loading the fast path."""


class RowEngine:
    """A pure function of (bytes, context): holds compiled rules; no state changes a result."""

    _expected: ClassVar[int] = 0

    def __init__(self, context: RowContext) -> None:
        self.context = context
        self._exact_path = ExactPath(context)
        self._fast_path: ScanPlan | None = None
        self._is_ready = False

    def run(self, lines: Lines) -> BlockResult:
        """Check whole lines of an input."""
        self.expect(len(lines.data))
        return BlockPass(self._exact_path, self._fast_path, lines).result()

    def expect(self, size: int) -> None:
        """Prepare for `size` more bytes, before workers are forked.

        The fast path is loaded and compiled when the size makes it worthwhile.
        """
        RowEngine._expected += size
        if not self._is_ready and RowEngine._expected >= WORTH_A_SCANNER_BYTES:
            from evalstream.formats.eee.fast_path import fast_path_for

            self._is_ready = True
            self._fast_path = fast_path_for(self.context, self._exact_path.reader)

    def is_native(self, sample: bytes) -> bool:
        """Tell whether the scanner takes most rows of a sample, and leaves little to Python.

        Python words each finding that is shown: without a limit, all of them.
        """
        whole = sample[: sample.rfind(b"\n") + 1]
        if self._fast_path is None or not whole:
            return False
        check = BlockPass(self._exact_path, self._fast_path, Lines(whole))
        result = check.result()
        shown = 0 if self.context.options.max_findings else len(result.violations)
        return 4 * (check.slow_lines + shown) < result.tally.lines


class EngineContext(RowContext, frozen=True):
    """The context of rows with the engine that checks them."""

    def checker(self) -> RowEngine:
        """Return the row engine of this context, compiled once per process."""
        return _make_engine(self)

    def duplicate(self, match: DuplicateMatch, where: Where) -> Violation:
        """Return the violation of a row with the score or input of an earlier one."""
        is_of_scorers = match.kind is DuplicateKind.OTHER_OUTPUT and self._shows_answers_of_scorers
        rule, message, pointer, severity = OF_SCORERS if is_of_scorers else DUPLICATES[match.kind]
        text = message.format(where(match.earlier))
        return rule.violation(text, pointer=pointer, severity=severity)

    @property
    def _shows_answers_of_scorers(self) -> bool:
        """Whether the converter of Inspect wrote rows of several scorers.

        It writes the answer or the explanation of the scorer in place of the output.
        """
        if "inspect" not in (self.library or "").casefold():
            return False
        scorers = {result.id.rpartition(":")[0] for result in self.results if result.id}
        return len(scorers - {""}) > 1


OF_SCORERS: Final = Duplicate(
    ES608,
    "output differs from that of the same sample under another result; the converter of "
    "Inspect shows the answer or the explanation of each scorer there",
    severity=Severity.INFO,
)
"""The message of ES608 where converters are known to write several outputs of a sample."""

_OTHER_OUTPUT: Final = "choices or output differ from those of the same sample {}"

DUPLICATES: Final = {
    **sample_hash.DUPLICATES,
    DuplicateKind.OTHER_OUTPUT: Duplicate(ES608, _OTHER_OUTPUT),
}
"""The violations of repeated rows, by the kind of the repetition."""


@lru_cache(maxsize=8)
def _make_engine(context: RowContext) -> RowEngine:
    return RowEngine(context)
