"""Files of odd lines, drawn by Hypothesis, and all that comes of checking their blocks."""

import json
from collections.abc import Iterable

from hypothesis import strategies as st
from rows import aggregate_of, line_of, sound_rows

from evalstream.engine.collector import Collector
from evalstream.engine.result import Counts
from evalstream.engine.row_pass import check_block
from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.facts import RowContext
from evalstream.formats.eee.probe import probe_context
from evalstream.model.block import Block
from evalstream.model.finding import CountKey, Finding
from evalstream.model.options import Options
from evalstream.stats.tally import Tally

LONGEST = 1500
MARK = b"\xef\xbb\xbf"
Outcome = tuple[list[Finding], Counts, Tally]


def _odd_lines() -> list[bytes]:
    rows = sound_rows(count=4)
    first, second, third = (line_of(row)[:-1] for row in rows[:3])
    separators = json.dumps({**rows[0], "note": "\u2028\u2029\u0085"}, ensure_ascii=False)
    return [
        first, second, third, separators.encode(),
        first.replace(b'"score": 1.0', b'"score": "1.0"'),
        second.replace(b'"sample_id"', b'"model_id": 1, "sample_id"'),
        third[:200], third[:200] + first, first + second, first.replace(b"Question", b"Answer"),
        first.replace(b'"5"', b"NaN"), second.replace(b"subject", b"\\ud800"),
        b"", b" ", b"\r", b"\t \r", b"\0" * 50, b"\0", b"[]", b"1", b"{}", b"null", b"\xff\xfe",
        b'{"schema_version": "9.9.9"}', MARK, MARK + first, "é\u2028".encode(),
        b"x" * LONGEST, b"x" * (LONGEST + 1), b" " * (LONGEST + 1), b"x" * (3 * LONGEST),
    ]  # fmt: skip


@st.composite
def odd_files(draw: st.DrawFn) -> bytes:
    """Draw a file of odd lines, with either line end, a mark, and a torn or whole last line."""
    lines = draw(st.lists(st.sampled_from(_odd_lines()), max_size=12))
    ends = [draw(st.sampled_from([b"\n", b"\n", b"\r\n"])) for _ in lines]
    data = b"".join(line + end for line, end in zip(lines, ends, strict=True))
    if data and draw(st.booleans()):
        data = data[: -draw(st.integers(1, min(len(data), 30)))]
    return (MARK if draw(st.booleans()) else b"") + data


def outcome(
    context: RowContext, blocks: Iterable[Block], *, skips_unshown: bool = False
) -> Outcome:
    """Check blocks one by one, as the driver does, and return all that comes of it.

    With `skips_unshown` each block learns of which rules no more findings are shown.
    """
    found: list[Finding] = []
    collector = Collector(context, "rows.jsonl", found.append)
    for block in blocks:
        unshown = collector.unshown if skips_unshown else frozenset[CountKey]()
        collector.add(check_block(context, block, unshown=unshown))
    collector.end_of_rows()
    assert collector.unshown <= collector.counts.keys()
    collector.close()
    return found, collector.counts, collector.tally


def context_for(data: bytes, most: int, limit: int = 1 << 28, engine: str = "auto") -> RowContext:
    """Return the context that a sealed aggregate gives."""
    options = Options(max_line_bytes=LONGEST, max_findings=most, memory_limit=limit, engine=engine)
    return probe_context(options, Aggregate(aggregate_of("0.2.0", data, 0)), data)
