"""Profiles, and what the datastore's demands of its files."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from depth import in_turn
from each import each
from edits import DETAILS
from paths import EXAMPLES, PAIRS

import evalstream
from evalstream.formats.eee.catalogue import CATALOGUE as OF_ROWS
from evalstream.formats.eee.datastore import parse_path, unportable
from evalstream.formats.registry import CATALOGUE
from evalstream.model.data_class import replace
from evalstream.model.errors import UsageError
from evalstream.model.finding import Severity
from evalstream.model.options import Options
from evalstream.rules.catalogue import DATASTORE, DEFAULT, PROFILES, Catalogue

UUID = "0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57"
OTHER = "7c57f847-1098-4472-9fd8-75a7f3995ed0"
FOLDER = "data/tiny-arithmetic/acme/acorn-7b"
PAIR = PAIRS / "0.3.0" / FOLDER
EXAMPLE = EXAMPLES
OF_PLACES = ("ES901", "ES902", "ES507")


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in an empty folder, deep enough that nothing above it counts."""
    store = tmp_path / "a" / "b" / "c" / "store"
    store.mkdir(parents=True)
    monkeypatch.chdir(store)


def put(aggregate: str | None, rows: str | None, **claims: Any) -> None:
    """Put the sound pair at two places; the aggregate claims where the rows lie."""
    if rows is not None:
        Path(rows).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PAIR / f"{UUID}_samples.jsonl", rows)
    if aggregate is not None:
        Path(aggregate).parent.mkdir(parents=True, exist_ok=True)
        document = json.loads((PAIR / f"{UUID}.json").read_bytes())
        document[DETAILS] |= {"file_path": rows, **claims}
        Path(aggregate).write_text(json.dumps(document))


def edit(aggregate: str, **members: Any) -> None:
    """Change members of an aggregate; None removes one."""
    document = json.loads(Path(aggregate).read_bytes()) | members
    kept = {name: value for name, value in document.items() if value is not None}
    Path(aggregate).write_text(json.dumps(kept))


def said(report: Iterable[Any]) -> list[tuple[str, str, str]]:
    """Return code, file and message of each finding, files relative to the store."""
    return [(found.code, os.path.relpath(found.file), found.message) for found in report]


def test_profiles_name_rules_that_exist_and_add_only_optional_ones() -> None:
    assert PROFILES[DEFAULT] == type(PROFILES[DEFAULT])()
    for profile in PROFILES.values():
        assert profile.codes | profile.severities.keys() <= CATALOGUE.keys()
        assert all(CATALOGUE[code].optional for code in profile.codes)


def test_an_unknown_profile_is_refused_and_the_known_are_named() -> None:
    put(f"{FOLDER}/{UUID}.json", f"{FOLDER}/{UUID}_samples.jsonl")
    with pytest.raises(UsageError, match="'museum'; known are: default, datastore"):
        evalstream.check("data", profile="museum")


def test_a_profile_adds_its_rules_and_select_and_ignore_have_the_last_word() -> None:
    usual, stricter = (
        CATALOGUE.selection(Options()).enabled,
        CATALOGUE.selection(Options(profile=DATASTORE)).enabled,
    )
    assert stricter - usual == {"ES901", "ES902", "ES911"}
    assert usual < stricter
    assert _codes(Options(profile=DATASTORE, ignore=("ES902",))) == stricter - {"ES902"}
    for profile in PROFILES:
        chosen = Options(profile=profile, select=("ES901", "ES5"), ignore=("ES506",))
        names = {code for code in CATALOGUE if code.startswith("ES5")} | {"ES901"}
        assert _codes(chosen) == names - {"ES506"}


def test_a_profiles_severity_gives_way_to_the_findings_own() -> None:
    violation = CATALOGUE["ES507"].violation("elsewhere")
    assert CATALOGUE.selection(Options(profile=DEFAULT)).severity(violation) is Severity.WARNING
    assert CATALOGUE.selection(Options(profile=DATASTORE)).severity(violation) is Severity.ERROR
    assert (
        CATALOGUE.selection(Options(profile=DATASTORE)).severity(
            violation._replace(severity=Severity.INFO)
        )
        is Severity.INFO
    )
    changed = {code for code in CATALOGUE if CATALOGUE[code].severity is not _severity(code)}
    assert changed == {"ES007", "ES507", "ES706", "ES903", "ES910"}


def _codes(options: Options) -> frozenset[str]:
    return CATALOGUE.selection(options).enabled


def _severity(code: str) -> Severity:
    return CATALOGUE.selection(Options(profile=DATASTORE)).severity(CATALOGUE[code].violation(""))


def test_a_profiles_severity_holds_in_rows_findings_and_totals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("run.jsonl").write_bytes((EXAMPLE / "run.jsonl").read_bytes() + b"\n\n")
    stricter = {**PROFILES[DATASTORE].severities, "ES110": Severity.ERROR}
    profiles = {**PROFILES, DATASTORE: replace(PROFILES[DATASTORE], severities=stricter)}
    monkeypatch.setattr("evalstream.rules.catalogue.PROFILES", profiles)
    own = Catalogue({"ES": OF_ROWS.values})
    monkeypatch.setattr("evalstream.formats.eee.probe.CATALOGUE", own)
    for profile, severity, code in ((DEFAULT, Severity.WARNING, 0), (DATASTORE, Severity.ERROR, 1)):
        report = evalstream.check("run.jsonl", select=("ES110",), profile=profile)
        assert [finding.severity for finding in report] == [severity] * 2
        assert report.runs[0].severities == {severity: 2}
        assert report.exit_code == code


@each("form", ["relative", "dotted", "absolute", "folder", "aggregate", "rows"])
def test_a_sound_pair_at_its_place_passes(form: str) -> None:
    aggregate, rows = f"{FOLDER}/{UUID}.json", f"{FOLDER}/{UUID}_samples.jsonl"
    put(aggregate, rows)
    named = {
        "relative": (rows, aggregate),
        "dotted": (f"data/../{FOLDER}/./{UUID}_samples.jsonl", f"./{aggregate}"),
        "absolute": (os.path.abspath(rows), os.path.abspath(aggregate)),
        "folder": (".", None),
        "aggregate": (aggregate, None),
        "rows": (rows, None),
    }
    inputs, partner = named[form]
    report = evalstream.check(inputs, aggregate=partner, profile=DATASTORE, strict=True)
    assert (said(report), report.exit_code, report.passed) == ([], 0, True)


@each("inputs", [".", f"{UUID}.json", f"{UUID}_samples.jsonl"])
def test_a_path_counts_from_the_root_wherever_one_stands(
    inputs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(f"{FOLDER}/{UUID}.json", f"{FOLDER}/{UUID}_samples.jsonl")
    monkeypatch.chdir(FOLDER)
    report = evalstream.check(inputs, profile=DATASTORE)
    assert (said(report), report.passed) == ([], True)


MISPLACED = "the file is not at a path of a datastore"
MISNAMED = "the file name is not a version 4 UUID in lower case with the ending"
PLACES = {
    "loose": ("{0}.json", "{0}_samples.jsonl", [("{0}.json", MISPLACED)]),
    "another root": ("Data/c/d/m/{0}.json", "Data/c/d/m/{0}_samples.jsonl", [MISPLACED]),
    "no developer": ("data/c/m/{0}.json", "data/c/m/{0}_samples.jsonl", [MISPLACED]),
    "one folder more": ("data/c/x/d/m/{0}.json", "data/c/x/d/m/{0}_samples.jsonl", [MISPLACED]),
    "rows elsewhere": (
        "data/c/d/m/{0}.json",
        "rows/{0}_samples.jsonl",
        [("rows/{0}_samples.jsonl", MISPLACED)],
    ),
    "rows of another model": (
        "data/c/d/m/{0}.json",
        "data/c/d/n/{0}_samples.jsonl",
        [("data/c/d/n/{0}_samples.jsonl", "the rows file is not in the folder of its aggregate")],
    ),
    "another UUID": (
        "data/c/d/m/{0}.json",
        "data/c/d/m/{1}_samples.jsonl",
        [("data/c/d/m/{1}_samples.jsonl", "the rows file does not have the UUID of its aggregate")],
    ),
    "aggregate misnamed": (
        "data/c/d/m/run.json",
        "data/c/d/m/{0}_samples.jsonl",
        [("data/c/d/m/run.json", f"{MISNAMED} .json")],
    ),
    "rows misnamed": (
        "data/c/d/m/{0}.json",
        "data/c/d/m/{0}.jsonl",
        [("data/c/d/m/{0}.jsonl", f"{MISNAMED} _samples.jsonl")],
    ),
    "rows and aggregate misnamed": (
        "data/c/d/m/run.json",
        "data/c/d/m/run_samples.ndjson",
        [
            ("data/c/d/m/run.json", f"{MISNAMED} .json"),
            ("data/c/d/m/run_samples.ndjson", f"{MISNAMED} _samples.jsonl"),
        ],
    ),
    "two folders unportable": (
        "data/c:/d/aux/{0}.json",
        "data/c:/d/aux/{0}_samples.jsonl",
        [
            'the name of the collection folder is not portable: it has one of < > : " \\ | ? *',
            "the name of the model folder is not portable: it is the name of a device on Windows",
        ],
    ),
    "rows apart and unportable": (
        "data/c/d/m/{0}.json",
        "data/c/d/m /{0}_samples.jsonl",
        [
            (
                "data/c/d/m /{0}_samples.jsonl",
                "the name of the model folder is not portable: it ends in a space or full stop",
            ),
            (
                "data/c/d/m /{0}_samples.jsonl",
                "the rows file is not in the folder of its aggregate",
            ),
        ],
    ),
}


@each(("name", "form"), in_turn(list(PLACES), ["relative", "absolute", "folder"]))
def test_what_lies_elsewhere_is_found(name: str, form: str) -> None:
    aggregate, rows, expected = PLACES[name]
    aggregate, rows = aggregate.format(UUID, OTHER), rows.format(UUID, OTHER)
    put(aggregate, rows)
    inputs = {"relative": aggregate, "absolute": os.path.abspath(aggregate), "folder": "."}[form]
    wanted = [
        ("ES901", *(place.format(UUID, OTHER) for place in found))
        if isinstance(found, tuple)
        else ("ES901", aggregate, found)
        for found in expected
    ]
    report = evalstream.check(inputs, profile=DATASTORE, select=OF_PLACES)
    assert sorted(said(report)) == sorted(wanted)
    assert (report.exit_code, report.runs[0].verdict) == (1, "failed")
    assert evalstream.check(inputs, select=("ES901",)).counts == {"ES901": len(expected)}
    unaware = evalstream.check(inputs, select=("ES5",))
    assert (unaware.counts, unaware.exit_code) == ({}, 0)


@each(
    "name",
    [
        "acorn-7b",
        "GPT-4.1",
        "text-bison@001",
        "Cohere-Command-beta-(6.1B)",
        "open_instruct_dev-rm_1e-6_2__1__1745441922",
        "Llama 3 (chat)",
        "a,b;c+d=e~f!g#h$i%j^k&l'm`n[o]{p}",
        "_",
        "0",
        "模型",
        "caf\u00e9",
        "console",
        "com10",
        "nul-model",
        "a.aux",
        "database",
        "x" * 255,
    ],
)
def test_a_portable_name(name: str) -> None:
    assert unportable(name) is None


@each(
    ("name", "reason"),
    [
        *((f"a{letter}b", "it has one of") for letter in '<>:"\\|?*'),
        ("nova-micro-v1:0", "it has one of"),
        *((f"a{letter}b", "invisible") for letter in "\0\n\t\x1f\x7f\x85\u00a0\u200b\u2028\ufeff"),
        (os.fsdecode(b"a\xffb"), "not valid UTF-8"),
        *((name, "it ends in") for name in ("a ", "a.", "a..", "Llama. ")),
        *((name, "it begins with") for name in (" a", ".a", "-a")),
        *((name, "device") for name in ("con", "NUL", "Aux.v1", "prn .x", "COM1", "lpt9.a.b")),
        *((name, "device") for name in ("com¹", "LPT²", "conin$", "CONOUT$")),
        ("x" * 256, "over 255 bytes"),
        ("é" * 128, "over 255 bytes"),
        ("cafe\u0301", "NFC"),
        ("\u212bngstrom", "NFC"),
        ("data", "root"),
    ],
)
def test_a_name_that_is_not_portable(name: str, reason: str) -> None:
    assert reason in (unportable(name) or "")


@each(
    ("name", "sound"),
    [
        (f"{UUID}.json", True),
        (f"{OTHER}.json", True),
        ("00000000-0000-4000-8000-000000000000.json", True),
        (f"{UUID.upper()}.json", False),
        (f"{UUID.replace('-', '')}.json", False),
        (f"{{{UUID}}}.json", False),
        ("0f8a3c5e-7b1d-1e62-9a4f-2c6d8e1b3a57.json", False),  # version 1
        ("018f3c5e-7b1d-7e62-9a4f-2c6d8e1b3a57.json", False),  # version 7
        ("0f8a3c5e-7b1d-4e62-ca4f-2c6d8e1b3a57.json", False),  # another variant
        ("0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a5g.json", False),
        (f"{UUID}\n.json", False),
        (f"{UUID}.JSON", False),
        (f"{UUID}.json.json", False),
        (f"{UUID}_samples.json", False),
        (UUID, False),
    ],
)
def test_only_a_canonical_version_4_uuid_is_a_name(name: str, sound: bool) -> None:
    assert (parse_path(f"/{FOLDER}/{name}").uuid(".json") is not None) is sound


def test_a_file_right_below_the_root_of_the_machine_is_no_crash() -> None:
    place = parse_path("/run.json")
    assert (place.inside, place.path) == (False, "run.json")


def test_a_path_that_is_no_utf8_is_shown_as_it_can_be() -> None:
    folder = b"data/c/d/m\xff"
    try:
        Path(os.fsdecode(folder)).mkdir(parents=True)
    except OSError:
        pytest.skip("this file system holds UTF-8 only")
    put(None, os.fsdecode(folder + f"/{UUID}_samples.jsonl".encode()))
    (finding,) = evalstream.check("data", select=("ES901",))
    assert finding.found == "m\ufffd"


def test_rows_from_a_stream_lie_nowhere() -> None:
    put("aggregate.json", "run.jsonl")
    reading, writing = os.pipe()
    try:
        os.write(writing, Path("run.jsonl").read_bytes())
        os.close(writing)
        report = evalstream.check(f"/dev/fd/{reading}", profile=DATASTORE)
    finally:
        os.close(reading)
    assert report.counts == {"ES506": 1, "ES805": 1}
    assert report.runs[0].rows == 8


def test_an_aggregate_without_rows_has_a_place_and_is_no_orphan() -> None:
    put(f"{FOLDER}/{UUID}.json", None)
    edit(f"{FOLDER}/{UUID}.json", **{DETAILS: None})
    report = evalstream.check(".", profile=DATASTORE, ignore=("ES0", "ES506", "ES805"))
    assert (report.counts, report.exit_code) == ({}, 0)
    Path("data").rename("date")
    report = evalstream.check(".", profile=DATASTORE)
    assert said(report)[-1] == ("ES901", f"date{FOLDER[4:]}/{UUID}.json", MISPLACED)
    assert (report.exit_code, report.runs[0].verdict) == (1, "failed")


def test_an_unportable_folder_is_found_even_where_the_rows_could_not_be_looked_at() -> None:
    folder = "data/c/d/m."
    put(f"{folder}/{UUID}.json", f"{folder}/{UUID}_samples.jsonl")
    Path(f"{folder}/{UUID}_samples.jsonl").write_bytes(b"\x1f\x8b\x08\0\0\0\0\0")
    report = evalstream.check(".", profile=DATASTORE, select=("ES002", "ES9"))
    assert (report.counts, report.exit_code) == ({"ES002": 1, "ES901": 1}, 1)


def test_rows_without_an_aggregate_are_orphans_and_that_is_said_once() -> None:
    rows = f"{FOLDER}/{UUID}_samples.jsonl"
    put(None, rows)
    expected = ("ES902", rows, "these rows have no aggregate, neither by name nor by file_path")
    for inputs in (rows, ".", os.path.abspath(rows)):
        report = evalstream.check(inputs, profile=DATASTORE)
        assert said(report) == [expected]
        assert (report.exit_code, report.runs[0].verdict) == (1, "failed")
    ignored = evalstream.check(".", profile=DATASTORE, ignore=("ES902",))
    assert (ignored.counts, ignored.exit_code) == ({"ES506": 1, "ES805": 1}, 0)
    assert evalstream.check(".").counts == {"ES506": 1, "ES805": 1}


def test_declared_rows_that_are_missing_fail_a_datastore() -> None:
    aggregate, rows = f"{FOLDER}/{UUID}.json", f"{FOLDER}/{UUID}_samples.jsonl"
    put(aggregate, rows)
    Path(rows).unlink()
    message = f"the rows file that it declares was not found: {rows}"
    for code, exit_code, verdict, settings in (
        ("ES902", 1, "failed", {"profile": DATASTORE}),
        ("ES902", 1, "failed", {"profile": DATASTORE, "strict": True}),
        ("ES902", 1, "failed", {"select": ("ES902",)}),
        ("ES001", 3, "incomplete", {"profile": DATASTORE, "ignore": ("ES902",)}),
        ("ES001", 3, "incomplete", {}),
    ):
        for inputs in (aggregate, "."):
            report = evalstream.check(inputs, **settings)
            assert said(report) == [(code, aggregate, message)]
            assert [finding.pointer for finding in report] == [f"/{DETAILS}/file_path"]
            assert (report.exit_code, report.runs[0].verdict) == (exit_code, verdict)


@each("details", [None, {}, "rows", {"format": "jsonl"}])
def test_rows_that_their_aggregate_does_not_declare_are_orphans(details: Any) -> None:
    aggregate, rows = f"{FOLDER}/{UUID}.json", f"{FOLDER}/{UUID}_samples.jsonl"
    put(aggregate, rows)
    edit(aggregate, **{DETAILS: details})
    message = "the aggregate does not declare the rows file that was checked with it"
    for inputs in (aggregate, rows, "."):
        report = evalstream.check(inputs, profile=DATASTORE, select=("ES9", "ES5"))
        assert said(report) == [("ES902", aggregate, message)]
        assert report.exit_code == 1
    assert evalstream.check(".", select=("ES9", "ES5"), ignore=("ES902",)).counts == {"ES506": 1}


@each("claim", [{"checksum": "0" * 64}, {"total_rows": 8}, {"file_path": ""}])
def test_rows_of_which_the_aggregate_says_anything_are_no_orphans(claim: dict[str, Any]) -> None:
    aggregate, rows = f"{FOLDER}/{UUID}.json", f"{FOLDER}/{UUID}_samples.jsonl"
    put(aggregate, rows)
    edit(aggregate, **{DETAILS: claim})
    report = evalstream.check(aggregate, profile=DATASTORE, select=("ES9", "ES5"))
    assert "ES902" not in report.counts
    assert report.counts


@each("ending", [".jsonl", ".ndjson", "_samples.ndjson"])
def test_a_sibling_that_is_not_declared_is_an_orphan(ending: str) -> None:
    aggregate, rows = f"{FOLDER}/{UUID}.json", f"{FOLDER}/{UUID}_samples.jsonl"
    put(aggregate, rows)
    shutil.copy(rows, f"{FOLDER}/{UUID}{ending}")
    shutil.copy(rows, f"{FOLDER}/{OTHER}_samples.jsonl")
    for inputs in (rows, aggregate):
        (finding,) = evalstream.check(inputs, profile=DATASTORE)
        assert (finding.code, os.path.relpath(finding.file)) == ("ES902", aggregate)
        assert finding.found == f"{UUID}{ending}"
    report = evalstream.check(".", select=("ES902",))
    assert [os.path.relpath(finding.file) for finding in report] == [
        aggregate,
        f"{FOLDER}/{OTHER}_samples.jsonl",
    ]
    assert report.exit_code == 1


def test_rows_that_are_checked_from_elsewhere_make_no_orphan_of_the_declared() -> None:
    aggregate, rows = f"{FOLDER}/{UUID}.json", f"{FOLDER}/{UUID}_samples.jsonl"
    put(aggregate, rows)
    shutil.copy(rows, "copy.jsonl")
    report = evalstream.check("copy.jsonl", aggregate=aggregate, select=("ES902",))
    assert (report.counts, report.exit_code) == ({}, 0)


def test_an_aggregate_that_cannot_be_read_makes_no_orphans() -> None:
    aggregate, rows = f"{FOLDER}/{UUID}.json", f"{FOLDER}/{UUID}_samples.jsonl"
    put(aggregate, rows)
    Path(aggregate).write_bytes(b'{"evaluation_results": [')
    report = evalstream.check(".", profile=DATASTORE)
    assert report.counts == {"ES103": 1}
    assert report.exit_code == 1


def test_rows_that_cannot_be_opened_are_no_orphans() -> None:
    report = evalstream.check(f"{FOLDER}/{UUID}_samples.jsonl", profile=DATASTORE)
    assert (report.counts, report.exit_code) == ({"ES001": 1}, 3)


def test_an_aggregate_named_as_rows_is_no_orphan() -> None:
    put(f"{FOLDER}/{UUID}.json", None)
    Path(f"{FOLDER}/{UUID}.json").rename("claims.jsonl")
    report = evalstream.check("claims.jsonl", profile=DATASTORE, ignore=("ES901",))
    assert (report.counts, report.exit_code) == ({"ES005": 1}, 3)


ELSEWHERE = f"{FOLDER}/../acorn-7b/{UUID}_samples.jsonl"


@each(
    ("declared", "usual", "stricter"),
    [
        (f"{FOLDER}/{UUID}_samples.jsonl", 0, 0),
        (f"./{FOLDER}//{UUID}_samples.jsonl", 0, 0),
        (f"{UUID}_samples.jsonl", 0, 1),
        (f"data/tiny-arithmetic/acme/acorn-70b/{UUID}_samples.jsonl", 0, 1),
        (f"{FOLDER}/{OTHER}_samples.jsonl", 1, 1),
        (f"/{FOLDER}/{UUID}_samples.jsonl", 1, 1),
        (ELSEWHERE, 1, 1),
    ],
)
def test_file_path_is_held_against_the_place_in_a_datastore(
    declared: str, usual: int, stricter: int
) -> None:
    aggregate, rows = f"{FOLDER}/{UUID}.json", f"{FOLDER}/{UUID}_samples.jsonl"
    put(aggregate, rows, file_path=declared)
    for profile, count, severity in (
        (DEFAULT, usual, Severity.WARNING),
        (DATASTORE, stricter, Severity.ERROR),
    ):
        for inputs in (rows, aggregate, os.path.abspath(rows)):
            report = evalstream.check(inputs, profile=profile, select=("ES507",))
            assert [finding.severity for finding in report] == [severity] * count
            assert report.exit_code == (1 if count and severity is Severity.ERROR else 0)


def test_strict_lets_the_warnings_of_a_datastore_fail() -> None:
    aggregate, rows = f"{FOLDER}/{UUID}.json", f"{FOLDER}/{UUID}_samples.jsonl"
    put(aggregate, rows, checksum=None)
    for strict, code in ((False, 0), (True, 1)):
        settings: dict[str, Any] = {"profile": DATASTORE, "strict": strict}
        report = evalstream.check(".", select=("ES9", "ES5"), **settings)
        assert (report.counts, report.exit_code) == ({"ES506": 1}, code)


def test_a_rule_that_is_ignored_does_not_speak_for_the_schema() -> None:
    aggregate, rows = f"{FOLDER}/{UUID}.json", f"{FOLDER}/{UUID}_samples.jsonl"
    put(aggregate, rows, total_rows="eight")
    assert evalstream.check(".").counts == {"ES503": 1}
    assert evalstream.check(".", ignore=("ES503",)).counts == {"ES202": 1}


BOUNDS = (None, 0, 1.5, "Infinity", "-Infinity")


@pytest.mark.parametrize("score_type", ["continuous", "binary", "levels"])
@each("lowest", BOUNDS)
def test_a_datastore_asks_a_continuous_metric_for_its_bounds(score_type: str, lowest: Any) -> None:
    aggregate, rows = f"{FOLDER}/{UUID}.json", f"{FOLDER}/{UUID}_samples.jsonl"
    put(aggregate, rows)
    document = json.loads(Path(aggregate).read_bytes())
    metric = {"lower_is_better": False, "score_type": score_type, "min_score": lowest}
    metric |= {"max_score": None, "level_names": ["a"], "has_unknown_level": True}
    document["evaluation_results"][0]["metric_config"] = metric
    Path(aggregate).write_text(json.dumps(document))
    where = "/evaluation_results/0/metric_config"
    wanted = [f"{where}/{name}" for name in ("max_score", "min_score") if metric[name] is None]
    for profile, expected in ((DEFAULT, []), (DATASTORE, wanted)):
        report = evalstream.check(aggregate, profile=profile, select=("ES2",))
        found = [finding.pointer for finding in report]
        assert found == (expected if score_type == "continuous" else [])
        assert {(finding.code, finding.severity) for finding in report} <= {
            ("ES212", Severity.ERROR)
        }
        assert report.exit_code == (1 if found else 0)


def test_a_bound_that_the_schema_refuses_is_told_once() -> None:
    aggregate, rows = f"{FOLDER}/{UUID}.json", f"{FOLDER}/{UUID}_samples.jsonl"
    put(aggregate, rows)
    document = json.loads(Path(aggregate).read_bytes())
    document["evaluation_results"][0]["metric_config"]["min_score"] = None
    edit(aggregate, schema_version="0.2.2", evaluation_results=document["evaluation_results"])
    for profile in PROFILES:
        report = evalstream.check(aggregate, profile=profile, select=("ES204", "ES202", "ES212"))
        assert report.counts == {"ES204": 1}
