"""Every worked example of CONTRIBUTING.md works as it stands there.

Its changes are made in a copy of the package, where the program uses what was added. A change is a
fence `diff` below the name of a file; other fences below the name of a new file are its content.
"""

import hashlib
import json
import lzma
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from commands import environment
from paths import CORPUS_LOGS, EXAMPLES, REPOSITORY
from rows import STEM, aggregate_of, bytes_of, hashed, sound_rows

TEXT = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
TWO = EXAMPLES / "compare" / "data" / "tiny_sums" / "acme"
PATH = re.compile(r"`((?!tests/)(?:[\w-]+/)+[\w.]+\.(?:py|json|md|c|h))`")
FENCE = re.compile(r"^( *)(`{3,})(\w*)\n(.*?)\n\1\2$", re.MULTILINE | re.DOTALL)


def section(title: str) -> str:
    """Return a section, or what stands under a point of the list of other extension points."""
    is_point = title.startswith("- ")
    start = TEXT.index(f"\n{title}" if is_point else f"\n## {title}\n") + 1
    end = re.compile(r"^(?:- \*\*|## )" if is_point else r"^## ", re.MULTILINE)
    found = end.search(TEXT, start + 3)
    return TEXT[start : found.start() if found else None]


def changed(text: str, change: str) -> str:
    """Return a text with a change: lines with a plus are new, those with a minus go."""
    lines = [(line[:1], line[1:]) for line in change.splitlines()]
    before = "\n".join(line for sign, line in lines if sign != "+")
    after = "\n".join(line for sign, line in lines if sign != "-")
    if before:
        assert text.count(before) == 1, before
    return text.replace(before, after)


class Checkout:
    """The package in links, with the changes of a section."""

    def __init__(self, folder: Path, title: str) -> None:
        self.folder = folder
        # With the byte code of what is not changed; the table of rules is that of other pages.
        stale = shutil.ignore_patterns("declared_table*")
        package = folder / "evalstream"
        shutil.copytree(REPOSITORY / "evalstream", package, ignore=stale, copy_function=os.symlink)
        schemas = folder / "schemas"
        shutil.copytree(REPOSITORY / "schemas", schemas, copy_function=os.symlink)
        text, made = section(title), 0
        for fence in FENCE.finditer(text):
            names = PATH.findall(text[: fence.start()])
            path = self.path(names[-1]) if names else None
            content = dedent(fence[4]) if fence[3] != "diff" else undented(fence[4], fence[1])
            if path is not None and fence[3] == "diff":
                text_before = path.read_text()
                path.unlink()
                path.write_text(changed(text_before, content))
            elif path is None or fence[3] not in {"python", "markdown", "json"} or path.exists():
                continue
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content + "\n")
            made += 1
        assert made, title

    def path(self, name: str) -> Path:
        return (
            self.folder / ("" if name.startswith(("schemas", "examples")) else "evalstream") / name
        )

    def run(self, *arguments: str | Path, code: int = 0, data: bytes = b"") -> str:
        """Run Python with this package, and return what it prints."""
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            input=data,
            capture_output=True,
            cwd=self.folder,
            env={**environment(), "PYTHONPATH": str(self.folder)},
            check=False,
        )
        assert done.returncode == code, done.stdout.decode() + done.stderr.decode()
        return done.stdout.decode()

    def evalstream(self, *arguments: str | Path, code: int = 0, data: bytes = b"") -> str:
        return self.run("-m", "evalstream", *arguments, code=code, data=data)

    def run_tests(self, *modules: str) -> None:
        """Run the tests of what is named `example` in modules of tests of reporters."""
        paths = (REPOSITORY / "tests" / "unit" / "reporters" / name for name in modules)
        self.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", "-k", "example", *paths)

    def write(self, rows: list[dict[str, Any]], **result: Any) -> Path:
        """Write a pair of 0.3.0; `result` changes its first result. Return the aggregate."""
        data = bytes_of(rows)
        document = aggregate_of("0.3.0", data, len(rows))
        document["schema_version"] = rows[0]["schema_version"]
        document["evaluation_results"][0] |= result
        self.rows.write_bytes(data)
        path = self.folder / f"{STEM}.json"
        path.write_text(json.dumps(document))
        return path

    def compile(self) -> bool:
        """Compile the scanner; return False without a compiler."""
        build = runpy.run_path(str(REPOSITORY / "scripts" / "build_scanner.py"))
        for name in ("LIBRARY", "DIGEST"):
            (self.folder / build[name]).unlink(missing_ok=True)
        function = build["compile_scanner"]
        function.__globals__["FLAGS"] = ["-O0" if one == "-O3" else one for one in build["FLAGS"]]
        return bool(function(self.folder) is None)

    @property
    def rows(self) -> Path:
        return self.folder / f"{STEM}_samples.jsonl"


def edit_seal(path: Path, **members: Any) -> None:
    """Change the seal of an aggregate."""
    document = json.loads(path.read_text())
    document["detailed_evaluation_results"] |= members
    path.write_text(json.dumps(document))


def undented(text: str, indentation: str) -> str:
    return "\n".join(line.removeprefix(indentation) for line in text.split("\n"))


def test_a_rule(tmp_path: Path) -> None:
    copy = Checkout(tmp_path, "Add a rule")
    rows = sound_rows("0.3.0")
    rows[2]["performance"] = {"latency_ms": 0}
    rows[3]["performance"] = {"latency_ms": 0.5}
    path = copy.write(rows)
    # The scanner that is there was made of other sources, so that none is used.
    text = copy.evalstream("check", path, "--select", "ES3")
    assert "ES322 latency-zero: 1 warning" in text
    assert "line 3: /performance/latency_ms: the latency is 0" in text
    if copy.compile():
        copy.run("-c", "from evalstream.parsing.native import binding; assert binding.library()")
        assert copy.evalstream("check", path, "--select", "ES3") == text
    assert "fix: Leave out a latency that was not measured." in text
    assert "No answer takes no time" in copy.evalstream("explain", "ES322")


def test_a_version(tmp_path: Path) -> None:
    copy = Checkout(tmp_path, "Add a version")
    folder = tmp_path / "schemas" / "eee" / "99.0.0"
    folder.mkdir()
    for path in (tmp_path / "schemas" / "eee" / "0.3.0").iterdir():
        (folder / path.name).write_text(path.read_text().replace("0.3.0", "99.0.0"))
    schema = json.loads((folder / "instance.schema.json").read_text())
    schema["required"].append("seed")
    schema["properties"]["seed"] = {"type": "integer"}
    (folder / "instance.schema.json").write_text(json.dumps(schema))
    rows = [row | {"schema_version": "99.0.0", "seed": 7} for row in sound_rows("0.3.0")]
    assert "ES215" not in copy.evalstream("check", copy.write(rows))
    assert "99.0.0" in copy.evalstream("formats")
    # Older runs are not migrated to it yet.
    new = tmp_path / "new"
    options = ("--collection", "x", "--fill", "--decide", "all")
    copy.evalstream("migrate", copy.write(sound_rows("0.3.0")), "--to", new, *options)
    (written,) = new.rglob("*.json")
    assert json.loads(written.read_text())["schema_version"] == "0.3.0"
    del rows[4]["seed"]
    assert "ES201" in copy.evalstream("check", copy.write(rows), code=1)


def test_a_report_of_a_check_and_of_a_comparison(tmp_path: Path) -> None:
    copy = Checkout(tmp_path, "Add a report format")
    rows = sound_rows("0.3.0")
    rows[1]["evaluation"]["score"] = "x"
    text = copy.evalstream("check", copy.write(rows), "--format", "example", code=1)
    lines = text.splitlines()
    assert lines[0] == "file,line,code,message"
    assert any(re.match(r".*_samples\.jsonl,2,ES202,", line) for line in lines)
    odd = tmp_path / "\x1b[2J.jsonl"
    copy.rows.rename(odd)
    text = copy.evalstream("check", odd, "--format", "example", code=1)
    assert "\\x1b[2J.jsonl,2,ES202," in text
    assert "\x1b" not in text
    runs = [TWO / name for name in ("acorn-7b", "acorn-3b")]
    text = copy.evalstream("compare", *runs, "--format", "example")
    assert re.fullmatch(r"# verdicts\n# .*\n(.* and .*, .*: [\w ]+\n)+", text)
    copy.run_tests("test_reporters_registered.py", "comparison/test_comparison_reports.py")


def test_a_statistic(tmp_path: Path) -> None:
    copy = Checkout(tmp_path, "Add a statistic to comparisons")
    runs = [TWO / name for name in ("acorn-7b", "acorn-3b")]
    text = copy.evalstream("compare", *runs, "--format", "text")
    assert len(re.findall(r"^ +d_z +-?0\.\d+ standard deviations", text, re.MULTILINE)) == 2
    for one in json.loads(copy.evalstream("compare", *runs, "--format", "json"))["comparisons"]:
        estimate = one["estimate"]
        deviation = estimate["standard_error"] * estimate["n"] ** 0.5
        assert abs(estimate["d_z"] - estimate["difference"] / deviation) < 1e-12
    assert '"d_z":' in copy.evalstream("schema", "show", "comparison")


def test_a_recipe(tmp_path: Path) -> None:
    copy = Checkout(tmp_path, "Add a recipe")
    rows = sound_rows("0.3.0")
    for row in rows:
        texts = [row["input"]["raw"], *row["input"]["reference"]]
        row["sample_hash"] = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    assert "(concat-lines)" in copy.evalstream("check", copy.write(rows))
    rows[3]["input"]["raw"] = "another question"
    assert "ES401" in copy.evalstream("check", copy.write(rows), code=1)


def test_a_kind_of_claim(tmp_path: Path) -> None:
    copy = Checkout(tmp_path, "Add a kind of claim")
    rows = sound_rows("0.3.0", 4)
    for row, score in zip(rows, (0.0, 0.25, 0.25, 1.0), strict=True):
        row["evaluation"] = row["evaluation"] | {"score": score, "is_correct": score == 1}
    document = aggregate_of("0.3.0", bytes_of(rows), len(rows))
    metric = document["evaluation_results"][0]["metric_config"]
    named = {"metric_config": metric | {"metric_name": "midrange", "metric_id": "midrange"}}
    for score, code in ((0.5, 0), (0.9, 1)):
        path = copy.write(rows, **named, score_details={"score": score})
        text = copy.evalstream("check", path, "--select", "ES8", code=code)
        assert "recomputed 0.5 from 4 rows" in text
        assert ("ES801" in text) == bool(code)


def test_a_format(tmp_path: Path) -> None:
    copy = Checkout(tmp_path, "Add a format")
    card = copy.path("examples/scorecard/run.json")
    text = copy.evalstream("check", card)
    assert re.match(r"passed: .* \(scorecard\): 3 scores, no findings; claims: 1 confirmed", text)
    assert "scorecard" in copy.evalstream("formats")
    card.write_text(card.read_text().replace("0.667", "0.75"))
    text = copy.evalstream("check", card, "--input-format", "scorecard", code=1)
    assert "CRD101 scorecard-mean-refuted: 1 error" in text
    for scores, verdict, code in (
        ('[1, "x"]', "unconfirmed", 0),
        ("[]", "unconfirmed", 0),
        ("[1,", "failed", 1),
    ):
        card.write_text(f'{{"scorecard": 1, "mean": 0.75, "scores": {scores}}}')
        text = copy.evalstream("check", card, "--format", "json", code=code)
        assert json.loads(text)["runs"][0]["verdict"] == verdict


def test_a_repair(tmp_path: Path) -> None:
    copy = Checkout(tmp_path, "Add a repair")
    path = copy.write(sound_rows("0.3.0"))
    edit_seal(path, format="json")
    assert "ES505" in copy.evalstream("check", path, code=1)
    copy.evalstream("fix", path, "--write")
    assert json.loads(path.read_text())["detailed_evaluation_results"]["format"] == "jsonl"
    assert "ES505" not in copy.evalstream("check", path)


def test_a_harness_log(tmp_path: Path) -> None:
    copy = Checkout(tmp_path, "Add a harness log")
    log = tmp_path / "results.json"
    log.write_text('{"promptbench": 1, "attack_results": [], "model": "acme/acorn-7b"}')
    assert "this is a file of results of promptbench" in copy.evalstream("check", log, code=3)


def test_a_compression(tmp_path: Path) -> None:
    copy = Checkout(tmp_path, "- **A compression**")
    path = copy.write(sound_rows("0.3.0"))
    packed = lzma.compress(copy.rows.read_bytes(), lzma.FORMAT_ALONE)
    copy.rows.unlink()
    file = copy.rows.with_name(f"{copy.rows.name}.lzma")
    file.write_bytes(packed)
    edit_seal(path, checksum=hashlib.sha256(packed).hexdigest())
    assert "8 rows" in copy.evalstream("check", path)
    file.write_bytes(packed[:-40])
    assert "ES002" in copy.evalstream("check", path, code=1)
    # Formats that know files by their names know those with the new extension.
    log = tmp_path / "log"
    shutil.copytree(CORPUS_LOGS / "lm_eval-limited", log)
    for one in log.glob("samples_*.jsonl"):
        packed = lzma.compress(one.read_bytes(), lzma.FORMAT_ALONE)
        one.with_name(f"{one.name}.lzma").write_bytes(packed)
        one.unlink()
    assert "3 passed" in copy.evalstream("check", log)


def test_a_remote(tmp_path: Path) -> None:
    assert "nothing" in section("- **A remote** (a URL scheme)")
    write = """\
import fsspec
from fsspec.implementations.memory import MemoryFileSystem
import evalstream, sys

class Attic(MemoryFileSystem):
    protocol = "attic"

fsspec.register_implementation("attic", Attic)
with fsspec.open("attic://rows/run.jsonl", "wb") as file:
    file.write(sys.stdin.buffer.read())
(run,) = evalstream.check("attic://rows/run.jsonl").runs
print(run.rows, run.verdict)
"""
    pytest.importorskip("fsspec")
    done = subprocess.run(
        [sys.executable, "-c", write],
        input=bytes_of(sound_rows("0.3.0")),
        capture_output=True,
        env=environment(),
        check=False,
    )
    assert done.stdout.split() == [b"8", b"unconfirmed"], done.stderr


def test_a_default(tmp_path: Path) -> None:
    copy = Checkout(tmp_path, "- **An option**")
    rows = [row | {"model_id": "acme/another"} for row in sound_rows("0.3.0", 60)]
    text = copy.evalstream("check", copy.write(rows), "--format", "concise", code=1)
    assert text.count("ES602") <= 20
    assert re.search(r"max-findings.*?20", copy.evalstream("check", "--help"), re.DOTALL)


def test_a_command(tmp_path: Path) -> None:
    copy = Checkout(tmp_path, "- **A command**")
    assert copy.evalstream("hello") == "hello\n"
    assert "Greet who calls." in copy.evalstream("--help")


def test_an_exit_code(tmp_path: Path) -> None:
    copy = Checkout(tmp_path, "- **An exit code**")
    copy.evalstream("check", "nowhere.jsonl", code=4)
    # Of a command, of an option that typer reads, and of a value.
    for mistake in (("chek",), ("check", "x.jsonl", "--no-such"), ("check", "x", "--select", "?")):
        copy.evalstream(*mistake, code=64)


def test_a_torn_line(tmp_path: Path) -> None:
    copy = Checkout(tmp_path, "- **What a last line")
    data = bytes_of([hashed(row, "json-list") for row in sound_rows("0.3.0")])
    text = copy.evalstream("check", "-", "-v", data=data[:-1])
    assert "ES111 no-final-newline: 1 info" in text
