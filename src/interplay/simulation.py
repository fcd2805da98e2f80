"""A simulation joins scene, behaviour, controller and world, and steps them."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from interplay.constraints.base import Limit
from interplay.constraints.collision import ActivePairs
from interplay.constraints.collision_set import CollisionSet
from interplay.constraints.contact import Contact
from interplay.constraints.contact_set import ContactSet
from interplay.constraints.manner import Manner
from interplay.constraints.stability import StabilityRegion, stability_region
from interplay.control.controller import NOBODY, Demands
from interplay.control.dump import write_dump
from interplay.control.force import ForceController
from interplay.control.independent import IndependentController
from interplay.control.integrated import IntegratedController
from interplay.control.perception import late_steps
from interplay.control.plan import Conflict
from interplay.control.prioritised import PrioritisedController
from interplay.control.servos import ServosController
from interplay.control.state import State, Touching, check_state
from interplay.errors import ContactError, FallError, InputError, InterplayError, StepError, number, pick, vector, whole
from interplay.motion.behaviour import Behaviour
from interplay.motion.falls import Falls
from interplay.motion.live import LiveInput
from interplay.motion.unled import Unled
from interplay.objectives.base import Objective
from interplay.qp import solvers
from interplay.rehearsal import rehearse
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene
from interplay.worlds.direct import DirectWorld
from interplay.worlds.rigid import RigidWorld
from interplay.worlds.simulated import SimulatedWorld
from interplay.worlds.world import NOTHING, Outcome, Touches

if TYPE_CHECKING:
    from interplay.motion.machine import Entry

WORLDS = {"direct": DirectWorld, "rigid": RigidWorld, "simulated": SimulatedWorld}
"""The plan is what happens; or what its torques lead to, under exact contact or in MuJoCo's own."""

CONTROLLERS = {
    "integrated": IntegratedController,
    "independent": IndependentController,
    "prioritised": PrioritisedController,
    "servos": ServosController,
    "force": ForceController,
}
"""One program over all; one per character, in sequence; one over all for each priority, in sequence; no program: joint PD; one of wrenches."""

ON_FALL = {"stop": "stop", "continue": "continue"}
"""What a run does when someone falls."""

AFRESH = 0.5
"""Every so often [s] a simulation forgets its first guesses."""

Observer = Callable[[State, Outcome, float], None]
"""Called after each step with the state it began in, its outcome and the step's wall-clock seconds."""


class Simulation:
    """``sim = ip.Simulation(scene)``; add contacts and objectives (or a behaviour), then ``run``."""

    def __init__(
        self,
        scene: Scene,
        dt: float = 0.005,
        *,
        solver: str = solvers.DEFAULT,
        world: str | None = None,
        seed: int = 0,
        controller: str = "integrated",
        on_fall: str = "stop",
        manner: Manner | None = None,
    ):
        """Take the scene, the control step [s], the QP solver, the world, the seed of the random generator and the controller.

        ``controller="force"`` makes torques of wrenches that objectives want, by statics;
        ``controller="independent"`` solves one program per character instead of one over all, to compare with;
        ``controller="prioritised"`` serves objectives strictly by their ``priority`` instead of by weights alone; ``controller="servos"``
        holds the posture by joint PD, and no more. The world is the controller's natural one unless named: ``direct`` for programs over
        all, ``rigid`` for independent ones, ``simulated`` for servos and forces.
        When someone falls, ``run`` stops with a :class:`interplay.FallError`, or goes on (``on_fall="continue"``): see ``fallen``.
        ``manner`` is how firmly plans may ask of contacts and limits, where that is not as the world says (for experiments).
        """
        if not isinstance(scene, Scene):
            raise InputError(f"Simulation: expected a scene, got {scene!r}")
        rehearse()
        chosen = pick("controller", controller, CONTROLLERS)
        world = chosen.natural_world if world is None else world
        kind = pick("world", world, WORLDS)
        self.scene = scene = kind.prepared(scene, number("dt", dt, 1e-5, 0.2, "s"))
        self.manner = kind.manner if manner is None else manner
        """How firmly plans ask of contacts and limits."""
        self.controller = chosen(scene, dt, solver, self.manner)
        self.dt = self.controller.dt
        self.world = kind(scene, self.dt)
        if world == "direct" and chosen.natural_world != "direct":
            raise InputError(
                f"world: the plans of the {controller} controller are no motion: expected {chosen.natural_world!r}, "
                "got 'direct'"
            )
        self.rng = np.random.default_rng(whole("seed", seed, 0, 2**63 - 1))
        self._state = self.controller.initial_state()
        self.contacts = ContactSet(scene, lambda: self.terms, lambda: self.time, self.manner)
        self.collisions = CollisionSet(scene, lambda: self.contacts.items, strays_bump=kind.finds_contacts)
        """Pairs of shapes that avoid each other."""
        self._late = NOBODY
        self._objectives: list[Objective] = []
        self.unled = Unled(scene, self.dt, kind.finds_contacts)
        """Who is not led by the program: who has fallen, and who moves by servos."""
        self.falls = Falls(scene, self.dt, self.unled)
        self.on_fall: str = pick("on_fall", on_fall, ON_FALL)
        self._limits: list[Limit] = []
        self._behaviour: Behaviour | None = None
        self.live = LiveInput(self)
        """Controls, pushes, pulls, gains, masses."""
        self.observers: list[Observer] = []
        self.steps = 0
        self.afresh = max(1, round(AFRESH / self.dt))
        """After so many steps plans are made without first guesses, as who resumes the run there has to make them."""
        self.outcome: Outcome | None = None
        """Of the last step."""
        self.touches = NOTHING
        """All that touched in it, where the world finds contacts by itself."""

    # -- what is asked -------------------------------------------------------------------------------------------------

    @property
    def objectives(self) -> list[Objective]:
        """Objectives that hold throughout; a behaviour adds its own."""
        return self._objectives

    @objectives.setter
    def objectives(self, value: Sequence[Objective]) -> None:
        for objective in value:
            if not isinstance(objective, Objective):
                raise InputError(f"objectives: expected objectives such as ip.Com('alice'), got {objective!r}")
        self.live.adjustments.take_up(value)
        self._objectives = list(value)

    @property
    def limits(self) -> list[Limit]:
        """Limits beside those of joints and motors, such as ``ip.SpeedLimit``."""
        return self._limits

    @limits.setter
    def limits(self, value: Sequence[Limit]) -> None:
        for limit in value:
            if not isinstance(limit, Limit):
                raise InputError(f"limits: expected limits such as ip.SpeedLimit('alice', 1.0), got {limit!r}")
            limit.attach(self.scene)
        self._limits = list(value)

    @property
    def behaviour(self) -> Behaviour | None:
        """What is wanted now: a machine of phases, for example."""
        return self._behaviour

    @behaviour.setter
    def behaviour(self, value: Behaviour | None) -> None:
        self.unled.lead_all()  # whom the one before moved by servos
        self.falls.expected.clear()
        self._behaviour = value

    def perceive(self, model: str, delay: float) -> None:
        """Let a character perceive the others late by ``delay`` [s] (to the nearest step); 0, as at first: at once.

        She then avoids the others, and does her part of shared objectives, as they were ``delay`` ago: rows and features are
        those of a view with herself as she is and the others' configuration and velocity of then, over her own DOFs alone.
        Who else shares an objective keeps his part as it is; whom she avoids does not answer for her. Contacts, dynamics and
        the distances that are recorded are those of the present. A thing she holds is one of the others.
        """
        self._late = {**self._late, model: late_steps(self.scene, model, delay, self.dt)}

    @property
    def demands(self) -> Demands:
        """All that the controller is asked at present."""
        behaviour, contacts = self.behaviour, self.contacts.items
        return Demands(
            self.unled.left(contacts) if self.unled else contacts,
            (*self._objectives, *(behaviour.objectives if behaviour else ())),
            self.unled.kept_apart(self.collisions.pairs) if self.unled else self.collisions.pairs,
            self._late,
            tuple(self._limits),
            unled=self.unled.dofs if self.unled else None,
            coming=behaviour.coming_contacts(self) if behaviour and not self.unled else None,
        )

    @property
    def fallen(self) -> Mapping[str, str]:
        """Who has fallen, and how, in words. They let go of everything, and their motors only damp; the others go on."""
        return self.falls.fallen

    def explain(self) -> tuple[Conflict, ...]:
        """Return which demands are in conflict at the present state, and by how much; empty: none."""
        return self.controller.solve(self._state, self.demands).conflicts

    # -- the present ---------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The present state."""
        return self._state

    def set_state(self, qpos: Sequence[float] | np.ndarray, qvel: Sequence[float] | np.ndarray | None = None) -> None:
        """Put everything into a configuration (nq,), moving with velocities (nv,), by default at rest; time goes on.

        Contacts stay in force and must hold there: what has come apart is an error that names it.
        """
        m, before = self.scene.model, self._state
        q, v = vector("qpos", qpos, m.nq), np.zeros(m.nv) if qvel is None else vector("qvel", qvel, m.nv)
        first = self.controller.initial_state()
        mujoco.mj_normalizeQuat(m, q)
        state = State(self.time, q, v, np.zeros(m.nv), first.memory)
        check_state(m, state)
        self._state = state
        apart = self.contacts.apart()
        if apart:
            self._state = before
            raise InputError(f"set_state: contacts would come apart: {', '.join(apart)}; remove them first")

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._state.time

    @property
    def terms(self) -> Kinematics:
        """Kinematics and dynamics terms at the present state."""
        return self.controller.at(self._state)

    def refresh(self, **changes: Any) -> None:
        """Compute everything anew after the model itself was changed (a mass), or a part of the state: it is another one now."""
        self._state = self._state.with_(**{"qpos": self._state.qpos.copy(), **changes})  # terms go by configurations

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

    def stability_region(
        self, *models: str, contacts: Iterable[Contact] | None = None, **options: Any
    ) -> StabilityRegion:
        """Return where, horizontally, the common centre of mass of some models may be at rest with the contacts in force, or others.

        ``forces``: known ones on them, pairs of a place [m] and a force [N]; ``reach``: how far from the contacts to look [m];
        ``tolerance`` of its edges [m]: see :func:`interplay.constraints.stability.stability_region`.
        """
        trees = [tree for name in models for tree in self.scene.trees(name)]
        return stability_region(self.terms, self.contacts if contacts is None else contacts, trees, **options)

    def force(self, surface: str) -> np.ndarray:
        """Return the force [N] ON a surface by its contact at the last step, in contact axes (z: into it); zero without contact."""
        return self._state.memory.felt.force(surface)

    @contextmanager
    def at(self, entry: Entry) -> Iterator[None]:
        """Look at the moment at which a phase was entered for a while."""
        saved, masses = self._state, self.live.masses
        present = masses.present  # nothing, if none has changed since the beginning
        self._state = State(entry.time, entry.qpos, entry.qvel, np.zeros_like(entry.qvel), saved.memory)
        if present is not None:
            masses.set_all(*(entry.masses or masses.first))
        try:
            yield
        finally:
            if present is not None:
                masses.set_all(*present)
            self._state = saved

    # -- stepping ------------------------------------------------------------------------------------------------------

    def step(self) -> Outcome:
        """Advance by one control step and return what came of it."""
        begin = clock.perf_counter()
        if not self.steps % self.afresh:
            self.controller.forget()
        self.follow()
        forces = self.live.forces()
        if forces:
            self._state = self._state.with_(applied=forces[0])
        state, demands = self._state, self.demands
        known = state
        if forces and self.manner.foresees:
            demands = demands._replace(ceded_acceleration=forces[1])
        elif forces:
            known = state.with_(applied=np.zeros_like(state.applied))
        before = self.outcome.conflicts if self.outcome else ()
        try:
            plan = self.controller.solve(known, demands)
            if self.unled:
                plan = self.unled.moved(plan, self.terms)
            # Time is counted in steps, so that it carries no rounding of sums.
            outcome = self.world.advance(state, plan, self.controller.at(state), round((self.steps + 1) * self.dt, 9))
            self.controller.at(outcome.state)  # which refuses what is not a state
        except StepError as error:
            raise type(error)(str(error), write_dump(self.scene, state, demands, before)) from error
        self.steps += 1
        self.outcome, self._state, self.touches = outcome, outcome.state, outcome.touches
        self.falls.update(self, outcome, forces is not None)
        seconds = clock.perf_counter() - begin
        for observer in self.observers:
            observer(state, outcome, seconds)
        return outcome

    def follow(self) -> None:
        """Do what is due at the present state: live input, masses, behaviour."""
        self.live.update()
        if self.behaviour is not None:
            try:
                self.behaviour.update(self)
            except ContactError as error:
                if not self.falls.stumbles(self, error):
                    raise

    def run(self, seconds: float, progress: bool = False) -> None:
        """Advance by some seconds, with a progress bar on request."""
        count = round(number("seconds", seconds, 0, 1e6, "s") / self.dt)
        steps: Any = range(count)
        if progress:
            from rich.progress import track

            steps = track(steps, description=f"{seconds:g} s")
        for _ in steps:
            self.step()
            if failure := self.failure:
                raise (FallError if self.fallen else InterplayError)(failure)

    @property
    def failure(self) -> str | None:
        """What ends a run: a fall (unless it is to go on), or what the behaviour says went wrong; None: nothing."""
        if self.fallen:
            return next(iter(self.fallen.values())) if self.on_fall == "stop" else None
        return self.behaviour.failure if self.behaviour is not None else None

    def retrace(
        self,
        time: float,
        qpos: np.ndarray,
        qvel: np.ndarray,
        wrench: Mapping[tuple[str, str], np.ndarray],
        touches: Touches = NOTHING,
    ) -> None:
        """Go through a step that was recorded instead of solving it; input, behaviour and contacts follow as they did then.

        ``wrench`` holds the wrenches in contact axes by the names of the two surfaces, ``touches`` all that touched.
        """
        memory = self._state.memory._replace(pairs=ActivePairs.none())
        self._state = State(time, qpos, qvel, np.zeros_like(qvel), memory)
        self.follow()
        contacts = self.contacts.items
        wrenches = np.array([wrench[c.first.name, c.second.name] for c in contacts]).reshape(-1, 6)
        self._state = self._state.with_(memory=memory._replace(felt=Touching(contacts, wrenches)))
        self.touches = touches
        self.steps += 1

    def checkpoint(self) -> dict[str, Any]:
        """Return what resumes this run, as plain numbers; where plans are made ``afresh``, to the bit."""
        return {
            "state": self._state.checkpoint(),
            "steps": self.steps,
            "contacts": [c.checkpoint() for c in self.contacts],
            "live": self.live.checkpoint(),
            "behaviour": self.behaviour.checkpoint() if self.behaviour else None,
            "world": self.world.checkpoint(),
            "touches": [part.tolist() for part in self.touches],
            "falls": self.falls.checkpoint(),
            "rng": self.rng.bit_generator.state,
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Continue from a checkpoint of the same scenario."""
        state = State.restore(self.scene.model, data["state"])
        self.live.restore(data["live"], state.time)
        if self.behaviour and data["behaviour"]:
            self.behaviour.restore(self, data["behaviour"])
        self.live.adjustments.take_up_all(self._objectives, self.behaviour)
        self.contacts.restore(data["contacts"])
        self.world.restore(data["world"])
        self.controller.forget()
        self.falls.restore(data["falls"])
        self.rng.bit_generator.state = data["rng"]
        self.steps, self.outcome = int(data["steps"]), None
        bodies, force = data["touches"]
        self.touches = Touches(np.array(bodies, np.int64).reshape(-1, 2), np.array(force, float).reshape(-1, 3))
        self._state = state
