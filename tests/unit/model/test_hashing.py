import hashlib
import sys

import pytest
from each import each

from evalstream.model import hashing
from evalstream.model.hashing import WORTH_OPENSSL_BYTES, hash_function


@pytest.fixture
def _without_hashlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "hashlib", raising=False)


@pytest.mark.usefixtures("_without_hashlib")
def test_few_bytes_have_the_same_digest_without_openssl() -> None:
    made = hash_function("sha256")
    assert made is not hashlib.sha256
    assert "hashlib" not in sys.modules
    assert made(b"text", usedforsecurity=False).hexdigest() == hashlib.sha256(b"text").hexdigest()


@pytest.mark.usefixtures("_without_hashlib")
@each(("algorithm", "size"), [("sha256", WORTH_OPENSSL_BYTES), ("md5", 0), ("blake2b", 0)])
def test_all_else_is_that_of_hashlib(algorithm: str, size: int) -> None:
    made = hash_function(algorithm, size)
    assert made(b"text").digest() == hashlib.new(algorithm, b"text").digest()
    assert "hashlib" in sys.modules


@pytest.mark.usefixtures("_without_hashlib")
def test_python_may_lack_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "_OWN", "_no_module")
    assert hash_function("sha256")(b"text").digest() == hashlib.sha256(b"text").digest()
