"""What a check found is said in two languages, with the same facts."""

from __future__ import annotations

import string

import pytest

from stepwell.store.health.words import WORDS, say


def facts_of(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


@pytest.mark.parametrize("code", WORDS)
def test_both_languages_tell_the_same_facts(code: str):
    english, vietnamese = WORDS[code]
    assert english
    assert facts_of(english) == facts_of(vietnamese)


def test_a_code_and_its_facts_become_sentences():
    assert say("clock.apart", seconds="0.200", more="ignored") == ("0.200 s apart", "lệch 0.200 giây")
