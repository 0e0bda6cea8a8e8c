"""Findings, and the order in which they are reported."""

from evalstream.model.finding import Violation, pointer_key


def test_indices_are_sorted_as_numbers() -> None:
    pointers = ["/metrics/10", "/metrics/2", "/metrics/2/a", "/metrics", "", "/metrics/x"]
    ordered = ["", "/metrics", "/metrics/2", "/metrics/2/a", "/metrics/10", "/metrics/x"]
    assert sorted(pointers, key=pointer_key) == ordered
    violations = [Violation("ES202", "", pointer) for pointer in pointers]
    assert [one.pointer for one in sorted(violations, key=Violation.order)] == ordered
