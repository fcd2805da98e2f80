"""Schedules: in which turns a problem is solved (liu2006, section 6). Values that a problem is given; a new one is one more class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from interplay.spacetime.problem import Joint, Problem, Schedule, Turn, Window

__all__ = ["Horizon", "Joint", "Layered", "Schedule"]


class Layered(NamedTuple):
    """Time-layered (liu2006, 6.1): what is across a seam, from a phase until before another, then what is before it and after it.

    In the paper each side is solved alone before, up to a pose that nobody knows yet; here both are gaits already, which are optimal but
    for what must hold along them.
    """

    who: str
    first: int
    end: int

    def turns(self, problem: Problem) -> Iterable[Turn]:
        """Return the three."""
        return [
            Turn((Window(self.who, self.first, self.end, loose=True),)),
            Turn((Window(self.who, 0, self.first, loose=True),), near=True),
            Turn((Window(self.who, self.end),), near=True),
        ]


class Horizon(NamedTuple):
    """Decreasing horizon (liu2006, 6.3): each plans alone, against what the others have planned, first the whole, then what is left.

    Who is last in the order, the target, plans half of what the others did; then the interval halves. ``last`` adjusts last, and decides.
    """

    order: tuple[str, ...]
    last: str
    cycles: int = 1

    def turns(self, problem: Problem) -> Iterable[Turn]:
        """Return one turn after another."""
        for cycle in range(self.cycles + 1):
            for k, who in enumerate(self.order):
                target = k + 1 == len(self.order)
                yield Turn((Window(who, begins(problem, who, 1.0 - 0.5 ** (cycle + target))),))
                if who == self.last and cycle + target >= self.cycles:
                    return


def begins(problem: Problem, who: str, share: float) -> int:
    """Return the phase of a role that begins nearest to a share of its time."""
    seconds = np.cumsum([0.0, *(phase.seconds for phase in problem.roles[who].phases)])
    return int(np.argmin(np.abs(seconds[:-1] - share * seconds[-1])))
