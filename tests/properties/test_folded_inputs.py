"""Copies of a question have one digest, which the scanner and Python compute alike."""

import json
import tempfile
from pathlib import Path
from unicodedata import normalize

from compared_records import collected
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded, sound_rows

from evalstream.stats.sample_digests import fold

TEXTS = st.text(
    st.sampled_from("aB \t\n\r\x1c\x0b\x7f\u00a0\u00c9\u00df\uff21\u0130\u2028"), max_size=12
)
"""Letters with and without case, spaces of ASCII and others, and letters with other forms."""


@bounded(max_examples=60)
@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=2)), min_size=1, max_size=20))
def test_the_scanner_folds_as_python_does(inputs: list[tuple[str, list[str]]]) -> None:
    rows = sound_rows(count=len(inputs))
    for row, (raw, choices) in zip(rows, inputs, strict=True):
        row["input"] = {**row["input"], "raw": raw, "choices": choices}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        fast, exact = (
            {
                place: one.cluster
                for place, one in collected(path, "sample_id", **more).samples.items()
            }
            for more in ({}, {"engine": "rust"})
        )
    assert fast == exact
    digests = [fast[place] for place in sorted(fast)]
    texts = [(fold(raw), tuple(map(fold, choices))) for raw, choices in inputs]
    assert len(set(zip(texts, digests, strict=True))) == len(set(texts)) == len(set(digests))


@given(TEXTS)
@bounded(max_examples=200)
def test_folding_is_by_normal_form_case_and_white_space(text: str) -> None:
    folded = fold(text)
    assert folded == fold(folded) == fold(f"\n {text}\t")
    assert folded == fold(normalize("NFKC", text)) == fold(text.replace(" ", " \r\n"))
    if text.isascii():
        assert folded == fold(text.swapcase())
