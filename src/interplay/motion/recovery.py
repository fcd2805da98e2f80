"""Recovery steps: who is pushed farther than her feet can hold steps to where she will come to rest, again if need be, then back.

She steps when the capture point leaves the support, with the foot on the side to which she falls, to where it will be, told anew all
along the swing (:mod:`.catching`); the foot lands when it touches. Afterwards, at rest, she brings her feet back to where they stood.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from interplay.constraints.contact import Contact
from interplay.errors import ContactError, number
from interplay.motion.behaviour import Behaviour, Listener
from interplay.motion.catching import (
    SINK,
    Aimed,
    Capture,
    Step,
    aim,
    capture,
    caught,
    landing,
    moving,
    off,
    put_on,
    seen_from,
    slope,
    swing_seconds,
)
from interplay.motion.footsteps import SIDES, Footprint, heading, other_side, standing
from interplay.motion.machine import Entry
from interplay.motion.touchdown import felt, land
from interplay.objectives.balance import Balance
from interplay.objectives.base import Objective
from interplay.objectives.com_over import ComOver
from interplay.objectives.pose import Orientation, Point
from interplay.objectives.reference import Part
from interplay.scene.scene import GROUND

if TYPE_CHECKING:
    from interplay.simulation import Simulation

LEAVING, LOST = 0.0075, 0.03
"""How far out of the support the capture point is [m] when she steps; and will be when a foot that goes back has landed, when that is led
to catch her instead."""
BACK = 0.4
"""Seconds of a swing that brings a foot back; of a body whose centre of mass is a metre high, as all below."""
UNHURRIED = 1.2
"""How fast a foot that is brought back goes [m/s]."""
AIMS_UNTIL = 0.8
"""Part of the swing after which the aim no longer changes."""
CALM_SPEED, CALM_FOR = 0.2, 0.1
"""She has come to rest when her centre of mass has been slower than this [m/s] for so long [s]."""
SHRINK = 0.2
"""By what part the region of a sole is drawn in while it is the only one: an edge that lifts then has no other foot to fall back on."""
CATCHING, HEIGHT, FOOT = 250.0, 30.0, 1500.0
"""Weights while she catches herself: of pressing where it stops her, of her height, and of the foot's path …"""
FLAT, ROLLED = 200.0, 0.15
"""… of its sole's being level: one that lands on an edge rocks, and does not carry her for a tenth of a second; it may have rolled off,
so that comes up in this part of the swing, without a jerk."""
LUNGING, GENTLE = 0.3, 0.5
"""What part of a foot's weight is left out of a lunge, and, of the stiffness too, on the way back."""
RISE = 0.03
"""How fast she rises again [m/s]: who pushes herself up pushes herself on."""
SHORT, WIDE = 0.35, 0.4
"""Longest step on the way back [m]; feet that are farther apart than they should be by so much [m] are brought together first."""
LUNGE = 0.5
"""Feet farther apart than this [m] are a lunge, from which she comes by quick steps."""
UNLOADING = 0.1
"""Seconds in which a foot that is brought back gives up its load."""
AT_HOME = 0.015
"""A foot nearer to its place than this [m] stays where it is."""


class Recovery:
    """Stands, steps when that is not enough, and stands again: a behaviour of one character, around another one or by itself.

    ``sim.behaviour = ip.Recovery("alice", machine)``: the machine goes on when she is back in her place; what it asks of her is
    left aside meanwhile. Without one she stands where her steps have led her.
    """

    def __init__(self, model: str, behaviour: Behaviour | None = None, *, on: str = GROUND, friction: float = 0.8):
        """Take the character, the behaviour that it interrupts, what she stands on, and what she believes of friction there."""
        self.model, self.inner, self.on = model, behaviour, on
        self._friction = number("Recovery friction", friction, 0.01, 10)
        self._soles = {side: f"{model}/{side}_sole" for side in SIDES}
        self._home: dict[str, Footprint] = {}
        """Where her feet belong, seen from what she stands on."""
        self._step: Step | None = None
        self._aimed: Aimed | None = None
        self._own: list[Objective] = []
        self._balance: Balance | None = None
        self._over: tuple[str, ...] = ()
        self._carry: tuple[str, ...] = ()
        """Soles that her centre of mass is to be over (none: both), and those that carry her."""
        self._made: Entry | None = None
        """The state in which its objectives were made."""
        self._calm_since = math.inf
        self._disturbed = False
        """Whether she has left her place, and what is interrupted waits."""
        self.steps = 0
        """How many steps have caught her so far."""

    # -- what it says --------------------------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """Say which foot steps, or what the interrupted behaviour does."""
        if self._step is not None:
            return f"{'step' if self._step.catching else 'back'} {self._step.side}"
        if self._disturbed:
            return "steady"
        return self.inner.label if self.inner is not None else "stand"

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels."""
        own = ("stand",) if self.inner is None else self.inner.labels
        return (*own, "step left", "step right", "steady", "back left", "back right")

    @property
    def coming(self) -> tuple[str, ...]:
        """What comes in the interrupted behaviour."""
        return self.inner.coming if self.inner is not None else ()

    @property
    def in_force(self) -> Sequence[tuple[str, Sequence[Objective]]]:
        """Objectives in force."""
        inner = self.inner.in_force if self.inner is not None and not self._disturbed else ()
        return [*inner, (self.label, self._own)]

    @property
    def objectives(self) -> Sequence[Objective]:
        """Objectives in force, each once."""
        inner = self.inner.objectives if self.inner is not None and not self._disturbed else ()
        return [*inner, *self._own]

    @property
    def attended(self) -> tuple[str, ...]:
        """Labels under which the user is waited for."""
        return self.inner.attended if self.inner is not None else ()

    @property
    def waiting_since(self) -> float | None:
        """Since when the user is waited for."""
        return self.inner.waiting_since if self.inner is not None and not self._disturbed else None

    @property
    def done(self) -> bool:
        """Whether the interrupted behaviour is done; standing never is."""
        return self.inner is not None and self.inner.done and not self._disturbed

    @property
    def failure(self) -> str | None:
        """What went wrong in the interrupted behaviour."""
        return self.inner.failure if self.inner is not None else None

    @property
    def catching(self) -> frozenset[str]:
        """The character, and who else does in the interrupted behaviour."""
        return frozenset({self.model}) | (self.inner.catching if self.inner is not None else frozenset())

    @property
    def listeners(self) -> Mapping[str, Listener]:
        """Who listens in the interrupted behaviour."""
        return self.inner.listeners if self.inner is not None else {}

    def coming_contacts(self, sim: Simulation) -> tuple[Contact, ...] | None:
        """Return those of the interrupted behaviour."""
        return self.inner.coming_contacts(sim) if self.inner is not None and not self._disturbed else None

    # -- what it does --------------------------------------------------------------------------------------------------

    def update(self, sim: Simulation) -> None:
        """Step where that is needed, land, steady herself, go back; else let the interrupted behaviour act."""
        if not self._home:
            self._home = {side: seen_from(sim, self.on, foot) for side, foot in standing(sim, self.model).items()}
            self._stand(sim)
        if sim.fallen and self.model in sim.fallen:
            return
        if self._step is not None:
            self._swing_on(sim, self._step)
        if self._step is None:
            self._watch(sim)
        if self.inner is not None and not self._disturbed:
            self.inner.update(sim)

    def _watch(self, sim: Simulation) -> None:
        """Step when the capture point leaves the support; when all is calm, bring the feet back."""
        if not self._disturbed and self._balance is not None and self._balance.away(sim.terms) == 0.0:
            return  # well inside: the common case, and told at once
        if not self._stands(sim):
            return  # the interrupted behaviour has lifted a foot itself
        seen = capture(sim, self.model, self.on)
        if off(sim, self._soles.values(), seen.point) > LEAVING * seen.height:
            self._begin(sim, self._choose(sim, seen), swing_seconds(seen), catching=True)
            return
        if not self._disturbed:
            return
        speed = float(np.linalg.norm(sim.com(self.model)[1] - moving(sim, self.model, self.on)))
        if speed > CALM_SPEED:
            self._calm_since = math.inf
        elif self._calm_since == math.inf:
            self._calm_since = sim.time
        elif sim.time - self._calm_since > CALM_FOR:
            self._go_back(sim, seen)

    def _go_back(self, sim: Simulation, seen: Capture) -> None:
        """Bring a foot back when she stands on the other one; or shift over to that; or be done."""
        found, height = self._way_back(sim), seen.height
        for side in SIDES:
            if found is None or side != found.side:
                self._keep(sim, self._soles[side])
        if found is None:
            self._disturbed = False
            self._stand(sim)
            return
        sole, stance = self._soles[found.side], self._soles[other_side(found.side)]
        if float(np.linalg.norm((sim.middle(stance) - sim.middle(sole))[:2])) > LUNGE * height:
            # Too wide to come to stand on one foot: she lets herself fall towards the other one, which lands nearer.
            nearer = aim(sim, self.model, self.on, found.side, seen, swing_seconds(seen))[0]
            self._begin(sim, nearer, swing_seconds(seen), catching=True, lunging=True)
            return
        if self._over != (stance,):
            self._stand(sim, over=(stance,))
        way = float(np.linalg.norm((found.place - sim.middle(sole))[:2]))
        seconds = max(BACK, way / UNHURRIED) * math.sqrt(height)
        if sim.contacts.find(sole).released_at == math.inf:
            if caught(sim, self.model, found, seen, seconds + UNLOADING) > 0.0:
                sim.contacts.release(sole, fade=UNLOADING)
        elif sim.time > sim.contacts.find(sole).released_at:
            self._begin(sim, found, seconds, catching=False)

    def _way_back(self, sim: Simulation) -> Footprint | None:
        """Return where a foot goes next on the way back: side by side first, then home by short steps; None: all is well."""
        feet = standing(sim, self.model)
        home = {side: put_on(sim, self.on, foot) for side, foot in self._home.items()}
        turn = heading(feet) - heading(home)
        c, s = math.cos(turn), math.sin(turn)
        beside = np.array([[c, -s], [s, c]]) @ (home["left"].place - home["right"].place)[:2]
        spread = float(np.linalg.norm((feet["left"].place - feet["right"].place)[:2] - beside))
        if spread > (AT_HOME if self.inner is None else WIDE):
            # Around the foot that she stands on; one that she has begun to stand on stays the one.
            place = sim.com(self.model)[0][:2]
            stays = min(SIDES, key=lambda side: float(np.linalg.norm(feet[side].place[:2] - place)))
            if len(self._over) == 1:
                stays = "left" if self._over[0] == self._soles["left"] else "right"
            moved = feet[stays].place[:2] + (beside if stays == "right" else -beside)
            return Footprint(other_side(stays), np.array([*moved, feet[stays].place[2]]), heading(feet))
        if self.inner is None:
            return None
        way = {side: (home[side].place - feet[side].place)[:2] for side in SIDES}
        length = {side: float(np.linalg.norm(way[side])) for side in SIDES}
        # The foot that is farther from home; of both as far, the one on the side to which she goes.
        leads = "left" if float(way["left"] @ beside) > 0.0 else "right"
        goes = leads if length[leads] > length[other_side(leads)] - AT_HOME else other_side(leads)
        if length[goes] < AT_HOME:
            return None
        moved = feet[goes].place[:2] + way[goes] * min(1.0, SHORT / length[goes])
        return Footprint(goes, np.array([*moved, feet[goes].place[2]]), heading(home))

    def _choose(self, sim: Simulation, seen: Capture) -> Footprint:
        """Return where to step, with the foot that has begun to leave the ground, or with which she comes to rest best."""
        leaves = [side for side in SIDES if sim.contacts.find(self._soles[side]).released_at < math.inf]
        ways = [aim(sim, self.model, self.on, side, seen, swing_seconds(seen)) for side in leaves or SIDES]
        return min(ways, key=lambda way: round(way[1], 3))[0]

    def _begin(self, sim: Simulation, end: Footprint, seconds: float, catching: bool, lunging: bool = False) -> None:
        """Lift a foot."""
        side = end.side
        sole, stance = self._soles[side], self._soles[other_side(side)]
        self._disturbed, self._calm_since = True, math.inf
        self.steps += catching
        feet = standing(sim, self.model)
        beside = end._replace(place=end.place - feet[other_side(side)].place)
        step = Step(side, feet[side], sim.time, seconds, catching, beside, lunging)
        sim.contacts.remove(sole, self.on)
        self._stand(sim, over=(stance,), catching=catching)
        self._swing(sim, step, end, slope(sim, self.on))

    def _swing(self, sim: Simulation, step: Step, end: Footprint, tilt: np.ndarray) -> None:
        """Lead a foot."""
        sole = self._soles[step.side]
        sink = SINK if sim.world.finds_contacts else 0.0
        self._step, self._aimed = step, Aimed(step, end, tilt, sink)
        place, turn = (Part(self._aimed, slice(0, 3), slice(0, 3)), Part(self._aimed, slice(3, 7), slice(3, 6)))
        firm = 1.0 if step.catching else GENTLE
        flat = Orientation(sole, turn, weight=FLAT * firm, stiffness=300.0 * firm, max_speed=math.inf)
        flat.fades = ((step.begin, ROLLED * step.seconds, math.inf, 1.0),)
        # Out of a lunge a stretched leg would be lifted by a jump.
        weight = FOOT * (LUNGING if step.lunging else firm)
        self._own += [Point(sole, place, weight=weight, stiffness=400.0 * firm, max_speed=math.inf), flat]

    def _swing_on(self, sim: Simulation, step: Step) -> None:
        """Aim anew, and land."""
        seen, stance = capture(sim, self.model, self.on), self._soles[other_side(step.side)]
        left = max(step.begin + step.seconds - sim.time, 0.0)
        if not step.catching and self._lost(sim, seen, left):
            # On the way back and pushed: the foot that is in the air catches her.
            now = standing(sim, self.model)[step.side]
            step = step._replace(start=now, begin=sim.time, seconds=swing_seconds(seen), catching=True, lunging=False)
            self.steps += 1
            self._stand(sim, over=(stance,), catching=True)
            self._swing(sim, step, step.start, slope(sim, self.on))
        gone = sim.time - step.begin
        if gone < AIMS_UNTIL * step.seconds and self._aimed is not None:
            self._aimed.aim(self._target(sim, step, seen, max(step.seconds - gone, 0.0)), slope(sim, self.on))
        feels = gone >= 0.5 * step.seconds and felt(sim, self._soles[step.side], self.on)
        if not feels and gone < step.seconds - 1e-9:
            return
        try:
            self._put_down(sim, self._soles[step.side])
        except ContactError:
            # Not there yet, unless it stands on something that nobody knew of.
            if not feels or land(sim, self._soles[step.side], self.on, **self._landing) is None:
                return
        self._step = self._aimed = None
        self._stand(sim)

    def _lost(self, sim: Simulation, seen: Capture, left: float) -> bool:
        """Return whether a foot that goes back will no longer find her over her feet."""
        return self._aimed is not None and caught(sim, self.model, self._aimed.end, seen, left) < -LOST * seen.height

    def _target(self, sim: Simulation, step: Step, seen: Capture, left: float) -> Footprint:
        """Return where a swinging foot lands: where it stops her, or where it belongs beside the standing one."""
        if step.catching:
            return aim(sim, self.model, self.on, step.side, seen, left)[0]
        stance = standing(sim, self.model)[other_side(step.side)].place[:2]
        return landing(sim, self.model, self.on, step.goal._replace(place=stance + step.goal.place[:2]), left)

    def _keep(self, sim: Simulation, sole: str) -> None:
        """Count on a sole again that had begun to leave, and need not."""
        if sim.contacts.find(sole).released_at < math.inf:
            sim.contacts.remove(sole, self.on)
            self._put_down(sim, sole)

    def _put_down(self, sim: Simulation, sole: str) -> None:
        sim.contacts.add(sole, self.on, landing=True, **self._landing)

    @property
    def _landing(self) -> dict[str, float]:
        return {"friction": self._friction, "fade": 0.04}

    def _stand(self, sim: Simulation, over: tuple[str, ...] = (), catching: bool = False) -> None:
        """Ask for balance over both feet, or over one."""
        carry = tuple(s for s in self._soles.values() if s in self._touched(sim))
        for sole in carry:
            sim.contacts.set_shrink(sole, shrink=SHRINK if len(over) == 1 else None)
        self._made = Entry.of(sim)
        self._ask(sim, over, carry, catching)

    def _ask(self, sim: Simulation, over: tuple[str, ...], carry: tuple[str, ...], catching: bool) -> None:
        """Make the objectives of balance over some soles, where some carry, in the present state."""
        self._over, self._carry = over, carry
        soles = over or tuple(self._soles.values())
        self._balance = Balance(self.model, on=carry, terms=sim.terms, weight=CATCHING if catching else 1e4)
        self._balance.attach(sim.scene)
        self._own = [self._balance]
        if self.inner is None or self._disturbed:
            if not catching:
                self._own += [ComOver(self.model, over=soles, reference=(0.0, 0.0), weight=100.0)]
            # Who comes to stand on one foot rises when she is there: from a lunge she could not do both.
            weight = HEIGHT if catching else 3.0 if len(carry) > len(over) > 0 else 30.0
            self._own += [
                ComOver(self.model, over=soles, axes="z", weight=weight, max_speed=RISE if not catching else None)
            ]
        sim.live.adjustments.take_up(self._own, self.label)

    # -- what it sees --------------------------------------------------------------------------------------------------

    def _stands(self, sim: Simulation) -> bool:
        """Return whether both soles are put on what she stands on, and carry."""
        return self._touched(sim).issuperset(self._soles.values())

    def _touched(self, sim: Simulation) -> set[str]:
        """Return the surfaces that have contacts."""
        return {s.name for c in sim.contacts for s in (c.first, c.second)}

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def checkpoint(self) -> Any:
        """Return what restores it, as plain values."""
        step = self._step
        return {
            "inner": self.inner.checkpoint() if self.inner is not None else None,
            "made": self._made and self._made.checkpoint(),
            "home": [_plain(print_) for print_ in self._home.values()],
            "step": step
            and [
                step.side,
                _plain(step.start),
                step.begin,
                step.seconds,
                step.catching,
                _plain(step.goal),
                step.lunging,
            ],
            "end": _plain(self._aimed.end) if self._aimed else None,
            "tilt": self._aimed.slope.tolist() if self._aimed else None,
            "over": list(self._over),
            "carry": list(self._carry),
            "calm": self._calm_since if math.isfinite(self._calm_since) else None,
            "disturbed": self._disturbed,
            "steps": self.steps,
        }

    def restore(self, sim: Simulation, data: Any) -> None:
        """Continue from a checkpoint."""
        if self.inner is not None:
            self.inner.restore(sim, data["inner"])
        self._home = {p[0]: _footprint(p) for p in data["home"]}
        self._calm_since = math.inf if data["calm"] is None else data["calm"]
        self._disturbed, self.steps = bool(data["disturbed"]), int(data["steps"])
        self._step = self._aimed = None
        if data["made"] is not None:
            self._made = Entry.restore(data["made"])
            with sim.at(self._made):
                catching = data["step"] is not None and data["step"][4]
                self._ask(sim, tuple(data["over"]), tuple(data["carry"]), catching)
        if data["step"] is not None:
            side, start, begin, seconds, catching, goal, lunging = data["step"]
            step = Step(side, _footprint(start), begin, seconds, catching, _footprint(goal), lunging)
            self._swing(sim, step, _footprint(data["end"]), np.array(data["tilt"]))


def _plain(footprint: Footprint) -> list[Any]:
    return [footprint.side, footprint.place.tolist(), footprint.heading]


def _footprint(data: list[Any]) -> Footprint:
    return Footprint(data[0], np.array(data[1]), float(data[2]))
