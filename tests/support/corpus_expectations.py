"""What is expected of `tests/corpus`, as its references say: computed, and as committed."""

import json
from typing import Any

import corpus_changes
import corpus_documents
import corpus_reference
from paths import CORPUS_PAIRS

COMMITTED = CORPUS_PAIRS.parent / "expected.json"

Expected = dict[str, dict[str, Any]]


def version_of(name: str) -> str | None:
    """Return the version that a pair is to be judged by, where it declares only its number."""
    return "0.2.0+list" if name.endswith("0.2.0+list") else None


def compute() -> dict[str, Expected]:
    """Return what the references expect of every pair and every folder of documents."""
    return {
        "pairs": {
            name: corpus_reference.expect(*corpus_changes.files_of(name), version_of(name))
            for name in corpus_changes.names()
        },
        "documents": {name: corpus_documents.expect(name) for name in corpus_documents.names()},
    }


def read() -> dict[str, Expected]:
    """Return the committed expectations."""
    found: dict[str, Expected] = json.loads(COMMITTED.read_bytes())
    return found


def write(found: dict[str, Expected]) -> None:
    """Write the expectations, an entry a line."""
    parts = []
    for kind, entries in found.items():
        lines = ",\n".join(
            f"    {json.dumps(name)}: {json.dumps(one)}" for name, one in entries.items()
        )
        parts.append(f"  {json.dumps(kind)}: {{\n{lines}\n  }}")
    COMMITTED.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    write(compute())
