"""Compute, once per block, what rows with the same version and ids have in common."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import xxhash

from evalstream.formats.eee import versions
from evalstream.formats.eee.aggregate import Join
from evalstream.formats.eee.catalogue import CATALOGUE
from evalstream.formats.eee.facts import STRAINS, RowContext
from evalstream.formats.eee.row_view import (
    content_digest,
    mark_digest,
    repeat_mark,
    sample_scope,
    to_double,
)
from evalstream.io.digest import digest128
from evalstream.model.block import Bytes
from evalstream.model.finding import Severity, Violation
from evalstream.model.row_record import ABSENT, pack
from evalstream.rules.base import RowCheck
from evalstream.stats.tally import FEW_VALUES, ScoreSums, Tally

if TYPE_CHECKING:
    from evalstream.model.sample_record import BlockSamples, GroupLabel
    from evalstream.stats.run_links import LinkKey

Row = Mapping[str, Any]

_MODULUS: Final = 1 << 64


class RowGroup:
    """The rows of a block that share version, evaluation, model, name and result.

    `violations` and `notices` are those of the rules that read nothing else. `evaluation` digests
    the evaluation_id, and `name` digests it with the evaluation_name: used as seeds, they make
    digests of inputs and samples differ. `place` is the place of the result that the rows belong
    to (`is_joined` if they belong to one, `is_named_alike` if they have its id or name;
    `is_counted` if the aggregate has results), and `number` is that of the group in its block.
    `has_ids` says that all ids have text, `is_unknown` that the version that they declare
    (`declared`) is not known, which is a violation. `rows` counts them, `first` is the line of the
    first, and `scores` counts their scores. `links` are the words of rows that can be compared with
    other runs, None if they are not collected.
    """

    __slots__ = (
        *("declared", "evaluation", "first", "is_counted", "is_foreign", "is_joined", "is_named"),
        *("is_named_alike", "is_unknown", "link_key", "links", "most_values", "name", "named"),
        *("notices", "number", "place", "result", "rows", "sample_ids", "scores", "unnamed"),
        *("version", "violations"),
    )

    def __init__(self, row: Row, line: int, context: RowContext, join: Join) -> None:
        version, result = row.get("schema_version"), row.get("evaluation_result_id")
        joined, name = join.result(row), row.get("evaluation_name")
        self.rows, self.first = 0, line
        self.violations: tuple[Violation, ...] = ()
        self.notices: tuple[Violation, ...] = ()
        self.named = has_ids(row)
        self.version = (
            version if isinstance(version, str) and version in versions.KNOWN_VERSIONS else None
        )
        self.evaluation = xxhash.xxh3_64_intdigest(f"{row.get('evaluation_id')}\x1e".encode())
        self.name = xxhash.xxh3_64_intdigest(sample_scope(row).encode())
        self.unnamed = result is None
        self.result = 0 if result is None else xxhash.xxh3_64_intdigest(f"{result}".encode())
        self.place = join.place(row) if joined is None else joined.place
        self.is_joined, self.number = joined is not None, 0
        self.is_named_alike = joined is not None and (
            (result is not None and result == joined.id) or name == joined.name
        )
        self.is_counted = bool(context.results)
        self.most_values = FEW_VALUES if joined is None else joined.most_values
        self.sample_ids = None if joined is None else joined.sample_ids
        self.is_named = name is None or isinstance(name, str)
        self.declared = version
        self.is_unknown = context.finds_unknown_version(version)
        self.is_foreign = row.get("evaluation_id") != context.evaluation_id
        self.scores: dict[tuple[Any, Any, bool], int] = {}
        claimed = context.evaluation_id
        self.link_key: LinkKey | None = None
        if context.links:
            from evalstream.stats.run_links import make_link_key

            data = (
                (None,) * 3 if joined is None else (joined.dataset, joined.repository, joined.split)
            )
            self.link_key = make_link_key(row, claimed, self.result, data)
        self.links: list[int] | None = None if self.link_key is None else []

    @property
    def strain(self) -> int:
        """The strain of the rows, as habits know it."""
        return self.name % STRAINS

    def sample_digest(self, sample: Any) -> bytes | None:
        """Return the digest of a sample_id within its evaluation, None if it cannot have one.

        A row whose evaluation_name is not text has none either, as its evaluation is unknown. The
        second half of a digest does not depend on the evaluation_name.
        """
        if not self.is_named:
            return None
        if sample.__class__ is str:
            return digest128(sample.encode(errors="surrogatepass"), self.name, self.evaluation)
        if isinstance(sample, float) and sample.is_integer():
            sample = int(sample)  # JSON Schema counts 1.0 as an integer
        if isinstance(sample, int):
            # The integer 1 and the text "1" are different samples.
            seeds = ~self.name % _MODULUS, ~self.evaluation % _MODULUS
            return digest128(f"{sample}".encode(), *seeds)
        return None

    def record(
        self,
        number: int,
        offset: int,
        line: Bytes,
        key: bytes | None,
        content: tuple[bytes | None, Any, int, Any],
    ) -> bytes:
        """Pack one row: its line and offset, and digests of its score, input and output.

        `key` digests its sample, None if the row has no sample id. `content` has a text that is
        equal for rows with the same input, None or empty without one; the metadata; a digest of
        choices and answer, 0 if they are not compared; and the score.
        """
        question, metadata, output, score = content
        ids = self.place, offset, self.name, to_double(score)
        digest = content_digest(line)
        if key is None:
            return pack(number, digest128(line), ABSENT, digest, 0, 0, 0, *ids)
        return pack(
            number,
            key,
            digest128(question, self.evaluation) if question else ABSENT,
            digest,
            output,
            mark_digest(repeat_mark(metadata)),
            self.result,
            *ids,
        )

    def sums(self, name: Any) -> ScoreSums:
        """Return the exact sums of the counted scores."""
        scores = ScoreSums(most_values=self.most_values)
        for (score, correct, failed), times in self.scores.items():
            scores.add(name, score, correct, failed=failed, times=times)
        return scores


class RowGroups:
    """The row groups of one block."""

    def __init__(self, context: RowContext, checks: Sequence[RowCheck]) -> None:
        self._context, self._join, self._checks = context, context.join, checks
        self._known: dict[tuple[Any, ...], RowGroup] = {}
        self._all: list[tuple[RowGroup, Any]] = []
        self._labels: list[GroupLabel] = []
        self._samples: list[bytes] = []

    def of(self, row: Row, line: int) -> RowGroup:
        """Return the group of a row."""
        key = (
            row.get("schema_version"),
            row.get("evaluation_id"),
            row.get("model_id"),
            row.get("evaluation_name"),
            row.get("evaluation_result_id"),
        )
        try:
            group = self._known[key]
            group.first = min(group.first, line)
            return group
        except KeyError:
            # 1, 1.0 and true are equal as keys, but rules that check types distinguish them.
            if not _PLAIN.issuperset(map(type, key)):
                return self._made(row, line)
            group = self._known[key] = self._made(row, line)
            return group
        except TypeError:
            return self._made(row, line)

    def tally(self, tally: Tally) -> None:
        """Count the violations and notices that the rows share."""
        for group, name in self._all:
            rows, first = group.rows, group.first
            if group.version is not None:
                tally.versions.add(group.version, first, rows)
            if group.unnamed:
                tally.without_result.add(None, first, rows)
            lacks_id = group.unnamed and self._join.knows_ids
            is_quiet = isinstance(name, str) and not group.violations and not lacks_id
            if not group.is_joined and is_quiet:
                tally.unjoined.add(None, first, rows)
            for violation in group.notices:
                tally.notices.add(notice_key(violation), first, rows)
            if group.is_foreign or group.violations:
                tally.doubtful += rows
            if group.is_counted:
                sums = group.sums(name)
                if tally.scores.setdefault(group.place, sums) is not sums:
                    tally.scores[group.place].merge(sums)

    def links(self) -> tuple[tuple[LinkKey, bytes], ...]:
        """Return the words that link the rows to those of other runs."""
        return tuple(
            (group.link_key, array("Q", group.links).tobytes())
            for group, _ in self._all
            if group.link_key is not None and group.links
        )

    def sample(self, packed: bytes) -> None:
        """Add rows for a comparison, packed, whose groups are numbers of this block's groups."""
        self._samples.append(packed)

    def samples(self) -> BlockSamples | None:
        """Return the rows for a comparison, None if they are not collected."""
        if self._context.options.samples is None:
            return None
        from evalstream.model.sample_record import BlockSamples

        return BlockSamples(tuple(self._labels), b"".join(self._samples))

    def _made(self, row: Row, line: int) -> RowGroup:
        group = RowGroup(row, line, self._context, self._join)
        shared = [violation for check in self._checks for violation in check(row)]
        group.violations = tuple(
            violation for violation in shared if not is_aggregated_notice(violation)
        )
        group.notices = tuple(violation for violation in shared if is_aggregated_notice(violation))
        group.number = len(self._all)
        self._all.append((group, row.get("evaluation_name")))
        if self._context.options.samples is not None:
            names = row.get("evaluation_name"), row.get("evaluation_result_id")
            self._labels.append(group_label(group, *names))
        return group


def has_ids(row: Row) -> bool:
    """Tell whether every id that rows share has text other than white space."""
    ids = (row.get("evaluation_name"), row.get("evaluation_id"), row.get("model_id"))
    return not any(text.__class__ is str and (not text or text.isspace()) for text in ids)


def is_aggregated_notice(violation: Violation) -> bool:
    """Tell whether a row rule only gives notices, which are reported once for all rows."""
    severity = (
        CATALOGUE[violation.code].severity if violation.severity is None else violation.severity
    )
    return severity is Severity.INFO


def notice_key(violation: Violation) -> tuple[str, str, str]:
    """Return what rows with equal notices share; values of single rows are left out."""
    return violation.code, violation.message, violation.pointer or ""


_PLAIN: Final = frozenset({str, type(None)})


def group_label(group: RowGroup, name: Any, result: Any) -> GroupLabel:
    """Return the label of a group of rows with an evaluation_name and an evaluation_result_id."""
    from evalstream.model.sample_record import GroupLabel

    if group.is_named_alike:
        return GroupLabel(group.place)
    return GroupLabel(None, *(None if text is None else f"{text}" for text in (name, result)))
