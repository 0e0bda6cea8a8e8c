"""What most rows of a file keep to, and the rows that break with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from evalstream.formats.eee.facts import RunFacts
from evalstream.model.data_class import NamedTuple
from evalstream.stats.tally import FirstSeenCounter

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


def describe_exceptions(facts: RunFacts, habit: str, lack: str) -> Iterator[tuple[str, int]]:
    """Describe and count the rows that break a habit, if most rows of their strain keep to it.

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
        yield f"{lack} in {kept:,} other rows (first {facts.at(min(found)[0])})", sum_rows(found)


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
