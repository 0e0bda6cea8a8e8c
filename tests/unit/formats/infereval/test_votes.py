from each import each

from evalstream.formats.infereval.votes import choose_reading, choose_usual_reading

SUPPORT = {"question_form": "support", "verification_prompt_id": "default-v1"}
COHERENCE = {"question_form": "coherence", "verification_prompt_id": "default-v1"}


@each(
    ("config", "response", "verdict"),
    [
        (SUPPORT, "GOOD", "good"),
        (SUPPORT, "It is bad, not good.", "bad"),
        (SUPPORT, "I abstain", "abstain"),
        (SUPPORT, "goodness", None),
        (SUPPORT, "INCOHERENT", None),
        (SUPPORT, "", None),
        (COHERENCE, "INCOHERENT", "good"),
        (COHERENCE, "Coherent.", "bad"),
        (COHERENCE, "UNCLEAR", "abstain"),
        (COHERENCE, "GOOD", None),
        ({}, "GOOD", "good"),
        ({}, "INCOHERENT", None),
        ({}, "It is unclear.", None),
        ({}, "neither", None),
    ],
)
def test_the_first_word_that_means_a_verdict(
    config: dict[str, str], response: str, verdict: str | None
) -> None:
    read = choose_reading(config)
    assert read is not None
    assert read(response) == verdict


@each("version", [None, "0.5.10", "0.17.1", "0.17.3", "soon"])
def test_releases_before_0_17_2_ask_for_support(version: str | None) -> None:
    read = choose_reading({}, version)
    assert read is not None
    assert (read("A coherent argument"), read("BAD")) == (None, "bad")


def test_0_17_2_recorded_no_form() -> None:
    usual = choose_usual_reading({}, "0.17.2")
    assert choose_reading({}, "0.17.2") is None
    assert usual is not None
    assert usual("BAD") == "bad"
    assert choose_reading(COHERENCE, "0.17.2") is not None
    assert choose_usual_reading(COHERENCE, "0.17.2") is None


@each(
    ("config", "template"),
    [
        ({"verification_prompt_id": "own-v1"}, None),
        ({**SUPPORT, "verification_prompt_id": "own-v1"}, None),
        ({"question_form": "another"}, None),
        (COHERENCE, "own-template"),
    ],
)
def test_other_prompts_are_not_read(config: dict[str, str], template: str | None) -> None:
    assert choose_reading(config, None, template) is None
