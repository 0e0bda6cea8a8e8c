"""Runs of old versions with everything that a migration may stumble over."""

import bz2
import gzip
import hashlib
import importlib
import json
import lzma
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rows import Row, aggregate_of, bytes_of, sample_hash, sound_rows

Edit = Callable[[Row], object]

KEYS = (
    "größe",
    "a/b",
    "~0",
    "~1/~",
    "",
    " ",
    'quo"te',
    "back\\slash",
    "new\nline",
    "😀",
    "a.b",
    "*",
)
"""Names of unknown members."""

NUMBERS = ("1.0", "1e5", "0.10", "-0.0", "1E+2", "9" * 300, "1" + 29 * "0", "0.1e-7", "123456.7890")
"""Numbers whose spelling must stay."""

CODECS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": partial(gzip.compress, mtime=0),
    ".zst": lambda data: bytes(_zstandard().compress(data)),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


class Source(NamedTuple):
    """A run: its name, the bytes of its rows as stored and of its aggregate, and what to expect.

    `migrates` tells whether the run can be migrated, `needs` is a text of the refusal otherwise.
    `suffix` is that of the compression.
    """

    name: str
    rows: bytes
    aggregate: bytes
    migrates: bool
    needs: str = ""
    suffix: str = ""

    def written(self, folder: Path) -> Path:
        """Write the run below a folder as a datastore does; return the folder."""
        place = folder / "data" / "tiny-arithmetic" / "acme" / "acorn-7b"
        place.mkdir(parents=True)
        stem = "0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57"
        (place / f"{stem}_samples.jsonl{self.suffix}").write_bytes(self.rows)
        (place / f"{stem}.json").write_bytes(self.aggregate)
        return folder


def sources() -> Iterator[Source]:
    """Iterate over all runs."""
    yield from _odd_rows()
    yield from _odd_bytes()
    yield from _odd_seals()
    yield from _odd_aggregates()
    yield from _refused_rows()
    yield from _undecided_rows()


def _run(
    name: str,
    rows: list[Row] | bytes,
    aggregate: Callable[[Row], object] = lambda document: None,
    *,
    stored: Callable[[bytes], bytes] = bytes,
    version: str = "0.2.0",
    migrates: bool = True,
    needs: str = "",
    suffix: str = "",
) -> Source:
    data = rows if isinstance(rows, bytes) else bytes_of(rows)
    kept = stored(data)
    document = aggregate_of(
        version, kept, 8, f"0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57_samples.jsonl{suffix}"
    )
    aggregate(document)
    return Source(name, kept, json.dumps(document, indent=1).encode(), migrates, needs, suffix)


def _edited(*edits: Edit, version: str = "0.2.0") -> list[Row]:
    """Return sound rows; all edits are made in each of them."""
    rows = sound_rows(version)
    for row in rows:
        for edit in edits:
            edit(row)
    return rows


def _set(*path: str, value: Any) -> Edit:
    """Return an edit that sets a member, in rows that have the object around it."""

    def edit(row: Row) -> None:
        for name in path[:-1]:
            row = row.get(name) or {}
        row[path[-1]] = value

    return edit


def _single_turn(edit: Edit) -> Edit:
    return lambda row: row["interaction_type"] == "single_turn" and edit(row)


def _spelled(text: str) -> list[Row] | bytes:
    """Return rows whose metadata have a member that is written as given."""
    rows = bytes_of(_edited(_set("metadata", "odd", value="@@")))
    return rows.replace(b'"@@"', text.encode())


def _odd_rows() -> Iterator[Source]:
    yield _run("unchanged", sound_rows())
    for number in NUMBERS:
        yield _run(f"number {number[:12]} in metadata", _spelled(number))
    yield _run("list in metadata", _spelled('[ 1.0 , {"b" : 1e5, "a": "\\u00e9 \\"x\\"" } ]'))
    yield _run("nulls in metadata", _edited(_set("metadata", "odd", value=None)))
    for key in KEYS:
        yield _run(f"unknown member {key!r}", _edited(_set(key, value={"deep": [1, None, "x"]})))
        yield _run(f"unknown metadata {key!r}", _edited(_set("metadata", key, value=[0.5])))
    for place in ("input", "output", "evaluation", "performance", "token_usage"):
        yield _run(f"unknown in {place}", _edited(_set(place, "foreign", value={"a": 1.50})))
    yield _run(
        "no metadata, unknown member", _edited(_set("foreign", value=1), _without("metadata"))
    )
    nulls = [
        *(("input", "formatted"), ("input", "choices"), ("output", "reasoning_trace")),
        *(("evaluation", "num_turns"), ("evaluation", "tool_calls_count"), ("token_usage",)),
        *(("performance", "latency_ms"), ("performance",), ("error",), ("metadata",)),
        *(("sample_hash",), ("evaluation_result_id",)),
    ]
    edits = [_set(*path, value=None) for path in nulls]
    for path, edit in zip(nulls, edits, strict=True):
        yield _run(f"null {'/'.join(path)}", _edited(edit))
    transcripts = [_single_turn(_set(name, value=None)) for name in ("interactions", "messages")]
    yield _run("null interactions", _edited(transcripts[0]))
    yield _run("null messages", _edited(transcripts[1]))
    yield _run("both null", _edited(*transcripts))
    yield _run("null messages beside interactions", _edited(_set("messages", value=None)))
    yield _run("nulls everywhere", _edited(*edits[:5], *edits[6:], transcripts[0]))
    yield _run("number for an id", _numbered())
    yield _run("booleans for scores", _edited(_boolean))
    yield _run("percent scores", _edited(_percent), _percent_aggregate)
    yield _run("rows of two versions", _mixed())
    yield _run("aggregate of a later version", sound_rows(), _of_version("0.2.2"))


def _odd_bytes() -> Iterator[Source]:
    data = bytes_of(sound_rows())
    lines = data.splitlines(keepends=True)
    yield _run("byte order mark", b"\xef\xbb\xbf" + data)
    yield _run("CRLF", data.replace(b"\n", b"\r\n"))
    yield _run("blank lines", b"\n \n".join(lines) + b"\n\n")
    yield _run("no final newline", data[:-1])
    yield _run("all of these", b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n\r\n")[:-4])
    yield _run("array", b"[" + b",".join(lines) + b"]")
    indented = json.dumps([json.loads(line) for line in lines], indent=2).encode()
    yield _run("indented array", indented)
    spaced = b"".join(b"\t " + line[:-1].replace(b'": ', b'" :\t') + b" \n" for line in lines)
    yield _run("spaces", spaced)
    yield _run("escapes", _edited(_set("metadata", "odd", value="\u2028\x00\x7f😀é\\/")))
    for suffix, compress in CODECS.items():
        yield _run(f"compressed {suffix}", sound_rows(), stored=compress, suffix=suffix)


def _odd_seals() -> Iterator[Source]:
    sealed = "detailed_evaluation_results"
    data = bytes_of(sound_rows())
    right = hashlib.sha256(data).hexdigest()

    def with_seal(**members: Any) -> Callable[[Row], object]:
        def edit(document: Row) -> None:
            document[sealed] |= members
            for name in [name for name, value in members.items() if value is ...]:
                del document[sealed][name]

        return edit

    yield _run("upper-case checksum", data, with_seal(checksum=right.upper()))
    yield _run("prefixed checksum", data, with_seal(checksum=f"sha256:{right}"))
    yield _run("no checksum", data, with_seal(checksum=...))
    yield _run("no total_rows", data, with_seal(total_rows=...))
    yield _run("no algorithm", data, with_seal(hash_algorithm=...))
    yield _run("unknown member of the seal", data, with_seal(foreign={"a": 1.50}))
    unhashed = bytes_of(_edited(_without("sample_hash")))
    md5 = with_seal(hash_algorithm="md5", checksum=hashlib.md5(unhashed).hexdigest())
    yield _run("md5", unhashed, md5)
    wrong = with_seal(checksum="0" * 64)
    yield _run("wrong checksum", data, wrong, migrates=False, needs="checksum")
    wrong = with_seal(checksum="n/a")
    yield _run("no digest", data, wrong, migrates=False, needs="checksum")
    wrong = with_seal(checksum=hashlib.md5(data).hexdigest())
    yield _run("checksum of another algorithm", data, wrong, migrates=False, needs="checksum")
    for count in (7, 9, 0, -1, "8", 8.5):
        wrong = with_seal(total_rows=count)
        yield _run(f"total_rows {count!r}", data, wrong, migrates=False, needs="total_rows")


def _odd_aggregates() -> Iterator[Source]:
    data = sound_rows()

    def with_member(*path: Any, value: Any) -> Callable[[Row], object]:
        def edit(document: Any) -> None:
            for step in path[:-1]:
                document = document[step]
            document[path[-1]] = value

        return edit

    result = ("evaluation_results", 0)
    arguments = (*result, "generation_config", "generation_args")
    for key in KEYS:
        edit = with_member(*arguments, key, value={"deep": [1.0]})
        yield _run(f"unknown argument {key!r}", data, edit)
        edit = with_member("model_info", "additional_details", key, value=[1e5, None])
        yield _run(f"unknown detail {key!r}", data, edit)
    steps = [{"solver": "a", "parameters": {"x": 1.0}}]
    edit = with_member(*arguments, "eval_plan", value={"steps": steps, "config": {"n": 1.0}})
    yield _run("steps", data, edit)
    source = {"dataset_name": "d", "source_type": "hf_dataset", "sample_ids": [1, "b", 10**30]}
    yield _run("sample_ids", data, with_member(*result, "source_data", value=source))
    edit = with_member("model_info", "additional_details", "deployment_type", value="cloud")
    yield _run("unknown deployment", data, edit)
    for path in (
        ("evaluation_timestamp",),
        (*result, "evaluation_timestamp"),
        (*arguments, "max_tokens"),
        (*result, "metric_config", "evaluation_description"),
        (*result, "score_details", "uncertainty", "standard_error", "method"),
        (*result, "score_details", "uncertainty"),
        ("model_info", "inference_engine"),
        ("source_metadata", "source_name"),
    ):
        name = f"null {'/'.join(map(str, path))} of the aggregate"
        yield _run(name, data, with_member(*path, value=None))
    edit = with_member("foreign", value={"a": [1.50, "x"]})
    yield _run("unknown member of the aggregate", data, edit)
    wrong = with_member("schema_version", value="0.0.1")
    yield _run("version 0.0.1", data, wrong, migrates=False, needs="0.0.1")
    wrong = with_member("schema_version", value="9.9.9")
    yield _run("unknown version", data, wrong, migrates=False, needs="9.9.9")
    good = _run("", data)
    repeated = good.aggregate.replace(
        b'"evaluation_id"', b'"evaluation_id": "x", "evaluation_id"', 1
    )
    yield good._replace(name="repeated key of the aggregate", aggregate=repeated, migrates=False)
    deep = b'"evaluation_timestamp": ' + 300 * b"[" + 300 * b"]" + b', "evaluation_id"'
    deepened = good.aggregate.replace(b'"evaluation_id"', deep, 1)
    yield good._replace(name="deep aggregate", aggregate=deepened, migrates=False)
    torn = good.aggregate[:-20]
    yield good._replace(name="torn aggregate", aggregate=torn, migrates=False)


def _refused_rows() -> Iterator[Source]:
    data = bytes_of(sound_rows())
    lines = data.splitlines(keepends=True)
    third = lines[2]
    spoilt = {
        "repeated key": third.replace(b'"input"', b'"error": null, "error": null, "input"'),
        "repeated key in metadata": third.replace(
            b'"metadata": {', b'"metadata": {"a": 1, "a": 1,'
        ),
        "repeated key by an escape": third.replace(b'"input"', b'"input": {}, "\\u0069nput"'),
        "deep": third.replace(
            b'"metadata": {', b'"metadata": {"a":' + 300 * b"[" + 300 * b"]" + b","
        ),
        "NaN": third.replace(b'"metadata": {', b'"metadata": {"a": NaN,'),
        "overflow": third.replace(b'"metadata": {', b'"metadata": {"a": 1e999,'),
        "5,000 digits": third.replace(b'"metadata": {', b'"metadata": {"a": ' + 5000 * b"1" + b","),
        "surrogate": third.replace(b'"metadata": {', b'"metadata": {"a": "\\ud800",'),
        "not UTF-8": third.replace(b'"metadata": {', b'"metadata": {"a": "\xff",'),
        "NUL": third.replace(b'"metadata": {', b'"metadata": {"a": "\x00",'),
        "torn": third[:-30] + b"\n",
        "two on a line": third[:-1] + lines[3],
        "not an object": b"[]\n",
        "null": b"null\n",
        "unknown version": third.replace(b'"0.2.0"', b'"7.7"'),
    }
    for name, line in spoilt.items():
        changed = b"".join((*lines[:2], line, *lines[3:]))
        yield _run(f"row: {name}", changed, migrates=False)
    yield _run("row: torn at the end", data[:-40], migrates=False)
    yield _run("UTF-16", data.decode().encode("utf-16"), migrates=False)
    yield _run(
        "no rows",
        b"",
        lambda document: document["detailed_evaluation_results"].update(total_rows=0),
        migrates=False,
    )
    for suffix, compress in CODECS.items():
        cut = compress(data)[:-9]
        yield _run(f"cut {suffix}", cut, migrates=False, suffix=suffix)
    clash = _edited(_set("foreign", value=1), _set("metadata", "migrated.foreign", value="2"))
    yield _run("name that is taken", clash, migrates=False)


def _undecided_rows() -> Iterator[Source]:
    """Iterate over rows that only migrate by a decision."""
    turns = [{"turn_idx": 0, "role": "user", "content": "x"}]
    edit = _single_turn(_set("interactions", value=turns))
    yield _run("single turn with a transcript", _edited(edit), needs="transcript")
    both = _edited(edit, _set("messages", value=turns))
    yield _run("two transcripts", both, needs="transcript")
    edit = _set("evaluation_id", value="x/y/1")
    yield _run("foreign evaluation", _edited(edit), needs="evaluation-id")
    edit = _set("output", value={"raw": "x"})
    yield _run("transcript with an output", _edited(edit), needs="output")


def _zstandard() -> Any:
    try:
        return importlib.import_module("compression.zstd")
    except ImportError:
        return importlib.import_module("backports.zstd")


def _without(name: str) -> Edit:
    return lambda row: row.pop(name, None)


def _boolean(row: Row) -> None:
    row["evaluation"]["score"] = row["evaluation"]["is_correct"]


def _percent(row: Row) -> None:
    row["evaluation"]["score"] *= 100


def _percent_aggregate(document: Row) -> None:
    (result,) = document["evaluation_results"]
    result["metric_config"]["max_score"] = 100
    result["score_details"] = {"score": 75.0}


def _of_version(version: str) -> Callable[[Row], object]:
    def edit(document: Row) -> None:
        document["schema_version"] = version
        document["eval_library"] = {"name": "lm_eval", "version": "0.4"}

    return edit


def _numbered() -> list[Row]:
    rows = sound_rows()
    for number, row in enumerate(rows):
        row["sample_id"] = number
    return rows


def _mixed() -> list[Row]:
    rows = sound_rows()
    for row in rows[4:]:
        row["schema_version"] = "0.2.1"
        row["input"]["reference"] = [row["input"]["reference"]]
        if row["interaction_type"] == "single_turn":
            row["output"]["raw"] = [row["output"]["raw"]]
        else:
            row["messages"] = row.pop("interactions")
        row["metadata"] = {name: str(value) for name, value in row["metadata"].items()}
        row["sample_hash"] = sample_hash(row, "concat")
    return rows
