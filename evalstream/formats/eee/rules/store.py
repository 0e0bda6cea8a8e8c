"""ES92 and ES93: rules about the public store, which `evalstream store` reports."""

from __future__ import annotations

from typing import Final

from evalstream.model.finding import Severity
from evalstream.rules.base import Rule


def _rule(code: str, name: str, summary: str, severity: Severity = Severity.ERROR) -> Rule:
    return Rule(code, name, severity, summary, in_store=True)


RULES: Final = (
    _rule(
        "ES920",
        "store-manifest",
        "the latest manifest contradicts its digest, its name, its entries or its versioned copy",
    ),
    _rule(
        "ES921",
        "store-entries",
        "the entries are not those of the manifest, or a line is not canonical or not in order",
    ),
    _rule(
        "ES922",
        "store-uuid",
        "an entry whose UUID, paths and collection contradict each other, or a UUID twice",
    ),
    _rule("ES923", "object-missing", "an object that an entry lists is not in the store"),
    _rule("ES924", "object-changed", "an object has another size or digest than its entry"),
    _rule("ES925", "object-unlisted", "an object that no kept snapshot lists", Severity.WARNING),
    _rule("ES926", "store-index", "an index does not hold the entries it stands for"),
    _rule(
        "ES927",
        "data-drift",
        "a file of data/ is not the one that an entry lists, or is missing, or no entry lists it",
    ),
    _rule(
        "ES928",
        "immutable-broken",
        "one UUID has two contents, in two kept snapshots or since the last accepted one",
    ),
    _rule("ES929", "snapshot-altered", "an older snapshot no longer matches its digests"),
    _rule(
        "ES930",
        "acknowledged-conflict",
        "a file of data/ differs from its entry and is acknowledged, or no longer differs",
        Severity.INFO,
    ),
    _rule("ES931", "store-moved", "the store changed while it was checked"),
)
