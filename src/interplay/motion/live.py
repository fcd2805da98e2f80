"""Live input: all that is done to a running scene from outside, by code, a file or the user's hand; all of it is recorded.

Controls move, bodies are pushed and pulled, joints of mechanisms driven, things thrown, characters told what to do, gains adjusted,
masses and friction changed. What is done is also a row of a targets file (:mod:`.targets`), so that it can be done again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from interplay.errors import InputError, number, pick, vector
from interplay.motion.adjustments import Adjustments
from interplay.motion.controls import Control
from interplay.motion.drives import Drives
from interplay.motion.frictions import Frictions
from interplay.motion.masses import Masses
from interplay.motion.pushes import Pull, Push, movable, strength, thrown, within_reach
from interplay.motion.targets import OF_PHASE, Target, adjusted, deed, listener
from interplay.objectives.base import Gains

if TYPE_CHECKING:
    from interplay.simulation import Simulation

MOST_FORCE = 1e5
"""The largest force [N] or torque [N·m] of a push: ten tons."""


class LiveInput:
    """What is done to one simulation."""

    def __init__(self, sim: Simulation):
        """Take the simulation; at first nothing is done."""
        self._sim = sim
        self.controls: dict[str, Control] = {}
        self.targets: list[Target] = []
        """Live input to come, by ascending time."""
        self.inputs: list[Target] = []
        """Live input since the last block of a recording."""
        self.adjustments = Adjustments(sim.scene)
        self.masses = Masses(sim.scene, sim.refresh)
        self.drives, self.frictions = Drives(sim.scene), Frictions(sim.scene)
        self.held: Pull | None = None
        """The body that the user's hand holds."""
        self._pushes: list[Push] = []

    # -- what can be done ----------------------------------------------------------------------------------------------

    def add_control(self, control: Control) -> Control:
        """Declare a live control."""
        if control.name in self.controls:
            raise InputError(f"the control {control.name!r} exists already")
        self.controls[control.name] = control
        return control

    def set(self, name: str, value: Any) -> None:
        """Move a live control toward a value, from now on."""
        control = pick("control", name, self.controls)
        control.set(value, self._sim.time)
        self._note(name, control.value)

    def push(
        self,
        body: str,
        force: Sequence[float] | np.ndarray,
        seconds: float,
        *,
        torque: Sequence[float] | np.ndarray = (0, 0, 0),
        at: Sequence[float] | np.ndarray | None = None,
        local: Sequence[float] | np.ndarray | None = None,
        given_way: bool = False,
    ) -> None:
        """Push a body with a force [N] (and torque [N·m]), world axes, for some seconds.

        Args:
            body: its name.
            force, torque, seconds: as said.
            at: where, a world point [m] that then moves with the body; by default its centre of mass …
            local: … or where in the body's own frame [m].
            given_way: whether objectives give way to it (as to a pull), or know of it and hold against it.
        """
        index, terms = movable(self._sim.scene, body), self._sim.terms
        if at is not None and local is not None:
            raise InputError("push: expected a point 'at' in the world or 'local' in the body, got both")
        if local is None:
            point = terms.xipos[index] if at is None else vector("push at", at, 3)
            local = terms.xmat[index].reshape(3, 3).T @ (point - terms.xpos[index])
        force, torque = _not_huge("push force", force), _not_huge("push torque", torque)
        seconds = number("push seconds", seconds, 0, 1e4, "s")
        place = within_reach("push local", local)
        self._pushes.append(Push(index, force, torque, place, self._sim.time + seconds, bool(given_way)))
        self._note(f"push {body}", [*place, *force, seconds, *torque, float(given_way)])

    def pull(self, body: str, local: Sequence[float], goal: Sequence[float]) -> None:
        """Hold a body at a point [m] in its own frame, and pull that to a point of the world [m] until ``let_go``.

        It is a critically damped spring of 1000 N/m that pulls with at most 400 N, and a character no harder than she can
        stand: see :mod:`interplay.motion.pushes`. Objectives give way to it: they ask for their accelerations beside those
        that its force causes by itself, as if by springs, where they would know of it and hold still. One body is held at a time.
        """
        index = movable(self._sim.scene, body)
        most, _ = strength(self._sim.scene.model, index)
        self.held = Pull(index, within_reach("pull local", local), within_reach("pull goal", goal), most)
        self._note(f"pull {body}", [*self.held.local, *self.held.goal])

    def let_go(self) -> None:
        """Let go of what is held."""
        self.held = None
        self._note("let go")

    def adjust(
        self,
        label: str,
        *,
        weight: float | None = None,
        stiffness: float | None = None,
        damping: float | None = None,
        phase: str | None = None,
    ) -> None:
        """Give the objectives of a label other gains, now and whenever a phase makes them again; None leaves a gain as it is.

        ``label`` is that of ``Objective.label``: ``Com alice xy``; with a ``phase``, only in that one. A critical damping
        follows the stiffness. A label that no objective has had so far is kept for phases to come (``adjustments.unused``
        names it until then), and is an error when there are none.
        """
        gains = Gains.checked(f"adjust {label!r}:", weight, stiffness, damping)
        self.adjustments.set((label, phase), gains, self._sim.objectives, self._sim.behaviour)
        self._note(f"adjust {adjusted(label, phase)}", [np.nan if g is None else g for g in gains])

    def set_mass(self, body: str, mass: float) -> None:
        """Change a body's mass [kg]; its inertia scales along."""
        self.masses.set(body, mass)
        self._note(f"mass {body}", [mass])

    def weigh(self, body: str, control: Control) -> None:
        """Let a body's mass [kg] follow a live control from now on."""
        self.masses.follow(body, control, self._sim.time)

    def throw(self, thing: str, position: Sequence[float] | np.ndarray, velocity: Sequence[float] | np.ndarray) -> None:
        """Put a free thing at a place [m], as it is turned now, flying with a velocity [m/s]; in the simulated world."""
        self._simulated("throw")
        sim = self._sim
        place, speed = thrown(sim.scene, thing, position, velocity)
        tree = sim.scene.trees(thing)[0]
        held = [c for c in sim.contacts if tree in sim.scene.model.body_treeid[[c.first.body, c.second.body]]]
        if held:
            raise InputError(
                f"throw {thing!r}: expected a thing that nobody holds, got one in {' – '.join(held[0].label)}"
            )
        m, root = sim.scene.model, int(sim.scene.model.body_jntadr[sim.scene.body(thing)])
        at, dof = int(m.jnt_qposadr[root]), int(m.jnt_dofadr[root])
        qpos, qvel = sim.state.qpos.copy(), sim.state.qvel.copy()
        qpos[at : at + 3], qvel[dof : dof + 3], qvel[dof + 3 : dof + 6] = place, speed, 0.0
        sim.refresh(qpos=qpos, qvel=qvel)
        self._note(f"throw {thing}", [*place, *speed])

    def set_friction(self, model: str, friction: float) -> None:
        """Change the friction between a model (or ``ground``) and whatever touches it, in the simulated world; plans count on what they did."""
        self._simulated("set_friction")
        self.frictions.set(model, friction)
        self._note(f"friction {model}", [friction])

    def drive(self, joint: str, reference: Any) -> None:
        """Let a joint of a mechanism [rad, m] follow a live control, another reference or a number from now on, by a strong motor of its own.

        It is a force from outside like a push: critically damped at 40 rad/s, slower where the step is longer than 10 ms.
        """
        self.drives.add(joint, reference)

    def tell(self, who: str, skill: str) -> None:
        """Tell a character that is moved by skills which of them to use, as soon as it suits."""
        heard, command = listener(self._sim, f"{who}/{skill}")
        heard.tell(command, self._sim.time)
        self._note(f"tell {who}/{skill}")

    def apply(self, target: Target) -> None:
        """Do now what a piece of live input says, whatever its time."""
        verb, what = deed(target.control) or ("", "")
        value = target.value
        if verb == "pull":
            self.pull(what, value[:3].tolist(), value[3:].tolist())
        elif verb == "push":
            more: dict[str, Any] = {"torque": value[7:10]} if len(value) > 7 else {}
            self.push(what, value[3:6], value[6], local=value[:3], given_way=bool(value[10:].any()), **more)
        elif verb == "let go":
            self.let_go()
        elif verb == "mass":
            self.set_mass(what, float(value[0]))
        elif verb == "throw":
            self.throw(what, value[:3], value[3:])
        elif verb == "tell":
            who, _, skill = what.partition("/")
            self.tell(who, skill)
        elif verb == "friction":
            self.set_friction(what, float(value[0]))
        elif verb == "adjust":
            weight, stiffness, damping = (None if np.isnan(v) else float(v) for v in value)
            label, _, phase = what.partition(OF_PHASE)
            self.adjust(label, weight=weight, stiffness=stiffness, damping=damping, phase=phase or None)
        else:
            self.set(target.control, value)

    # -- what follows from it ------------------------------------------------------------------------------------------

    def update(self) -> None:
        """Do what is due at the present time; masses follow their controls."""
        while self.targets and self.targets[0].time <= self._sim.time + 1e-9:
            self.apply(self.targets.pop(0))
        self.masses.update(self._sim.time)

    def forces(self) -> tuple[np.ndarray, np.ndarray | None] | None:
        """Return the generalized force (nv,) of pushes, pull and drives now, and the acceleration (nv,) that is given way to.

        None: nothing pushes, pulls or drives.
        """
        sim = self._sim
        self._pushes = [p for p in self._pushes if p.until > sim.time + 1e-9]
        if not self._pushes and not self.held and not self.drives:
            return None
        terms, total = sim.terms, np.zeros(sim.scene.model.nv)
        hand = np.zeros_like(total)
        for push in (*self._pushes, *([self.held.push(terms, sim.dt)] if self.held else ())):
            push.generalized(terms, hand if push.given_way else total)
        if self.drives:
            self.drives.push(terms, sim.time, sim.dt, total)
        return total + hand, terms.mass_solved(hand[None])[0] if hand.any() else None

    def _simulated(self, what: str) -> None:
        """Refuse what makes no difference where things touch only by declared contacts."""
        if not self._sim.world.finds_contacts:
            raise InputError(
                f"{what}: in the {self._sim.world.name} world things touch only where a contact is declared; expected the simulated one"
            )

    def _note(self, control: str, value: Any = ()) -> None:
        self.inputs.append(Target(self._sim.time, control, np.array(value, float)))

    def checkpoint(self) -> dict[str, Any]:
        """Return what restores it, as plain values; what is to come (``targets``) is not in it."""
        return {
            "controls": {name: control.checkpoint() for name, control in self.controls.items()},
            "pushes": [push.checkpoint() for push in self._pushes],
            "held": self.held and self.held.checkpoint(),
            "adjustments": self.adjustments.checkpoint(),
            "mass": self.masses.checkpoint(),
            "friction": self.frictions.checkpoint(),
        }

    def restore(self, data: dict[str, Any], time: float) -> None:
        """Continue from a checkpoint of the same scenario at a time [s]; what was to come before it is dropped."""
        self.masses.restore(data["mass"])
        self.frictions.restore(data["friction"])
        self.adjustments.restore(data["adjustments"])
        for name, saved in data["controls"].items():
            pick("control", name, self.controls).restore(saved)
        self.held = data["held"] and Pull.restore(data["held"])
        self._pushes = [Push.restore(saved) for saved in data["pushes"]]
        self.targets = [t for t in self.targets if t.time > time - self._sim.dt + 1e-9]


def _not_huge(what: str, given: Any) -> np.ndarray:
    value = vector(what, given, 3)
    if np.abs(value).max() > MOST_FORCE:
        raise InputError(f"{what}: expected at most {MOST_FORCE:g} N or N·m, got {value.tolist()}")
    return value
