"""Checks pages with axe in every theme and language: receives addresses, asserts that nothing is wrong.

Themes differ in colours only. So the first theme is checked for everything, the others for their contrast.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

THEMES = ("light", "dark", "contrast")
LANGUAGES = ("en", "vi")
_VIOLATIONS = {"resultTypes": ["violations"]}
ALL_RULES: dict[str, Any] = _VIOLATIONS
CONTRAST: dict[str, Any] = _VIOLATIONS | {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
STRUCTURE: dict[str, Any] = _VIOLATIONS | {"rules": {"color-contrast": {"enabled": False}}}
_CHOOSE = """([theme, language]) => {
  localStorage.setItem("stepwell.theme", theme);
  localStorage.setItem("stepwell.language", language);
}"""

# A colour on its way from one theme to the next is no colour of either.
_SETTLE = """() => {
  for (const one of document.getAnimations()) if (one instanceof CSSTransition) one.finish();
}"""


def clean(page: Page, rules: dict[str, Any] = ALL_RULES, within: str | None = None) -> None:
    page.evaluate(_SETTLE)
    found = Axe().run(page, context=within, options=rules)
    assert found.violations_count == 0, f"{page.url}\n{found.generate_report()}"


def looks(page: Page) -> Iterator[dict[str, Any]]:
    """Chooses each theme in each language for what is opened next; returns the rules to check there."""
    for language in LANGUAGES:
        for theme in THEMES:
            page.evaluate(_CHOOSE, [theme, language])
            yield ALL_RULES if theme == THEMES[0] else CONTRAST
