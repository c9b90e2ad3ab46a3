"""The language of a caller: receives the headers of a request, returns `en` or `vi`."""

from __future__ import annotations

from collections.abc import Mapping

from stepwell.translations import Lang


def language_of(headers: Mapping[str, str]) -> Lang:
    """The first language of Accept-Language that there are texts in; English otherwise."""
    weighted: list[tuple[float, Lang]] = []
    for part in headers.get("accept-language", "").split(",")[:20]:
        name, _, weight = part.partition(";q=")
        try:
            rank = float(weight or "1")
        except ValueError:
            rank = 0.0
        primary = name.strip().partition("-")[0].lower()
        if primary in ("en", "vi"):
            weighted.append((rank, "vi" if primary == "vi" else "en"))
    return max(weighted, key=lambda one: one[0])[1] if weighted else "en"
