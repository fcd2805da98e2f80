"""What characters who meet begin with: steps of their own gaits, in a time, from a place, heading somewhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from interplay.spacetime.actions import Gaits
from interplay.spacetime.ends import moved
from interplay.spacetime.part import Style
from interplay.spacetime.rows import OTHER, Row

INTERVAL = 0.03
"""About how long an interval is at first [s]."""


def walked(gaits: Gaits, kind: str, speed: float, steps: int, leads: str = "left") -> Row:
    """Return steps of a gait along x, of which a foot lands first."""
    feet = (leads, OTHER[leads])
    row = gaits.half(kind, speed, leads)
    for k in range(1, steps):
        row = row.then(gaits.half(kind, speed, feet[k % 2]))
    return row


def meshed(row: Row, seconds: float) -> Row:
    """Return a row that takes so long, on a coarse mesh."""
    factor = seconds / sum(phase.seconds for phase in row.phases)
    knots = row.knots._replace(v=row.knots.v / factor, rate=row.knots.rate * factor)
    phases = tuple(phase._replace(seconds=phase.seconds * factor) for phase in row.phases)
    return Row(phases, knots).on([max(2, int(np.ceil(phase.seconds / INTERVAL))) for phase in phases])


def placed(row: Row, heading: float, begin: Sequence[float] | None = None, end: Sequence[float] | None = None) -> Row:
    """Return a row whose way goes somewhere [rad], and begins or ends at a place (x, y); if neither is said, its middle is at 0, 0."""
    ahead = row.knots.q[-1, :2] - row.knots.q[0, :2]
    origin = np.array(
        [*row.knots.q[0, :2], np.arctan2(ahead[1], ahead[0])]
    )  # hips turn, and where they begin is not the way
    knots = moved(row.knots, origin, np.array([0.0, 0.0, heading]))
    middle = -0.5 * (knots.q[0, :2] + knots.q[-1, :2])
    shift = middle if begin is None else np.asarray(begin) - knots.q[0, :2]
    shift = shift if end is None else np.asarray(end) - knots.q[-1, :2]
    q = knots.q.copy()
    q[:, :2] += shift
    return row._replace(knots=knots._replace(q=q))


def headed(manner: Style, heading: float, turning: float | None = None, leaning: float | None = None) -> Style:
    """Return the style of who heads elsewhere; what it costs to turn off the way, and to lean [1/rad²]."""
    rest, posture = manner.rest.copy(), manner.posture.copy()
    rest[3] = heading
    if turning is not None:
        posture[3] = turning
    if leaning is not None:
        posture[4:6] = leaning
    ties = tuple(tie._replace(value=tie.value + heading) if tie.parts[0][0] == 3 else tie for tie in manner.ties)
    return manner._replace(rest=rest, posture=posture, ties=ties)
