"""Draw a machine as SVG: receives a machine, hands on a ladder that stays readable with fifty transitions.

States stand side by side, from the first to the last; each transition is one rung below them, with a dot
where it may start and an arrow where it ends. No line crosses another, whatever the registry declares.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from stepwell.machines.contrast import darker_of
from stepwell.machines.fold import Fold, fold
from stepwell.machines.icons import icon
from stepwell.machines.model import Lang, Machine, Registry, State

MARGIN = 28
TITLE_HEIGHT = 76
CODE_WIDTH = 56
COLUMN_WIDTH = 104
BOX_WIDTH = 92
BOX_HEIGHT = 64
RUNG_HEIGHT = 36
NOTE_CHARACTER_WIDTH = 6.3
LEGEND_HEIGHT = 66
LABEL_CHARACTERS = 12

PAPER = "#FFFFFF"
INK = "#111827"
MUTED = "#4B5563"
HAIR = "#D1D5DB"
STRIPE = "#F9FAFB"

_WORDS: dict[str, dict[Lang, str]] = {
    "start": {"en": "from any of these", "vi": "từ một trong các điểm này"},
    "end": {"en": "to here", "vi": "đến đây"},
    "declared": {"en": "of the source matrix", "vi": "theo ma trận gốc"},
    "extension": {"en": "extension, with its reason", "vi": "mở rộng, có lý do"},
    "initial": {"en": "first state", "vi": "trạng thái đầu"},
    "terminal": {"en": "final state", "vi": "trạng thái cuối"},
    "if": {"en": "if", "vi": "khi"},
    "audit": {"en": "audited", "vi": "có kiểm toán"},
    "or": {"en": "or", "vi": "hoặc"},
}


def svg(registry: Registry, machine: Machine, lang: Lang) -> str:
    return "\n".join(_Ladder(registry, machine, lang).lines()) + "\n"


class _Ladder:
    """One drawing: places first, then marks."""

    def __init__(self, registry: Registry, machine: Machine, lang: Lang) -> None:
        self.registry = registry
        self.machine = machine
        self.lang: Lang = lang
        self.rungs = fold(machine)
        used = {code for rung in self.rungs for code in (*rung.from_states, rung.transition.to_state)}
        # A state nobody enters or leaves is declared for the floor's sake; here it would be an empty column.
        self.states = [state for state in machine.states if state.state_code in used]
        left = MARGIN + CODE_WIDTH
        self.x = {state.state_code: left + COLUMN_WIDTH * (at + 0.5) for at, state in enumerate(self.states)}
        self.notes_x = left + COLUMN_WIDTH * len(self.states) + 16
        longest = max(len(text) for rung in self.rungs for text in self._note(rung))
        self.width = max(self.notes_x + NOTE_CHARACTER_WIDTH * longest + MARGIN, 900)
        self.boxes_y = MARGIN + TITLE_HEIGHT
        self.rungs_y = self.boxes_y + BOX_HEIGHT + 14
        self.bottom_y = self.rungs_y + RUNG_HEIGHT * len(self.rungs)
        self.height = self.bottom_y + 24 + LEGEND_HEIGHT + MARGIN

    def lines(self) -> Iterator[str]:
        machine = self.machine
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}"'
            f' width="{self.width:g}" height="{self.height:g}" role="img"'
            ' font-family="system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, sans-serif">'
        )
        yield f"<title>{escape(machine.state_machine_id)}: {escape(machine.description)}</title>"
        yield f'<rect width="{self.width:g}" height="{self.height:g}" fill="{PAPER}"/>'
        yield _text(MARGIN, MARGIN + 18, machine.state_machine_id, size=22, weight=700)
        yield _text(MARGIN, MARGIN + 40, machine.description, size=13, fill=MUTED)
        for at in range(0, len(self.rungs), 2):
            yield (
                f'<rect x="{MARGIN}" y="{self.rungs_y + RUNG_HEIGHT * at:g}"'
                f' width="{self.width - 2 * MARGIN:g}" height="{RUNG_HEIGHT}" rx="6" fill="{STRIPE}"/>'
            )
        for state in self.states:
            yield from self._column(state)
        for at, rung in enumerate(self.rungs):
            yield from self._rung(rung, self.rungs_y + RUNG_HEIGHT * (at + 0.5))
        yield from self._legend(self.bottom_y + 24)
        yield "</svg>"

    def _column(self, state: State) -> Iterator[str]:
        colour = self.registry.colours[state.ui_color_token]
        x, y = self.x[state.state_code], self.boxes_y
        yield (
            f'<line x1="{x:g}" y1="{y + BOX_HEIGHT}" x2="{x:g}" y2="{self.bottom_y:g}" stroke="{HAIR}"'
            f' stroke-width="{2 if state.is_terminal else 1}"/>'
        )
        if state.is_terminal:
            yield f'<rect x="{x - 14:g}" y="{self.bottom_y:g}" width="28" height="5" rx="2" fill="{INK}"/>'
        if state.is_initial:
            yield f'<circle cx="{x:g}" cy="{y - 12}" r="5" fill="{INK}"/>'
            yield f'<line x1="{x:g}" y1="{y - 8}" x2="{x:g}" y2="{y}" stroke="{INK}" stroke-width="1.5"/>'
        dash = ' stroke-dasharray="4 3"' if state.is_derived else ""
        yield (
            f'<rect x="{x - BOX_WIDTH / 2:g}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="9"'
            f' fill="{colour.bg}" stroke="{colour.fg}" stroke-opacity="0.55"{dash}>'
            f"<title>{escape(state.state_code)}: "
            f"{escape(self.registry.text(state.ui_short_message_key, self.lang))}</title></rect>"
        )
        yield icon(state.ui_icon_token, x, y + 18, colour.fg)
        label = _wrap(self.registry.text(state.ui_label_i18n_key, self.lang))
        first_y = y + (47 if len(label) == 1 else 40)
        for at, line in enumerate(label):
            yield _text(x, first_y + 15 * at, line, size=12.5, fill=colour.fg, weight=600, anchor="middle")

    def _rung(self, rung: Fold, y: float) -> Iterator[str]:
        row = rung.transition
        target = self.registry.colours[self.machine.state(row.to_state).ui_color_token]
        ink = darker_of(target.fg, target.bg)
        end = self.x[row.to_state]
        starts = [self.x[code] for code in rung.from_states]
        dash = ' stroke-dasharray="6 4"' if row.is_extension else ""
        yield f"<g><title>{escape(_sentence(rung))}</title>"
        yield _text(MARGIN + 8, y + 4.5, row.transition_code, size=13, weight=700)
        for side in (1, -1):
            reaches = [start for start in starts if (end - start) * side > 0]
            if reaches:
                far = min(reaches) if side > 0 else max(reaches)
                yield (
                    f'<line x1="{far:g}" y1="{y:g}" x2="{end - 10 * side:g}" y2="{y:g}" stroke="{ink}"'
                    f' stroke-width="2"{dash}/>'
                )
                tip = f"{end - side:g},{y:g} {end - 12 * side:g},{y - 5.5:g} {end - 12 * side:g},{y + 5.5:g}"
                yield f'<polygon points="{tip}" fill="{ink}"/>'
        for start in starts:
            yield f'<circle cx="{start:g}" cy="{y:g}" r="5.5" fill="{ink}" stroke="{PAPER}"/>'
        who, how = self._note(rung)
        yield _text(self.notes_x, y - 3, who, size=12, weight=600)
        yield _text(self.notes_x, y + 12, how, size=11, fill=MUTED)
        yield "</g>"

    def _note(self, rung: Fold) -> tuple[str, str]:
        """Who may do it, and: on what, under which condition, telling what."""
        row = rung.transition
        audited = f" · {_WORDS['audit'][self.lang]}" if row.audit_required else ""
        guarded = f"{_WORDS['if'][self.lang]} {row.guard_ref} " if row.guard_ref else ""
        return (
            f" {_WORDS['or'][self.lang]} ".join(rung.actor_classes) + audited,
            f"{rung.trigger} {guarded}→ {row.emitted_event_type or '—'}",
        )

    def _legend(self, y: float) -> Iterator[str]:
        yield f'<line x1="{MARGIN}" y1="{y}" x2="{self.width - MARGIN:g}" y2="{y}" stroke="{HAIR}"/>'
        x, y = float(MARGIN + 8), y + 24
        line = f'<line x1="{{0:g}}" y1="{y}" x2="{{1:g}}" y2="{y}" stroke="{INK}" stroke-width="2"{{dash}}/>'
        marks = [
            (18, f'<circle cx="{{0:g}}" cy="{y}" r="5.5" fill="{INK}"/>', "start"),
            (18, f'<path transform="translate({{0:g}} {y})" d="M0-5.5 11 0 0 5.5Z" fill="{INK}"/>', "end"),
            (36, line.replace("{dash}", ""), "declared"),
            (36, line.replace("{dash}", ' stroke-dasharray="6 4"'), "extension"),
            (
                18,
                f'<circle cx="{{0:g}}" cy="{y - 5}" r="5" fill="{INK}"/>'
                f'<line x1="{{0:g}}" y1="{y}" x2="{{0:g}}" y2="{y + 8}" stroke="{INK}" stroke-width="1.5"/>',
                "initial",
            ),
            (36, f'<rect x="{{0:g}}" y="{y - 2}" width="28" height="5" rx="2" fill="{INK}"/>', "terminal"),
        ]
        for indent, mark, name in marks:
            text = _WORDS[name][self.lang]
            yield mark.format(x, x + 26)
            yield _text(x + indent, y + 4, text, size=12, fill=MUTED)
            x += indent + 6.4 * len(text) + 24
        yield from self._colours(y + 32)

    def _colours(self, y: float) -> Iterator[str]:
        x = float(MARGIN + 4)
        for token in dict.fromkeys(state.ui_color_token for state in self.states):
            colour = self.registry.colours[token]
            name = token.rpartition(".")[2].replace("_", " ")
            width = 16 + 7.2 * len(name)
            yield (
                f'<rect x="{x:g}" y="{y - 15}" width="{width:g}" height="22" rx="11" fill="{colour.bg}"'
                f' stroke="{colour.fg}" stroke-opacity="0.55">'
                f"<title>{escape(colour.description)}</title></rect>"
            )
            yield _text(x + width / 2, y, name, size=11.5, fill=colour.fg, anchor="middle")
            x += width + 10


def _sentence(rung: Fold) -> str:
    row = rung.transition
    start = " / ".join(rung.from_states)
    return f"{row.transition_code}: {start} → {row.to_state}" + (f". {row.reason}" if row.reason else "")


def _wrap(label: str) -> list[str]:
    """One line, or two of about the same length."""
    words = label.split()
    if len(label) <= LABEL_CHARACTERS or len(words) == 1:
        return [label]
    cuts = (cut for cut in range(1, len(words)))
    best = min(cuts, key=lambda cut: max(len(" ".join(words[:cut])), len(" ".join(words[cut:]))))
    return [" ".join(words[:best]), " ".join(words[best:])]


def _text(
    x: float, y: float, text: str, *, size: float, fill: str = INK, weight: int = 400, anchor: str = "start"
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" font-weight="{weight}" fill="{fill}"'
        f' text-anchor="{anchor}">{escape(text)}</text>'
    )
