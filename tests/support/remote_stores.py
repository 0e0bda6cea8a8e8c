"""Remote stores of two kinds, web and S3, on servers that can do wrong.

A module of tests imports the fixtures that it uses and names them in its `__all__`.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from stores import Faults, ForwardingServer, ObjectServer, Server, put

from evalstream.io.remote import retry

for library in ("s3fs", "aiohttp", "moto"):
    # Found, and not imported: most processes run no test of a store.
    if find_spec(library) is None:
        pytest.skip(f"needs {library}", allow_module_level=True)

BLOCK = 1000
BUCKET = "results"
DATA = random.Random(7).randbytes(7 * BLOCK + 13)
SECRETS = ("hush-hush-secret", "sig-of-the-url", "pass-of-the-url", "token-of-the-session")
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "AKIDOFTHETESTS",
    "AWS_SECRET_ACCESS_KEY": SECRETS[0],
    "AWS_SESSION_TOKEN": SECRETS[3],
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@cache
def _loader(*arguments: Any) -> Any:
    """Read what all connections know of S3 once."""
    return import_module("botocore.loaders").create_loader(*arguments)


@dataclass
class Store:
    """A store of one kind, and what is wrong with the server before it."""

    server: Server
    prefix: str
    keep: Callable[[str, bytes], None]

    @property
    def faults(self) -> Faults:
        return self.server.faults

    def url(self, data: bytes = DATA, name: str = "rows.jsonl") -> str:
        """Keep an object and return its URL."""
        self.keep(name, data)
        return f"{self.prefix}/{name}"


@pytest.fixture(scope="session")
def bucket() -> Iterator[ForwardingServer]:
    """A store that speaks S3, behind a server that can do wrong."""
    from moto import backends
    from moto.server import ThreadedMotoServer

    # Else each request looks into the folders of moto.
    services = list(backends.list_of_moto_modules())
    backends.list_of_moto_modules = lambda: services
    store = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    store.start()
    address, port = store.get_host_and_port()
    server = ForwardingServer()
    server.behind = f"{address}:{port}"
    put(server.behind, f"/{BUCKET}", b"")
    yield server
    server.close()
    store.stop()


@pytest.fixture(scope="session")
def site() -> Iterator[ObjectServer]:
    """A web server that can do wrong."""
    server = ObjectServer()
    yield server
    server.close()


@pytest.fixture
def web(site: ObjectServer) -> Iterator[Store]:
    site.objects.clear()

    def keep(name: str, data: bytes) -> None:
        site.objects[f"/{name}"] = data

    yield Store(site, f"http://{site.address}", keep)
    site.reset()


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One certificate: each connection to S3 reads a file of them, and the usual one is large."""
    library = find_spec("botocore")
    assert library is not None
    assert library.origin is not None
    every = Path(library.origin).with_name("cacert.pem").read_text()
    first, end, _ = every.partition("-----END CERTIFICATE-----")
    path = tmp_path_factory.mktemp("authority") / "one.pem"
    path.write_text(f"{first}{end}\n")
    return path


@pytest.fixture
def s3(
    bucket: ForwardingServer, authority: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    # Connections to the servers of other tests are not this one's.
    from s3fs import S3FileSystem

    S3FileSystem.clear_instance_cache()
    monkeypatch.setattr("botocore.session.create_loader", _loader)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{bucket.address}")
    monkeypatch.setenv("AWS_CA_BUNDLE", str(authority))
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)

    def keep(name: str, data: bytes) -> None:
        put(bucket.behind, f"/{BUCKET}/{name}", data)

    yield Store(bucket, f"s3://{BUCKET}", keep)
    bucket.reset()


@pytest.fixture(params=["web", "s3"])
def store(request: pytest.FixtureRequest) -> Store:
    """Each kind of store in turn."""
    found: Store = request.getfixturevalue(request.param)
    return found


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in small blocks, and try again at once."""
    monkeypatch.setattr(retry, "BLOCK_BYTES", BLOCK)
    monkeypatch.setattr(retry, "PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(retry, "STALL_SECONDS", 5.0)
