"""Runs with rows that a migration may stumble over, or has to refuse."""

from collections.abc import Callable, Iterator

from odd_run import CODECS, KEYS, Source, edited_rows, make_run, set_member, single_turn, without
from rows import Row, bytes_of, sample_hash, sound_rows

NUMBERS = ("1.0", "1e5", "0.10", "-0.0", "1E+2", "9" * 300, "1" + 29 * "0", "0.1e-7", "123456.7890")
"""Numbers whose spelling must stay."""


def _spelled(text: str) -> list[Row] | bytes:
    """Return rows whose metadata have a member that is written as given."""
    rows = bytes_of(edited_rows(set_member("metadata", "odd", value="@@")))
    return rows.replace(b'"@@"', text.encode())


def odd_rows() -> Iterator[Source]:
    """Iterate over runs whose rows are odd, but right."""
    yield make_run("unchanged", sound_rows())
    for number in NUMBERS:
        yield make_run(f"number {number[:12]} in metadata", _spelled(number))
    yield make_run("list in metadata", _spelled('[ 1.0 , {"b" : 1e5, "a": "\\u00e9 \\"x\\"" } ]'))
    yield make_run("nulls in metadata", edited_rows(set_member("metadata", "odd", value=None)))
    for key in KEYS:
        yield make_run(
            f"unknown member {key!r}", edited_rows(set_member(key, value={"deep": [1, None, "x"]}))
        )
        yield make_run(
            f"unknown metadata {key!r}", edited_rows(set_member("metadata", key, value=[0.5]))
        )
    for place in ("input", "output", "evaluation", "performance", "token_usage"):
        yield make_run(
            f"unknown in {place}", edited_rows(set_member(place, "foreign", value={"a": 1.50}))
        )
    yield make_run(
        "no metadata, unknown member",
        edited_rows(set_member("foreign", value=1), without("metadata")),
    )
    nulls = [
        *(("input", "formatted"), ("input", "choices"), ("output", "reasoning_trace")),
        *(("evaluation", "num_turns"), ("evaluation", "tool_calls_count"), ("token_usage",)),
        *(("performance", "latency_ms"), ("performance",), ("error",), ("metadata",)),
        *(("sample_hash",), ("evaluation_result_id",)),
    ]
    edits = [set_member(*path, value=None) for path in nulls]
    for path, edit in zip(nulls, edits, strict=True):
        yield make_run(f"null {'/'.join(path)}", edited_rows(edit))
    transcripts = [
        single_turn(set_member(name, value=None)) for name in ("interactions", "messages")
    ]
    yield make_run("null interactions", edited_rows(transcripts[0]))
    yield make_run("null messages", edited_rows(transcripts[1]))
    yield make_run("both null", edited_rows(*transcripts))
    yield make_run(
        "null messages beside interactions", edited_rows(set_member("messages", value=None))
    )
    yield make_run("nulls everywhere", edited_rows(*edits[:5], *edits[6:], transcripts[0]))
    yield make_run("number for an id", _numbered())
    yield make_run("booleans for scores", edited_rows(_boolean))
    yield make_run("percent scores", edited_rows(_percent), _percent_aggregate)
    yield make_run("rows of two versions", _mixed())
    yield make_run("aggregate of a later version", sound_rows(), _of_version("0.2.2"))


def refused_rows() -> Iterator[Source]:
    """Iterate over runs with a row that cannot be read, or not without a guess."""
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
        yield make_run(f"row: {name}", changed, migrates=False)
    yield make_run("row: torn at the end", data[:-40], migrates=False)
    yield make_run("UTF-16", data.decode().encode("utf-16"), migrates=False)
    yield make_run(
        "no rows",
        b"",
        lambda document: document["detailed_evaluation_results"].update(total_rows=0),
        migrates=False,
    )
    for suffix, compress in CODECS.items():
        cut = compress(data)[:-9]
        yield make_run(f"cut {suffix}", cut, migrates=False, suffix=suffix)
    clash = edited_rows(
        set_member("foreign", value=1), set_member("metadata", "migrated.foreign", value="2")
    )
    yield make_run("name that is taken", clash, migrates=False)


def undecided_rows() -> Iterator[Source]:
    """Iterate over rows that only migrate by a decision."""
    turns = [{"turn_idx": 0, "role": "user", "content": "x"}]
    edit = single_turn(set_member("interactions", value=turns))
    yield make_run("single turn with a transcript", edited_rows(edit), needs="transcript")
    both = edited_rows(edit, set_member("messages", value=turns))
    yield make_run("two transcripts", both, needs="transcript")
    edit = set_member("evaluation_id", value="x/y/1")
    yield make_run("foreign evaluation", edited_rows(edit), needs="evaluation-id")
    edit = set_member("output", value={"raw": "x"})
    yield make_run("transcript with an output", edited_rows(edit), needs="output")


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
