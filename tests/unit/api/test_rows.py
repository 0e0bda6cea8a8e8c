"""check_rows and Checker: what they take, what they refuse, and what their verdict says."""

import json
import math
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO, StringIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from each import each
from paths import EXAMPLES
from rows import aggregate_of, bytes_of, line_of, sound_rows, write_run

import evalstream
from evalstream.model.options import Options, RowRouting
from evalstream.reporters.run_lines import run_line

ROWS = sound_rows("0.2.0", 4)
LINES = bytes_of(ROWS).splitlines(keepends=True)
AGGREGATE = aggregate_of("0.2.0", b"".join(LINES), 4)


def said(report: evalstream.Report) -> str:
    """Return the verdict line of the only run."""
    (run,) = report.runs
    return run_line(run)


@each(
    "rows",
    [
        LINES,
        [line.decode() for line in LINES],
        [line.rstrip(b"\n") for line in LINES],
        [bytearray(line) for line in LINES],
        [memoryview(line) for line in LINES],
        BytesIO(b"".join(LINES)),
        iter(LINES),
    ],
)
def test_texts_verify_the_checksum(rows: Any) -> None:
    report = evalstream.check_rows(rows, aggregate=AGGREGATE)
    assert report.passed
    assert said(report).startswith("<rows> with <aggregate>: passed: 4 rows")
    assert "checksum ok (sha256), row count ok" in said(report)


@pytest.mark.parametrize("wrap", [dict, MappingProxyType])
def test_mappings_have_no_checksum(wrap: Callable[[Any], Any]) -> None:
    report = evalstream.check_rows(map(wrap, ROWS), aggregate=MappingProxyType(AGGREGATE))
    assert report.passed
    assert "checksum not verified, row count ok" in said(report)
    assert "mappings have no bytes" in said(report)
    assert report.runs[0].as_dict()["checksum"]["actual"] is None


def test_one_mapping_among_lines_leaves_the_checksum_open() -> None:
    report = evalstream.check_rows([*LINES[:-1], ROWS[-1]], aggregate=AGGREGATE)
    assert "checksum not verified" in said(report)
    assert "ES501" not in report.counts


def test_a_last_line_without_its_end_is_that_of_the_file() -> None:
    data = b"".join(LINES).rstrip(b"\n")
    aggregate = aggregate_of("0.2.0", data, 4)
    for rows in (data.split(b"\n"), BytesIO(data)):
        report = evalstream.check_rows(rows, aggregate=aggregate)
        assert report.passed, said(report)
    changed = evalstream.check_rows(data.split(b"\n")[::-1], aggregate=aggregate)
    assert changed.counts == {"ES501": 1}


def test_a_checker_knows_a_last_line_without_its_end() -> None:
    aggregate = aggregate_of("0.2.0", b"".join(LINES), 4)
    for last, codes in ((LINES[-1][:-1], {"ES111", "ES501"}), (LINES[-1][:-9], {"ES104", "ES501"})):
        with evalstream.Checker(aggregate=aggregate) as checker:
            for line in (*LINES[:-1], last):
                assert checker.add(line) == []
        assert checker.report.counts.keys() == codes
        assert checker.report.runs[0].verdict == "failed"


def test_a_line_without_its_end_between_others_is_a_whole_one() -> None:
    rows = [LINES[0], LINES[1][:-1], LINES[2].replace(b"sample-2", b"sample-1"), LINES[3]]
    with evalstream.Checker() as checker:
        found = [[finding.line for finding in checker.add(row)] for row in rows]
    assert [{*lines} for lines in found] == [set(), set(), {3}, set()]
    assert checker.report.counts == evalstream.check_rows(rows).counts
    assert "ES111" not in checker.report.counts


def test_an_empty_last_row_is_a_blank_line() -> None:
    for lines in (LINES, [line[:-1] for line in LINES]):
        report = evalstream.check_rows([*lines, b""], aggregate=AGGREGATE)
        assert report.counts == {"ES110": 1}
        assert evalstream.check_rows(lines, aggregate=AGGREGATE).counts == {}


def test_mappings_alone_cannot_be_checked_for_their_checksum() -> None:
    report = evalstream.check_rows(ROWS, aggregate=AGGREGATE, select="ES501")
    assert (report.exit_code, report.runs[0].verdict) == (3, "incomplete")
    assert "mappings have no bytes" in said(report)
    assert evalstream.check_rows(LINES, aggregate=AGGREGATE, select="ES501").passed
    assert evalstream.check_rows(ROWS, aggregate=AGGREGATE, select="ES501,ES503").passed


def test_findings_about_mappings_have_no_offset() -> None:
    row = {**ROWS[1], "sample_id": None}
    (of_mapping,) = (one for one in evalstream.check_rows([ROWS[0], row]) if one.line)
    (of_line,) = (one for one in evalstream.check_rows([LINES[0], line_of(row)]) if one.line)
    assert (of_mapping.line, of_mapping.offset) == (2, None)
    assert (of_line.line, of_line.offset) == (2, len(LINES[0]))


def test_numbers_that_json_lacks_are_found() -> None:
    row = {**ROWS[0], "evaluation": {**ROWS[0]["evaluation"], "score": math.nan}}
    assert "ES108" in evalstream.check_rows([row]).counts
    assert evalstream.check_rows([row]).counts == evalstream.check_rows([line_of(row)]).counts


@each("row", [None, 3, ["a"], object()])
def test_other_rows_are_type_errors(row: Any) -> None:
    with pytest.raises(TypeError, match=r"row 2 is (None|a list|an (int|object)); a row is"):
        evalstream.check_rows([ROWS[0], row])
    with evalstream.Checker() as checker:
        checker.add(ROWS[0])
        with pytest.raises(TypeError, match="row 2 is"):
            checker.add(row)


def test_a_value_that_json_lacks_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"row 1 cannot be written as JSON: .* is a set"):
        evalstream.check_rows([{"a": {1}}])
    with pytest.raises(TypeError, match="the aggregate cannot be written as JSON"):
        evalstream.check_rows([], aggregate={"a": {1}})
    with pytest.raises(TypeError, match="the aggregate cannot be written as JSON"):
        evalstream.Checker(aggregate={"a": {1}})


def test_several_rows_in_one_are_refused() -> None:
    with pytest.raises(evalstream.UsageError, match="row 1 has a line break inside"):
        evalstream.check_rows([b"".join(LINES)])


@each("rows", [LINES[0], "run.jsonl", ROWS[0], Path("run.jsonl")])
def test_one_row_or_path_is_no_iterable_of_rows(rows: Any) -> None:
    with pytest.raises(TypeError, match=r"not an iterable of rows; evalstream\.check takes paths"):
        evalstream.check_rows(rows)


@each(
    "inputs",
    [
        ROWS,
        [line.decode() for line in LINES],
        LINES,
        LINES[0].decode(),
        LINES[0],
        ROWS[0],
        StringIO("{}"),
        [StringIO("{}")],
        3,
        None,
        iter(ROWS),
    ],
)
def test_check_names_the_function_for_rows(inputs: Any) -> None:
    with pytest.raises(TypeError, match=r"not a path; evalstream\.check_rows checks rows"):
        evalstream.check(inputs)


def test_check_takes_no_open_file_and_no_mapping_beside_a_path() -> None:
    with open(EXAMPLES / "run.jsonl") as file, pytest.raises(TypeError, match="a file object"):
        evalstream.check(file)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the aggregate is a dict"):
        evalstream.check(EXAMPLES / "run.jsonl", aggregate={})  # type: ignore[arg-type]


def test_what_the_iterable_raises_is_raised() -> None:
    def broken() -> Iterator[bytes]:
        yield LINES[0]
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        evalstream.check_rows(broken())


def test_an_exception_leaves_the_run_incomplete() -> None:
    checker = evalstream.Checker(aggregate=AGGREGATE)

    def use() -> None:
        with checker:
            checker.add(ROWS[0])
            raise LookupError("gone")

    with pytest.raises(LookupError):
        use()
    assert checker.report.runs[0].verdict == "incomplete"
    assert checker.report.exit_code == 3
    assert "the rows ended with LookupError: gone" in said(checker.report)


class Untold(Exception):
    """An exception whose text cannot be read."""

    def __str__(self) -> str:
        raise RuntimeError


def test_an_exception_without_a_text_leaves_the_run_incomplete() -> None:
    with suppress(Untold), evalstream.Checker() as checker:
        checker.add(LINES[0])
        raise Untold
    assert checker.report.runs[0].incomplete_reason == "the rows ended with Untold"


def test_threads_may_share_a_checker() -> None:
    rows = sound_rows("0.2.0", 400)
    with evalstream.Checker() as checker:
        threads = [
            threading.Thread(target=lambda some: [*map(checker.add, some)], args=(rows[k::4],))
            for k in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
    assert checker.report.runs[0].rows == 400
    assert checker.report.counts.keys() <= {"ES506", "ES805"}


def test_a_checker_ends_once() -> None:
    checker = evalstream.Checker(aggregate=AGGREGATE)
    with pytest.raises(evalstream.UsageError, match="after the with block"):
        _ = checker.report
    for line in LINES:
        assert checker.add(line) == []
    report = checker.close()
    assert report.passed
    assert checker.close() is report is checker.report
    with pytest.raises(evalstream.UsageError, match="no row can be added"):
        checker.add(LINES[0])


def test_a_checker_without_rows_says_so() -> None:
    with evalstream.Checker() as checker:
        pass
    assert checker.report.exit_code == evalstream.check_rows([]).exit_code != 0


def test_a_checker_waits_for_its_aggregate(tmp_path: Path) -> None:
    path, aggregate = write_run(tmp_path, b"".join(LINES))
    text = aggregate.read_bytes()
    aggregate.unlink()
    with evalstream.Checker(aggregate=aggregate) as checker:
        for line in path.read_bytes().splitlines():
            checker.add(line)
        aggregate.write_bytes(text)
    assert checker.report.passed


def test_more_findings_than_are_shown_come_with_their_rows() -> None:
    row = {**ROWS[0], "sample_id": None}
    with evalstream.Checker(max_findings=2, ignore="ES408") as checker:
        assert all(len(checker.add(row)) == 1 for _ in range(5))
    assert checker.report.shown < checker.report.total


def test_options_route_no_rows() -> None:
    options = Options(routing=RowRouting(tee="copy.jsonl"))
    with pytest.raises(evalstream.UsageError, match="rows in memory are not routed"):
        evalstream.check_rows(LINES, options=options)
    with pytest.raises(evalstream.UsageError, match="rows in memory are not routed"):
        evalstream.Checker(options=options)


def test_wrong_options_are_found_before_the_first_row() -> None:
    with pytest.raises(evalstream.UsageError, match="unknown profile"):
        evalstream.Checker(profile="store")  # type: ignore[arg-type,unused-ignore]


def test_expected_rows_are_counted() -> None:
    assert evalstream.check_rows(LINES, aggregate=AGGREGATE, expect_rows=4).passed
    assert not evalstream.check_rows(LINES, aggregate=AGGREGATE, expect_rows=5).passed


def test_reports_name_rows_in_memory(tmp_path: Path) -> None:
    with open(tmp_path / "report.json", "wb") as file:
        evalstream.check_rows(ROWS, reporter=evalstream.JsonReporter(file))
    (run,) = json.loads((tmp_path / "report.json").read_bytes())["runs"]
    assert run["file"] == "<rows>"


def test_no_remedy_is_a_command_over_files_that_are_not_there(tmp_path: Path) -> None:
    rows = [*LINES, b"\n"]
    held = evalstream.check_rows(rows)
    assert held.rules["ES110"].fix.startswith("When a file holds these rows, run `evalstream fix")
    assert held.rules["ES805"].fix[0].isupper()
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(rows))
    assert evalstream.check(path).rules["ES110"].fix.startswith("Run `evalstream fix")


def test_the_short_text_of_a_report_has_no_control_characters() -> None:
    class Coloured(Exception):
        pass

    checker = evalstream.Checker()
    with suppress(Coloured), checker:
        checker.add(LINES[0])
        raise Coloured("\x1b[31mred\x07\nand more")
    assert repr(checker.report).replace("\n", "").isprintable()
    assert "and more" in repr(checker.report).splitlines()[0]


def test_reports_take_rows_in_memory_for_no_file() -> None:
    class Text:
        written = ""

        def write(self, data: str | bytes, /) -> None:
            self.written += data if isinstance(data, str) else data.decode()

    rows = [{**ROWS[0], "sample_hash": "0"}]
    page = evalstream.check_rows(rows, aggregate=AGGREGATE)._repr_html_()
    assert "evalstream check ROWS --aggregate AGGREGATE --select ES405" in page
    text = Text()
    evalstream.check_rows(rows, reporter=evalstream.SarifReporter(text))
    assert '"uri":"%3Crows%3E"}' in text.written.replace(" ", "")
    assert "fixable" not in repr(evalstream.check_rows(rows))


def test_rows_of_other_formats_are_known_by_their_content() -> None:
    (path,) = (EXAMPLES / "tutorial" / "log").rglob("samples_*.jsonl")
    with path.open("rb") as file:
        (run,) = evalstream.check_rows(file).runs
    (expected,) = evalstream.check(path, input_format="lm_eval").runs
    assert (run.format, run.rows) == ("lm_eval", expected.rows) == ("lm_eval", 4)


def test_a_row_that_was_refused_is_not_counted() -> None:
    with evalstream.Checker() as checker:
        for _ in range(2):
            with pytest.raises(TypeError, match="row 1 is None"):
                checker.add(None)  # type: ignore[arg-type]
        checker.add(ROWS[0])
    assert checker.report.runs[0].rows == 1


def test_threads_check_rows_of_their_own() -> None:
    verdicts: list[bool] = []

    def work(rows: Any) -> None:
        verdicts.append(evalstream.check_rows(rows, aggregate=AGGREGATE).passed)

    threads = [threading.Thread(target=work, args=(LINES,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == [True] * 4


def test_memory_does_not_grow_with_the_rows() -> None:
    def rows(count: int) -> Iterator[dict[str, Any]]:
        for number in range(count):
            yield {**ROWS[0], "sample_id": f"s{number}", "padding": "x" * 40_960}

    def peak(count: int) -> int:
        tracemalloc.start()
        evalstream.check_rows(rows(count), ignore="ES407", max_findings=1, jobs=1)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(450) < 1.5 * peak(150)
