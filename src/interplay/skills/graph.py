"""The graph of what happened: which skill followed which, how often, as a picture (SVG). Nothing decides by it (faloutsos2001, Figs 3, 4)."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

WIDTH, HEIGHT = 420, 300
_ROUND, _TALL = 0.36, 0.40
"""Radii of the ellipse on which skills stand, of the width and the height."""


def graph(moves: Sequence[tuple[str, str]], counts: Sequence[int], active: str = "") -> str:
    """Return the picture; skills stand in the order in which they came first."""
    names = list(dict.fromkeys(name for move in moves for name in move)) or ([active] if active else [])
    if not names:
        return ""
    place = {}
    for k, name in enumerate(names):
        angle = 2 * math.pi * k / len(names) - math.pi / 2
        place[name] = (WIDTH * (0.5 + _ROUND * math.cos(angle)), HEIGHT * (0.5 + _TALL * math.sin(angle)))
    most = max(counts, default=1)
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' font-family='sans-serif' font-size='12'>"
        "<defs><marker id='tip' viewBox='0 0 10 10' refX='9' refY='5' markerWidth='6' markerHeight='6' orient='auto'>"
        "<path d='M0,0L10,5L0,10z' fill='#5a6472'/></marker></defs>"
    ]
    parts += [_arrow(place[a], place[b], n, n / most) for (a, b), n in zip(moves, counts, strict=True)]
    parts += [_node(name, place[name], name == active) for name in names]
    return "".join(parts) + "</svg>"


def _arrow(start: tuple[float, float], end: tuple[float, float], count: int, part: float) -> str:
    """Return a bent arrow, so that there and back are two, and how often it was gone."""
    (x, y), (u, v) = start, end
    way = math.hypot(u - x, v - y)
    if way < 1.0:  # after itself
        bend = (
            f"M{x - 14:.0f},{y - 10:.0f}C{x - 30:.0f},{y - 48:.0f} {x + 30:.0f},{y - 48:.0f} {x + 14:.0f},{y - 10:.0f}"
        )
        middle = (x, y - 42)
    else:
        side = ((v - y) / way, (x - u) / way)
        middle = ((x + u) / 2 + 22 * side[0], (y + v) / 2 + 22 * side[1])
        short = 34 / way
        x, y, u, v = (
            x + short * (middle[0] - x), y + short * (middle[1] - y), u + short * (middle[0] - u), v + short * (middle[1] - v),
        )  # fmt: skip
        bend = f"M{x:.0f},{y:.0f}Q{middle[0]:.0f},{middle[1]:.0f} {u:.0f},{v:.0f}"
    return (
        f"<path d='{bend}' fill='none' stroke='#5a6472' stroke-width='{1 + 2 * part:.1f}' marker-end='url(#tip)'/>"
        f"<text x='{middle[0]:.0f}' y='{middle[1]:.0f}' text-anchor='middle' fill='#5a6472'>{count}</text>"
    )


def _node(name: str, at: tuple[float, float], active: bool) -> str:
    x, y = at
    wide = 7.2 * len(name) + 14
    fill, ink = ("#2e5e8c", "#ffffff") if active else ("#e8ecf1", "#2a3340")
    return (
        f"<rect x='{x - wide / 2:.0f}' y='{y - 11:.0f}' width='{wide:.0f}' height='22' rx='11' fill='{fill}'/>"
        f"<text x='{x:.0f}' y='{y + 4:.0f}' text-anchor='middle' fill='{ink}'>{html.escape(name)}</text>"
    )
