"""The facts of a run for its rules: its context before rows are read, what most rows keep to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from evalstream.engine.result import CheckContext
from evalstream.formats.eee import sample_hash, versions
from evalstream.formats.eee.aggregate import RESULTS, Aggregate, Join, Result
from evalstream.formats.eee.claim_states import SCORE
from evalstream.formats.eee.datastore import ROWS_ENDING
from evalstream.model.claim import JudgedClaim, State
from evalstream.model.data_class import NamedTuple, field
from evalstream.model.finding import Violation
from evalstream.model.run_summary import add_counts
from evalstream.rules.base import FileFacts, RowCheck, Rule
from evalstream.stats.claims.judgement import Judgement
from evalstream.stats.coverage import Coverage, ResultCoverage
from evalstream.stats.tally import FirstSeenCounter


class RowContext(CheckContext, frozen=True):
    """Everything known before the rows are read.

    `version` is for rows that declare none, `algorithm` is the algorithm of sample_hash, `recipes`
    are those that the file can follow, best first (empty: not known). The values from the
    aggregate are None without one; `results` are the results of the aggregate, which rows are
    joined with, and `library` is the harness that wrote the run, as the aggregate names it.
    `foreign_id` is the evaluation_id of the first row if it is not that of the aggregate.
    """

    version: str = ""
    algorithm: str = "sha256"
    recipes: tuple[str, ...] = ()
    evaluation_id: str | None = None
    model_id: str | None = None
    evaluation_names: frozenset[str] | None = None
    results: tuple[Result, ...] = ()
    library: str | None = None
    foreign_id: str | None = None

    @cached_property
    def join(self) -> Join:
        """The join of rows to the results that they score."""
        return Join(self.results)

    def choose_version(self, row: Mapping[str, Any]) -> str:
        """Return the version that checks a row: the requested one, else the declared one."""
        if self.options.schema_version != "auto":
            return self.options.schema_version
        declared = row.get("schema_version")
        if isinstance(declared, str):
            return versions.nearest_version(declared, instance=True)
        return self.version

    def finds_unknown_version(self, declared: object) -> bool:
        """Tell whether rows that declare this version have it reported as unknown."""
        if self.options.schema is not None or self.options.schema_version != "auto":
            return False
        return isinstance(declared, str) and not versions.is_known(declared, instance=True)


def by_version(
    check: Callable[[Mapping[str, Any], str], Iterable[Violation]],
) -> Callable[[RowContext], RowCheck]:
    """Return what binds a check of rows that needs the version that a row is checked by."""
    return lambda context: lambda row: check(row, context.choose_version(row))


def in_any_context(check: RowCheck) -> Callable[[RowContext], RowCheck]:
    """Return what binds a check of rows that needs no context."""
    return lambda _context: check


Explained = tuple[frozenset[str], int, int]
"""The recipes that give the hashes of some rows, the number of rows, and the first line."""

MIXED_FROM: Final = 4
"""A file is mixed if one row in this many follows another recipe than most rows."""

LOOKED_AT: Final = ("jsonl", "json")
"""The layouts of files whose rows were read."""

NO_ROWS: Final = "none"
"""The layout of a run without a rows file."""

UNREAD: Final = "unread"
"""The layout of rows that were not read to their end."""


class Followed(NamedTuple):
    """The recipe that most rows follow, and the rows that only other recipes explain.

    `is_mixture` says that too many rows follow other recipes than the file's.
    """

    recipe: str | None
    others: list[Explained]
    is_mixture: bool


class DatasetCoverage(NamedTuple):
    """The samples that the results over one dataset score.

    `samples` is the least number of them together. `is_even` tells whether all score the same or
    disjoint samples, as those over the splits of a dataset: otherwise some results lack samples.
    """

    samples: int
    is_even: bool

    @classmethod
    def of(cls, covers: Sequence[ResultCoverage]) -> DatasetCoverage:
        """Join the coverage of each result."""
        apart = sum(cover.firsts for cover in covers)
        sets = {(cover.samples, cover.digest) for cover in covers if cover.samples}
        largest = max((samples for samples, _ in sets), default=0)
        is_even = len(sets) < 2 or sum(samples for samples, _ in sets) == apart
        return cls(max(largest, apart), is_even)


class RunFacts(FileFacts, frozen=True, kw_only=True):
    """The facts of a run after all its rows are read.

    `path` is None for a stream, `aggregate_path` is None without a readable aggregate; `beside` are
    the rows files beside the aggregate that have its name, and `missing` names declared rows that
    do not exist. `checksums` holds the digests of the stored bytes by algorithm; `diagnose`
    returns why a checksum differs, if the reason can be found; `coverage` says which samples the
    rows score. `packed` names the compression of the file, None for none. `rivals` are two
    aggregates beside rows without one that both declare them. `legacy_path` is the path that the
    entry of an object of the public store gives for the aggregate. `is_late` says that the
    aggregate came after the rows, which were not compared with it. `judgements` are the claims of
    the aggregate, each judged by the rows.
    """

    context: RowContext
    path: str | None = None
    aggregate: Aggregate | None = None
    checksums: Mapping[str, str] = field(default_factory=dict)
    diagnose: Callable[..., str | None] = lambda _, **__: None
    coverage: Coverage = field(default_factory=Coverage)
    aggregate_path: str | None = None
    beside: tuple[str, ...] = ()
    missing: str | None = None
    packed: str | None = None
    rivals: tuple[str, ...] = ()
    legacy_path: str | None = None
    is_late: bool = False
    judgements: Sequence[Judgement] = ()

    @property
    def claims(self) -> list[JudgedClaim]:
        """The judged claims; those of an aggregate that came after the rows are not."""
        return [one.claim for one in self.judgements]

    @cached_property
    def unconfirmed(self) -> list[Judgement]:
        """The judgements of the claims that are not confirmed."""
        return [one for one in self.judgements if one.claim.state is not State.CONFIRMED]

    @property
    def is_documentation(self) -> bool:
        """Whether the aggregate reports published figures and therefore has no rows."""
        if self.layout != NO_ROWS or self.aggregate is None:
            return False
        return self.aggregate.is_documentation

    @property
    def stored_aggregate(self) -> str | None:
        """The path of the aggregate as the rules about a datastore judge it."""
        return self.legacy_path or self.aggregate_path

    @property
    def stored_rows(self) -> str | None:
        """The path of the rows as the rules about a datastore judge it."""
        if self.legacy_path is None or self.path is None:
            return self.path
        return self.legacy_path.removesuffix(".json") + ROWS_ENDING

    @property
    def has_joined_rows(self) -> bool:
        """Whether a row joins a result."""
        return any(result.place in self.tally.scores for result in self.context.results)

    @property
    def unjoined_rows(self) -> int:
        """The number of rows that join no result."""
        scores = (self.tally.scores.get(result.place) for result in self.context.results)
        return self.tally.rows - sum(one.joined_rows for one in scores if one is not None)

    @property
    def unjoined_samples(self) -> int:
        """The number of samples of rows that join no result."""
        joined = {result.place for result in self.context.results}
        covers = self.coverage.covers.items()
        return sum(cover.samples for place, cover in covers if place not in joined)

    @cached_property
    def rowless(self) -> frozenset[int]:
        """The places of results whose id no row has, in runs whose rows have such ids.

        A result over the parts of a benchmark that their rows confirm needs none of its own.
        """
        tally = self.tally
        if not tally.is_whole or tally.without_result.total() == tally.rows:
            return frozenset()
        confirmed = {one.pointer for one in self.claims if one.is_score and one.state.holds}
        return frozenset(
            result.place
            for result in self.context.results
            # If several results have the same id, their rows cannot be separated.
            if result.id is not None
            and self.ids[result.id] == 1
            and result.place not in tally.scores
            and f"{RESULTS}/{result.place}/{SCORE}" not in confirmed
        )

    @cached_property
    def followed_recipe(self) -> Followed:
        """The recipe that the rows follow.

        A recipe that only few rows require is not the file's, even if it explains all others as
        well.
        """
        explained = [entry for entry in self.tally.recipes.entries() if entry[0]]
        if not explained:
            return Followed(None, [], is_mixture=False)
        rows = sum(count for _, count, _ in explained)
        recipe = self.context.options.recipe
        if recipe == "auto":
            counts: dict[str, int] = {}
            for names, count, _ in explained:
                add_counts(counts, dict.fromkeys(names, count))
            recipe = sample_hash.likely_recipe(
                counts, rows, self.context.version, self.context.library
            )
        others = [entry for entry in explained if recipe not in entry[0]]
        of_others = sum(count for _, count, _ in others)
        return Followed(recipe, others, is_mixture=others != [] and MIXED_FROM * of_others >= rows)

    @cached_property
    def ids(self) -> Counter[str | None]:
        """How many results have each evaluation_result_id."""
        return Counter(result.id for result in self.context.results)

    def coverage_beside(self, result: Result) -> DatasetCoverage:
        """Return how the results over a result's dataset, itself included, cover it."""
        return self._datasets[result.name, result.dataset]

    @cached_property
    def _datasets(self) -> dict[tuple[object, object], DatasetCoverage]:
        covers: dict[tuple[object, object], list[ResultCoverage]] = {}
        for result in self.context.results:
            key = result.name, result.dataset
            covers.setdefault(key, []).append(self.coverage.of(result.place))
        return {key: DatasetCoverage.of(some) for key, some in covers.items()}


PROMPT: Final = "prompt"
SOURCE: Final = "source"
LOG: Final = "log"
ANSWER: Final = "answer"
"""Keys of a tally: a habit, the strain of the row, and whether it keeps to it.

Of `ANSWER` the place of the row's result stands before the strain.
"""

UNSHOWN: Final = 2
"""What stands in the key of a right answer that shows nothing of any reference, in place of whether
it is one."""

STRAINS: Final = 256
"""Rows of one evaluation_name are of one strain: parts of a benchmark have habits of their own.

Names share this many strains, so that a tally stays small for any number of them.
"""

FEWEST: Final = 3
MANY: Final = 5
MOST: Final = 10
"""A habit is that of a file if at least so many rows keep to it for each one that does not.

More are needed where a further demand on the answer may make a row wrong, and most where the text
of a prompt or an answer may have been changed on the way.
"""


class Misjudged(NamedTuple):
    """Rows that are called right, or wrong: how many, the first line, and how many others agree."""

    is_right: bool
    rows: int
    first: int
    agreed: int


def find_exceptions(rule: Rule, facts: RunFacts, habit: str, lack: str) -> Iterator[Violation]:
    """Report the rows that break a habit, if most rows of their strain keep to it.

    `lack` says what these rows have not, and the others have.
    """
    habits, kept, found = facts.tally.habits, 0, list[tuple[int, int]]()
    for strain in {key[1] for key in habits if key[0] == habit}:
        keeping = habits.count((habit, strain, True))
        rows, first = habits.get((habit, strain, False), (0, 0))
        kept += keeping
        if rows and keeping >= MOST * rows:
            found.append((first, rows))
    if found:
        message = f"{lack} in {kept:,} other rows (first {facts.at(min(found)[0])})"
        yield rule.violation(message, count=sum_rows(found))


Answers = FirstSeenCounter[tuple[str | int, ...]]
"""The answers of a result's rows by strain, whether they are a reference, and whether right."""


def group_answers(facts: RunFacts) -> Mapping[str | int, Answers]:
    """Return the answers of each result by its place; a result without any has none."""
    found = defaultdict[str | int, Answers](FirstSeenCounter)
    for key, (rows, line) in facts.tally.habits.items():
        if key[0] == ANSWER:
            found[key[1]].add(key[2:], line, rows)
    return found


def find_misjudged(answers: Answers) -> Iterator[Misjudged]:
    """Iterate over rows that are called right, or wrong, unlike others with such an answer.

    In most rows of the result and of their strain answers that are a reference are right, and most
    of those that are right are one.
    """
    agreed, found = 0, dict[bool, list[tuple[int, int]]]({False: [], True: []})
    for strain in {key[0] for key in answers}:
        own, wrong, right = (
            answers.get((strain, *both), (0, 0))
            for both in ((True, True), (True, False), (False, True))
        )
        agreed += own[0]
        if wrong[0] and own[0] >= max(MANY * wrong[0], FEWEST * right[0]):
            found[False].append((wrong[1], wrong[0]))
        if right[0] and own[0] > 1 and own[0] >= max(MANY * wrong[0], right[0]):
            found[True].append((right[1], right[0]))
    for is_right, some in found.items():
        if some:
            yield Misjudged(is_right, sum_rows(some), min(some)[0], agreed)


def sum_rows(found: Sequence[tuple[int, int]]) -> int:
    """Return how many rows there are in pairs of a line and rows."""
    return sum(rows for _, rows in found)
