"""Texts and findings that try to break out of a report format."""

from typing import Final

from hypothesis import strategies as st

from evalstream.model.finding import Finding, Severity

PIECES: Final = (
    "]]>",
    "<!--",
    "</failure>",
    "&lt;",
    "::error file=x::y",
    "%0A::warning::z",
    "##[add-mask]",
    "\n",
    "\r\n",
    "\x00",
    "\x1b[31m",
    "\u2028",
    "\u202e",
    "\ufffe",
    "|",
    "`",
    "```",
    "</code>",
    "<script>",
    "[a](http://b.example)",
    "www.example.com",
    "**",
    "\\",
    '"',
    "'",
    "{0}",
    "größe",
    "\u3000",
)

texts: Final = st.lists(
    st.sampled_from(PIECES) | st.text(max_size=5).filter(lambda text: text[:1] < "\ud800"),
    max_size=6,
).map("".join)

names: Final = texts.filter(bool).map(lambda text: f"a{text}")
"""Names of files, relative ones."""

values: Final = st.none() | texts | st.integers() | st.lists(texts, max_size=3)


@st.composite
def findings(draw: st.DrawFn) -> Finding:
    """Draw a finding whose texts are hostile."""
    return Finding(
        code="ES202",
        name="wrong-type",
        severity=draw(st.sampled_from(Severity)),
        file=draw(names),
        line=draw(st.none() | st.integers(1, 10**9)),
        column=draw(st.none() | st.integers(1, 10**9)),
        offset=draw(st.none() | st.integers(0, 10**12)),
        pointer=draw(st.none() | texts.map(lambda text: f"/{text}")),
        keyword=draw(st.none() | texts),
        message=draw(texts),
        expected=draw(values),
        found=draw(values),
        sample_id=draw(st.none() | texts | st.integers()),
        count=draw(st.none() | st.integers(1, 10**6)),
    )
