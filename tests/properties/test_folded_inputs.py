"""Copies of a question have one digest, which the scanner and Python compute alike."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from unicodedata import normalize

from compared_records import collected
from depth import examples
from each import each
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded, sound_rows

from evalstream.stats.sample_digests import encode_text, fold, fold_letter

TEXTS = st.text(
    st.sampled_from(
        "aB \t\n\r\x1c\x0b\x7f\u00a0\u00b4\u00c9\u00df\uff21\u0130\u2028\ufdfa\U0001f600"
        "\u0301\u0323\u0345\u064b\u093c\u094d\u0e01\u0e38\u0e48\u1100\u1161\uac00\u11a8\u314f"
    ),
    max_size=12,
) | st.text(max_size=40)
"""Letters with and without case, spaces of all kinds, letters with other forms, and marks."""


@bounded(max_examples=examples(200))
@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=2)), min_size=1, max_size=20))
def test_the_scanner_folds_as_python_does(inputs: list[tuple[str, list[str]]]) -> None:
    require_one_fold(inputs)


@each("inner", (" ", "\t", "\r\n", "\x1c", "\x1f ", "\u00a0", " \u4e2d ", "\u00c9", "Q"))
def test_the_scanner_folds_at_every_place_of_a_text(inner: str) -> None:
    texts = [("xY" * 20)[:at] + inner + "Z" * more for at in range(35) for more in range(2)]
    require_one_fold([(text, []) for text in texts])


def require_one_fold(inputs: Sequence[tuple[str, list[str]]]) -> None:
    """Require that the scanner and Python digest questions alike, those that fold alike as one."""
    rows = sound_rows(count=len(inputs))
    for row, (raw, choices) in zip(rows, inputs, strict=True):
        row["input"] = {**row["input"], "raw": raw, "choices": choices}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        # The scanner learns letters the first time, and folds them the second time.
        first, fast, exact = (
            {
                place: one.cluster
                for place, one in collected(path, "sample_id", **more).samples.items()
            }
            for more in ({}, {}, {"engine": "rust"})
        )
    assert first == fast == exact
    digests = [fast[place] for place in sorted(fast)]
    texts = [(fold(raw), tuple(map(fold, choices))) for raw, choices in inputs]
    assert len(set(zip(texts, digests, strict=True))) == len(set(texts)) == len(set(digests))


@given(TEXTS)
@bounded(max_examples=examples(1_000))
def test_folding_is_by_normal_form_case_and_white_space(text: str) -> None:
    folded = fold(text)
    assert folded == fold(folded) == fold(f"\n {text}\t")
    assert folded == fold(normalize("NFKC", text)) == fold(text.replace(" ", " \r\n"))
    if text.isascii():
        assert folded == fold(text.swapcase())


@given(TEXTS)
@bounded(max_examples=examples(2_000))
def test_letters_that_stay_in_their_places_fold_each_by_itself(text: str) -> None:
    folded, last = b"", 0
    for letter in text:
        one = fold_letter(letter)
        if one is None or 0 < one.first < last:
            return
        folded, last = folded + one.text, one.last
    words = folded.decode(errors="surrogatepass").split()
    assert encode_text(" ".join(words)) == encode_text(fold(text))


@each("letter", "\u0301\u0308\u0345\u093c\u09be\u1161\u11a8\u314f\uffc2")
def test_a_letter_that_may_join_the_one_before_it_has_no_fold(letter: str) -> None:
    assert fold_letter(letter) is None


@each("letter", "\u0e38\u0e48\u094d\u093e\u064b\u00e9\uac00\u1100\u4e2d\ud800")
def test_a_letter_that_joins_none_has_a_fold(letter: str) -> None:
    found = fold_letter(letter)
    assert found is not None
    assert found.text.decode(errors="surrogatepass") == fold(letter)
