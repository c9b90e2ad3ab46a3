"""A path is split into the same tokens as PostgreSQL splits it."""

from __future__ import annotations

import pytest

from stepwell.define.path_tokens import path_tokens, unescape

SPLIT = [
    ("$.a", [("operator", "$"), ("operator", "."), ("word", "a")]),
    (
        '$."a b" == 1.5',
        [("operator", "$"), ("operator", "."), ("string", '"a b"'), ("operator", "=="), ("number", "1.5")],
    ),
    (
        "1.5.floor()",
        [("number", "1.5"), ("operator", "."), ("word", "floor"), ("operator", "("), ("operator", ")")],
    ),
    (
        "$[0]/* x */**",
        [("operator", "$"), ("operator", "["), ("number", "0"), ("operator", "]"), ("operator", "**")],
    ),
    ("0x1F 1_000 1e-3", [("number", "0x1F"), ("number", "1_000"), ("number", "1e-3")]),
    ("$x", [("variable", "$x")]),
    ("a = 1", [("word", "a"), ("bad", "=")]),
    ('"open', [("bad", '"')]),
    ("  ", []),
]


@pytest.mark.parametrize(("text", "tokens"), SPLIT, ids=[text for text, _ in SPLIT])
def test_a_path_is_split_into_tokens(text, tokens):
    assert [(token.kind, token.text) for token in path_tokens(text)] == tokens


def test_a_token_knows_its_place():
    assert [token.at for token in path_tokens("$ . ab")] == [0, 2, 4]


def test_escapes_become_characters():
    assert unescape(r'"\u00e9\x41\u{1F600}\n\"\q"') == 'éA😀\n"q'
    for bad in (r"\u0000", r"\u{110000}"):
        with pytest.raises(ValueError, match="u"):
            unescape(f'"{bad}"')
