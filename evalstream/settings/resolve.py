"""The options that settings files may set, which value of an option holds, and how it is shown."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from evalstream.io.names import printable
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import UsageError
from evalstream.model.finding import Severity
from evalstream.model.option_fields import Group, Option, OptionText
from evalstream.model.options import OPTIONS, ROUTING_OPTIONS
from evalstream.reporters import REPORT_OPTIONS
from evalstream.settings.options import CHOICES

TOOL: Final = "evalstream"

MOST_BYTES: Final = 1 << 20
"""The largest file that is read."""

OWN_NAME: Final = "evalstream.toml"
PROJECT_NAME: Final = "pyproject.toml"
"""A file that many tools share; its settings are in the table `tool.evalstream`."""

LEDGER: Final = OptionText(
    "Remember in this file what was checked, and skip unchanged runs.",
    Group.EXECUTION,
    "FILE",
    named_only=True,
)

OF_ONE_CALL: Final = frozenset(
    {
        *("output", "write_baseline", "expect_ids", "expect_digests", "sample_digests", "source"),
        *("attestation", "trust", "require", "attestation_only"),
        *("exit_zero", "exit_codes"),
    }
)
"""Options that no file sets: each call states its outputs and the meaning of its exit code."""

PATHS: Final = frozenset({"schema", "ledger", "baseline", "dask_scheduler_file"})
"""The settings that are paths, relative to the folder of their file."""

CODES: Final = frozenset({"select", "ignore"})
"""The settings that are lists of rules."""

PER_FILE: Final = "per_file_ignores"
"""The setting that is a table: lists of rules by the pattern of files."""


def settings_key(option: Option) -> str:
    """Return the key of an option in a settings file: its long flag without dashes."""
    flags = option.text.flags or (f"--{option.name.replace('_', '-')}",)
    return next(one for one in flags if one.startswith("--")).partition("/")[0][2:]


def _settings() -> dict[str, Option]:
    options = (
        *(one for name, one in OPTIONS.items() if name not in ROUTING_OPTIONS),
        *REPORT_OPTIONS.values(),
        Option("ledger", str | None, None, LEDGER),
    )
    return {settings_key(one): one for one in options if one.name not in OF_ONE_CALL}


SETTINGS: Final[Mapping[str, Option]] = MappingProxyType(_settings())
"""The options that a settings file may set, by key."""


def settings_files() -> Iterator[str]:
    """Iterate over files that may have settings: of the working directory, then of those above it.

    Paths are relative to the working directory. In one folder `evalstream.toml` comes first.
    """
    try:
        depth = os.getcwd().rstrip("/").count("/")
    except FileNotFoundError:
        return
    for level in range(depth + 1):
        for name in (OWN_NAME, PROJECT_NAME):
            file = "../" * level + name
            try:
                os.stat(file)
            except FileNotFoundError:
                continue
            except OSError:
                pass  # Whoever reads it reports why that fails.
            yield file


def may_have_settings(file: str | None, *, isolated: bool) -> bool:
    """Tell whether a call may have settings, named or found. Raises UsageError."""
    if file is not None or isolated:
        return file is not None
    return any(
        os.path.basename(one) != PROJECT_NAME or read_project(one) is not None
        for one in settings_files()
    )


def read_project(file: str) -> bytes | None:
    """Return the content of a file that tools share, None if it does not name this one."""
    text = read_regular_file(file)
    return text if text is not None and TOOL.encode() in text else None


def read_regular_file(file: str) -> bytes | None:
    """Return the content of a file, None if it does not exist. Raises UsageError."""
    try:
        # The first look opens no device; the second is at what was opened.
        is_regular = stat.S_ISREG(os.stat(file).st_mode)
        if is_regular:
            with open(file, "rb", opener=_open_at_once) as opened:
                is_regular = stat.S_ISREG(os.fstat(opened.fileno()).st_mode)
                text = opened.read(MOST_BYTES + 1) if is_regular else b""
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a valid file name"
        raise _unreadable(file, reason) from error
    if not is_regular:
        raise _unreadable(file, "not a regular file")
    if len(text) > MOST_BYTES:
        raise _unreadable(file, f"larger than {MOST_BYTES:,} bytes")
    return text


def _open_at_once(file: str, flags: int) -> int:
    """Open a file; a FIFO does not wait for its writer."""
    return os.open(file, flags | os.O_NONBLOCK)


def _unreadable(file: str, reason: str | None) -> UsageError:
    return UsageError(
        f"{printable(file)}: the settings cannot be read: {reason}; --config FILE takes those of "
        "another file, --isolated reads none"
    )


def is_setting(option: Option) -> bool:
    """Tell whether a settings file may set an option."""
    return SETTINGS.get(settings_key(option)) == option


def allowed_values(option: Option) -> tuple[str, ...]:
    """Return the values that a setting may have, () for any value of its type."""
    return option.text.choices or tuple(CHOICES.get(option.name, ()))


def default_in_toml(option: Option) -> Any:
    """Return the default of a setting as a file would have it, None if it has none."""
    if option.name == PER_FILE:
        return {}
    if isinstance(option.default, bool):
        return option.default is not option.text.negates
    if isinstance(option.default, Severity):
        return option.default.label
    return list(option.default) if isinstance(option.default, tuple) else option.default


class Settings(NamedTuple):
    """The values of options by the names of their fields, and the file that sets them, if any.

    The author of the data may have written a file that was found. A file that the user named
    (`is_named`) is trusted.
    """

    values: Mapping[str, Any]
    file: str | None = None
    is_named: bool = False


NO_SETTINGS: Final = Settings({})


def refuse_found(option: Option, settings: Settings) -> None:
    """Raise UsageError for an option that only a named file sets, if the file was found."""
    if settings.is_named or settings.file is None or not option.text.named_only:
        return
    import shlex

    file, key = printable(settings.file), settings_key(option)
    raise UsageError(
        f"{file}: {key}: a settings file that was found cannot set {key}, as whoever wrote the "
        f"data may have written the file; give --{key} on the command line, name the file with "
        f"--config {shlex.quote(file)} if you trust it, or read no settings with --isolated"
    )


DEFAULT: Final = "default"
COMMAND_LINE: Final = "command line"

RIVALS: Final[Mapping[str, tuple[str, ...]]] = {
    "verbose": ("quiet", "min_severity"),
    "quiet": ("verbose",),
    "min_severity": ("verbose",),
    "schema": ("schema_version",),
    "schema_version": ("schema",),
    "dask_address": ("dask_scheduler_file",),
    "dask_scheduler_file": ("dask_address",),
    "shard": ("form", "verbose", "statistics", "min_severity"),
    **dict.fromkeys(ROUTING_OPTIONS, ("ledger",)),
}
"""The settings that an option of the command line puts aside, as they contradict it."""

OF_DASK: Final = ("dask_address", "dask_insecure", "dask_scheduler_file")


class Chosen(NamedTuple):
    """The value of an option, and where it comes from: a file, or one of the constants above."""

    value: Any
    source: str


def resolve_settings(
    options: Iterable[Option], line: Mapping[str, Any], settings: Settings
) -> dict[str, Chosen]:
    """Return the value of each option by name; `line` has those of the command line.

    A setting that contradicts an option of the command line does not hold. Raises UsageError for
    one that would hold and that a found file may not set.
    """
    moot = {name for given, names in RIVALS.items() if line.get(given) for name in names}
    if line.get("executor") not in (None, "dask"):
        moot.update(OF_DASK)
    found = {}
    for one in options:
        if one.name in line:
            found[one.name] = Chosen(line[one.name], COMMAND_LINE)
        elif one.name in settings.values and one.name not in moot and is_setting(one):
            refuse_found(one, settings)
            found[one.name] = Chosen(settings.values[one.name], settings.file or "")
        else:
            found[one.name] = Chosen(one.default, DEFAULT)
    return found


def settings_lines(
    options: Iterable[Option], chosen: Mapping[str, Chosen], file: str | None
) -> Iterator[str]:
    """Yield the lines: the file, then each setting of a command with its value and its source.

    An option without a value is a comment, as TOML has no value for it.
    """
    yield f"# settings file: {'none' if file is None else _comment(file)}"
    own = [one for one in options if is_setting(one)]
    for one in own:
        value, source = chosen[one.name]
        if one.name == PER_FILE:
            continue
        if value is None:
            yield f"# {settings_key(one)} is not set  # {_comment(source)}"
        else:
            yield f"{settings_key(one)} = {_toml(one, value)}  # {_comment(source)}"
    if any(one.name == PER_FILE for one in own):
        from evalstream.batch.per_file_ignores import parse_per_file_ignore

        value, source = chosen[PER_FILE]
        yield f"[per-file-ignores]  # {_comment(source)}"
        for pattern, codes in map(parse_per_file_ignore, value):
            yield f"{_text(pattern)} = {_array(codes)}"


def _toml(option: Option, value: Any) -> str:
    if isinstance(value, bool):
        return str(value is not option.text.negates).lower()
    if isinstance(value, Severity):
        return _text(value.label)
    if isinstance(value, tuple):
        return _array(value)
    return str(value) if isinstance(value, int) else _text(value)


def _comment(text: str) -> str:
    return _text(text)[1:-1]


def _array(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


def _text(text: str) -> str:
    """Return a text as a TOML string, in which all characters print."""
    import json

    encoded = json.dumps(printable(text), ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in encoded)
