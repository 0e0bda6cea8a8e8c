"""INS2: rules that compare what a sample says about its output in several places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.formats.inspect.rules.messages import (
    ModelMessages,
    differences,
    recorded_texts,
    text_of,
)
from evalstream.formats.inspect.views import (
    SampleView,
    list_or_empty,
    object_or_empty,
    objects,
    value_of,
)
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import member, text_or_none
from evalstream.rules.base import Rule


def _outputs(sample: SampleView) -> Iterator[Violation]:
    """Compare texts of the model with each other, and with those that the events recorded."""
    if sample.is_stopped:
        return
    completion = sample.resolved(member(sample.value.get("output"), "completion"))
    recorded = _Recorded(sample)
    place = sample.at("output", "completion")
    last = recorded.last_completion
    if isinstance(completion, str) and last is not None and completion != last:
        message = "the events recorded another completion"
        yield INS212.violation(message, pointer=place, expected=last, found=completion)
    elif isinstance(completion, str) and not recorded.has(completion):
        message = "no event recorded this completion"
        yield INS212.violation(message, pointer=place, found=completion)
    elif sample.has_plain_plan:
        yield from _other_completion(sample, completion)
    if sample.final_state is None:
        yield from _unrecorded(sample, recorded)
    yield from _other_choices(sample)


def _other_completion(sample: SampleView, completion: Any) -> Iterator[Violation]:
    """Compare a completion with the text of the first choice; releases join its parts in two ways.

    Summaries of the first releases leave the completion out.
    """
    first = next(objects(member(sample.value.get("output"), "choices")), None)
    message = object_or_empty(first.value.get("message")) if first is not None else {}
    text = text_of(sample, message)
    if not isinstance(completion, str) or text is None:
        return
    if completion not in (text, "".join(recorded_texts(sample, message))):
        words = "the completion is not the text of the first choice"
        place = sample.at("output", "completion")
        yield INS212.violation(words, pointer=place, expected=text, found=completion)


def _unrecorded(sample: SampleView, recorded: _Recorded) -> Iterator[Violation]:
    """Look for the texts of the model in events that do not tell how the sample ended."""
    for path, message in _messages(sample):
        for text in recorded_texts(sample, message):
            if not recorded.has(text):
                words = "no event recorded this text of the model"
                yield INS212.violation(words, pointer=sample.at(*path, "content"), found=text)


def _messages(sample: SampleView) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    """Iterate over the messages of the model, each with its path in the sample."""
    for index, choice in objects(member(sample.value.get("output"), "choices")):
        if isinstance(choice.get("message"), dict):
            yield ("output", "choices", index, "message"), choice["message"]
    for index, one in objects(sample.value.get("messages")):
        if one.get("role") == "assistant" and one.get("source") == "generate":
            yield ("messages", index), one


def _other_choices(sample: SampleView) -> Iterator[Violation]:
    """Compare choices with those that the events end with, and with those that a model gave."""
    state = sample.final_state
    ended = list_or_empty(state.output.get("choices")) if state is not None else []
    made = ModelMessages(sample).made if sample.has_plain_plan else {}
    for index, choice in objects(member(sample.value.get("output"), "choices")):
        message = object_or_empty(choice.get("message"))
        others = list(made.get(text_or_none(message.get("id")) or "", ()))
        if index < len(ended):
            others.insert(0, object_or_empty(member(ended[index], "message")))
        path = ("output", "choices", index, "message")
        for expected in others:
            words = "the events have another message"
            found = next(differences(sample, path, message, expected, words), None)
            if found is not None:
                yield found._replace(code=INS212.code)
                break


class _Recorded:
    """The texts that the events of a sample recorded: outputs of models, and changes of the state.

    `last_completion` is the one that a solver left, None where no event tells it.
    """

    def __init__(self, sample: SampleView) -> None:
        self._sample = sample
        self._models, self._states = sample.events("model"), sample.events("state")
        self._is_known = bool(self._states and self._models)
        self._found: set[Any] = set()
        self._has_all = False
        self.last_completion: str | None = None
        if self._is_known:
            self._add_outputs()
            self._find_completion()

    def has(self, text: str) -> bool:
        """Return whether the events recorded a text, or nothing at all."""
        if not self._is_known or not text or text in self._found:
            return True
        if not self._has_all:
            self._has_all = True
            self._add_all()
        return text in self._found

    def _add_outputs(self) -> None:
        """Add the texts of models; nearly all texts of a sample are among them."""
        for _, event in self._models:
            for _, choice in objects(member(event.get("output"), "choices")):
                content = member(choice.get("message"), "content")
                if isinstance(content, str):
                    self._found.add(self._sample.resolved(content))

    def _find_completion(self) -> None:
        for _, event in self._states:
            for change in list_or_empty(event.get("changes")):
                path = member(change, "path")
                if path == "/output/completion":
                    value = change.get("value")
                elif path == "/output" and member(change.get("value"), "completion") is not None:
                    value = change["value"]["completion"]
                else:
                    continue
                self.last_completion = text_or_none(self._sample.resolved(value))
        if self.last_completion is not None:
            self._found.add(self.last_completion)

    def _add_all(self) -> None:
        for _, event in self._models:
            self._add(event.get("output"))
        for _, event in self._states:
            for _, change in objects(event.get("changes")):
                if str(change.get("path")).startswith(("/output", "/messages")):
                    self._add(change.get("value"))

    def _add(self, value: Any) -> None:
        """Add all texts within a value."""
        if isinstance(value, str):
            self._found.add(self._sample.resolved(value))
        elif isinstance(value, dict):
            for part in value.values():
                self._add(part)
        elif isinstance(value, list):
            for part in value:
                self._add(part)


def _includes(sample: SampleView) -> Iterator[Violation]:
    """Score samples of the scorer `includes` again."""
    if sample.log is None or sample.failed:
        return
    completion = sample.resolved(member(sample.value.get("output"), "completion"))
    target = sample.value.get("target")
    targets = [target] if isinstance(target, str) else list_or_empty(target)
    if not isinstance(completion, str) or not all(isinstance(one, str) for one in targets):
        return
    for name, ignores_case in sample.log.includes_scorers.items():
        score = sample.scores.get(name)
        if score is None:
            continue
        history = list_or_empty(score.get("history"))
        value = value_of(history[0] if history else score)
        found = [_folded(one, folds=ignores_case) for one in targets]
        text = _folded(completion, folds=ignores_case)
        expected = "C" if any(one in text for one in found) else "I"
        if value in ("C", "I") and value != expected:
            path = ("history", 0, "value") if history else ("value",)
            has = "has a target" if expected == "C" else "has no target"
            yield INS213.violation(
                f"the completion {has} in it",
                pointer=sample.at("scores", name, *path),
                expected=expected,
                found=value,
            )


def _folded(text: str, *, folds: bool) -> str:
    return text.casefold() if folds else text


INS212: Final = Rule(
    "INS212",
    "output-mismatch",
    Severity.ERROR,
    "the output of a sample is not the one that its messages and events have",
    """
    What it finds: a completion, a choice or a message of the model whose text no event of the
    sample recorded (the outputs of models, and the changes of the state by solvers), and a
    completion other than the last one that a solver left. Also, where all solvers are ones of the
    harness that leave outputs alone: a completion that is not the text of the first choice, and a
    message with another text than the output of the same id. Samples that were stopped by an error
    or a limit are not compared.

    Why it matters: an answer was changed after the run.

    How to fix: Trust the events, or run the sample again.

    Bad:
        log:
          {"samples": [{"output": {"completion": "5"}}]}

    Good:
        log:
          {"samples": [{"output": {"completion": "4"}}]}
    """,
    record=_outputs,
)


INS213: Final = Rule(
    "INS213",
    "includes-score-underived",
    Severity.ERROR,
    "the completion and the target of a sample give another score",
    """
    What it finds: a score of the harness's scorer `includes` that is C although no target is in the
    completion, or I although one is. Upper and lower case count where the scorer is declared with
    ignore_case false. Of an edited score the first value is compared.

    Why it matters: the score, the completion or the target was changed after the run.

    How to fix: Find out which of them is right, and score the log again with `inspect score`.

    Bad:
        log:
          {
            "samples": [{
              "target": "465",
              "output": {"completion": "460"},
              "scores": {"includes": {"value": "C"}}
            }]
          }

    Good:
        log:
          {
            "samples": [{
              "target": "465",
              "output": {"completion": "460"},
              "scores": {"includes": {"value": "I"}}
            }]
          }
    """,
    record=_includes,
)


RULES: Final = (INS212, INS213)
"""Rules that check one sample."""
