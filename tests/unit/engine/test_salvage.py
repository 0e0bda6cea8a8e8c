"""Salvage: whole rows byte for byte, everything else beside them, and nothing lost between."""

import base64
import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded, bytes_of, sound_rows
from sound_lines import LINES

import evalstream
from evalstream.engine.salvage import REST
from evalstream.model.errors import CannotCheck

GOOD = bytes_of(sound_rows())


def saved(folder: Path, data: bytes, name: str = "rows.jsonl", **more: Any) -> evalstream.Salvage:
    """Salvage some bytes; the rows are then in `good`."""
    path = folder / name
    path.write_bytes(data)
    outcome = evalstream.salvage(path, folder / "good", overwrite=True, **more)
    assert path.read_bytes() == data
    return outcome


def rest_of(folder: Path) -> list[dict[str, Any]]:
    """Return the entries of the rest, with their bytes; none without such a file."""
    path = folder / f"good{REST}"
    entries = list(map(json.loads, path.read_bytes().splitlines())) if path.exists() else []
    for entry in entries:
        text = entry.get("text")
        entry["data"] = base64.b64decode(entry["base64"]) if text is None else text.encode()
        assert len(entry["data"]) == entry["length"]
    return entries


def test_a_whole_file_is_copied_byte_for_byte(tmp_path: Path) -> None:
    for data in (GOOD, GOOD[:-1], GOOD.replace(b"\n", b"\r\n")):
        outcome = saved(tmp_path, data)
        assert (outcome.exit_code, outcome.rows, outcome.lost) == (0, 8, 0)
        assert (tmp_path / "good").read_bytes().removesuffix(b"\n") == data.removesuffix(b"\n")
        assert not (tmp_path / f"good{REST}").exists()


def test_a_rest_of_an_earlier_salvage_is_emptied_and_a_named_one_is_made(tmp_path: Path) -> None:
    saved(tmp_path, GOOD + b"INFO\n")
    assert len(rest_of(tmp_path)) == 1
    saved(tmp_path, GOOD)
    assert rest_of(tmp_path) == []
    saved(tmp_path, GOOD, rest=tmp_path / "named")
    assert (tmp_path / "named").read_bytes() == b""


def test_outputs_are_compressed_as_their_names_say(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(GOOD + b"INFO\n")
    evalstream.salvage(path, tmp_path / "good.jsonl.gz", tmp_path / "rest.jsonl.bz2")
    assert gzip.decompress((tmp_path / "good.jsonl.gz").read_bytes()) == GOOD
    rest = bz2.decompress((tmp_path / "rest.jsonl.bz2").read_bytes())
    assert json.loads(rest)["text"] == "INFO"
    evalstream.salvage(path, tmp_path / "other.gz")
    assert json.loads((tmp_path / f"other.gz{REST}").read_bytes())["text"] == "INFO"


def test_rows_in_another_encoding_are_not_called_damage(tmp_path: Path) -> None:
    for encoding in ("utf-16", "utf-16-be", "utf-32-le"):
        with pytest.raises(CannotCheck, match=f"{encoding[:6].upper()}: write it again in UTF-8"):
            saved(tmp_path, GOOD.decode().encode(encoding))
        assert [one.name for one in tmp_path.iterdir()] == ["rows.jsonl"]
    assert saved(tmp_path, b"\xff\xfe" + GOOD).rows == 8


def test_rows_are_saved_out_of_torn_lines(tmp_path: Path) -> None:
    torn = LINES[2][:300]
    data = (
        LINES[0] + torn + LINES[1] + bytes(9) + LINES[2] + b"\n" + b"INFO\n" + b"\xff\xfe\n"
        + LINES[3].rstrip() + LINES[4] + LINES[5][:70]
    )  # fmt: skip
    outcome = saved(tmp_path, data)
    assert (tmp_path / "good").read_bytes() == b"".join(LINES[:5])
    assert (outcome.exit_code, outcome.rows, outcome.lost) == (1, 5, 5)
    rest = rest_of(tmp_path)
    assert [(entry["line"], entry["data"]) for entry in rest] == [
        (2, torn),
        (3, bytes(9)),
        (5, b"INFO"),
        (6, b"\xff\xfe"),
        (8, LINES[5][:70]),
    ]
    for entry in rest:
        assert data[entry["offset"] : entry["offset"] + entry["length"]] == entry["data"]


def test_overlong_lines_are_kept_in_the_rest(tmp_path: Path) -> None:
    long = b'{"schema_version": "' + b"x" * 3_000_000 + b'"}\n'
    outcome = saved(tmp_path, LINES[0] + long + LINES[1], max_line_bytes=5000)
    assert (outcome.rows, outcome.exit_code) == (2, 1)
    assert b"".join(entry["data"] for entry in rest_of(tmp_path)) == long
    assert (tmp_path / "good").read_bytes() == LINES[0] + LINES[1]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_line_of_the_most_bytes_is_saved(tmp_path: Path, mark: bytes) -> None:
    longest = len(LINES[0]) - 1
    assert saved(tmp_path, mark + LINES[0], max_line_bytes=longest).rows == 1
    assert saved(tmp_path, mark + LINES[0], max_line_bytes=longest - 1).rows == 0


def test_rows_before_a_break_in_a_packed_file_are_saved(tmp_path: Path) -> None:
    packed = gzip.compress(GOOD)
    assert saved(tmp_path, packed).rows == 8
    outcome = saved(tmp_path, packed[:-100])
    assert (outcome.exit_code, "truncated" in (outcome.incomplete_reason or "")) == (3, True)
    good = (tmp_path / "good").read_bytes()
    assert (GOOD.startswith(good), good.count(b"\n")) == (True, outcome.rows)
    (last,) = rest_of(tmp_path)
    assert GOOD[len(good) :].startswith(last["data"])
    assert (last["offset"], last["line"]) == (len(good), outcome.rows + 1)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_torn_array_gives_its_rows_as_lines(tmp_path: Path, indent: int | None) -> None:
    data = json.dumps(sound_rows(), indent=indent).encode()
    for cut, code in ((len(data), 0), (len(data) - 1, 0), (len(data) // 2, 1)):
        outcome = saved(tmp_path, data[:cut], "rows.json")
        assert (outcome.exit_code, outcome.incomplete_reason) == (code, None)
        rows = list(map(json.loads, (tmp_path / "good").read_bytes().splitlines()))
        assert rows == sound_rows()[: outcome.rows]
        for entry in rest_of(tmp_path):
            assert data[:cut].endswith(entry["data"])
            assert entry["offset"] == cut - entry["length"]


def test_an_element_that_is_no_row_is_named_by_its_place_in_the_file(tmp_path: Path) -> None:
    elements = [json.dumps(row).encode() for row in sound_rows()]
    elements[5] = b'["no row"]'
    data = b"[\n" + b",\n".join(elements) + b"\n]"
    assert saved(tmp_path, data, "rows.json").rows == 7
    (entry,) = rest_of(tmp_path)
    assert (entry["line"], entry["offset"]) == (7, data.index(elements[5]))


def test_the_input_is_never_an_output(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(GOOD)
    (tmp_path / "link").symlink_to(path)
    for to, rest in ((path, None), (tmp_path / "link", None), (tmp_path / "x", path)):
        with pytest.raises(evalstream.UsageError):
            evalstream.salvage(path, to, rest)
    with pytest.raises(OSError, match="No such file"):
        evalstream.salvage(tmp_path / "none", tmp_path / "x")
    assert path.read_bytes() == GOOD


@given(
    pieces=st.lists(
        st.one_of(
            st.integers(0, 7).map(lambda number: LINES[number]),
            st.builds(
                lambda number, size: LINES[number][:size], st.integers(0, 7), st.integers(1, 300)
            ),
            st.sampled_from([bytes(3), b"\n", b"INFO\n", b"\xff", b"[1]\n", b" "]),
            st.binary(max_size=8),
        ),
        max_size=12,
    )
)
@bounded(max_examples=examples(150))
def test_every_byte_is_in_a_row_or_in_the_rest(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
) -> None:
    # The first row tells that these are lines, whatever bytes the others begin with.
    folder, data = tmp_path_factory.mktemp("salvage"), b"".join([LINES[0], *pieces])
    outcome = saved(folder, data)
    # A row may begin with a carriage return, which splitlines takes for an end.
    rows = [row + b"\n" for row in (folder / "good").read_bytes().split(b"\n") if row]
    assert outcome.rows == len(rows)
    assert all(isinstance(json.loads(row), dict) for row in rows)
    left = bytearray(data)
    for entry in rest_of(folder):
        place = slice(entry["offset"], entry["offset"] + entry["length"])
        assert data[place] == entry["data"]
        left[place] = b"\n" * entry["length"]
    joined = b"".join(left.split())
    assert joined == b"".join(b"".join(rows).split())


def test_refuses_a_limit_of_lines_that_takes_too_much_memory(tmp_path: Path) -> None:
    with pytest.raises(evalstream.UsageError, match="max_line_bytes must be at most 268,435,456"):
        saved(tmp_path, LINES[0], max_line_bytes=(256 << 20) + 1)
    assert saved(tmp_path, LINES[0], max_line_bytes=256 << 20).rows == 1
