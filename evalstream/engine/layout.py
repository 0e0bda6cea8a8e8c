"""Recognise from its first bytes how a file holds its rows, or which harness wrote it as a log.

The members are those that the harnesses write: Inspect (inspect_ai, also older logs without
`version`), lm-evaluation-harness 0.4, BigScience's fork of it for prompts (its logs are among the
evaluations of EleutherAI/pythia), lmms-eval 0.1 to 0.7, OLMES, Multi-SWE-bench 1.1 and
SWE-bench-Live (2026), HELM 0.5, LightEval 0.4 to 0.13, promptfoo 0.9x to 0.12x, Harbor 0.25,
OpenAI evals 1 to 3 and simple-evals. The commands are those of the package every-eval-ever 0.3.0.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Set
from typing import Final

from evalstream.io.beginning import ARRAY, LINES, OBJECT, PEEK_BYTES, Beginning
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json_values import fast_or_none
from evalstream.parsing.lazy_regex import LazyPattern

INSPECT: Final = "Inspect"
LM_EVAL: Final = "lm-evaluation-harness"
LM_EVAL_FORK: Final = "BigScience's fork of lm-evaluation-harness"
LMMS_EVAL: Final = "lmms-eval"
OLMES: Final = "OLMES"
MULTI_SWE_BENCH: Final = "Multi-SWE-bench"
SWE_BENCH_LIVE: Final = "SWE-bench-Live"
HELM: Final = "HELM"
LIGHTEVAL: Final = "LightEval"
PROMPTFOO: Final = "promptfoo"
HARBOR: Final = "Harbor"
OPENAI_EVALS: Final = "OpenAI evals"
SIMPLE_EVALS: Final = "simple-evals"

_FILE: Final = "every_eval_ever convert {source} --log_path {place} --output_dir data{more}"
_ZIP: Final = b"PK\x03\x04"
_PARQUET: Final = b"PAR1"
_INSPECT_MEMBER: Final = LazyPattern(rb"PK\x03\x04.{26}_journal/start\.json", re.DOTALL)


class Sign(NamedTuple):
    """Members that logs of one kind have side by side, and the layout of the file.

    `keys` are members, or members of members as `eval/task`; one of `some` must be present, too,
    and `text` among the first bytes.
    """

    harness: str
    what: str
    kinds: tuple[str, ...]
    keys: frozenset[str]
    some: frozenset[str] = frozenset()
    text: bytes = b""


class Log(NamedTuple):
    """A log of a harness: the harness, and which of its files it is."""

    harness: str
    what: str

    def describe(self, path: str | None) -> str:
        """Return what a log is and how to convert it; `path` is None for a stream."""
        text = f"this is {self.what} of {self.harness}, not a file of Every Eval Ever"
        own = FORMATS_OF_LOGS.get(self.harness)
        if own is None:
            where = _SCORES.get(self.harness)
            return f"{text}; no converter is known" + (f": {where}" if where else "")
        way = f"check it as it is with --input-format {own}, or convert it with"
        return f"{text}; {way}: {self._command(own, path)}"

    def _command(self, source: str, path: str | None) -> str:
        # HELM's converter reads the folder of a run, lm-eval's the folder of samples and results.
        takes_folder = self.harness == HELM or self.what == _SAMPLES
        place = path if path is None or not takes_folder else os.path.dirname(path) or os.curdir
        unnamed = "FOLDER" if takes_folder else "FILE"
        import shlex  # few files are logs

        more = " --include_samples" if self.harness == LM_EVAL else ""
        named = unnamed if place is None else shlex.quote(place)
        return _FILE.format(source=source, place=named, more=more)


_SCORES: Final = {
    LIGHTEVAL: "write rows from details_*.parquet, which lighteval makes with --save-details",
    PROMPTFOO: "write rows from its results, which promptfoo exports with --output FILE.jsonl",
    HARBOR: "write rows from verifier_result.rewards in the result.json of each trial",
}
"""Advice for logs that no converter reads: where their scores are."""

FORMATS_OF_LOGS: Final = {INSPECT: "inspect", LM_EVAL: "lm_eval", HELM: "helm"}
"""The formats of logs that can be checked as they are, and converted, by harness."""


def detect_log(file: Beginning) -> Log | None:
    """Return the harness that wrote a file, or None if no harness is known to write such a file."""
    if file.head.startswith(_ZIP):
        is_log = file.name.lower().endswith(".eval") or _INSPECT_MEMBER.match(file.head)
        return Log(INSPECT, "a log") if is_log else None
    if file.head.startswith(_PARQUET):
        is_details = os.path.basename(file.name).startswith("details_")
        return Log(LIGHTEVAL, "a file of details") if is_details else None
    return _detect(_SIGNS, file.seen.kind, file.seen.keys | file.seen.inner, file.head)


def is_of_relative(kind: str, members: Set[str], head: bytes) -> bool:
    """Tell whether a file is a log of a fork or relative, which those of a format look like."""
    return _detect(_OF_RELATIVES, kind, members, head) is not None


def _detect(signs: Iterable[Sign], kind: str, members: Set[str], head: bytes) -> Log | None:
    for sign in signs:
        has_all = sign.keys <= members and (not sign.some or sign.some & members)
        if has_all and kind in sign.kinds and sign.text in head:
            return Log(sign.harness, sign.what)
    return None


_SAMPLES: Final = "a file of samples"
_RESULTS: Final = "a file of results"
_LOG: Final = "a log"
_PREDICTIONS: Final = "a file of predictions"
_RUN_REPORT: Final = "a run report"
_OF_INSTANCE: Final = "the report of an instance"
_RUN_SPEC: Final = "a run specification"
_STATE: Final = "the state of a scenario"
_SCENARIO: Final = "a scenario"
_INSTANCES: Final = "a file of instances"
_STATISTICS: Final = "a file of statistics"

LOGS_OF_FORMATS: Final = {
    "inspect log": Log(INSPECT, _LOG),
    "lm_eval samples": Log(LM_EVAL, _SAMPLES),
    "lm_eval results": Log(LM_EVAL, _RESULTS),
    "helm per_instance_stats": Log(HELM, _INSTANCES),
    "helm stats": Log(HELM, _STATISTICS),
    "helm scenario_state": Log(HELM, _STATE),
    "helm run_spec": Log(HELM, _RUN_SPEC),
    "helm scenario": Log(HELM, _SCENARIO),
    "helm summary": Log(HELM, _INSTANCES),
}
"""Documents of formats, described for those who want to convert them."""

_ONE: Final = (OBJECT,)
_ROWS: Final = (OBJECT, LINES)
_LIST: Final = (ARRAY,)


def _sign(
    harness: str, what: str, kinds: tuple[str, ...], keys: str, some: str = "", text: bytes = b""
) -> Sign:
    return Sign(harness, what, kinds, frozenset(keys.split()), frozenset(some.split()), text)


_OF_RELATIVES: Final = (
    _sign(LM_EVAL_FORK, _RESULTS, _ONE, "results versions table_results config/model_args"),
    _sign(LMMS_EVAL, _SAMPLES, _ROWS, "doc_id target filtered_resps doc_hash", "input"),
    _sign(LMMS_EVAL, _SAMPLES, _ONE, "model_configs", "logs"),
    _sign(
        *(LMMS_EVAL, _RESULTS, _ONE, "results configs versions"), "model_configs lmms_eval_version"
    ),
    # Each configuration of a task has this member since 0.2.2.
    _sign(LMMS_EVAL, _RESULTS, _ONE, "results configs", text=b'"process_results_use_image":'),
    _sign(
        *(MULTI_SWE_BENCH, _RUN_REPORT, _ONE, "incomplete_instances incomplete_ids resolved_ids"),
        text=b":pr-",
    ),
)
"""Signs of logs that have all members of those of a format, and others."""

_SIGNS: Final = (
    *_OF_RELATIVES,
    _sign(INSPECT, _LOG, _ROWS, "status eval eval/task", "eval/created eval/run_id eval/model"),
    _sign(LM_EVAL, _SAMPLES, (OBJECT, LINES, ARRAY), "doc_id doc target resps filtered_resps"),
    _sign(LM_EVAL, _RESULTS, _ONE, "results configs versions", "n-shot n-samples config"),
    _sign(LM_EVAL, _RESULTS, _ONE, "results versions config config/model config/model_args"),
    _sign(HELM, _RUN_SPEC, _ONE, "scenario_spec adapter_spec metric_specs"),
    _sign(HELM, _STATE, _ONE, "adapter_spec request_states"),
    _sign(HELM, _SCENARIO, _ONE, "name description tags definition_path"),
    _sign(HELM, _INSTANCES, _LIST, "instance_id train_trial_index", "stats request"),
    _sign(HELM, _STATISTICS, _LIST, "name count sum sum_squared"),
    _sign(
        *(LIGHTEVAL, _RESULTS, _ONE, "config_general results versions"),
        "config_tasks summary_tasks summary_general config_general/lighteval_sha",
    ),
    _sign(
        *(PROMPTFOO, _RESULTS, _ONE, "evalId results config"),
        "shareableUrl metadata results/stats results/results",
    ),
    _sign(PROMPTFOO, _RESULTS, _ONE, "results config results/stats results/results"),
    _sign(PROMPTFOO, _RESULTS, (OBJECT, LINES, ARRAY), "promptIdx testIdx gradingResult"),
    _sign(HARBOR, "a result of a job", _ONE, "stats stats/evals", "n_total_trials stats/n_trials"),
    _sign(HARBOR, "a result of a trial", _ONE, "trial_name task_name task_checksum"),
    _sign(OPENAI_EVALS, _LOG, _ROWS, "spec spec/eval_name spec/base_eval spec/completion_fns"),
    _sign(OPENAI_EVALS, _LOG, _ROWS, "run_id event_id sample_id type data created_by created_at"),
    _sign(SIMPLE_EVALS, _RESULTS, _ONE, "score metrics htmls convos"),
    _sign(SIMPLE_EVALS, _RESULTS, _ONE, "score score:std"),
    _sign(OLMES, _RESULTS, _ROWS, "task_hash model_hash task_config compute_config"),
    _sign(OLMES, _RESULTS, _ONE, "all_primary_scores", "metrics tasks"),
    _sign(OLMES, _PREDICTIONS, _ROWS, "doc_id model_output task_hash model_hash"),
    _sign(OLMES, "a file of requests", _ROWS, "request_type native_id", "request"),
    _sign(MULTI_SWE_BENCH, _OF_INSTANCE, _ONE, "fixed_tests p2p_tests fix_patch_result", "valid"),
    _sign(MULTI_SWE_BENCH, "a file of patches", _ROWS, "fix_patch org repo number"),
    _sign(SWE_BENCH_LIVE, _OF_INSTANCE, _ONE, "FAIL_TO_PASS PASS_TO_PASS", "resolved"),
    _sign(SWE_BENCH_LIVE, _RUN_REPORT, _ONE, "submitted_ids success_ids failure_ids"),
)

_COMMON: Final = frozenset(
    {"name", "description", "tags", "type", "data", "config", "count", "status"}
    | {"org", "repo", "number"}
)
"""Members of logs that many other documents have."""

LOG_MEMBERS: Final = frozenset().union(*(one.keys for one in _SIGNS)) - _COMMON
"""Members of which each alone shows that a broken document may be a log."""


JSONL: Final = "jsonl"
JSON_ARRAY: Final = "json"
AGGREGATE: Final = "aggregate"
WIDE: Final = "wide"
FOREIGN: Final = "foreign"

_WIDE: Final = {
    "UTF-32": LazyPattern(
        rb"\xff\xfe\0\0|\0\0\xfe\xff|\{\0\0\0[ -~\r\n]\0\0\0|\0\0\0\{\0\0\0[ -~\r\n]"
    ),
    "UTF-16": LazyPattern(rb"\xff\xfe|\xfe\xff|\{\0[ -~\r\n]\0|\0\{\0[ -~\r\n]"),
}
"""A byte order mark, or an opening brace and the next character in UTF-16 or UTF-32."""

_OPENING: Final = LazyPattern(rb"\s*\[\s*")
_FIRST_ROW: Final = LazyPattern(rb"\s*\[\s*\{")

_BETWEEN_ROWS: Final = b"}\n{"
"""Bytes at the end of a line that no JSON document has: `{` never follows `}`."""


class Layout(NamedTuple):
    """The layout of a rows file: `kind` is one of this module's constants, `detail` says more."""

    kind: str
    detail: str = ""


_ROW_MEMBERS: Final = (b'"evaluation_id"', b'"schema_version"')
"""Members that rows have, and logs of harnesses do not."""

_NEAR: Final = 1 << 14
"""In most files the first row begins within so many bytes."""


def detect_layout(
    head: bytes,
    size: int,
    path: str | None = None,
    *,
    any_rows: bool = False,
    of_aggregates: Collection[str] = (),
    describe_other: Callable[[bytes], str | None] | None = None,
) -> Layout:
    """Recognise the layout of an unpacked file of `size` bytes by its first bytes.

    Every file that is not certainly something else counts as rows, so that its lines are checked.
    `path` is the path of the file, None for a stream; the advice for a harness's log contains it.
    With `any_rows` such a log counts as rows. Only aggregates have the members `of_aggregates`.
    `describe_other` describes files of other formats by their first bytes.
    """
    if not any_rows and all(head.find(member, 0, _NEAR) < 0 for member in _ROW_MEMBERS):
        log = detect_log(Beginning("", head[:PEEK_BYTES]))
        if log is not None:
            return Layout(FOREIGN, log.describe(path))
        other = None if describe_other is None else describe_other(head[:PEEK_BYTES])
        if other is not None:
            return Layout(FOREIGN, other)
    # Either has such a byte among the first two.
    if head.find(b"\0", 0, 2) >= 0 or not head[:1].isascii():
        for name, beginning in _WIDE.items():
            if beginning.match(head):
                return Layout(WIDE, name)
    start = head[:4096].lstrip(b" \t\r\n\xef\xbb\xbf")
    if start.startswith(b"["):
        return Layout(JSON_ARRAY) if _is_array(head, size) else Layout(JSONL)
    has_rows = head.startswith(_BETWEEN_ROWS, head.find(b"\n") - 1)
    if start.startswith(b"{") and size <= len(head) and not has_rows:
        document = fast_or_none(head)
        if isinstance(document, dict) and any(member in document for member in of_aggregates):
            return Layout(AGGREGATE)
    return Layout(JSONL)


def _is_array(head: bytes, size: int) -> bool:
    """Distinguish an array of rows from lines of which the first holds a list.

    A broken array is an array, too, so that the report says where it breaks.
    """
    if size <= len(head) and isinstance(document := fast_or_none(head), list):
        return any(isinstance(item, dict) for item in document)
    lines = head.lstrip(b" \t\r\n\xef\xbb\xbf").split(b"\n", 2)
    first = lines[0]
    if _OPENING.fullmatch(first):
        return True
    begins = _FIRST_ROW.match(first) is not None
    if begins and len(lines) == 1 and size > len(head):
        # A line that goes on after the head is not worth parsing.
        return True
    return (
        begins
        and fast_or_none(first) is None
        and not (len(lines) > 1 and isinstance(fast_or_none(lines[1]), dict))
    )
