"""The log that a run was converted from, in terms that all harnesses share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from evalstream.model.data_class import NamedTuple


class SourceScore(NamedTuple):
    """The scores that a row of a sample may have; None where the log has no number.

    `own` is the score of the sample in its epoch, `reduced` the one over all epochs, which
    converters write in the place of each of them.
    """

    own: float | None
    reduced: float | None = None


Stated = Mapping[str, tuple[Any, ...]]
"""The values that members of a document may have, by their JSON Pointers without the first slash.

The first one of several is the log's own, and null stands for a member that is absent. Members for
which the log has none are not compared.
"""


class SourceMessage(NamedTuple):
    """A message of a conversation: the values that its members may have."""

    role: str
    members: Stated


class SourceSample(NamedTuple):
    """A sample as the log has it, with every spelling that converters are known to write.

    `part` tells apart the samples of one id: the epoch (Inspect) or the filter (lm-eval). `place`
    names it for people. `members` are the values of a row's members. `scores` are by the scorer, or
    by the metric where that is what a result is about; `default` is what a row has that names no
    result.
    """

    id: str
    part: str
    place: str
    members: Stated
    messages: tuple[SourceMessage, ...]
    scores: Mapping[str, SourceScore]
    default: SourceScore


class SourceResult(NamedTuple):
    """A result as the log has it.

    `id` is the evaluation_result_id that converters give it, `names` and `metrics` are the names
    of result and metric that they write. `scorer` is the key of the scores that it sums up. `part`
    is the only part that it is about, or None. Of several standard errors or deviations converters
    write any. `counts` are the numbers of samples that the log gives for it, and `stated` is what
    else it says of this result alone. With `is_required` every converter writes it.
    """

    id: str
    names: frozenset[str]
    metrics: frozenset[str]
    scorer: str
    part: str | None
    score: float
    standard_errors: tuple[float, ...]
    standard_deviations: tuple[float, ...]
    counts: frozenset[int]
    is_required: bool
    stated: Stated


def stated_values(*values: Any) -> tuple[Any, ...]:
    """Return the values that are there, each once."""
    return tuple(one for at, one in enumerate(values) if one is not None and one not in values[:at])


class Wanted(NamedTuple):
    """The log that a run names as its origin: its names, and its time in seconds."""

    names: frozenset[str]
    time: str | None


class SourceLog(Protocol):
    """A log that is compared with a run; nothing of it stays in memory but its results.

    `label` names its format and its file. `part_name` is what a part of a sample is called, and
    the member of a row's metadata that says it. `models` are the spellings of the model's id;
    empty where the log does not name it. `results` is None where the log has none. `stated` is what
    the log says of the data and the settings of each result, and `stated_of_run` what it says of
    the model, the time and the library of the aggregate. With `was_matched` early converters did
    not write its scores, but whether the output is a reference.
    """

    label: str
    part_name: str
    models: frozenset[str]
    results: tuple[SourceResult, ...] | None
    stated: Stated
    stated_of_run: Stated
    was_matched: bool

    def samples(self) -> Iterator[SourceSample]:
        """Iterate over the samples in the order of the log. Raises OSError and CannotCheck."""

    def find_part(self, name: str) -> str | None:
        """Return the part that a row with an evaluation_name is about, or None."""

    def close(self) -> None:
        """Delete what is kept on disk."""
