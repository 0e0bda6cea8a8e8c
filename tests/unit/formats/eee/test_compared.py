"""What a row gives to a comparison is the same from its line and from the parsed row."""

from typing import Any

import pytest

from evalstream.formats.eee.compared import row_cluster, sample_row
from evalstream.model.options import SampleRequest
from evalstream.parsing.json import fast

LINES = {
    "text": '{"input": {"raw": "Wo  \ufb01?", "reference": ["a"], "choices": ["\u00c4", "b"]}}',
    "one reference": '{"input": {"raw": "\u00df", "reference": "a", "choices": null}}',
    "no text": '{"input": {"raw": 1, "reference": "a"}}',
    "no input": '{"output": {"raw": "\u00df"}}',
    "null": '{"input": null}',
    "a long number": '{"input": {"raw": "\u00df", "reference": []}, "metadata": {"n": 1'
    + "0" * 400
    + "}}",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
@pytest.mark.parametrize("cluster", [None, "/input/raw"])
def test_the_cluster_of_a_line_is_that_of_its_row(line: str, cluster: str | None) -> None:
    request = SampleRequest("input", cluster)
    row: dict[str, Any] = fast(line.encode())
    whole = sample_row(row, request, 1, 0, is_scored=True)
    assert row_cluster(request, line.encode()) == whole.cluster


def test_questions_that_differ_in_case_and_space_share_a_cluster() -> None:
    request = SampleRequest("input")
    one, same, other = (
        f'{{"input": {{"raw": "{raw}", "reference": []}}}}'.encode()
        for raw in ("\u00dcber  uns", "\u00fcber uns", "unter uns")
    )
    assert row_cluster(request, one) == row_cluster(request, same) != row_cluster(request, other)
