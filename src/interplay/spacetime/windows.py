"""Windows of a composed motion: which phases are solved anew where something is moved, and what holds in them.

States at a window's ends, its duration, all footprints in it but one and everybody else are given.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from interplay.spacetime.blocks import Block
from interplay.spacetime.ends import hold
from interplay.spacetime.laws import AtTime, Fixed, Given, InAll, Lasts, PerDistance
from interplay.spacetime.part import SWING
from interplay.spacetime.problem import Law, Problem, Stage, When, Window
from interplay.spacetime.saving import kept_whole

BACK = 0.3
"""How long a foot swings at least after it was put elsewhere, until all is as it was [s], with a man of 1.74 m."""
AROUND = 0.55
"""How long before and after a hand reaches its target all is as it was [s], with a man of 1.74 m."""
BRIEF = 0.03
"""Shorter phases last as long as they did [s]: their motion depends on how long they last as steeply as it gets, the objective hardly."""


class Pinned(NamedTuple):
    """All footprints of a window stay where they are; one, of the foot that lands with a phase, is put at a place (x, y, heading)."""

    who: str
    side: str = ""
    phase: int = -1
    place: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __call__(self, stage: Stage) -> list[Block]:
        """Fix unknowns."""
        part, unknowns = stage.parts[self.who], stage.unknowns
        for mine, (side, first, _) in zip(part.prints, part.stances, strict=True):
            moved = side == self.side and first + stage.windows[self.who].first == self.phase
            value = np.array(self.place) if moved else unknowns.guess[mine]
            unknowns.low[mine] = unknowns.high[mine] = unknowns.guess[mine] = value
        return []


class _Ends(NamedTuple):
    """A window begins and ends as it is, also where the motion does."""

    who: str

    def __call__(self, stage: Stage) -> list[Block]:
        part = stage.parts[self.who]
        return [block for knot in (0, part.intervals) for block in hold(part, knot)]


class _Brief(NamedTuple):
    """Short phases last as long as they did."""

    who: str

    def __call__(self, stage: Stage) -> list[Block]:
        part, unknowns = stage.parts[self.who], stage.unknowns
        brief = part.rate[[phase.seconds < BRIEF * part.body.pendulum for phase in part.phases]]
        unknowns.low[brief] = unknowns.high[brief] = unknowns.guess[brief]
        return []


def around_footprint(problem: Problem, who: str, side: str, first: int, end: int) -> tuple[Window | None, str]:
    """Return the phases in which a foot swings to where it stands, stands, and swings on; or why there are none."""
    role = problem.roles[who]
    if why := _bound(problem, who):
        return None, why
    if first == 0:
        return None, "it stands there as the motion begins, and how that begins is given"
    if end == len(role.phases):
        return None, "it stands there as the motion ends, and how that ends is given"
    begin = first
    while begin > 0 and role.phases[begin - 1].mode(side) == SWING:
        begin -= 1
    least, swung = BACK * role.body.pendulum, 0.0
    while end < len(role.phases) and role.phases[end].mode(side) == SWING and swung < least:
        swung, end = swung + role.phases[end].seconds, end + 1
    return Window(who, begin, end), ""


def around_moment(problem: Problem, who: str, time: float) -> tuple[Window | None, str]:
    """Return the phases around a moment; or why there are none."""
    role = problem.roles[who]
    if why := _bound(problem, who):
        return None, why
    ends = np.concatenate([[0.0], np.cumsum([phase.seconds for phase in role.phases])])
    if not 1e-6 < time < ends[-1] - 1e-6:
        return None, "the motion begins or ends then, and how it does is given"
    around = AROUND * role.body.pendulum
    first = int(np.searchsorted(ends, time - around, side="right")) - 1
    end = int(np.searchsorted(ends, time + around))
    return Window(who, max(first, 0), min(end, len(role.phases))), ""


def _bound(problem: Problem, who: str) -> str:
    """Return why a character cannot be edited at all."""
    if problem.roles[who].pulled or not all(kept_whole(law) for law in problem.laws):
        return f"{who} is bound to others (hands that are held, or the like), which cannot be edited: compose it anew"
    return ""


def given(problem: Problem, window: Window, but: Law | None) -> list[Law]:
    """Return what holds in a window, whatever is moved in it, ``but`` a law that is moved.

    Of the problem's own laws those do not that say what is paid for, how it ends, or what is free.
    """
    who = window.who
    own = [law for law in problem.laws if law is not but and not isinstance(law, _NOT_IN_WINDOWS)]
    timed = any(isinstance(law, Fixed) and law.who == who and law.timing for law in problem.laws)
    phases = problem.roles[who].phases
    end = len(phases) if window.end is None else window.end
    lasts = AtTime(who, When(end - 1, 1.0), sum(phase.seconds for phase in phases[:end]))
    return [*own, Fixed(who, timing=True) if timed else _Brief(who), InAll(who), _Ends(who), lasts]


_NOT_IN_WINDOWS = (Given, Lasts, PerDistance, InAll, Fixed)
