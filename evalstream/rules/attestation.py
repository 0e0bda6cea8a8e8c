"""ES94: rules about attestations, which hold only with --attestation."""

from __future__ import annotations

from typing import Final

from evalstream.rules.declaration import declare_rule

ES940: Final = declare_rule("ES940")
ES941: Final = declare_rule("ES941")
ES942: Final = declare_rule("ES942")
ES943: Final = declare_rule("ES943")
ES944: Final = declare_rule("ES944")
ES945: Final = declare_rule("ES945")

RULES: Final = (ES940, ES941, ES942, ES943, ES944, ES945)
