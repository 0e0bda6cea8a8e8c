"""ES94: rules about attestations, which hold only with --attestation."""

from __future__ import annotations

from functools import partial
from typing import Final

from evalstream.model.finding import Severity
from evalstream.rules.base import Rule

_rule: Final = partial(Rule, severity=Severity.ERROR, needs="attestation")

ES940: Final = _rule(
    "ES940",
    "attestation-invalid",
    summary="the file of --attestation holds no valid signed statement about the run",
)

ES941: Final = _rule(
    "ES941",
    "subject-differs",
    summary="no statement of --attestation is about the bytes of the run",
)

ES942: Final = _rule(
    "ES942", "untrusted-signer", summary="no key of --trust signed the statement about the run"
)

ES943: Final = _rule(
    "ES943", "property-missing", summary="the statement lacks a property that --require names"
)

ES944: Final = _rule(
    "ES944",
    "attested-but-fails-now",
    summary="a trusted statement says that the run passed, and it does not pass",
)

ES945: Final = _rule(
    "ES945", "unattested-file", summary="the statement leaves out a file of the run"
)

RULES: Final = (ES940, ES941, ES942, ES943, ES944, ES945)
