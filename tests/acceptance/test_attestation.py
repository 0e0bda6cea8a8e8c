"""Attestations: who can verify them, what is refused, and what is never written."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attestations as dsse
import pytest
from commands import command, environment, run_command
from depth import is_deep
from paths import EXAMPLES, PAIRS

import evalstream
from evalstream.attestation.envelope import read_trusted_keys
from evalstream.attestation.statement import list_properties
from evalstream.attestation.verification import AttestationFile
from evalstream.model.claim import JudgedClaim, State
from evalstream.model.errors import UsageError
from evalstream.model.options import Options
from evalstream.model.run_summary import RunSummary, Verified

MODULES = "PYTHONPATH"
TIME = "2026-11-26T12:00:00Z"
FLIPS = (0x01, 0x20)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a sound pair, a private key and its public half."""
    for name in ("run.jsonl", "aggregate.json"):
        shutil.copy(EXAMPLES / name, tmp_path)
    (tmp_path / "key.pem").write_bytes(dsse.private_pem())
    (tmp_path / "trusted.pem").write_bytes(dsse.public_pem())
    return tmp_path


def run_program(*arguments: object, **more: Any) -> "subprocess.CompletedProcess[str]":
    """Run the program to its end."""
    # What Python finds depends on the environment of its start.
    run = subprocess.run if "env" in more else run_command
    more = {"env": environment(), **more}
    given = command(*map(str, arguments))
    return run(given, capture_output=True, text=True, check=False, timeout=60, **more)


def attest(folder: Path, **settings: Any) -> Path:
    """Attest the pair in a folder, and return the file of its statement."""
    output = folder / "run.intoto.jsonl"
    settings = {"key": folder / "key.pem", "time": TIME, **settings}
    found = evalstream.attest(folder / "run.jsonl", output, **settings)
    assert (found.exit_code, found.statements, found.refusals) == (0, 1, {})
    return output


def verify(folder: Path, **settings: Any) -> evalstream.Report:
    settings = {
        "attestation": folder / "run.intoto.jsonl",
        "trust": str(folder / "trusted.pem"),
        **settings,
    }
    return evalstream.check(folder / "run.jsonl", **settings)


def payload_of(line: bytes) -> bytes:
    return base64.b64decode(json.loads(line)["payload"])


def sign_with(folder: Path, payload: bytes | None = None, **settings: Any) -> dict[str, Any]:
    """Write an envelope about the pair in a folder, made by the reference, and return it."""
    files = {name: (folder / name).read_bytes() for name in ("run.jsonl", "aggregate.json")}
    found = dsse.envelope(dsse.statement(files) if payload is None else payload, **settings)
    (folder / "run.intoto.jsonl").write_bytes(dsse.line(found))
    return found


def test_a_statement_has_files_properties_and_no_score(folder: Path) -> None:
    statement = json.loads(payload_of(attest(folder).read_bytes()))
    assert [one["name"] for one in statement["subject"]] == ["aggregate.json", "run.jsonl"]
    predicate = statement["predicate"]
    assert predicate["timeCreated"] == TIME
    assert predicate["properties"] == [
        "EVALSTREAM_SCHEMA_0.2.0",
        "EVALSTREAM_CHECKSUM",
        "EVALSTREAM_ROWS_COMPLETE",
        "EVALSTREAM_SAMPLE_HASHES",
        "EVALSTREAM_IDS",
        "EVALSTREAM_CLAIMS_CONFIRMED_4_OF_4",
        "EVALSTREAM_CLAIMS_CONFIRMED",
    ]
    policies = {one["name"]: one["digest"]["sha256"] for one in predicate["verifier"]["policies"]}
    assert run_program("rules", "--digest").stdout.strip() == policies["rules"]
    text = json.dumps(statement)
    assert "0.75" not in text
    assert "model" not in text


def test_openssl_verifies_the_signature(folder: Path) -> None:
    line = attest(folder).read_bytes()
    (folder / "signed").write_bytes(dsse.signed(payload_of(line)))
    signature = base64.b64decode(json.loads(line)["signatures"][0]["sig"])
    (folder / "sig").write_bytes(signature)
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "trusted.pem", "-rawin"]
    done = subprocess.run([*command, "-in", "signed", "-sigfile", "sig"], cwd=folder, check=False)
    assert done.returncode == 0
    (folder / "signed").write_bytes(dsse.signed(payload_of(line) + b" "))
    done = subprocess.run([*command, "-in", "signed", "-sigfile", "sig"], cwd=folder, check=False)
    assert done.returncode == 1


def test_a_library_of_others_verifies_the_envelope(folder: Path) -> None:
    """The reference of DSSE and in-toto; a changed payload, type or signature is refused."""
    library = pytest.importorskip("securesystemslib.dsse", reason="needs securesystemslib")
    signer = pytest.importorskip("securesystemslib.signer")
    found = json.loads(attest(folder).read_bytes())
    (keyid,) = (one["keyid"] for one in found["signatures"])
    public = dsse.KEY.public_key()
    key = signer.SSlibKey.from_crypto(public, keyid=keyid)
    other = signer.SSlibKey.from_crypto(dsse.OTHER_KEY.public_key(), keyid=keyid)
    envelope = library.Envelope.from_dict(json.loads(json.dumps(found)))
    assert list(envelope.verify([key], 1)) == [keyid]
    assert json.loads(envelope.payload)["_type"] == "https://in-toto.io/Statement/v1"
    payload = base64.b64encode(payload_of(json.dumps(found).encode()) + b" ").decode()
    for keys, changes in (
        ([key], {"payload": payload}),
        ([key], {"payloadType": "x"}),
        ([other], {}),
    ):
        changed = library.Envelope.from_dict({**json.loads(json.dumps(found)), **changes})
        with pytest.raises(library.exceptions.VerificationError):
            changed.verify(keys, 1)


def test_the_same_call_gives_the_same_bytes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = attest(folder).read_bytes()
    assert attest(folder).read_bytes() == first
    assert attest(folder, time="2026-11-26T13:00:00+01:00").read_bytes() == first
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795694400")
    assert attest(folder, time=None).read_bytes() == first
    assert attest(folder, options=evalstream.Options(strict=True)).read_bytes() != first


def test_ours_and_the_reference_are_verified_in_the_same_pass(folder: Path) -> None:
    attest(folder)
    assert verify(folder).passed
    report = verify(folder, require=["EVALSTREAM_CLAIMS_CONFIRMED", "EVALSTREAM_IDS"])
    assert report.passed
    assert [one.text for one in report.runs[0].checked] == [
        "attestation ok (signed by trusted.pem)"
    ]
    sign_with(folder)
    assert verify(folder).passed


@pytest.mark.parametrize("name", ["run.jsonl", "aggregate.json"])
def test_a_changed_byte_of_a_file_is_refused(folder: Path, name: str) -> None:
    attest(folder)
    data = (folder / name).read_bytes()
    for place in range(0, len(data), 797):
        changed = bytearray(data)
        changed[place] ^= 1
        (folder / name).write_bytes(changed)
        report = verify(folder, aggregate=folder / "aggregate.json", attestation_only=True)
        assert report.counts == {"ES941": 1}, place
        assert report.exit_code == 1


@pytest.mark.parametrize("flip", FLIPS)
def test_a_changed_byte_of_the_statements_is_refused(folder: Path, flip: int) -> None:
    path = attest(folder)
    data, run = path.read_bytes(), RunSummary("run.jsonl", "aggregate.json", "eee")
    run.digests = {
        str(folder / name): hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in ("run.jsonl", "aggregate.json")
    }
    keys = read_trusted_keys([str(folder / "trusted.pem")])
    assert AttestationFile(str(path), keys).verify(run, Options()) == ([], "trusted.pem", "")
    for place in range(0, len(data), 1 if is_deep() else 7):
        changed = bytearray(data)
        changed[place] ^= flip
        path.write_bytes(changed)
        (found,) = AttestationFile(str(path), keys).verify(run, Options())[0]
        assert found.code in {"ES940", "ES941"}, (place, changed[place - 9 : place + 9])


def test_base64_has_one_spelling(folder: Path) -> None:
    found = sign_with(folder)
    sign_with(folder, url_safe=True)
    assert verify(folder).passed
    signature = found["signatures"][0]["sig"]
    for changed in (signature[:-1], f"{signature}=", f" {signature}", signature.replace("=", "A")):
        found["signatures"][0]["sig"] = changed
        (folder / "run.intoto.jsonl").write_bytes(dsse.line(found))
        assert verify(folder, attestation_only=True).counts == {"ES940": 1}, changed


def change(edit: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], bytes]:
    def changed(found: dict[str, Any]) -> bytes:
        edit(found)
        return dsse.line(found)

    return changed


def payload_changed(found: dict[str, Any], old: bytes, new: bytes) -> bytes:
    """Return an envelope, rightly signed, with another payload."""
    payload = base64.b64decode(found["payload"]).replace(old, new)
    return dsse.line(dsse.envelope(payload))


INVALID: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "nothing": lambda _: b"",
    "another text": lambda _: b"{}\n",
    "no JSON": lambda _: b'{"payload": \n',
    "a list": lambda found: b"[" + dsse.line(found).strip() + b"]\n",
    "no signature": change(lambda found: found.update(signatures=[])),
    "many signatures": change(
        lambda found: found["signatures"].extend({"sig": f"A{n:03}"} for n in range(100))
    ),
    "no signatures": change(lambda found: found.pop("signatures")),
    "another member": change(lambda found: found.update(more=1)),
    "a bare statement": lambda found: base64.b64decode(found["payload"]) + b"\n",
    "another type": change(lambda found: found.update(payloadType="application/json")),
    "the same signature twice": change(
        lambda found: found["signatures"].append({**found["signatures"][0]})
    ),
    "the same keyid twice": change(
        lambda found: found["signatures"].append({**found["signatures"][0], "sig": "AAAA"})
    ),
    "the keyid of another key": change(
        lambda found: found["signatures"][0].update(keyid=dsse.keyid(dsse.OTHER_KEY))
    ),
    "the signature of other bytes": change(lambda found: found["signatures"][0].update(sig="AAAA")),
    "a member twice": lambda found: dsse.line(found).replace(b"{", b'{"payload": "", ', 1),
    "another statement": lambda found: payload_changed(found, b"Statement/v1", b"Statement/v0"),
    "another predicate": lambda found: payload_changed(found, b"svr/v0.2", b"svr/v9"),
    "a text for properties": lambda found: payload_changed(
        found, b'["EVALSTREAM_CHECKSUM", "EVALSTREAM_CLAIMS_CONFIRMED"]', b'"EVALSTREAM_CHECKSUM"'
    ),
    "properties of another verifier": lambda found: payload_changed(
        found, b"EVALSTREAM_", b"SLSA_BUILD_"
    ),
    "no property": lambda found: payload_changed(
        found, b'["EVALSTREAM_CHECKSUM", "EVALSTREAM_CLAIMS_CONFIRMED"]', b"[]"
    ),
    "no subject": lambda found: payload_changed(found, b'"subject"', b'"object"'),
    "another digest": lambda found: payload_changed(found, b'"sha256": "', b'"sha256": "A'),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid_statements(folder: Path, case: str) -> None:
    found = sign_with(folder)
    (folder / "run.intoto.jsonl").write_bytes(INVALID[case](found))
    report = verify(folder)
    assert report.counts == {"ES940": 1}
    assert report.exit_code == 1


def test_a_key_that_signs_twice_under_two_names(folder: Path) -> None:
    found = sign_with(folder)
    (one,) = found["signatures"]
    # Ed25519 signs the same bytes alike, so the second signature has a line of its own.
    found["signatures"].append({"sig": one["sig"]})
    (folder / "run.intoto.jsonl").write_bytes(dsse.line(found))
    assert verify(folder).counts == {"ES940": 1}


def test_one_valid_signature_of_a_trusted_key_suffices(folder: Path) -> None:
    found = sign_with(folder)
    others = dsse.envelope(base64.b64decode(found["payload"]), dsse.OTHER_KEY)
    (folder / "run.intoto.jsonl").write_bytes(dsse.line(others))
    assert verify(folder).counts == {"ES942": 1}
    others["signatures"] += found["signatures"]
    (folder / "run.intoto.jsonl").write_bytes(dsse.line(others))
    assert verify(folder).passed
    others["signatures"][1].pop("keyid")
    (folder / "run.intoto.jsonl").write_bytes(dsse.line(others))
    assert verify(folder).passed


def test_another_statement_about_the_run_that_holds_comes_first(folder: Path) -> None:
    ours = attest(folder).read_bytes()
    other = dsse.line(dsse.envelope(payload_of(ours), dsse.OTHER_KEY))
    (folder / "run.intoto.jsonl").write_bytes(other + b"{}\n" + ours)
    assert verify(folder).passed


def test_a_damaged_line_beside_one_that_holds_is_mentioned(folder: Path) -> None:
    ours = attest(folder).read_bytes()
    (folder / "run.intoto.jsonl").write_bytes(ours + b"[]\n")
    report = verify(folder)
    assert report.passed
    checked = report.runs[0].checked[-1]
    words = "damaged line 2: not an envelope, which is one JSON object on a line"
    assert checked.is_ok
    assert checked.text.partition("; ")[2] == words


def test_no_statement_about_the_run(folder: Path) -> None:
    files = {"other.jsonl": b"x", "other.json": b"y"}
    (folder / "run.intoto.jsonl").write_bytes(dsse.line(dsse.envelope(dsse.statement(files))))
    report = verify(folder)
    assert report.counts == {"ES941": 1}
    (found,) = report
    assert found.message.endswith("run.intoto.jsonl has no statement about these files")


def test_a_statement_about_more_files_is_not_about_this_run(folder: Path) -> None:
    attest(folder)
    (folder / "run.intoto.jsonl").rename(folder / "kept")
    (folder / "alone").mkdir()
    shutil.move(folder / "run.jsonl", folder / "alone")
    report = evalstream.check(
        folder / "alone", attestation=folder / "kept", trust=str(folder / "trusted.pem")
    )
    assert report.counts["ES941"] == 1
    assert "aggregate.json, too" in next(one.message for one in report if one.code == "ES941")


def test_a_trusted_statement_about_a_run_that_fails(folder: Path) -> None:
    text = (folder / "aggregate.json").read_text().replace('"score": 0.75', '"score": 0.875')
    (folder / "aggregate.json").write_text(text)
    sign_with(folder)
    report = verify(folder)
    assert report.counts["ES944"] == 1
    assert report.exit_code == 1
    alone = verify(folder, attestation_only=True)
    assert (alone.exit_code, alone.runs[0].verdict, alone.counts) == (0, "unconfirmed", {})
    assert "no row was checked" in str(alone.runs[0].remark)


def test_a_file_that_the_statement_leaves_out(folder: Path) -> None:
    rows = {"run.jsonl": (folder / "run.jsonl").read_bytes()}
    sign_with(folder, dsse.statement(rows))
    report = verify(folder)
    assert report.passed
    (text,) = (one.text for one in report.runs[0].checked if "attestation" in one.text)
    assert text == f"attestation ok (signed by trusted.pem) but not of {folder / 'aggregate.json'}"
    assert verify(folder, require="EVALSTREAM_CHECKSUM").counts == {"ES945": 1}
    assert verify(folder, attestation_only=True).counts == {"ES945": 1}


def test_a_property_that_is_missing(folder: Path) -> None:
    sign_with(folder)
    assert verify(folder, require=["EVALSTREAM_IDS", "EVALSTREAM_CHECKSUM"]).counts == {"ES943": 1}


def ssh_key(folder: Path, name: str = "id") -> str:
    """Make a key with ssh-keygen, and return its public half as the line of a `.pub` file."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name, "-C", "a b"]
    subprocess.run(command, check=True)
    return (folder / f"{name}.pub").read_text()


def test_keys_of_ssh(folder: Path) -> None:
    public, other = ssh_key(folder), ssh_key(folder, "other")
    attest(folder, key=folder / "id")
    signers = folder / "allowed_signers"
    good = (
        public,
        f"alice@example.org {public}",
        f"# mine\n\nalice@example.org,al {public}{other}",
        f'alice@example.org namespaces="git,eval*" {public}',
        f'alice@example.org namespaces="git" {other}bob {public}',
    )
    for text in good:
        signers.write_text(text)
        assert verify(folder, trust=str(signers)).passed, text
    for text, code in ((f"eve {other}", "ES942"),):
        signers.write_text(text)
        assert verify(folder, trust=str(signers)).counts == {code: 1}
    bad = (
        f'alice namespaces="git" {public}',
        f'alice namespaces="*,!evalstream" {public}',
        f'alice "evalstream" {public}',
        f"alice cert-authority {public}",
        f'alice valid-before="20300101" {public}',
        f'alice namespaces="evalstream",valid-before="20300101" {public}',
        "",
        "alice",
        "alice ssh-ed25519 AAAA",
        (folder / "id").read_text(),
    )
    for text in bad:
        signers.write_text(text)
        with pytest.raises(UsageError):
            verify(folder, trust=str(signers))


def test_ssh_keygen_signs_and_verifies_the_payload(folder: Path) -> None:
    public = ssh_key(folder)
    (folder / "payload").write_bytes(payload_of(attest(folder, key=folder / "id").read_bytes()))
    (folder / "allowed_signers").write_text(f"alice@example.org {public}")
    sign = ["ssh-keygen", "-Y", "sign", "-q", "-n", "evalstream", "-f", "id", "payload"]
    subprocess.run(sign, cwd=folder, check=True)
    command = (
        "ssh-keygen -Y verify -f allowed_signers -I alice@example.org -n evalstream -s payload.sig"
    )
    with (folder / "payload").open("rb") as payload:
        done = subprocess.run(command.split(), cwd=folder, stdin=payload, check=False)
    assert done.returncode == 0


def bad_keys(folder: Path) -> dict[str, Path]:
    """Return files that hold no usable private key."""
    made = {
        name: folder / name for name in ("rsa", "locked", "locked-ssh", "public", "text", "none")
    }
    for options in (
        ["genpkey", "-algorithm", "rsa", "-pkeyopt", "rsa_keygen_bits:2048", "-out", made["rsa"]],
        [
            "pkey",
            "-in",
            folder / "key.pem",
            "-aes256",
            "-passout",
            "pass:x",
            "-out",
            made["locked"],
        ],
    ):
        subprocess.run(["openssl", *options], check=True, capture_output=True)
    locked = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", made["locked-ssh"]]
    subprocess.run(locked, check=True)
    made["public"].write_bytes(dsse.public_pem())
    made["text"].write_text("key\n")
    return made


def test_keys_that_cannot_sign_or_be_trusted(folder: Path) -> None:
    output = folder / "run.intoto.jsonl"
    for name, path in bad_keys(folder).items():
        done = run_program("attest", "run.jsonl", "--key", path, "-o", output, cwd=folder)
        assert (done.returncode, done.stdout) == (2, ""), name
        assert str(path) in done.stderr
        assert not output.exists()
    attest(folder)
    for name in ("rsa", "text", "none", "key.pem"):
        with pytest.raises(UsageError):
            verify(folder, trust=str(folder / name))


def test_words_about_keys(folder: Path) -> None:
    keys = bad_keys(folder)
    for name, words in {"locked": "encrypted", "rsa": "Ed25519", "none": "No such file"}.items():
        with pytest.raises(UsageError, match=words):
            evalstream.attest(folder / "run.jsonl", folder / "out", key=keys[name])


def test_a_run_that_does_not_pass_gets_no_statement(folder: Path) -> None:
    output = folder / "out"
    (folder / "run.jsonl").write_bytes(
        (folder / "run.jsonl").read_bytes().replace(b"1.0", b"0.0", 1)
    )
    done = run_program("attest", "run.jsonl", "--key", "key.pem", "-o", "out", cwd=folder)
    assert done.returncode == 1
    assert "out was not written" in done.stderr
    assert not output.exists()
    done = run_program("attest", "gone.jsonl", "--key", "key.pem", "-o", "out", cwd=folder)
    assert done.returncode == 3
    assert not output.exists()


def test_open_claims_need_a_word(folder: Path) -> None:
    document = json.loads((folder / "aggregate.json").read_text())
    (result,) = document["evaluation_results"]
    del result["score_details"]["uncertainty"]["standard_error"]["method"]
    result["score_details"]["uncertainty"]["standard_error"]["value"] = 0.2
    (folder / "aggregate.json").write_text(json.dumps(document))
    found = evalstream.attest(folder / "run.jsonl", folder / "out", key=folder / "key.pem")
    assert found.report.passed
    assert (found.exit_code, found.statements) == (1, 0)
    assert list(found.refusals.values()) == [
        "1 of 4 claims not confirmed (--allow-open attests the others)"
    ]
    assert not (folder / "out").exists()
    properties = json.loads(payload_of(attest(folder, allow_open=True).read_bytes()))["predicate"][
        "properties"
    ]
    assert properties[-1] == "EVALSTREAM_CLAIMS_CONFIRMED_3_OF_4"


def test_logs_of_harnesses_get_no_statement_and_are_named(folder: Path) -> None:
    log = EXAMPLES / "tutorial" / "log"
    found = evalstream.attest(log, folder / "out", key=folder / "key.pem")
    assert set(found.refusals) == {str(path) for path in log.rglob("*.json*")}
    assert not (folder / "out").exists()


def test_outputs_replace_neither_data_nor_keys_nor_foreign_files(folder: Path) -> None:
    for output in ("run.jsonl", "aggregate.json", "key.pem"):
        before = (folder / output).read_bytes()
        for force in ((), ("--force",)):
            options = ("--key", "key.pem", "-o", output, *force)
            done = run_program("attest", "run.jsonl", *options, cwd=folder)
            assert done.returncode == 2, output
            assert (folder / output).read_bytes() == before
    (folder / "notes").write_text("mine\n")
    with pytest.raises(UsageError, match="exists and is not"):
        evalstream.attest(folder / "run.jsonl", folder / "notes", key=folder / "key.pem")
    done = evalstream.attest(
        folder / "run.jsonl", folder / "notes", key=folder / "key.pem", overwrite=True
    )
    assert done.statements == 1


def test_a_folder_has_a_statement_for_each_run(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for name in ("0.3.0", "0.3.0-two-results"):
        shutil.copytree(PAIRS / name, store / name)
    (tmp_path / "key.pem").write_bytes(dsse.private_pem())
    (tmp_path / "trusted.pem").write_bytes(dsse.public_pem())
    output = tmp_path / "all.intoto.jsonl"
    found = evalstream.attest(store, output, key=tmp_path / "key.pem", time=TIME, allow_open=True)
    assert found.statements == 2
    lines = output.read_bytes().splitlines()
    names = [[one["name"] for one in json.loads(payload_of(one))["subject"]] for one in lines]
    assert [one[0].partition("/")[0] for one in names] == ["0.3.0", "0.3.0-two-results"]
    for options in ({}, {"jobs": 1}, {"attestation_only": True}):
        report = evalstream.check(
            store, attestation=output, trust=str(tmp_path / "trusted.pem"), **options
        )
        assert report.exit_code == 0
        assert not report.counts.keys() & {"ES940", "ES941"}
    # Beside the data, the file does not count as data that was not checked.
    for name, content in {
        "a.intoto.jsonl": output.read_bytes(),
        "b.json": payload_of(lines[0]),
    }.items():
        (store / name).write_bytes(content)
    beside = evalstream.check(store, attestation=output, trust=str(tmp_path / "trusted.pem"))
    assert (beside.exit_code, beside.totals.verdicts) == (0, {"passed": 2})
    output.write_bytes(lines[0] + b"\n")
    report = evalstream.check(store, attestation=output, trust=str(tmp_path / "trusted.pem"))
    assert (report.exit_code, report.counts["ES941"]) == (1, 1)


def test_an_array_of_rows(folder: Path) -> None:
    rows = [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]
    (folder / "run.jsonl").write_text(json.dumps(rows, indent=1))
    aggregate = json.loads((folder / "aggregate.json").read_text())
    data = (folder / "run.jsonl").read_bytes()
    checksum = hashlib.sha256(data).hexdigest()
    aggregate["detailed_evaluation_results"] |= {"checksum": checksum, "format": "json"}
    (folder / "aggregate.json").write_text(json.dumps(aggregate))
    statement = json.loads(payload_of(attest(folder).read_bytes()))
    (found,) = (one for one in statement["subject"] if one["name"] == "run.jsonl")
    assert found["digest"]["sha256"] == hashlib.sha256(data).hexdigest()


def test_properties_say_no_more_than_what_was_found() -> None:
    run = RunSummary("run.jsonl", "aggregate.json", "eee", version="0.3.0", rows=2)
    run.verified = Verified(checksum=True, row_count=None, hashes=1, rows=2)
    found = {"EVALSTREAM_SCHEMA_0.3.0", "EVALSTREAM_CHECKSUM", "EVALSTREAM_IDS"}
    assert {*list_properties(run, "auto")} == found
    run.count("ES211", evalstream.Severity.INFO, 1)
    assert {*list_properties(run, "auto")} == found - {"EVALSTREAM_SCHEMA_0.3.0"}
    run.count("ES604", evalstream.Severity.WARNING, 1)
    run.verified = Verified(checksum=False, row_count=False, hashes=2, rows=2)
    assert {*list_properties(run, "auto")} == {"EVALSTREAM_SAMPLE_HASHES"}
    run.claims = (JudgedClaim("/score", "score", "mean", 0.7, 0.7, State.ROUNDED, None, 2, True),)
    assert "EVALSTREAM_CLAIMS_CONFIRMED_0_OF_1" in list_properties(run, "auto")


def test_unsigned_statements_are_for_other_programs(folder: Path) -> None:
    output = attest(folder, key=None, unsigned=True)
    payload = output.read_bytes().rstrip(b"\n")
    assert verify(folder).counts == {"ES940": 1}
    output.write_bytes(dsse.line(dsse.envelope(payload)))
    assert verify(folder).passed
    for options in ({"unsigned": True}, {"key": None}):
        with pytest.raises(UsageError, match="either key"):
            attest(folder, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"select": ("ES4",)},
        {"ignore": ("ES801",)},
        {"per_file_ignores": ("*:ES801",)},
        {"schema": "{}"},
        {"skip_noise": True},
        {"baseline": "x"},
        {"attestation": "x", "trust": ("y",)},
    ],
)
def test_an_attestation_is_of_a_whole_check(folder: Path, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="whole check"):
        attest(folder, options=evalstream.Options(**options))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"trust": ()}, "requires trust"),
        ({"attestation": None}, "requires attestation"),
        ({"attestation": None, "trust": (), "require": "X"}, "requires attestation"),
        ({"ledger": "ledger"}, "cannot be combined"),
        ({"write_baseline": "b"}, "cannot be combined"),
        ({"tee": "copy"}, "cannot be combined"),
        ({"ignore": ("ES940", "subject-differs")}, "leave out rules"),
        ({"select": "ES942", "attestation_only": True}, "leave out rules"),
        ({"strict": True, "attestation_only": True}, "checks no rows"),
        ({"trust": "gone.pem"}, "No such file"),
        ({"attestation": "gone.jsonl"}, "No such file"),
        ({"attestation": "."}, "not a file"),
    ],
)
def test_calls_that_make_no_sense(folder: Path, settings: dict[str, Any], words: str) -> None:
    attest(folder)
    with pytest.raises(UsageError, match=words):
        verify(folder, **settings)


@pytest.mark.parametrize("time", ["yesterday", "2026-11-26T12:00:00", "", "2026-13-01T00:00:00Z"])
def test_times_that_are_none(folder: Path, time: str) -> None:
    with pytest.raises(UsageError, match="not a time"):
        attest(folder, time=time)


def test_compressed_rows_are_attested_as_they_are_stored(folder: Path) -> None:
    subprocess.run(["gzip", "-n", folder / "run.jsonl"], check=True)
    rows, output = folder / "run.jsonl.gz", folder / "run.intoto.jsonl"
    found = evalstream.attest(
        rows, output, key=folder / "key.pem", aggregate=folder / "aggregate.json", time=TIME
    )
    assert found.statements == 1
    subjects = json.loads(payload_of(output.read_bytes()))["subject"]
    sums = subprocess.run(["sha256sum", rows], capture_output=True, text=True, check=True).stdout
    assert sums.split()[0] == subjects[1]["digest"]["sha256"]


def test_other_formats_are_not_taken_for_attested(folder: Path) -> None:
    attest(folder)
    other = EXAMPLES / "harpia"
    report = evalstream.check(
        other, attestation=folder / "run.intoto.jsonl", trust=str(folder / "trusted.pem")
    )
    assert report.exit_code == 3
    found = evalstream.attest(other, folder / "out", key=folder / "key.pem")
    assert (found.exit_code, found.statements) == (1, 0)


def test_a_pipe_is_no_file_that_can_be_read_again(folder: Path) -> None:
    attest(folder)
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    for name in ("attestation", "trust"):
        with pytest.raises(UsageError, match="not a file"):
            verify(folder, **{name: str(pipe)})


def test_without_the_library_the_message_says_how_to_install_it(folder: Path) -> None:
    (folder / "cryptography.py").write_text("raise ImportError\n")
    without = environment()
    without[MODULES] = f"{folder}{os.pathsep}{without[MODULES]}"
    done = run_program(
        "attest", "run.jsonl", "--key", "key.pem", "-o", "o", cwd=folder, env=without
    )
    assert done.returncode == 3
    assert "attestations need cryptography: " in done.stderr
    assert "[attest]" in done.stderr
    done = run_program("attest", "run.jsonl", "--unsigned", "-o", "o", cwd=folder, env=without)
    assert done.returncode == 0
