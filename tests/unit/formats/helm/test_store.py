"""What is counted over the requests and the entries of a run."""

from contextlib import closing

import pytest

from evalstream.formats.helm import store as module
from evalstream.formats.helm.store import InstanceFacts, InstanceStore, RawRow


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_copies_of_one_instance_alone_may_be_apart(
    is_on_disk: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instances are alike only if their entries are as far from each other."""
    if is_on_disk:
        monkeypatch.setattr(module, "MOST_BYTES", 0)

    def together(*clusters: tuple[int, int]) -> bool:
        with closing(InstanceStore()) as store:
            kinds = [
                store.number_kind(copy, 0, metric, "test", None, None if metric is None else 0)
                for metric in (None, "exact_match")
                for copy in ("", "typos")
            ]
            for number, (first, second) in enumerate(clusters):
                rows: list[RawRow] = [
                    (b"id%d" % number, kind, place, place, None, None)
                    for place, kind in enumerate(kinds)
                ]
                rows[2] += (first, None, None)
                rows[3] += (second, None, None)
                store.add(rows)
            facts = InstanceFacts()
            assert list(facts.read(store, lambda _: iter([]))) == []
            assert (facts.requested, facts.described) == (len(clusters),) * 2
            return facts.are_copies_together

    assert together((0, 0), (1, 1), (5, 5))
    assert not together((0, 1))
    assert not together((0, 0), (1, 1), (2, 3))
