"""The file of a baseline: a line about the check that wrote it, then a line per known finding."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

from evalstream._version import __version__
from evalstream.batch.serialize import decode_known, verdict_options
from evalstream.formats.registry import CATALOGUE
from evalstream.io.names import is_remote, printable
from evalstream.io.output import Output, writing
from evalstream.io.overwriting import OutputKind
from evalstream.io.spill_table import decode_name, encode_name
from evalstream.model.data_class import replace
from evalstream.model.errors import UsageError, describe_error
from evalstream.model.finding import Finding, KnownFinding
from evalstream.model.options import Options
from evalstream.model.run import STDIN
from evalstream.model.run_summary import NOT_CHECKED
from evalstream.parsing.json import dumps, dumps_visible, read_back
from evalstream.rules.inputs import ES007, ES011, ES012

Key = tuple[bytes, bytes, bytes, bytes, bytes]
"""File, code, pointer, sample id and digest of the values, as a table sorts them."""

DIGEST_BYTES: Final = 16

_ROW_OF_ARRAY: Final = re.compile(r"^/\d+(?=/|$)")
"""The number of a row in an array, with which a pointer begins."""


class FindingPlaces:
    """Names files as the baseline of a path does: below its folder relative to that."""

    def __init__(self, path: str) -> None:
        self._home = parent_folder(path)
        self.of = lru_cache(maxsize=1_000)(self._place)

    def rebase(self, place: str, folder: str) -> str:
        """Return the name of a file that a baseline in another folder names."""
        is_path = place != STDIN and not is_remote(place)
        return self._place(os.path.join(folder, place) if is_path else place)

    def _place(self, name: str) -> str:
        if name == STDIN or is_remote(name):
            return name
        path, above = os.path.abspath(name), os.path.join(self._home, "")
        if path == self._home:
            return os.curdir
        return path.removeprefix(above) if path.startswith(above) else path


def parent_folder(path: str) -> str:
    """Return the folder of a file."""
    return os.path.dirname(os.path.abspath(path))


def upwards(place: bytes) -> Iterator[bytes]:
    """Iterate over the name of a file and those of the folders above it."""
    yield place
    above = place
    while above := above.rpartition(b"/")[0]:
        yield above
    if not place.startswith(b"/"):
        yield os.curdir.encode()


def finding_key(place: str, one: Finding, secret: bytes) -> Key:
    """Return what identifies a finding; `secret` is the key of the digest of its values."""
    pointer = one.pointer or ""
    if one.offset is not None:
        # The number of a row is not part of it, in an array as on a line.
        pointer = _ROW_OF_ARRAY.sub("", pointer)
    return _key(place, one, pointer, _digest_values(one, secret))


def key_of_known(place: str, one: KnownFinding) -> Key:
    """Return what identifies a finding of a baseline."""
    return _key(place, one, one.pointer or "", (one.values or "").encode())


def _key(place: str, one: Finding | KnownFinding, pointer: str, values: bytes) -> Key:
    sample = b"" if one.sample_id is None else dumps(one.sample_id)
    return encode_name(place), encode_name(one.code), encode_name(pointer), sample, values


def _digest_values(finding: Finding, secret: bytes) -> bytes:
    """Return the keyed digest of what was found and expected; empty where neither is there.

    The name of the file itself depends on the current folder, and does not count. A severity that
    is not the usual one of its rule counts, and what a schema lacks or does not know, which the
    message alone names.
    """
    values = {"expected": finding.expected, "found": finding.found}
    there = {
        name: value for name, value in values.items() if value is not None and value != finding.file
    }
    if finding.keyword and not there:
        there["message"] = finding.message
    if finding.severity != CATALOGUE[finding.code].severity:
        there["severity"] = finding.severity.label
    if not there:
        return b""
    text = dumps(there)
    return blake2b(text, digest_size=DIGEST_BYTES, key=secret).hexdigest().encode()


def known_finding(key: Key, count: int) -> KnownFinding:
    """Return the finding of a key, and how many occurrences there are."""
    file, code, pointer, sample, values = key
    return KnownFinding(
        decode_name(code),
        decode_name(file),
        decode_name(pointer) or None,
        read_back(sample) if sample else None,
        count,
        values.decode() or None,
    )


LAYOUT: Final = 2
"""The version of the layout of baselines."""

WITHOUT_VALUES: Final = 1
"""The layout of baselines that know findings by their place alone, whatever their values are."""

SECRET_BYTES: Final = 16

MOST: Final = (1 << 63) - 1
"""The highest number of occurrences: that of the table that counts them."""

NEVER_KNOWN: Final = NOT_CHECKED | {ES007.code, ES011.code, ES012.code}
"""Codes of what was not checked, or is not as the call expects: a baseline cannot hold them."""

WITHOUT_FINDINGS: Final = frozenset(
    {"engine", "fail_on", "max_findings", "routing", "show_values", "strict"}
)
"""Options that decide about no finding whether it exists."""

_BEGINNING: Final = re.compile(rb'\{"baseline":\d+,"tool":\{"name":"evalstream"')
BASELINE: Final = OutputKind(
    "a baseline of evalstream", lambda head: _BEGINNING.match(head) is not None
)
_SECRET: Final = re.compile(rf"[0-9a-f]{{{2 * SECRET_BYTES}}}")
_VALUES: Final = re.compile(rf"[0-9a-f]{{{2 * DIGEST_BYTES}}}")
_CODE: Final = re.compile(r"[A-Z]{2,3}[0-9]{3}")
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "code": (str,),
    "file": (str,),
    "pointer": (str,),
    "sample_id": (str, int),
    "count": (int,),
    "values": (str,),
}
_REQUIRED: Final = frozenset({"code", "file", "count"})


def read_secret(path: str | None, target: str | None) -> bytes:
    """Return the key of a baseline or of the one to be replaced, else a new one.

    Files that keep their key keep their digests. Raises UsageError for a damaged baseline.
    """
    if path is not None:
        return _secret(path)
    with suppress(UsageError):
        if target is not None and os.path.isfile(target):
            return _secret(target)
    return secrets.token_bytes(SECRET_BYTES)


def write_baseline(
    path: str,
    options: Options,
    secret: bytes,
    known: Iterable[KnownFinding],
    *,
    kind: OutputKind | None = BASELINE,
) -> None:
    """Write a baseline, complete or not at all; the findings come in order.

    It replaces files of a kind, and any file with None. Raises UsageError, and CannotWrite.
    """
    head = {
        "baseline": LAYOUT,
        "tool": {"name": "evalstream", "version": __version__},
        "options": options_of_findings(options),
        "key": secret.hex(),
    }
    with writing(path), Output(path, kind=kind) as output:
        output.write(dumps_visible(head) + b"\n")
        for one in known:
            output.write(dumps_visible(one.as_dict()) + b"\n")


def read_baseline(path: str) -> Iterator[KnownFinding]:
    """Iterate over the findings of a baseline. Raises UsageError where it is damaged."""
    for number, value in _values(path):
        if number > 1:
            yield _finding(path, number, value)


def differing_options(path: str, options: Options) -> list[str]:
    """Return the options that decide about findings and differ from those of the baseline.

    Each comes with its value then and now. Raises UsageError where the baseline is damaged.
    """
    _, head = next(_values(path))
    then, now = head["options"], options_of_findings(options)
    return [
        f"{name} was {_show_option(then, name)}, and is {_show_option(now, name)}"
        for name in sorted({*then, *now})
        if then.get(name) != now.get(name)
    ]


def options_of_findings(options: Options) -> dict[str, Any]:
    """Return the options that decide which findings exist and are not the defaults, as JSON."""
    select, ignore = CATALOGUE.expand_codes(options.select), CATALOGUE.expand_codes(options.ignore)
    defaults, coded = verdict_options(Options()), replace(options, select=select, ignore=ignore)
    chosen = {
        name: value
        for name, value in verdict_options(coded).items()
        if name not in WITHOUT_FINDINGS and value != defaults[name]
    }
    if options.schema is not None:
        chosen["schema"] = f"sha256:{hashlib.sha256(options.schema.encode()).hexdigest()}"
    return chosen


def _secret(path: str) -> bytes:
    return bytes.fromhex(next(_values(path))[1]["key"])


def _show_option(options: Mapping[str, Any], name: str) -> str:
    return json.dumps(options[name]) if name in options else "the default"


def _values(path: str) -> Iterator[tuple[int, Any]]:
    """Iterate over the lines with their numbers, the first one checked."""
    number = 0
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    value = read_back(line)
                except (ValueError, RecursionError) as error:
                    raise _refuse_entry(path, number, "it is not valid JSON") from error
                if number == 1:
                    _check_head(path, value)
                yield number, value
    except OSError as error:
        reason = "--write-baseline writes one" if isinstance(error, FileNotFoundError) else ""
        message = f"the baseline {printable(path)} cannot be read: {describe_error(error)}"
        raise UsageError("; ".join(filter(None, (message, reason)))) from error
    if number == 0:
        raise _refuse_entry(path, 1, "it is empty")


def _check_head(path: str, head: Any) -> None:
    if not isinstance(head, dict) or not isinstance(head.get("options"), dict):
        raise _refuse_entry(path, 1, "it does not begin as one")
    tool = head.get("tool")
    if not isinstance(tool, dict) or tool.get("name") != "evalstream":
        raise _refuse_entry(path, 1, "it does not name evalstream as its tool")
    layout = head.get("baseline")
    if layout == WITHOUT_VALUES and not isinstance(layout, bool):
        raise UsageError(
            f"{printable(path)} is a baseline of an earlier version, which does not tell the "
            "values of findings apart: look at the report of a check without it, and write it "
            "again with --write-baseline alone"
        )
    if layout != LAYOUT or isinstance(layout, bool):
        raise _refuse_entry(
            path, 1, f"its layout is {json.dumps(layout)}, this version reads {LAYOUT}"
        )
    if not _SECRET.fullmatch(str(head.get("key"))):
        raise _refuse_entry(path, 1, "its key is missing or damaged")


def _finding(path: str, number: int, value: Any) -> KnownFinding:
    is_whole = isinstance(value, dict) and _REQUIRED <= value.keys() <= _TYPES.keys()
    if not is_whole or not all(type(one) in _TYPES[name] for name, one in value.items()):
        raise _refuse_entry(path, number, "it is not a known finding")
    known = decode_known(value)
    is_digest = known.values is None or _VALUES.fullmatch(known.values)
    if not _CODE.fullmatch(known.code) or not 1 <= known.count <= MOST or not is_digest:
        raise _refuse_entry(path, number, "its code, its count or its digest is not valid")
    if known.code in NEVER_KNOWN:
        raise _refuse_entry(path, number, f"no baseline can hold {known.code}")
    return known


def _refuse_entry(path: str, number: int, reason: str) -> UsageError:
    return UsageError(f"{printable(path)}, line {number:,}: not a baseline of evalstream: {reason}")
