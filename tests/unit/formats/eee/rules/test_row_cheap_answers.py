"""Questions that rules answer without a pattern, beside the patterns that say the same."""

import re

from each import each
from hypothesis import given
from hypothesis import strategies as st

from evalstream.formats.eee.metrics import is_graded
from evalstream.formats.eee.rules.row import _has_organisation

GRADED = re.compile(
    r"(?i:rouge|bleu|chrf|meteor|bert_?score|similarity|perplexity|brier|calibration|match@"
    r"|(?<![a-z])(?:f1|iou|precision|recall|wer|cer|ter|ece|mcc|bits_per_byte)(?![a-z]))"
)
ORGANISATION = re.compile(r"[^\s/]+(?:/[^\s/]+)+")

PARTS = (
    "rouge",
    "BLEU",
    "bertscore",
    "bert_score",
    "f1",
    "F1",
    "wer",
    "ans",
    "_",
    "-",
    "exact",
    "é",
)


@given(st.lists(st.sampled_from(PARTS), max_size=4).map("".join))
def test_a_metric_grades_by_its_name(name: str) -> None:
    assert is_graded(name) == (GRADED.search(name) is not None)


@each(
    ("name", "grades"), [("macro_f1", True), ("WER", True), ("answer", False), ("accuracy", False)]
)
def test_words_of_graded_metrics_stand_alone(name: str, grades: bool) -> None:
    assert is_graded(name) is grades


@given(st.text(alphabet="ab/ \t\n\x1c\xa0é²", max_size=8))
def test_an_organisation_is_told_from_a_name(model: str) -> None:
    assert _has_organisation(model) == (ORGANISATION.fullmatch(model) is not None)
