"""Hands that are held: two points of two characters that stay together, and the force between them (liu2006, section 6.2)."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from interplay.spacetime.blocks import Block, Kernel
from interplay.spacetime.body import ROOT, Body
from interplay.spacetime.meeting import Bond, Meeting
from interplay.spacetime.part import PULL, Style
from interplay.spacetime.sharing import Curve

WITHIN = 0.002
"""How far a held hand may be from the way that both share, along each axis, at knots [m]."""
GRIP = 120.0
"""What a hand holds at most along each axis [N]."""
EASE, STEADY = 0.1, 0.5
"""What it costs to pull by a unit of force (``part.PULL``), and to pull by one more from knot to knot, per second."""
LOOSE = 0.15
"""What it costs an arm that is held to be off its rest [1/rad²]."""


def hold_hands(one: tuple[str, int], other: tuple[str, int]) -> Bond:
    """Return the bond of two hands: of each, whose, and which of the points at which it is pulled."""

    def bond(meeting: Meeting) -> list[Block]:
        (first, a), (second, b) = one, other
        roles = meeting.stage.problem.roles
        points = [roles[who].pulled[k] for who, k in (one, other)]
        times, mine = meeting.guessed(first, points[:1])
        theirs = np.stack(
            [
                np.interp(times, meeting.guessed(second, points[1:])[0], c)
                for c in meeting.guessed(second, points[1:])[1].T
            ],
            axis=1,
        )
        way = meeting.curve(times, 0.5 * (mine + theirs), (0,))
        force = meeting.curve(times, np.zeros((len(times), 3)))
        unknowns = meeting.stage.unknowns
        unknowns.low[force.coefficients], unknowns.high[force.coefficients] = -GRIP / PULL, GRIP / PULL
        return [
            meeting.keeps(first, points[:1], way, WITHIN),
            meeting.keeps(second, points[1:], way, WITHIN),
            pulls(meeting, first, a, force, 1.0),
            pulls(meeting, second, b, force, -1.0),
            eased(force),
        ]

    return bond


def pulls(meeting: Meeting, who: str, index: int, force: Curve, sign: float) -> Block:
    """Return what makes the force on a point of a character that of a curve, or its opposite."""
    pull = meeting.stage.parts[who].pull[:, index]
    read, constants = force.window(meeting.clocks[who].points())

    def inner(y: Any, c: Any) -> tuple[Any, Any]:
        value, place = force.value(y[3:], c)
        return 0, ca.vertcat(y[:3] - sign * value, place)

    low, high = (np.concatenate([np.zeros((len(read), 3)), bound], axis=1) for bound in force.within(constants))
    where = np.concatenate([pull, read], axis=1)
    return Block(Kernel("pulls", 3 + force.width, 2, inner), where, constants, low, high, lambda p, r: f"pull at {who}")


def eased(force: Curve) -> Block:
    """Return what it costs to pull."""
    at = force.coefficients
    where = np.concatenate([at, np.roll(at, -1, axis=0)], axis=1)
    where = where if force.closed else where[:-1]
    count = len(where)

    def inner(y: Any, c: Any) -> tuple[Any, Any]:
        return (EASE * ca.sumsqr(y[:3]) + STEADY * ca.sumsqr(y[3:] - y[:3])) / count, ca.SX(0, 1)

    none = np.zeros((count, 0))
    return Block(Kernel("eased", 6, 0, inner), where, none, none, none, lambda p, r: "")


def holding(style: Style, body: Body, sides: tuple[str, ...]) -> Style:
    """Return the style of one whose hands are held: those arms do not swing against legs, and go where they are drawn."""
    index = {joint: ROOT + k for k, joint in enumerate(body.joints)}
    posture = style.posture.copy()
    for side in sides:
        for joint, k in index.items():
            if joint.startswith(side) and any(part in joint for part in ("shoulder", "elbow", "wrist", "forearm")):
                posture[k] = LOOSE
    swings = {index[f"{side}_shoulder_flexion"] for side in sides}
    ties = tuple(tie for tie in style.ties if tie.parts[0][0] not in swings)
    return style._replace(posture=posture, ties=ties)
