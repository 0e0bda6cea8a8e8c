"""Lines on a terminal: their width, what is shortened, and what is kept whole."""

from each import each
from hypothesis import given
from hypothesis import strategies as st

from evalstream.reporters.base import PLAIN, Style
from evalstream.reporters.describe import cut_text
from evalstream.reporters.lines import LineWriter, Span, clauses, columns, shorten_path

UUID_NAME = "0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57_samples.jsonl"


class Written(list[str]):
    """A sink that keeps what is written."""

    def write(self, data: str | bytes, /) -> None:
        """Keep a piece of text."""
        assert isinstance(data, str)
        self.append(data)


def written(*spans: Span, style: Style = PLAIN, indent: int = 0) -> str:
    """Return a line as it is written."""
    output = Written()
    LineWriter(output, style).write(*spans, indent=indent)
    return "".join(output)


def test_a_cut_text_has_the_length_that_is_allowed() -> None:
    assert [cut_text("abcd", most) for most in (3, 4)] == ["ab…", "abcd"]


@each(
    ("path", "room", "expected"),
    [
        ("run.jsonl", 9, "run.jsonl"),
        (f"data/acme/{UUID_NAME}", 80, f"data/acme/{UUID_NAME}"),
        (f"data/acme/{UUID_NAME}", 58, f"…/acme/{UUID_NAME}"),
        (f"data/acme/{UUID_NAME}", 52, f"…/{UUID_NAME}"),
        (f"data/acme/{UUID_NAME}", 30, "…/0f8a3c5e-7b1d…_samples.jsonl"),
        (UUID_NAME, 30, "0f8a3c5e-7b1d-…7_samples.jsonl"),
        (UUID_NAME, 10, UUID_NAME),
    ],
)
def test_paths_keep_a_readable_file_name(path: str, room: int, expected: str) -> None:
    assert shorten_path(path, room) == expected


def test_two_paths_stay_two() -> None:
    lines = LineWriter(Written(), Style(width=20))
    first, second = (lines.path(f"{name * 30}/run.jsonl") for name in "ab")
    assert first.text == "…/run.jsonl"
    assert second.text == f"{'b' * 30}/run.jsonl"
    assert lines.path(f"{'a' * 30}/run.jsonl") == first


@given(st.text(st.characters(categories=["L", "N", "P"]), min_size=1), st.integers(1, 60))
def test_a_shortened_path_is_whole_or_fits(path: str, room: int) -> None:
    short = shorten_path(path, room)
    assert short == path or columns([Span(short)]) <= room


@given(st.lists(st.text(st.sampled_from("ab 測é-"), max_size=20), max_size=5), st.integers(20, 60))
def test_wrapped_lines_fit_and_lose_only_spaces(texts: list[str], width: int) -> None:
    spans = [Span(text, "dim") for text in texts]
    seen = written(*spans, style=Style(width=width), indent=4)
    assert all(columns([Span(line)]) <= width for line in seen.splitlines())
    assert seen.replace(" ", "").replace("\n", "") == "".join(texts).replace(" ", "")


def test_no_wrapped_line_ends_in_spaces() -> None:
    spans = Span("a" * 18), Span(" "), Span(" "), Span("b" * 9)
    assert written(*spans, style=Style(width=20)).split("\n")[0] == "a" * 18


def test_a_file_is_not_wrapped() -> None:
    assert written(Span("word " * 100)) == f"{'word ' * 100}\n"


def test_wide_letters_take_two_columns() -> None:
    assert columns([Span("測試é")]) == 5
    assert columns([Span("e\u0301")]) == 1


def test_a_clause_stays_on_one_line() -> None:
    seen = written(*clauses("checksum ok, row count ok"), style=Style(width=20))
    assert seen == "checksum ok,\n  row count ok\n"


def test_a_diff_keeps_its_tabs_and_nothing_else_that_does_not_print() -> None:
    output = Written()
    LineWriter(output, PLAIN).raw("-\told\r\n+\tnew\x1b[31m\u2028x\n")
    assert "".join(output) == "-\told\n+\tnew·[31m·x\n"
