"""Every Eval Ever: its documents, versions, and how a row shows its identity and input."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from evalstream.io.beginning import Beginning
from evalstream.io.digest import RECIPES, Reference

NAME: Final = "eee"
TITLE: Final = "Every Eval Ever: one row per sample, and the aggregate that sums them up"
ANNOTATION_PREFIX: Final = "instance_level_eval_"
"""How the schema's own annotation writes a version; rows should carry the plain number."""

SINGLE_TURN: Final = "single_turn"
MULTI_TURN: Final = "multi_turn"
AGENTIC: Final = "agentic"
TRANSCRIPT_TYPES: Final = (MULTI_TURN, AGENTIC)
INTERACTION_TYPES: Final = (SINGLE_TURN, *TRANSCRIPT_TYPES)

OLDEST: Final = ("0.2.0", "0.2.0+list")
"""Versions that call the transcript `interactions`, later ones call it `messages`; counts may be
left out in them, and may not be null."""

TRANSCRIPT_KEYS: Final = ("interactions", "messages")

AGGREGATE_KEYS: Final = frozenset({"evaluation_results", "detailed_evaluation_results"})
AGGREGATE_MEMBERS: Final = AGGREGATE_KEYS | {
    "schema_version",
    "evaluation_id",
    "evaluation_timestamp",
    "retrieved_timestamp",
    "source_metadata",
    "eval_library",
    "model_info",
}
"""Members that an aggregate has, and hardly any other document."""

_OF_ROWS: Final = frozenset({"evaluation_id", "sample_id"})
ROW_MEMBERS: Final = frozenset(
    {
        "schema_version",
        "evaluation_id",
        "model_id",
        "evaluation_name",
        "evaluation_result_id",
        "sample_id",
        "sample_hash",
        "interaction_type",
        "answer_attribution",
    }
)
"""Members that rows have, and hardly anything else."""

_SURE: Final = 3
"""How many members of a row make a row, whichever others are missing."""

REPEAT_MARKS: Final = ("epoch", "repeat", "trial", "seed")
"""Members of `metadata` that tell repeats of one sample apart (Inspect writes `epoch`)."""


class Version(NamedTuple):
    """One version of the format: which documents it has and its preferred hash recipe."""

    name: str
    instance: bool
    preferred_recipe: str


VERSIONS: Final[dict[str, Version]] = {
    version.name: version
    for version in (
        Version("0.1.0", instance=False, preferred_recipe="concat"),
        Version("0.2.0", instance=True, preferred_recipe="concat"),
        Version("0.2.0+list", instance=True, preferred_recipe="concat"),
        Version("0.2.1", instance=True, preferred_recipe="concat"),
        Version("0.2.2", instance=True, preferred_recipe="concat"),
        Version("0.2.3", instance=True, preferred_recipe="concat"),
        Version("0.3.0", instance=True, preferred_recipe="json-list"),
    )
}
DECLARED: Final = tuple(name for name in VERSIONS if "+" not in name)
"""The versions that a document can declare; `0.2.0+list` is a variant of the tag v0.2.0."""

_HELM: Final = re.compile(r"(?:^|[^a-z])helm(?:[^a-z]|$)")
OF_HELM: Final = "concat-first"
"""The recipe that HELM's converter follows whatever the version says."""

INSTANCE_VERSIONS: Final = tuple(name for name in VERSIONS if VERSIONS[name].instance)
DEFAULT_VERSION: Final = "0.2.0"


def recognised(file: Beginning) -> str | None:
    """Return which of the format's documents a file surely is, None where it may be none."""
    keys = file.seen.keys
    if AGGREGATE_KEYS & keys:
        return "aggregate"
    return "instance" if keys >= _OF_ROWS or len(keys & ROW_MEMBERS) >= _SURE else None


def instance_schema_name(version: str) -> str:
    """Return the name of the schema that judges rows of a version."""
    return f"{NAME}/{version}/instance"


def aggregate_schema_name(version: str) -> str:
    """Return the name of the schema that judges aggregates of a version."""
    return f"{NAME}/{version.partition('+')[0]}/aggregate"


@lru_cache(maxsize=1024)
def nearest_version(declared: str, *, instance: bool) -> str:
    """Return the known version nearest to a declared one: the highest not above it.

    A known version is itself; the annotation form counts as the plain number.
    """
    plain = declared.removeprefix(ANNOTATION_PREFIX)
    known = [name for name in DECLARED if VERSIONS[name].instance or not instance]
    if plain in known:
        return plain
    wanted = _numbers(plain)
    if not wanted:
        return DEFAULT_VERSION
    below = [name for name in known if _numbers(name) <= wanted]
    return below[-1] if below else known[0]


def is_known(declared: str, *, instance: bool) -> bool:
    """Tell whether a version, in plain or annotation form, is one that we have rules for."""
    return nearest_version(declared, instance=instance) == declared.removeprefix(ANNOTATION_PREFIX)


def likely_recipe(counts: Mapping[str, int], rows: int, version: str, library: str | None) -> str:
    """Return which recipe of sample_hash some rows follow: `counts` tells how many each explains.

    It is the preferred one of the version if that explains all; else the first that explains most
    rows: that of the harness (`library`, as the aggregate names it), the preferred one, the others
    in the order of RECIPES. So a row with one reference more than was hashed does not make a file
    one of concat-first. Where none explains most rows, it is the one that explains the most.
    """
    preferred = VERSIONS[version].preferred_recipe
    if counts.get(preferred) == rows:
        return preferred
    ordered = dict.fromkeys((OF_HELM if is_helm(library) else preferred, preferred, *RECIPES))
    by_most = (name for name in ordered if 2 * counts.get(name, 0) > rows)
    return next(by_most, max(ordered, key=lambda name: counts.get(name, 0)))


def is_helm(library: str | None) -> bool:
    """Tell whether an aggregate names HELM as the harness that wrote the run."""
    return _HELM.search((library or "").casefold()) is not None


def forms_of(version: str) -> tuple[str, str]:
    """Return how rows may declare a version: its number, or the form of the annotation."""
    number = version.partition("+")[0]
    return number, ANNOTATION_PREFIX + number


KNOWN_VERSIONS: Final = frozenset(
    form for name in DECLARED if VERSIONS[name].instance for form in forms_of(name)
)
"""What a row may declare and be judged by at once: known versions, plain or annotated."""


def schema_name(version: str, *, instance: bool) -> str:
    """Return the name of the schema that judges rows or aggregates of a version."""
    return instance_schema_name(version) if instance else aggregate_schema_name(version)


def others(version: str, *, instance: bool) -> list[str]:
    """Return the other versions that have such documents, the nearest first.

    A variant of the same number is nearest of all.
    """
    known = list(INSTANCE_VERSIONS if instance else DECLARED)
    number, place = version.partition("+")[0], known.index(version)
    return sorted(
        (name for name in known if name != version),
        key=lambda name: (name.partition("+")[0] != number, abs(known.index(name) - place)),
    )


def hash_input(row: Mapping[str, Any]) -> tuple[str, Reference] | None:
    """Return input.raw and input.reference, which the hash covers, or None if they are no text."""
    sample = row.get("input")
    if not isinstance(sample, dict):
        return None
    raw, reference = sample.get("raw"), sample.get("reference")
    if not isinstance(raw, str):
        return None
    if isinstance(reference, str):
        return raw, reference
    if isinstance(reference, list) and all(isinstance(text, str) for text in reference):
        return raw, reference
    return None


def sample_scope(row: Mapping[str, Any]) -> str:
    """Return a text that the samples of one evaluation share: its id and its name."""
    return f"{row.get('evaluation_id')}\x1e{row.get('evaluation_name')}\x1e"


def repeat_mark(metadata: Any) -> str:
    """Return a text that tells the repeats of a sample apart, empty where nothing does."""
    if metadata.__class__ is not dict or _MARKS.isdisjoint(metadata):
        return ""
    mark = ""
    for name in REPEAT_MARKS:
        if name in metadata and metadata[name] is not None:
            mark = f"{mark}{name}={metadata[name]}\x1f"
    return mark


_MARKS: Final = frozenset(REPEAT_MARKS)


def input_text(row: Mapping[str, Any]) -> bytes | None:
    """Return a text that two rows share when they show the same input, None without one.

    An input is raw and all references, whatever the choices. A list of one reference counts as
    that reference, so that versions agree; the parts are separated by a byte that UTF-8 lacks.
    """
    covered = hash_input(row)
    if covered is None:
        return None
    raw, reference = covered
    references = [reference] if isinstance(reference, str) else reference
    return b"\xff".join([text.encode(errors="surrogatepass") for text in (raw, *references)])


def choices_text(choices: Any) -> str:
    """Return the choices of a row as one text, empty without any."""
    if not choices or choices.__class__ is not list:
        return ""
    try:
        return "\x1e".join(choices)
    except TypeError:
        return f"{choices}"


def transcript_key(version: str) -> str:
    """Return what a version calls the transcript."""
    return "interactions" if version in OLDEST else "messages"


def transcript(row: Mapping[str, Any], version: str) -> tuple[str, list[Any]] | None:
    """Return the key and the turns of a row's transcript, None where it has none.

    Only the key of the version that judges the row counts: any other key is none of the format's.
    """
    key = transcript_key(version)
    turns = row.get(key)
    return (key, turns) if turns.__class__ is list else None


def answer(row: Mapping[str, Any], version: str) -> tuple[Any, Any]:
    """Return what the model said: the output, and the transcript."""
    return row.get("output"), row.get(transcript_key(version))


def _numbers(version: str) -> tuple[int, ...]:
    """Read the first three numbers of a version for comparison; empty if there is none."""
    match = re.match(r"v?([0-9]{1,9})(?:\.([0-9]{1,9}))?(?:\.([0-9]{1,9}))?", version)
    return tuple(int(number or 0) for number in match.groups()) if match else ()
