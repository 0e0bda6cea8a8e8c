"""Which options a report names, and how."""

from hashlib import sha256
from typing import Any

from each import each

from evalstream.model.finding import Severity
from evalstream.model.options import Options
from evalstream.settings.options import reported_options


@each(
    ("given", "reported"),
    [
        ({}, {}),
        ({"fail_on": Severity.WARNING}, {"fail_on": "warning"}),
        ({"select": ("ES3",)}, {"select": ["ES3"]}),
        ({"schema": "{}"}, {"schema": f"sha256:{sha256(b'{}').hexdigest()}"}),
        ({"show_values": False, "jobs": 2}, {"show_values": False}),
    ],
)
def test_options_that_differ_are_reported_as_json(
    given: dict[str, Any], reported: dict[str, Any]
) -> None:
    assert reported_options(Options(**given)) == reported
