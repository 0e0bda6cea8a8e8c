"""The datastore's gate beside the datastore profile: directories, copies, and a whole store.

Needs what test_upstream needs.
"""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from corpus import CORPUS, expectations, lay_out_store, needs_corpus
from upstream import answers, needs_upstream, said_of
from verdicts import BOTH_ACCEPT, BOTH_REFUSE, Verdicts, classes_of

import evalstream
from evalstream.formats.eee.datastore import Address, derive_address
from evalstream.formats.eee.row_view import record_digest
from evalstream.model.finding import Severity

pytestmark = needs_upstream

PARTS = (
    *("acme", "Acorn-7B", "gpt-4o@2024", "a:b", ":", "con:1", "a b", "caf\u00e9", "\u6a21\u578b"),
    *("", " ", "\t", "\u00a0", "\u2003a", " a ", "a\x1f", "\x1c", "a\x00b", "\x7f", "\u200b"),
    *("unknown", "UNKNOWN", "un\u212anown", "unknown-7b", "data", "Data", "da:ta", "database"),
    *(".", "..", "...", ".a", "a.", "a. ", "a.b", "-a", "~", "a\\b", 'a"b', "a|b", "a?b", "a*b"),
    *("con", "NUL", "aux.7b", "prn .x", "com1", "lpt9.a", "com0", "com10", "com\u00b9", "conin$"),
    *("a<b", "a>b", "x" * 300, "e\u0301", "\ufeff", "a\nb", "a\u2028b", "\U0001f600"),
)


def row_records() -> Iterator[tuple[str, str | None]]:
    """Iterate over models' ids and developers, sound and odd ones."""
    chance = Random(7)
    yield from product(PARTS, (None, *PARTS))
    yield from ((f"{one}/{other}", None) for one, other in product(PARTS, PARTS))
    for _ in range(5_000):
        parts = chance.choices(PARTS, k=chance.randint(1, 5))
        yield "/".join(parts), chance.choice((None, *PARTS))
    letters = "aA/.: \t-_unkowdt0\\?"
    for _ in range(5_000):
        yield "".join(chance.choices(letters, k=chance.randint(0, 12))), chance.choice(PARTS)


def assert_addressed_alike(asked: list[tuple[str, str | None]]) -> None:
    """Require the directory that upstream's publisher uses, or none where it uses none."""
    expected = answers(("address", *one) for one in asked)
    addresses = (derive_address(*one) for one in asked)
    found = [list(one) if isinstance(one, Address) else None for one in addresses]
    wrong = {
        one: (ours, theirs)
        for one, ours, theirs in zip(asked, found, expected, strict=True)
        if ours != theirs
    }
    assert not wrong


def test_models_address_the_directories_that_upstream_files_them_in() -> None:
    asked = list(row_records())
    assert len(asked) > 15_000
    assert_addressed_alike(asked)


def aggregates() -> list[Path]:
    """Return all aggregates of the corpus."""
    pairs = [
        CORPUS / "eee-pairs" / pair["id"] / pair["aggregate"]
        for pair in expectations("eee-pairs/expected.json")["pairs"]
        if pair.get("aggregate_facts")
    ]
    alone = expectations("eee-aggregates/expected.json")["files"]
    return [*pairs, *(CORPUS / "eee-aggregates" / one["file"] for one in alone)]


@needs_corpus
def test_models_of_the_corpus_address_the_same_directories() -> None:
    models = (json.loads(path.read_bytes())["model_info"] for path in aggregates())
    asked = {(model["id"], model.get("developer")) for model in models if "id" in model}
    assert len(asked) > 30
    assert_addressed_alike(sorted(asked, key=str))


def variants(document: dict[str, Any], chance: Random) -> Iterator[dict[str, Any]]:
    """Iterate over copies of a record and over records that differ from it."""
    yield document
    yield _shuffled(document, chance)
    yield {**document, "evaluation_id": "a/b/c", "retrieved_timestamp": "1"}
    yield {**document, "model_info": {**document["model_info"], "retrieved_timestamp": "1"}}
    yield {**document, "model_info": {**document["model_info"], "name": "Another"}}
    results = document["evaluation_results"]
    yield {**document, "evaluation_results": results[:-1]}
    yield {**document, "evaluation_results": [*results, *results[:1]]}
    yield {**document, "evaluation_results": [results]}
    for value in (0, 0.0, -0.0, False, None, "0", [0], 1 << 70, 1e22, "\ud800"):
        yield {**document, "further": value}
        yield {**document, "further": [[value], [1, value]]}


def _shuffled(value: Any, chance: Random) -> Any:
    if isinstance(value, dict):
        names = chance.sample(sorted(value), len(value))
        return {name: _shuffled(value[name], chance) for name in names}
    if isinstance(value, list):
        return [_shuffled(item, chance) for item in chance.sample(value, len(value))]
    return value


def _without_file_path(document: dict[str, Any]) -> dict[str, Any]:
    details = document.get("detailed_evaluation_results")
    if not isinstance(details, dict):
        return document
    kept = {name: value for name, value in details.items() if name != "file_path"}
    return {**document, "detailed_evaluation_results": kept}


@needs_corpus
def test_copies_are_those_that_upstream_calls_duplicates(tmp_path: Path) -> None:
    chance = Random(11)
    documents = [
        _without_file_path(variant)
        for path in chance.sample(aggregates(), 40)
        for variant in variants(json.loads(path.read_bytes()), chance)
    ]
    paths = [tmp_path / f"{number}.json" for number in range(len(documents))]
    for path, document in zip(paths, documents, strict=True):
        path.write_text(json.dumps(document))
    theirs = answers(("record", str(path)) for path in paths)
    ours = list(map(record_digest, documents))
    # As many groups of copies by each as by both together: they are the same groups.
    assert len(set(ours)) == len(set(theirs)) == len(set(zip(ours, theirs, strict=True)))
    assert len(documents) // 2 < len(set(ours)) < len(documents)


@needs_corpus
def test_a_store_of_real_records_is_judged_alike(tmp_path: Path) -> None:
    store = tmp_path.resolve()
    placed = lay_out_store(store)
    files = [path for pair in placed for path in pair if path is not None]
    said = dict(zip(files, said_of(files), strict=True))
    copies = _copies([aggregate for aggregate, _ in placed])
    report = evalstream.check(store / "data", profile="datastore", max_findings=0)
    codes: dict[str, set[str]] = {}
    for finding in report:
        if finding.severity is Severity.ERROR:
            codes.setdefault(finding.file, set()).add(finding.code)
    found: Counter[str] = Counter()
    unexplained = {}
    for aggregate, rows in placed:
        own = [path for path in (aggregate, rows) if path is not None]
        refusals = [one for path in own for one in (*said[path].errors, *said[path].warnings)]
        refusals += [("duplicate", "")] if aggregate in copies else []
        ours = frozenset(code for path in own for code in codes.get(str(path), ()))
        data = b"".join(path.read_bytes() for path in own)
        verdicts = Verdicts(ours, tuple(refusals), data)
        names = classes_of(verdicts)
        found.update(sorted(names)[:1])
        if not names:
            unexplained[aggregate.relative_to(store)] = verdicts[:2]
    assert not unexplained
    assert min(found[BOTH_ACCEPT], found[BOTH_REFUSE]) > 30


def _copies(aggregates: list[Path]) -> set[Path]:
    """Return the aggregates that upstream calls duplicates of one whose path comes before."""
    seen: dict[str, Path] = {}
    ordered = sorted(aggregates)
    digests = answers(("record", str(path)) for path in ordered)
    for path, digest in zip(ordered, digests, strict=True):
        seen.setdefault(digest, path)
    return set(ordered) - set(seen.values())
