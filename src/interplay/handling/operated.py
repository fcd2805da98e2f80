"""A character whose hands are an operator's: it understands what they mean, leans, presses, steps and keeps its balance (liu2012, VI)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from interplay.constraints.contact import Contact
from interplay.errors import InputError
from interplay.handling.hand import SAFE, Hand
from interplay.handling.intention import IDLE, MANIPULATING, RELEASING, TIGHTENING
from interplay.handling.operator import HANDS
from interplay.handling.stepping import Step
from interplay.handling.thing import Face, Thing
from interplay.motion.behaviour import Listener
from interplay.motion.controls import Control
from interplay.motion.upright import parts, soles
from interplay.objectives.base import Objective
from interplay.objectives.com import Com
from interplay.objectives.pose import Orientation
from interplay.objectives.posture import Posture
from interplay.objectives.reference import Sample

if TYPE_CHECKING:
    from interplay.simulation import Simulation

WITHIN = 0.6
"""How near an operator's hand must be to a thing that it may mean [m]."""
OPPOSITE = -0.5
"""Two hands hold a thing between them when the cosine between the faces they are at is below this."""
PUSHES = 0.5
"""Part of what friction holds that a hand presses with by itself when it pushes: the rest is the operator's."""
ARMS = {"shoulder_flexion": 0.1, "shoulder_abduction": 0.5, "shoulder_rotation": 0.3, "elbow": 0.1, "wrist": 0.3, "forearm": 0.3, "clavicle": 0.5}
"""How firmly arms keep their posture, of what the rest does: hands lead them."""
LOWER = 0.045
"""By how much lower than she stood her centre of mass is while she works, of its height: knees keep their bend, also in a step."""
MOST, LEAST, HEEL, G = 400.0, 20.0, 0.11, 9.81
"""What a hand presses with at most, and what always, whatever her balance [N]; how far from her heels the pressure of her feet keeps [m]."""
FILTER, EVERY = 0.1, 0.05
"""Seconds over which the forces on hands are averaged before the centre of mass follows, and from one look at the stable region to the next."""


class Place:
    """A reference for the centre of mass that moves (2,)."""

    full = True

    def __init__(self, place: np.ndarray):
        """Begin at a place."""
        self.place, self._still = place, np.zeros(2)

    def at(self, time: float) -> Sample:
        """Return where it is now."""
        return Sample(self.place, self._still, self._still)


class Operated:
    """The behaviour of a character that is led by two hands."""

    def __init__(
        self,
        model: str,
        things: Sequence[str],
        controls: Mapping[str, Control],
        *,
        leans: bool = True,
        step: float = 0.0,
        friction: float = 1.0,
    ):
        """Take the character, the things that it may handle, and the operator's hands by side.

        ``leans``: whether its centre of mass goes where the forces on its hands want it, or stays over its feet. ``step``: how far its right foot
        goes ahead when its hands approach a thing that they will push [m]; 0: it stays. ``friction``: of its soles, that plans count on.
        """
        if not things:
            raise InputError(f"Operated {model!r}: expected at least one thing that it may handle, got none")
        self.model, self._names, self._controls, self._leans = model, tuple(things), dict(controls), leans
        self.hands: dict[str, Hand] = {}
        self.meant: Thing | None = None
        """The thing that is meant."""
        self._things: list[Thing] = []
        self._objectives: list[Objective] = []
        self._felt, self._looked = np.zeros((len(HANDS), 3)), -np.inf
        self._place: Place | None = None
        self._goal = np.zeros(2)
        self._ahead, self._friction, self._step = step, friction, None
        self._stepped = False
        self._press_along: np.ndarray | None = None

    # -- what it does --------------------------------------------------------------------------------------------------

    def update(self, sim: Simulation) -> None:
        """See what the hands mean, and lead hands and centre of mass."""
        if not self.hands:
            self._begin(sim)
        self.meant = self._nearest(sim)
        faces = {side: hand.look(sim, self.meant, self._asked(side)) for side, hand in self.hands.items()}
        between = self._between(faces)
        ways = [face.normal[:2] for face in faces.values() if face is not None and np.linalg.norm(face.normal[:2]) > 0.5]
        self._press_along = None if between or not ways else -np.mean(ways, axis=0) / np.linalg.norm(np.mean(ways, axis=0))
        for side, hand in self.hands.items():
            press, weight = self._pressing(between)
            hand.lead(sim, faces[side], press, weight * self._borne(sim), between)
        self._walk(sim, between)
        self._balance(sim)

    def _walk(self, sim: Simulation, between: bool) -> None:
        """Step ahead once, as hands approach what they will push."""
        if self._ahead and not self._stepped and not between and self.label == "approaching":
            self._step, self._stepped = Step(sim, self.model, "right", self._ahead, self._friction), True
        if self._step is not None and self._step.update(sim):
            self._step = None
        if self.label == IDLE and self.meant is None:
            self._stepped = False

    def _begin(self, sim: Simulation) -> None:
        if not sim.world.finds_contacts:
            raise InputError(f"Operated {self.model!r}: it lives in the simulated world; expected world='simulated'")
        self._things = [Thing(sim.scene, name) for name in self._names]
        self.hands = {side: Hand(sim, self.model, side, self._controls[side]) for side in HANDS}
        self._place = Place(sim.middle(*soles(self.model))[:2].copy())
        self._goal = self._place.place.copy()
        height = float(sim.com(self.model)[0][2])
        self._objectives = [
            Posture(self.model, weight=0.3, stiffnesses=_present(sim, self.model, ARMS)),
            *(Orientation(body, weight=1.0) for body in parts(sim, self.model, "pelvis", "chest")),
            *(Orientation(body, weight=0.3) for body in parts(sim, self.model, "head")),
            Com(self.model, reference=self._place, axes="xy", weight=100.0, stiffness=30.0, max_speed=None),
            Com(self.model, reference=(1.0 - LOWER) * height, axes="z", weight=100.0, stiffness=30.0, max_speed=0.1),
            *(hand.objective for hand in self.hands.values()),
        ]

    def _nearest(self, sim: Simulation) -> Thing | None:
        """Return the thing that is meant: the one it holds, else the nearest to both hands, if it is near."""
        if self.meant is not None and any(h.intention.means != IDLE for h in self.hands.values()):
            return self.meant
        far = {
            thing: sum(thing.face(sim.terms, h.marker(sim)[:3], sim.terms.site_xpos[h.site]).distance for h in self.hands.values())
            for thing in self._things
        }
        thing = min(far, key=lambda one: far[one])
        return thing if far[thing] < 2.0 * WITHIN else None

    def _between(self, faces: Mapping[str, Face | None]) -> bool:
        """Return whether the thing is between the hands."""
        left, right = (faces[side] for side in HANDS)
        return left is not None and right is not None and float(left.normal @ right.normal) < OPPOSITE

    def _pressing(self, between: bool) -> tuple[float, float]:
        """Return how hard each hand should press what is meant, and what of its weight to bear at most [N]."""
        if self.meant is None:
            return 0.0, 0.0
        weight, friction = self.meant.weight, self.meant.friction
        if between:
            return SAFE * weight / (2.0 * friction), 0.5 * weight
        return PUSHES * 0.5 * friction * weight, 0.0

    def _borne(self, sim: Simulation) -> float:
        """Return what part of the weight of what is meant nothing else than she carries."""
        if self.meant is None:
            return 0.0
        m, mine, support = sim.scene.model, sim.scene.trees(self.model), 0.0
        for (first, second), force in zip(sim.touches.bodies.tolist(), sim.touches.force, strict=True):
            for thing, other, sign in ((first, second, 1.0), (second, first, -1.0)):
                if thing in self.meant.bodies and int(m.body_treeid[other]) not in mine:
                    support += sign * float(force[2])
        return float(np.clip(1.0 - support / self.meant.weight, 0.0, 1.0))

    def _asked(self, side: str) -> float:
        """Return the force at which a hand is firm [N]."""
        if self.meant is None:
            return np.inf
        return max(0.5 * self.meant.friction * self.meant.weight, 5.0)

    def _balance(self, sim: Simulation) -> None:
        """Bring the centre of mass to where the forces on hands want it, as they are felt."""
        assert_place = self._place
        if assert_place is None:
            return
        felt = np.array([hand.felt for hand in self.hands.values()])
        self._felt += min(1.0, sim.dt / FILTER) * (felt - self._felt)
        if self._step is not None:
            self._goal = self._step.over(sim)
        elif sim.time - self._looked >= EVERY - 1e-9:
            self._looked = sim.time
            feet = [c for c in sim.contacts if c.first.name in soles(self.model)]
            forces = [(sim.terms.site_xpos[h.site], f) for h, f in zip(self.hands.values(), self._felt, strict=True)]
            region = sim.stability_region(self.model, contacts=feet, forces=forces if self._leans else ())
            if not region.empty:
                self._goal = region.centre
            self._bound(sim)
        way = self._goal - assert_place.place
        assert_place.place = assert_place.place + min(1.0, sim.dt / FILTER) * way

    def _bound(self, sim: Simulation) -> None:
        """Let hands that push press no harder than she can stand now: what they press with is felt at her heels."""
        feet = [sim.terms.site_xpos[sim.scene.site(sole)] for sole in soles(self.model)]
        place, m = sim.com(self.model)[0], sim.scene.model
        weight = sum(float(m.body_subtreemass[m.tree_bodyadr[t]]) for t in sim.scene.trees(self.model)) * G
        for hand in self.hands.values():
            pushes = self.meant is not None and self._press_along is not None
            if not pushes:
                hand.objective.most = MOST
                continue
            along, half = self._press_along, sim.scene.model.site_size[sim.scene.site(soles(self.model)[0]), 0]
            heels = min(float(foot[:2] @ along) for foot in feet) - half + HEEL
            high = max(float(sim.terms.site_xpos[hand.site][2] - feet[0][2]), 0.3)
            hand.objective.most = float(np.clip(0.5 * weight * (place[:2] @ along - heels) / high, LEAST, MOST))

    # -- what it says --------------------------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """What the hands mean: what is most of it."""
        order = (MANIPULATING, TIGHTENING, RELEASING, "approaching", IDLE)
        means = [hand.intention.means for hand in self.hands.values()] or [IDLE]
        return min(means, key=order.index)

    @property
    def labels(self) -> tuple[str, ...]:
        """All intentions."""
        return (IDLE, "approaching", TIGHTENING, MANIPULATING, RELEASING)

    @property
    def coming(self) -> tuple[str, ...]:
        """Nothing: it is the operator's to say."""
        return ()

    @property
    def in_force(self) -> Sequence[tuple[str, Sequence[Objective]]]:
        """What it wants."""
        return [(self.label, self.objectives)]

    @property
    def objectives(self) -> Sequence[Objective]:
        """The same."""
        return [*self._objectives, *(self._step.objectives if self._step else ())]

    @property
    def attended(self) -> tuple[str, ...]:
        """All: it always waits for the operator."""
        return self.labels

    @property
    def waiting_since(self) -> float | None:
        """Since when both hands have been idle."""
        if any(hand.intention.means != IDLE for hand in self.hands.values()):
            return None
        return max((hand.intention.since for hand in self.hands.values()), default=0.0)

    @property
    def done(self) -> bool:
        """Never."""
        return False

    @property
    def failure(self) -> str | None:
        """None."""
        return None

    @property
    def catching(self) -> frozenset[str]:
        """Nobody."""
        return frozenset()

    @property
    def listeners(self) -> Mapping[str, Listener]:
        """Nobody."""
        return {}

    def coming_contacts(self, sim: Simulation) -> tuple[Contact, ...] | None:
        """Return nothing: it is not known."""
        return None

    def checkpoint(self) -> Any:
        """Return what restores it, as plain values."""
        return {
            "hands": {side: hand.checkpoint() for side, hand in self.hands.items()},
            "meant": self.meant and self.meant.name,
            "felt": self._felt.tolist(),
            "looked": self._looked,
            "place": None if self._place is None else self._place.place.tolist(),
            "goal": self._goal.tolist(),
        }

    def restore(self, sim: Simulation, data: Any) -> None:
        """Continue from a checkpoint."""
        if not data["hands"]:
            return
        if not self.hands:
            self._begin(sim)
        for side, kept in data["hands"].items():
            self.hands[side].restore(kept)
        self.meant = next((thing for thing in self._things if thing.name == data["meant"]), None)
        self._felt, self._looked = np.array(data["felt"]), data["looked"]
        self._goal = np.array(data["goal"])
        if self._place is not None:
            self._place.place = np.array(data["place"])


def _present(sim: Simulation, model: str, firmness: Mapping[str, float]) -> dict[str, float]:
    """Return those parts of a body that it has joints for."""
    m = sim.scene.model
    joints = [m.joint(j).name.split("/", 1)[1] for j in range(m.njnt) if m.joint(j).name.startswith(f"{model}/")]
    return {f"{side}_{part}": k for part, k in firmness.items() for side in HANDS if any(f"{side}_{part}" in j for j in joints)}
