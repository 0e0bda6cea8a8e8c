"""Tests of the archive: each way to damage it is found, and the sound one is silent."""

import io
import json
import os
import struct
import tempfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from depth import examples
from each import each
from hypothesis import given
from hypothesis import strategies as st
from inspect_archive import HEADER, SUMMARIES, members_of, packed, sound_log
from rows import bounded
from zstandard_library import zstandard

import evalstream
from evalstream.formats.inspect.archive import Archive, ArchiveMember
from evalstream.formats.inspect.zip_format import DamagedMember

METHODS = {"stored": zipfile.ZIP_STORED, "deflated": zipfile.ZIP_DEFLATED}


def codes(data: bytes, folder: Path) -> set[str]:
    """Return the codes of the errors in an archive."""
    path = folder / "run.eval"
    path.write_bytes(data)
    report = evalstream.check(path)
    assert not report.passed or not report.counts
    return {one.code for one in report if one.severity.label == "error"}


def sound(method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return the sound log as an archive."""
    return packed(members_of(sound_log()), method)


def packed_by_zstandard() -> bytes:
    """Return the sound log as an archive of members packed with zstandard, as releases write it."""
    compress = zstandard().compress
    # Two frames, as writers that compress in pieces leave them.
    return assemble(93, lambda text: compress(text[:100]) + compress(text[100:]))


def assemble(
    method: int, pack: Callable[[bytes], bytes], flags: int = 0, descriptor: int = 0
) -> bytes:
    """Return the sound log as an archive; `descriptor` bytes follow each member."""
    data, entries = bytearray(), bytearray()
    count = 0
    with zipfile.ZipFile(io.BytesIO(sound())) as archive:
        for info in archive.infolist():
            text = archive.read(info)
            body, crc, name = pack(text), zlib.crc32(text), info.filename.encode()
            fixed = struct.pack(
                "<HHHHHIIIHH", 20, flags, method, 0, 33, crc, len(body), len(text), len(name), 0
            )
            offset = len(data)
            data += b"PK\3\4" + fixed + name + body + bytes(descriptor)
            entries += b"PK\1\2" + struct.pack("<H", 20) + fixed
            entries += struct.pack("<HHHII", 0, 0, 0, 0, offset) + name
            count += 1
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, count, count, len(entries), len(data), 0)
    return bytes(data + entries + end)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_sound_archive_has_no_errors(method: int, tmp_path: Path) -> None:
    assert codes(sound(method), tmp_path) == set()


def with_wide_end(data: bytes, entries: int) -> bytes:
    """Return an archive with the end record of ZIP64, which counts some entries."""
    _, _, _, _, _, length, start, _ = struct.unpack("<4sHHHHIIH", data[-22:])
    place = start + length
    wide = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, entries, entries, length, start)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, place, 1)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return data[:place] + wide + locator + end


def test_an_unpacked_archive_is_not_checked_by_its_header(tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(sound())) as archive:
        archive.extractall(tmp_path)
    report = evalstream.check(tmp_path)
    assert (report.exit_code, len(report.runs)) == (3, 1)
    assert [one.code for one in report] == ["ES001"]
    assert "zip the content of its folder" in str(report.runs[0].incomplete_reason)
    named = evalstream.check(sorted(tmp_path.rglob("*.json")))
    assert [one.code for one in named] == ["ES001"]
    for path in tmp_path.rglob("*.json"):
        (run,) = evalstream.check(path).runs
        assert run.incomplete_reason == report.runs[0].incomplete_reason


def test_members_without_a_header_are_one_log(tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(sound())) as archive:
        archive.extractall(tmp_path / "samples" / "run")
    (tmp_path / "samples" / "run" / "header.json").unlink()
    assert [one.code for one in evalstream.check(tmp_path)] == ["ES001"]


def test_the_wide_end_of_an_archive_counts_its_entries(tmp_path: Path) -> None:
    data = assemble(0, bytes)
    (count,) = struct.unpack("<H", data[-12:-10])
    assert codes(with_wide_end(data, count), tmp_path) == set()
    assert codes(with_wide_end(data, count + 1), tmp_path) == {"INS101"}


def test_sizes_and_places_may_be_wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10)
    assert codes(sound(), tmp_path) == set()


@each("size", [0, 4, 12, 16, 20, 21, 24, 28])
def test_only_what_has_the_size_of_a_descriptor_may_follow_a_member(
    size: int, tmp_path: Path
) -> None:
    path = tmp_path / "run.eval"
    path.write_bytes(assemble(0, bytes, 8, size))
    assert ("INS104" in evalstream.check(path).counts) == (size not in {0, 12, 16, 20, 24})


def test_members_packed_with_zstandard_are_read(tmp_path: Path) -> None:
    data = packed_by_zstandard()
    assert codes(data, tmp_path) == set()
    (tmp_path / "run.eval").write_bytes(data)
    (run,) = evalstream.check(tmp_path / "run.eval").runs
    assert run.rows == 4


def test_summaries_are_not_held_in_memory_together(tmp_path: Path) -> None:
    members = members_of(sound_log())
    first = {**members[SUMMARIES][0], "metadata": {"note": "x" * 100_000}}
    size = len(json.dumps(first)) * 240
    path = tmp_path / "run.eval"
    path.write_bytes(packed({**members, SUMMARIES: [first] * 240}, zipfile.ZIP_STORED))
    evalstream.check(path)
    tracemalloc.start()
    evalstream.check(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < size / 2


def test_an_empty_piece_ends_no_member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pieces(archive: Archive, member: ArchiveMember) -> Iterator[bytes]:
        text = b"".join(whole(archive, member))
        yield from (b"", text[:50], b"", text[50:], b"")

    whole = Archive.pieces
    monkeypatch.setattr(Archive, "pieces", pieces)
    assert codes(sound(), tmp_path) == set()


def test_a_damaged_frame_is_found(tmp_path: Path) -> None:
    data = bytearray(packed_by_zstandard())
    place = data.index(b"samples/2_epoch_1.json") + 60
    data[place] ^= 0xFF
    assert codes(bytes(data), tmp_path) == {"INS101"}


def _flipped(data: bytes) -> bytes:
    place = data.index(b"samples/1_epoch_2.json") + 300
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def _wrong_crc(data: bytes) -> bytes:
    """Change the CRC-32 in the local header of the first member."""
    return data[:14] + b"\0\0\0\0" + data[18:]


def _renamed_in_directory(data: bytes) -> bytes:
    place = data.rindex(b"samples/1_epoch_2.json")
    return data[:place] + b"samples/9" + data[place + 9 :]


def _declared_larger(data: bytes) -> bytes:
    """Declare another size in both headers of a member."""
    name = b"samples/1_epoch_2.json"
    first, last = data.index(name), data.rindex(name)
    size = struct.unpack_from("<I", data, first - 8)[0] + 1
    changed = bytearray(data)
    struct.pack_into("<I", changed, first - 8, size)
    struct.pack_into("<I", changed, last - 22, size)
    return bytes(changed)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "a bit of a member": _flipped,
    "the CRC-32 in a header": _wrong_crc,
    "the name in the directory": _renamed_in_directory,
    "the size in both headers": _declared_larger,
    "cut off": lambda data: data[:-30],
    "cut in half": lambda data: data[: len(data) // 2],
    "bytes before": lambda data: b"#!/bin/sh\n" + data,
    "bytes behind": lambda data: data + b"behind",
    "a comment": lambda data: data[:-2] + b"\5\0words",
    "nothing": lambda _: b"",
    "no archive": lambda _: b'{"version": 2}',
}


@each("damage", DAMAGES.values(), ids=DAMAGES)
def test_damage_is_found(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    assert "INS101" in codes(damage(sound(zipfile.ZIP_STORED)), tmp_path)


def test_members_that_overlap_are_found(tmp_path: Path) -> None:
    data = bytearray(sound(zipfile.ZIP_STORED))
    # The second entry of the directory leads to the bytes of the first one.
    second = data.index(b"PK\1\2", data.index(b"PK\1\2") + 4)
    struct.pack_into("<I", data, second + 42, 0)
    assert "INS102" in codes(bytes(data), tmp_path)


def test_bytes_between_members_are_an_info(tmp_path: Path) -> None:
    path = tmp_path / "run.eval"
    path.write_bytes(sound())
    with zipfile.ZipFile(path, "a") as archive:
        # As the harness replaces a header in place.
        header = archive.read(HEADER)
        archive.filelist = [one for one in archive.filelist if one.filename != HEADER]
        archive.NameToInfo.pop(HEADER)
        archive.writestr(HEADER, header)
    report = evalstream.check(path)
    found = [(one.code, one.severity.label) for one in report]
    assert found == [("INS104", "info")]


@each(
    "name", ["../header.json", "/header.json", "a/../../b.json", "..\\header.json", "C:header.json"]
)
def test_names_that_lead_out_are_found(name: str, tmp_path: Path) -> None:
    assert "INS102" in codes(packed({**members_of(sound_log()), name: b"{}"}), tmp_path)
    assert os.listdir(tmp_path) == ["run.eval"]


def test_a_name_with_slashes_and_dots_stays_inside(tmp_path: Path) -> None:
    log = sound_log()
    for sample in log["samples"]:
        if sample["id"] == 1:
            sample["id"] = sample["events"][0]["sample"]["id"] = "a/b..c/1"
    log["eval"]["dataset"]["sample_ids"][0] = "a/b..c/1"
    log["reductions"][0]["samples"][0]["sample_id"] = "a/b..c/1"
    assert codes(packed(members_of(log)), tmp_path) == set()


def test_an_encrypted_member_is_not_unpacked(tmp_path: Path) -> None:
    data = bytearray(sound())
    place = data.index(b"PK\1\2")
    data[place + 8] |= 1
    assert "INS102" in codes(bytes(data), tmp_path)


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    data = bytearray(packed({**members_of(sound_log()), "_journal/b.json": b"{}"}))
    place = data.rindex(b"_journal/b.json") - 46
    struct.pack_into("<I", data, place + 24, 1 << 30)
    assert "INS102" in codes(bytes(data), tmp_path)


@bounded(max_examples=examples(60))
@given(st.data())
def test_no_changed_byte_of_a_member_goes_unnoticed(data: st.DataObject) -> None:
    # The last byte of a deflated member has bits that mean nothing.
    before = sound(zipfile.ZIP_STORED)
    whole, end = bytearray(before), before.index(b"PK\1\2")
    place = data.draw(st.integers(0, end - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    with tempfile.TemporaryFile() as file:
        file.write(whole)
        file.flush()
        found: list[str] = []
        archive = Archive(
            file.fileno(), len(whole), lambda text, _: found.append(text), lambda *_: None
        )
        assert archive.open()
        for member in archive.laid_out():
            try:
                for _ in archive.pieces(member):
                    pass
            except DamagedMember as error:
                found.append(str(error))
        archive.close()
    # Times, versions and attributes are not part of the content, and neither is compared.
    assert found or _is_unused(before, place)


def _is_unused(data: bytes, place: int) -> bool:
    header = data.rindex(b"PK\3\4", 0, place + 4) if place else 0
    return place - header in {4, 5, 6, 7, 10, 11, 12, 13}


@bounded(max_examples=examples(100))
@given(st.binary(max_size=200), st.integers(0, 400))
def test_no_bytes_crash_the_check(noise: bytes, kept: int) -> None:
    data = sound()
    with tempfile.TemporaryDirectory() as folder:
        for text in (noise, data[:kept] + noise, data[:-kept] + noise + data[-kept:]):
            assert isinstance(codes(text, Path(folder)), set)


JOURNAL = "_journal/summaries/1.json"


def test_the_journal_has_the_summaries_of_all_samples(tmp_path: Path) -> None:
    members = members_of(sound_log())
    told = members[JOURNAL]
    for summaries, words in (
        (told, []),
        ([*told[:3], {**told[3], "scores": {}}], ["the sample has a score of match"]),
        (told[:3], ["the journal has summaries of 3 of 4 samples"]),
        # A sample was tried again, and the journal has its first attempt, too.
        ([{**told[3], "scores": {}}, *told], []),
    ):
        (tmp_path / "run.eval").write_bytes(packed(members | {JOURNAL: summaries}))
        found = list(evalstream.check(tmp_path / "run.eval"))
        assert [(one.code, one.severity.label) for one in found] == [("INS206", "warning")] * len(
            words
        )
        assert all(word in one.message for word, one in zip(words, found, strict=True))
    # What the journal tells does not stand for a summary.
    lacking = members | {SUMMARIES: told[:3]}
    (tmp_path / "run.eval").write_bytes(packed(lacking))
    assert {one.severity.label for one in evalstream.check(tmp_path / "run.eval")} == {"error"}
