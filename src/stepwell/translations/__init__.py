"""The texts that people read, in English and Vietnamese: one module per place where they are shown.

Labels of states, facets and colours are rows of the registry; the web UI has its files in `ui/src/locales`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["Lang", "Translation"]

Lang = Literal["vi", "en"]


class Translation(NamedTuple):
    """One text in both languages; names in braces are filled in."""

    en: str
    vi: str

    def in_language(self, lang: Lang) -> str:
        return self.vi if lang == "vi" else self.en

    def filled(self, **facts: object) -> Translation:
        return Translation(self.en.format(**facts), self.vi.format(**facts))
