"""Measure colours: receives two colours written #RRGGBB, hands on their contrast by the WCAG 2.1 formula."""

from __future__ import annotations

_WEIGHTS = (0.2126, 0.7152, 0.0722)


def luminance(colour: str) -> float:
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = (value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels)
    return sum(weight * value for weight, value in zip(_WEIGHTS, linear, strict=True))


def contrast_ratio(fg: str, bg: str) -> float:
    darker, lighter = sorted((luminance(fg), luminance(bg)))
    return (lighter + 0.05) / (darker + 0.05)


def darker_of(first: str, second: str) -> str:
    """The one to draw a thin line with on white paper."""
    return min(first, second, key=luminance)
