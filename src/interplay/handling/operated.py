"""A character whose hands are an operator's: it understands what they mean, leans, presses, steps and keeps its balance (liu2012, VI)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from interplay.constraints.contact import Contact
from interplay.errors import InputError, number
from interplay.handling.hand import SAFE, Hand
from interplay.handling.intention import APPROACHING, IDLE, MANIPULATING, RELEASING, TIGHTENING
from interplay.handling.leaning import Leaning
from interplay.handling.operator import HANDS
from interplay.handling.stepping import Step
from interplay.handling.thing import Face, Thing
from interplay.motion.behaviour import Listener
from interplay.motion.controls import Control
from interplay.motion.upright import parts
from interplay.objectives.base import Objective
from interplay.objectives.com import Com
from interplay.objectives.pose import Orientation
from interplay.objectives.posture import Posture

if TYPE_CHECKING:
    from interplay.simulation import Simulation

WITHIN = 0.6
"""How near an operator's hands must be to a thing that they may mean, on the mean [m]."""
OPPOSITE = -0.5
"""Two hands hold a thing between them when the cosine between the faces they are at is below this."""
PUSHES = 0.5
"""Part of what friction holds that a hand presses with by itself when it pushes: the rest is the operator's."""
LIGHTEST = 5.0
"""What a hand must press with at least to be firm [N]."""
ARMS = {
    "shoulder_flexion": 0.1,
    "shoulder_abduction": 0.5,
    "shoulder_rotation": 0.3,
    "elbow": 0.1,
    "wrist": 0.3,
    "forearm": 0.3,
}
"""How firmly arms keep their posture, of what the rest does: hands lead them."""
LOWER = 0.045
"""By how much lower than she stood her centre of mass is while she works, of its height: knees keep their bend, also in a step."""


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
        """Take the character, the things that it may handle, and the operator's hands by side (`operator_hands`).

        ``leans``: whether its centre of mass goes where the forces on its hands want it, or stays over its feet. ``step``: how far its right foot
        goes ahead when its hands approach a thing that they will push [m]; 0: it stays. ``friction``: of its soles, that plans count on.
        """
        if not things:
            raise InputError(f"Operated {model!r}: expected at least one thing that it may handle, got none")
        if set(controls) != set(HANDS):
            raise InputError(f"Operated {model!r}: expected the controls of left and right, got {sorted(controls)}")
        self.model, self._names, self._controls, self._leans = model, tuple(things), dict(controls), leans
        self._ahead = number("Operated step", step, 0.0, 0.6, "m")
        self._friction = number("Operated friction", friction, 0.01, 10.0)
        self.hands: dict[str, Hand] = {}
        self.meant: Thing | None = None
        """The thing that is meant."""
        self._things: list[Thing] = []
        self._leaning: Leaning | None = None
        self._objectives: list[Objective] = []
        self._step: Step | None = None
        self._stepped = False

    # -- what it does --------------------------------------------------------------------------------------------------

    def update(self, sim: Simulation) -> None:
        """See what the hands mean, and lead hands, feet and centre of mass."""
        leaning = self._leaning or self._begin(sim)
        self.meant = self._nearest(sim)
        faces = [hand.look(sim, self.meant, self._asked) for hand in self.hands.values()]
        between = _between(faces)
        press, weight = self._pressing(sim, between)
        middle = self.meant.centre(sim.terms) if between and self.meant is not None else None
        for hand, face in zip(self.hands.values(), faces, strict=True):
            hand.lead(sim, face, press, weight, middle)
        self._walk(sim, between)
        hands = [*self.hands.values()]
        leaning.update(sim, hands, None if self._step is None else self._step.over(sim))
        leaning.bound(sim, hands, None if between else _pushed(faces))

    def _begin(self, sim: Simulation) -> Leaning:
        if not sim.world.finds_contacts:
            raise InputError(f"Operated {self.model!r}: it lives in the simulated world; expected world='simulated'")
        self._things = [Thing(sim.scene, name) for name in self._names]
        self.hands = {side: Hand(sim, self.model, side, self._controls[side]) for side in HANDS}
        self._leaning = Leaning(sim, self.model, self._leans)
        height = (1.0 - LOWER) * float(sim.com(self.model)[0][2])
        self._objectives = [
            Posture(self.model, weight=0.3, stiffnesses=_present(sim, self.model, ARMS)),
            *(Orientation(body, weight=1.0) for body in parts(sim, self.model, "pelvis", "chest")),
            *(Orientation(body, weight=1.0) for body in parts(sim, self.model, "head")),
            Com(self.model, reference=self._leaning.place, axes="xy", weight=100.0, stiffness=30.0, max_speed=None),
            Com(self.model, reference=height, axes="z", weight=100.0, stiffness=30.0, max_speed=0.1),
            *(hand.objective for hand in self.hands.values()),
        ]
        return self._leaning

    def _nearest(self, sim: Simulation) -> Thing | None:
        """Return the thing that is meant: the one that hands are at, else the nearest to both, if it is near."""
        if self.meant is not None and any(hand.intention.means != IDLE for hand in self.hands.values()):
            return self.meant
        far = {thing: float(np.mean([h.off(sim, thing) for h in self.hands.values()])) for thing in self._things}
        thing = min(far, key=lambda one: far[one])
        return thing if far[thing] < WITHIN else None

    @property
    def _asked(self) -> float:
        """How hard a hand must press until it is firm [N]: as hard as friction holds what it pushes."""
        return np.inf if self.meant is None else max(0.5 * self.meant.friction * self.meant.weight, LIGHTEST)

    def _pressing(self, sim: Simulation, between: bool) -> tuple[float, float]:
        """Return how hard each hand should press what is meant, and what of its weight to bear [N]."""
        if self.meant is None:
            return 0.0, 0.0
        weight, friction = self.meant.weight, self.meant.friction
        if between:
            return SAFE * weight / (2.0 * friction), 0.5 * weight * self._borne(sim, self.meant)
        return PUSHES * 0.5 * friction * weight, 0.0

    def _borne(self, sim: Simulation, thing: Thing) -> float:
        """Return what part of a thing's weight she carries: what nothing else does."""
        mine, support = sim.scene.trees(self.model), 0.0
        for (first, second), force in zip(sim.touches.bodies.tolist(), sim.touches.force, strict=True):
            for one, other, sign in ((first, second, 1.0), (second, first, -1.0)):
                if one in thing.bodies and int(sim.scene.model.body_treeid[other]) not in mine:
                    support += sign * float(force[2])
        return float(np.clip(1.0 - support / thing.weight, 0.0, 1.0))

    def _walk(self, sim: Simulation, between: bool) -> None:
        """Step ahead, once, as hands approach what they will push."""
        if self._ahead and not self._stepped and not between and self.label == APPROACHING:
            self._step, self._stepped = Step(sim, self.model, "right", self._ahead, self._friction), True
        if self._step is not None and self._step.update(sim):
            self._step = None

    # -- what it says --------------------------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """What the hands mean: what is most of it."""
        order = (MANIPULATING, TIGHTENING, RELEASING, APPROACHING, IDLE)
        means = [hand.intention.means for hand in self.hands.values()] or [IDLE]
        return min(means, key=order.index)

    @property
    def labels(self) -> tuple[str, ...]:
        """All intentions."""
        return (IDLE, APPROACHING, TIGHTENING, MANIPULATING, RELEASING)

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
        if self._leaning is None:
            return None
        return {
            "hands": {side: hand.checkpoint() for side, hand in self.hands.items()},
            "meant": self.meant and self.meant.name,
            "leaning": self._leaning.checkpoint(),
            "step": self._step and self._step.checkpoint(),
            "stepped": self._stepped,
        }

    def restore(self, sim: Simulation, data: Any) -> None:
        """Continue from a checkpoint."""
        if data is None:
            return
        leaning = self._leaning or self._begin(sim)
        for side, kept in data["hands"].items():
            self.hands[side].restore(kept)
        self.meant = next((thing for thing in self._things if thing.name == data["meant"]), None)
        leaning.restore(data["leaning"])
        self._step = data["step"] and Step.restore(sim, self.model, data["step"])
        self._stepped = data["stepped"]


def _between(faces: Sequence[Face | None]) -> bool:
    """Return whether a thing is between the hands."""
    left, right = faces
    return left is not None and right is not None and float(left.normal @ right.normal) < OPPOSITE


def _pushed(faces: Sequence[Face | None]) -> np.ndarray | None:
    """Return where hands push, horizontally (2,); None: nowhere."""
    way = -np.sum([face.normal[:2] for face in faces if face is not None] or [np.zeros(2)], axis=0)
    size = float(np.linalg.norm(way))
    return way / size if size > 0.5 else None


def _present(sim: Simulation, model: str, firmness: Mapping[str, float]) -> dict[str, float]:
    """Return those parts of a body that it has joints for, of both sides."""
    m = sim.scene.model
    joints = [m.joint(j).name.split("/", 1)[1] for j in range(m.njnt) if m.joint(j).name.startswith(f"{model}/")]
    named = {f"{side}_{part}": k for part, k in firmness.items() for side in HANDS}
    return {part: k for part, k in named.items() if any(joint.startswith(part) for joint in joints)}
