"""Real logs of both harnesses, and the pairs that upstream's converters make of them.

The tests need `scripts/harnesses` to have been run, or the Python of such an environment in
EVALSTREAM_HARNESSES.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from each import each
from harness_logs import (
    convert,
    inspect_log,
    inspect_logs,
    inspect_schema,
    lm_eval_logs,
    lm_eval_metric_logs,
    needs_harnesses,
    source_of,
)
from paths import REPOSITORY

import evalstream
from evalstream.model.claim import State
from evalstream.model.finding import Severity
from evalstream.model.text import count_noun

pytestmark = needs_harnesses

REFUSED = {"cancelled", "failed", "nan", "unscored"}
"""The logs that upstream's converter of Inspect logs refuses: without results, or with NaN."""

CONVERTED = (
    *("attachments", "chats", "choices", "epochs", "errored", "graded", "letters", "limited"),
    *("numbers", "parts", "pictures", "plain", "reducers", "slashes", "tools"),
)
MADE_UP = {"errored", "parts"}
"""The logs of which the converter makes up scores, since they do not have one number."""


class Pair(NamedTuple):
    """A converted run: its aggregate, its rows, and its log."""

    aggregate: Path
    rows: Path
    log: Path

    def check(self, **options: Any) -> evalstream.Report:
        """Compare the pair with its log."""
        return evalstream.check(self.aggregate, source=str(self.log), **options)

    @property
    def content(self) -> list[dict[str, Any]]:
        """The rows; their texts hold separators at which `splitlines` would cut."""
        return [json.loads(line) for line in self.rows.read_bytes().split(b"\n") if line]

    def edit(self, change: Callable[[list[dict[str, Any]], dict[str, Any]], None]) -> None:
        """Change rows and aggregate, and seal them anew."""
        rows = self.content
        document = json.loads(self.aggregate.read_text())
        change(rows, document)
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
        self.rows.write_bytes(data)
        document["detailed_evaluation_results"] |= {
            "checksum": hashlib.sha256(data).hexdigest(),
            "total_rows": len(rows),
        }
        self.aggregate.write_text(json.dumps(document))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def inspect_pairs(folder: Path) -> Mapping[tuple[str, str], Pair]:
    """Return the pair of each Inspect log that the converter accepts, by name and layout."""
    logs = inspect_logs(folder / "inspect")
    names = sorted(path.name.rpartition("-") for path in logs.iterdir())
    by_log = {inspect_log(logs, name, layout): (name, layout) for name, _, layout in names}
    found = convert("inspect", list(by_log), folder / "inspect-pairs")
    return {by_log[log]: next(pairs("inspect", log, output)) for log, output in found.items()}


@pytest.fixture(scope="module")
def lm_eval_pairs(folder: Path) -> Mapping[tuple[str, str], Pair]:
    """Return the pair of each task of lm-eval, by run and task."""
    logs = lm_eval_logs(folder / "lm_eval")
    by_log = {logs / run / "acme__acorn-1b": run for run in ("plain", "limited", "chosen", "one")}
    found = convert("lm_eval", list(by_log), folder / "lm_eval-pairs")
    return {
        (by_log[log], pair.content[0]["evaluation_name"].partition("/")[0]): pair
        for log, output in found.items()
        for pair in pairs("lm_eval", log, output)
    }


def pairs(harness: str, log: Path, output: Path) -> Iterator[Pair]:
    for aggregate in sorted(output.rglob("*.json")):
        rows = aggregate.with_name(f"{aggregate.stem}_samples.jsonl")
        if rows.exists():
            yield Pair(aggregate, rows, source_of(harness, log, output))


def copied(pair: Pair, folder: Path) -> Pair:
    """Copy a pair, to change it."""
    for path in (pair.aggregate, pair.rows):
        shutil.copy(path, folder / path.name)
    return Pair(folder / pair.aggregate.name, folder / pair.rows.name, pair.log)


def errors(report: evalstream.Report) -> set[str]:
    """Return the codes of errors about the source."""
    return {one.code for one in report if one.code[:4] == "ES65" and one.severity is Severity.ERROR}


def uncompared(report: evalstream.Report) -> set[str]:
    """Return the warnings about members that were not compared."""
    found = (one for one in report if one.code == "ES660")
    return {one.message for one in found if one.severity is not Severity.INFO}


def source_said(report: evalstream.Report) -> str:
    """Return what the verdict says of the source."""
    (run,) = report.runs
    (part,) = run.checked
    return part.text


def test_the_converter_refuses_what_it_is_known_to_refuse(
    inspect_pairs: Mapping[tuple[str, str], Pair],
) -> None:
    assert {name for name, _ in inspect_pairs} == set(CONVERTED)
    assert not REFUSED & set(CONVERTED)


@pytest.mark.parametrize("layout", ["eval", "json"])
@each("name", CONVERTED)
def test_converted_inspect_logs_agree_with_their_log(
    name: str, layout: str, inspect_pairs: Mapping[tuple[str, str], Pair]
) -> None:
    pair = inspect_pairs[name, layout]
    report = pair.check(max_findings=0)
    assert errors(report) == set()
    assert ("ES655" in report.counts) == (name in MADE_UP)
    samples = {(row["sample_id"], row["metadata"]["epoch"]) for row in pair.content}
    scores = {"parts": "", "errored": " some scores, some usage,"}.get(name, " scores, usage,")
    scores = scores or " usage,"
    compared = f"inputs, outputs,{scores} times, errors and metadata of"
    assert source_said(report).startswith(f"{compared} {count_noun(len(samples), 'sample')}; ")
    assert uncompared(report) == set()
    assert report.runs[0].verdict == evalstream.check(pair.aggregate).runs[0].verdict


def test_converted_lm_eval_logs_agree_with_their_log(
    lm_eval_pairs: Mapping[tuple[str, str], Pair],
) -> None:
    tasks = {"plain", "words", "fruit"}
    assert lm_eval_pairs.keys() == {
        *(("plain", task) for task in tasks),
        *(("limited", task) for task in ("fruit", "words")),
        ("chosen", "fruit"),
        ("one", "plain"),
    }
    for pair in lm_eval_pairs.values():
        report = pair.check(max_findings=0)
        assert errors(report) == set()
        assert uncompared(report) == set()
        assert report.runs[0].checked[0].is_ok
        assert report.runs[0].verdict == evalstream.check(pair.aggregate).runs[0].verdict


def test_a_pair_does_not_agree_with_the_log_of_another_run(
    lm_eval_pairs: Mapping[tuple[str, str], Pair],
) -> None:
    pair = lm_eval_pairs["plain", "fruit"]
    other = pair._replace(log=lm_eval_pairs["limited", "fruit"].log)
    assert {"ES651", "ES656"} <= errors(other.check())


def _score(rows: list[dict[str, Any]], _document: dict[str, Any]) -> None:
    rows[1]["evaluation"]["score"] = 0.125


def _sample_removed(rows: list[dict[str, Any]], _document: dict[str, Any]) -> None:
    rows[:] = [row for row in rows if row["sample_id"] != rows[2]["sample_id"]]


def _row_removed(rows: list[dict[str, Any]], _document: dict[str, Any]) -> None:
    del rows[-1]


def _input(rows: list[dict[str, Any]], _document: dict[str, Any]) -> None:
    rows[0]["input"]["raw"] += " now"


def _reference(rows: list[dict[str, Any]], _document: dict[str, Any]) -> None:
    rows[0]["input"]["reference"] = ["another"]


def _choices(rows: list[dict[str, Any]], _document: dict[str, Any]) -> None:
    rows[0]["input"]["choices"] = ["a", "b", "c"]


def _output(rows: list[dict[str, Any]], _document: dict[str, Any]) -> None:
    rows[-1]["output"]["raw"] = ["another"]


def _row_added(rows: list[dict[str, Any]], _document: dict[str, Any]) -> None:
    rows.append({**rows[0], "sample_id": "new"})


def _row_repeated(rows: list[dict[str, Any]], _document: dict[str, Any]) -> None:
    rows.append(rows[0])


def _figure(_rows: list[dict[str, Any]], document: dict[str, Any]) -> None:
    document["evaluation_results"][0]["score_details"]["score"] = 0.9375


def _count(_rows: list[dict[str, Any]], document: dict[str, Any]) -> None:
    document["evaluation_results"][0]["score_details"]["uncertainty"]["num_samples"] = 1000


def _result(_rows: list[dict[str, Any]], document: dict[str, Any]) -> None:
    document["evaluation_results"][0]["evaluation_result_id"] = "best"


def _model(_rows: list[dict[str, Any]], document: dict[str, Any]) -> None:
    document["model_info"]["id"] = "acme/acorn-9b"


TAMPERINGS = {
    _score: "ES654",
    _sample_removed: "ES650",
    _row_removed: "ES650",
    _input: "ES652",
    _reference: "ES652",
    _choices: "ES652",
    _output: "ES653",
    _row_added: "ES651",
    _row_repeated: "ES651",
    _figure: "ES656",
    _count: "ES656",
    _result: "ES657",
    _model: "ES658",
}


def _dataset(_rows: list[dict[str, Any]], document: dict[str, Any]) -> None:
    document["evaluation_results"][0]["source_data"]["dataset_name"] = "another"


def _samples_number(_rows: list[dict[str, Any]], document: dict[str, Any]) -> None:
    document["evaluation_results"][0]["source_data"]["samples_number"] = 10_000


def _metric(_rows: list[dict[str, Any]], document: dict[str, Any]) -> None:
    document["evaluation_results"][0]["metric_config"]["metric_name"] = "f1"


def _task(rows: list[dict[str, Any]], document: dict[str, Any]) -> None:
    document["evaluation_results"][0]["evaluation_name"] += "_hard"
    for row in rows:
        row["evaluation_name"] += "_hard"


@each("change", [_dataset, _samples_number, _metric, _task])
@pytest.mark.parametrize("name", ["slashes", "letters", "fruit", "words"])
def test_another_setting_is_found(
    name: str,
    change: Callable[[list[dict[str, Any]], dict[str, Any]], None],
    inspect_pairs: Mapping[tuple[str, str], Pair],
    lm_eval_pairs: Mapping[tuple[str, str], Pair],
    tmp_path: Path,
) -> None:
    known = {**inspect_pairs, **lm_eval_pairs}
    pair = copied(known.get((name, "json")) or known["plain", name], tmp_path)
    if pair.log.is_dir():
        # Beside other tasks the name of the task says which samples are meant.
        (samples,) = pair.log.glob(f"samples_{name}_*.jsonl")
        pair = pair._replace(log=samples)
    pair.edit(change)
    report = pair.check()
    assert "ES659" in errors(report)
    assert report.runs[0].checked[0].is_ok is False


def test_the_direction_of_a_metric_is_that_of_its_log(
    lm_eval_pairs: Mapping[tuple[str, str], Pair], tmp_path: Path
) -> None:
    pair = copied(lm_eval_pairs["plain", "fruit"], tmp_path)

    def turn(_rows: list[dict[str, Any]], document: dict[str, Any]) -> None:
        config = document["evaluation_results"][0]["metric_config"]
        config["lower_is_better"] = not config["lower_is_better"]

    assert "direction" in source_said(pair.check())
    pair.edit(turn)
    assert errors(pair.check()) == {"ES659"}


@pytest.mark.parametrize(("stated", "fits"), [(0.5, True), (0.25, False), (None, True)])
def test_settings_of_the_generation_are_those_of_the_log(
    stated: float | None, fits: bool, inspect_pairs: Mapping[tuple[str, str], Pair], tmp_path: Path
) -> None:
    pair = copied(inspect_pairs["plain", "json"], tmp_path)
    log = json.loads(pair.log.read_text())
    log["eval"]["model_generate_config"] = {"temperature": 0.5, "top_k": None}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))

    def state(_rows: list[dict[str, Any]], document: dict[str, Any]) -> None:
        for result in document["evaluation_results"]:
            arguments = result["generation_config"]["generation_args"]
            arguments |= {"temperature": stated, "top_k": 40}
            if stated is None:
                del arguments["temperature"]

    pair.edit(state)
    assert errors(pair._replace(log=path).check()) == (set() if fits else {"ES659"})


def test_of_two_errors_of_a_score_either_is_that_of_the_log(
    inspect_pairs: Mapping[tuple[str, str], Pair], tmp_path: Path
) -> None:
    """A clustered error and a plain one have the same name; converters write the last one."""
    pair = copied(inspect_pairs["plain", "json"], tmp_path)
    log = json.loads(pair.log.read_text())
    metrics = log["results"]["scores"][0]["metrics"]
    own = metrics["stderr"]["value"]
    metrics["stderr2"] = {"name": "stderr", "value": own + 0.125, "params": {"cluster": "topic"}}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    pair = pair._replace(log=path)
    for value, found in ((own, set()), (own + 0.125, set()), (own + 0.25, {"ES656"})):

        def claim(
            _rows: list[dict[str, Any]], document: dict[str, Any], value: float = value
        ) -> None:
            details = document["evaluation_results"][0]["score_details"]
            details["uncertainty"]["standard_error"]["value"] = value

        pair.edit(claim)
        assert errors(pair.check()) == found


@each("change", TAMPERINGS, ids=lambda change: change.__name__[1:])
@pytest.mark.parametrize("name", ["slashes", "epochs", "letters", "fruit", "words"])
def test_each_kind_of_tampering_is_found(
    name: str,
    change: Callable[[list[dict[str, Any]], dict[str, Any]], None],
    inspect_pairs: Mapping[tuple[str, str], Pair],
    lm_eval_pairs: Mapping[tuple[str, str], Pair],
    tmp_path: Path,
) -> None:
    known = {**inspect_pairs, **lm_eval_pairs}
    pair = copied(known.get((name, "eval")) or known["plain", name], tmp_path)
    pair.edit(change)
    report = pair.check()
    assert TAMPERINGS[change] in errors(report)
    assert report.exit_code == 1
    assert report.runs[0].checked[0].is_ok is False


def test_a_log_that_is_cut_off_is_not_compared(
    inspect_pairs: Mapping[tuple[str, str], Pair], tmp_path: Path
) -> None:
    for layout in ("eval", "json"):
        pair = inspect_pairs["plain", layout]
        torn = tmp_path / pair.log.name
        torn.write_bytes(pair.log.read_bytes()[:-300])
        report = pair._replace(log=torn).check()
        assert report.exit_code == 3
        assert report.runs[0].verdict == "incomplete"
        assert source_said(report) == "source not compared"


def test_epochs_may_have_their_own_scores_but_not_a_mixture(
    inspect_pairs: Mapping[tuple[str, str], Pair], tmp_path: Path
) -> None:
    pair = copied(inspect_pairs["epochs", "json"], tmp_path)
    log = json.loads(pair.log.read_text())
    own = {
        (str(one["id"]), str(one["epoch"])): {"C": 1.0, "I": 0.0}[one["scores"]["match"]["value"]]
        for one in log["samples"]
    }

    def to_own(rows: list[dict[str, Any]], _document: dict[str, Any]) -> None:
        for row in rows:
            row["evaluation"]["score"] = own[row["sample_id"], row["metadata"]["epoch"]]

    reduced = {row["evaluation"]["score"] for row in pair.content}
    pair.edit(to_own)
    assert errors(pair.check()) == set()
    if reduced - {0.0, 1.0}:
        value = min(reduced - {0.0, 1.0})

        def to_mixture(rows: list[dict[str, Any]], _document: dict[str, Any]) -> None:
            rows[0]["evaluation"]["score"] = value

        pair.edit(to_mixture)
        assert errors(pair.check()) == {"ES654"}


ENDINGS = {"cancelled": {"INS105"}, "failed": {"INS105"}}
"""Logs of runs that did not finish, and what fails their check."""

WARNED = {"errored": {"INS211"}, "letters": {"INS304"}, "unscored": {"ES805"}}
"""Warnings of sound logs: a sample that failed, a bootstrap of 50 draws, and no scores at all."""


has_reader = find_spec("inspect_ai") is not None


def test_the_types_of_inspects_logs_are_those_of_the_harness() -> None:
    """After a new release: write what the driver prints to the file, and read the difference."""
    assert inspect_schema() == (REPOSITORY / "schemas" / "inspect" / "log.json").read_text()


def test_real_logs_of_inspect_get_the_right_verdict(folder: Path) -> None:
    logs = inspect_logs(folder / "inspect")
    for path in sorted(logs.glob("*/*")):
        name = path.parent.name.rpartition("-")[0]
        report = evalstream.check(path, max_findings=0)
        (run,) = report.runs
        assert run.format == "inspect"
        failing = ENDINGS.get(name, set())
        assert set(run.failing) == failing, (path.parent.name, list(report))
        if has_reader and not failing:
            verdict = "unconfirmed" if name == "unscored" else "passed"
            assert run.verdict == verdict, (path.parent.name, run.incomplete_reason)
        found = {one.code for one in report if one.severity is not Severity.INFO}
        if not failing:
            assert found == WARNED.get(name, set()), (name, found)


def test_real_logs_of_lm_eval_get_the_right_verdict(folder: Path) -> None:
    logs = lm_eval_logs(folder / "lm_eval")
    for name in ("plain", "limited", "group", "one", "chosen"):
        report = evalstream.check(logs / name, max_findings=0)
        assert {run.verdict for run in report.runs} == {"passed"}, (name, list(report))
        assert not [one for one in report if one.severity is not Severity.INFO]


def test_every_metric_of_lm_eval_is_computed_as_the_harness_does(folder: Path) -> None:
    """All figures and errors are confirmed, but for a function of a task."""
    logs = lm_eval_metric_logs(folder / "lm_eval-metrics")
    names = {path.name for path in logs.iterdir()} - {"tasks"}
    assert names == {
        "all",
        "own",
        "sized",
        "plain",
        "none",
        "few",
        "one",
        "chosen",
        "silent",
        "small",
    }
    for name in sorted(names):
        report = evalstream.check(logs / name, max_findings=0)
        assert report.exit_code == 0, (name, list(report))
        for run in report.runs:
            wrong = [claim for claim in run.claims if claim.state is not State.CONFIRMED]
            assert {claim.label for claim in wrong} <= {"best,none of own"}, (name, wrong)
            is_scored = name != "silent" or run.rows == 0
            assert run.verdict == ("passed" if is_scored else "unconfirmed")
        found = {one.code for one in report if one.severity is not Severity.INFO}
        assert found <= {"ES108", "LME303", "ES805"}, (name, list(report))


def test_a_changed_score_in_a_real_log_of_lm_eval_is_found(folder: Path, tmp_path: Path) -> None:
    logs = Path(shutil.copytree(lm_eval_logs(folder / "lm_eval") / "plain", tmp_path / "plain"))
    (samples,) = logs.rglob("samples_plain_*.jsonl")
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    rows[3]["exact_match"] = 1.0 - rows[3]["exact_match"]
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = evalstream.check(samples)
    assert "LME301" in report.counts
    rows[3]["target"] += " or so"
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "LME203" in evalstream.check(samples).counts


def test_runs_of_real_logs_are_compared_sample_by_sample(folder: Path) -> None:
    logs = lm_eval_logs(folder / "lm_eval")
    (one,) = (logs / "plain").rglob("samples_words_*.jsonl")
    (two,) = (logs / "limited").rglob("samples_words_*.jsonl")
    report = evalstream.compare([one, two], min_overlap=0.0)
    assert report.comparisons
    assert all(found.alignment.matched == 7 for found in report.comparisons)
