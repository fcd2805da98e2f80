"""The physics of given torques: rigid bodies, exact contact, stops, the ground; for worlds in which a plan is not what happens.

Torques stay within their motors' limits, and no motor drives a joint any faster that is faster than its limit already. A step is
made in as many parts as keep bodies from turning far within one, so that what depends on velocities is right. What integration
would add to the energy by itself is taken away from the velocities at once: energy comes from motors, pushes and height alone.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np

from interplay.constraints.contact import ContactRows
from interplay.constraints.limits import JointLimits
from interplay.control.plan import ACCELERATION_QUANTUM, FORCE_QUANTUM, Conflict, Plan, rounded
from interplay.control.state import State, Touching
from interplay.models.motors import servo_gains
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene
from interplay.worlds.obstacles import Obstacles
from interplay.worlds.response import Response, lost, respond
from interplay.worlds.world import Outcome

SLIPPING = 1e-2
"""Acceleration [m/s², rad/s²] from which a contact counts as one that gave way."""

_TURN, _SHORTEST = 0.05, 5e-4
"""How far a body turns within a part of a step [rad], at most, unless the part would be shorter than this [s]."""

_GAIN = 0.1
"""How far joints are turned by what accelerates them within a part of a step [rad], at most, where anything moves fast at all."""

STRONGEST = 1000.0
"""What a motor without a limit gives at most where physics decides [N·m, N]: a program that fails may ask for anything."""

_ROUNDING = 1e-3
"""Part of the kinetic energy that integration may add in a part of a step, as it may take it in another."""


class Physics:
    """Carries out the torques of plans in one scene."""

    def __init__(self, scene: Scene, dt: float):
        """Take the scene and the step [s]."""
        self._model, self._dt = scene.model, dt
        self._terms, limits = Kinematics(scene.model), JointLimits.of(scene.model)
        self._limits = limits._replace(torque=np.where(np.isinf(limits.torque), STRONGEST, limits.torque))
        self._gains, self._obstacles = servo_gains(scene.model), Obstacles(scene)
        self._rows = ContactRows(self._terms, ())
        self._jacobian = np.zeros((0, 6, 0))

    def carry_out(self, state: State, plan: Plan, time: float) -> Outcome:
        """Return what the plan's torques lead to."""
        terms = self._terms
        terms.update(state.qpos, state.qvel)
        if self._rows.contacts is not plan.contacts:
            self._rows = ContactRows(terms, plan.contacts)
            self._jacobian = np.zeros((len(plan.contacts), 6, self._rows.width))
        asked = plan.tau
        if plan.servo is not None:  # as they pull at the beginning
            asked = asked + plan.servo.torque(self._model, self._gains, state.qpos, state.qvel)
        rows, parts = self._rows, self._parts(asked, state)
        h, tau = self._dt / parts, np.zeros(self._model.nv)
        wrench, slip, stopped, settled = np.zeros(rows.size), np.zeros(rows.size), np.zeros(len(tau)), True
        resting: dict[int, None] = {}
        for _ in range(parts):
            given = self._given(asked)
            tau += given / parts
            found = self._part(state, given, plan, h)
            wrench, stopped = wrench + found.wrench / parts, stopped + found.stopped / parts
            slip, settled = np.maximum(slip, np.abs(found.slip)), settled and found.settled
            resting |= dict.fromkeys(found.resting)
        qacc = rounded((terms.qvel - state.qvel) / self._dt, ACCELERATION_QUANTUM)
        qpos, qvel = terms.qpos.copy(), state.qvel + qacc * self._dt
        unknowns, tau = rounded(wrench, FORCE_QUANTUM), rounded(tau, FORCE_QUANTUM)
        terms.update(state.qpos, state.qvel)
        rows.update(terms, state.time, self._dt, self._jacobian)
        wrenches, _, contact = rows.forces(terms, unknowns, self._jacobian)
        if parts > 1 or stopped.any():
            # What else acted, and what remains of the parts: the equation of motion (12) holds for the step as a whole.
            known = tau + terms.qfrc_passive + state.applied + contact - terms.qfrc_bias
            stopped = terms.mass_times(qacc) - known
        touching = Touching(plan.contacts, wrenches)
        after = State(time, qpos, qvel, np.zeros_like(qvel), plan.memory._replace(felt=touching))
        conflicts = (*plan.conflicts, *_slipped(rows, slip))
        if not conflicts:
            conflicts = self._stopped(stopped)
        if not settled:
            conflicts = (*conflicts, Conflict("solver", "contact forces", 0.0, ""))
        return Outcome(after, qacc, tau, touching, contact, stopped, tuple(resting), conflicts, plan)

    def _given(self, tau: np.ndarray) -> np.ndarray:
        """Return what motors give of the torques asked for, as fast as joints are now."""
        limit, speed, qvel = self._limits.torque, self._limits.speed, self._terms.qvel
        driving = (tau * qvel > 0.0) & (np.abs(qvel) > speed)
        return rounded(np.where(np.isnan(limit) | driving, 0.0, np.clip(tau, -limit, limit)), FORCE_QUANTUM)

    def _parts(self, tau: np.ndarray, state: State) -> int:
        """Return in how many parts a step is made, from how fast bodies turn, and how fast joints will if nothing holds them."""
        terms, dt, joints = self._terms, self._dt, self._limits.dof
        turning = float(np.abs(terms.cvel[:, :3]).max(initial=0.0))
        force = self._given(tau) + state.applied + terms.qfrc_passive - terms.qfrc_bias
        gaining = float(np.abs(terms.mass_solved(force[None])[0, joints]).max(initial=0.0))
        parts = max(turning * dt / _TURN, dt * math.sqrt(gaining / _GAIN) if turning * dt > 0.5 * _TURN else 1.0)
        return max(1, min(math.ceil(parts), math.ceil(dt / _SHORTEST)))

    def _part(self, state: State, tau: np.ndarray, plan: Plan, h: float) -> Response:
        """Advance the terms by a part of a step."""
        terms, m, rows = self._terms, self._model, self._rows
        J = np.zeros((rows.size, m.nv))
        rows.update(terms, state.time, h, self._jacobian)
        row, dof, place = rows.entries()
        J[row, dof] = self._jacobian.reshape(-1)[place]
        together = zip(rows.contacts, lost(rows), strict=True)
        joined = [(c.first.body, c.second.body) for c, gone in together if not gone]
        points = self._obstacles.points(terms.qpos, 1.5 * h * self._fastest(), plan.memory.pairs.geoms, joined)
        before, force = self._energy(), tau + state.applied
        found = respond(terms, rows, J, force + terms.qfrc_passive - terms.qfrc_bias, points, self._limits, h)
        qpos, qvel = terms.qpos.copy(), found.qvel
        mujoco.mj_integratePos(m, qpos, qvel, h)
        mujoco.mj_normalizeQuat(m, qpos)
        terms.update(qpos, qvel)
        moving = 0.5 * float(qvel @ terms.mass_times(qvel))
        # A force that is constant along the way h v⁺ does the work h v⁺·f: semi-implicit integration then loses ½ Δvᵀ M Δv, and
        # gains only by what velocities do to the mass matrix within the part.
        work = h * float(force @ qvel) + found.returned
        surplus = self._energy() - before - work
        if surplus > _ROUNDING * moving:
            terms.update(qpos, qvel * math.sqrt(max(1.0 - surplus / moving, 0.0)))
        return found

    def _fastest(self) -> float:
        """Return the speed [m/s] of the fastest body, of points within half a metre of its own."""
        terms = self._terms
        arm = terms.xpos - terms.subtree_com[terms.root]
        turning = terms.cvel[:, :3]
        moved = np.linalg.norm(terms.cvel[:, 3:] + np.cross(turning, arm), axis=1)
        return float((moved + 0.5 * np.linalg.norm(turning, axis=1)).max(initial=0.0))

    def _energy(self) -> float:
        """Return kinetic and potential energy [J]."""
        terms = self._terms
        mujoco.mj_energyPos(self._model, terms.data)
        return float(terms.data.energy[0]) + 0.5 * float(terms.qvel @ terms.mass_times(terms.qvel))

    def _stopped(self, force: np.ndarray) -> tuple[Conflict, ...]:
        """Return what else than motors and contacts acted, named by the joint where it is largest."""
        m, worst = self._model, int(np.abs(force).argmax())
        if not force[worst]:
            return ()
        return (Conflict("stop", m.joint(int(m.dof_jntid[worst])).name, float(abs(force[worst])), "N, N·m"),)


def _slipped(rows: ContactRows, slip: np.ndarray) -> list[Conflict]:
    """Return the contacts that gave way, and by how much."""
    out = []
    for k, contact in enumerate(rows.contacts):
        mine = np.abs(slip[rows.start[k] : rows.start[k + 1]])
        for part, unit in ((mine[:3], "m/s²"), (mine[3:], "rad/s²")):
            if part.max(initial=0.0) > SLIPPING:
                out.append(Conflict("slip", " – ".join(contact.label), float(part.max()), unit))
    return out
