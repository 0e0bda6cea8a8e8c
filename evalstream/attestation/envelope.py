"""DSSE envelopes: a payload of a stated type, signatures of both, and the keys that sign."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

from evalstream.io.names import printable
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import MissingExtra, UsageError, describe_error, install_command
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


NAMESPACE: Final = "evalstream"
"""The namespace for which a key in an allowed_signers file must be good."""

MOST_BYTES: Final = 1 << 20

_WORD: Final = rb'(?:[^\s"]|"[^"]*")+'
_SSH_LINE: Final = re.compile(
    rb"(?:(%(word)s)\s+(?:(%(word)s)\s+)??)??((?:ssh|sk|ecdsa)-[\w@.-]+)\s+([\w+/=]+)(?:\s.*)?"
    % {b"word": _WORD}
)
_NAMESPACES: Final = re.compile(rb'namespaces="([^"]*)"', re.IGNORECASE)
_PEM: Final = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)


class SigningKey(NamedTuple):
    """A private key; `id` is the SHA-256 of its public half (DER SubjectPublicKeyInfo) in hex."""

    id: str
    sign: Callable[[bytes], bytes]


class TrustedKey(NamedTuple):
    """A public key whose signatures count; `label` is what reports call it."""

    id: str
    label: str
    public: Any

    def verify(self, signature: bytes, data: bytes) -> bool:
        """Tell whether a signature is one of some bytes by this key."""
        from cryptography.exceptions import InvalidSignature

        try:
            self.public.verify(signature, data)
        except InvalidSignature:
            return False
        return True


def read_signing_key(path: str) -> SigningKey:
    """Return the private key in a file, PKCS #8 in PEM or OpenSSH's.

    Raises UsageError for a file without one, or with a key that is encrypted or not Ed25519.
    """
    serialization, ed25519 = _load_library()
    data, name = _read(path, "--key"), f"--key {printable(path)}"
    is_ssh = b"-----BEGIN OPENSSH PRIVATE KEY-----" in data
    load = serialization.load_ssh_private_key if is_ssh else serialization.load_pem_private_key
    try:
        key = load(data, password=None)
    except TypeError as error:
        raise UsageError(f"{name}: the key is encrypted; decrypt it for this call") from error
    except Exception as error:  # older releases raise errors of other types
        raise UsageError(f"{name}: not a private key of Ed25519 in PEM") from error
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise UsageError(f"{name}: the key is not one of Ed25519")
    return SigningKey(_identify(key.public_key()), key.sign)


def read_trusted_keys(paths: Sequence[str]) -> tuple[TrustedKey, ...]:
    """Return the public keys in files, PEM or allowed_signers of ssh, each once.

    Raises UsageError for a file without a key of Ed25519, and for one with a private key.
    """
    found: dict[str, TrustedKey] = {}
    for path in paths:
        data, name = _read(path, "--trust"), f"--trust {printable(path)}"
        if b"PRIVATE KEY-----" in data:
            raise UsageError(f"{name}: a private key; give its public half, and keep it secret")
        read = _read_pem if b"-----BEGIN " in data else _read_ssh
        keys = [*read(data, name, os.path.basename(printable(path)))]
        if not keys:
            raise UsageError(f"{name}: no public key of Ed25519")
        for key in keys:
            found.setdefault(key.id, key)
    return tuple(found.values())


def _read_pem(data: bytes, name: str, label: str) -> Iterator[TrustedKey]:
    serialization, ed25519 = _load_library()
    for block in _PEM.finditer(data):
        try:
            key = serialization.load_pem_public_key(block[0])
        except Exception as error:
            raise UsageError(f"{name}: a block of PEM that is not a public key") from error
        if isinstance(key, ed25519.Ed25519PublicKey):
            yield TrustedKey(_identify(key), label, key)


def _read_ssh(data: bytes, name: str, label: str) -> Iterator[TrustedKey]:
    """Read lines of ssh-keygen(1), ALLOWED SIGNERS; those of a `.pub` file have no principals."""
    serialization, _ = _load_library()
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
        place = f"{name}: line {number:,}"
        found = _SSH_LINE.fullmatch(line.strip())
        if found is None:
            raise UsageError(f"{place}: not a public key in PEM, nor a line of allowed_signers")
        principals, options, kind, text = found.groups()
        if kind != b"ssh-ed25519" or not _is_for_us(options or b"", place):
            continue
        try:
            key = serialization.load_ssh_public_key(kind + b" " + text)
        except Exception as error:
            raise UsageError(f"{place}: not a key of Ed25519") from error
        who = (principals or b"").strip(b'"').decode(errors="replace")
        yield TrustedKey(_identify(key), printable(who) or label, key)


def _is_for_us(options: bytes, place: str) -> bool:
    """Tell whether a key may sign for us. Raises UsageError for options that say more."""
    if not options:
        return True
    found = _NAMESPACES.fullmatch(options)
    if found is None:
        raise UsageError(f"{place}: of its options only namespaces is known")
    patterns = found[1].decode(errors="replace").split(",")
    is_for_us = any(fnmatchcase(NAMESPACE, one) for one in patterns)
    return is_for_us and not any(
        fnmatchcase(NAMESPACE, one[1:]) for one in patterns if one.startswith("!")
    )


def _identify(key: Any) -> str:
    serialization, _ = _load_library()
    encoding, form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    return hashlib.sha256(key.public_bytes(encoding, form)).hexdigest()


def _read(path: str, flag: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(MOST_BYTES)
    except (OSError, ValueError) as error:
        raise UsageError(f"{flag} {printable(path)}: {describe_error(error)}") from error


def _load_library() -> tuple[Any, Any]:
    """Return the modules of the library. Raises MissingExtra where it is not installed."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        message = f"attestations need cryptography: {install_command('attest')}"
        raise MissingExtra(message) from error
    return serialization, ed25519
