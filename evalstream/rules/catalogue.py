"""The catalogue: rules by code, which of them a check selects, and their severities."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, ValuesView
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from types import MappingProxyType
from typing import Final

from evalstream.model.data_class import DataClass, NamedTuple, field
from evalstream.model.errors import UsageError
from evalstream.model.finding import SAFE, UNSAFE, Severity, Status, Violation
from evalstream.model.options import Options
from evalstream.model.text import suggestion
from evalstream.rules import claims, inputs, syntax
from evalstream.rules.base import Repair, Rule

SHARED_RULES: Final = (*inputs.RULES, *syntax.RULES, *claims.RULES)
"""The rules that all formats share: inputs (ES0), bytes and JSON (ES1), ES805, attestations (ES94)."""

SHARED: Final = "ES"
"""The letters that their codes begin with, as do those of Every Eval Ever."""

Family = Callable[[], Iterable[Rule]]
"""Returns the rules whose codes begin with the same letters."""


class Stamp(NamedTuple):
    """The engine's addition to a violation: its rule's name, severity under a profile, and repair.

    A rule in preview gives infos alone, whatever the severity of a violation. `expects_data` is
    that of the rule.
    """

    name: str
    severity: Severity
    is_preview: bool = False
    repair: Repair | None = None
    expects_data: bool = False


class Selection(DataClass, frozen=True):
    """The rules that hold in a check: the enabled codes, and the name and severity of each.

    Equal selections give equal reports. Workers receive it with the context of a check.
    """

    enabled: frozenset[str] = frozenset()
    profile: str = "default"
    _stamps: Mapping[str, Stamp] = field(default_factory=dict, compare=False)

    def __contains__(self, code: str) -> bool:
        return code in self.enabled

    def severity(self, violation: Violation) -> Severity:
        """Return the severity of a violation: its own, else that of its rule under the profile."""
        own, stamp = violation.severity, self._stamps[violation.code]
        return stamp.severity if own is None or stamp.is_preview else own

    def expects_data(self, code: str) -> bool:
        """Tell whether findings of a code expect values of the data."""
        return self._stamps[code].expects_data

    def describe(self, violation: Violation) -> tuple[str, Severity, str | None]:
        """Return name and severity of a violation, and its repair: SAFE, UNSAFE, or None for none.

        Raises KeyError for a code of another catalogue.
        """
        severity, stamp = self.severity(violation), self._stamps[violation.code]
        repair, fix = stamp.repair, None
        if repair is not None and repair.mends(violation, severity):
            fix = SAFE if repair.is_safe else UNSAFE
        return stamp.name, severity, fix

    def fails(self, code: str, severity: Severity, threshold: Severity) -> bool:
        """Tell whether findings of a code and severity fail a run, as rules in preview never do."""
        return severity >= threshold and not self._stamps[code].is_preview


class Catalogue(Mapping[str, Rule]):
    """Rules by code, in the order of the codes; a family of codes is loaded on first use."""

    def __init__(self, families: Mapping[str, Family]) -> None:
        """Take a function per family that returns its rules, by the first letters of their codes."""
        self._families = dict(families)
        self._loaded: dict[str, dict[str, Rule]] = {}
        self._codes = lru_cache(maxsize=16)(self._select_codes)
        self._selection = lru_cache(maxsize=16)(self._select)

    def __getitem__(self, code: str) -> Rule:
        return self._family(code.rstrip("0123456789"))[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def items(self) -> ItemsView[str, Rule]:
        """Return all rules with their codes."""
        return self._rules.items()

    def values(self) -> ValuesView[Rule]:
        """Return all rules."""
        return self._rules.values()

    def find(self, text: str) -> list[Rule]:
        """Return the rules that match a code, the beginning of a code, a name or a former name.

        A name comes before the codes that begin with it, in whatever case.
        """
        # Only a name needs the rules of every format, and no name is letters of a code and digits.
        is_code = text.isupper() or text.rstrip("0123456789").upper() in self._families
        named = [
            one
            for one in (() if is_code else self.values())
            if text in (one.name, *one.former_names)
        ]
        return named or [self[code] for code in self._beginning_with(text)]

    def find_rules(self, text: str) -> list[Rule]:
        """Return the rules that match a text. Raises UsageError if it matches none."""
        found = self.find(text) if text else []
        if not found:
            words = (word for one in self.values() for word in (one.code, one.name))
            meant = suggestion(text, words) or ";"
            raise UsageError(
                f"no rule has the code, code prefix or name {text!r}{meant} see: evalstream rules"
            )
        return found

    def expand_codes(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Return codes and beginnings of codes in capitals, and the codes of rules for names.

        Raises UsageError if a text matches no rule.
        """
        codes: dict[str, None] = {}
        for text in texts:
            found = self.find_rules(text)
            names = {word for one in found for word in (one.name, *one.former_names)}
            codes |= dict.fromkeys([one.code for one in found] if text in names else [text.upper()])
        return tuple(codes)

    def check_selected(self, options: Options) -> None:
        """Raise UsageError if a text that is selected switches on no rule.

        So it is with retired rules alone, and with a prefix whose rules are all in preview.
        """
        for prefix in options.select:
            held = self._selected_rules(prefix, preview=True)
            if held and not self._selected_rules(prefix, preview=options.preview):
                codes = ", ".join(rule.code for rule in held)
                raise UsageError(
                    f"--select {prefix} names rules in preview only; add --preview, or select "
                    f"them by their codes: {codes}"
                )
        if options.select and not any(
            self._selected_rules(one, preview=True) for one in options.select
        ):
            raise UsageError(f"--select {','.join(options.select)} names retired rules only")

    def selection(self, options: Options) -> Selection:
        """Return the rules that the options select and do not ignore.

        Without a selection these are all rules that are not optional, and those that the profile
        adds. Rules in preview hold only with `preview`, or if they are selected by code or name.
        """
        return self._selection(*_choice(options))

    def select_codes(self, options: Options) -> frozenset[str]:
        """Return the codes of these rules; families that are not selected are not loaded."""
        return self._codes(*_choice(options))

    def _select_codes(
        self, select: tuple[str, ...], ignore: tuple[str, ...], profile: str, preview: bool
    ) -> frozenset[str]:
        chosen = (
            (
                rule.code
                for prefix in select
                for rule in self._selected_rules(prefix, preview=preview)
            )
            if select
            else self._default(profile, preview=preview)
        )
        ignored = (rule.code for prefix in ignore for rule in self.find(prefix))
        return frozenset(chosen) - frozenset(ignored)

    def _select(
        self, select: tuple[str, ...], ignore: tuple[str, ...], profile: str, preview: bool
    ) -> Selection:
        enabled = self._codes(select, ignore, profile, preview)
        severities = PROFILES[profile].severities
        stamps = {
            code: Stamp(
                rule.name,
                Severity.INFO if is_preview else severities.get(code, rule.severity),
                is_preview,
                rule.repair,
                rule.expects_data,
            )
            for code, rule in self._rules.items()
            for is_preview in (_is_in_preview(rule),)
        }
        return Selection(enabled, profile, stamps)

    def _default(self, profile: str, *, preview: bool) -> Iterator[str]:
        added = PROFILES[profile].codes
        return (
            code
            for code, rule in self._rules.items()
            if (not rule.optional or code in added)
            and (rule.status is Status.STABLE or (preview and _is_in_preview(rule)))
        )

    @property
    def _rules(self) -> dict[str, Rule]:
        return {
            code: one for letters in self._families for code, one in self._family(letters).items()
        }

    def _selected_rules(self, text: str, *, preview: bool) -> list[Rule]:
        return [
            rule
            for rule in self.find(text)
            if rule.status is Status.STABLE
            or (_is_in_preview(rule) and (preview or _names(text, rule)))
        ]

    def _beginning_with(self, prefix: str) -> Iterator[str]:
        wanted = prefix.upper()
        for letters in self._families:
            if letters.startswith(wanted) or wanted.startswith(letters):
                yield from (code for code in self._family(letters) if code.startswith(wanted))

    def _family(self, letters: str) -> dict[str, Rule]:
        if letters not in self._loaded:
            rules = sorted(self._families[letters](), key=attrgetter("code"))
            twice = {one.code for one, after in pairwise(rules) if one.code == after.code}
            if twice:
                raise ValueError(f"rules are declared twice: {', '.join(sorted(twice))}")
            self._loaded[letters] = {rule.code: rule for rule in rules}
        return self._loaded[letters]


def _choice(options: Options) -> tuple[tuple[str, ...], tuple[str, ...], str, bool]:
    return tuple(options.select), tuple(options.ignore), options.profile, options.preview


def _is_in_preview(rule: Rule) -> bool:
    return rule.status is Status.PREVIEW


def _names(text: str, rule: Rule) -> bool:
    """Tell whether a text is the whole code of a rule, its name or a former name."""
    return text.upper() == rule.code or text in (rule.name, *rule.former_names)


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
