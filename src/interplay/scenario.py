"""What a scenario is: parameters, a scene, phases, live controls, and what it declares for tables and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import mujoco
import numpy as np
import pydantic

from interplay.errors import InputError, checked
from interplay.models.base import Model
from interplay.models.humanoid import Humanoid
from interplay.motion.catching import aim, capture, off
from interplay.motion.controls import Control
from interplay.motion.footsteps import other_side
from interplay.motion.recovery import Recovery
from interplay.motion.upright import parts, upright
from interplay.objectives.balance import Balance
from interplay.objectives.base import Objective
from interplay.objectives.com import Com
from interplay.objectives.com_over import ComOver
from interplay.objectives.gaze import Gaze
from interplay.objectives.joint import JointAngle
from interplay.objectives.momentum import AngularMomentum
from interplay.objectives.pose import Orientation
from interplay.objectives.posture import Posture
from interplay.objectives.reference import MinimumJerk
from interplay.qp import solvers
from interplay.scene.scene import GROUND, Scene
from interplay.simulation import Simulation
from interplay.view.camera import Camera

Objectives = Callable[[Simulation], Sequence[Objective]]
"""Objectives that a phase makes when it is entered."""


class Parameters(pydantic.BaseModel):
    """Parameters of a scenario; each field has a default, bounds and a description with its unit."""

    model_config = pydantic.ConfigDict(extra="forbid", allow_inf_nan=False)


class Scenario:
    """Subclass in a file of ``interplay/scenarios``: set ``name``, fill ``build`` and ``start``."""

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    dt: ClassVar[float] = 0.005
    """Control step [s]."""
    longest_dt: ClassVar[float] = np.inf
    """The longest control step [s] at which it plays as it should: that of its stiffest objective, and measured."""
    timeout: ClassVar[float] = 60.0
    """Seconds after which a run without ``--seconds`` has failed."""
    hold_interactive: ClassVar[float] = 2.0
    """Seconds the interactive phase is held (after the last target) before the scenario is finished."""
    table_phase: ClassVar[str | None] = None
    """Phase whose counts Table 1 of vaillant2017 shows."""
    table_pairs: ClassVar[int | None] = None
    """Collision pairs the table counts."""
    camera: ClassVar[Camera] = Camera()
    world: ClassVar[str | None] = None
    """The world it is played in unless another is named; None: the controller's natural one."""
    controller: ClassVar[str] = "integrated"
    """The controller it is played with unless another is named."""
    sources: ClassVar[tuple[str, ...]] = ()
    """Texts of the scenario file, and of those it is based on, that it was read from."""

    class Parameters(Parameters):
        """No parameters of its own."""

    def __init__(self, parameters: Mapping[str, Any] | None = None, character: Model | None = None):
        """Take parameter values by name (strings are converted), and a character to play instead of the scenario's own."""
        self.character = character
        self.p = checked(type(self).Parameters, f"parameter of {self.name!r}", parameters or {})

    def scale(self, height: float) -> float:
        """Return how much taller the given character is than one of some height [m]; 1 without one."""
        return float(getattr(self.character, "height", height)) / height

    def add_character(
        self,
        scene: Scene,
        name: str,
        usual: Humanoid,
        pos: Sequence[float] = (0.0, 0.0),
        yaw: float = 0.0,
        posture: Mapping[str, float] | None = None,
    ) -> Scene:
        """Place the scenario's usual character in a posture, or in its stead the given one in its own, at a place to its scale."""
        if self.character is None:
            return scene.add(usual, name, pos=pos, yaw=yaw, posture=posture)
        k = self.scale(usual.height)
        x, y, *height = map(float, pos)  # what it stands on is as high as it is
        scene.add(self.character, name, pos=(k * x, k * y, *height), yaw=yaw)
        m = scene.model
        if any(mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_SITE, f"{name}/{s}_sole") < 0 for s in ("left", "right")):
            raise InputError(
                f"{self.name}: it is played by a character that stands on 'left_sole' and 'right_sole'; this body has no such "
                "surfaces (name them in its sidecar, or place it in a scene of your own: ip.Scene().add(ip.BodyFile(…), …))"
            )
        return scene

    def build(self) -> Scene:
        """Return the scene in its initial state."""
        raise TypeError(f"{type(self).__name__} does not define build()")

    def start(self, sim: Simulation) -> None:
        """Add contacts, background objectives, collision pairs, live controls and the machine of phases."""
        raise TypeError(f"{type(self).__name__} does not define start()")

    def view(self) -> Camera:
        """Return where pictures are taken from; a scenario whose size depends on its parameters overrides it."""
        return self.camera

    def figures(self, out: Path) -> None:
        """Write pictures of the scenario's own beside the recording of a run; most have none."""

    def simulation(
        self,
        dt: float | None = None,
        solver: str = solvers.DEFAULT,
        seed: int = 0,
        world: str | None = None,
        controller: str | None = None,
    ) -> Simulation:
        """Return a simulation ready to step; in the scenario's own world and with its own controller unless others are named."""
        world, controller = (self.world if world is None else world), controller or self.controller
        step = dt if dt is not None else self.dt
        if isinstance(step, (int, float)) and step > self.longest_dt:
            raise InputError(f"dt: {step:g} s is too long for {self.name!r}; expected at most {self.longest_dt:g} s")
        played_in = world if world is not None else self.world
        sim = Simulation(self.build(), step, solver=solver, seed=seed, world=played_in, controller=controller)
        self.start(sim)
        sim.live.inputs.clear()  # what the scenario itself does to begin with is not input
        return sim


def present_posture(sim: Simulation, *models: str) -> dict[str, float]:
    """Return the present values of the scalar joints of some models, by name, as ``Posture`` takes them."""
    m, out = sim.scene.model, {}
    for joint in range(m.njnt):
        name = m.joint(joint).name
        if name.split("/")[0] in models and m.jnt_type[joint] in (2, 3):  # slide, hinge
            out[name] = float(sim.state.qpos[m.jnt_qposadr[joint]])
    return out


def at_work(sim: Simulation, model: str, watched: str) -> Objectives:
    """Let a character stand and work: feet on the ground, a posture, an upright trunk, eyes on what it does.

    Returns the objectives that keep its balance, to be made by every phase.
    """
    soles = [f"{model}/{side}_sole" for side in ("left", "right")]
    for sole in soles:
        sim.contacts.add(sole, GROUND, friction=1.0)
    sim.objectives += [
        Posture(model, weight=0.2),
        AngularMomentum(model, weight=0.005),
        *(Orientation(body, weight=1.0) for body in parts(sim, model, "pelvis")),
    ]
    if isinstance(sim.scene.placed(model), Humanoid):
        sim.objectives += [Gaze(f"{model}/head", watched, axis=(0.97, 0, -0.25), weight=1.0)]
    else:  # of other bodies we do not know where the eyes look from, and whether the trunk bends as ours does
        sim.objectives += [Orientation(body, weight=5.0) for body in parts(sim, model, "chest")]
    centre = sim.middle(*soles)[:2]
    return lambda sim: [
        Com(model, reference=centre, axes="xy", weight=60.0),
        Com(model, axes="z", weight=2.0),
        Balance(model, on=soles, terms=sim.terms, margin=0.01),  # a hand on the thing held supports, too
    ]


def stands(
    sim: Simulation,
    model: str,
    on: str | tuple[str, str] = GROUND,
    friction: float = 0.8,
    steps: bool = True,
    loose: bool = False,
) -> None:
    """Let a character stand on something that may move and keep her balance, by steps where they are needed.

    ``friction`` is what she believes of it. Adds contacts, objectives and, around ``sim.behaviour`` if there is one, the steps;
    without, her centre of mass is kept over her feet, which may then stand on different things, left and right. ``loose`` arms swing
    with what she stands on; pushed off her feet she balances better with firm ones.
    """
    soles = tuple(f"{model}/{side}_sole" for side in ("left", "right"))
    for sole, surface in zip(soles, (on, on) if isinstance(on, str) else on, strict=True):
        sim.contacts.add(sole, surface, friction=friction)
    sim.objectives += upright(sim, model, loose=loose)
    if steps:
        if not isinstance(on, str):
            raise InputError(f"stands: expected one thing to step on, got {on}")
        sim.behaviour = Recovery(model, sim.behaviour, on=on, friction=friction)
    else:
        sim.objectives += [
            Balance(model, on=soles, terms=sim.terms),
            ComOver(model, over=soles, reference=(0.0, 0.0), weight=60.0),
            ComOver(model, over=soles, axes="z", weight=30.0),
        ]


def place_to_step(sim: Simulation, model: str, side: str, seconds: float, on: str = GROUND) -> np.ndarray | None:
    """Return where (3,) [m] a free foot stops a character if it lands in so many seconds; None: the other one holds her."""
    seen = capture(sim, model, on)
    if off(sim, [f"{model}/{other_side(side)}_sole"], seen.point) == 0.0:
        return None
    return aim(sim, model, on, side, seen, seconds)[0].place


def drive(
    goals: Mapping[str, float | Control], seconds: float, extra: Objectives, max_speed: float = 1.0
) -> Objectives:
    """Return objectives that move passive joints from where they are to their goals, or let them follow live controls."""

    def objectives(sim: Simulation) -> list[Objective]:
        m, out = sim.scene.model, []
        for joint, goal in goals.items():
            now = float(sim.state.qpos[m.jnt_qposadr[sim.scene.joint(joint)]])
            reference = goal if isinstance(goal, Control) else MinimumJerk(now, goal, sim.time, seconds)
            out.append(JointAngle(joint, reference, weight=60.0, stiffness=40.0, max_speed=max_speed))
        return [*out, *extra(sim)]

    return objectives
