"""Digests that link a run to other runs: of its record and its rows, collected by its check."""

from __future__ import annotations

import base64
import sys
import weakref
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, Final, TypeGuard

from xxhash import xxh64_intdigest

from evalstream.model.block import MEBIBYTE
from evalstream.model.data_class import NamedTuple
from evalstream.model.temporary_file import open_temporary_file
from evalstream.parsing import json

NO_INPUT_HASH: Final = 0
"""The input digest of a row without an input; the cross-run database uses the same value."""

GREATEST_HASH64: Final = (1 << 64) - 1
"""The greatest value of a digest."""

_HALF: Final = 32
_LINES: Final = (1 << 31) - 1
_ELEMENTS: Final = (1 << _HALF) - 1


class LinkKey(NamedTuple):
    """Digests of the ids that all rows of a group share.

    Rows are of one `evaluation` by its evaluation_id, and of one `result` where evaluation_name and
    evaluation_result_id are the same as well. They are of one `benchmark`, also across evaluations,
    where evaluation_name, the first component of evaluation_id and the data of the joined result
    are the same.
    """

    evaluation: int
    result: int
    benchmark: int


def make_link_key(
    row: Mapping[str, Any], claimed: str | None, result: int, data: Sequence[str | None]
) -> LinkKey | None:
    """Return the link key of a row, or None where its ids are blank or not strings.

    `claimed` is the evaluation_id of the row's aggregate. It takes precedence over the id in the
    row, because converters write file names there. `result` digests the row's evaluation_result_id,
    and `data` is the dataset, repository and split of the result that the row joins.
    """
    evaluation = claimed if is_name(claimed) else row.get("evaluation_id")
    name = row.get("evaluation_name")
    if not is_name(evaluation) or not is_name(name):
        return None
    return LinkKey(
        hash64(evaluation),
        xxh64_intdigest(json.canonical([evaluation, name, result])),
        xxh64_intdigest(json.canonical([evaluation.partition("/")[0], name, *data])),
    )


def sample_hash64(sample: str | int) -> int:
    """Return the digest of a sample_id; the integer 1 and the string "1" are different samples."""
    if not isinstance(sample, str):
        return hash64(f"{sample}", 1)
    try:
        return xxh64_intdigest(sample.encode())
    except UnicodeEncodeError:
        return hash64(sample)


def input_hash64(sample: int, raw: str, reference: str | Sequence[str], choices: str) -> int:
    """Return the digest of an input, seeded with the digest of its sample.

    Inputs are only compared within one sample, and sums of these digests tell which sample has
    which input. 64 bits are enough: of a billion compared pairs, one is wrong with a probability of
    one in 18 billion.
    """
    if reference.__class__ is not str:
        reference = reference[0] if len(reference) == 1 else "\x1e".join(reference)
    rest = f"{reference}\x1f{choices}" if choices else reference
    try:
        # Joining a long text takes longer than hashing its parts in turn.
        return xxh64_intdigest(rest.encode(), xxh64_intdigest(raw.encode(), sample)) or 1
    except UnicodeEncodeError:
        return hash64(rest, hash64(raw, sample)) or 1


def pack_element_position(line: int, number: int) -> int:
    """Pack the line and the number of an array element into one 64-bit number."""
    return min(line, _LINES) << _HALF | min(number, _ELEMENTS)


def unpack_element_position(word: int) -> tuple[int, int]:
    """Return the line and the number of an array element from its 64-bit number."""
    return word >> _HALF, word & _ELEMENTS


def is_name(value: Any) -> TypeGuard[str]:
    """Tell whether an id or a name is a string that is not blank."""
    return isinstance(value, str) and bool(value) and not value.isspace()


def hash64(text: str, seed: int = 0) -> int:
    """Digest a string, which may contain lone surrogates."""
    return xxh64_intdigest(text.encode(errors="surrogatepass"), seed)


WORDS: Final = 4
"""Number of 64-bit words per row: its sample, its input, its position, and its byte offset."""

ROW_BYTES: Final = 8 * WORDS
CHUNK_BYTES: Final = 1 << 16
"""Number of bytes of rows per chunk: a whole number of rows."""

IN_MEMORY_BYTES: Final = 4 * MEBIBYTE
MOST_GROUPS: Final = 10_000
"""Most groups of rows collected of a run: a run with more has one result per row."""


class LinkGroup(NamedTuple):
    """Some rows with the same link key.

    `samples` and `inputs` are sums of digests: the same for the same rows in any order.
    """

    link_key: LinkKey
    rows: int
    samples: int
    inputs: int


class RunLinks:
    """The digests that link one run to others; they can be pickled, and encoded as JSON.

    `record` digests the aggregate without the fields that differ between copies, and `evaluation`
    the aggregate's evaluation_id; both are None without an aggregate. `is_array` means that the
    rows are elements of a JSON array, and `is_cut` that the run has more groups than are collected.
    Above `memory_limit` bytes the rows are in a temporary file.
    """

    def __init__(self, memory_limit: int = IN_MEMORY_BYTES) -> None:
        self.record: str | None = None
        self.evaluation: int | None = None
        self.is_array = self.is_cut = False
        self._rows: dict[LinkKey, _Rows] = {}
        self._memory_limit, self._bytes_held = memory_limit, 0
        self._file: IO[bytes] | None = None

    def claim(self, record: str | None, evaluation: Any) -> None:
        """Set the digest of the aggregate's record, and its evaluation_id."""
        self.record = record
        self.evaluation = hash64(evaluation) if is_name(evaluation) else None

    def take(
        self, items: Iterable[tuple[LinkKey, bytes]], shift: int = 0, places: bytes | None = None
    ) -> None:
        """Add the rows of the next block, whose lines start `shift` lines into the file.

        `places` are the lines and offsets of its rows where they are elements of an array.
        """
        lines = None if places is None else array("Q", places)[::2]
        for link_key, words in _in_order(items):
            if lines is not None:
                self.is_array = True
                found = [
                    pack_element_position(lines[row - 1], row + shift) for row in words[2::WORDS]
                ]
                words[2::WORDS] = array("Q", found)
            elif shift:
                words[2::WORDS] = array("Q", [line + shift for line in words[2::WORDS]])
            self.append(link_key, words)

    def groups(self) -> Iterator[LinkGroup]:
        """Iterate over the groups of rows, in the order of their first rows."""
        for link_key, rows in self._rows.items():
            yield LinkGroup(link_key, rows.count, rows.samples, rows.inputs)

    def chunks(self, link_key: LinkKey) -> Iterator[bytes]:
        """Iterate over the words of a group's rows, in chunks."""
        buffer = bytearray()
        for piece in self._pieces(self._rows[link_key]):
            buffer += piece
            while len(buffer) >= CHUNK_BYTES:
                yield bytes(buffer[:CHUNK_BYTES])
                del buffer[:CHUNK_BYTES]
        if buffer:
            yield bytes(buffer)

    def append(self, link_key: LinkKey, words: array[int]) -> None:
        """Add rows of a group, in the order of their positions."""
        rows = self._rows.get(link_key)
        if rows is None:
            if len(self._rows) >= MOST_GROUPS:
                self.is_cut = True
                return
            rows = self._rows[link_key] = _Rows()
        data = words.tobytes()
        rows.count += len(words) // WORDS
        rows.samples = (rows.samples + sum(words[::WORDS])) & GREATEST_HASH64
        rows.inputs = (rows.inputs + sum(words[1::WORDS])) & GREATEST_HASH64
        rows.recent += data
        self._bytes_held += len(data)
        if self._bytes_held > self._memory_limit:
            self._spill()

    def _spill(self) -> None:
        if self._file is None:
            self._file = open_temporary_file()
            weakref.finalize(self, self._file.close)
        place = self._file.seek(0, 2)
        for rows in self._rows.values():
            if rows.recent:
                self._file.write(rows.recent)
                rows.extents.extend((place, len(rows.recent)))
                place += len(rows.recent)
                rows.recent = bytearray()
        self._bytes_held = 0

    def _pieces(self, rows: _Rows) -> Iterator[bytes | bytearray]:
        if self._file is not None:
            for place, length in zip(rows.extents[::2], rows.extents[1::2], strict=True):
                self._file.seek(place)
                yield self._file.read(length)
        yield rows.recent

    def __reduce__(self) -> tuple[Any, ...]:
        return decode_links, (encode_links(self, bytes), bytes)


class _Rows:
    """The rows of one group: the latest in memory, the others in extents of the file."""

    __slots__ = ("count", "extents", "inputs", "recent", "samples")

    def __init__(self) -> None:
        self.count = self.samples = self.inputs = 0
        self.recent = bytearray()
        self.extents = array("Q")


def _in_order(items: Iterable[tuple[LinkKey, bytes]]) -> list[tuple[LinkKey, array[int]]]:
    """Return groups in the order of their first rows, and the rows of each ordered by line.

    Rows of the exact path come after those of the fast path around them.
    """
    groups: dict[LinkKey, array[int]] = {}
    for link_key, data in items:
        groups.setdefault(link_key, array("Q")).frombytes(data)
    for link_key, words in groups.items():
        lines = words[2::WORDS].tolist()
        if lines != sorted(lines):
            rows = sorted(range(len(lines)), key=lines.__getitem__)
            groups[link_key] = array("Q")
            for row in rows:
                groups[link_key].extend(words[row * WORDS : (row + 1) * WORDS])
    return sorted(groups.items(), key=lambda group: group[1][2])


def encode_words(data: bytes) -> str:
    """Return the words of some rows as a short text: zlib of their columns, in base64."""
    words = array("Q", data)
    columns = array("Q")
    for column in range(WORDS):
        columns.extend(words[column::WORDS])
    return base64.b64encode(zlib.compress(_swap_to_little_endian(columns).tobytes(), 1)).decode()


def decode_words(text: str) -> bytes:
    """Return the words from their text. Raises ValueError or TypeError if it is not valid."""
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(base64.b64decode(text, validate=True), CHUNK_BYTES + 1)
    except zlib.error as error:
        raise ValueError("not encoded rows") from error
    if not unpacker.eof or len(data) % ROW_BYTES:
        raise ValueError("not encoded rows")
    columns = _swap_to_little_endian(array("Q", data))
    rows = len(columns) // WORDS
    words = array("Q", bytes(len(data)))
    for column in range(WORDS):
        words[column::WORDS] = columns[column * rows : (column + 1) * rows]
    return words.tobytes()


def _swap_to_little_endian(words: array[int]) -> array[int]:
    """Swap words between native byte order and little-endian."""
    if sys.byteorder == "big":
        words.byteswap()
    return words


def encode_links(
    links: RunLinks, pack: Callable[[bytes], str | bytes] = encode_words
) -> list[dict[str, Any]]:
    """Return the links as small objects, JSON unless `pack` makes bytes of words."""
    header = {
        "record": links.record,
        "evaluation": links.evaluation,
        "array": links.is_array,
        "cut": links.is_cut,
    }
    words = (
        {"ties": list(group.link_key), "words": pack(chunk)}
        for group in links.groups()
        for chunk in links.chunks(group.link_key)
    )
    return [header, *words]


def decode_links(
    items: Iterable[Mapping[str, Any]], unpack: Callable[[Any], bytes | memoryview] = decode_words
) -> RunLinks:
    """Return the links from their objects; `unpack` reads what `pack` made.

    Raises KeyError, TypeError, ValueError or OverflowError for anything else.
    """
    objects = iter(items)
    header = next(objects, {})
    links = RunLinks()
    links.record, links.evaluation = header["record"], header["evaluation"]
    links.is_array, links.is_cut = header["array"], header["cut"]
    if links.evaluation is not None:
        array("Q", [links.evaluation])
    is_named = links.record is None or isinstance(links.record, str)
    if not (is_named and isinstance(links.is_array, bool) and isinstance(links.is_cut, bool)):
        raise TypeError("not the links of a run")
    (links.record or "").encode()
    for entry in objects:
        evaluation, result, benchmark = array("Q", entry["ties"])
        # The words of a group are stored in their order.
        data = unpack(entry["words"])
        if not data or len(data) % ROW_BYTES:
            raise ValueError("the links end within a row")
        links.append(LinkKey(evaluation, result, benchmark), array("Q", bytes(data)))
    return links
