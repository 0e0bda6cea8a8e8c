"""Each format says line and column of a malformed token, wherever it is in a document."""

import json
from pathlib import Path

import pytest
from each import each
from paths import REPOSITORY

import evalstream

EXAMPLES = REPOSITORY / "examples"
DOCUMENTS = {
    "infereval": (EXAMPLES / "infereval" / "evaluation.json", ("id", "model_verdict")),
    "evalguard": (EXAMPLES / "evalguard" / "thresholds" / "advice.json", ()),
    "inspect": (REPOSITORY / "tests" / "support" / "inspect_log.json", ("eval", "target")),
}


@pytest.mark.parametrize("indent", [None, 1])
@each("name", DOCUMENTS)
def test_a_malformed_token_has_its_line_and_column(
    tmp_path: Path, name: str, indent: int | None
) -> None:
    source, keys = DOCUMENTS[name]
    text = json.dumps(json.loads(source.read_bytes()), indent=indent)
    keys = keys or (*json.loads(text),)[-1:]
    for key in keys:
        at = text.rindex(f'"{key}": ') + len(key) + 4
        path = tmp_path / source.name
        path.write_text(text[:at] + "~" + text[at:])
        (found,) = [one for one in evalstream.check(path).findings if one.code == "ES103"]
        begin = text.rfind("\n", 0, at) + 1
        assert (found.line, found.column) == (text.count("\n", 0, at) + 1, at - begin + 1)
        path.write_text(text)
        assert not [one for one in evalstream.check(path).findings if one.code == "ES103"]
