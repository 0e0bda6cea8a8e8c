"""Writes logs of Inspect: archives whose members are packed with zstandard.

The members and their contents have the shapes that release 0.3.285 of inspect_ai writes. The
contents are invented.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from math import sqrt
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from struct import pack
from typing import IO, Any

from benchmarks.generate.text import TextPool, text_pool

TIME = "2026-01-05T10:00:00+00:00"
MODEL = "bench/model"
EPOCHS = 2
QUESTION_BYTES = 600
ANSWER_BYTES = 900
"""The sizes of a question, which its sample shows four times, and of an answer, shown thrice."""

FOREIGN_SHARE = 0.1
SUMMARIES_EACH = 100
"""How many samples the harness writes before it writes their summaries."""

SAMPLES_ON_TRIAL = 50
"""How many samples show how many a log of a wanted size has."""

ZSTANDARD, VERSION, UTF8 = 93, 63, 0x800
FULL = 0xFFFFFFFF
DATE = 0x5C25
"""The fifth of January 2026, as zip archives write it."""

USAGE = {"input_tokens": 150, "output_tokens": 225, "total_tokens": 375}

Json = dict[str, Any]


@dataclass(frozen=True)
class Log:
    """An archive: its samples, its size, and that of its members when they are unpacked."""

    path: Path
    samples: int
    bytes: int
    unpacked: int


class ArchiveWriter:
    """Writes members one by one; only what the central directory needs stays in memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._pack = file, zstandard()
        self._directory = bytearray()
        self._count = self.unpacked = 0

    def add(self, name: str, value: Any) -> None:
        """Add a member with a JSON value."""
        text, encoded = json.dumps(value, ensure_ascii=False).encode(), name.encode()
        packed, offset = self._pack(text), self._file.tell()
        shared = pack(
            "<HHHHHIIIH",
            VERSION, UTF8, ZSTANDARD, 0, DATE, zlib.crc32(text), len(packed), len(text),
            len(encoded),
        )  # fmt: skip
        self._file.write(b"PK\x03\x04" + shared + pack("<H", 0) + encoded + packed)
        extra = b"" if offset < FULL else pack("<HHQ", 1, 8, offset)
        self._directory += b"PK\x01\x02" + pack("<H", VERSION) + shared
        self._directory += pack("<HHHHII", len(extra), 0, 0, 0, 0, min(offset, FULL))
        self._directory += encoded + extra
        self._count += 1
        self.unpacked += len(text)

    def close(self) -> None:
        """Write the central directory, in the form for large archives, too."""
        start, size, count = self._file.tell(), len(self._directory), self._count
        end = start + size
        self._file.write(self._directory)
        large = pack("<QHHIIQQQQ", 44, VERSION, VERSION, 0, 0, count, count, size, start)
        self._file.write(b"PK\x06\x06" + large + b"PK\x06\x07" + pack("<IQI", 0, end, 1))
        few = min(count, 0xFFFF)
        counts = pack("<HHHHIIH", 0, 0, few, few, min(size, FULL), min(start, FULL), 0)
        self._file.write(b"PK\x05\x06" + counts)


def zstandard() -> Callable[[bytes], bytes]:
    """Return what packs bytes as inspect_ai does. Raises ImportError without a library."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            library = import_module(name)
        except ImportError:
            continue
        return lambda data: bytes(library.compress(data))
    raise ImportError("no library for zstandard is installed")


def write_inspect_log(path: Path, size: int, seed: int) -> Log:
    """Write a log whose members have about `size` bytes when they are unpacked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ids = max(2, size // (EPOCHS * _sample_bytes(seed)))
    start = {"version": 2, "eval": _eval(ids), "plan": _plan()}
    summaries: list[Json] = []
    with path.open("wb") as file:
        archive = ArchiveWriter(file)
        archive.add("_journal/start.json", start)
        scores = _write_samples(archive, ids, seed, summaries)
        archive.add("summaries.json", summaries)
        archive.add("reductions.json", [_reductions(scores)])
        archive.add("header.json", {**start, **_outcome(scores)})
        archive.close()
    return Log(path, ids * EPOCHS, path.stat().st_size, archive.unpacked)


def _write_samples(
    archive: ArchiveWriter, ids: int, seed: int, summaries: list[Json]
) -> dict[int, list[bool]]:
    """Write the samples and their summaries, and return which epochs of each id are right."""
    scores: dict[int, list[bool]] = {}
    journal = 0
    for sample in _samples(ids, seed):
        archive.add(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample)
        scores.setdefault(sample["id"], []).append(sample["scores"]["match"]["value"] == "C")
        summaries.append(_summary(sample))
        if len(summaries) % SUMMARIES_EACH == 0 or len(summaries) == ids * EPOCHS:
            journal += 1
            written = (len(summaries) - 1) // SUMMARIES_EACH * SUMMARIES_EACH
            archive.add(f"_journal/summaries/{journal}.json", summaries[written:])
    return scores


def _samples(ids: int, seed: int) -> Iterator[Json]:
    pool = text_pool(seed, FOREIGN_SHARE)
    for epoch in range(1, EPOCHS + 1):
        for number in range(1, ids + 1):
            yield _sample(pool, seed, number, epoch)


def _sample_bytes(seed: int) -> int:
    """Return how many bytes the first samples have on average, with their two summaries."""
    parts = [(one, _summary(one), _summary(one)) for one in _samples(SAMPLES_ON_TRIAL, seed)]
    sizes = [len(json.dumps(one, ensure_ascii=False).encode()) for one in parts]
    return sum(sizes) // len(sizes)


def _sample(pool: TextPool, seed: int, number: int, epoch: int) -> Json:
    """Compose a sample: a question, an answer, a score and the events that led to them."""
    random = Random(f"inspect {seed} {number}")
    question, target = pool.text(random, QUESTION_BYTES), str(random.randrange(1000))
    random.seed(f"inspect {seed} {number} {epoch}")
    is_right = random.random() < 0.4
    text = f"{pool.text(random, ANSWER_BYTES)}\n#### {target if is_right else 'none'}"
    name = f"{number}.{epoch}"
    asked = {"id": f"q{name}", "role": "user", "content": question, "source": "input"}
    said = {
        "id": f"a{name}", "role": "assistant", "content": text, "source": "generate",
        "model": MODEL,
    }  # fmt: skip
    metadata = {"topic": "bench", "weight": 0.25}
    shown = {"input": question, "target": target, "id": number, "metadata": metadata}
    score: Json = {"value": "C" if is_right else "I", "answer": text, "history": []}
    output = {
        "model": MODEL, "choices": [{"message": said, "stop_reason": "stop"}],
        "completion": text, "usage": USAGE,
    }  # fmt: skip
    return {
        "id": number, "epoch": epoch, "input": question, "target": target,
        "messages": [asked, said], "output": output, "scores": {"match": score},
        "metadata": metadata, "store": {},
        "events": [
            _event("sample_init", sample=shown, state={}),
            _event(
                "model", model=MODEL, input=[], tools=[], tool_choice="auto", config={},
                output={"model": MODEL, "choices": [], "completion": ""},
            ),
            _event("score", score=score, target=target, intermediate=False, scorer="match"),
        ],
        "model_usage": {MODEL: USAGE}, "uuid": f"bench{name}", "attachments": {},
    }  # fmt: skip


def _event(kind: str, **members: Any) -> Json:
    return {"event": kind, "timestamp": TIME, "working_start": 0.0, **members}


def _summary(sample: Json) -> Json:
    names = ("id", "epoch", "input", "target", "metadata", "scores", "model_usage", "uuid")
    return {name: sample[name] for name in names}


def _eval(ids: int) -> Json:
    """Return what the header says of the task."""
    metrics = [{"name": f"inspect_ai/{name}", "options": {}} for name in ("accuracy", "stderr")]
    return {
        "eval_id": "evalbench", "run_id": "runbench", "created": TIME, "task": "bench",
        "task_id": "taskbench", "task_version": 0, "task_attribs": {}, "task_args": {},
        "dataset": {
            "name": "bench", "samples": ids, "sample_ids": list(range(1, ids + 1)),
            "shuffled": False,
        },
        "model": MODEL, "model_generate_config": {}, "model_args": {},
        "config": {
            "epochs": EPOCHS, "epochs_reducer": ["mean"], "fail_on_error": True,
            "log_samples": True,
        },
        "packages": {"inspect_ai": "0.3.285"},
        "scorers": [{"name": "match", "options": {}, "metrics": metrics, "metadata": {}}],
    }  # fmt: skip


def _plan() -> Json:
    return {"name": "plan", "steps": [{"solver": "generate", "params": {}}], "config": {}}


def _outcome(scores: dict[int, list[bool]]) -> Json:
    """Return what the header says of the results."""
    means = [fmean(epochs) for epochs in scores.values()]
    samples = sum(map(len, scores.values()))
    values = {"accuracy": fmean(means), "stderr": stdev(means) / sqrt(len(means))}
    usage = {name: number * samples for name, number in USAGE.items()}
    score = {
        "name": "match", "scorer": "match", "reducer": "mean", "scored_samples": len(means),
        "unscored_samples": 0, "params": {},
        "metrics": {
            name: {"name": name, "value": value, "params": {}} for name, value in values.items()
        },
    }  # fmt: skip
    results = {"total_samples": samples, "completed_samples": samples, "scores": [score]}
    stats = {"started_at": TIME, "completed_at": TIME, "model_usage": {MODEL: usage}}
    return {"status": "success", "results": results, "stats": stats}


def _reductions(scores: dict[int, list[bool]]) -> Json:
    samples = [
        {"value": fmean(epochs), "history": [], "sample_id": number}
        for number, epochs in scores.items()
    ]
    return {"scorer": "match", "reducer": "mean", "samples": samples}
