"""The lines at the top of a panel that say what happens."""

from __future__ import annotations

import html

from interplay.stage.messages import Moment, Opening

_STATUS = "font-size:0.85em;line-height:1.5;padding:0.1em 0.75em"
# One line, as what is below must not jump as phases change: where names are too long for it, those to come are cut short.
_CUT = "min-width:0;overflow:hidden;white-space:nowrap;text-overflow:ellipsis"
_CHIP = f"{_CUT};border-radius:0.7em;padding:0.05em 0.6em;margin:0.1em 0.25em 0.1em 0;"
_MORE = "color:#8a94a2;padding-left:0.3em"


def status(opening: Opening, frame: Moment, note: str) -> str:
    """Return the three lines that say what happens: time and pace; phases; who controls, what was relaxed, why it ended."""
    how = "playing" if frame.playing else "paused"
    if not frame.live and not opening.recorded:
        how = "the past"
    pace = f" · {frame.pace.factor:.2f}× real time" if frame.playing and frame.live and not opening.recorded else ""
    phases = [(frame.phase, "background:#2e5e8c;color:#fff;flex-shrink:0;max-width:70%")] if frame.phase else []
    phases += [(phase, "background:#e8ecf1;color:#5a6472") for phase in frame.coming[:3]]
    chips = "".join(f"<div style='{_CHIP}{style}'>{html.escape(phase)}</div>" for phase, style in phases)
    more = len(frame.coming) - 3
    left = f"<span style='{_MORE}'>+{more}</span>" if more > 0 else ""
    said = f"<span style='color:#b06010'>{html.escape(note)}</span>" if note else html.escape(frame.ended)
    return (
        f"<div style='{_STATUS}'><div><b>{frame.time:.2f} s</b> · {how}{pace}</div>"
        f"<div style='display:flex'>{chips}{left}</div><div>{said or '&nbsp;'}</div></div>"
    )
