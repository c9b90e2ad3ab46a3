"""Texts for people, in English and Vietnamese: one module for each place that shows them.

Labels of states, facets and colours are rows of the registry, except in the report of a bundle (`states.py`);
the web UI has its texts in `ui/src/locales`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["Lang", "Translation"]

Lang = Literal["vi", "en"]


class Translation(NamedTuple):
    """One text in both languages; `filled` replaces the names in braces."""

    en: str
    vi: str

    def in_language(self, lang: Lang) -> str:
        return self.vi if lang == "vi" else self.en

    def filled(self, **facts: object) -> Translation:
        return Translation(self.en.format(**facts), self.vi.format(**facts))
