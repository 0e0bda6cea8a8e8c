"""The adapter of a run: what it declares of the requests that it makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from evalstream.formats.helm.requests import PlainRequest, Settings
from evalstream.parsing.json import member, text_or_none


def describe_adapter(*documents: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the adapter of a run, from the first document that has it."""
    found = (member(one, "adapter_spec") for one in documents)
    return next((one for one in found if isinstance(one, dict)), {})


def asks_once(adapter: Mapping[str, Any]) -> bool:
    """Tell whether an adapter makes one request of an instance, and none for each reference."""
    return text_or_none(adapter.get("method")) in _ONCE


def list_settings(adapter: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the members of an adapter that it puts into each request as they are."""
    is_sampled = text_or_none(adapter.get("method")) in _SAMPLED
    names = Settings.__struct_fields__ if is_sampled else ("model", "model_deployment")
    return {name: adapter[name] for name in names if adapter.get(name) is not None}


def find_other_mapping(
    request: PlainRequest, adapter: Mapping[str, Any]
) -> Mapping[str, str] | None:
    """Return what a request must map letters to, None where it does, or where that is not known.

    Source: MultipleChoiceJointAdapter of HELM. Its early releases knew the letter A alone.
    """
    given, references = request.output_mapping, request.instance.references
    if not given or references is None or text_or_none(adapter.get("method")) not in _JOINT:
        return None
    texts = [one.output if isinstance(one.output, str) else one.output.text for one in references]
    letters = adapter.get("reference_prefix_characters")
    if isinstance(letters, list):
        mappings = [dict(zip(map(str, letters), texts, strict=False))]
    else:
        first = next(filter(str.isalnum, str(adapter.get("reference_prefix"))), "A")
        starts = dict.fromkeys((first, "A"))
        mappings = [{chr(ord(one) + at): text for at, text in enumerate(texts)} for one in starts]
    return None if given in mappings else mappings[0]


_JOINT: Final = frozenset({"multiple_choice_joint", "multiple_choice_joint_chain_of_thought"})
"""Methods of adaptation that name each reference by a letter."""

_ONCE: Final = _JOINT | {"generation", "chat"}
"""Methods of adaptation that make one request of an instance."""

_SAMPLED: Final = _ONCE | {"ranking_binary"}
"""Methods of adaptation that ask the model as the adapter says; others ask for no text."""
