"""Runs of old versions with everything that a migration may stumble over."""

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from typing import Any

from odd_rows import odd_rows, refused_rows, undecided_rows
from odd_run import CODECS, KEYS, Source, edited_rows, make_run, set_member, without
from rows import Row, bytes_of, sound_rows


@cache
def sources() -> tuple[Source, ...]:
    """Return all runs."""
    made = odd_rows(), _odd_bytes(), _odd_seals(), _odd_aggregates()
    return tuple(chain(*made, refused_rows(), undecided_rows()))


def _odd_bytes() -> Iterator[Source]:
    data = bytes_of(sound_rows())
    lines = data.splitlines(keepends=True)
    yield make_run("byte order mark", b"\xef\xbb\xbf" + data)
    yield make_run("CRLF", data.replace(b"\n", b"\r\n"))
    yield make_run("blank lines", b"\n \n".join(lines) + b"\n\n")
    yield make_run("no final newline", data[:-1])
    yield make_run("all of these", b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n\r\n")[:-4])
    yield make_run("array", b"[" + b",".join(lines) + b"]")
    indented = json.dumps([json.loads(line) for line in lines], indent=2).encode()
    yield make_run("indented array", indented)
    spaced = b"".join(b"\t " + line[:-1].replace(b'": ', b'" :\t') + b" \n" for line in lines)
    yield make_run("spaces", spaced)
    yield make_run(
        "escapes", edited_rows(set_member("metadata", "odd", value="\u2028\x00\x7f😀é\\/"))
    )
    for suffix, compress in CODECS.items():
        yield make_run(f"compressed {suffix}", sound_rows(), stored=compress, suffix=suffix)


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

    yield make_run("upper-case checksum", data, with_seal(checksum=right.upper()))
    yield make_run("prefixed checksum", data, with_seal(checksum=f"sha256:{right}"))
    yield make_run("no checksum", data, with_seal(checksum=...))
    yield make_run("no total_rows", data, with_seal(total_rows=...))
    yield make_run("no algorithm", data, with_seal(hash_algorithm=...))
    yield make_run("unknown member of the seal", data, with_seal(foreign={"a": 1.50}))
    unhashed = bytes_of(edited_rows(without("sample_hash")))
    md5 = with_seal(hash_algorithm="md5", checksum=hashlib.md5(unhashed).hexdigest())
    yield make_run("md5", unhashed, md5)
    wrong = with_seal(checksum="0" * 64)
    yield make_run("wrong checksum", data, wrong, migrates=False, needs="checksum")
    wrong = with_seal(checksum="n/a")
    yield make_run("no digest", data, wrong, migrates=False, needs="checksum")
    wrong = with_seal(checksum=hashlib.md5(data).hexdigest())
    yield make_run("checksum of another algorithm", data, wrong, migrates=False, needs="checksum")
    for count in (7, 9, 0, -1, "8", 8.5):
        wrong = with_seal(total_rows=count)
        yield make_run(f"total_rows {count!r}", data, wrong, migrates=False, needs="total_rows")


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
        yield make_run(f"unknown argument {key!r}", data, edit)
        edit = with_member("model_info", "additional_details", key, value=[1e5, None])
        yield make_run(f"unknown detail {key!r}", data, edit)
    steps = [{"solver": "a", "parameters": {"x": 1.0}}]
    edit = with_member(*arguments, "eval_plan", value={"steps": steps, "config": {"n": 1.0}})
    yield make_run("steps", data, edit)
    source = {"dataset_name": "d", "source_type": "hf_dataset", "sample_ids": [1, "b", 10**30]}
    yield make_run("sample_ids", data, with_member(*result, "source_data", value=source))
    edit = with_member("model_info", "additional_details", "deployment_type", value="cloud")
    yield make_run("unknown deployment", data, edit)
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
        yield make_run(name, data, with_member(*path, value=None))
    edit = with_member("foreign", value={"a": [1.50, "x"]})
    yield make_run("unknown member of the aggregate", data, edit)
    wrong = with_member("schema_version", value="0.0.1")
    yield make_run("version 0.0.1", data, wrong, migrates=False, needs="0.0.1")
    wrong = with_member("schema_version", value="9.9.9")
    yield make_run("unknown version", data, wrong, migrates=False, needs="9.9.9")
    good = make_run("", data)
    repeated = good.aggregate.replace(
        b'"evaluation_id"', b'"evaluation_id": "x", "evaluation_id"', 1
    )
    yield good._replace(name="repeated key of the aggregate", aggregate=repeated, migrates=False)
    deep = b'"evaluation_timestamp": ' + 300 * b"[" + 300 * b"]" + b', "evaluation_id"'
    deepened = good.aggregate.replace(b'"evaluation_id"', deep, 1)
    yield good._replace(name="deep aggregate", aggregate=deepened, migrates=False)
    torn = good.aggregate[:-20]
    yield good._replace(name="torn aggregate", aggregate=torn, migrates=False)
