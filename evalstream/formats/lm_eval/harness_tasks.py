"""Tasks of the harness that no function scores, by their names.

Source: the files in tasks/ of lm_eval 0.4.0 to 0.4.13, which agree about each of them.
"""

from __future__ import annotations

from typing import Final

_SUBJECTS: Final = """
    abstract_algebra anatomy astronomy business_ethics clinical_knowledge college_biology
    college_chemistry college_computer_science college_mathematics college_medicine
    college_physics computer_security conceptual_physics econometrics electrical_engineering
    elementary_mathematics formal_logic global_facts high_school_biology high_school_chemistry
    high_school_computer_science high_school_european_history high_school_geography
    high_school_government_and_politics high_school_macroeconomics high_school_mathematics
    high_school_microeconomics high_school_physics high_school_psychology high_school_statistics
    high_school_us_history high_school_world_history human_aging human_sexuality
    international_law jurisprudence logical_fallacies machine_learning management marketing
    medical_genetics miscellaneous moral_disputes moral_scenarios nutrition philosophy
    prehistory professional_accounting professional_law professional_medicine
    professional_psychology public_relations security_studies sociology us_foreign_policy
    virology world_religions
"""
"""The subjects of MMLU, whose tasks are called mmlu_SUBJECT."""

_SINGLE: Final = """
    arc_challenge arc_easy boolq cb cola commonsense_qa gsm8k gsm8k_cot gsm8k_cot_zeroshot
    hellaswag logiqa2 mathqa mc_taco medmcqa mnli mnli_mismatch mrpc multirc nq_open openbookqa
    piqa prost pubmedqa qnli qqp rte sciq social_iqa sst2 swag triviaqa truthfulqa_mc1 wic wnli
    wsc wsc273
"""

_FAMILIES: Final = """
    anli_r arithmetic_ bbh_cot_ bbh_fewshot_ bbh_zeroshot_ belebele_ blimp_ ceval-valid_ cmmlu_
    global_mmlu_ gpqa_main_ gpqa_diamond_ gpqa_extended_ kmmlu_ leaderboard_bbh_ leaderboard_gpqa_
    leaderboard_musr_ leaderboard_mmlu_pro paws_ xcopa_ xnli_ xstorycloze_
"""
"""The beginning of the names of many tasks of one kind."""

_OF_TARGETS: Final = "copa logiqa medqa_4options race toxigen webqs winogrande"
"""Tasks of which a function gives the targets, and none the scores."""

_OWN_FILTERS: Final = ("bbh_cot_zeroshot_", "bbh_zeroshot_")
"""The beginning of the names of tasks that have filters of their own."""


def list_plain_members(task: str) -> tuple[str, ...]:
    """Return the members of a task's configuration that have no function in any release."""
    if task in _OF_TARGETS.split():
        return ("process_results", "metric_list", "filter_list")
    names = *_SINGLE.split(), *(f"mmlu_{subject}" for subject in _SUBJECTS.split())
    if task not in names and not task.startswith(tuple(_FAMILIES.split())):
        return ()
    own_filters = () if task.startswith(_OWN_FILTERS) else ("filter_list",)
    return ("process_results", "doc_to_target", "metric_list", *own_filters)
