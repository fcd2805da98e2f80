"""The tab of characters that are moved by skills: tell them what to do, see who bids what, and what has followed what so far."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

from interplay.skills.graph import graph
from interplay.skills.skill import MOST
from interplay.stage.messages import SkillsView

_ROW = "display:flex;align-items:center;gap:0.4em;font-size:0.8em;line-height:1.5;padding:0 0.75em"
_WHY = "flex:1;min-width:0;overflow:hidden;white-space:nowrap;text-overflow:ellipsis;color:#5a6472"


class SkillsTab:
    """What the tab of one browser holds."""

    def __init__(self, gui: Any, skills: dict[str, tuple[str, ...]], told: Callable[[Any, str], None]):
        """Fill the tab; ``told`` takes the buttons of each character, by which it is told what to do."""
        self._shown: dict[str, Any] = {}
        self._text: dict[str, str] = {}
        for who, names in skills.items():
            told(gui.add_button_group(f"Tell {who}", names), who)
            self._shown[who] = gui.add_html("")

    def follow(self, views: tuple[SkillsView, ...]) -> None:
        """Show the bids of the last arbitrations, and the graphs."""
        for view in views:
            text = _bids(view) + graph([(a, b) for a, b, _ in view.moves], [n for *_, n in view.moves], view.active)
            if view.who in self._shown and text != self._text.get(view.who):
                self._shown[view.who].content = self._text[view.who] = text


def _bids(view: SkillsView) -> str:
    """Return the bids as bars, the highest first."""
    rows = []
    for name, value, why in sorted(view.bids, key=lambda bid: -bid[1]):
        width, colour = 4.0 * min(value / MOST, 1.0), "#2e5e8c" if name == view.active else "#aab4c0"
        rows.append(
            f"<div style='{_ROW}'><div style='width:8em'>{html.escape(name)}</div>"
            f"<div style='width:4em'><div style='width:{width:.2f}em;height:0.7em;background:{colour}'></div></div>"
            f"<div style='width:2em'>{value:.0f}</div><div style='{_WHY}' title='{html.escape(why, True)}'>{html.escape(why)}</div></div>"
        )
    return "".join(rows)
