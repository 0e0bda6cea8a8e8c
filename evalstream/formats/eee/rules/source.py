"""ES65: rules about the harness log that a run was converted from."""

from __future__ import annotations

from typing import Final

from evalstream.rules.base import declare_rule

ES650: Final = declare_rule("ES650")
ES651: Final = declare_rule("ES651")
ES652: Final = declare_rule("ES652")
ES653: Final = declare_rule("ES653")
ES654: Final = declare_rule("ES654")
ES655: Final = declare_rule("ES655")
ES656: Final = declare_rule("ES656")
ES657: Final = declare_rule("ES657")
ES658: Final = declare_rule("ES658")
ES659: Final = declare_rule("ES659")
ES660: Final = declare_rule("ES660")
ES661: Final = declare_rule("ES661")
ES662: Final = declare_rule("ES662")

RULES: Final = (
    *(ES650, ES651, ES652, ES653, ES654, ES655, ES656, ES657, ES658, ES659, ES660, ES661),
    ES662,
)
