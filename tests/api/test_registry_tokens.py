"""The colours, icons and words of states over HTTP, and that nobody needs hue alone to tell states apart."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import httpx
import pytest

Rgb = tuple[float, float, float]

# How eyes without one kind of cone see linear RGB (Machado, Oliveira and Fernandes 2009, severity 1.0).
EYES = {
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.01182, 0.04294, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.3039),
    ),
}
# Colours nearer than this (in linear light, of 1) are taken for the same.
NEAR = 0.1


@pytest.fixture
def tokens(api: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = api.get("/api/v1/registry/tokens").json()
    return found


def linear(colour: str) -> Rgb:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return red, green, blue


def seen(colour: str, eye: str) -> Rgb:
    rgb = linear(colour)
    red, green, blue = (sum(part * value for part, value in zip(row, rgb, strict=True)) for row in EYES[eye])
    return red, green, blue


def contrast(one: str, other: str) -> float:
    lights = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (linear(one), linear(other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


@pytest.mark.requirement("UI-15")
def test_all_nine_tokens_have_their_own_colour_and_shape(tokens: dict[str, Any]):
    colours = tokens["colours"]
    assert len(colours) == 9
    assert len({one["shape"] for one in colours}) == 9
    assert len({(one["fg"], one["bg"]) for one in colours}) == 9
    assert len({(one["high_contrast"]["fg"], one["high_contrast"]["bg"]) for one in colours}) == 9


def test_every_state_has_a_token_and_words_in_both_languages(tokens: dict[str, Any]):
    known = {one["token"] for one in tokens["colours"]}
    for state in tokens["states"]:
        assert state["color_token"] in known
        for words in (state["label"], state["short"]):
            for text in (words["en"], words["vi"]):
                assert text
                assert not text.endswith((".label", ".short"))
    for facet in tokens["facets"]:
        assert not facet["label"]["en"].endswith(".label")


@pytest.mark.requirement("UI-12")
def test_text_on_each_token_can_be_read(tokens: dict[str, Any]):
    for colour in tokens["colours"]:
        assert contrast(colour["fg"], colour["bg"]) >= 4.5, colour["token"]
        high = colour["high_contrast"]
        assert contrast(high["fg"], high["bg"]) >= 7, colour["token"]


@pytest.mark.requirement("UI-12")
@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("theme", ["usual", "high_contrast"])
def test_states_that_look_alike_differ_by_icon_and_word(tokens: dict[str, Any], eye: str, theme: str):
    """Icon and word differ for each pair of states of one machine whose colours this eye confuses."""
    pairs = {one["token"]: one if theme == "usual" else one["high_contrast"] for one in tokens["colours"]}
    alike = 0
    for one, other in combinations(tokens["states"], 2):
        if one["scope"] != other["scope"]:
            continue
        colours = [seen(pairs[state["color_token"]]["bg"], eye) for state in (one, other)]
        if max(abs(a - b) for a, b in zip(*colours, strict=True)) < NEAR:
            alike += 1
            assert one["icon_token"] != other["icon_token"], (one["state_code"], other["state_code"])
            assert one["label"]["en"] != other["label"]["en"]
            assert one["label"]["vi"] != other["label"]["vi"]
    # The test would prove nothing if no two colours looked alike.
    assert alike > 0
