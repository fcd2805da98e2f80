"""Who looks at whom: heads that turn to heads, as far as it costs less than it is worth."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from interplay.spacetime.blocks import Block, Kernel
from interplay.spacetime.meeting import Bond, Meeting


def look(who: str, at: str, worth: float = 1.0) -> Bond:
    """Return the bond of one who looks at the head of another; ``worth``: what it costs to look the other way, over 4, per second."""

    def bond(meeting: Meeting) -> list[Block]:
        part = meeting.stage.parts.get(who)
        if part is None:
            return []
        roles = meeting.stage.problem.roles
        times, values = meeting.guessed(at, [roles[at].body.at("head", (0.0, 0.0, 0.08))])
        knots = meeting.stage.unknowns.guess[meeting.clocks[who].times]
        there = np.stack([np.interp(knots, times, column) for column in values.T], axis=1)
        body, head = part.body, part.body.at("head").link

        def inner(y: Any, c: Any) -> tuple[Any, Any]:
            R, p = body.frames(y)[head]
            d = c[:3] - p
            off = d / ca.norm_2(d) - R[:, 0]
            return c[3] * ca.sumsqr(off), ca.SX(0, 1)

        weight = np.full((len(knots), 1), worth / len(knots))
        none = np.zeros((len(knots), 0))
        return [
            Block(
                Kernel("look", body.n, 4, inner),
                part.q,
                np.concatenate([there, weight], axis=1),
                none,
                none,
                lambda p, r: "",
            )
        ]

    return bond
