"""What is malformed in a request."""

from typing import Any

import pytest

from evalstream.formats.helm.requests import find_malformed


@pytest.mark.parametrize(
    ("tags", "is_sound"), [(5, False), ("incorrect", False), (["correct"], True), (None, True)]
)
def test_tags_of_references_are_a_list(tags: Any, is_sound: bool) -> None:
    instance = {"id": "id1", "references": [{"tags": tags}]}
    found = find_malformed({"instance": instance, "train_trial_index": 0, "request": {}})
    wrong = ("/instance/references/0/tags", "tags must be a list")
    assert (found != wrong) is is_sound
