"""The texts of a sample of Inspect, in every spelling that converters give them.

The facts come from converters/inspect/instance_level_adapter.py of every-eval-ever 0.3.0 and of its
earlier tags.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from evalstream.formats.inspect.views import SampleView, list_or_empty, objects
from evalstream.model.source_log import SourceMessage
from evalstream.parsing.json import member

_THOUGHT: Final = re.compile(r"<think([^>]*)>(.*?)</think>", re.DOTALL)
"""Reasoning within a text, which Inspect takes out of it when it reads a log."""


def question_of(view: SampleView) -> tuple[str, ...]:
    """Return the spellings of the input: the text, or those of the user's messages.

    Empty where a message has a part that is not a text, which converters spell as Python does.
    """
    shown = view.value.get("input")
    if isinstance(shown, str):
        return _spellings(view, shown)
    whole: list[list[str]] = []
    for message in objects(shown):
        if message.value.get("role") != "user":
            continue
        content = message.value.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        texts = [member(part, "text") for part in parts]
        if not all(isinstance(text, str) for text in texts):
            return ()
        whole.append(texts)
    as_stored = "\n".join(" ".join(texts) for texts in whole)
    in_full = "\n".join(" ".join(map(view.resolved, texts)) for texts in whole)
    return tuple(dict.fromkeys((in_full, as_stored)))


def references_of(view: SampleView) -> tuple[tuple[str, ...], ...]:
    """Return the spellings of the targets, each a list."""
    target = view.value.get("target")
    given = target if isinstance(target, list) else [target]
    texts = tuple(one if isinstance(one, str) else str(one) for one in given)
    in_full = tuple(str(view.resolved(one)) for one in texts)
    return tuple(dict.fromkeys((in_full, texts)))


def outputs_of(view: SampleView, scores: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Return what a row may show as output.

    That is the answer that a scorer graded, else its explanation; without scorers it is the
    response of the model.
    """
    output = view.value.get("output")
    choices = list_or_empty(member(output, "choices"))
    response = _text(member(member(choices[0], "message"), "content")) if choices else ""
    given = [response, member(output, "completion")]
    given += [one.get("answer") or one.get("explanation") for one in scores.values()]
    texts = [one for one in given if isinstance(one, str)]
    return tuple(dict.fromkeys(text for one in texts for text in _spellings(view, one)))


def messages_of(view: SampleView) -> tuple[SourceMessage, ...]:
    """Return the messages of the conversation."""
    return tuple(
        SourceMessage(str(one.value.get("role")), _content(view, one.value.get("content")))
        for one in objects(view.value.get("messages"))
    )


def _content(view: SampleView, content: Any) -> tuple[str | None, ...]:
    text = _text(content)
    return (None,) if text is None else _spellings(view, text)


def _text(content: Any) -> str | None:
    """Return a content's text: of a list its last text, as converters do."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    texts = [one.value.get("text") for one in objects(content) if one.value.get("type") == "text"]
    return texts[-1] if texts and isinstance(texts[-1], str) else None


def _spellings(view: SampleView, text: str) -> tuple[str, ...]:
    """Return a text in full, as it is stored, and without reasoning."""
    full = str(view.resolved(text))
    without = _THOUGHT.sub("", full, count=1).strip() if "<think" in full else full
    return tuple(dict.fromkeys((full, text, without)))
