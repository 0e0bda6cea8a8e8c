"""User input for a migration: missing values, and decisions on kinds of change."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from evalstream.model.changes import ChangeClass, ChangeKind
from evalstream.model.data_class import DataClass, NamedTuple, field
from evalstream.model.errors import UsageError
from evalstream.model.text import describe_unknown

DEPLOYMENT_TYPES: Final = ("self_deployed", "externally_managed", "unknown")
AVAILABILITIES: Final = ("open_weights", "closed_weights", "unknown")
"""The values that the format allows from version 0.2.3 on."""

REHASHING: Final = ("keep", "json-list")

TABLES: Final = ("collection", "developer", "deployment", "eval_library", "dataset")
"""The tables of a file for `--map`; keys are patterns, and of several that match the longest
wins, unless one is the name itself.

A collection goes by the path of the source, a developer, a deployment and an eval_library by
model_info.id, a dataset by evaluation_name.
"""


class Deployment(NamedTuple):
    """Where a model ran and whether its weights are open, as model_info.additional_details says."""

    kind: str
    availability: str


class HarnessLibrary(NamedTuple):
    """The harness that wrote a run."""

    name: str
    version: str


class Supplied(DataClass, frozen=True):
    """User input; `tables` are those of a file, and the other values come before them.

    `fill` writes `unknown` for what is not supplied. `decisions` are names of DECISIONS.
    """

    collection: str | None = None
    developers: Mapping[str, str] = field(default_factory=dict)
    deployment: Deployment | None = None
    library: HarnessLibrary | None = None
    fill: bool = False
    decisions: Collection[str] = frozenset()
    rehash: bool = False
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def find_collection(self, path: str) -> str | None:
        """Return the collection that is supplied for a source."""
        return self.collection or self._of("collection", path)

    def find_developer(self, model: str) -> str | None:
        """Return the developer that is supplied for a model, by its id."""
        return self.developers.get(model) or self._of("developer", model)

    def find_deployment(self, model: str, *, is_judge: bool = False) -> Deployment | None:
        """Return the deployment that is supplied for a model, by its id.

        What the option says is about the model that was evaluated, not about its judges.
        """
        if self.deployment is not None and not is_judge:
            return self.deployment
        text = self._of("deployment", model)
        return None if text is None else deployment_from(text)

    def find_library(self, model: str) -> HarnessLibrary | None:
        """Return the harness that is supplied for the runs of a model, by its id."""
        if self.library is not None:
            return self.library
        text = self._of("eval_library", model)
        return None if text is None else library_from(text)

    def find_dataset(self, name: str) -> str | None:
        """Return the dataset that is supplied for results of a name."""
        return self._of("dataset", name)

    def _of(self, table: str, key: str) -> str | None:
        rows = self.tables.get(table, {})
        if key in rows:
            return rows[key]
        matching = [pattern for pattern in rows if fnmatchcase(key, pattern)]
        return (
            rows[max(matching, key=lambda pattern: (len(pattern), pattern))] if matching else None
        )


def supplied_from(values: Mapping[str, Any]) -> Supplied:
    """Read the values of the options of `migrate`, by name. Raises UsageError."""
    deployment, library = values.get("deployment"), values.get("eval_library")
    rehash = values.get("rehash", REHASHING[0])
    if rehash not in REHASHING:
        raise UsageError(describe_unknown("value", rehash, REHASHING))
    return Supplied(
        values.get("collection"),
        developers_from(values.get("developer", ())),
        None if deployment is None else deployment_from(deployment),
        None if library is None else library_from(library),
        bool(values.get("fill")),
        decisions_from(values.get("decide", ())),
        rehash != REHASHING[0],
        tables_from(values.get("tables", {})),
    )


def deployment_from(text: str) -> Deployment:
    """Read TYPE/AVAILABILITY. Raises UsageError."""
    kind, slash, availability = text.partition("/")
    if not slash:
        raise UsageError(f"a deployment has the form TYPE/AVAILABILITY, not {text!r}")
    if kind not in DEPLOYMENT_TYPES:
        raise UsageError(describe_unknown("deployment_type", kind, DEPLOYMENT_TYPES))
    if availability not in AVAILABILITIES:
        raise UsageError(describe_unknown("model_availability", availability, AVAILABILITIES))
    return Deployment(kind, availability)


def library_from(text: str) -> HarnessLibrary:
    """Read NAME@VERSION. Raises UsageError."""
    name, _, version = text.rpartition("@")
    if not name or not version:
        raise UsageError(f"an eval_library has the form NAME@VERSION, not {text!r}")
    return HarnessLibrary(name, version)


def developers_from(texts: Collection[str]) -> dict[str, str]:
    """Read ID=DEV. Raises UsageError."""
    developers = {}
    for text in texts:
        model, _, developer = text.rpartition("=")
        if not model or not developer:
            raise UsageError(f"a developer has the form ID=DEV, not {text!r}")
        developers[model] = developer
    return developers


def decisions_from(texts: Collection[str]) -> frozenset[str]:
    """Read names of decisions, separated by commas; `all` is all of them. Raises UsageError."""
    names = {name.strip() for text in texts for name in text.split(",") if name.strip()}
    for name in names - {"all", *DECISIONS}:
        raise UsageError(describe_unknown("decision", name, (*DECISIONS, "all")))
    return frozenset(DECISIONS) if "all" in names else frozenset(names)


def tables_from(content: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Check the tables of a file for `--map`. Raises UsageError that names the key."""
    tables: dict[str, dict[str, str]] = {}
    for name, table in content.items():
        if name not in TABLES:
            raise UsageError(describe_unknown("table", name, TABLES))
        if not isinstance(table, dict):
            raise UsageError(f"{name} is not a table")
        for key, value in table.items():
            if not isinstance(value, str) or not value:
                raise UsageError(f"{name}.{key!r} is not a text")
            _READERS.get(name, str)(value)
        tables[name] = dict(table)
    return tables


_READERS: Final[Mapping[str, Any]] = {"deployment": deployment_from, "eval_library": library_from}


VERSION: Final = ChangeKind("version", ChangeClass.MECHANICAL, "set to the new version")
KEPT: Final = ChangeKind("kept", ChangeClass.MECHANICAL, "value kept as migrated.*")
EVALUATION_ID: Final = ChangeKind(
    "evaluation-id",
    ChangeClass.DECIDED,
    "evaluation_id of the row to that of its aggregate, its own kept in metadata",
)
RESULT_ID: Final = ChangeKind(
    "result-id", ChangeClass.DECIDED, "evaluation_result_id from the only result of that name"
)
TRANSCRIPT: Final = ChangeKind(
    "transcript", ChangeClass.DECIDED, "transcript of a single-turn row kept in metadata"
)
OUTPUT: Final = ChangeKind(
    "output", ChangeClass.DECIDED, "output of a transcript row kept in metadata"
)
INLINE_SCORES: Final = ChangeKind(
    "inline-scores", ChangeClass.DECIDED, "score of a sample by equality with its ground truth"
)
REHASH: Final = ChangeKind(
    "rehash", ChangeClass.DECIDED, "sample_hash by another recipe or algorithm"
)

DECISIONS: Final = tuple(
    kind.name for kind in (EVALUATION_ID, RESULT_ID, TRANSCRIPT, OUTPUT, INLINE_SCORES)
)
"""The values of `--decide`."""

MIGRATED: Final = "migrated."
"""The prefix of members that keep what a version has no place for."""

SEAL: Final = ChangeKind("seal", ChangeClass.MECHANICAL, "sealed anew")
ALGORITHM: Final = ChangeKind("algorithm", ChangeClass.MECHANICAL, "md5 seal to sha256")
FILE_PATH: Final = ChangeKind(
    "file-path", ChangeClass.MECHANICAL, "set to the path in the datastore"
)
PROVENANCE: Final = ChangeKind("provenance", ChangeClass.MECHANICAL, "says where it came from")
MOVED: Final = ChangeKind(
    "moved", ChangeClass.MECHANICAL, "member moved to where the version has it"
)
DEVELOPER: Final = ChangeKind("developer", ChangeClass.FILLED, "set as supplied")
LIBRARY: Final = ChangeKind("eval-library", ChangeClass.FILLED, "set as supplied, or unknown")
DEPLOYMENT: Final = ChangeKind("deployment", ChangeClass.FILLED, "set as supplied, or unknown")
DATASET: Final = ChangeKind("dataset", ChangeClass.FILLED, "completed as supplied, or unknown")
