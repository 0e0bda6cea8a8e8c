"""Statements about runs: in-toto Statement v1 with a Simple Verification Result (SVR)."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from evalstream._version import REPOSITORY_URL, __version__
from evalstream.formats.registry import CATALOGUE, MAIN
from evalstream.io.names import name_below, printable
from evalstream.model.claim import State
from evalstream.model.data_class import NamedTuple
from evalstream.model.run_summary import RunSummary
from evalstream.model.text import count_noun
from evalstream.parsing import json
from evalstream.parsing.schema_files import schema_documents, schema_text

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "https://in-toto.io/attestation/svr/v0.2"
VERIFIER: Final = f"{REPOSITORY_URL}/tree/v{__version__}"

PREFIX: Final = "EVALSTREAM_"
"""What the properties begin with; a key may sign results of other verifiers, too."""

CONFIRMED: Final = "EVALSTREAM_CLAIMS_CONFIRMED"
"""The property of a run all of whose claims are confirmed."""

_DIGEST: Final = re.compile("[0-9a-f]{64}")


class Subject(NamedTuple):
    """A file that a statement is about: its name, and the SHA-256 of its bytes in hex."""

    name: str
    digest: str


class Statement(NamedTuple):
    """A statement: properties that its verifier found in some files."""

    subjects: tuple[Subject, ...]
    properties: tuple[str, ...]


def write_statement(statement: Statement, policies: Mapping[str, str], time: str) -> bytes:
    """Return the JSON of a statement, the same for the same values.

    `policies` are digests by name, and `time` is in the form of RFC 3339.
    """
    return json.canonical(
        {
            "_type": STATEMENT_TYPE,
            "subject": [
                {"name": one.name, "digest": {"sha256": one.digest}} for one in statement.subjects
            ],
            "predicateType": PREDICATE_TYPE,
            "predicate": {
                "verifier": {
                    "id": VERIFIER,
                    "policies": [
                        {"name": name, "digest": {"sha256": digest}}
                        for name, digest in policies.items()
                    ],
                },
                "timeCreated": time,
                "properties": list(statement.properties),
            },
        }
    )


def read_statement(payload: bytes) -> Statement:
    """Return what a statement says. Raises ValueError that says why it is none."""
    try:
        document: Any = json.fast(payload)
        types = document["_type"], document["predicateType"]
        subjects = tuple(
            Subject(one["name"], one["digest"]["sha256"]) for one in document["subject"]
        )
        listed = document["predicate"]["properties"]
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError("the payload is not a statement about a check") from error
    if types != (STATEMENT_TYPE, PREDICATE_TYPE):
        raise ValueError(f"the payload is not a statement of type {PREDICATE_TYPE}")
    properties = tuple(listed) if isinstance(listed, list) else (None,)
    texts = (*properties, *(one.name for one in subjects))
    if not subjects or not all(isinstance(text, str) for text in texts):
        raise ValueError("the statement names no file, or its properties are not texts")
    if not all(isinstance(one.digest, str) and _DIGEST.fullmatch(one.digest) for one in subjects):
        raise ValueError("the statement has a digest that is not SHA-256 in lower-case hex")
    if not any(text.startswith(PREFIX) for text in properties):
        raise ValueError("the statement has no property of evalstream")
    return Statement(subjects, properties)


def find_refusal(run: RunSummary, *, allow_open: bool) -> str | None:
    """Return why a run gets no statement, or None; with `allow_open` claims may be open."""
    if run.verdict != "passed":
        return f"the verdict is {run.verdict}"
    if run.format != MAIN or len(run.digests) < 2:
        return "only rows of Every Eval Ever with their aggregate can be attested"
    others = len(run.claims) - _count_confirmed(run)
    if others and not allow_open:
        of = count_noun(len(run.claims), "claim")
        return f"{others:,} of {of} not confirmed (--allow-open attests the others)"
    return None


def list_properties(
    run: RunSummary, schema_version: str, core: str | None = None
) -> tuple[str, ...]:
    """Return the properties of a run that passed, by what was verified of it.

    `schema_version` is the option of the check, and `core` the digest of the snapshot of a store
    that lists the files of the run, if one does.
    """
    verified, confirmed, claims = run.verified, _count_confirmed(run), len(run.claims)
    version = run.version if schema_version == "auto" else schema_version
    is_all_hashed = verified is not None and verified.hashes == verified.rows > 0
    found = {
        f"EVALSTREAM_SCHEMA_{version}": version is not None and not _has_found(run, "ES2"),
        "EVALSTREAM_CHECKSUM": verified is not None and verified.checksum,
        "EVALSTREAM_ROWS_COMPLETE": verified is not None and verified.row_count,
        "EVALSTREAM_SAMPLE_HASHES": is_all_hashed,
        "EVALSTREAM_IDS": not _has_found(run, "ES6"),
        f"{CONFIRMED}_{confirmed}_OF_{claims}": claims,
        CONFIRMED: confirmed == claims > 0,
        f"EVALSTREAM_STORE_ADMITTED:{core}": core,
    }
    return tuple(name for name, holds in found.items() if holds)


def _has_found(run: RunSummary, family: str) -> bool:
    return any(code.startswith(family) for code in run.counts)


def _count_confirmed(run: RunSummary) -> int:
    return sum(claim.state is State.CONFIRMED for claim in run.claims)


def list_subjects(digests: Mapping[str, str], folders: Sequence[str]) -> tuple[Subject, ...]:
    """Return files as subjects, by name: relative to the folder that was named, if one was."""
    names = {path: name_below(path, folders) for path in digests}
    times = Counter(names.values())
    subjects = (
        Subject(name if times[name] == 1 else printable(path), digests[path])
        for path, name in names.items()
    )
    return tuple(sorted(subjects))


def digest_policies(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the digests of what decides a check, by name: rules, schemas, and the options."""
    schemas = {
        name: schema_text(name) for name in schema_documents() if name.startswith(f"{MAIN}/")
    }
    return {"rules": digest_rules(), "schemas": _digest(schemas), "options": _digest(options)}


def digest_rules() -> str:
    """Return the SHA-256 of the catalogue: of what each rule declares, and not of its page."""
    return _digest(
        [
            [one.code, one.name, one.severity.label, one.summary, one.optional, one.status.value]
            for one in CATALOGUE.values()
        ]
    )


def _digest(value: Any) -> str:
    return hashlib.sha256(json.canonical(value)).hexdigest()
