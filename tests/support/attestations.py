"""Keys, statements and envelopes, made without the code that is tested."""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pytest

pytest.importorskip("cryptography", reason="needs cryptography, the extra attest")

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))

TYPE = "application/vnd.in-toto+json"
PROPERTIES = ["EVALSTREAM_CHECKSUM", "EVALSTREAM_CLAIMS_CONFIRMED"]


def private_pem(key: Ed25519PrivateKey = KEY) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_pem(key: Ed25519PrivateKey = KEY) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def keyid(key: Ed25519PrivateKey) -> str:
    der = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest()


def statement(files: Mapping[str, bytes], properties: Any = PROPERTIES, **changes: Any) -> bytes:
    """Return a statement about files by name."""
    document = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": name, "digest": {"sha256": hashlib.sha256(data).hexdigest()}}
            for name, data in files.items()
        ],
        "predicateType": "https://in-toto.io/attestation/svr/v0.2",
        "predicate": {
            "verifier": {"id": "https://example.org/verifier"},
            "timeCreated": "2026-11-26T00:00:00Z",
            "properties": properties,
        },
    }
    return json.dumps({**document, **changes}).encode()


def signed(payload: bytes, kind: str = TYPE) -> bytes:
    """Return the bytes that a signature of an envelope covers."""
    return b" ".join(
        [b"DSSEv1", str(len(kind)).encode(), kind.encode(), str(len(payload)).encode(), payload]
    )


def envelope(
    payload: bytes, *keys: Ed25519PrivateKey, kind: str = TYPE, url_safe: bool = False
) -> dict[str, Any]:
    """Return an envelope that keys sign, by default one of them."""
    encode = base64.urlsafe_b64encode if url_safe else base64.b64encode
    signatures = [
        {"keyid": keyid(key), "sig": encode(key.sign(signed(payload, kind))).decode()}
        for key in keys or (KEY,)
    ]
    return {"payload": encode(payload).decode(), "payloadType": kind, "signatures": signatures}


def line(found: Mapping[str, Any]) -> bytes:
    return json.dumps(found).encode() + b"\n"
