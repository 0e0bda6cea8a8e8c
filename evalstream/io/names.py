"""Paths and URLs: how reports display them, what they show of files, which a search excludes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from evalstream.io.codecs import COMPRESSIONS
from evalstream.model.run import STDIN, HeldInput
from evalstream.parsing.lazy_regex import LazyPattern

HUB: Final = "hf"
WEB: Final = frozenset({"http", "https"})
S3: Final = frozenset({"s3", "s3a"})

_WITHOUT_QUERY: Final = S3 | {HUB, "gs", "gcs", "memory"}
"""Stores in whose URLs `?` and `#` are part of an object's name, or name its version."""

_URL: Final = LazyPattern(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)")

WILD: Final = LazyPattern(r"[*?\[]")
"""A wildcard of a pattern of names."""


def is_remote(path: str) -> bool:
    """Tell whether a path is a URL, such as `s3://bucket/key`."""
    return "://" in path and _URL.match(path) is not None


def is_local(path: str) -> bool:
    """Tell whether a path is that of a local file or folder, not of standard input."""
    return path != STDIN and not is_remote(path)


def redact_url(url: str) -> str:
    """Return a URL for display: without user and password, and without query and fragment.

    Two objects of a store may differ in what would be a query elsewhere.
    """
    match = _URL.match(url)
    if match is None:
        return url
    scheme, server, path = match.groups()
    server = server.rpartition("@")[2]
    _, colon, port = server.rpartition(":")
    if colon and not (port.isdecimal() or port.endswith("]") or server.startswith("arn:")):
        # Not a port: a password with a character that ends the server's part of the URL.
        return f"{scheme}://…"
    name = url[match.end(2) :] if scheme.lower() in _WITHOUT_QUERY else path
    return f"{scheme}://{server}{name}"


def url_scheme(url: str) -> str:
    """Return the scheme of a URL in lower case. Raises OSError for chained URLs.

    In a URL of the web or of S3, `::` is part of the name.
    """
    match = _URL.match(url)
    scheme = match[1].lower() if match is not None else ""
    if match is None or ("::" in url and scheme not in WEB | S3):
        raise OSError("chained URLs are not supported")
    return scheme


def printable(path: str) -> str:
    """Return a path or URL as valid UTF-8, without the credentials of a URL."""
    if is_remote(path):
        return redact_url(path)
    if isinstance(path, HeldInput):
        return path.label
    try:
        return os.fsencode(path).decode(errors="replace")
    except UnicodeEncodeError:
        return path.encode(errors="replace").decode()


def split_path(path: str) -> list[str]:
    """Return the parts of a path between its slashes, without empty ones."""
    return [part for part in path.split("/") if part]


def folders_above(path: str) -> Iterator[str]:
    """Iterate over the folders above a file, by their paths, the highest first."""
    end = path.find("/")
    while end >= 0:
        yield path[:end]
        end = path.find("/", end + 1)


def split_root(path: str) -> tuple[str, str]:
    """Split a URL after its server or bucket, such as `s3://bucket/`; a path is not split."""
    if not is_remote(path):
        return "", path
    scheme, _, rest = path.partition("://")
    server, slash, key = rest.partition("/")
    return f"{scheme}://{server}{slash}", key


def find_folders(inputs: Iterable[str]) -> list[str]:
    """Return the inputs that files may lie below, the shortest first."""
    return sorted((one for one in inputs if is_remote(one) or os.path.isdir(one)), key=len)


def name_below(path: str, folders: Sequence[str]) -> str:
    """Return a path or URL relative to the first folder above it, else the last part of it."""
    shown = printable(path)
    for folder in folders:
        if is_remote(folder):
            start = f"{printable(folder).rstrip('/')}/"
            if shown.startswith(start):
                return shown.removeprefix(start)
        elif not is_remote(path):
            name = os.path.relpath(path, folder)
            if name.split(os.sep)[0] != os.pardir:
                return printable(name)
    return os.path.basename(shown)


PACKED_ENDINGS: Final = tuple(one.ending for one in COMPRESSIONS.values())
ROWS_ENDINGS: Final = (".jsonl", ".ndjson", ".jsonlines")
ALL_ROWS_ENDINGS: Final = tuple(
    f"{ending}{packed}" for ending in ROWS_ENDINGS for packed in ("", *PACKED_ENDINGS)
)
AGGREGATE_ENDING: Final = ".json"
YAML_ENDINGS: Final = (".yaml", ".yml")
LOG_ENDINGS: Final = (".eval", ".parquet")
"""Binary logs of harnesses, which are detected and never read as rows."""

SAMPLES: Final = "_samples"
NO_ENDING: Final = (
    f"unknown file extension; expected one of {', '.join(ROWS_ENDINGS)} "
    f"(also with {', '.join(PACKED_ENDINGS)}), or {AGGREGATE_ENDING}"
)

_ROWS_INSIDE: Final = LazyPattern(r"\.(?:jsonl|ndjson|jsonlines)(?![a-z])", re.IGNORECASE)


def is_rows_name(path: str) -> bool:
    """Tell whether a name has an extension of rows, compressed or not."""
    return path.lower().endswith(ALL_ROWS_ENDINGS)


def is_json_name(path: str) -> bool:
    """Tell whether a name has the extension of an uncompressed JSON document."""
    return path.lower().endswith(AGGREGATE_ENDING)


def is_packed_json_name(path: str) -> bool:
    """Tell whether a name has the extension of a compressed JSON document."""
    return is_packed_name(path) and is_json_name(without_packing(path))


def is_yaml_name(path: str) -> bool:
    """Tell whether a name has an extension of YAML."""
    return path.lower().endswith(YAML_ENDINGS)


def is_data_name(path: str) -> bool:
    """Tell whether a file may hold data, judged by its extension."""
    return without_packing(path).lower().endswith(_DATA_ENDINGS)


def is_like_rows(path: str) -> bool:
    """Tell whether a name contains an extension of rows anywhere, such as `run.jsonl.zip`."""
    return _ROWS_INSIDE.search(os.path.basename(path)) is not None


def ends_like_ours(path: str) -> bool:
    """Tell whether a name has an extension of rows or of an aggregate."""
    return is_rows_name(path) or is_json_name(without_packing(path))


def is_packed_name(path: str) -> bool:
    """Tell whether a name has an extension of a compression."""
    return path.lower().endswith(PACKED_ENDINGS)


def name_compression(path: str) -> str | None:
    """Return the compression, a key of COMPRESSIONS, whose extension a name has, or None."""
    found = (kind for kind, one in COMPRESSIONS.items() if path.lower().endswith(one.ending))
    return next(found, None)


def is_hidden(path: str) -> bool:
    """Tell whether the last part of a path is a hidden name."""
    return path.startswith(".", path.rfind("/") + 1)


def without_packing(path: str) -> str:
    """Return a name without the extension of its compression."""
    return os.path.splitext(path)[0] if is_packed_name(path) else path


def without_ending(aggregate: str) -> str:
    """Return the name of an aggregate without its extension."""
    return aggregate[: -len(AGGREGATE_ENDING)] if is_json_name(aggregate) else aggregate


def rows_named_like(aggregate: str) -> Iterator[str]:
    """Iterate over the usual names of an aggregate's rows files, whether or not they exist."""
    stem = without_ending(aggregate)
    for ending in ALL_ROWS_ENDINGS:
        yield f"{stem}{SAMPLES}{ending}"
        yield f"{stem}{ending}"


def rows_rank(stem: str, name: str) -> int | None:
    """Return the rank of a name among the usual names of an aggregate's rows (0: best), or None.

    `stem` is the aggregate's name without its extension; the name may differ from `rows_named_like`
    only in the case of the extension.
    """
    if not name.startswith(stem):
        return None
    rest = name[len(stem) :]
    is_samples = rest.startswith(SAMPLES)
    ending = (rest[len(SAMPLES) :] if is_samples else rest).lower()
    if ending not in ALL_ROWS_ENDINGS:
        return None
    return 2 * ALL_ROWS_ENDINGS.index(ending) + (not is_samples)


def aggregate_candidates(rows: str) -> Iterator[str]:
    """Iterate over the usual names of a rows file's aggregate, whether or not they exist."""
    stem, _ = os.path.splitext(without_packing(rows))
    for candidate in (f"{stem.removesuffix(SAMPLES)}.json", f"{stem}.json"):
        if candidate != rows:
            yield candidate


_DATA_ENDINGS: Final = (*ROWS_ENDINGS, AGGREGATE_ENDING, *YAML_ENDINGS, *LOG_ENDINGS)


class Exclusion:
    """Patterns of excluded names, in which `*` matches any characters, slashes included.

    Each pattern is compared with the path below the searched folder and with its last name. The
    contents of an excluded folder are excluded.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        from fnmatch import translate

        self._patterns = [re.compile(translate(one.rstrip("/"))).match for one in patterns]

    def covers(self, path: str) -> bool:
        """Tell whether a path itself is excluded."""
        if not self._patterns:
            return False
        name = path.rpartition("/")[2]
        return any(matches(path) or matches(name) for matches in self._patterns)

    def covers_below(self, path: str) -> bool:
        """Tell whether a local path is excluded where any folder above it is searched."""
        parts = os.path.abspath(path).split("/") if self._patterns else []
        return any(self.covers("/".join(parts[start:])) for start in range(len(parts)))

    def covers_any(self, path: str) -> bool:
        """Tell whether a path, or a folder above it, is excluded."""
        if not self._patterns:
            return False
        parts = path.split("/")
        return any(self.covers("/".join(parts[: end + 1])) for end in range(len(parts)))
