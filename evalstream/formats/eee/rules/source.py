"""ES65: rules about the harness log that a run was converted from."""

from __future__ import annotations

from typing import Final

from evalstream.model.finding import Severity
from evalstream.rules.base import Rule

ES650: Final = Rule(
    "ES650",
    "source-sample-missing",
    Severity.ERROR,
    "a sample of the log has no row",
    """
    What it finds: a sample of the log named with `--source` that no row has. Samples are told apart
    by their id and their epoch (Inspect) or filter (lm-eval). If rows name results with
    evaluation_result_id, each sample needs a row for every result of its scorers.

    Why it matters: a run that leaves samples out claims a score that the model did not reach.

    How to fix: Add the rows that the converter made of these samples.

    Bad:
        log:
          {"samples": [{"id": "arith-009"}]}

    Good:
        log:
          {"samples": [{"id": "arith-008"}]}
    """,
    needs="source",
)

ES651: Final = Rule(
    "ES651",
    "source-sample-unknown",
    Severity.ERROR,
    "the log has no sample for a row",
    """
    What it finds: a row whose sample, epoch, filter or result is not in the log named with
    `--source`, or that repeats a sample more often than the log has it.

    Why it matters: the harness did not write such a sample, so the row does not come from this run.

    How to fix: Name the log that the run was converted from, or convert it again.

    Bad:
        row 8:
          {"sample_id": "arith-008"}
        log:
          {"samples": [{"id": "arith-007"}]}

    Good:
        row 8:
          {"sample_id": "arith-008"}
        log:
          {"samples": [{"id": "arith-007"}, {"id": "arith-008"}]}
    """,
    needs="source",
)

ES652: Final = Rule(
    "ES652",
    "source-input-differs",
    Severity.ERROR,
    "input, reference or choices of a row are not those of the log",
    """
    What it finds: `input.raw`, `input.formatted`, `input.reference` or `input.choices` of a row that
    differs from the sample in the log named with `--source`. Spellings that converters are known to write are equal:
    of a chat the user's messages, of an attachment its text or its key.

    Why it matters: the score was given for another question or another target.

    How to fix: Restore the inputs from the log.

    Bad:
        row 1:
          {"input": {"reference": "5"}}
        log:
          {"samples": [{"id": "arith-001", "target": "6"}]}

    Good:
        row 1:
          {"input": {"reference": "5"}}
        log:
          {"samples": [{"id": "arith-001", "target": "5"}]}
    """,
    expects_data=True,
    needs="source",
)

ES653: Final = Rule(
    "ES653",
    "source-output-differs",
    Severity.ERROR,
    "the output or a message of a row is not that of the log",
    """
    What it finds: `output.raw`, reasoning, an extracted value, or a message of a row with its tool
    calls that differs from the sample in the log named with `--source`. The output of the log is the model's response, or the answer or the explanation
    of a scorer.

    Why it matters: the row shows an answer that the model did not give.

    How to fix: Restore the outputs from the log.

    Bad:
        row 1:
          {"output": {"raw": "The answer is 5."}}
        log:
          {"samples": [{"output": {"completion": "The answer is 6."}}]}

    Good:
        row 1:
          {"output": {"raw": "The answer is 5."}}
        log:
          {"samples": [{"output": {"completion": "The answer is 5."}}]}
    """,
    expects_data=True,
    needs="source",
)

ES654: Final = Rule(
    "ES654",
    "source-score-differs",
    Severity.ERROR,
    "the score of a row is not that of the log",
    """
    What it finds: `evaluation.score` of a row that differs from the score in the log named with
    `--source`: that of the metric or scorer which evaluation_result_id names, else of the first
    one. Letters and words count as Inspect counts them (C 1, P 0.5, I and N 0). With several
    epochs, either all rows have the score of their own epoch, or all have the reduced score.

    Why it matters: the figures of the run follow from its scores.

    How to fix: Restore the scores from the log.

    Bad:
        row 1:
          {"evaluation": {"score": 1.0}}
        log:
          {"samples": [{"id": "arith-001", "scores": {"match": {"value": "I"}}}]}

    Good:
        row 1:
          {"evaluation": {"score": 1.0}}
        log:
          {"samples": [{"id": "arith-001", "scores": {"match": {"value": "C"}}}]}
    """,
    needs="source",
)

ES655: Final = Rule(
    "ES655",
    "source-score-replaced",
    Severity.WARNING,
    "the score of a row was made by the converter, not by a scorer of the log",
    """
    What it finds: a score that is not in the log named with `--source`, but which a converter makes
    up: 1 where the output is one of the references, else 0. Converters before 0.2.2 do so with
    every sample of Inspect; the run is then incomplete. Later ones do so where the log has no
    number: such a finding is an info.

    Why it matters: the score in the log may be another one.

    How to fix: Convert logs of Inspect with a converter from 0.2.2 on. No converter up to 0.3.0 writes
    a sample without a number as its score correctly: take these rows out of the means.

    Bad:
        row 5:
          {"schema_version": "0.2.0", "evaluation": {"score": 0.0}}
        log:
          {"samples": [{"id": "arith-005", "scores": {"match": {"value": "C"}}}]}

    Good:
        row 5:
          {"schema_version": "0.2.0", "evaluation": {"score": 0.0}}
        log:
          {"samples": [{"id": "arith-005", "scores": {"match": {"value": "I"}}}]}
    """,
    needs="source",
)

ES656: Final = Rule(
    "ES656",
    "source-result-differs",
    Severity.ERROR,
    "a figure of a result is not that of the log",
    """
    What it finds: a score, a standard error, a standard deviation or a number of samples in the
    aggregate that differs from the results in the log named with `--source`. A figure that the log
    does not have is not compared.

    Why it matters: these are the figures that are published.

    How to fix: Restore the figures from the results of the log.

    Bad:
        aggregate:
          {"evaluation_results": [{"score_details": {"score": 0.75}}]}
        log:
          {"results": {"scores": [{"metrics": {"accuracy": {"value": 0.5}}}]}}

    Good:
        aggregate:
          {"evaluation_results": [{"score_details": {"score": 0.75}}]}
        log:
          {"results": {"scores": [{"metrics": {"accuracy": {"value": 0.75}}}]}}
    """,
    about_aggregate=True,
    needs="source",
)

ES657: Final = Rule(
    "ES657",
    "source-results-differ",
    Severity.ERROR,
    "the aggregate lacks a result of the log, or has another one",
    """
    What it finds: a result of the log named with `--source` that the aggregate does not have, or one
    that the log does not have. Standard errors and deviations may be missing: converters write them
    as the uncertainty of other results.

    Why it matters: a result that is left out may be the worse one.

    How to fix: Restore the results from the log, each with its rows.

    Bad:
        aggregate:
          {"evaluation_results": [{"evaluation_name": "tiny-arithmetic"}]}
        log:
          {"results": {"scores": [{"metrics": {"f1": {"name": "f1", "value": 0.5}}}]}}

    Good:
        aggregate:
          {"evaluation_results": [{"evaluation_name": "tiny-arithmetic"}]}
        log:
          {"results": {"scores": [{"metrics": {"accuracy": {"name": "accuracy"}}}]}}
    """,
    about_aggregate=True,
    needs="source",
)

ES658: Final = Rule(
    "ES658",
    "source-model-differs",
    Severity.ERROR,
    "the model is not that of the log",
    """
    What it finds: a model_info.id whose name is not that of the model in the log named with
    `--source`. Of a log of Inspect the part before the name is not compared: converters derive the
    developer from the host.

    Why it matters: the scores are those of another model.

    How to fix: Name the model of the log, or the log of this model.

    Bad:
        aggregate:
          {"model_info": {"id": "acme/acorn-7b"}}
        log:
          {"eval": {"model": "acme/acorn-9b"}}

    Good:
        aggregate:
          {"model_info": {"id": "acme/acorn-7b"}}
        log:
          {"eval": {"model": "acme/acorn-7b"}}
    """,
    about_aggregate=True,
    needs="source",
)

ES659: Final = Rule(
    "ES659",
    "source-setting-differs",
    Severity.ERROR,
    "data set, task, time, metric, direction or a setting is not that of the log",
    """
    What it finds: in a result, source_data, evaluation_name, evaluation_timestamp, metric_name,
    lower_is_better or generation_config that differ from the log named with `--source`; in the
    aggregate, evaluation_timestamp, the version of the harness in eval_library, and in model_info
    the arguments, the revision and the type of the model. What only one of them states is not
    compared (ES660). Names that converters are known to derive are equal: of a data
    set its path, the last part of that, and the task.

    Why it matters: the figures are right, but for another data set, metric or setting.

    How to fix: State what the log states.

    Bad:
        aggregate:
          {
            "evaluation_results": [
              {"generation_config": {"generation_args": {"temperature": 0.0}}}
            ]
          }
        log:
          {"eval": {"model_generate_config": {"temperature": 1.0}}}

    Good:
        aggregate:
          {
            "evaluation_results": [
              {"generation_config": {"generation_args": {"temperature": 0.0}}}
            ]
          }
        log:
          {"eval": {"model_generate_config": {"temperature": 0.0}}}
    """,
    about_aggregate=True,
    needs="source",
)

NOT_STATED: Final = "cannot be compared: the log does not state it in a known form"

ES660: Final = Rule(
    "ES660",
    "source-member-uncompared",
    Severity.WARNING,
    "a member cannot be compared with the log",
    """
    What it finds: a member of the rows, or of source_data and generation_config of results, for
    which the log named with `--source` has no value, or none in a form that converters are known to
    write. There is one finding for each member, with the number of rows or results.

    Why it matters: the log is the only witness, and it says nothing of this member. The verdict
    names what was compared.

    How to fix: Nothing, if another source confirms the member. Otherwise leave it out.

    Bad:
        row 1:
          {"metadata": {"topic": "sums"}}
        log:
          {"samples": [{"id": "arith-001", "epoch": 1}]}

    Good:
        row 1:
          {"sample_id": "arith-001"}
        log:
          {"samples": [{"id": "arith-001", "epoch": 1}]}
    """,
    needs="source",
)

ES661: Final = Rule(
    "ES661",
    "source-row-differs",
    Severity.ERROR,
    "tokens, times, error or metadata of a row are not those of the log",
    """
    What it finds: `token_usage`, `performance`, `error` or `metadata` of a row that differs from the
    sample in the log named with `--source`. A row without the error that the log has is one as
    well. Spellings that converters are known to write are equal, such as 1 and "1".

    Why it matters: the row says that the sample succeeded, or what it cost, and the log says
    something else.

    How to fix: Restore the rows from the run that was converted, or convert the log again.

    Bad:
        row 1:
          {"sample_id": "arith-001"}
        log:
          {"samples": [{"id": "arith-001", "error": {"message": "timed out", "traceback": ""}}]}

    Good:
        row 1:
          {"error": "timed out"}
        log:
          {"samples": [{"id": "arith-001", "error": {"message": "timed out"}}]}
    """,
    needs="source",
)

RULES: Final = (ES650, ES651, ES652, ES653, ES654, ES655, ES656, ES657, ES658, ES659, ES660, ES661)
