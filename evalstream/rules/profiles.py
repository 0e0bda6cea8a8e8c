"""Profiles: named sets of additional rules and severities."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from evalstream.model.data_class import DataClass, field
from evalstream.model.finding import Severity

DEFAULT: Final = "default"
DATASTORE: Final = "datastore"
FLAT: Final = "flat"


class Profile(DataClass, frozen=True):
    """The changes that a profile makes.

    `codes` are the optional rules that it adds. `severities` hold, by code, for findings without a
    severity of their own. With `demands_bounds` a continuous metric must have both bounds, though
    the schema allows null.
    """

    codes: frozenset[str] = frozenset()
    severities: Mapping[str, Severity] = field(default_factory=dict)
    demands_bounds: bool = False


PROFILES: Final[Mapping[str, Profile]] = MappingProxyType(
    {
        DEFAULT: Profile(),
        DATASTORE: Profile(
            frozenset({"ES901", "ES902", "ES911"}),
            dict.fromkeys(("ES007", "ES507", "ES706", "ES903", "ES910"), Severity.ERROR),
            demands_bounds=True,
        ),
        # What lies in the public store was accepted under the rules of its time.
        FLAT: Profile(frozenset({"ES901", "ES902"}), {"ES507": Severity.ERROR}),
    }
)
