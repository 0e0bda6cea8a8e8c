"""EVG6: the manifest by which changes of a folder of EvalGuard are found."""

from __future__ import annotations

from typing import Final

from evalstream.model.finding import Severity
from evalstream.rules.base import Rule

EVG601: Final = Rule(
    "EVG601",
    "malformed-manifest",
    Severity.ERROR,
    "the manifest of a folder is not one that evalstream writes",
    """
    What it finds: an `evalguard.manifest.json` that does not match its schema (`evalstream schema
    show evalguard/v1/manifest`), that lists a path twice, or a path that leaves the folder.

    Why it matters: nothing can be compared with such a manifest.

    How to fix: Restore the manifest, or delete it and write a new one with `evalstream seal FOLDER`
    after a review of the documents.

    Bad:
        evalguard.manifest.json:
          {"algorithm": "md5", "documents": []}

    Good:
        evalguard.manifest.json:
          {"algorithm": "sha256", "documents": []}
    """,
)

EVG602: Final = Rule(
    "EVG602",
    "changed-document",
    Severity.ERROR,
    "a document is not the one that was sealed",
    """
    What it finds: a document with another SHA-256 or another size than the manifest of its folder
    lists for it.

    Why it matters: the document was changed after the folder was checked and sealed.

    How to fix: Restore the document. If the change is meant, review it and run `evalstream seal
    FOLDER` again.

    Bad:
        evalguard.manifest.json:
          {
            "documents": [{
              "path": "metrics/accuracy.yaml",
              "sha256": "0000000000000000000000000000000000000000000000000000000000000000"
            }]
          }

    Good:
        evalguard.manifest.json:
          {
            "documents": [{
              "path": "metrics/accuracy.yaml",
              "sha256": "25e984a02b204cf5912ea1671ec6240c8c542d1bc66f9e64d139067482efa7bd"
            }]
          }
    """,
)

EVG603: Final = Rule(
    "EVG603",
    "missing-document",
    Severity.ERROR,
    "a document that was sealed is missing",
    """
    What it finds: a path in the manifest at which there is no file.

    Why it matters: the folder is no longer the one that was checked and sealed; thresholds or
    reports may be missing.

    How to fix: Restore the document, or run `evalstream seal FOLDER` again if it was removed on
    purpose.

    Bad:
        evalguard.manifest.json:
          {"documents": [{"path": "metrics/recall.yaml", "size": 210}]}

    Good:
        evalguard.manifest.json:
          {"documents": [{"path": "metrics/accuracy.yaml", "size": 128}]}
    """,
)

EVG604: Final = Rule(
    "EVG604",
    "unsealed-document",
    Severity.ERROR,
    "a document is not in the manifest of its folder",
    """
    What it finds: a YAML or JSON file below the folder of a manifest that the manifest does not
    list.

    Why it matters: a document that was added after the folder was sealed changes what it demands.

    How to fix: Remove the document, or review it and run `evalstream seal FOLDER` again.

    Bad:
        metrics/recall.yaml:
          {"id": "recall", "name": "Recall", "direction": "higher_is_better"}

    Good:
        metrics/accuracy.yaml:
          {"id": "accuracy", "name": "Accuracy", "direction": "higher_is_better"}
    """,
)

RULES: Final = (EVG601, EVG602, EVG603, EVG604)
