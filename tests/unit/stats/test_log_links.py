"""The links of a log are the same however its samples are added."""

from array import array

from evalstream.stats.log_links import BATCH_WORDS, LogLinks


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


def test_docs_are_linked_as_samples_of_their_numbers() -> None:
    doc_ids, digests = array("Q", [0, 7, 2**63 - 1]), array("Q", [2**64 - 1, 0, 5])
    for data in (["data"], None):
        docs, samples = (LogLinks("run", "task", "model", data) for _ in range(2))
        docs.add_docs(doc_ids, digests)
        numbered = zip(doc_ids, digests, strict=True)
        samples.add_samples((str(doc_id), digest or None) for doc_id, digest in numbered)
        (own,), (other,) = (list(one.links.groups()) for one in (docs, samples))
        assert own == other
        assert list(docs.links.chunks(own.link_key)) == list(samples.links.chunks(own.link_key))


def test_a_log_without_a_run_links_no_samples() -> None:
    links = LogLinks(None, "task", "model")
    links.add_samples([("sample", 1)])
    links.add_docs([1], [1])
    assert not list(links.links.groups())
