"""INS2: rules about single samples: their texts, their events, and their scores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from typing import Any, Final

from evalstream.formats.inspect.recorded import has_own_scorer, message_text, split_path
from evalstream.formats.inspect.rules.log import INS107
from evalstream.formats.inspect.values import is_count, is_id, same, score_value
from evalstream.formats.inspect.views import UNNAMED, SampleView
from evalstream.model.finding import Severity, Violation, at_least, at_most
from evalstream.model.text import count_noun
from evalstream.parsing.json import member, text_or_none, type_name
from evalstream.parsing.json_values import list_or_empty, object_or_empty, objects
from evalstream.rules.base import declare_rule

_KEY: Final = re.compile(r"[0-9a-f]{32}")


def check_form(sample: SampleView) -> Iterator[Violation]:
    """Report what a sample needs to be counted and compared, and has not."""
    given, epoch = sample.value.get("id"), sample.value.get("epoch")
    if not is_id(given):
        place = sample.at("id") if "id" in sample.value else sample.place
        yield INS107.violation("a sample needs an id, a string or an integer", place)
    if not is_count(epoch) or not epoch:
        place = sample.at("epoch") if "epoch" in sample.value else sample.place
        found = epoch if "epoch" in sample.value else None
        yield INS107.violation(
            "a sample needs an epoch from 1", place, expected=at_least(1), found=found
        )
    scores = sample.value.get("scores")
    if scores is not None and not isinstance(scores, dict):
        message = f"scores must be an object, not {type_name(scores)}"
        yield INS107.violation(message, sample.at("scores"))
    for name, score in object_or_empty(scores).items():
        if not isinstance(score, dict) or "value" not in score:
            message = "a score must be an object with a value"
            yield INS107.violation(message, sample.at("scores", name))


def _check_name(sample: SampleView) -> Iterator[Violation]:
    if sample.member is None or not is_id(sample.value.get("id")):
        return
    expected = f"samples/{sample.value['id']}_epoch_{sample.value.get('epoch')}.json"
    if sample.member != expected:
        yield INS205.violation(f"the sample belongs into a member {expected}", sample.place)


def _attachments(sample: SampleView) -> Iterator[Violation]:
    for key, text in sample.attachments.items():
        place = sample.at("attachments", key)
        if not isinstance(text, str):
            yield INS207.violation("an attachment must be a text", place)
        elif sample.digest is not None and _KEY.fullmatch(key) and sample.digest(text) != key:
            message = "the text does not have the digest that is its key"
            yield INS207.violation(message, place, found=text)


def _events(sample: SampleView) -> Iterator[Violation]:
    for index, event in sample.events("sample_init"):
        told = object_or_empty(event.get("sample"))
        for name in ("id", "target", "input", "choices", "metadata"):
            if name not in told or told[name] is None or name not in sample.value:
                continue
            here, there = sample.value[name], told[name]
            if same(here, there) or (name in _TEXTS and here == there):
                continue
            here, there = (_comparable(sample, one[name]) for one in (sample.value, told))
            severity = None
            if name == "metadata" and isinstance(here, dict) and isinstance(there, dict):
                changed = _changed_metadata(sample, {*here, *there})
                # Nothing records what a scorer changes, nor what `cleanup` of a task adds.
                is_own = has_own_scorer(sample)
                added = here.keys() - there.keys() if is_own else set()
                left = here.keys() - changed - added
                here = {key: here[key] for key in here if key in left}
                there = {key: there[key] for key in there if key not in changed}
                if is_own or same({key: here[key] for key in here if key in there}, there):
                    severity = Severity.WARNING
            # The first releases gave the text of an input that is one message.
            if not same(here, there) and (name != "input" or type(here) is type(there)):
                message = f"the sample has another {name} than its sample_init event ({index})"
                yield INS208.violation(
                    message,
                    sample.at(name),
                    expected=there,
                    found=sample.value[name],
                    severity=severity,
                )
        break
    yield from _lost_messages(sample)
    yield from _hidden_ends(sample)
    yield from _scored_targets(sample)
    yield from _score_events(sample)
    yield from _other_solvers(sample)
    yield from _other_settings(sample)


def _lost_messages(sample: SampleView) -> Iterator[Violation]:
    """Report the first call of a model whose messages are missing beside the events.

    Events have ranges of the messages that a sample keeps once (event/_pool.py of inspect_ai).
    """
    kept = member(sample.value.get("events_data"), "messages")
    number = len(list_or_empty(sample.value.get("message_pool") if kept is None else kept))
    for index, event in sample.events("model"):
        ranges = map(list_or_empty, list_or_empty(event.get("input_refs")))
        ends = [end for one in ranges for end in one if is_count(end)]
        if ends and max(ends) > number:
            message = f"the sample keeps {count_noun(number, 'message')} for its events"
            place = sample.at("events", index, "input_refs")
            yield INS208.violation(message, place, expected=at_most(number), found=max(ends))
            return


_TEXTS: Final = frozenset({"choices", "input", "target"})
"""Members of which only texts are compared."""


def _changed_metadata(sample: SampleView, known: Set[str]) -> Set[str]:
    """Return the known keys of metadata that solvers changed, all where that is not recorded."""
    if sample.is_stopped and not sample.has_plain_plan:
        return known
    found = set[str]()
    for _, event in sample.events("state"):
        for _, change in objects(event.get("changes")):
            for path in map(split_path, (str(change.get("path")), str(change.get("from")))):
                if path[:1] == ["metadata"]:
                    found.update(path[1:2] or known)
    return found


def _comparable(sample: SampleView, value: Any) -> Any:
    """Return a member of a sample in full; of messages their roles and texts."""
    if not isinstance(value, list):
        return sample.resolved_within(value)
    return [
        [one.get("role"), message_text(sample, one)]
        if isinstance(one, dict)
        else sample.resolve_attachment(one)
        for one in value
    ]


def _other_solvers(sample: SampleView) -> Iterator[Violation]:
    """Compare the solvers that ran with those of the plan; a sample may be done before the last.

    The spans of solvers within a solver are not those of steps.
    """
    plan = object_or_empty(sample.log.header.get("plan")) if sample.log is not None else {}
    spans = [one for _, one in sample.events("span_begin")] if "steps" in plan else []
    outer = {text_or_none(one.get("id")) for one in spans if one.get("type") == "solvers"}
    found = [
        one.get("name")
        for one in spans
        if one.get("type") == "solver" and text_or_none(one.get("parent_id")) in outer
    ]
    if not found or sample.value.get("error_retries"):
        return
    planned = [member(one, "solver") for one in list_or_empty(plan["steps"])]
    finish = member(plan.get("finish"), "solver")
    if found not in (planned[: len(found)], [*planned[: len(found) - 1], finish]):
        yield INS208.violation(
            "the events ran other solvers than the plan has",
            sample.at("events"),
            expected=planned,
            found=found,
        )


def _other_settings(sample: SampleView) -> Iterator[Violation]:
    """Compare the settings of the first call of the log's model with those that the log declares.

    A step of the plan may have settings of its own.
    """
    log = sample.log
    if log is None or not log.plan.is_plain or not log.plan.declared_settings:
        return
    for index, event in sample.events("model"):
        if event.get("model") != log.eval.get("model") or "scorer" in sample.spans_around(event):
            continue
        used = object_or_empty(event.get("config"))
        for name, wanted in log.plan.declared_settings.items():
            if not same(used.get(name), wanted):
                yield INS208.violation(
                    f"the log declares another {name} than its calls of the model had",
                    sample.at("events", index, "config", *([name] if name in used else [])),
                    expected=wanted,
                    found=used.get(name),
                )
        break


def _hidden_ends(sample: SampleView) -> Iterator[Violation]:
    """Report an error or a limit that the events have, and the sample has not.

    A scorer may fail after a user has stopped the sample; solvers and scorers of one's own may go
    on after a limit that they have set themselves.
    """
    if not (sample.events("error") or sample.events("sample_limit")):
        return
    is_failed = sample.has_failed or member(sample.value.get("limit"), "type") == "operator"
    is_plain = sample.has_plain_plan and sample.is_recent
    for kind, noun, is_told in (
        ("error", "an error", is_failed),
        ("sample_limit", "a limit", sample.is_stopped),
    ):
        for index, event in () if is_told else sample.events(kind)[:1]:
            message = f"the events have {noun}, and the sample has none"
            may_be_own = not is_plain or "scorer" in sample.spans_around(event)
            severity = Severity.WARNING if kind == "sample_limit" and may_be_own else None
            yield INS208.violation(message, sample.at("events", index), severity=severity)


def _scored_targets(sample: SampleView) -> Iterator[Violation]:
    """Compare the target with those of the scorers; solvers and scorers of one's own may set one."""
    for index, event in sample.events("score"):
        if event.get("intermediate") or None in (event.get("target"), sample.value.get("target")):
            continue
        here, there = (_comparable(sample, one["target"]) for one in (sample.value, event))
        if here not in (there, [there]) and there != [here]:
            is_plain = sample.has_plain_plan and not has_own_scorer(sample)
            yield INS208.violation(
                f"the sample has another target than its scorer was given (event {index})",
                sample.at("target"),
                expected=there,
                found=sample.value["target"],
                severity=None if is_plain else Severity.WARNING,
            )
            return


def _score_events(sample: SampleView) -> Iterator[Violation]:
    """Compare each score, as it was before edits, with the last event of its scorer."""
    finals = _last_events(sample)
    for name, final in finals.items():
        if name not in sample.scores and UNNAMED not in sample.scores:
            message = f"the events have a score of {name}, and the sample has none"
            place = sample.at("scores") if "scores" in sample.value else sample.place
            is_left = sample.spans_around(final) == ["scorer"]
            yield INS208.violation(message, place, severity=Severity.WARNING if is_left else None)
    for name, score in sample.scores.items():
        event, history = finals.get(name), list_or_empty(score.get("history"))
        if event is None:
            continue
        first = object_or_empty(history[0] if history else score)
        path = ("history", 0) if history else ()
        told = object_or_empty(event.get("score"))
        if not same(score_value(first), score_value(told)):
            yield INS208.violation(
                f"the event of the scorer {name} has another value, and no edit tells why",
                sample.at("scores", name, *path, "value"),
                expected=score_value(told),
                found=first.get("value"),
            )
        yield from _scored_otherwise(sample, name, event)
        # An edit may leave answer and explanation out of the history, and has no metadata there.
        for part in ("answer", "explanation", *(() if history else ("metadata", "reason"))):
            if same(first.get(part), told.get(part)):
                continue
            here, there = (sample.resolved_within(one.get(part)) for one in (first, told))
            if not same(here, there) and not (history and here is None):
                yield INS208.violation(
                    f"the event of the scorer {name} has another {part}",
                    sample.at("scores", name, *path, part),
                    expected=there,
                    found=here,
                )


def _last_events(sample: SampleView) -> dict[str, Mapping[str, Any]]:
    """Return the last event of each scorer.

    `inspect score` leaves the events of what it has appended, apart from other scorers, where it is
    called again to overwrite that (_get_updated_events of 0.3.285).
    """
    finals: dict[str, Mapping[str, Any]] = {}
    for _, event in sample.events("score"):
        scorer = text_or_none(event.get("scorer"))
        is_left = scorer in finals and sample.spans_around(event) == ["scorer"]
        if scorer is not None and not event.get("intermediate") and not is_left:
            finals[scorer] = event
    return finals


def _scored_otherwise(
    sample: SampleView, name: str, event: Mapping[str, Any]
) -> Iterator[Violation]:
    """Compare the parameters of a scorer with those of its event, but for values of any shape."""
    used, stated = event.get("scorer_args"), sample.log.stated_scorers if sample.log else {}
    told = member(stated.get(name), "options")
    if not isinstance(used, dict) or not isinstance(told, dict):
        return
    for key in dict.fromkeys((*told, *used)):
        here, there = told.get(key), used.get(key)
        if isinstance(here, (dict, list)) or isinstance(there, (dict, list)) or same(here, there):
            continue
        message = f"the scorer {name} was called with other parameters than the results have"
        path = ("scorer_args", key) if key in used else ("scorer_args",)
        index = next(at for at, one in sample.events("score") if one is event)
        place = sample.at("events", index, *path)
        yield INS208.violation(message, place, expected=here, found=there)


def _check_edits(sample: SampleView) -> Iterator[Violation]:
    for name, score in sample.scores.items():
        history = list_or_empty(score.get("history"))
        if not history:
            continue
        first = object_or_empty(history[0])
        value = score.get("value")
        change = "" if same(score_value(first), score_value(score)) else ", and has another value"
        entries = count_noun(len(history), "entry", "entries")
        message = f"the score of {name} was edited ({entries} of history){change}"
        authors = [member(one.get("provenance"), "author") for _, one in objects(history[1:])]
        severity = Severity.WARNING if change and None in authors else None
        message += ", and nothing says by whom" if severity else ""
        place = sample.at("scores", name, "value")
        yield INS209.violation(message, place, found=value, severity=severity)


INS205: Final = declare_rule("INS205", record=_check_name)
INS207: Final = declare_rule("INS207", record=_attachments)
INS208: Final = declare_rule("INS208", record=_events)
INS209: Final = declare_rule("INS209", record=_check_edits)


RULES: Final = (INS205, INS207, INS208, INS209)
"""Rules that check one sample."""
