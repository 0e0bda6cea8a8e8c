"""The documents of other formats in `tests/corpus`: changed ones, and what is wrong with each.

Every judge looks at a folder by the book, without any code of the package, for the errors that it
names; the figures that it computes anew are plain means and counts.
"""

import hashlib
import json
import shutil
import statistics
import struct
import zipfile
from ast import literal_eval
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from corpus_changes import made_folder
from paths import CORPUS_LOGS, EXAMPLES
from zstandard_library import zstandard

Edit = Callable[[Any], object]


def edit_json(pattern: str, edit: Edit, **layout: Any) -> Callable[[Path], None]:
    """Change the only file of a folder that fits a pattern."""

    def change(folder: Path) -> None:
        (path,) = folder.rglob(pattern)
        document = json.loads(path.read_bytes())
        edit(document)
        path.write_text(json.dumps(document, **layout) + "\n", encoding="utf-8")

    return change


def edit_row(pattern: str, number: int, edit: Edit) -> Callable[[Path], None]:
    """Change one row, counted from 1; an edit that returns False removes it."""

    def change(folder: Path) -> None:
        (path,) = folder.rglob(pattern)
        rows = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
        if edit(rows[number - 1]) is False:
            del rows[number - 1]
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        path.write_text("".join(lines), encoding="utf-8")

    return change


def replace(name: str, old: str, new: str) -> Callable[[Path], None]:
    """Change a text in a file."""

    def change(folder: Path) -> None:
        text = (folder / name).read_text(encoding="utf-8")
        assert old in text, old
        (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


LIMITED, INSPECT = CORPUS_LOGS / "lm_eval-limited", CORPUS_LOGS / "inspect-limited"
RUN = "acme__acorn-7b.tiny.json"


def set_member(*path: str | int, to: Any) -> Edit:
    """Set a member at a place."""

    def edit(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = to

    return edit


def raise_mean(folder: Path) -> None:
    """Give a metric of harpia the name of an average, and another score."""
    for name in ("input.json", "output.json", "log.jsonl"):
        text = (folder / name).read_text(encoding="utf-8").replace("BLEU NLTK", "METEOR NLTK")
        (folder / name).write_text(text.replace('"score": 0.65', '"score": 0.95'), encoding="utf-8")


results, samples = "results_*.json", "samples_words_*.jsonl"
CHANGES: dict[str, tuple[Path, Callable[[Path], None]]] = {
    "lm_eval-score-raised": (
        LIMITED, edit_json(results, set_member("results", "fruit", "acc,none", to=0.9), indent=2),
    ),
    "lm_eval-error-halved": (
        LIMITED,
        edit_json(
            results, set_member("results", "fruit", "acc_stderr,none", to=0.0922), indent=2
        ),
    ),
    "lm_eval-row-turned": (LIMITED, edit_row(samples, 2, set_member("exact_match", to=0.0))),
    "lm_eval-doc-edited": (LIMITED, edit_row(samples, 1, set_member("doc", "question", to="?"))),
    "lm_eval-target-edited": (LIMITED, edit_row(samples, 4, set_member("target", to="lol!"))),
    "lm_eval-row-lost": (LIMITED, edit_row("samples_fruit_*.jsonl", 7, lambda _: False)),
    "inspect-score-raised": (
        INSPECT,
        edit_json(
            "*.json",
            set_member("results", "scores", 0, "metrics", "accuracy", "value", to=0.75),
        ),
    ),
    "inspect-samples-miscounted": (
        INSPECT, edit_json("*.json", set_member("results", "total_samples", to=6)),
    ),
    "harpia-score-raised": (EXAMPLES / "harpia", raise_mean),
    "harpia-instance-twice": (EXAMPLES / "harpia", replace("input.json", "weather-2", "weather-1")),
    "infereval-verdict-lost": (
        EXAMPLES / "infereval",
        edit_json("benchmark.json", lambda it: it["items"][0]["analyst_verdicts"].pop(), indent=2),
    ),
    "infereval-sample-renumbered": (
        EXAMPLES / "infereval",
        edit_json(
            "evaluation.json", set_member("items", 0, "samples", 1, "sample_index", to=2), indent=2
        ),
    ),
    "swe_bench-resolved-raised": (
        EXAMPLES / "swe_bench", edit_json(RUN, set_member("resolved_instances", to=3), indent=4),
    ),
    "swe_bench-instance-twice": (
        EXAMPLES / "swe_bench",
        edit_json(RUN, lambda it: it["submitted_ids"].append("acme__widgets-101"), indent=4),
    ),
    "evalguard-unknown-metric": (
        EXAMPLES / "evalguard", replace("tasks/sums.yaml", "- accuracy", "- exactness"),
    ),
    "evalguard-empty-range": (
        EXAMPLES / "evalguard", replace("thresholds/sums.yaml", "max: 0.8", "max: 0.5"),
    ),
    "evalguard-metric-twice": (
        EXAMPLES / "evalguard", replace("metrics/refusal_rate.yaml", "refusal_rate", "accuracy"),
    ),
}  # fmt: skip
"""The changed documents by name: the folder that they are made from, and what is changed."""


@cache
def folder_of(name: str) -> Path:
    """Return the folder of some documents. One with a change is made."""
    if name not in CHANGES:
        return CORPUS_LOGS / name if "-" in name else EXAMPLES / name
    base, change = CHANGES[name]
    folder = made_folder() / name
    shutil.copytree(base, folder)
    change(folder)
    return folder


Judged = Iterator[str]

SHARED = ("doc", "target", "arguments", "resps")
"""What the rows of all filters of lm-eval show alike for a doc."""


def judge_lm_eval(folder: Path) -> Judged:
    """Compare rows with their digests, and figures with the rows."""
    (path,) = folder.glob(results)
    document = json.loads(path.read_bytes())
    limit = document["config"]["limit"]
    for name, claims in document["results"].items():
        (path,) = folder.glob(f"samples_{name}_*.jsonl")
        rows = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
        for row in rows:
            yield from _judge_lm_eval_row(row)
        digests = "".join(row["doc_hash"] + row["prompt_hash"] + row["target_hash"] for row in rows)
        if _sha256(digests) != document["task_hashes"][name]:
            yield "LME204"
        shown = {(row["doc_id"], *(str(row[one]) for one in SHARED)) for row in rows}
        if len(shown) > len({row["doc_id"] for row in rows}):
            yield "LME206"
        counts = Counter(row["filter"] for row in rows)
        if {*counts.values()} != {document["n-samples"][name]["effective"]}:
            yield "LME207"
        if limit and {row["doc_id"] for row in rows} != set(range(int(limit))):
            yield "LME306"
        yield from _judge_lm_eval_figures(claims, rows)


def _judge_lm_eval_row(row: dict[str, Any]) -> Judged:
    doc = row["doc"] if isinstance(row["doc"], dict) else literal_eval(row["doc"])
    if _sha256(json.dumps(doc, indent=2, ensure_ascii=False)) != row["doc_hash"]:
        yield "LME201"
    elif _sha256(str(row["target"])) != row["target_hash"]:
        yield "LME203"
    elif "exact_match" in row:
        (answer,) = row["filtered_resps"]
        if float(answer.casefold() == row["target"].casefold()) != row["exact_match"]:
            yield "LME210"


def _judge_lm_eval_figures(claims: dict[str, Any], rows: list[dict[str, Any]]) -> Judged:
    for key, claimed in claims.items():
        metric, _, chosen = key.partition(",")
        base = metric.removesuffix("_stderr")
        scores = [row[base] for row in rows if row["filter"] == chosen and base in row]
        if base not in {"acc", "acc_norm", "exact_match"} or claimed == "N/A":
            continue
        figure = statistics.fmean(scores) if base == metric else _error(scores)
        if abs(figure - claimed) > 1e-9:
            yield "LME301" if base == metric else "LME302"


def judge_inspect(folder: Path) -> Judged:
    """Compare the accuracy of letters with the samples."""
    (path,) = folder.iterdir()
    if path.suffix == ".eval":
        with zipfile.ZipFile(path) as archive:
            names = [one for one in archive.namelist() if one.startswith("samples/")]
            log = json.loads(_unpack(archive, "header.json"))
            log["samples"] = [json.loads(_unpack(archive, name)) for name in names]
    else:
        log = json.loads(path.read_bytes())
    found = log["results"]
    if found["total_samples"] != len(log["samples"]):
        yield "INS204"
    for score in found["scores"]:
        values: dict[Any, list[float]] = {}
        for sample in log["samples"]:
            letter = sample["scores"][score["name"]]["value"]
            values.setdefault(sample["id"], []).append(float(letter == "C"))
        means = [statistics.fmean(one) for one in values.values()]
        figures = {"accuracy": statistics.fmean(means), "stderr": _error(means)}
        for name, metric in score["metrics"].items():
            if abs(figures[name] - metric["value"]) > 1e-9:
                yield "INS302"


def judge_harpia(folder: Path) -> Judged:
    """Compare instances with each other, and scores with the log."""
    instances = json.loads((folder / "input.json").read_bytes())["instances"]
    known = [one["id"] for one in instances]
    if len(set(known)) < len(known):
        yield "HAR103"
    lines = (folder / "log.jsonl").read_text().splitlines()
    log = [json.loads(line) for line in lines]
    if {one["instance_id"] for one in log} - set(known):
        yield "HAR301"
    for output in json.loads((folder / "output.json").read_bytes()):
        found = [
            one["result"]
            for one in log
            if one["metric"] == output["metric"] and one["instance_id"] in known
        ]
        if (
            output["metric"] == "METEOR NLTK"
            and abs(statistics.fmean(found) - output["score"]) > 1e-9
        ):
            yield "HAR303"


def judge_infereval(folder: Path) -> Judged:
    """Compare counts of verdicts with analysts, and the numbers of samples."""
    benchmark = json.loads((folder / "benchmark.json").read_bytes())
    evaluation = json.loads((folder / "evaluation.json").read_bytes())
    copies = {one["id"]: one for one in evaluation["items"]}
    for item in benchmark["items"]:
        if len(item["analyst_verdicts"]) != len(benchmark["analysts"]):
            yield "INF201"
        if item["analyst_verdicts"] != copies[item["id"]]["analyst_verdicts"]:
            yield "INF301"
            yield "INF302"  # a benchmark that was changed has another hash
    for item in evaluation["items"]:
        indices = [one["sample_index"] for one in item["samples"]]
        if indices != list(range(evaluation["endorsement_config"]["n_samples"])):
            yield "INF303"


def judge_swe_bench(folder: Path) -> Judged:
    """Compare counts with lists."""
    run = json.loads((folder / RUN).read_bytes())
    for name, ids in run.items():
        if name.endswith("_ids"):
            if len(set(ids)) < len(ids):
                yield "SWE102"
            count = run.get(name.removesuffix("_ids") + "_instances", len(ids))
            if count != len(ids):
                yield "SWE201"
    reports = (folder / "logs").rglob("report.json")
    resolved = sum(
        one["resolved"] for path in reports for one in json.loads(path.read_bytes()).values()
    )
    if run["resolved_instances"] != resolved:
        yield "SWE401"


def judge_evalguard(folder: Path) -> Judged:
    """Compare tasks and thresholds with the metrics that are defined."""

    def documents(kind: str) -> list[Any]:
        return [yaml.safe_load(path.read_text()) for path in sorted((folder / kind).iterdir())]

    metrics = [one["id"] for one in documents("metrics")]
    if len(set(metrics)) < len(metrics):
        yield "EVG205"
    if any(set(one["metrics"]) - set(metrics) for one in documents("tasks")):
        yield "EVG201"
    for one in documents("thresholds"):
        for metric, ranges in one["thresholds"].items():
            if metric not in metrics:
                yield "EVG203"
            if any(not each.get("min", -1e9) < each.get("max", 1e9) for each in ranges):
                yield "EVG102"
    (report,) = documents("reports")
    for found in report["results"]:
        if set(found) - set(metrics):
            yield "EVG401"


def _unpack(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a member that is packed with Zstandard, which zipfile does not know."""
    info, file = archive.getinfo(name), archive.fp
    assert file is not None
    file.seek(info.header_offset + 26)
    file.seek(sum(struct.unpack("<HH", file.read(4))), 1)
    return zstandard().decompress(file.read(info.compress_size))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _error(values: list[float]) -> float:
    return statistics.stdev(values) / len(values) ** 0.5


JUDGES = {
    "lm_eval": judge_lm_eval,
    "inspect": judge_inspect,
    "harpia": judge_harpia,
    "infereval": judge_infereval,
    "swe_bench": judge_swe_bench,
    "evalguard": judge_evalguard,
}


def names() -> list[str]:
    """Return the names of all folders with documents: sound ones, then changed ones."""
    logs = sorted(path.name for path in CORPUS_LOGS.iterdir())
    return ["evalguard", "harpia", "infereval", "swe_bench", *logs, *CHANGES]


def expect(name: str) -> dict[str, Any]:
    """Return what is expected of a folder."""
    errors = sorted(set(JUDGES[name.partition("-")[0]](folder_of(name))))
    return {"fails": bool(errors), "errors": errors}
