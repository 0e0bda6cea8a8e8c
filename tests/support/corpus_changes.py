"""The pairs of `tests/corpus`: written ones, and those made of them by one change each."""

import atexit
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from paths import CORPUS_PAIRS

Object = dict[str, Any]
Pair = tuple[list[Object], Object]
Change = Callable[[bytes, Object], bytes]
"""What a change makes of the bytes of the rows; it may change the aggregate, too."""

SUMS, FRUIT, EPOCHS, TOOLS = (
    *("0.3.0-inspect-sums", "0.3.0-lm_eval-fruit"),
    *("0.3.0-inspect-epochs", "0.3.0-inspect-shop-helper"),
)
OLD, OLDEST = "0.2.1-lm_eval-task-1", "sound-0.2.0"
SCORE = ("evaluation_results", 0, "score_details", "score")
ERROR = ("evaluation_results", 0, "score_details", "uncertainty", "standard_error", "value")
COUNT = ("evaluation_results", 0, "score_details", "uncertainty", "num_samples")
SEAL = "detailed_evaluation_results"


def put(document: Any, path: tuple[str | int, ...], value: Any) -> None:
    """Set the value at a place; `...` removes it."""
    for key in path[:-1]:
        document = document[key]
    if value is ...:
        del document[path[-1]]
    else:
        document[path[-1]] = value


def lines_of(data: bytes) -> list[bytes]:
    """Cut rows into lines, with their newlines."""
    return (
        data.splitlines(keepends=True)
        if b"\r" in data
        else [line + b"\n" for line in data.split(b"\n")[:-1]]
    )


def row(number: int, *path: str | int, to: Any) -> Change:
    """Change a member of one row, counted from 1; 0 stands for all rows."""

    def change(data: bytes, _: Object) -> bytes:
        lines = lines_of(data)
        for at in range(len(lines)):
            if number in (0, at + 1):
                document = json.loads(lines[at])
                put(document, path, to)
                lines[at] = json.dumps(document, ensure_ascii=False).encode() + b"\n"
        return b"".join(lines)

    return change


def claim(*path: str | int, to: Any) -> Change:
    """Change a member of the aggregate."""

    def change(data: bytes, aggregate: Object) -> bytes:
        put(aggregate, path, to)
        return data

    return change


def line(number: int, old: bytes, new: bytes) -> Change:
    """Change the bytes of one line, counted from 1; -1 is the last."""

    def change(data: bytes, _: Object) -> bytes:
        lines = lines_of(data)
        at = number - (number > 0)
        assert old in lines[at], (number, old)
        lines[at] = lines[at].replace(old, new, 1)
        return b"".join(lines)

    return change


def lines(change: Callable[[list[bytes]], list[bytes]]) -> Change:
    """Change the list of lines."""
    return lambda data, _: b"".join(change(lines_of(data)))


def both(*changes: Change) -> Change:
    """Make several changes."""

    def change(data: bytes, aggregate: Object) -> bytes:
        for one in changes:
            data = one(data, aggregate)
        return data

    return change


def seal(change: Change, algorithm: str = "sha256") -> Change:
    """Make a change, and seal its outcome as if it were sound."""

    def sealed(data: bytes, aggregate: Object) -> bytes:
        data = change(data, aggregate)
        aggregate[SEAL] |= {
            "hash_algorithm": algorithm,
            "checksum": hashlib.new(algorithm, data).hexdigest(),
            "total_rows": sum(bool(one.strip()) for one in data.split(b"\n")),
        }
        return data

    return sealed


def hashed(algorithm: str, text: str) -> str:
    """Return the digest of a text."""
    return hashlib.new(algorithm, text.encode()).hexdigest()


def json_text(inputs: Object) -> str:
    """Return what lm-eval's converter hashes."""
    texts = {"raw": inputs["raw"], "reference": "".join(inputs["reference"])}
    return json.dumps(texts, sort_keys=True)


def concat(inputs: Object) -> str:
    """Return the hash of the texts one after another."""
    return hashed("sha256", inputs["raw"] + "".join(inputs["reference"]))


def spaced(inputs: Object) -> str:
    """Return the hash of the texts as JSON with spaces."""
    texts = {"raw": inputs["raw"], "reference": inputs["reference"]}
    return hashed("sha256", json.dumps(texts, sort_keys=True))


def hashes(hash_of: Callable[[int, Object], str]) -> Change:
    """Write the hash of each row anew."""

    def change(data: bytes, _: Object) -> bytes:
        rows = [json.loads(one) for one in lines_of(data)]
        for at, one in enumerate(rows):
            one["sample_hash"] = hash_of(at, one["input"])
        return b"".join(json.dumps(one).encode() + b"\n" for one in rows)

    return change


def second_copy(**members: Any) -> Change:
    """Append a copy of the second row with other members."""

    def change(data: bytes, _: Object) -> bytes:
        document = json.loads(lines_of(data)[1]) | members
        return data + json.dumps(document).encode() + b"\n"

    return change


def copied_result(data: bytes, aggregate: Object) -> bytes:
    """Repeat the first result of the aggregate."""
    aggregate["evaluation_results"].append(aggregate["evaluation_results"][0])
    return data


def asked_again(data: bytes, _: Object) -> bytes:
    """Give the third row the id of the second."""
    found = lines_of(data)
    document = json.loads(found[2])
    document["sample_id"] = json.loads(found[1])["sample_id"]
    found[2] = json.dumps(document).encode() + b"\n"
    return b"".join(found)


same = lines(list)
CHANGES: dict[str, tuple[str, Change]] = {
    # Bytes.
    "letter": (SUMS, line(2, b'"raw": ["4"]', b'"raw": ["5"]')),
    "row-lost": (FRUIT, lines(lambda all_: all_[:3] + all_[4:])),
    "rows-cut-off": (EPOCHS, lines(lambda all_: all_[:12])),
    "torn": (SUMS, seal(lambda data, _: data[:-200])),
    "spliced": (FRUIT, seal(lines(lambda all_: [all_[0][:-300] + all_[1], *all_[2:]]))),
    "two-on-a-line": (OLD, seal(lines(lambda all_: [all_[0][:-1] + all_[1], *all_[2:]]))),
    "nul": (SUMS, seal(line(3, b"What is", b"What\0\0is"))),
    "latin-1": (SUMS, seal(line(1, "é".encode(), b"\xe9"))),
    "repeated-key": (FRUIT, seal(line(2, b'"error": null', b'"error": null, "error": null'))),
    "nan": (OLD, seal(line(4, b'"score": ', b'"score": NaN, "old": '))),
    "overflow": (SUMS, seal(line(5, b'"score": ', b'"score": 1e999, "old": '))),
    "list-for-row": (SUMS, seal(lines(lambda all_: [*all_[:2], b"[1, 2]\n", *all_[2:]]))),
    "no-comma": (FRUIT, seal(line(7, b'"messages": null, ', b'"messages": null '))),
    "blank": (SUMS, seal(lines(lambda all_: [*all_[:2], b"\n", *all_[2:], b"  \n"]))),
    "crlf": (OLD, seal(lambda data, _: data.replace(b"\n", b"\r\n"))),
    "bom": (OLD, seal(lambda data, _: b"\xef\xbb\xbf" + data)),
    "no-final-newline": (FRUIT, seal(lambda data, _: data[:-1])),
    "surrogate": (SUMS, seal(line(2, b'"raw": ["4"]', b'"raw": ["\\ud83d"]'))),
    "empty": (SUMS, seal(lambda *_: b"")),
    # Scores and claims.
    "score-turned": (FRUIT, seal(row(1, "evaluation", to={"score": 0.0, "is_correct": False}))),
    "score-raised": (SUMS, claim(*SCORE, to=0.9)),
    "score-beyond": (SUMS, seal(row(2, "evaluation", "score", to=2.0))),
    "score-in-percent": (EPOCHS, claim(*SCORE, to=66.66666666666667)),
    "score-rounded": (SUMS, claim(*SCORE, to=0.67)),
    "score-in-digits": (SUMS, claim(*SCORE, to=0.6667)),
    "score-misrounded": (SUMS, claim(*SCORE, to=0.6668)),
    "error-halved": (FRUIT, claim(*ERROR, to=0.09221388919541469)),
    "error-over-rows": (EPOCHS, claim(*ERROR, to=0.11433239009500591)),
    "error-below-0": (SUMS, claim(*ERROR, to=-0.1)),
    "samples-invented": (SUMS, claim(*COUNT, to=5)),
    "rows-lost-and-sealed": (SUMS, seal(lines(lambda all_: all_[:4]))),
    "old-score-raised": (OLD, claim(*SCORE, to=0.83)),
    "bounds-reversed": (SUMS, claim("evaluation_results", 0, "metric_config", "min_score", to=3)),
    # Samples.
    "question-edited": (SUMS, seal(line(4, b"What is", b"What was"))),
    "answer-key-edited": (FRUIT, seal(row(1, "input", "reference", to=["1"]))),
    "hash-cut": (SUMS, seal(row(3, "sample_hash", to="abc"))),
    "hashes-of-nothing": (SUMS, seal(hashes(lambda at, _: f"{at:064x}"))),
    "hashes-mixed": (
        SUMS,
        seal(hashes(lambda at, inputs: spaced(inputs) if at % 2 else concat(inputs))),
    ),
    "hashes-spaced": (SUMS, seal(hashes(lambda _, inputs: spaced(inputs)))),
    "row-twice": (FRUIT, seal(lines(lambda all_: [*all_, all_[1]]))),
    "sample-twice": (SUMS, seal(second_copy(output={"raw": ["another"]}))),
    "id-twice": (SUMS, seal(asked_again)),
    # Rows and their aggregate.
    "other-evaluation": (SUMS, seal(row(2, "evaluation_id", to="sums/acme/acorn-9b/1"))),
    "other-model": (FRUIT, seal(row(0, "model_id", to="acme/acorn-9b"))),
    "other-result": (SUMS, seal(row(6, "evaluation_result_id", to="match:f1"))),
    "result-twice": (SUMS, copied_result),
    # The seal.
    "checksum-of-others": (OLDEST, claim(SEAL, "checksum", to="0" * 64)),
    "checksum-no-digest": (OLD, claim(SEAL, "checksum", to="to be done")),
    "rows-miscounted": (OLDEST, claim(SEAL, "total_rows", to=9)),
    "unsealed": (SUMS, both(claim(SEAL, "checksum", to=...), claim(SEAL, "total_rows", to=...))),
    "md5": (
        OLD, seal(hashes(lambda _, inputs: hashed("md5", json_text(inputs))), "md5"),
    ),
    # Schemas.
    "no-sample-id": (OLDEST, seal(row(3, "sample_id", to=...))),
    "text-for-score": (OLD, seal(row(2, "evaluation", "score", to="1.0"))),
    "unknown-interaction": (SUMS, seal(row(2, "interaction_type", to="monologue"))),
    "null-for-hash-map": (FRUIT, seal(row(5, "evaluation_result_id", to=None))),
    "number-in-map": (SUMS, seal(row(1, "metadata", "epoch", to=1))),
    "output-of-an-agent": (TOOLS, seal(row(1, "output", to={"raw": ["12"]}))),
    "no-transcript": (TOOLS, seal(row(2, "messages", to=None))),
    "call-to-nobody": (TOOLS, seal(row(1, "messages", 2, "tool_call_id", to=["c0"]))),
    "version-unknown": (SUMS, seal(row(0, "schema_version", to="0.3.0rc1"))),
    "levels-without-names": (
        FRUIT, claim("evaluation_results", 0, "metric_config", "score_type", to="levels"),
    ),
    "no-source": (FRUIT, claim("evaluation_results", 1, "source_data", to=...)),
}  # fmt: skip
"""The changed pairs by name: the base, and what is changed in it."""


def without_nulls(value: Any) -> Any:
    """Return a value without the members that are null."""
    if isinstance(value, dict):
        return {key: without_nulls(one) for key, one in value.items() if one is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value


def shape(version: str, data: bytes, aggregate: Object) -> bytes:
    """Turn a pair of 0.3.0 into a sound one of another version."""
    aggregate["schema_version"] = version.partition("+")[0]
    if version < "0.2.1":
        del aggregate["eval_library"]
    if version < "0.2.2":
        del aggregate["evaluation_results"][0]["evaluation_result_id"]
    rows = [without_nulls(json.loads(one)) for one in lines_of(data)]
    for one in rows:
        one["schema_version"] = aggregate["schema_version"]
        inputs = one["input"]
        if version == "0.2.0":
            inputs["reference"] = "".join(inputs["reference"])
            one["output"]["raw"] = "".join(one["output"]["raw"])
        if version < "0.2.2":
            one.pop("evaluation_result_id")
        if version < "0.3.0":
            one["sample_hash"] = concat(inputs)
    return b"".join(json.dumps(one).encode() + b"\n" for one in rows)


BASE = "0.3.0-inspect-limited"
"""The pair that the sound ones of other versions are made from."""

SHAPED = ("0.2.0", "0.2.0+list", "0.2.1", "0.2.2", "0.2.3")


SOUND, CHANGED = "sound-", "changed-"
"""What names of made pairs begin with."""


def names() -> list[str]:
    """Return the names of all pairs: those that converters wrote, and those that are made."""
    written = (path.name for path in CORPUS_PAIRS.iterdir())
    made = [*(SOUND + one for one in SHAPED), *(CHANGED + one for one in CHANGES)]
    return sorted([*written, *made])


@cache
def files_of(name: str) -> tuple[Path, Path]:
    """Return the rows and the aggregate of a pair. One that is not written is made."""
    if name.startswith(SOUND):
        version = name.removeprefix(SOUND)
        return _make(name, BASE, seal(lambda data, document: shape(version, data, document)))
    if name.startswith(CHANGED):
        return _make(name, *CHANGES[name.removeprefix(CHANGED)])
    (rows,), (aggregate,) = (
        (CORPUS_PAIRS / name).glob(pattern) for pattern in ("*_samples.jsonl", "*.json")
    )
    return rows, aggregate


def _make(name: str, base: str, change: Change) -> tuple[Path, Path]:
    rows, aggregate = files_of(base)
    folder = made_folder() / name
    folder.mkdir()
    document = json.loads(aggregate.read_bytes())
    data = change(rows.read_bytes(), document)
    (folder / rows.name).write_bytes(data)
    (folder / aggregate.name).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return folder / rows.name, folder / aggregate.name


@cache
def made_folder() -> Path:
    """Return a folder for what is made, which ends with this process."""
    folder = tempfile.mkdtemp(prefix="corpus-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
