"""The details of one run: what was verified, claims, pictures of its rows, and its provenance."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from evalstream.model.claim import JudgedClaim, State, count_states, describe_states
from evalstream.model.run_summary import RunSummary, Verified
from evalstream.model.text import count_noun
from evalstream.parsing.json import dumps
from evalstream.reporters.html.strip import histogram, strips
from evalstream.reporters.markup import Child, Markup, cut_visible, format_number, join_markup, tag
from evalstream.reporters.run_lines import sort_claims
from evalstream.reporters.summary import COVERED, remarks

NAME: Final = 240
"""How many characters of a file name are shown."""

VALUE: Final = 160
"""How many characters of a value are shown."""

_UNITS: Final = ("KiB", "MiB", "GiB", "TiB")

MOST_SHOWN: Final = 50
"""How many claims of a run are shown."""

LABEL: Final = 120
"""How many characters of a label, a pointer or a reason are shown."""

MOST: Final = 1e300
"""Numbers beyond it are shown as JSON, without a difference."""

HEADS: Final = ("claim", "kind", "claimed", "recomputed", "difference", "rows", "reason")

CLASSES: Final = {
    State.REFUTED: "failed",
    State.OPEN: "incomplete",
    State.ROUNDED: "passed",
    State.CONFIRMED: "passed",
}
"""The classes that give the colour of each state."""


def claims_section(run: RunSummary) -> Markup | None:
    """Return the claims by state, refuted ones first, and how many are not shown."""
    claims, counts = sort_claims(run.claims), count_states(run.claims)
    if not claims:
        return None
    head = tag("thead", tag("tr", (tag("th", text, scope="col") for text in HEADS)))
    bodies = [
        tag("tbody", _state_row(state, counts[state.value]), map(_row, some))
        for state, some in groupby(claims[:MOST_SHOWN], key=lambda claim: claim.state)
    ]
    more = len(claims) - MOST_SHOWN
    note = f"{count_noun(more, 'more claim')} not shown; --format json lists all."
    return tag(
        "section",
        tag("h3", "Claims ", tag("span", describe_states(counts), class_="note")),
        tag("div", tag("table", head, bodies, class_="claims"), class_="scroll"),
        tag("p", note, class_="note") if more > 0 else None,
    )


def _state_row(state: State, count: int) -> Markup:
    text = tag("span", state.value.capitalize(), class_=CLASSES[state])
    return tag("tr", tag("th", text, f" {count:,}", scope="rowgroup", colspan=len(HEADS)))


def _row(claim: JudgedClaim) -> Markup:
    name = join_markup(
        tag("bdi", cut_visible(claim.label, LABEL)),
        tag("div", tag("code", cut_visible(claim.pointer, LABEL)), class_="note"),
    )
    return tag(
        "tr",
        tag("th", name, scope="row"),
        tag("td", cut_visible(claim.kind, LABEL)),
        tag("td", _figure(claim.claimed), class_="number"),
        tag("td", _figure(claim.recomputed), class_="number"),
        tag("td", _difference(claim), class_="number"),
        tag("td", claim.rows, class_="number"),
        tag("td", cut_visible(claim.reason or "", LABEL)),
    )


def _figure(found: Any) -> str | Markup:
    if found is None:
        return "—"
    return format_number(found) if _is_number(found) else value(found)


def _difference(claim: JudgedClaim) -> str | Markup:
    theirs, ours = claim.claimed, claim.recomputed
    if not (_is_number(theirs) and _is_number(ours)):
        return "—"
    text = f"{ours - theirs:+.3g}" if ours != theirs else "0"
    return tag("strong", text, class_="failed") if claim.state is State.REFUTED else text


def _is_number(found: Any) -> bool:
    """Tell whether a JSON value is a finite number that can be formatted."""
    is_number = isinstance(found, (int, float)) and not isinstance(found, bool)
    return is_number and abs(found) < MOST


REASON = 1_000
"""How many characters of the reason of an incomplete check are shown."""

DIGEST = 140
"""How many characters of a digest are shown: more than a digest of 512 bits has."""


def list_file_names(run: RunSummary) -> Markup:
    """Return the names of the files of a run."""
    main = subject(run)
    others = [one for one in (run.file, run.aggregate, run.inputs) if one and one != main]
    return join_markup(
        name(main), [[" and " if at else " with ", name(one)] for at, one in enumerate(others)]
    )


def run_body(number: int, run: RunSummary) -> Markup:
    """Return the details of a run; its number tells the ids of its pictures from others."""
    key = f"p{number}"
    return join_markup(
        _remarks(run),
        _codes(run),
        tag(
            "div",
            tag("section", tag("h3", "Verified"), _verified_table(run), class_="card"),
            tag("section", tag("h3", "Provenance"), _provenance(run), class_="card"),
            class_="cards",
        ),
        claims_section(run),
        tag("section", tag("h3", "Rows"), _pictures(key, run)),
    )


def _remarks(run: RunSummary) -> Iterator[Markup]:
    if run.incomplete_reason:
        yield tag(
            "p", tag("b", "Not checked in full: "), cut_visible(run.incomplete_reason, REASON)
        )
    elif remark := "; ".join(remarks(run)):
        yield tag("p", cut_visible(remark, REASON))
    if known := sum(run.known.values()):
        said = (
            f"A baseline knows {count_noun(known, 'more finding')}, which the pictures show, too."
        )
        yield tag("p", said)
    if run.unchanged:
        yield tag("p", f"Unchanged since it was checked at {cut_visible(run.unchanged, 80)}.")


def _codes(run: RunSummary) -> Markup | None:
    if not run.counts:
        return None
    links = (
        [tag("a", code, href=f"#{code}"), f" ({count:,}) "]
        for code, count in sorted(run.counts.items())
    )
    return tag("p", "Findings: ", links, class_="codes")


def _verified_table(run: RunSummary) -> Markup:
    verified = run.verified
    if verified is None:
        return tag("p", _without_seal(run))
    rows = [_checksum(run, verified), _row_count(verified), _hashes(run, verified), _claims(run)]
    return tag("table", tag("tbody", rows), class_="verified")


def _without_seal(run: RunSummary) -> str:
    if run.actual is not None and run.declared == run.actual:
        return f"Checksum ok ({run.algorithm}{COVERED[run.covers]}); the format has no other seal."
    if not run.rows:
        return f"No {run.noun}s were read: no checksum, count, hash or claim was verified."
    return "The format has no seal: no checksum, row count or hash was verified."


_SIGNS: Final = {"passed": "✓", "failed": "✗", "incomplete": "◐", "note": "○"}


def _line(state: str, label: str, said: str) -> Markup:
    """Return the line of a check: it was made, found something, is in part open, or is open."""
    mark = tag("td", _SIGNS[state], aria_hidden="true", class_=f"sign {state}")
    return tag("tr", mark, tag("th", label, scope="row"), tag("td", said))


def _checksum(run: RunSummary, verified: Verified) -> Markup:
    is_right = verified.checksum
    if run.declared is None or is_right is None:
        none = ": none is declared" if run.declared is None else ""
        return _line("note", "Checksum", f"not verified{none}")
    state, word = ("passed", "ok") if is_right else ("failed", "not ok")
    kind = f"{cut_visible(run.algorithm or '', 40)}{COVERED[run.covers]}"
    return _line(state, "Checksum", f"{word} ({kind})")


def _row_count(verified: Verified) -> Markup:
    label, count = "Row count", count_noun(verified.rows, "row")
    if verified.row_count is None:
        return _line("note", label, f"not verified ({count} read)")
    state, word = ("passed", "ok") if verified.row_count else ("failed", "not ok")
    return _line(state, label, f"{word} ({count})")


def _hashes(run: RunSummary, verified: Verified) -> Markup:
    label, rows = "Sample hashes", count_noun(verified.rows, "row")
    if not verified.hashes:
        return _line("note", label, f"none verified of {rows}")
    recipe = f" ({cut_visible(run.recipe, 40)})" if run.recipe else ""
    state = "passed" if verified.hashes == verified.rows else "incomplete"
    return _line(state, label, f"ok in {verified.hashes:,} of {rows}{recipe}")


def _claims(run: RunSummary) -> Markup:
    counts = count_states(run.claims)
    is_refuted, is_open = (counts[one.value] for one in (State.REFUTED, State.OPEN))
    state = "failed" if is_refuted else "incomplete" if is_open else "passed"
    text = describe_states(counts)
    return _line(state if text else "note", "Claims", text or "there are none")


def _provenance(run: RunSummary) -> Markup:
    facts: list[tuple[str, Child]] = []
    for label, path in (("Rows", run.file), ("Aggregate", run.aggregate), ("Inputs", run.inputs)):
        if path:
            facts.append((label if run.verified or label != "Rows" else "File", name(path)))
    facts += [("Size", f"{size(run.bytes)} read"), ("Count", count_noun(run.rows, run.noun))]
    version = f" {cut_visible(run.version, 40)}" if run.version else ", version not known"
    facts.append(("Format", f"{run.format}{version}"))
    if run.recipe:
        facts.append(("Recipe", tag("code", cut_visible(run.recipe, 40))))
    if run.algorithm:
        facts.append(("Checksum", f"{cut_visible(run.algorithm, 40)}{COVERED[run.covers]}"))
    for label, digest in (("Declared", run.declared), ("Actual", run.actual)):
        if digest:
            facts.append((label, tag("code", cut_visible(digest, DIGEST))))
    if run.sealed:
        facts.append(("Sealed by", name(run.sealed)))
    return tag("dl", ([tag("dt", label), tag("dd", said)] for label, said in facts))


def _pictures(key: str, run: RunSummary) -> Markup:
    sketch = run.sketch
    if sketch is None:
        return tag("p", _no_pictures(run), class_="note")
    shapes = strips(key, sketch.strip)
    if sketch.scores is not None:
        shapes.append(histogram(f"{key}-scores", "Scores", "score", sketch.scores))
    for position, (kind, values) in enumerate(sorted(sketch.tokens.items())):
        title = f"Tokens: {cut_visible(kind, 40)}"
        shapes.append(histogram(f"{key}-tokens{position}", title, "tokens of a row", values))
    if sketch.latency is not None:
        title = "Latency"
        shapes.append(histogram(f"{key}-latency", title, "milliseconds", sketch.latency))
    return tag("div", shapes, class_="pictures")


def _no_pictures(run: RunSummary) -> str:
    if not run.rows:
        return f"No pictures: no {run.noun}s were read."
    if run.unchanged:
        return "No pictures: the run was not read again, as it has not changed."
    return "No pictures: the check collected no sketch of the rows (--sketches)."


def size(count: int) -> str:
    """Return a number of bytes, and what it is in a larger unit."""
    exact, amount, unit = count_noun(count, "byte"), float(count), ""
    for larger in _UNITS:
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{exact} ({amount:.1f} {unit})" if unit else exact


def value(found: object) -> Markup:
    """Return a JSON value, cut short if it is long."""
    return tag("code", cut_visible(dumps(found).decode(), VALUE))


def name(path: str) -> Markup:
    """Return the name of a file."""
    return tag("code", cut_visible(path, NAME), class_="name")


def subject(run: RunSummary) -> str:
    """Return the name of the file that a run is known by."""
    return run.file or run.aggregate or run.inputs or "(a run without a file)"
