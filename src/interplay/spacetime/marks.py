"""What can be moved in a composed motion: footprints with their times, and targets of hands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from interplay.spacetime.laws import OnTop
from interplay.spacetime.part import HEEL, Part, Phase
from interplay.spacetime.problem import Problem, Stage


class Footprint(NamedTuple):
    """Where a foot stands (x, y) [m], on what height, which way it points [rad], from when to when [s]; steps count as they land.

    ``why``: why it cannot be moved; empty: it can.
    """

    who: str
    step: int
    side: str
    place: tuple[float, float]
    heading: float
    height: float
    lands: float
    lifts: float
    why: str


class HandTarget(NamedTuple):
    """Where a surface of a character (``ann/right_palm``) is at a moment [s]; ``step``: which of its targets, from 1."""

    surface: str
    step: int
    place: tuple[float, float, float]
    time: float
    why: str


def staged(problem: Problem) -> Stage:
    """Return a problem's parts whole, with what was found, on ground as high as laws say."""
    stage = Stage(problem, problem.whole())
    for law in problem.laws:
        if isinstance(law, OnTop):
            law(stage)
    return stage


def numbered(part: Part) -> list[tuple[int, int]]:
    """Return stances by index, each with the number of its step: as they land, 0 for feet that stand when it begins.

    One that begins on its heel lands just then: that is step 1.
    """
    landed = {first for _, first, _ in part.stances if first > 0}
    landed |= {0} if any(p == 0 and _lands(part.phases, side) for side, p, _ in part.stances) else set()
    numbers = {phase: k for k, phase in enumerate(sorted(landed), 1)}
    out = [
        (k, 0 if first == 0 and not _lands(part.phases, side) else numbers[first])
        for k, (side, first, _) in enumerate(part.stances)
    ]
    return sorted(out, key=lambda one: one[1])


def _lands(phases: Sequence[Phase], side: str) -> bool:
    return phases[0].mode(side) == HEEL
