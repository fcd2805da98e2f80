"""What the operator means (liu2012, Algorithm 1), from what is seen of a hand and a thing: so that it never chatters, with patience and margins.

A hand means one of five things. With d the distance from the operator's hand to the thing, v its speed towards it, c whether the character's hand
touches it, F the force that is desired of that hand:

    d > η, v > 0, no c  → approaching        d ≤ η, c, F < Ψ → tightening
    d > η, c            → releasing          d ≤ η, c, F ≥ Ψ → manipulating          else → idle
"""

from __future__ import annotations

from typing import Any, NamedTuple

IDLE, APPROACHING, TIGHTENING, MANIPULATING, RELEASING = (
    "idle",
    "approaching",
    "tightening",
    "manipulating",
    "releasing",
)

HOLDING = (TIGHTENING, MANIPULATING)
"""What a hand means that is on a thing and stays there."""


class Thresholds(NamedTuple):
    """When a hand is near, moves, and presses."""

    near: float = 0.02
    """η: an operator's hand that is no farther from the thing is at it [m]; it is away again when twice as far."""
    moves: float = 0.02
    """v: what is slower stands still [m/s]."""
    firm: float = 0.8
    """Ψ as a part of what the thing asks for: what friction must bear, or what must be overcome …"""
    slack: float = 0.6
    """… and what is firm remains so down to this."""
    patience: float = 0.1
    """Seconds for which another intention must be seen before it counts."""


USUAL = Thresholds()


class Seen(NamedTuple):
    """What is seen of one hand and one thing."""

    distance: float
    """Of the operator's hand from the thing [m]; negative inside."""
    approach: float
    """How fast it comes nearer [m/s]."""
    touches: bool
    """Whether the character's hand does."""
    force: float
    """What is desired of that hand, over what the thing asks for."""


class Intention:
    """What one hand means now, and why."""

    def __init__(self, thresholds: Thresholds = USUAL):
        """Begin idle."""
        self.thresholds = thresholds
        self.means, self.why, self.since = IDLE, "nothing has been seen", 0.0
        self._other, self._other_since = IDLE, 0.0

    def update(self, seen: Seen, time: float) -> str:
        """Return what the hand means, after a look at a time [s]."""
        means, why = decide(seen, self.thresholds, self.means)
        if means == self.means:
            self.why, self._other = why, means
        elif means != self._other:
            self._other, self._other_since = means, time
        elif time - self._other_since >= self.thresholds.patience - 1e-9:
            self.means, self.why, self.since = means, why, time
        return self.means

    def checkpoint(self) -> Any:
        """Return what restores it."""
        return [self.means, self.why, self.since, self._other, self._other_since]

    def restore(self, data: Any) -> None:
        """Go on."""
        self.means, self.why, self.since, self._other, self._other_since = data


def decide(seen: Seen, t: Thresholds, before: str = IDLE) -> tuple[str, str]:
    """Return what a hand means and why; what it meant before widens the thresholds by which it would mean something else."""
    engaged = before in HOLDING
    near = seen.distance <= (2.0 * t.near if engaged else t.near)
    where = f"{100 * seen.distance:.0f} cm from it"
    if seen.touches and not near:
        return RELEASING, f"the hand is {where}, the character's still touches"
    if seen.touches:
        firm = seen.force >= (t.slack if before == MANIPULATING else t.firm)
        said = f"presses with {seen.force:.0%} of what it takes"
        return (MANIPULATING if firm else TIGHTENING), said
    if seen.approach > t.moves or (
        before == APPROACHING and seen.approach > -t.moves
    ):  # until it touches, or turns back
        return APPROACHING, f"{where}, nearer by {seen.approach:.2f} m/s"
    return IDLE, f"{where}, and does not come nearer" if not near else f"{where}, and does not touch it yet"
