"""INS2: rules about all samples of a log: which there are, and what other parts say of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.formats.inspect.values import MOST_COUNT, is_count
from evalstream.formats.inspect.views import LogView
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.parsing.json import member
from evalstream.parsing.json_values import list_or_empty, object_or_empty
from evalstream.rules.base import declare_rule


def _check_repeated(log: LogView) -> Iterator[Violation]:
    for sample, epoch, place in log.store.iterate_repeated():
        yield INS201.violation(f"the sample {_name_sample(sample, epoch)} was there before", place)
    for sample, epoch, place, of, of_epoch in log.store.iterate_copied():
        name, other = _name_sample(sample, epoch), _name_sample(of, of_epoch)
        message = f"the sample {name} has a call of a model of the sample {other}"
        yield INS201.violation(message, place)


def _drifted(log: LogView) -> Iterator[Violation]:
    for sample, epoch, place, first, target in log.store.iterate_drifted():
        message = f"the sample {_name_sample(sample, epoch)} has another target in other epochs"
        yield INS220.violation(message, f"{place}/target", expected=first, found=target)


class _Planned(NamedTuple):
    """How many samples were to be run, and how few and how many the dataset and the limit allow."""

    chosen: int
    least: int
    most: int


def _planned(log: LogView) -> _Planned | None:
    """Return how many samples were to be run; None where samples were chosen by their ids.

    The first releases gave the number of samples after the limit as that of the dataset.
    """
    size: Any = member(log.eval.get("dataset"), "samples")
    limit: Any = log.config.get("limit")
    if log.sample_ids is None or not is_count(size) or log.config.get("sample_id") is not None:
        return None
    ends = [0, MOST_COUNT] if limit is None else [0, limit] if is_count(limit) else limit
    if not isinstance(ends, list) or len(ends) != 2 or not all(map(is_count, ends)):
        return None
    chosen, (start, end) = len(log.sample_ids), ends
    least = chosen if chosen == size else max(min(end, size) - start, 0)
    return _Planned(chosen, least, max(end - start, 0))


_LISTED_SINCE: Final = (0, 3, 43)
"""The release from which on each log has the number of samples of its dataset, and their ids."""


def _missing(log: LogView) -> Iterator[Violation]:
    planned, dataset = _planned(log), log.eval.get("dataset")
    lacking = [one for one in ("samples", "sample_ids") if member(dataset, one) is None]
    if lacking and log.is_finished and not log.is_before(_LISTED_SINCE):
        message = f"the dataset has no {lacking[0]}, which tells what samples were to be run"
        yield INS202.violation(message, log.at("eval", "dataset"), found=dataset)
    if planned is not None and planned.chosen < planned.least:
        message = "the dataset and the limit have more samples than were to be run"
        place = log.at("eval", "dataset", "sample_ids")
        yield INS202.violation(message, place, expected=planned.least, found=planned.chosen)
    if not log.is_finished or not log.samples_known or log.is_unlogged:
        return
    if log.sample_ids is None:
        yield from _fewer(log)
        return
    number, first = log.store.missing(log.epochs)
    is_told = number <= most_lacking(log)
    if number and (not is_told or log.results.get("logged_samples") is not None):
        named = ", ".join(_name_sample(*one) for one in first)
        more = ", …" if number > len(first) else ""
        message = f"{count_noun(number, 'sample')} of the dataset is missing: {named}{more}"
        if number > 1:
            message = message.replace(" is missing", " are missing", 1)
        severity = Severity.WARNING if is_told else None
        yield INS202.violation(message, log.at("eval", "dataset", "sample_ids"), severity=severity)


def _fewer(log: LogView) -> Iterator[Violation]:
    """Report fewer samples than the dataset and the limit give, in a log that lists no ids."""
    size: Any = member(log.eval.get("dataset"), "samples")
    limit: Any = log.config.get("limit")
    if not is_count(size) or log.config.get("sample_id") is not None or most_lacking(log):
        return
    if limit is None or is_count(limit):
        least = min(size, size if limit is None else limit) * log.epochs
        if log.store.count < least:
            message = f"the dataset and the limit give {count_noun(least, 'sample')}"
            place = log.at("eval", "dataset", "samples")
            yield INS202.violation(message, place, expected=log.store.count, found=size)


def most_lacking(log: LogView) -> float:
    """Return how many samples a log may lack: those of a run that was stopped, and says so.

    Source: EvalResults in log/_log.py of inspect_ai.
    """
    stopped: Any = log.results.get("early_stopping")
    logged: Any = log.results.get("logged_samples")
    stops = member(stopped, "early_stops")
    if is_count(logged) or (stopped is not None and not isinstance(stops, list)):
        return 0 if is_count(logged) and log.store.count < logged else math.inf
    return len(list_or_empty(stops))


def may_lack_samples(log: LogView) -> bool:
    """Tell whether a log lacks samples, and only its logged_samples says that it was drained."""
    if not log.is_finished or not log.samples_known or log.is_unlogged:
        return False
    is_whole = log.sample_ids is not None and not log.store.missing(log.epochs)[0]
    return is_count(log.results.get("logged_samples")) and not is_whole


def _check_unknown(log: LogView) -> Iterator[Violation]:
    planned = _planned(log)
    if planned is not None and planned.chosen > planned.most:
        message = "more samples were to be run than the limit lets through"
        place = log.at("eval", "dataset", "sample_ids")
        yield INS203.violation(message, place, expected=planned.most, found=planned.chosen)
    if log.sample_ids is None:
        return
    for sample, epoch, place in log.store.iterate_undeclared(log.epochs):
        message = f"the dataset and the epochs do not have the sample {_name_sample(sample, epoch)}"
        yield INS203.violation(message, place)


def _name_sample(sample: str, epoch: int) -> str:
    return f"{sample} (epoch {epoch:,})"


def _check_unscored(log: LogView) -> Iterator[Violation]:
    if log.store.failed and log.is_finished:
        message = f"{count_noun(log.store.failed, 'sample')} ended with an error"
        yield INS211.violation(message, log.at("status"), found=log.status)
    for scorer in log.store.scorers() if log.is_finished else ():
        number = log.store.without_score(scorer)
        if number:
            message = (
                f"{count_noun(number, 'sample')} without an error and without a score of {scorer}"
            )
            yield INS211.violation(message, log.at("status"), found=log.status)


INS220: Final = declare_rule("INS220", record=_drifted)
INS201: Final = declare_rule("INS201", record=_check_repeated)
INS202: Final = declare_rule("INS202", record=_missing)
INS203: Final = declare_rule("INS203", record=_check_unknown)
INS204: Final = declare_rule("INS204")
INS210: Final = declare_rule("INS210")


def _check_unlogged(log: LogView) -> Iterator[Violation]:
    if log.is_header:
        message = "this is the header of a log, without samples to compute its figures from"
        message += "" if log.reductions is None else ": they are compared with its reductions"
        yield INS214.violation(message, log.at(), severity=Severity.WARNING)
    elif log.is_unlogged:
        message = (
            "the log was written without samples: its figures are compared with its reductions"
        )
        yield INS214.violation(message, log.at("eval", "config", "log_samples"), found=False)


INS214: Final = declare_rule("INS214", record=_check_unlogged)
INS211: Final = declare_rule("INS211", record=_check_unscored)


NO_MODEL: Final = "none/none"
"""The model of a run that needs none."""

RULES: Final = (INS201, INS202, INS203, INS204, INS210, INS211, INS214, INS220)
OF_LOGS: Final = (INS201, INS202, INS203, INS211, INS214, INS220)
"""Rules over the part of a log without samples and the stored facts of its samples."""


_COUNTED_SINCE: Final = (0, 3, 42)
"""The release from which on samples have the usage of their calls."""

_CARRIED_SINCE: Final = (0, 3, 159)
"""The release from which on a log that resumes another one counts the tokens of that, too."""


USAGES: Final = ("model_usage", "role_usage")
"""The members of samples and of stats that count tokens, by models and by their roles."""


def usage_violations(
    log: LogView, usage: Mapping[str, dict[str, dict[str, int]]], *, is_resumed: bool
) -> Iterator[Violation]:
    """Compare the token usage of a finished log with the sums over its own samples."""
    if not log.is_finished or not log.samples_known or log.is_unlogged:
        return
    is_carried = is_resumed and log.release >= _CARRIED_SINCE
    for kind, sums in usage.items():
        told = log.stats.get(kind)
        if not isinstance(told, dict) or (not sums and log.is_before(_COUNTED_SINCE)):
            continue
        if kind == USAGES[0]:
            yield from find_other_model(log)
        for user in sums.keys() - told.keys():
            if any(sums[user].values()):
                message = f"the usage of {user[:100]}, which samples have, is missing"
                yield INS210.violation(message, log.at("stats", kind))
        for user, numbers in told.items():
            for name, found in object_or_empty(numbers).items():
                expected = sums.get(user, {}).get(name, 0)
                is_number = found.__class__ is int
                if is_number and (found < expected if is_carried else found != expected):
                    message = f"the samples of the log used {expected:,} in all"
                    place = log.at("stats", kind, user, name)
                    yield INS210.violation(message, place, expected=expected, found=found)


def find_other_model(log: LogView) -> Iterator[Violation]:
    """Report a log that names another model than those that used tokens.

    Runs with roles may use those alone. Of several models a solver may have called others only.
    """
    named = log.eval.get("model")
    told = object_or_empty(object_or_empty(log.header.get("stats")).get("model_usage"))
    roles = object_or_empty(log.eval.get("model_roles")).values()
    configs = (one for role in roles for one in (role if isinstance(role, list) else [role]))
    known = {member(one, "model") for one in configs}
    others = [one[:100] for one in told if one not in known]
    if not isinstance(named, str) or named in (NO_MODEL, *told):
        return
    if others:
        number, used = len(told), others[0]
        words = f"all tokens were used by {used}" if number == 1 else f"{used} used tokens"
        yield INS210.violation(
            f"{words}, {'not by' if number == 1 else 'none of them by'} the model of the log",
            log.at("eval", "model"),
            found=named,
            severity=None if number == 1 else Severity.WARNING,
        )
