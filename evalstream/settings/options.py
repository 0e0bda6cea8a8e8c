"""The choices of options whose values lie in several packages, and whether options make sense."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from evalstream.formats.registry import CATALOGUE, has_needed, has_rules, main_format
from evalstream.formats.registry import NAMES as FORMATS
from evalstream.model.data_class import replace
from evalstream.model.errors import UsageError, describe_error
from evalstream.model.finding import Severity
from evalstream.model.option_fields import refuse_small
from evalstream.model.options import OPTIONS, ROUTING_OPTIONS, Options, RowRouting
from evalstream.model.text import describe_unknown, split_codes, split_entries
from evalstream.parsing import json
from evalstream.parsing.limits import refuse_long_lines
from evalstream.rules.catalogue import PROFILES

AUTO: Final = "auto"

CHOICES: Final[Mapping[str, Sequence[str]]] = {
    "schema_version": (AUTO, *main_format().judging_versions),
    "input_format": (AUTO, *FORMATS),
    "recipe": (AUTO, *main_format().recipes),
    "engine": ("auto", "rust", "portable"),
    "profile": tuple(PROFILES),
    "executor": OPTIONS["executor"].text.choices,
    "passing": OPTIONS["passing"].text.choices,
}
"""The values that are allowed, by option."""

NOUNS: Final = {
    "schema_version": "schema version",
    "input_format": "format",
    "passing": "way for rows to pass",
}
"""How messages call the value of an option, where its name does not say it."""

NOT_REPORTED: Final = frozenset(
    {
        *("jobs", "memory_limit", "engine", "executor", "dask_address", "dask_insecure"),
        *("dask_scheduler_file", "exclude", "sketches"),
    }
)
"""Options that affect how the work is done, which runs there are, or their pictures."""

KEPT_OPTIONS: Final = (
    *("jobs", "executor", "dask_address", "dask_insecure", "dask_scheduler_file", "engine"),
    *("exclude", "max_line_bytes", "memory_limit", "show_values"),
)
"""The options of a check that hold for the checks that other commands make, too."""

CHECKS_LESS: Final = (
    *("select", "ignore", "per_file_ignores", "fail_on", "schema", "skip_noise", "noise"),
    *("baseline", "write_baseline", "sample_digests", "sketches"),
    *("attestation", "trust", "require", "attestation_only"),
    *("dask_address", "dask_scheduler_file", "dask_insecure", "executor"),
    *ROUTING_OPTIONS,
)
"""Options that leave out a part of a check, or write: whole checks are made without them."""


def options_from(given: Mapping[str, Any]) -> Options:
    """Return options with the values that are given by name; other names are left out."""
    chosen = {name: given[name] for name in OPTIONS if name in given}
    routing = {name: chosen.pop(name) for name in ROUTING_OPTIONS if name in chosen}
    return _with_entries(Options(**chosen, routing=RowRouting(**routing)))


def _with_entries(options: Options) -> Options:
    """Return options whose lists are tuples, however they were given."""
    ignores: Any = options.per_file_ignores
    if isinstance(ignores, Mapping):
        ignores = [
            f"{pattern}:{','.join(split_codes(codes))}" for pattern, codes in ignores.items()
        ]
    return replace(
        options,
        select=split_codes(options.select),
        ignore=split_codes(options.ignore),
        per_file_ignores=split_entries(ignores),
        exclude=split_entries(options.exclude),
        trust=split_entries(options.trust),
        require=split_entries(options.require),
    )


def chosen_options(options: Options | None, given: Mapping[str, Any]) -> Options:
    """Return the options object, or one with the given values. Raises UsageError for both."""
    chosen = options_from(given)
    if options is None:
        return chosen
    names = [name for name, one in OPTIONS.items() if _value(chosen, name) != one.default]
    if names:
        raise UsageError(f"options and {', '.join(names)} cannot be combined")
    return options


def reported_options(options: Options) -> dict[str, Any]:
    """Return the options that differ from their default, as JSON values by name.

    Those that affect only how the work is done or which runs there are do not belong to a report:
    it is the same for any number of workers, and for parts that were merged. A schema is
    given by its digest.
    """
    reported = {}
    for name, one in OPTIONS.items():
        value = _value(options, name)
        if value != one.default and name not in NOT_REPORTED:
            reported[name] = _as_json(name, value)
    return reported


def _as_json(name: str, value: Any) -> Any:
    if name == "schema":
        # Few checks have a schema of their own, and the import takes a millisecond.
        from hashlib import sha256

        return f"sha256:{sha256(value.encode()).hexdigest()}"
    if isinstance(value, Severity):
        return value.label
    return list(value) if isinstance(value, tuple) else value


def read_schema_text(path: str) -> str:
    """Read a JSON Schema. Raises UsageError if it cannot be used."""
    from evalstream.parsing.json_schema import compile_schema

    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        compile_schema(json.fast(text.encode()))
    except OSError as error:
        raise UsageError(f"{path}: {describe_error(error)}") from error
    except ValueError as error:
        raise UsageError(f"{path}: not valid JSON: {error}") from error
    except UsageError as error:
        raise UsageError(f"{path}: {error.on_command_line}") from error
    return text


def checked_options(options: Options, *, has_store: bool = False) -> Options:
    """Return options that make sense, complete; with `has_store` for a check of the public store.

    Raises UsageError for others.
    """
    options = _with_entries(options)
    for name, choices in CHOICES.items():
        _refuse_unknown(name, _value(options, name), choices)
    _check_dask(options)
    for name in OPTIONS:
        if _value(options, name) == "":
            raise UsageError(f"{_flag(name)} is empty")
    refuse_small(OPTIONS, partial(_value, options))
    refuse_long_lines(options.max_line_bytes)
    _check_routing(options.routing)
    _check_baseline(options)
    _check_attestation(options)
    return _with_pattern(
        _with_schema(_with_per_file_codes(_with_codes(options, has_store=has_store)))
    )


def kept_options(options: Options | None) -> Options:
    """Return workers and limits: what selects would hide violations. Raises UsageError."""
    given = options or Options()
    kept = {name: getattr(given, name) for name in KEPT_OPTIONS}
    return checked_options(Options(max_findings=0, **kept))


def whole_check(options: Options) -> Options:
    """Return the options of a check that leaves nothing out. Raises UsageError for others."""
    for name in CHECKS_LESS:
        if _value(options, name) != OPTIONS[name].default:
            raise UsageError(f"{_flag(name)} does not go with a command that needs a whole check")
    return replace(checked_options(options), digests=True)


def usual_value(name: str, value: Any, former: str, given: Any) -> Any:
    """Return the value of a keyword, or the one given under its former name, with a warning."""
    if given is None:
        return value
    import warnings

    message = f"{former} is a former name of {name}, and the next version does not take it"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return given


def _value(options: Options, name: str) -> Any:
    return getattr(options.routing if name in ROUTING_OPTIONS else options, name)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _refuse_unknown(name: str, value: str | None, choices: Sequence[str]) -> None:
    if value is not None and value not in choices:
        noun = NOUNS.get(name, name)
        raise UsageError(describe_unknown(noun, value, choices))


def _check_dask(options: Options) -> None:
    if options.executor != "dask" and (options.dask_address or options.dask_scheduler_file):
        raise UsageError("--dask-address and --dask-scheduler-file require --executor dask; add it")
    if options.dask_insecure and not (options.dask_address or options.dask_scheduler_file):
        raise UsageError("--dask-insecure requires --dask-address or --dask-scheduler-file")
    if options.dask_address and options.dask_scheduler_file:
        raise UsageError("--dask-address and --dask-scheduler-file cannot be combined")


def _check_routing(routing: RowRouting) -> None:
    """Raise UsageError for values of row routing that make no sense."""
    if routing.create and routing.seal_to is None:
        raise UsageError("--create requires --seal-to, which names the aggregate to create")
    if routing.seal_anyway and routing.seal_to is None:
        raise UsageError("--seal-anyway requires --seal-to, which names the aggregate to seal")
    if routing.file_path is not None and routing.seal_to is None:
        raise UsageError("--file-path requires --seal-to, which names the aggregate to seal")
    if routing.end_with_reader and routing.passing is None:
        raise UsageError("--end-with-reader requires --pass; add it")
    if not routing.idle_timeout > 0:
        raise UsageError("--idle-timeout must be more than 0 seconds")
    if routing.idle_timeout != RowRouting().idle_timeout and not routing.follow:
        raise UsageError("--idle-timeout requires --follow; add it")


def _with_codes(options: Options, *, has_store: bool) -> Options:
    """Replace the names of rules by their codes. Raises UsageError if no rule is left."""
    if not options.select and not options.ignore:
        return options
    select, ignore = CATALOGUE.expand_codes(options.select), CATALOGUE.expand_codes(options.ignore)
    coded = replace(options, select=select, ignore=ignore)
    CATALOGUE.check_selected(coded)
    enabled = CATALOGUE.select_codes(coded)
    is_sealing = options.routing.seal_to is not None
    if not (has_rules(main_format().name, enabled) if is_sealing else enabled):
        raise UsageError("--ignore leaves no rule to check; ignore fewer or select others")
    if enabled and not (has_store or any(has_needed(code, options) for code in enabled)):
        if all(CATALOGUE[code].in_store for code in enabled):
            reason = "the rules that --select and --ignore leave are about the public store; see:"
            raise UsageError(f"{reason} evalstream store verify")
        needs = {CATALOGUE[code].needs for code in enabled} - {""}
        flags = " and ".join(sorted(map(_flag, needs)))
        raise UsageError(f"the rules that --select and --ignore leave require {flags}; add it")
    used = {CATALOGUE[code].needs for code in enabled}
    if any(rule.code not in enabled for rule in CATALOGUE.find_rules("ES94")):
        used.discard("attestation")  # It holds only if none of its rules finds anything.
    for name in _WITH_RULES:
        if getattr(options, name) is not None and name not in used:
            raise UsageError(f"--select and --ignore leave out rules that {_flag(name)} needs")
    return coded


_WITH_RULES: Final = ("attestation", "expect_digests", "expect_ids", "source")
"""The options whose findings are those of rules that need them."""


def _check_baseline(options: Options) -> None:
    """Raise UsageError if a known error, which still is one, would decide about rows."""
    routing = options.routing
    if options.has_baseline and (routing.seal_to is not None or routing.splits_rows):
        raise UsageError(
            "--baseline and --write-baseline cannot be combined with --seal-to, --accepted, "
            "--rejected and --pass valid"
        )


def _check_attestation(options: Options) -> None:
    """Raise UsageError for options about an attestation that make no sense."""
    if options.attestation is None:
        for name in ("trust", "require", "attestation_only"):
            if getattr(options, name):
                raise UsageError(f"{_flag(name)} requires --attestation; add it")
        return
    if not options.trust:
        raise UsageError(
            "--attestation requires --trust, which names the public keys whose signatures count"
        )
    if options.executor == "dask" or options.has_baseline or options.routing != RowRouting():
        raise UsageError(
            "--attestation cannot be combined with --executor dask, baselines and options that "
            "route rows"
        )
    if options.attestation_only and (options.strict or options.source or options.expect_ids):
        raise UsageError(
            "--attestation-only checks no rows; it cannot be combined with --strict, --source and "
            "--expect-ids"
        )


def _with_per_file_codes(options: Options) -> Options:
    """Replace the names of rules by their codes. Raises UsageError for one that is unknown."""
    if not options.per_file_ignores:
        return options
    # Few calls have such options.
    from evalstream.batch.per_file_ignores import parse_per_file_ignore

    parsed = [parse_per_file_ignore(text) for text in options.per_file_ignores]
    for code in (code for one in parsed for code in one.codes):
        for rule in CATALOGUE.find_rules(code):
            if rule.needs and has_needed(rule.code, options):
                reason = f"{code} leaves out rules that {_flag(rule.needs)} needs"
                raise UsageError(f"--per-file-ignores: {reason}")
    coded = (f"{one.pattern}:{','.join(CATALOGUE.expand_codes(one.codes))}" for one in parsed)
    return replace(options, per_file_ignores=tuple(coded))


def _with_pattern(options: Options) -> Options:
    """Let a pattern of noise imply that noise is skipped. Raises UsageError for a bad one."""
    if options.noise is None:
        return options
    from evalstream.parsing.linear_regex import linear_search

    try:
        linear_search(options.noise)
    except UsageError as error:
        raise UsageError(f"--noise: {error.on_command_line}") from error
    return replace(options, skip_noise=True)


def _with_schema(options: Options) -> Options:
    """Raise UsageError for a schema that cannot be used."""
    if options.schema is not None and options.schema_version != AUTO:
        raise UsageError("--schema and --schema-version cannot be combined")
    if options.schema is not None:
        try:
            schema = json.fast(options.schema.encode())
        except ValueError as error:
            raise UsageError(f"--schema: not valid JSON: {error}") from error
        from evalstream.parsing.json_schema import compile_schema

        compile_schema(schema, options.engine)
    return options
