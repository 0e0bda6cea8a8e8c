"""ES65, ES410: the harness log that a run was converted from, and hashes that one has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.formats.eee import row_view
from evalstream.formats.eee.facts import LOG, RunFacts
from evalstream.model.finding import Severity, Violation
from evalstream.model.hashing import hash_function
from evalstream.model.text import count_noun, is_hex_digest
from evalstream.parsing.json import member
from evalstream.rules.base import declare_rule

SOURCE_RULES: Final = tuple(declare_rule(f"ES{number}") for number in range(650, 663))
ES650, ES651, ES652, ES653, ES654, ES655, ES656, ES657, ES658, ES659, *_ = SOURCE_RULES
ES660, ES661, ES662 = SOURCE_RULES[10:]

LIKE_LOG: Final = "like the log"
UNLIKE_LOG: Final = "unlike the log"
"""The keys under which a tally counts the rows that agree with logged hashes, or do not."""

ALGORITHM: Final = "sha256"
DIGITS: Final = 64


def compare_log(row: Mapping[str, Any]) -> str | None:
    """Return whether input.raw and a single reference have the hashes that lm-eval logged.

    It hashes the prompt, which converters write as input.raw, and the text of the target, which is
    empty where there is no reference. None where the row has no such hashes, or a prompt of its own
    in input.formatted.
    """
    metadata = row.get("metadata")
    texts = _list_hashed(row)
    found = {_has_hash(text, member(metadata, name)) for name, text in texts.items()}
    if False in found:
        return UNLIKE_LOG
    return LIKE_LOG if True in found else None


def is_comparable(row: Mapping[str, Any]) -> bool:
    """Tell whether all texts of a row that lm-eval hashes can be compared with its hashes."""
    metadata, texts = row.get("metadata"), _list_hashed(row)
    return bool(texts) and all(_is_digest(member(metadata, name)) for name in texts)


def _list_hashed(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts that lm-eval hashes by the names of their hashes, none if they are unknown."""
    covered = row_view.hash_input(row)
    if covered is None or member(row.get("input"), "formatted") is not None:
        return {}
    raw, reference = covered
    references = [reference] if isinstance(reference, str) else reference
    target = {} if len(references) > 1 else {"target_hash": "".join(references)}
    return {"prompt_hash": raw, **target}


def _is_digest(digest: Any) -> bool:
    return isinstance(digest, str) and len(digest) == DIGITS and is_hex_digest(digest)


def _has_hash(text: str, digest: Any) -> bool | None:
    if not _is_digest(digest):
        return None
    try:
        return bool(hash_function(ALGORITHM)(text.encode()).hexdigest() == digest)
    except UnicodeEncodeError:
        return None


def _unlike_the_log(facts: RunFacts) -> Iterator[Violation]:
    """Report rows that differ from the hashes; if all do, the file may follow another custom."""
    forms = facts.tally.hash_forms
    count = forms.count(UNLIKE_LOG)
    if count:
        message = (
            "input.raw or the reference has another hash than the prompt_hash or target_hash of"
            f" the harness in metadata (first {facts.at(forms.first(UNLIKE_LOG))})"
        )
        severity = None if forms.count(LIKE_LOG) else Severity.WARNING
        yield ES410.violation(message, count=count, severity=severity)
    yield from _without_hashes(facts)


def _without_hashes(facts: RunFacts) -> Iterator[Violation]:
    """Report rows that cannot be compared with the hashes, where most rows can."""
    found: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    for (habit, *_, kept), count, line in facts.tally.habits.entries():
        if habit == LOG:
            found[bool(kept)].append((line, count))
    lacking, having = (sum(count for _, count in found[kept]) for kept in (False, True))
    if 0 < lacking < having:
        message = (
            "input cannot be compared with prompt_hash and target_hash in metadata, as it can in"
            f" {count_noun(having, 'other row')} (first {facts.at(min(found[False])[0])})"
        )
        yield ES410.violation(message, count=lacking, severity=Severity.WARNING)


ES410: Final = declare_rule("ES410", run=_unlike_the_log, needed_fact="tally.hash_forms")

RULES: Final = (ES410, *SOURCE_RULES)
