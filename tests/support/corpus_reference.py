"""Says what is wrong with a pair by the book: slow, plain, and without any code of the package.

It knows the errors that `COVERED` names, and the figures of plain means. Rows are parsed by the
standard library, schemas are judged by python-jsonschema, digests are those of hashlib.
"""

import hashlib
import json
import re
import statistics
from collections import defaultdict
from decimal import ROUND_HALF_EVEN, Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator
from paths import SCHEMAS

Object = dict[str, Any]
Places = dict[str, list[int | str]]

BY_KEYWORD = {
    "required": "ES201",
    "type": "ES202",
    "enum": "ES203",
    "const": "ES203",
    "additionalProperties": "ES205",
    "minimum": "ES206",
    "maximum": "ES206",
    "minItems": "ES207",
    "pattern": "ES213",
}
RECIPES = {
    "concat": lambda raw, texts: raw + "".join(texts),
    "concat-first": lambda raw, texts: raw + (texts[0] if texts else ""),
    "json-str": lambda raw, texts: json.dumps(
        {"raw": raw, "reference": "".join(texts)}, sort_keys=True
    ),
    "json-list": lambda raw, texts: json.dumps(
        {"raw": raw, "reference": texts}, sort_keys=True, separators=(",", ":")
    ),
    "json-list-spaced": lambda raw, texts: json.dumps(
        {"raw": raw, "reference": texts}, sort_keys=True
    ),
}
"""What each recipe hashes, by the notes of the format."""

MEANS = ("acc", "acc_norm", "accuracy", "all", "exact_match", "mean")
SCHEMA_CODES = {*BY_KEYWORD.values(), "ES204", "ES208", "ES209", "ES210", "ES211", "ES212", "ES214"}
COVERED = {
    *("ES101", "ES102", "ES103", "ES104", "ES105", "ES106", "ES107", "ES108", "ES109", "ES110"),
    *("ES111", "ES112", "ES114", "ES215", "ES305", "ES308", "ES401", "ES403", "ES404", "ES405"),
    *("ES407", "ES408", "ES409", "ES410", "ES501", "ES502", "ES503", "ES504", "ES506", "ES508"),
    *("ES601", "ES602", "ES603", "ES606", "ES701", "ES702", "ES801", "ES802", "ES803", "ES808"),
    *SCHEMA_CODES,
}
"""The codes that the reference knows; of the schema's, it says keyword and place as well."""

HARMLESS = {"ES102", "ES110", "ES111", "ES112", "ES114", "ES506", "ES508"}
"""Those that fail no run."""


class Duplicate(ValueError):
    """A key occurs twice."""


class NotFinite(ValueError):
    """A number is not finite."""


def parse(text: str) -> Any:
    """Parse JSON, and refuse repeated keys and numbers that are not finite."""

    def pairs(members: list[tuple[str, Any]]) -> Object:
        if len(dict(members)) != len(members):
            raise Duplicate
        return dict(members)

    def number(digits: str) -> float:
        value = float(digits)
        if value in {float("inf"), float("-inf")}:
            raise NotFinite
        return value

    def constant(_: str) -> Any:
        raise NotFinite

    return json.loads(text, object_pairs_hook=pairs, parse_float=number, parse_constant=constant)


def text_fault(line: bytes, *, is_torn: bool) -> str | None:
    """Return the code of what keeps a line from being a row."""
    if re.search(rb"[\0-\x08\x0b\x0c\x0e-\x1f]", line):
        return "ES106"
    try:
        document = parse(line.decode())
    except UnicodeDecodeError:
        return "ES101"
    except Duplicate:
        return "ES107"
    except NotFinite:
        return "ES108"
    except ValueError:
        if is_torn:
            return "ES104"
        return "ES105" if re.search(rb'.\{"schema_version": ', line) else "ES103"
    return None if isinstance(document, dict) else "ES109"


@lru_cache
def validator(version: str, kind: str) -> Draft7Validator:
    """Return the validator of one schema."""
    path = SCHEMAS / "eee" / version / f"{kind}.schema.json"
    return Draft7Validator(json.loads(path.read_bytes()))


def pointer(path: Any) -> str:
    """Write a place as a JSON Pointer."""
    return "".join(f"/{str(one).replace('~', '~0').replace('/', '~1')}" for one in path)


def schema_errors(document: Any, version: str, kind: str) -> list[list[str]]:
    """Return place and keyword of each breach."""
    errors = validator(version, kind).iter_errors(document)
    found = {(pointer(error.absolute_path), str(error.validator)) for error in errors}
    return [list(one) for one in sorted(found)]


class Run:
    """A pair, and what is wrong with it."""

    def __init__(self, rows: Path, aggregate: Path, version: str | None = None) -> None:
        self.data = rows.read_bytes()
        self.aggregate: Object = json.loads(aggregate.read_bytes())
        self.results: list[Object] = self.aggregate["evaluation_results"]
        self.places: dict[str, list[int | str]] = defaultdict(list)
        self.rows: dict[int, Object] = {}
        self.unscored: set[int] = set()
        self.count = 0
        self._read()
        declared = self.aggregate["schema_version"]
        self.is_known = (SCHEMAS / "eee" / declared).is_dir()
        self.version = version or declared
        self.schema: Object = {"rows": {}, "aggregate": []}
        self._judge_by_schema()

    def note(self, code: str, place: int | str) -> None:
        """Note something wrong."""
        self.places[code].append(place)

    def _read(self) -> None:
        data = self.data.removeprefix(b"\xef\xbb\xbf")
        if data != self.data:
            self.note("ES102", 1)
        lines = data.split(b"\n")
        torn = len(lines) if lines[-1] else 0
        for number, line in enumerate(lines, 1):
            if line.strip():
                self.count += 1
                self._read_line(number, line, is_torn=number == torn)
            elif number < len(lines):
                self.note("ES110", number)
        if not self.count:
            self.note("ES504", "")

    def _read_line(self, number: int, line: bytes, *, is_torn: bool) -> None:
        if line.endswith(b"\r") and not self.places["ES112"]:
            self.note("ES112", "")
        fault = text_fault(line, is_torn=is_torn)
        if fault:
            self.note(fault, number)
            # Rows that can be parsed all the same count for everything but figures.
            if fault not in {"ES107", "ES108"}:
                return
            self.unscored.add(number)
        elif is_torn:
            self.note("ES111", number)
        if re.search(rb"\\ud[89a-f]..(?!\\ud[c-f])", line, re.IGNORECASE):
            self.note("ES114", number)
        self.rows[number] = json.loads(line)

    def _judge_by_schema(self) -> None:
        for number, row in self.rows.items():
            declared = str(row.get("schema_version"))
            if not (SCHEMAS / "eee" / declared).is_dir():
                self.note("ES215", number)
                declared = self.version
            found = schema_errors(
                row, self.version if "+" in self.version else declared, "instance"
            )
            if found:
                self.schema["rows"][str(number)] = found
        if self.is_known:
            kept = self.aggregate["schema_version"]
            self.schema["aggregate"] = schema_errors(self.aggregate, kept, "aggregate")

    def judge(self) -> Object:
        """Return everything that is expected of the pair."""
        recipes = self._hashes()
        self._samples()
        self._links()
        self._log()
        self._seal()
        self._bounds()
        figures = self._figures()
        confirmed = any(
            state in {"confirmed", "rounded"} and at.endswith("/score")
            for at, (state, _) in figures.items()
        )
        wrong = {code for code, found in self.places.items() if found}
        fails = bool(wrong - HARMLESS or self.schema["rows"] or self.schema["aggregate"])
        return {
            "verdict": "failed" if fails else "passed" if confirmed else "unconfirmed",
            "rows": self.count,
            "bytes": len(self.data),
            "sha256": hashlib.sha256(self.data).hexdigest(),
            "md5": hashlib.md5(self.data).hexdigest(),
            "recipes": recipes,
            "places": {
                code: sorted(found, key=str) for code, found in sorted(self.places.items()) if found
            },
            "schema": self.schema,
            "figures": figures,
        }

    def _hashes(self) -> list[str]:
        """Note wrong hashes; return the recipes that explain the most rows."""
        algorithm = self.aggregate["detailed_evaluation_results"].get("hash_algorithm", "sha256")
        size = 2 * hashlib.new(algorithm).digest_size
        explained: dict[str, set[int]] = {name: set() for name in RECIPES}
        hashed = set()
        for number, row in self.rows.items():
            stored = row.get("sample_hash")
            if not isinstance(stored, str):
                continue
            if not re.fullmatch(f"[0-9a-f]{{{size}}}", stored):
                self.note("ES405", number)
                continue
            hashed.add(number)
            raw, given = row["input"]["raw"], row["input"]["reference"]
            texts = [given] if isinstance(given, str) else given
            for name, text_of in RECIPES.items():
                text = text_of(raw, texts).encode("utf-8", "surrogatepass")
                if hashlib.new(algorithm, text).hexdigest() == stored:
                    explained[name].add(number)
        most = max(map(len, explained.values()))
        chosen = [name for name, found in explained.items() if found and len(found) == most]
        known = set().union(*explained.values())
        if hashed and not known:
            self.note("ES404", "")
        elif len(known) > most:
            self.note("ES403", "")
            return []
        elif known:
            for number in sorted(hashed - known):
                self.note("ES401", number)
        return chosen

    def _samples(self) -> None:
        lines = self.data.split(b"\n")
        seen_lines: set[bytes] = set()
        seen: set[Any] = set()
        inputs: dict[Any, set[str]] = defaultdict(set)
        for number, row in self.rows.items():
            line = lines[number - 1]
            repeat = (row.get("metadata") or {}).get("epoch")
            # Without a result id, several results may have the same sample.
            owner = (row["evaluation_id"], row.get("evaluation_result_id"), row["evaluation_name"])
            sample = row.get("sample_id")
            if line in seen_lines:
                self.note("ES408", number)
            elif sample is not None and (owner, sample, repeat) in seen and repeat is not None:
                self.note("ES409", number)
            seen_lines.add(line)
            seen.add((owner, sample, repeat))
            given = row["input"]["reference"]
            text = json.dumps([row["input"]["raw"], given])
            known = inputs[row["evaluation_id"], sample]
            if known and text not in known and sample is not None:
                self.note("ES407", number)
            known.add(text)

    def _log(self) -> None:
        """Hold rows against what the converter of lm-eval keeps of its log in their metadata."""
        agreeing = set()
        for number, row in self.rows.items():
            kept, given = row.get("metadata") or {}, row["input"]
            texts = given["reference"]
            texts = [texts] if isinstance(texts, str) else texts
            hashed = {"prompt_hash": given["raw"]}
            if len(texts) == 1:
                hashed["target_hash"] = texts[0]
            for name, text in hashed.items():
                logged = kept.get(name)
                if given.get("formatted") is None and re.fullmatch("[0-9a-f]{64}", logged or ""):
                    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
                    agreeing.add(digest.hexdigest() == logged)
            named, score = row.get("evaluation_result_id"), row["evaluation"]["score"]
            scores = kept.get("lm_eval_metrics") or {}
            scores = json.loads(scores) if isinstance(scores, str) else scores
            logged = [scores.get(named.split(":")[0])] if named else list(scores.values())
            numbers = [one for one in logged if _is_number(one)]
            states = {_state(score, [one, one * 100]) for one in numbers if _is_number(score)}
            if states == {"refuted"}:
                self.note("ES808", number)
        if agreeing == {True, False}:
            self.note("ES410", "")

    def _links(self) -> None:
        ids = [one.get("evaluation_result_id") for one in self.results]
        for number, row in self.rows.items():
            if row["evaluation_id"] != self.aggregate["evaluation_id"]:
                self.note("ES601", number)
            if row["model_id"] != self.aggregate["model_info"]["id"]:
                self.note("ES602", number)
            named = row.get("evaluation_result_id")
            if named is not None and any(ids) and named not in ids:
                self.note("ES603", number)
            self._judge_score(number, row)
            self._judge_calls(number, row)
        for at, one in enumerate(ids):
            if one is not None and one in ids[:at]:
                self.note("ES606", f"/evaluation_results/{at}/evaluation_result_id")

    def _judge_score(self, number: int, row: Object) -> None:
        named, score = row.get("evaluation_result_id"), row["evaluation"]["score"]
        for one in self.results:
            low, high = _bounds_of(one)
            is_own = named is not None and one.get("evaluation_result_id") == named
            if is_own and _is_number(score) and low <= high and not low <= score <= high:
                self.note("ES308", number)

    def _judge_calls(self, number: int, row: Object) -> None:
        calls: set[str] = set()
        for turn in row.get("messages") or row.get("interactions") or ():
            asked = turn.get("tool_call_id") or []
            for one in [asked] if isinstance(asked, str) else asked:
                if one not in calls:
                    self.note("ES305", number)
            calls |= {one["id"] for one in turn.get("tool_calls") or ()}

    def _seal(self) -> None:
        seal = self.aggregate["detailed_evaluation_results"]
        at = "/detailed_evaluation_results"
        checksum, total = seal.get("checksum"), seal.get("total_rows")
        algorithm = seal.get("hash_algorithm", "sha256")
        if checksum is None or total is None:
            self.note("ES506", at)
        if algorithm == "md5":
            self.note("ES508", f"{at}/hash_algorithm")
        digest = hashlib.new(algorithm, self.data).hexdigest()
        if checksum is not None and not re.fullmatch(f"[0-9a-f]{{{len(digest)}}}", checksum):
            self.note("ES502", f"{at}/checksum")
        elif checksum is not None and checksum != digest:
            self.note("ES501", f"{at}/checksum")
        if total is not None and total != self.count:
            self.note("ES503", f"{at}/total_rows")

    def _bounds(self) -> None:
        for at, one in enumerate(self.results):
            where = f"/evaluation_results/{at}"
            low, high = _bounds_of(one)
            if low > high:
                self.note("ES701", f"{where}/metric_config/min_score")
            elif not low <= one["score_details"]["score"] <= high:
                self.note("ES701", f"{where}/score_details/score")
            error = _standard_error(one)
            if error is not None and error < 0:
                self.note("ES702", f"{where}/score_details/uncertainty/standard_error/value")

    def _figures(self) -> dict[str, list[Any]]:
        """Return state and value of each claim about a plain mean."""
        figures: dict[str, list[Any]] = {}
        for at, result in enumerate(self.results):
            metric = result["metric_config"]
            name = metric.get("metric_name") or metric["evaluation_description"].split()[0]
            if name not in MEANS or metric.get("score_type", "continuous") != "continuous":
                continue
            where = f"/evaluation_results/{at}/score_details"
            claims = {f"{where}/score": result["score_details"]["score"]}
            uncertainty = result["score_details"].get("uncertainty") or {}
            if "num_samples" in uncertainty:
                claims[f"{where}/uncertainty/num_samples"] = uncertainty["num_samples"]
            if _standard_error(result) is not None:
                claims[f"{where}/uncertainty/standard_error/value"] = _standard_error(result)
            made = self._judge_result(result, claims)
            for place, (state, value) in self._doubt(result, made).items():
                figures[place] = [state, value]
                code = {"score": "ES801", "num_samples": "ES802"}.get(place.split("/")[-1], "ES803")
                if state == "refuted":
                    self.note(code, place)
        return figures

    def _judge_result(self, result: Object, claims: Object) -> dict[str, tuple[str, Any]]:
        everything_open = dict.fromkeys(claims, ("open", None))
        joined, is_sure = self._joined(result)
        samples: dict[Any, list[float]] = defaultdict(list)
        for number in joined:
            row = self.rows[number]
            score = row["evaluation"]["score"]
            if number in self.unscored or not _is_number(score):
                return everything_open
            samples[row.get("sample_id"), str(row["input"])].append(score)
        if not samples or len(self.rows) < self.count:
            return everything_open
        means = [statistics.fmean(one) for one in samples.values()]
        scores = [one for found in samples.values() for one in found]
        mean, errors, counts = (
            statistics.fmean(scores),
            [_error_of(means)],
            [len(means), len(scores)],
        )
        if not all(len(set(one)) == 1 for one in samples.values()) or len(means) == len(scores):
            errors.append(_error_of(scores))
        is_uneven = len({len(one) for one in samples.values()}) > 1
        missing = max(0, next((n for at, n in claims.items() if "num" in at), 0) - len(scores))
        made: dict[str, tuple[str, Any]] = {}
        for place, claimed in claims.items():
            if place.endswith("/score"):
                state, value = _state(claimed, [mean]), mean
                if missing and state == "refuted" and _is_reachable(result, scores, missing):
                    state = "open"
            elif place.endswith("/num_samples"):
                state = "confirmed" if claimed in counts else "open" if missing else "refuted"
                value = min(counts, key=lambda one: abs(one - claimed))
            else:
                state, value = _state(claimed, errors), errors[0]
                if is_uneven or (missing and state == "refuted"):
                    state, value = "open", None
            made[place] = state, value
        is_met = made[next(iter(claims))][0] in {"confirmed", "rounded"}
        return made if is_sure or is_met else everything_open

    def _doubt(self, result: Object, made: dict[str, tuple[str, Any]]) -> dict[str, Any]:
        """Leave claims open that hold where rows without an id may be of their result, too."""
        name, names = result["evaluation_name"], [one["evaluation_name"] for one in self.results]
        ids = [row.get("evaluation_result_id") for row in self.rows.values()]
        of_name = [
            row["evaluation_name"] == name and not row.get("error") for row in self.rows.values()
        ]
        has_more = (
            names.count(name) > 1 and any(ids) and (None, True) in zip(ids, of_name, strict=True)
        )
        return {
            place: ("open", None)
            if has_more and state in {"confirmed", "rounded"}
            else (state, value)
            for place, (state, value) in made.items()
        }

    def _joined(self, result: Object) -> tuple[list[int], bool]:
        """Return the rows of a result, and whether no other result could have them."""
        rows = self.rows
        named, name = result.get("evaluation_result_id"), result["evaluation_name"]
        if named is not None and any(row.get("evaluation_result_id") for row in rows.values()):
            if [one.get("evaluation_result_id") for one in self.results].count(named) > 1:
                return [], False
            found = [at for at, row in rows.items() if row.get("evaluation_result_id") == named]
            return found, True
        if len(self.results) == 1:
            return list(rows), True
        found = [at for at, row in rows.items() if row["evaluation_name"] == name]
        return found, [one["evaluation_name"] for one in self.results].count(name) == 1


def _is_reachable(result: Object, scores: list[float], missing: int) -> bool:
    """Tell whether missing samples could make the claimed score of known ones."""
    low, high = _bounds_of(result)
    total = result["score_details"]["score"] * (len(scores) + missing)
    return bool(sum(scores) + missing * low <= total <= sum(scores) + missing * high)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def _bounds_of(result: Object) -> tuple[float, float]:
    metric = result["metric_config"]
    low, high = metric.get("min_score"), metric.get("max_score")
    return low if _is_number(low) else -1e308, high if _is_number(high) else 1e308


def _standard_error(result: Object) -> Any:
    uncertainty = result["score_details"].get("uncertainty") or {}
    error = uncertainty.get("standard_error")
    return error.get("value") if isinstance(error, dict) else None


def _error_of(values: list[float]) -> float | None:
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0


def _state(claimed: float, values: list[float | None]) -> str:
    """Return what values say about a claim."""
    known = [value for value in values if value is not None]
    if not known:
        return "open"
    digits = Decimal(repr(claimed))
    for value in known:
        if abs(value - claimed) <= 1e-9 * max(abs(value), abs(claimed)):
            return "confirmed"
        rounded = Decimal(repr(value)).quantize(
            Decimal((0, (1,), digits.as_tuple().exponent)), ROUND_HALF_EVEN
        )
        if rounded == digits:
            significant = len(digits.as_tuple().digits)
            return "confirmed" if significant >= 3 else "rounded"
    return "refuted"


def expect(rows: Path, aggregate: Path, version: str | None = None) -> Object:
    """Return what is expected of a pair."""
    return Run(rows, aggregate, version).judge()
