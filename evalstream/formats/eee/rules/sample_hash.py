"""ES4: rules about sample identity and sample_hash."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from evalstream.formats.eee import row_view, sample_hash, versions
from evalstream.formats.eee.facts import RowContext, RunFacts
from evalstream.formats.eee.sample_hash import RECIPES, equivalent_recipes, matching_recipes
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Severity, Violation
from evalstream.model.hashing import hash_function
from evalstream.model.text import ALGORITHM_OF_LENGTH, is_hex_digest, normalise_digest
from evalstream.rules.base import Repair, RepairAction, Rule, declare_rule
from evalstream.stats.duplicates import DuplicateKind
from evalstream.stats.tally import Tally

POINTER: Final = "/sample_hash"
UNEXPLAINED: Final[frozenset[str]] = frozenset()
HashCheck = Callable[[Mapping[str, Any], int, Tally], Violation | None]
"""Returns the violation of a row's hash, or None."""


class Duplicate(NamedTuple):
    """A violation of a row like an earlier one, whose position stands in place of the braces."""

    rule: Rule
    message: str
    pointer: str | None = None
    severity: Severity | None = None


def hash_check(context: RowContext) -> HashCheck:
    """Return the function that checks and counts the sample_hash of a row.

    It tries the file's recipe first, so that a valid row costs one digest. Only a row with another
    hash is tried under every recipe.
    """
    slowly = _slow_check(context)
    if not context.recipes:
        return lambda row, line, tally: slowly(row, line, tally, None)
    compute = hash_function(context.algorithm)
    primary = context.recipes[0]
    covered, same = RECIPES[primary], equivalent_recipes(primary)

    def record(row: Mapping[str, Any], line: int, tally: Tally) -> Violation | None:
        digest = text = None
        try:
            sample = row["input"]
            reference = sample["reference"]
            text = covered(sample["raw"], reference)
            digest = compute(text).hexdigest()
            if digest == row["sample_hash"] and (reference.__class__ is str or len(reference) <= 1):
                tally.recipes.add(same, line)
                return None
        except (KeyError, TypeError, AttributeError, UnicodeEncodeError):
            pass
        if row_view.hash_input(row) is None:
            digest = None
        known = None if digest is None or text is None else (text, digest)
        return slowly(row, line, tally, known)

    return record


SlowCheck = Callable[[Mapping[str, Any], int, Tally, tuple[bytes, str] | None], Violation | None]


def _slow_check(context: RowContext) -> SlowCheck:
    """Return the check that tries every recipe and names the violation.

    `known` holds the bytes that the file's recipe covers and their digest, if they are known.
    """
    tried = tried_recipes(context)
    primary = context.recipes[0] if context.recipes else None

    def record(
        row: Mapping[str, Any], line: int, tally: Tally, known: tuple[bytes, str] | None
    ) -> Violation | None:
        digest = row.get("sample_hash")
        if digest is None:
            tally.hash_forms.add("absent", line)
            return None
        covered = row_view.hash_input(row)
        if covered is None or not isinstance(digest, str):
            return None
        bare = normalise_digest(digest)
        if bare != digest and is_hex_digest(bare):
            tally.hash_forms.add("dressed", line)
        malformed = _check_form(bare, digest, context)
        if malformed:
            return malformed
        refuted = known[0] if known and known[1] != bare else None
        explanations = matching_recipes(bare, *covered, tried, refuted)
        tally.recipes.add(explanations, line)
        if explanations or primary is None:
            return None
        if known is None:
            message = f"the recipe {primary} cannot hash an unpaired surrogate"
            return ES401.violation(message, POINTER, found=digest)
        return wrong_hash(context)._replace(expected=known[1], found=digest)

    return record


def tried_recipes(context: RowContext) -> tuple[str, ...]:
    """Return the recipes under which the hash of a row is tried."""
    return context.recipes if context.options.recipe != "auto" else tuple(RECIPES)


def wrong_hash(context: RowContext) -> Violation:
    """Return the violation of rows whose hash no recipe gives, where the file's recipe is known.

    The values of a row are not in it.
    """
    primary = context.recipes[0]
    message = f"not the {context.algorithm} of this row's input under the recipe {primary}"
    return ES401.violation(message, POINTER)


def _check_form(bare: str, digest: str, context: RowContext) -> Violation | None:
    if not is_hex_digest(bare):
        message = "sample_hash is not a digest of 64 (sha256) or 32 (md5) hex digits"
        return ES405.violation(message, POINTER, found=digest)
    algorithm = ALGORITHM_OF_LENGTH[len(bare)]
    if algorithm == context.algorithm:
        return None
    message = f"sample_hash has the length of {algorithm}, not of {context.algorithm}"
    return ES405.violation(message, POINTER, found=digest)


def file_recipe(facts: RunFacts) -> str | None:
    """Return the recipe that the file follows, or None if its rows follow several or none."""
    return None if facts.followed_recipe.is_mixture else facts.followed_recipe.recipe


def verified_hashes(facts: RunFacts) -> int:
    """Return how many rows have the hash that the file's recipe gives for their input."""
    recipe = file_recipe(facts)
    return sum(count for names, count, _ in facts.tally.recipes.entries() if recipe in names)


def _other_recipe(facts: RunFacts) -> Iterator[Violation]:
    recipe = file_recipe(facts)
    preferred = versions.VERSIONS[facts.context.version].preferred_recipe
    if recipe and recipe != preferred and facts.context.options.recipe == "auto":
        message = (
            f"sample_hash follows {recipe}; version {facts.context.version} prefers {preferred}"
        )
        severity = None
        if _forces_first_references(facts, recipe):
            message += "; the hash does not cover references after the first"
            severity = None if sample_hash.is_helm(facts.context.library) else Severity.WARNING
        yield ES402.violation(message, severity=severity)


def _forces_first_references(facts: RunFacts, recipe: str) -> bool:
    """Return whether some rows can only be explained by a recipe that omits further references."""
    forced = frozenset({recipe})
    return recipe == sample_hash.OF_HELM and any(
        names == forced for names, _, _ in facts.tally.recipes.entries()
    )


def _mixed_recipes(facts: RunFacts) -> Iterator[Violation]:
    _, others, is_mixture = facts.followed_recipe
    if not is_mixture:
        return
    parts = [
        f"{' or '.join(sorted(names))} on {count:,} (first {facts.at(line)})"
        for names, count, line in facts.tally.recipes.entries()
        if names
    ]
    count = sum(count for _, count, _ in others)
    yield ES403.violation(f"rows follow different recipes: {'; '.join(parts)}", count=count)


def _few_other_recipes(facts: RunFacts) -> Iterator[Violation]:
    """Report a few rows that only another recipe than the file's explains."""
    recipe, others, is_mixture = facts.followed_recipe
    if is_mixture:
        return
    for names, count, line in others:
        message = (
            f"not the {facts.context.algorithm} of the row's input under the recipe {recipe}, "
            f"which most rows follow, but under {' or '.join(sorted(names))} "
            f"(first {facts.at(line)})"
        )
        yield ES401.violation(message, count=count)


def _unverifiable_hash(facts: RunFacts) -> Iterator[Violation]:
    tally, options = facts.tally, facts.context.options
    unexplained = tally.recipes.count(UNEXPLAINED)
    if not unexplained or facts.context.recipes:
        return
    if tally.recipes.total() == unexplained and options.recipe == "auto":
        message = (
            "no known recipe gives any of the hashes "
            f"(first {facts.at(tally.recipes.first(UNEXPLAINED))}), "
            "so they could not be verified"
        )
        yield ES404.violation(message, count=unexplained)


def _unexplained_hashes(facts: RunFacts) -> Iterator[Violation]:
    yield from _few_other_recipes(facts)
    tally, options = facts.tally, facts.context.options
    unexplained = tally.recipes.count(UNEXPLAINED)
    if not unexplained or facts.context.recipes:
        return
    if tally.recipes.total() != unexplained or options.recipe != "auto":
        message = (
            "no known recipe gives these hashes "
            f"(first {facts.at(tally.recipes.first(UNEXPLAINED))}), "
            "but one gives other hashes; name it with --recipe to list the lines"
        )
        yield ES401.violation(message, count=unexplained)


def _malformed_hash(facts: RunFacts) -> Iterator[Violation]:
    dressed = facts.tally.hash_forms.count("dressed")
    if dressed:
        message = (
            "sample_hash is written in capitals, with a prefix or with blanks, not as plain "
            "lower-case hex"
        )
        yield ES405.violation(message, count=dressed, severity=Severity.WARNING, is_fixable=True)
    aggregate, tally = facts.aggregate, facts.tally
    declared = aggregate.hash_algorithm if aggregate else None
    if (
        aggregate is None
        or declared in (None, facts.context.algorithm)
        or not tally.recipes.total()
    ):
        return
    if aggregate.checksum is None or ALGORITHM_OF_LENGTH[len(aggregate.checksum)] == declared:
        message = f"sample_hash is {facts.context.algorithm}, but hash_algorithm is {declared}"
        yield ES405.violation(message, count=tally.recipes.total())


def _hash_absent(facts: RunFacts) -> Iterator[Violation]:
    forms = facts.tally.hash_forms
    absent = forms.count("absent")
    if not absent:
        return
    algorithm = facts.aggregate.claim("hash_algorithm") if facts.aggregate else None
    if absent == facts.tally.rows - facts.tally.unread:
        if algorithm is None:
            yield ES406.violation("no row has a sample_hash", count=absent)
        else:
            message = (
                "no row has a sample_hash, though the aggregate has a hash_algorithm; the inputs "
                "were not verified"
            )
            yield ES406.violation(message, count=absent, severity=Severity.WARNING)
    else:
        first = facts.at(forms.first("absent"))
        message = f"sample_hash is missing from some rows, but not all (first {first})"
        yield ES406.violation(message, count=absent, severity=Severity.WARNING)


ES401: Final = declare_rule("ES401", run=_unexplained_hashes)
ES402: Final = declare_rule("ES402", run=_other_recipe)
ES403: Final = declare_rule("ES403", run=_mixed_recipes, needed_fact="followed_recipe.is_mixture")
ES404: Final = declare_rule("ES404", run=_unverifiable_hash)

ES405: Final = declare_rule(
    "ES405",
    run=_malformed_hash,
    repair=Repair(
        RepairAction.WRITE_PLAIN_SAMPLE_HASH,
        "writes the digest in lower case without a prefix",
        limit="where it is a digest in capitals or with a prefix",
    ),
)

ES406: Final = declare_rule("ES406", run=_hash_absent, needed_fact="tally.hash_forms")
ES407: Final = declare_rule("ES407")
ES408: Final = declare_rule("ES408")
ES409: Final = declare_rule("ES409")

RULES: Final = (ES401, ES402, ES403, ES404, ES405, ES406, ES407, ES408, ES409)

_SAMPLE: Final = "/sample_id"
_NAME: Final = "/evaluation_name"
_WARNING: Final = Severity.WARNING
_SAME: Final = "the same evaluation, result"

DUPLICATES: Final[Mapping[DuplicateKind, Duplicate]] = {
    DuplicateKind.OTHER_INPUT: Duplicate(
        ES407, "the input differs from that {}, but sample_id is the same", "/input"
    ),
    DuplicateKind.SAME_INPUT: Duplicate(
        ES407, "the same input as {}, but another sample_id", _SAMPLE, _WARNING
    ),
    DuplicateKind.SAME_BYTES: Duplicate(ES408, "the same bytes as {}"),
    DuplicateKind.SAME_REPEAT: Duplicate(ES409, f"{_SAME}, sample and repeat as {{}}", _SAMPLE),
    DuplicateKind.UNMARKED_REPEAT: Duplicate(
        ES409,
        f"{_SAME} and sample as {{}} with other contents, and no epoch, repeat, trial or seed "
        "distinguishes them",
        _SAMPLE,
        _WARNING,
    ),
    DuplicateKind.RENAMED_REPEAT: Duplicate(
        ES409, f"{_SAME}, sample and input as {{}}, but another evaluation_name", _NAME
    ),
    DuplicateKind.RENAMED_COPY: Duplicate(
        ES409,
        f"{_SAME}, sample and input as {{}}, but another evaluation_name and another score or "
        "repeat",
        _NAME,
        _WARNING,
    ),
}
"""The violation for each kind of match with an earlier row."""
