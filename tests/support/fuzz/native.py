"""Fuzz the scanner itself under sanitizers: tables and lines for the targets of libFuzzer."""

import argparse
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from unittest import mock

from paths import TESTS

from evalstream.formats.eee import fast_path, row_engine
from evalstream.formats.eee.row_engine import RowEngine
from evalstream.parsing.native import binding
from evalstream.parsing.native.rewrite import compiled_tables
from fuzz.cases import Case, case_of
from fuzz.rewritings import some_rewriting

SOURCES: Final = Path(binding.LIBRARY).parent
TARGETS: Final = TESTS / "fuzz" / "native"
SCAN: Final = "scan"
REWRITE: Final = "rewrite"
LM_EVAL: Final = "lm_eval"
OUTLINE: Final = "outline"
ITEMS: Final = "items"
KINDS: Final = SCAN, REWRITE, LM_EVAL, OUTLINE, ITEMS
FLAGS: Final = (
    "-std=c11", "-gline-tables-only", "-fsanitize=fuzzer,address,undefined",
    "-fno-sanitize-recover=all", "-fno-omit-frame-pointer",
)  # fmt: skip

MOST_CONFIGS: Final = 200
MOST_LINES: Final = 4
_SIZE: Final = struct.Struct("=Q")
_TOKEN: Final = re.compile(rb'"(?:[^"\\\x00-\x1f\x7f-\xff]){1,60}"')


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(prog="fuzz.native", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"))
    given = parser.parse_args()
    seconds = max(1, round(60 * given.minutes / len(KINDS)))
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        reason = compile_targets(Path(name), "-O1")
        if reason is not None:
            print(f"fuzz: the scanner itself is not fuzzed: {reason}")
            return 0
        for kind in KINDS:
            folder = Path(name) / kind
            write_inputs(folder, given.seed, kind=kind)
            limit = f"-max_total_time={seconds}"
            if run(folder, given.failures, limit, given.workers):
                return 1
    return 0


def compile_targets(folder: Path, level: str) -> str | None:
    """Compile the scanner once, and a target of each kind; return why that failed, if it did."""
    clang = shutil.which(os.environ.get("CLANG", "clang"))
    if clang is None:
        return "there is no clang"
    command = [clang, *FLAGS, level, f"-I{SOURCES}"]
    sources = [*SOURCES.glob("*.c")]
    parts = [f"{source.stem}.o" for source in sources]
    calls: list[list[str | Path]] = [[*command, "-c", *sources]]
    for kind in KINDS:
        (folder / kind).mkdir()
        calls.append(
            [*command, "-o", f"{kind}/target", TARGETS / f"{kind}_target.c", *parts, "-lm"]
        )
    for call in calls:
        done = subprocess.run(call, check=False, capture_output=True, text=True, cwd=folder)
        if done.returncode:
            return f"clang failed: {done.stderr.strip()[:2000]}"
    return None


def write_inputs(folder: Path, seed: int, count: int = 400, kind: str = SCAN) -> None:
    """Write tables of many contexts, lines to begin with, and words that lines are made of.

    Only the targets that check or rewrite rows need tables; the others begin with rows of lm-eval,
    or with entries of HELM.
    """
    if kind == ITEMS:
        _write_items(folder, seed, count)
        return
    if kind not in (SCAN, REWRITE):
        _write_lm_rows(folder, seed, count)
        return
    configs_of = _configs if kind == SCAN else _places
    configs, words = [], set()
    corpus = folder / "corpus"
    corpus.mkdir()
    for number in range(seed, seed + count):
        case = case_of(number, 30)
        lines = case.lines[:MOST_LINES]
        found = list(configs_of(case)) if len(configs) < MOST_CONFIGS else []
        configs += found
        words |= {word for line in lines for word in _TOKEN.findall(line)}
        head = bytes([max(0, len(configs) - 1), number % 256, (number // 7) % 256, 255])
        (corpus / f"{number}").write_bytes(head + b"".join(lines) + b"\n")
    (folder / "configs").write_bytes(b"".join(configs))
    quoted = (word.decode().replace("\\", "\\\\").replace('"', '\\"') for word in sorted(words))
    text = "\n".join(f'"{word}"' for word in quoted)
    (folder / "words").write_text(text + "\n", encoding="ascii")


def _write_lm_rows(folder: Path, seed: int, count: int) -> None:
    """Write rows of lm-eval whose digests are zeros, in several spellings and orders."""
    chance = random.Random(seed)
    corpus = folder / "corpus"
    corpus.mkdir()
    lines = [_lm_row(chance) for _ in range(count)]
    for number in range(count):
        head = bytes(
            [chance.randrange(256), chance.randrange(256), 255, chance.randrange(100, 201)]
        )
        text = "\n".join(chance.choices(lines, k=chance.randrange(1, MOST_LINES + 1)))
        (corpus / f"{number}").write_bytes(head + text.encode() + b"\n")
    (folder / "configs").touch()
    words = {word for line in lines for word in _TOKEN.findall(line.encode())}
    quoted = (word.decode().replace("\\", "\\\\").replace('"', '\\"') for word in sorted(words))
    (folder / "words").write_text("".join(f'"{word}"\n' for word in quoted), encoding="ascii")


def _write_items(folder: Path, seed: int, count: int) -> None:
    """Write lists of entries of HELM, and of objects whose members are kept."""
    chance, corpus = random.Random(seed), folder / "corpus"
    corpus.mkdir()
    (folder / "configs").touch()
    for number in range(count):
        value = chance.choice([0.5, 1, -2.25, 0.1])
        figures = dict.fromkeys(("sum", "sum_squared", "min", "max", "mean"), value)
        entry = {"id": "é", **figures, "sum_squared": value * value, "variance": 0, "stddev": 0.0}
        alike = [{"x": value, "y": "z"}, {"x": 3, "y": "\n"}, {"x": True, "y": None}]
        kept = {"a": {"a": alike, "b": value}, "stats": [{"a": {}}, 1, entry], "b": alike}
        items = chance.choices([entry, kept, {}], k=chance.randrange(1, MOST_LINES))
        text = ",".join(json.dumps(one, ensure_ascii=chance.random() < 0.5) for one in items)
        (corpus / f"{number}").write_bytes(bytes([chance.choice([255, 200])]) + text.encode())
    words = ("a", "b", "stats", "id", "sum", "x")
    (folder / "words").write_text("".join(f'"\\"{word}\\""\n' for word in words), encoding="ascii")


def _lm_row(chance: random.Random) -> str:
    metrics = {name: chance.choice([0, 1.0, True, None, [1, 0], -2.5]) for name in ("acc", "f1")}
    text = chance.choice(["", "a\nb", 'é"\u2028', "\x1f\t/", "😀"])
    row = {
        "doc_id": chance.randrange(4),
        "doc": chance.choice([text, {"a": [1, 0.25, {}, []], "b": {"c": text}}, [[]] * 3, 1e-4]),
        "target": text,
        "arguments": {"gen_args_0": {"arg_0": text, "arg_1": {"until": [text]}}},
        "resps": [[text]],
        "filtered_resps": [text],
        "filter": chance.choice(["none", "é"]),
        "metrics": list(metrics),
        **dict.fromkeys(("doc_hash", "prompt_hash", "target_hash"), "0" * 64),
    }
    members = [*row.items(), *metrics.items()]
    if chance.random() < 0.3:
        chance.shuffle(members)
    return json.dumps(dict(members), ensure_ascii=chance.random() < 0.3)


def _configs(case: Case) -> Iterator[bytes]:
    """Return the tables and the demands of a case's fast path, each with its size."""
    made: list[tuple[Any, Any]] = []
    original = fast_path.ScannerConfig

    def recorded(tables: Any, demands: Any, hasher: Any) -> Any:
        made.append((tables, demands))
        return original(tables, demands, hasher)

    with (
        mock.patch.object(fast_path, "ScannerConfig", recorded),
        mock.patch.object(row_engine, "WORTH_A_SCANNER_BYTES", 0),
    ):
        RowEngine(case.context()).expect(1)
    for tables, demands in made:
        yield _packed((*tables[:4], bytes(demands)))


def _places(case: Case) -> Iterator[bytes]:
    """Return the tables of places that rows are rewritten by, each part with its size."""
    chance = random.Random(case.seed)
    yield _packed(compiled_tables(some_rewriting(chance).place()).parts)


def _packed(parts: Sequence[bytes]) -> bytes:
    return b"".join(_SIZE.pack(len(part)) + part for part in parts)


def run(folder: Path, failures: Path, limit: str, workers: int) -> int:
    """Run the target on some cores up to a limit; return 1 where it found something."""
    failures.mkdir(parents=True, exist_ok=True)
    shutil.copy(folder / "configs", failures / "configs")
    processes = [
        subprocess.Popen(
            [
                folder / "target", folder / "corpus", f"-dict={folder / 'words'}", "-max_len=20000",
                limit, f"-seed={worker + 1}",
                f"-artifact_prefix={failures}/scanner-", "-print_final_stats=1", "-verbosity=0",
            ],
            env={**os.environ, "SCANNER_CONFIGS": os.fspath(folder / "configs")},
            stderr=subprocess.PIPE,
            text=True,
        )
        for worker in range(workers)
    ]  # fmt: skip
    texts = [process.communicate()[1] for process in processes]
    is_sound = not any(process.returncode for process in processes)
    if is_sound:
        (failures / "configs").unlink()
    inputs = sum(int(found) for text in texts for found in re.findall(r"units:\s+(\d+)", text)[:1])
    print(f"fuzz: {inputs:,} inputs of the scanner under sanitizers")
    for process, text in zip(processes, texts, strict=True):
        if process.returncode:
            print(f"fuzz: the scanner failed:\n{text[-6000:]}")
    return 0 if is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
