"""Stored reports and parts with one wrong value: a reason or a report, and no better exit code."""

import copy
import hashlib
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from each import each
from paths import EXAMPLES

import evalstream
from evalstream.batch.parts import PartReporter
from evalstream.io.output import Output
from evalstream.model.errors import CannotCheck, EvalstreamError
from evalstream.reporters import REPORTERS, reporter_type

STORED = ("json", "jsonl")
INPUTS = (["examples"], ["examples/run.jsonl"], ["examples/tampered"], ["torn.jsonl"], ["gone"])
MUTATIONS = examples(200)
JUNK: tuple[Any, ...] = (
    None, [], {}, -1, 10**30, 10**400, 1e308, 2.5, 1.0, 0, 5, "x", "", True, float("inf"),
    float("nan"), [[[[[]]]]], {"a": 1}, "\ud800", "passed", "error", 2**63, [None], {"ES401": 1},
)  # fmt: skip
MEMBERS = ("note", "excluded", "unreached", "known", "failing", "unchanged", "excerpt", "sketch")


class Bytes:
    """An output that keeps nothing."""

    def write(self, _data: str | bytes) -> None:
        """Take some text or bytes."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with stored reports of several inputs, and with two parts."""
    folder = tmp_path_factory.mktemp("stored")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        shutil.copytree(EXAMPLES, "examples")
        Path("torn.jsonl").write_bytes((EXAMPLES / "run.jsonl").read_bytes()[:-40])
        for number, inputs in enumerate(INPUTS):
            for form in STORED:
                with Output(f"{number}.{form}") as output:
                    reporter = reporter_type(form)(output)
                    evalstream.check(inputs, jobs=1, sketches=True, reporter=reporter)
        for shard in (1, 2):
            with Output(f"part.{shard}") as output:
                reporter = PartReporter(output)
                evalstream.check("examples", jobs=1, shard=f"{shard}/2", reporter=reporter)
    return folder


def changed(value: Any, chance: random.Random) -> Any:
    """Return a copy of a value in which one member was removed, added or replaced."""
    holder = result = copy.deepcopy(value)
    while True:
        key = chance.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        if not isinstance(holder[key], (dict, list)) or not holder[key] or chance.random() < 0.2:
            break
        holder = holder[key]
    how = chance.random()
    if how < 0.15:
        del holder[key]
    elif how < 0.3 and isinstance(holder, dict):
        holder[chance.choice(MEMBERS)] = chance.choice(JUNK)
    else:
        holder[key] = chance.choice(JUNK)
    return result


def damaged(path: Path, chance: random.Random) -> bytes:
    """Return a stored report with one change."""
    if path.suffix == ".json":
        return json.dumps(changed(json.loads(path.read_bytes()), chance)).encode()
    lines = path.read_bytes().splitlines(keepends=True)
    number = chance.choice((chance.randrange(len(lines)), -1))
    lines[number] = json.dumps(changed(json.loads(lines[number]), chance)).encode() + b"\n"
    return b"".join(lines)


def is_worse(code: int, than: int) -> bool:
    """Tell whether an exit code hides what another one says."""
    return code == 0 and than != 0


@each("stored", STORED)
@pytest.mark.parametrize("number", range(len(INPUTS)))
def test_a_wrong_value_gives_a_reason_and_never_a_better_exit_code(
    number: int, stored: str, folder: Path, tmp_path: Path
) -> None:
    chance = random.Random(number)
    source, path = folder / f"{number}.{stored}", tmp_path / "report"
    expected = evalstream.read_report(source).exit_code
    refused = 0
    for _ in range(MUTATIONS):
        path.write_bytes(damaged(source, chance))
        reporter = reporter_type(chance.choice(list(REPORTERS)))(Bytes())  # type: ignore[arg-type]
        try:
            report = evalstream.read_report(path, reporter=reporter)
        except EvalstreamError as error:
            reason = str(error)
        else:
            assert isinstance(report.exit_code, int)
            assert 0 <= report.exit_code <= 255
            assert not is_worse(report.exit_code, expected)
            continue
        assert reason.startswith(str(path))
        refused += 1
    assert refused > MUTATIONS // 4


def test_wrong_values_in_parts_give_a_reason(folder: Path, tmp_path: Path) -> None:
    chance = random.Random(1)
    shutil.copy(folder / "part.2", tmp_path / "part.2")
    expected = evalstream.merge([folder / "part.1", folder / "part.2"]).exit_code
    *lines, last = (folder / "part.1").read_bytes().splitlines(keepends=True)
    refused = 0
    for _ in range(MUTATIONS):
        new, trailer = list(lines), json.loads(last)
        number = chance.randrange(len(new) + 1)
        if number < len(new):
            new[number] = json.dumps(changed(json.loads(new[number]), chance)).encode() + b"\n"
        else:
            trailer = changed(trailer, chance)
        if isinstance(trailer.get("part"), dict):
            trailer["part"]["digest"] = hashlib.sha256(b"".join(new)).hexdigest()
        end = json.dumps(trailer, separators=(",", ":")).encode() + b"\n"
        (tmp_path / "part.1").write_bytes(b"".join([*new, end]))
        try:
            report = evalstream.merge([tmp_path / "part.1", tmp_path / "part.2"])
        except EvalstreamError:
            refused += 1
        else:
            assert not is_worse(report.exit_code, expected)
    assert refused > MUTATIONS // 4


def with_run(path: Path, **members: Any) -> bytes:
    """Return a report in lines whose last run has other members, and totals of the same."""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    run, totals = lines[-2]["run"], lines[-1]["summary"]["totals"]
    for verdict, change in ((run["verdict"], -1), (members.get("verdict", run["verdict"]), 1)):
        totals[verdict] += change
    run.update(members)
    lines[-1]["summary"]["exit_code"] = 0
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@each(
    ("members", "reason"),
    [
        ({"verdict": "passed"}, "/verdict: expected failed"),
        ({"verdict": "passed", "failing": {}}, "/verdict: expected failed or incomplete"),
        ({"verdict": "unconfirmed", "failing": {}}, "/verdict: expected failed or incomplete"),
        ({"severities": {"info": 1}}, "/severities: expected as many findings"),
        ({"failing": {"ES101": 7}}, "/failing: expected no more findings"),
        ({"rows": 8.0}, "/run/rows: expected an integer of at most 63 bits"),
        ({"rows": "8"}, "/run/rows: expected an integer, found a string"),
        ({"recipe": 1}, "/run/recipe: expected null or a string, found an integer"),
    ],
)
def test_a_report_that_contradicts_itself_is_refused(
    members: dict[str, Any], reason: str, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "report.jsonl"
    path.write_bytes(with_run(folder / "3.jsonl", **members))
    with pytest.raises(CannotCheck) as caught:
        evalstream.read_report(path)
    assert reason in str(caught.value)


@each("code", [1e308, 2**63, 256, -1, 1.5, "0", None])
def test_an_exit_code_that_is_none_is_refused(code: Any, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    stored = json.loads((folder / "2.json").read_bytes())
    path.write_text(json.dumps(stored | {"exit_code": code}))
    with pytest.raises(CannotCheck, match="/exit_code: expected"):
        evalstream.read_report(path)
