"""The links of a log are the same however its samples are added."""

from evalstream.stats.run_links import BATCH_WORDS, LogLinks


def test_samples_are_linked_alike_one_by_one_and_together() -> None:
    samples = [(f"sample {number}", number % 7 or None) for number in range(BATCH_WORDS // 4 + 3)]
    together, singly = (LogLinks("run", "task", "model", ["data"]) for _ in range(2))
    together.add_samples(iter(samples))
    for one in samples:
        singly.add_samples([one])
    groups = list(together.links.groups())
    assert groups == list(singly.links.groups())
    for group in groups:
        own, other = (b"".join(one.links.chunks(group.link_key)) for one in (together, singly))
        assert own == other


def test_a_log_without_a_run_links_no_samples() -> None:
    links = LogLinks(None, "task", "model")
    links.add_samples([("sample", 1)])
    assert not list(links.links.groups())
