"""The simulated world: the plan's torques in MuJoCo's own contact physics, where nothing of a plan is guaranteed (abe2007).

Torques are held between plans, and servos held on, within their motors' limits. Contacts are the simulator's: what a plan counts on and what carries
are two things, and the measured one is told (:mod:`.measuring`). Grasps are springs of bounded strength (:mod:`.springs`).
"""

from __future__ import annotations

from typing import Any, ClassVar

import mujoco
import numpy as np

from interplay.constraints.manner import Manner
from interplay.control.plan import Conflict, Plan
from interplay.control.state import State, Touching
from interplay.errors import StateError
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene
from interplay.scene.simulator import steps_within
from interplay.worlds.measuring import Forces, Meter
from interplay.worlds.motors import Motors
from interplay.worlds.springs import OFF, Springs
from interplay.worlds.world import Outcome, Substeps


class SimulatedWorld:
    """MuJoCo decides."""

    name = "simulated"
    finds_contacts = True
    manner: ClassVar[Manner] = Manner(
        pull=0.0, stop=30.0, back=225.0, shrink=0.0, braking=50.0, foresees=False, hasty=True
    )
    """No-slip without a position term, k_d 30/s; braking capped: firmer demands than the simulator's contacts answer with jolts.
    Nobody knows of a push before it is felt."""

    @staticmethod
    def prepared(scene: Scene, dt: float) -> Scene:
        """Return a scene with the simulator's settings."""
        return scene.simulated(dt / steps_within(dt))

    def __init__(self, scene: Scene, dt: float):
        """Take a prepared scene and the control step [s]."""
        self._model, self._dt, self._steps = scene.model, dt, steps_within(dt)
        self._data = mujoco.MjData(scene.model)
        m = scene.model
        self._motors = Motors(m)
        self._springs, self._meter = Springs(), Meter(m, dt)
        d = self._data
        self._qpos, self._qvel, self._applied, self._constraint = d.qpos, d.qvel, d.qfrc_applied, d.qfrc_constraint
        self._bad = d.warning[int(mujoco.mjtWarning.mjWARN_BADQACC)]
        """Parts of the simulator's data, which stay where they are."""
        self._at: tuple[np.ndarray, np.ndarray] | None = None
        """The configuration and velocity that the simulator is in."""
        self._mass, self._masses = m.body_mass, m.body_mass.copy()
        """Masses as they are, and as MuJoCo has derived from."""
        self.keeps_substeps: bool | None = False

    def advance(self, state: State, plan: Plan, terms: Kinematics, time: float) -> Outcome:
        """Return what the plan's torques lead to."""
        m, d = self._model, self._data
        self._take_up(state)
        self._weigh()
        self._motors.begin(d, plan)
        self._meter.begin(plan.contacts, terms, state.time)
        self._springs.begin(terms, self._meter.rows, self._meter.jacobian, plan.wrenches)
        told: list[tuple] = []
        given = Forces(self._constraint, self._applied, state.applied, self._springs.wrenches)
        applied, springs, meter, motors = self._applied, self._springs, self._meter, self._motors
        for k in range(self._steps):
            mujoco.mj_step1(m, d)
            applied[:] = state.applied
            springs.pull(d, state.time)
            if self.keeps_substeps:
                when = state.time + k * m.opt.timestep
                told.append((when, *(a.copy() for a in (d.qpos, d.qvel, d.ctrl, m.actuator_biastype, d.qfrc_applied))))
            mujoco.mj_step2(m, d)
            motors.take(d)
            meter.take(d, given)
        qpos, qvel = self._qpos.copy(), self._qvel.copy()
        if self._bad.number or not np.isfinite(qpos).all():
            raise StateError(f"at t = {state.time:.4f} s, the simulator's accelerations are not finite")
        self._at = qpos, qvel
        qacc = (qvel - state.qvel) / self._dt
        wrenches, contact, resting = self._meter.end(terms)
        touching = Touching(plan.contacts, wrenches)
        after = State(time, qpos, qvel, np.zeros_like(qvel), plan.memory._replace(felt=touching))
        conflicts = (*plan.conflicts, *(_off(plan, k) for k in self._springs.lost(plan.contacts)))
        return Outcome(
            after,
            qacc,
            self._motors.end(),
            touching,
            contact,
            self._meter.others(contact),
            resting,
            conflicts,
            plan,
            self._meter.touches(),
            Substeps(*map(np.array, zip(*told, strict=True))) if told else None,
        )

    def _weigh(self) -> None:
        """Bring what MuJoCo derives from masses up to those that were changed: its solver's scales are among it."""
        if (self._mass != self._masses).any():
            self._masses = self._mass.copy()
            mujoco.mj_setConst(self._model, mujoco.MjData(self._model))

    def _take_up(self, state: State) -> None:
        """Put the simulator where the state is, unless it is there already; its first guess stays what was found last."""
        if self._at is None or self._at[0] is not state.qpos or self._at[1] is not state.qvel:
            self._qpos[:], self._qvel[:] = state.qpos, state.qvel

    def checkpoint(self) -> Any:
        """Return the simulator's first guess, and which grips have slipped off."""
        return {"warm": self._data.qacc_warmstart.tolist(), "off": sorted(map(list, self._springs.off))}

    def restore(self, data: Any) -> None:
        """Continue."""
        self._at, self._data.qacc_warmstart[:] = None, data["warm"]
        self._springs.off = {(str(a), str(b), float(t)) for a, b, t in data["off"]}


def _off(plan: Plan, k: int) -> Conflict:
    return Conflict("slip", " – ".join(plan.contacts[k].label), OFF, "m")
