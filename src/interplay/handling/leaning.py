"""Where a centre of mass goes while hands push, and how hard they may push where it is: out of the feet for a moment, and back (liu2012, VI.A)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from interplay.handling.hand import Hand
from interplay.handling.intention import HOLDING
from interplay.motion.upright import soles
from interplay.objectives.reference import Sample

if TYPE_CHECKING:
    from interplay.simulation import Simulation

SMOOTH, EVERY = 0.1, 0.05
"""Seconds over which the forces on hands are averaged, and their effect; and from one look at the stable region to the next."""
MOST, LEAST = 400.0, 20.0
"""What a hand presses with at most, and what always, whatever her balance [N]."""
BEHIND = 0.11
"""How far from her hindmost heel the pressure of her feet keeps while she pushes [m]: what hands press with moves it back."""


class Place:
    """A reference for a centre of mass that moves: a place (2,) [m]."""

    full = True

    def __init__(self, place: np.ndarray):
        """Begin at a place."""
        self.place, self._still = place, np.zeros(2)

    def at(self, time: float) -> Sample:
        """Return where it is now."""
        return Sample(self.place, self._still, self._still)


class Leaning:
    """Brings the reference of a centre of mass to the middle of where it may be at rest under the forces that hands feel."""

    def __init__(self, sim: Simulation, model: str, follows: bool):
        """Begin over the feet; ``follows``: whether hands' forces count, or the feet alone."""
        self._model, self._follows, self._soles = model, follows, soles(model)
        self.place = Place(sim.middle(*self._soles)[:2].copy())
        self._goal, self._looked = self.place.place.copy(), -np.inf
        self._felt: dict[str, np.ndarray] = {}

    def update(self, sim: Simulation, hands: Sequence[Hand], over: np.ndarray | None = None) -> None:
        """Move the reference; ``over``: where it goes whatever hands feel (2,), while a foot is to be lifted."""
        for hand in hands:
            felt = self._felt.setdefault(hand.side, np.zeros(3))
            felt += min(1.0, sim.dt / SMOOTH) * (hand.felt - felt)
        if over is not None:
            self._goal = over
        elif sim.time - self._looked >= EVERY - 1e-9:
            self._looked = sim.time
            feet = [c for c in sim.contacts if c.first.name in self._soles]
            forces = [(sim.terms.site_xpos[h.site], self._felt[h.side]) for h in hands] if self._follows else []
            region = sim.stability_region(self._model, contacts=feet, forces=forces)
            if not region.empty:
                self._goal = region.centre
        self.place.place = self.place.place + min(1.0, sim.dt / SMOOTH) * (self._goal - self.place.place)

    def bound(self, sim: Simulation, hands: Sequence[Hand], along: np.ndarray | None) -> None:
        """Let hands that push along a horizontal direction (2,) press no harder than she can stand as she leans now; None: they do not push."""
        for hand in hands:
            hand.objective.most = MOST
        if along is None:
            return
        sites = [sim.scene.site(sole) for sole in self._soles]
        heels = min(float(sim.terms.site_xpos[s][:2] @ along) - sim.scene.model.site_size[s, 0] for s in sites)
        ground = min(float(sim.terms.site_xpos[s][2]) for s in sites)
        (tree,) = sim.scene.trees(self._model)[:1]
        weight = float(sim.terms.subtree_mass[sim.scene.model.tree_bodyadr[tree]]) * -float(
            sim.scene.model.opt.gravity[2]
        )
        lean = float(sim.com(self._model)[0][:2] @ along) - heels - BEHIND
        for hand in hands:
            if hand.intention.means not in HOLDING:  # to reach out costs no more than it moves
                continue
            high = max(float(sim.terms.site_xpos[hand.site][2]) - ground, 0.3)
            hand.objective.most = float(np.clip(weight * lean / high / len(hands), LEAST, MOST))

    def checkpoint(self) -> Any:
        """Return what restores it."""
        felt = {side: force.tolist() for side, force in self._felt.items()}
        return [self.place.place.tolist(), self._goal.tolist(), self._looked, felt]

    def restore(self, data: Any) -> None:
        """Go on."""
        place, goal, self._looked, felt = data
        self.place.place, self._goal = np.array(place), np.array(goal)
        self._felt = {side: np.array(force) for side, force in felt.items()}
