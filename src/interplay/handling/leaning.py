"""Where a centre of mass goes while hands push, and how hard they may push where it is: out of the feet for a moment, and back (liu2012, VI.A)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from interplay.constraints.contact import Contact
from interplay.handling.hand import Hand
from interplay.handling.intention import HOLDING, RELEASING
from interplay.motion.upright import soles
from interplay.objectives.reference import Sample

if TYPE_CHECKING:
    from interplay.simulation import Simulation

SMOOTH = 0.1
"""Seconds over which the forces on hands are averaged, and their effect."""
MOST, LEAST = 400.0, 20.0
"""What a hand presses with at most, and what always, whatever her balance [N]."""
BEHIND, BEFORE = 0.15, 0.03
"""How far from her hindmost heel, and from her foremost toes, the pressure of her feet keeps while she pushes [m]: what hands press with moves
it back."""


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
    """Brings the reference of a centre of mass to where it may best be at rest under the forces that hands feel.

    Over level ground, with N what feet bear, p the middle of where their pressure may be, and hands' forces F at places r, of which h is the height,

        m g c = N p + Σ (F_z r − h F_xy),

    so what hands push against moves it ahead, F h/(m g), and what they carry back.
    """

    def __init__(self, sim: Simulation, model: str, follows: bool):
        """Begin over the feet; ``follows``: whether hands' forces count, or the feet alone."""
        self._model, self._follows, self._soles = model, follows, soles(model)
        self.place = Place(sim.middle(*self._soles)[:2].copy())
        self._middle = self.place.place.copy()
        self._felt: dict[str, np.ndarray] = {}
        self._feet: tuple[Contact, ...] | None = None

    def update(self, sim: Simulation, hands: Sequence[Hand], over: np.ndarray | None = None) -> None:
        """Move the reference; ``over``: where it goes whatever hands feel (2,), while a foot is to be lifted."""
        for hand in hands:
            felt = self._felt.setdefault(hand.side, np.zeros(3))
            felt += min(1.0, sim.dt / SMOOTH) * (hand.felt - felt)
        feet = tuple(c for c in sim.contacts if c.first.name in self._soles)
        if (
            self._feet is None
            or len(feet) != len(self._feet)
            or any(a is not b for a, b in zip(feet, self._feet, strict=True))
        ):
            region = sim.stability_region(self._model, contacts=feet)
            self._feet, self._middle = feet, self._middle if region.empty else region.centre
        goal = self._middle if over is None else over
        if over is None and self._follows:
            weight, ground = self._weight(sim), self._ground(sim)
            load = np.zeros(3)
            for hand in hands:
                place, force = sim.terms.site_xpos[hand.site], self._felt[hand.side]
                load[:2] += force[2] * place[:2] - (place[2] - ground) * force[:2]
                load[2] += force[2]
            goal = ((weight - load[2]) * goal + load[:2]) / weight
        self.place.place = self.place.place + min(1.0, sim.dt / SMOOTH) * (goal - self.place.place)

    def bound(self, sim: Simulation, hands: Sequence[Hand], along: np.ndarray | None) -> None:
        """Let hands that push along a horizontal direction (2,) press no harder, and no less, than she can stand as she leans now.

        Harder, she would tip over her heels; less, while she leans out, over her toes. None: they do not push.
        """
        for hand in hands:
            hand.objective.most, hand.least = MOST, 0.0
        if along is None:
            return
        sites = [sim.scene.site(sole) for sole in self._soles]
        half, feet = sim.scene.model.site_size[sites, 0], sim.terms.site_xpos[sites][:, :2] @ along
        lean, weight = float(sim.com(self._model)[0][:2] @ along), self._weight(sim)
        heels, toes = float((feet - half).min()) + BEHIND, float((feet + half).max()) - BEFORE
        for hand in hands:
            if (
                hand.intention.means in HOLDING or hand.intention.means == RELEASING
            ):  # to reach out costs no more than it moves
                high = len(hands) * max(float(sim.terms.site_xpos[hand.site][2]) - self._ground(sim), 0.3)
                hand.objective.most = float(np.clip(weight * (lean - heels) / high, LEAST, MOST))
                hand.least = float(np.clip(weight * (lean - toes) / high, 0.0, hand.objective.most))

    def _weight(self, sim: Simulation) -> float:
        (tree,) = sim.scene.trees(self._model)[:1]
        m = sim.scene.model
        return float(sim.terms.subtree_mass[m.tree_bodyadr[tree]]) * -float(m.opt.gravity[2])

    def _ground(self, sim: Simulation) -> float:
        return min(float(sim.terms.site_xpos[sim.scene.site(sole)][2]) for sole in self._soles)

    def checkpoint(self) -> Any:
        """Return what restores it."""
        felt = {side: force.tolist() for side, force in self._felt.items()}
        return [self.place.place.tolist(), self._middle.tolist(), felt]

    def restore(self, data: Any) -> None:
        """Go on."""
        place, middle, felt = data
        self.place.place, self._middle = np.array(place), np.array(middle)
        self._felt = {side: np.array(force) for side, force in felt.items()}
