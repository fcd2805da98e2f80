"""A simulation joins scene, controller and world, and steps them."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from interplay.constraints.collision import ActivePairs
from interplay.constraints.collision_set import CollisionSet
from interplay.constraints.contact import Contact
from interplay.constraints.contact_set import ContactSet
from interplay.control.independent import IndependentController
from interplay.control.integrated import Demands, IntegratedController
from interplay.control.state import Conflict, Memory, Solution, State
from interplay.errors import InputError, InterplayError, number, pick, unknown_name, vector, whole
from interplay.motion.controls import OF_PHASE, Control, Target, adjusted, hand
from interplay.motion.machine import Entry, Machine
from interplay.motion.masses import Masses
from interplay.motion.pushes import PUSH_SECONDS, Pull, Push, bounded, strength, within_reach
from interplay.objectives.base import AS_DECLARED, Gains, Objective
from interplay.qp import solvers
from interplay.rehearsal import rehearse
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene
from interplay.worlds.direct import DirectWorld

WORLDS = {"direct": DirectWorld}

CONTROLLERS = {"integrated": IntegratedController, "independent": IndependentController}
"""One program over all, or one program per character, in sequence."""

Observer = Callable[[State, Solution, float], None]
"""Called after each step with the state it was solved in, its solution and the step's wall-clock seconds."""


class Simulation:
    """``sim = ip.Simulation(scene)``; add contacts and objectives (or a machine of phases), then ``run``."""

    def __init__(
        self,
        scene: Scene,
        dt: float = 0.005,
        *,
        solver: str = solvers.DEFAULT,
        world: str = "direct",
        seed: int = 0,
        controller: str = "integrated",
    ):
        """Take the scene, the control step [s], the QP solver, the world, the seed of the random generator and the controller.

        ``controller="independent"`` solves one program per character instead of one over all, to compare with.
        """
        if not isinstance(scene, Scene):
            raise InputError(f"Simulation: expected a scene, got {scene!r}")
        rehearse()
        self.scene = scene = scene.snapshot()
        self.controller = pick("controller", controller, CONTROLLERS)(scene, dt, solver)
        self.controller.demands = self._demands
        self.dt = self.controller.dt
        self.world = pick("world", world, WORLDS)(scene, self.dt)
        self.rng = np.random.default_rng(whole("seed", seed, 0))
        self._state = self.controller.initial_state()
        self.contacts = ContactSet(scene, lambda: self.terms, lambda: self.time)
        self._objectives: list[Objective] = []
        self.machine: Machine | None = None
        self.controls: dict[str, Control] = {}
        self.targets: list[Target] = []
        self.observers: list[Observer] = []
        self.steps = 0
        self.solution: Solution | None = None
        self.masses = Masses(scene, self.controller.refresh)
        self.inputs: list[Target] = []
        """Live input since the last block of a recording, in the form of a targets file."""
        self._pushes: list[Push] = []
        self.held: Pull | None = None
        """The body that the user's hand holds."""
        self.adjustments: dict[tuple[str, str | None], Gains] = {}
        """Gains that objectives were given instead of their own, by label and phase (None: in all)."""
        self._labels: set[tuple[str, str | None]] = set()
        self._foreseen: Entry | None = None
        self._forces: dict[str, np.ndarray] | None = {}
        self._touching: tuple[Contact, ...] = ()

    # -- what is simulated ---------------------------------------------------------------------------------------------

    @property
    def objectives(self) -> list[Objective]:
        """Objectives that hold throughout; phases add their own."""
        return self._objectives

    @objectives.setter
    def objectives(self, value: Sequence[Objective]) -> None:
        for objective in value:
            if not isinstance(objective, Objective):
                raise InputError(f"objectives: expected objectives such as ip.Com('alice'), got {objective!r}")
        self.take_up(value)
        self._objectives = list(value)

    def take_up(self, objectives: Sequence[Objective], phase: str | None = None) -> None:
        """Bind objectives that come into force (in a phase), and give them the gains that their labels were adjusted to."""
        for objective in objectives:
            objective.attach(self.scene)
            label, gains = objective.label, AS_DECLARED
            self._labels.add((label, phase))
            if self.adjustments:
                gains = self.adjustments.get((label, None), AS_DECLARED)
                gains = self.adjustments.get((label, phase), gains).over(gains)
            objective.adjust(gains)

    def _take_up_all(self) -> None:
        self.take_up(self._objectives)
        for entry in self.machine.entries if self.machine else ():
            self.take_up(entry.objectives, entry.phase)

    @property
    def collisions(self) -> CollisionSet:
        """Pairs of shapes that avoid each other."""
        return self.controller.collisions

    def perceive(self, model: str, delay: float) -> None:
        """Let a character perceive the others late by ``delay`` [s] (to the nearest step); 0, as at first: at once.

        She then avoids the others, and does her part of shared objectives, as they were ``delay`` ago: rows and features are
        those of a view with herself as she is and the others' configuration and velocity of then, over her own DOFs alone.
        Who else shares an objective keeps his part as it is; whom she avoids does not answer for her. Contacts, dynamics and
        the distances that are recorded are those of the present. A thing she holds is one of the others.
        """
        self.controller.perception.set(model, delay)

    def add_control(self, control: Control) -> Control:
        """Declare a live control."""
        if control.name in self.controls:
            raise InputError(f"the control {control.name!r} exists already")
        self.controls[control.name] = control
        return control

    def set_control(self, name: str, value: Any) -> None:
        """Move a live control toward a value, from now on."""
        control = pick("control", name, self.controls)
        control.set(value, self.time)
        self._note(name, control.value)

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
        follows the stiffness. A label that no objective has had so far is kept for phases to come (``unused_adjustments``
        names it until then), and is an error when there are none.
        """
        gains = Gains.checked(f"adjust {label!r}:", weight, stiffness, damping)
        if phase is not None:
            pick("phase", phase, self.machine.phases if self.machine else {})
        self._take_up_all()
        known = {known for known, _ in self._labels}
        if label not in known and not (self.machine and self.machine.coming):
            raise unknown_name("objective", label, known)
        key = (label, phase)
        self.adjustments[key] = gains.over(self.adjustments.get(key, Gains()))
        self._take_up_all()
        self._note(f"adjust {adjusted(*key)}", [np.nan if g is None else g for g in gains])

    def unused_adjustments(self) -> list[str]:
        """Return what was adjusted and has not been in force so far: labels, each with its phase if it has one."""
        seen = self._labels | {(label, None) for label, _ in self._labels}
        return sorted(adjusted(*key) for key in self.adjustments.keys() - seen)

    def apply(self, target: Target) -> None:
        """Do now what a piece of live input says, whatever its time."""
        verb, what = hand(target.control) or ("", "")
        if verb == "pull":
            self.pull(what, target.value[:3].tolist(), target.value[3:].tolist())
        elif verb == "push":
            self.impulse(what, target.value[:3].tolist(), target.value[3:].tolist())
        elif verb == "let go":
            self.let_go()
        elif verb == "adjust":
            weight, stiffness, damping = (None if np.isnan(v) else float(v) for v in target.value)
            label, _, phase = what.partition(OF_PHASE)
            self.adjust(label, weight=weight, stiffness=stiffness, damping=damping, phase=phase or None)
        else:
            self.set_control(target.control, target.value)

    def _note(self, control: str, value: Any = ()) -> None:
        self.inputs.append(Target(self.time, control, np.array(value, float)))

    def movable(self, body: str) -> int:
        """Return the id of a body that can move, or raise an error."""
        if not isinstance(body, str):
            raise InputError(f"expected the name of a body, got {body!r}")
        index = self.scene.body(body)
        if self.scene.model.body_treeid[index] < 0:
            raise InputError(f"{body!r} cannot move: it belongs to the fixed environment")
        return index

    def pull(self, body: str, local: Sequence[float], goal: Sequence[float]) -> None:
        """Hold a body at a point [m] in its own frame, and pull that to a point of the world [m] until ``let_go``.

        It is a critically damped spring of 1000 N/m that pulls with at most 400 N, and a character no harder than she can
        stand: see :mod:`interplay.motion.pushes`. Objectives give way to it: they ask for their accelerations beside those
        that its force causes by itself, as if by springs, where they would know of it and hold still. One body is held at a time.
        """
        index = self.movable(body)
        most, _ = strength(self.scene.model, index)
        self.held = Pull(index, within_reach("pull local", local), within_reach("pull goal", goal), most)
        self._note(f"pull {body}", [*self.held.local, *self.held.goal])

    def let_go(self) -> None:
        """Let go of what is held."""
        self.held = None
        self._note("let go")

    def impulse(self, body: str, local: Sequence[float], impulse: Sequence[float]) -> None:
        """Push a body with an impulse [N·s], world axes, at a point [m] in its own frame; it takes 0.1 s.

        Objectives give way to it, as to a pull. At most 50 N·s, and no more than a character can stand: a larger
        one is made smaller.
        """
        index, point = self.movable(body), within_reach("push local", local)
        given = bounded(vector("push impulse", impulse, 3), strength(self.scene.model, index)[1])
        seconds = max(1, round(PUSH_SECONDS / self.dt)) * self.dt
        self._pushes.append(Push(index, given / seconds, np.zeros(3), point, self.time + seconds, True))
        self._note(f"push {body}", [*point, *given])

    def push(
        self,
        body: str,
        force: Sequence[float],
        seconds: float,
        *,
        torque: Sequence[float] = (0, 0, 0),
        at: Sequence[float] | None = None,
    ) -> None:
        """Push a body with a force [N] (and torque [N·m]), world axes, for some seconds; ``at`` is a world point, else its COM."""
        index = self.movable(body)
        point = self.terms.xipos[index] if at is None else vector("push at", at, 3)
        local = self.terms.xmat[index].reshape(3, 3).T @ (point - self.terms.xpos[index])
        self._pushes.append(
            Push(
                index,
                vector("push force", force, 3),
                vector("push torque", torque, 3),
                local,
                self.time + number("push seconds", seconds, 0, 1e4, "s"),
            )
        )

    def set_mass(self, body: str, mass: float) -> None:
        """Change a body's mass [kg] while running; its inertia scales along."""
        self.masses.set(body, mass)

    def weigh(self, body: str, control: Control) -> None:
        """Let a body's mass [kg] follow a live control from now on."""
        self.masses.follow(body, control, self.time)

    # -- state ---------------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The present state."""
        return self._state

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._state.time

    @property
    def terms(self) -> Kinematics:
        """Kinematics and dynamics terms at the present state."""
        return self.controller.at(self._state)

    def com(self, model: str, *others: str) -> tuple[np.ndarray, np.ndarray]:
        """Return position [m] and velocity [m/s] of the centre of mass of a model, or of some models together."""
        mass, position, momentum = 0.0, np.zeros(3), np.zeros(3)
        for tree in (self.scene.trees(name)[0] for name in (model, *others)):
            root = int(self.scene.model.tree_bodyadr[tree])
            part = float(self.terms.subtree_mass[root])
            mass += part
            position += part * self.terms.subtree_com[root]
            momentum += self.terms.momentum(tree)[0][:3]
        return position / mass, momentum / mass

    def middle(self, *surfaces: str) -> np.ndarray:
        """Return the middle (3,) [m] of some surfaces."""
        return self.terms.site_xpos[[self.scene.site(s) for s in surfaces]].mean(axis=0)

    def force(self, surface: str) -> np.ndarray:
        """Return the force [N] ON a surface by its contact at the last step, in contact axes (z: into it); zero without contact."""
        return self._contact_forces().get(surface, np.zeros(3))

    @property
    def pressing(self) -> tuple[tuple[Contact, ...], np.ndarray]:
        """Contacts of the last step and their wrenches (n, 6) in contact axes; none before the first step."""
        return self._touching, self.solution.wrenches if self.solution else np.zeros((0, 6))

    def _contact_forces(self) -> dict[str, np.ndarray]:
        """Return the forces of the last step by surface, found when they are asked for."""
        if self._forces is None:
            self._forces = _forces(*self.pressing)
        return self._forces

    @contextmanager
    def at(self, entry: Entry) -> Iterator[None]:
        """Look at the moment at which a phase was entered for a while."""
        saved, present = self._state, self.masses.present
        self._state = State(entry.time, entry.qpos, entry.qvel, np.zeros_like(entry.qvel), saved.memory)
        if entry.masses is not None:
            self.masses.set_all(*entry.masses)
        try:
            yield
        finally:
            self._state = saved
            if present is not None and entry.masses is not None:
                self.masses.set_all(*present)

    def checkpoint(self) -> dict[str, Any]:
        """Return what resumes this run, as plain numbers."""
        s, h = self._state, self.held
        return {
            "time": s.time,
            "steps": self.steps,
            "qpos": s.qpos.tolist(),
            "qvel": s.qvel.tolist(),
            "memory": s.memory.checkpoint(),
            "contacts": [c.checkpoint() for c in self.contacts],
            "controls": {k: c.checkpoint() for k, c in self.controls.items()},
            "pushes": [
                [p.body, p.force.tolist(), p.torque.tolist(), p.local.tolist(), p.until, p.yields] for p in self._pushes
            ],
            "held": h and [h.body, h.local.tolist(), h.goal.tolist(), h.most],
            "adjustments": [[*key, list(gains)] for key, gains in self.adjustments.items()],
            "forces": {name: force.tolist() for name, force in self._contact_forces().items()},
            "machine": self.machine.checkpoint() if self.machine else None,
            "rng": self.rng.bit_generator.state,
            "mass": self.masses.checkpoint(),
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Continue from a checkpoint of the same scenario."""
        nq, nv = self.scene.model.nq, self.scene.model.nv
        qpos, qvel = vector("checkpoint qpos", data["qpos"], nq), vector("checkpoint qvel", data["qvel"], nv)
        self.masses.restore(data["mass"])
        self.adjustments = {(label, phase): Gains(*gains) for label, phase, gains in data.get("adjustments", ())}
        for name, saved in data["controls"].items():
            pick("control", name, self.controls).restore(saved)
        if self.machine and data["machine"]:
            self.machine.restore(self, data["machine"])
        self._take_up_all()
        self.contacts.restore(data["contacts"])
        held = data.get("held")
        self.held = held and Pull(held[0], np.array(held[1]), np.array(held[2]), held[3])
        self.solution, self._touching = None, ()
        self._pushes = [Push(b, np.array(f), np.array(t), np.array(x), *rest) for b, f, t, x, *rest in data["pushes"]]
        self._forces = {name: np.array(force) for name, force in data["forces"].items()}
        self.rng.bit_generator.state = data["rng"]
        self.steps = int(data["steps"])
        now = float(data["time"])
        self.targets = [t for t in self.targets if t.time > now - self.dt + 1e-9]
        self._state = State(float(data["time"]), qpos, qvel, np.zeros(nv), Memory.restore(data["memory"]))

    # -- stepping ------------------------------------------------------------------------------------------------------

    def step(self) -> Solution:
        """Advance by one control step and return its solution."""
        begin = clock.perf_counter()
        self._follow()
        if self._pushes or self.held:
            applied, yielded = self._applied()
            self._state = self._state.with_(applied=applied, yielded=yielded)
        state = self._state
        solution = self.controller.solve(state)
        self.solution = solution
        self._forces, self._touching = None, self.contacts.items
        self.steps += 1
        # Time is counted in steps, so that it carries no rounding of sums.
        self._state = self.world.advance(state, solution, round(self.steps * self.dt, 9))
        seconds = clock.perf_counter() - begin
        for observer in self.observers:
            observer(state, solution, seconds)
        return solution

    def _follow(self) -> None:
        """Do what is due at the present state: live input, masses, phases."""
        while self.targets and self.targets[0].time <= self.time + 1e-9:
            self.apply(self.targets.pop(0))
        self.masses.update(self.time)
        if self.machine is not None:
            self.machine.update(self)
            self._foresee(self.machine)

    def retrace(
        self, time: float, qpos: np.ndarray, qvel: np.ndarray, wrench: Mapping[tuple[str, str], np.ndarray]
    ) -> None:
        """Go through a step that was recorded instead of solving it; input, phases and contacts follow as they did then.

        ``wrench`` holds the wrenches in contact axes by the names of the two surfaces.
        """
        memory = self._state.memory._replace(pairs=ActivePairs.none())
        self._state = State(time, qpos, qvel, np.zeros_like(qvel), memory)
        self._follow()
        self._forces = _forces(self.contacts.items, [wrench[c.first.name, c.second.name] for c in self.contacts])
        self.steps += 1

    def _foresee(self, machine: Machine) -> None:
        """A step after a phase was entered, tell the controller which contacts the next one has."""
        if machine.entries and machine.entries[-1] is not self._foreseen and machine.elapsed(self.time) > 0:
            self._foreseen = machine.entries[-1]
            with suppress(InterplayError):  # what cannot be made is told when it is tried
                self.controller.foresee(machine.foresee(self))

    def run(self, seconds: float, progress: bool = False) -> None:
        """Advance by some seconds, with a progress bar on request."""
        count = round(number("seconds", seconds, 0, 1e6, "s") / self.dt)
        steps: Any = range(count)
        if progress:
            from rich.progress import track

            steps = track(steps, description=f"{seconds:g} s")
        for _ in steps:
            self.step()
            if self.machine is not None and self.machine.failure:
                raise InterplayError(self.machine.failure)

    def explain(self) -> tuple[Conflict, ...]:
        """Return which demands are in conflict at the present state, and by how much; empty: none."""
        return self.controller.explain(self._state)

    @property
    def demands(self) -> list[Objective]:
        """All objectives in force: those that hold throughout, and those of the phases."""
        return [*self._objectives, *(self.machine.objectives if self.machine else ())]

    def _demands(self) -> Demands:
        return Demands(self.contacts.items, self.demands)

    def _applied(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the generalized force of the pushes in force and of the user's hand, and the acceleration given way to."""
        self._pushes = [p for p in self._pushes if p.until > self.time + 1e-9]
        terms, total = self.terms, np.zeros(self.scene.model.nv)
        hand = np.zeros_like(total)
        for push in (*self._pushes, *([self.held.push(terms, self.dt)] if self.held else ())):
            push.generalized(terms, hand if push.yields else total)
        return total + hand, terms.mass_solved(hand[None])[0] if hand.any() else None


def _forces(contacts: Sequence[Contact], wrenches: Sequence[np.ndarray] | np.ndarray) -> dict[str, np.ndarray]:
    """Return the force (3,) [N] on each surface, in its contact axes."""
    out = {}
    for contact, wrench in zip(contacts, wrenches, strict=True):
        out[contact.first.name] = wrench[:3]
        if not contact.second.fixed:
            out[contact.second.name] = contact.second_side * wrench[:3]
    return out
