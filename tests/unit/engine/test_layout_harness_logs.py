"""Raw logs of harnesses: one finding a file, with what it is and how it is converted."""

import gzip
import io
import json
import shlex
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from commands import DEVNULL, PIPE, Process, command, run_command
from corpus import CORPUS, needs_corpus
from depth import some
from each import each
from paths import EXAMPLES

import evalstream
from evalstream.engine import layout
from evalstream.engine.layout import detect_log
from evalstream.io.beginning import PEEK_BYTES, Beginning

INSPECT_EVAL = {"run_id": "r", "created": "2026-01-01", "task": "sums", "model": "acme/acorn",
                "dataset": {"sample_ids": [1, 2]}}  # fmt: skip
SAMPLE = {"doc_id": 0, "doc": {"q": "1+1"}, "target": "2", "arguments": {}, "resps": [["2"]],
          "filtered_resps": ["2"], "filter": "none", "metrics": ["acc"], "acc": 1.0}  # fmt: skip
EVENT = {"run_id": "r", "event_id": 0, "sample_id": "s", "type": "match", "data": {},
         "created_by": "", "created_at": "2026"}  # fmt: skip
SPEC = {"spec": {"completion_fns": ["m"], "eval_name": "e", "base_eval": "b", "split": "s"}}
RESULTS = {"results": {"sums": {"acc,none": 1}}, "configs": {}, "versions": {}, "n-shot": {},
           "config": {"model": "hf"}, "git_hash": "0"}  # fmt: skip
FORK = {"results": [{"task_name": "sums", "prompt_name": "ask", "em": 0.5}], "versions": {},
        "table_results": {}, "config": {"model": "gpt2", "model_args": ""}}  # fmt: skip
LMMS_SAMPLE = {"doc_id": 0, "target": "2", "filtered_resps": "2", "doc_hash": "0", "input": "1+1",
               "sums_acc": {"question_id": 0, "score": 1}}  # fmt: skip
OLD_LMMS_SAMPLE = {**SAMPLE, "doc_hash": "0", "input": "1+1"}
LMMS_CONFIG = {"task": "sums", "full_docs": False, "process_results_use_image": False}
LMMS = {**RESULTS, "configs": {"sums": LMMS_CONFIG}}
OLD_LMMS = {"results": {}, "configs": {}, "versions": {}, "n-shot": {}, "model_configs": {}}
HASHES = {"task_hash": "0", "model_hash": "1"}
OLMES = {"task_name": "sums", **HASHES, "model_config": {}, "task_config": {}, "compute_config": {},
         "num_instances": 2, "metrics": {"primary_score": 0.5}, "task_idx": 0}  # fmt: skip
MULTI_LISTS = {"completed": ["a/b:pr-1"], "incomplete": ["a/b:pr-2"], "resolved": ["a/b:pr-1"],
               "unresolved": [], "empty_patch": [], "error": ["a/b:pr-2"],
               "submitted": ["a/b:pr-1", "a/b:pr-2"]}  # fmt: skip
MULTI = {"total_instances": 2, **{f"{key}_instances": len(ids) for key, ids in MULTI_LISTS.items()},
         **{f"{key}_ids": ids for key, ids in MULTI_LISTS.items()}}  # fmt: skip
MULTI_REPORT = {"org": "a", "repo": "b", "number": 1, "valid": True, "fixed_tests": {},
                "p2p_tests": {}, "f2p_tests": {}, "fix_patch_result": {}}  # fmt: skip
PATCH = {"org": "a", "repo": "b", "number": 1, "fix_patch": "diff"}
LIVE_REPORT = {"instance_id": "a__b-1", "resolved": True, "PASS_TO_PASS": {}, "FAIL_TO_PASS": {}}
LIVE = {"submitted": 1, "submitted_ids": ["a__b-1"], "success_ids": ["a__b-1"], "failure_ids": [],
        "error_ids": [], "incomplete_ids": []}  # fmt: skip
LIGHT = {"config_general": {"lighteval_sha": "0"}, "results": {}, "versions": {},
         "config_tasks": {}, "summary_tasks": {}, "summary_general": {}}  # fmt: skip
FOO = {"evalId": "eval-1", "results": {"version": 3, "results": [], "stats": {}}, "config": {},
       "shareableUrl": None}  # fmt: skip
JOB = {"id": "j", "n_total_trials": 2, "stats": {"evals": {"agent__model": {"n_trials": 2}}}}
TRIAL = {"task_name": "t", "trial_name": "t__1", "task_checksum": "0", "agent_info": {},
         "verifier_result": {"rewards": {"reward": 1}}}  # fmt: skip
STATS = [{"instance_id": "id1", "train_trial_index": 0, "stats": []}]
HELM = [{"name": {"name": "exact_match"}, "count": 1, "sum": 1.0, "sum_squared": 1.0}]
RUN_SPEC = {"name": "r", "scenario_spec": {}, "adapter_spec": {}, "metric_specs": [], "groups": []}
SCENARIO = {"name": "s", "description": "d", "tags": [], "definition_path": "p"}
STATE = {"adapter_spec": {"method": "m"}, "request_states": []}


def document(value: Any, indent: int | None = 2) -> bytes:
    """Write a value as JSON."""
    return json.dumps(value, indent=indent).encode() + b"\n"


def lines(*values: Any) -> bytes:
    """Write values as JSON lines."""
    return b"".join(document(value, None) for value in values)


def archive(*names: str) -> bytes:
    """Write a zip archive with empty members."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        for name in names:
            file.writestr(name, "{}")
    return held.getvalue()


INSPECT = {"version": 2, "status": "success", "eval": INSPECT_EVAL, "plan": {}, "results": {},
           "stats": {}, "samples": []}  # fmt: skip
LOGS: list[tuple[str, bytes, str, str | None]] = [
    ("log.json", document(INSPECT), "Inspect", "inspect --log_path log.json"),
    ("log.json", document(INSPECT, None), "Inspect", "inspect --log_path log.json"),
    ("old.json", document({key: INSPECT[key] for key in ("status", "eval", "plan", "stats")}),
     "Inspect", "inspect --log_path old.json"),
    ("nan.json", document({**INSPECT, "results": {"score": float("nan")}}), "Inspect",
     "inspect --log_path nan.json"),
    ("torn.json", document(INSPECT)[:-40], "Inspect", "inspect --log_path torn.json"),
    ("large.json", document({**INSPECT, "eval": {**INSPECT_EVAL, "ids": ["x" * 50] * 9999}}),
     "Inspect", "inspect --log_path large.json"),
    ("2026_sums.eval", archive("_journal/start.json", "samples/1.json"), "Inspect",
     "inspect --log_path 2026_sums.eval"),
    ("samples_sums_2026.jsonl", lines(SAMPLE, SAMPLE), "lm-evaluation-harness",
     "lm_eval --log_path . --output_dir data --include_samples"),
    ("one.jsonl", lines(SAMPLE), "lm-evaluation-harness", "lm_eval --log_path ."),
    ("samples.jsonl.gz", gzip.compress(lines(SAMPLE)), "lm-evaluation-harness", "lm_eval"),
    ("results_2026.json", document(RESULTS), "lm-evaluation-harness",
     "lm_eval --log_path results_2026.json --output_dir data --include_samples"),
    ("fork.json", document(FORK), "BigScience's fork of lm-evaluation-harness", None),
    ("lmms_results.json", document(LMMS), "lmms-eval", None),
    ("late_results.json", document({**RESULTS, "lmms_eval_version": "0.7.3"}), "lmms-eval", None),
    ("old_results.json", document(OLD_LMMS), "lmms-eval", None),
    ("lmms_samples_sums.jsonl", lines(LMMS_SAMPLE, LMMS_SAMPLE), "lmms-eval", None),
    ("old_samples_sums.jsonl", lines(OLD_LMMS_SAMPLE, OLD_LMMS_SAMPLE), "lmms-eval", None),
    ("sums.json", document({"args": {}, "model_configs": {}, "logs": []}), "lmms-eval", None),
    ("task-000-sums-metrics.json", document(OLMES), "OLMES", None),
    ("metrics-all.jsonl", lines(OLMES, OLMES), "OLMES", None),
    ("metrics.json", document({"all_primary_scores": [], "tasks": []}), "OLMES", None),
    ("predictions.jsonl", lines({"doc_id": 0, "model_output": [], "metrics": {}, **HASHES}),
     "OLMES", None),
    ("requests.jsonl", lines({"request_type": "loglikelihood", "request": {}, "native_id": "0"}),
     "OLMES", None),
    ("final_report.json", document(MULTI), "Multi-SWE-bench", None),
    ("report.json", document(MULTI_REPORT), "Multi-SWE-bench", None),
    ("patches.jsonl", lines(PATCH, PATCH), "Multi-SWE-bench", None),
    ("live_report.json", document(LIVE_REPORT), "SWE-bench-Live", None),
    ("live_results.json", document(LIVE), "SWE-bench-Live", None),
    ("run_spec.json", document(RUN_SPEC), "HELM", "helm --log_path . --output_dir data"),
    ("scenario_state.json", document(STATE), "HELM", "helm --log_path ."),
    ("scenario.json", document(SCENARIO), "HELM", "helm --log_path ."),
    ("per_instance_stats.json", document(STATS), "HELM", "helm --log_path ."),
    ("stats.json", document(HELM), "HELM", "helm --log_path ."),
    ("results_light.json", document(LIGHT), "LightEval", None),
    ("details_sums.parquet", b"PAR1\0\0", "LightEval", None),
    ("promptfoo.json", document(FOO), "promptfoo", None),
    ("promptfoo.jsonl", lines({"testIdx": 0, "promptIdx": 0, "gradingResult": None}),
     "promptfoo", None),
    ("result.json", document(JOB), "Harbor", None),
    ("trial.json", document(TRIAL), "Harbor", None),
    ("evals.jsonl", lines(SPEC, EVENT), "OpenAI evals", None),
    ("events.jsonl", lines(EVENT, EVENT), "OpenAI evals", None),
    ("simple.json", document({"score": 0.5, "score:std": 0.1, "chars": 3}), "simple-evals", None),
    ("all.json", document({"score": 0.5, "metrics": {}, "htmls": [], "convos": []}),
     "simple-evals", None),
]  # fmt: skip


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, so that names are short."""
    monkeypatch.chdir(tmp_path)


@each(("name", "data", "harness", "command"), LOGS)
def test_a_log_is_one_finding_with_the_way_to_convert_it(
    name: str, data: bytes, harness: str, command: str | None
) -> None:
    Path(name).write_bytes(data)
    for path in (name, "."):
        for settings in ({}, {"strict": True}):
            report = evalstream.check(path, jobs=1, input_format="eee", **settings)
            assert (report.exit_code, report.counts) == (3, {"ES008": 1})
            assert not report.passed
        (finding,) = report
        assert f" of {harness}, " in finding.message
        if command is None:
            assert "; no converter is known" in finding.message
        else:
            assert f"every_eval_ever convert {command}" in finding.message
        assert (finding.file, finding.name) == (name, "foreign-format")
        assert report.runs[0].rows == 0


def test_every_sign_has_an_example() -> None:
    shown = {detect_log(Beginning(name, data)) for name, data, _, _ in LOGS}
    assert {(sign.harness, sign.what) for sign in layout._SIGNS} <= shown - {None}


# What a packed or a Parquet file is shows in its name.
@each(("data", "harness"), [log[1:3] for log in LOGS if not log[0].endswith((".parquet", ".gz"))])
def test_a_log_on_standard_input_is_recognised(data: bytes, harness: str) -> None:
    code, text = piped(data, "--input-format", "eee")
    assert code == 3
    assert f" of {harness}, " in text
    assert "ES008 foreign-format: 1" in text
    assert "FILE" in text or "FOLDER" in text or "no converter" in text


@each(
    ("value", "words"),
    [(LIGHT, "--save-details"), (FOO, "--output FILE.jsonl"), (JOB, "verifier_result.rewards"),
     (TRIAL, "verifier_result.rewards")],
)  # fmt: skip
def test_a_log_without_a_converter_says_where_its_scores_are(value: Any, words: str) -> None:
    Path("log.json").write_bytes(document(value))
    (finding,) = evalstream.check("log.json", jobs=1)
    assert (finding.code, words in finding.message) == ("ES008", True)


@each(
    ("name", "data", "own"),
    [("results.json", document(LMMS), "lm_eval"), ("old.json", document(OLD_LMMS), "lm_eval"),
     ("samples.jsonl", lines(OLD_LMMS_SAMPLE), "lm_eval"),
     ("results.json", document(FORK), "lm_eval"), ("report.json", document(MULTI), "swe_bench"),
     ("metrics.json", document(OLMES), "harpia")],
)  # fmt: skip
def test_logs_of_relatives_are_not_taken_for_those_of_a_format(
    name: str, data: bytes, own: str
) -> None:
    Path(name).write_bytes(data)
    for path in (name, "."):
        report = evalstream.check(path, jobs=1)
        assert (report.exit_code, report.counts) == (3, {"ES008": 1})
    if own != "harpia":
        assert evalstream.check(name, jobs=1, input_format=own).counts == {"ES005": 1}


@each("value", [RESULTS, {key: MULTI[key] for key in MULTI if key != "incomplete_instances"}])
def test_logs_of_formats_are_not_taken_for_those_of_relatives(value: Any) -> None:
    Path("log.json").write_bytes(document(value))
    assert "ES008" not in evalstream.check("log.json", jobs=1).counts


@pytest.mark.parametrize("value", [{"stats": {"evals": 3}}, {"trial_name": "t", "task_name": "t"}])
def test_other_documents_with_some_of_the_members_are_no_logs(value: Any) -> None:
    assert detect_log(Beginning("", document(value))) is None


def test_paths_are_quoted_for_the_shell() -> None:
    folder = Path("my runs; rm -rf")
    folder.mkdir()
    (folder / "it's a log.json").write_bytes(document(INSPECT))
    (finding,) = evalstream.check(folder, jobs=1, input_format="eee")
    command = shlex.split(finding.message.partition("with: ")[2])
    assert command[:5] == ["every_eval_ever", "convert", "inspect", "--log_path",
                           f"{folder}/it's a log.json"]  # fmt: skip


def test_logs_do_not_keep_a_folder_from_being_checked() -> None:
    for number, (name, data, _, _) in enumerate(LOGS):
        place = Path(f"{number}")
        place.mkdir()
        (place / name).write_bytes(data)
    (Path("run.jsonl")).write_bytes((EXAMPLES / "run.jsonl").read_bytes())
    (Path("aggregate.json")).write_bytes((EXAMPLES / "aggregate.json").read_bytes())
    report = evalstream.check(".", jobs=1, input_format="eee")
    assert (report.exit_code, report.counts) == (3, {"ES008": len(LOGS)})
    assert {run.file for run in report.runs if run.verdict == "passed"} == {"run.jsonl"}


def test_rows_that_an_aggregate_claims_may_be_a_log() -> None:
    Path("x_samples.jsonl").write_bytes(lines(SAMPLE, SAMPLE))
    Path("x.json").write_bytes((EXAMPLES / "aggregate.json").read_bytes())
    for path in (".", "x.json", "x_samples.jsonl"):
        report = evalstream.check(path, jobs=1, select=("ES0",))
        assert (report.exit_code, report.counts) == (3, {"ES008": 1})


def rows_with(**members: Any) -> bytes:
    """Return the example's rows with further members."""
    rows = map(json.loads, (EXAMPLES / "run.jsonl").read_bytes().splitlines())
    return lines(*({**members, **row} for row in rows))


@each("members", [SAMPLE, EVENT, INSPECT, RESULTS, FOO, LIGHT, RUN_SPEC])
def test_rows_are_never_called_foreign(members: dict[str, Any]) -> None:
    Path("rows.jsonl").write_bytes(rows_with(**members))
    for path in ("rows.jsonl", "."):
        report = evalstream.check(path, jobs=1)
        assert "ES008" not in report.counts
        assert report.runs[0].rows == 8
    for left_out in ("schema_version", "evaluation_id", "sample_id", "model_id"):
        rows = map(json.loads, Path("rows.jsonl").read_bytes().splitlines())
        kept = ({key: row[key] for key in row if key != left_out} for row in rows)
        Path("less.jsonl").write_bytes(lines(*kept))
        assert "ES008" not in evalstream.check("less.jsonl", jobs=1).counts


@needs_corpus
def test_nothing_of_the_corpus_is_foreign() -> None:
    files = [*CORPUS.glob("eee-*/**/*.json*"), *CORPUS.glob("infereval/**/*.json")]
    assert len(files) > 400
    for path in some(sorted(files), 60):
        head = path.read_bytes()[:PEEK_BYTES]
        assert detect_log(Beginning(str(path), head)) is None, path


@each("value", [{}, {"a": 1}, {"score": 1}, {"status": "success"}, {"eval": {"task": 1}}, [], 7])
def test_unknown_json_is_no_format_that_is_known(value: Any) -> None:
    Path("x.json").write_bytes(document(value))
    report = evalstream.check("x.json", jobs=1)
    assert (report.exit_code, report.counts) == (3, {"ES005": 1})
    (finding,) = report
    assert "known format" in finding.message


def piped(data: bytes, *arguments: str) -> tuple[int, str]:
    """Check what comes through a pipe, and return the exit code and the report."""
    done = run_command(
        command("check", "-", *arguments), input=data, capture_output=True, timeout=60
    )
    return done.returncode, (done.stdout + done.stderr).decode()


@each(
    ("name", "code", "said"),
    [
        ("infereval/evaluation.json", 0, "unconfirmed: <stdin> (infereval 1.0): 2 items"),
        ("infereval/benchmark.json", 0, "passed: <stdin> (infereval 1.0): "),
        ("harpia/log.jsonl", 0, "unconfirmed: <stdin> (harpia): 6 log lines"),
        ("harpia/output.json", 0, "unconfirmed: <stdin> (harpia): "),
        ("harpia/input.json", 0, "passed: <stdin> (harpia): "),
        ("evalguard/thresholds/advice.json", 0, "unconfirmed: <stdin> (evalguard v1 "),
        ("run.jsonl", 0, "unconfirmed: <stdin>: 8 rows"),
        ("aggregate.json", 0, "unconfirmed: <stdin>: an aggregate without rows"),
    ],
)
def test_standard_input_is_recognised(name: str, code: int, said: str) -> None:
    data = (EXAMPLES / name).read_bytes()
    got, text = piped(data)
    assert got == code
    assert said in text


@each(
    ("name", "old", "new"),
    [
        ("infereval/benchmark.json", b'"bearers"', b'"bears"'),
        ("harpia/log.jsonl", b'"result"', b'"outcome"'),
        ("aggregate.json", b'"evaluation_id"', b'"evaluation"'),
        ("run.jsonl", b'"score"', b'"scored"'),
    ],
)
def test_violations_on_standard_input_are_found(name: str, old: bytes, new: bytes) -> None:
    data = (EXAMPLES / name).read_bytes()
    assert old in data
    assert piped(data.replace(old, new))[0] == 1


def test_an_array_of_rows_comes_on_standard_input() -> None:
    rows = list(map(json.loads, (EXAMPLES / "run.jsonl").read_bytes().splitlines()))
    code, text = piped(json.dumps(rows, indent=1).encode())
    assert "FAILED: <stdin>: 8 rows" in text
    assert "ES505" in text
    assert code == 1


@pytest.mark.parametrize("flag", ["--tee", "--accepted"])
def test_nothing_of_a_stream_is_lost(flag: str) -> None:
    data = (EXAMPLES / "run.jsonl").read_bytes() * 1000
    code, _ = piped(data, flag, "copy", "--ignore", "ES4,ES506")
    assert code == 0
    assert Path("copy").read_bytes() == data


def test_a_log_is_copied_and_not_passed_on() -> None:
    data = document(LIGHT)
    assert piped(data, "--tee", "copy")[0] == 3
    assert Path("copy").read_bytes() == data


def test_ways_for_rows_do_not_go_with_documents() -> None:
    data = (EXAMPLES / "infereval" / "evaluation.json").read_bytes()
    code, text = piped(data, "--pass", "all")
    assert code == 2
    assert "does not go with files of infereval" in text


def test_empty_standard_input_holds_no_rows() -> None:
    for data in (b"", b"\n", b" \n\n"):
        code, text = piped(data)
        assert code == 1
        assert "ES504" in text


@each("first", [b"INFO starting\n", b'{"schema_version": "0.2.0", "x\n', b"\n"])
def test_rows_behind_anything_go_through_at_once(first: bytes) -> None:
    row = (EXAMPLES / "run.jsonl").read_bytes().splitlines(keepends=True)[0]
    words = command("check", "-", "--pass", "valid")
    with Process(words, stdin=PIPE, stdout=PIPE, stderr=DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(first)
        process.stdin.flush()
        time.sleep(0.5)
        process.stdin.write(row)
        process.stdin.flush()
        assert process.stdout.read(len(row)) == row
        process.stdin.close()
        process.wait(30)
