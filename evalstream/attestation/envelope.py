"""DSSE envelopes: a payload of a stated type, and signatures of both."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

from evalstream.attestation.keys import SigningKey, TrustedKey
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Violation
from evalstream.parsing import json
from evalstream.rules.inputs import ES940, ES942

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"

MOST_SIGNATURES: Final = 100
"""Each is tried with each trusted key, which takes 0.1 ms."""

_MEMBERS: Final = {"payload", "payloadType", "signatures"}


class Signature(NamedTuple):
    """A signature, and what its writer says of its key, which proves nothing."""

    keyid: str
    value: bytes


class Envelope(NamedTuple):
    """A payload and its signatures."""

    payload: bytes
    signatures: tuple[Signature, ...]


def write_envelope(payload: bytes, key: SigningKey) -> bytes:
    """Return the JSON of an envelope with one signature; it has no line end."""
    signature = {"keyid": key.id, "sig": _encode(key.sign(encode_signed(payload)))}
    return json.canonical(
        {"payload": _encode(payload), "payloadType": PAYLOAD_TYPE, "signatures": [signature]}
    )


def encode_signed(payload: bytes) -> bytes:
    """Return the bytes that are signed (pre-authentication encoding, DSSE 1.0)."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(payload), payload)


def read_envelope(line: bytes) -> Envelope:
    """Return the envelope on a line. Raises ValueError that says why it is none."""
    text = line.removesuffix(b"\n")
    try:
        found: Any = json.fast(text)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(found, dict) or not text.startswith(b"{") or not text.endswith(b"}"):
        raise ValueError("not an envelope, which is one JSON object on a line")
    if "_type" in found:
        raise ValueError("a statement without an envelope, and so without a signature")
    if found.keys() != _MEMBERS:
        raise ValueError(f"not an envelope: its members are not {', '.join(sorted(_MEMBERS))}")
    if found["payloadType"] != PAYLOAD_TYPE:
        raise ValueError(f"payloadType is not {PAYLOAD_TYPE}")
    if not isinstance(found["signatures"], list) or not found["signatures"]:
        raise ValueError("it has no signature")
    if len(found["signatures"]) > MOST_SIGNATURES:
        raise ValueError(f"it has more than {MOST_SIGNATURES} signatures")
    signatures = tuple(map(_read_signature, found["signatures"]))
    ids = [one.keyid for one in signatures if one.keyid]
    if len(ids) != len({*ids}) or len(signatures) != len({one.value for one in signatures}):
        raise ValueError("one key signs twice")
    return Envelope(_decode(found["payload"]), signatures)


def find_signer(envelope: Envelope, keys: tuple[TrustedKey, ...]) -> TrustedKey | Violation:
    """Return the first trusted key that signed an envelope, or what is wrong with it."""
    signed = encode_signed(envelope.payload)
    signers: list[TrustedKey] = []
    for one in envelope.signatures:
        key = next((key for key in keys if key.verify(one.value, signed)), None)
        if key is None:
            continue
        if one.keyid not in ("", key.id):
            return ES940.violation("the keyid of a signature is not that of the key that signed")
        if key in signers:
            return ES940.violation("one key signs twice")
        signers.append(key)
    if signers:
        return signers[0]
    named = {one.keyid for one in envelope.signatures} & {key.id for key in keys}
    if named:
        return ES940.violation("the signature is not one of these bytes by the key that it names")
    return ES942.violation("no key of --trust signed the statement")


def _read_signature(found: Any) -> Signature:
    is_object = isinstance(found, dict) and {"sig"} <= found.keys() <= {"sig", "keyid"}
    if not is_object or not isinstance(found.get("keyid", ""), str):
        raise ValueError("a signature has not the members sig and keyid, or other ones, too")
    return Signature(found.get("keyid", ""), _decode(found["sig"]))


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decode(text: Any) -> bytes:
    """Decode base64 of either alphabet, not of both. Raises ValueError for any other spelling."""
    try:
        data = text.encode("ascii")
        alphabet = b"-_" if data.translate(None, b"+/") == data else b"+/"
        decoded = base64.b64decode(data, alphabet, validate=True)
        if base64.b64encode(decoded, alphabet) == data:
            return decoded
    except (AttributeError, ValueError, binascii.Error) as error:
        raise ValueError("payload or sig is not base64") from error
    raise ValueError("payload or sig is not base64 in its only spelling")
