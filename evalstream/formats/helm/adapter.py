"""The adapter of a run: what it declares of the requests that it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from evalstream.formats.helm.requests import PlainRequest, is_encrypted, read_output
from evalstream.parsing.json import member, text_or_none


def describe_adapter(*documents: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the adapter of a run, from the first document that has it."""
    found = (member(one, "adapter_spec") for one in documents)
    return next((one for one in found if isinstance(one, dict)), {})


def asks_once(adapter: Mapping[str, Any]) -> bool:
    """Tell whether an adapter makes one request of an instance, and none for each reference."""
    return text_or_none(adapter.get("method")) in _ONCE


def list_settings(adapter: Mapping[str, Any]) -> Mapping[str, Sequence[Any]]:
    """Return the members of requests that an adapter decides, with the values that they may have.

    The adapter's own comes first. A joint multiple choice of crfm-helm 0.2.0 to 0.2.2, which knew
    no multi_label, asks for one token at temperature 0, whatever the adapter says.
    """
    method = text_or_none(adapter.get("method"))
    names = {"model": "model", "model_deployment": "model_deployment"}
    for methods, members in _SETTINGS:
        names |= members if method in methods else {}
    is_early = method in _JOINT and "multi_label" not in adapter
    fixed = {"temperature": (0,), "max_tokens": (1,)} if is_early else {}
    known = {name: adapter[own] for name, own in names.items() if adapter.get(own) is not None}
    return {name: (value, *fixed.get(name, ())) for name, value in known.items()}


def find_other_mapping(
    request: PlainRequest, adapter: Mapping[str, Any]
) -> Mapping[str, str] | None:
    """Return what a request must map letters to, None where it does, or where that is not known.

    Source: MultipleChoiceJointAdapter of HELM. Its early releases knew the letter A alone, and
    crfm-helm 0.5.4 counts on from the first character of a prefix, so that "(A) " gives "(", ")".
    """
    given, references = request.output_mapping, request.instance.references
    if not references or text_or_none(adapter.get("method")) not in _JOINT:
        return None
    texts = [*map(read_output, references)]
    if any(map(is_encrypted, texts)):
        return None
    letters = adapter.get("reference_prefix_characters")
    if isinstance(letters, list):
        mappings = [dict(zip(map(str, letters), texts, strict=False))]
    else:
        prefix = str(adapter.get("reference_prefix"))
        first = next(filter(str.isalnum, prefix), "A")
        starts = dict.fromkeys((first, "A", *prefix.lstrip()[:1]))
        mappings = [{chr(ord(one) + at): text for at, text in enumerate(texts)} for one in starts]
    return None if given in mappings else mappings[0]


def lacks_texts(request: PlainRequest, adapter: Mapping[str, Any]) -> bool:
    """Tell whether a prompt has not the input of its instance, and the choices behind it.

    Source: `construct_example_prompt` of HELM's adapters. A prompt that was cut, substituted or
    encrypted tells nothing.
    """
    prompt, method = request.request.prompt, text_or_none(adapter.get("method"))
    is_whole = request.prompt_truncated is False and not adapter.get("substitutions")
    if not prompt or not is_whole or method not in _ONCE or is_encrypted(prompt):
        return False
    choices = request.instance.references or () if method in _JOINT else ()
    around = [text_or_none(adapter.get(f"input_{one}")) or "" for one in ("prefix", "suffix")]
    at = 0
    for text in (request.input.join(around), *map(read_output, choices)):
        at = prompt.find(text, at)
        if at < 0:
            return True
        at += len(text)
    return False


_JOINT: Final = frozenset({"multiple_choice_joint", "multiple_choice_joint_chain_of_thought"})
"""Methods of adaptation that name each reference by a letter."""

_ONCE: Final = _JOINT | {"generation", "chat"}
"""Methods of adaptation that make one request of an instance."""

_WRITTEN: Final = frozenset({"generation", "chat", "ranking_binary"})
"""Methods of adaptation whose answers are texts."""

_SETTINGS: Final = (
    (_JOINT | _WRITTEN, {"temperature": "temperature", "max_tokens": "max_tokens"}),
    (_WRITTEN, {"num_completions": "num_outputs", "stop_sequences": "stop_sequences"}),
    (_JOINT, {"top_k_per_token": "num_outputs"}),
)
"""Members of requests by the methods that take them from the adapter, with their names in it.

Other methods ask for no text (`generate_requests` of the adapters).
"""
