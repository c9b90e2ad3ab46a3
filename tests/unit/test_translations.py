"""Every text for people exists in two languages, with the same placeholders."""

from __future__ import annotations

import string

import pytest

from stepwell.translations import Translation
from stepwell.translations.health import HEALTH, say
from stepwell.translations.report import REPORT
from stepwell.translations.terminal import TERMINAL

TEXTS = {
    f"{place}:{key}": text
    for place, texts in (("health", HEALTH), ("report", REPORT), ("terminal", TERMINAL))
    for key, text in texts.items()
}


def facts_of(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


@pytest.mark.parametrize("name", TEXTS)
def test_both_languages_have_the_same_placeholders(name: str):
    text = TEXTS[name]
    assert text.en
    assert text.vi
    assert facts_of(text.en) == facts_of(text.vi)


def test_a_code_and_its_values_become_sentences():
    assert say("clock.apart", seconds="0.200", more="ignored") == (
        "the clocks differ by 0.200 s",
        "lệch 0.200 giây",
    )


def test_a_text_is_read_in_one_language():
    text = Translation("step", "bước")
    assert (text.in_language("en"), text.in_language("vi")) == ("step", "bước")
