"""What became of a block, on its way from a worker."""

import pickle

from evalstream.engine.result import BlockResult, Fate, Located
from evalstream.model.finding import Excerpt, Fault, Severity
from evalstream.model.row_record import Identities
from evalstream.stats.tally import Tally


def test_the_result_of_a_block_travels_whole() -> None:
    faults = [
        Located(1, 0, None, Fault("ES102", "mark")),
        Located(2, 7, 5, Fault("ES101", "cut", "/a", found=Excerpt("{", 1))),
        Located(3, 9, "s", Fault("ES202", "type", "/b", "type", ["x"], 1, Severity.INFO, 2, True)),
    ]
    counts, fates = {("ES102", Severity.ERROR): 1}, {2: Fate.REJECTED}
    sent = BlockResult(faults, counts, Tally(), Identities(b""), fates)
    received = pickle.loads(pickle.dumps(sent))
    assert received[:2] == sent[:2]
    assert received[4:] == sent[4:]
    assert all(type(one) is Located and type(one.fault) is Fault for one in received.faults)
