"""Draw the icons of states: receives an icon token, hands on an SVG path, so that no font decides.

Each path lies in a square of 16 units around the origin; `{ink}` is the colour it is drawn in.
"""

from __future__ import annotations

_LINE = 'fill="none" stroke="{ink}" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"'
_FULL = 'fill="{ink}"'
_RING = f'<circle r="6" {_LINE}/>'

_ICONS = {
    "icon.circle_hollow": f'<circle r="5.5" {_LINE}/>',
    "icon.play_outline": f'<path d="M-3.5-5.5 5.5 0-3.5 5.5Z" {_LINE}/>',
    "icon.play_filled": f'<path d="M-4.5-6.5 6.5 0-4.5 6.5Z" {_FULL}/>',
    "icon.hourglass": (
        f'<path d="M-4.5-6.5H4.5M-4.5 6.5H4.5M-3.5-6C-3.5-2 3.5 2 3.5 6M3.5-6C3.5-2-3.5 2-3.5 6" {_LINE}/>'
    ),
    "icon.warn_filled": (
        f'<path fill-rule="evenodd" d="M0-7 7.5 6H-7.5ZM-1-2.5H1L.7 2H-.7ZM-.9 3H.9V4.6H-.9Z" {_FULL}/>'
    ),
    "icon.clock_alert": f'{_RING}<path d="M0-3.2V0L2.4 1.8M-7-5.5-5-7.2M7-5.5 5-7.2" {_LINE}/>',
    "icon.cross_filled": f'<path d="M-4.5-4.5 4.5 4.5M4.5-4.5-4.5 4.5" {_LINE}/>',
    "icon.stop_filled": f'{_RING}<path d="M-3 0H3" {_LINE}/>',
    "icon.check_filled": f'<path d="M-5.5 .5-1.8 4.5 5.5-4" {_LINE}/>',
    "icon.pause_filled": f'<path d="M-4.5-6H-1.2V6H-4.5ZM1.2-6H4.5V6H1.2Z" {_FULL}/>',
    "icon.cancel_filled": f'{_RING}<path d="M-4.2 4.2 4.2-4.2" {_LINE}/>',
    "icon.skip_outline": f'<path d="M-6 3C-5-4.5 3-5 5 .5M5.5-4V1H.5" {_LINE}/>',
}


def icon(token: str, x: float, y: float, ink: str) -> str:
    """The drawing at this place; a token without one gives nothing, its label still stands below."""
    drawn = _ICONS.get(token, "")
    return f'<g transform="translate({x:g} {y:g})">{drawn.format(ink=ink)}</g>'
