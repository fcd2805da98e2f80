"""The ledger: all terms by which a stretch of a recording is judged, as arrays over its steps.

States are put into MuJoCo one by one; what follows is kept in rows, so that each law is a few operations on arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numba
import numpy as np

from interplay.constraints.limits import JointLimits
from interplay.io.meetings import Meetings
from interplay.io.replay import Replay, Step
from interplay.motion.targets import deed
from interplay.scene.kinematics import Kinematics
from interplay.scene.penetration import Solids, Tally


@dataclass(frozen=True)
class Ledger:
    """T consecutive steps; C contacts of the run, K floating trees. What does not touch has zeros."""

    limits: JointLimits
    qpos: np.ndarray
    depth: np.ndarray
    """How deep [m] two shapes that should be apart are inside each other, at worst (T,)."""
    tau: np.ndarray
    applied: np.ndarray
    """Generalized forces of pushes, and of what stopped bodies where no contact was declared (T, nv) …"""
    stopped: np.ndarray
    """… and these alone."""
    inertial: np.ndarray
    """M q̈ (T, nv)."""
    bias: np.ndarray
    passive: np.ndarray
    qfrc_contact: np.ndarray
    """What the program put on both sides of its contacts (T, nv) …"""
    reaction: np.ndarray
    """… and what the wrenches at the sites do, +w on the first body and −w on the second, summed down the trees (T, nv)."""
    drift: np.ndarray
    """Largest displacement [m] of each contact (T, C)."""
    outside: np.ndarray
    """By how much [N] each wrench is outside its friction cone (T, C)."""
    momentum_rate: np.ndarray
    """Change of the momenta of floating trees, about their centres of mass (T, K, 6) …"""
    contact_wrench: np.ndarray
    """… the contacts' part of what changes them …"""
    push_wrench: np.ndarray
    """… that of pushes …"""
    weight: np.ndarray
    """… and that of gravity (T, K, 3)."""
    momentum_change: np.ndarray
    """Rate at which linear momenta of floating trees changed until the next recorded state (T, K, 3); NaN: none, or a thing was thrown."""


class Bookkeeper:
    """Goes through a recording and writes its ledgers."""

    def __init__(self, replay: Replay):
        """Take a recording on its scene."""
        m, self._replay = replay.model, replay
        self._limits = JointLimits.of(m)
        free = m.jnt_type[m.body_jntadr[m.tree_bodyadr]] == int(mujoco.mjtJoint.mjJNT_FREE)
        self._trees = np.flatnonzero(free)
        self._bases = m.tree_bodyadr[self._trees].astype(np.int64)
        names = [m.body(int(b)).name.split("/")[0] for b in self._bases]
        throws = ((t.time, deed(t.control)) for t in replay.recording.inputs)
        self._throws = [(time, names.index(done[1])) for time, done in throws if done and done[0] == "throw"]
        """When things were thrown [s], and which of the floating trees they are."""
        self._base_dofs = m.tree_dofadr[self._trees].astype(np.int64)
        self._bodies = m.site_bodyid[replay.sites].astype(np.int64).reshape(-1, 2)
        self._first = np.ascontiguousarray(replay.sites[:, 0])
        self._dof_body = m.dof_bodyid.astype(np.int64)
        self._load = np.zeros((m.nbody, 6))
        self._solids, self._meetings = Solids(m), Meetings(replay)
        self.tally = Tally()
        """All pairs of shapes that overlapped in the steps so far."""
        self._cones = {}
        """Facets (n, 16, 6) of the contacts of each set, by its identity; zero where there are fewer."""

    def ledgers(self) -> Iterator[Ledger]:
        """Yield the ledger of one block after another."""
        recording, index = self._replay.recording, 0
        chunks = recording.chunks()
        chunk = next(chunks, None)
        for follows in (*recording.continues[1:], False):
            if chunk is None:
                return
            after = next(chunks, None)
            state = (after["qpos"][0], after["qvel"][0]) if after is not None and follows else None
            yield self._ledger(chunk, index, state)
            index, chunk = index + len(chunk["time"]), after

    def _ledger(self, chunk: dict[str, np.ndarray], index: int, after: tuple[np.ndarray, np.ndarray] | None) -> Ledger:
        replay, m, T = self._replay, self._replay.model, len(chunk["time"])
        contacts, trees = len(replay.sites), len(self._trees)
        inertial, bias, passive, given, reaction = (np.zeros((T, m.nv)) for _ in range(5))
        drift, outside = np.zeros((T, contacts)), np.zeros((T, contacts))
        rate, outer, push = (np.zeros((T, trees, 6)) for _ in range(3))
        weight, depth = np.zeros((T, trees, 3)), np.zeros(T)
        momentum = np.full((T + 1, trees, 3), np.nan)
        for t in range(T):
            step = replay.step(chunk, t, index + t)
            terms, columns = step.terms, step.touch.columns
            mujoco.mj_mulM(m, terms.data, inertial[t], step.qacc)
            bias[t], passive[t], given[t] = terms.qfrc_bias, terms.qfrc_passive, step.qfrc_contact
            drift[t, columns] = step.drift()
            outside[t, columns] = self._outside(step)
            self._react(step, reaction[t])
            rate[t], outer[t] = terms.momentum_rates(self._trees, step.qacc), self._load[self._bases]
            weight[t] = m.body_subtreemass[self._bases, None] * m.opt.gravity
            if step.applied.any():
                push[t] = self._pushed(step)
            depth[t] = self._depth(step, float(chunk["time"][t]))
            momentum[t] = self._momenta(terms)
        if after is not None:
            replay.terms.update(*after)
            momentum[T] = self._momenta(replay.terms)
        change = np.diff(momentum, axis=0) / replay.recording.header["dt"]
        for (
            time,
            tree,
        ) in self._throws:  # a thing that is thrown begins anew: nothing within the step before has moved it
            change[np.abs(chunk["time"] + replay.recording.header["dt"] - time) < 1e-6, tree] = np.nan
        return Ledger(
            self._limits,
            chunk["qpos"],
            depth,
            chunk["tau"],
            chunk["applied"],
            chunk["stopped"],
            inertial,
            bias,
            passive,
            given,
            reaction,
            drift,
            outside,
            rate,
            outer,
            push,
            weight,
            change,
        )

    def _momenta(self, terms: Kinematics) -> np.ndarray:
        """Return the linear momenta (K, 3) of floating trees."""
        return np.array([terms.momentum(tree)[0][:3] for tree in self._trees.tolist()]).reshape(-1, 3)

    def _depth(self, step: Step, time: float) -> float:
        """Return how deep [m] the worst pair that should be apart is in a step, and take all that overlap down."""
        data = step.terms.data
        overlaps = self._solids.overlaps(data, self._meetings.places(step.index, data))
        self.tally.add(overlaps, time)
        return max((o.depth for o in overlaps if o.meeting == "apart"), default=0.0)

    def _outside(self, step: Step) -> np.ndarray:
        """Return by how much [N] each wrench of a step is outside its cone (n,); a grasp has none."""
        key = id(step.touch)
        if key not in self._cones:
            self._cones[key] = cones = np.zeros((len(step.touch.contacts), 16, 6))
            for k, contact in enumerate(step.touch.contacts):
                facets = contact.cone()
                cones[k, : len(facets), : facets.shape[1]] = facets
        return np.maximum(-(self._cones[key] @ step.wrenches[:, :, None]).min(axis=1, initial=0.0)[:, 0], 0.0)

    def _react(self, step: Step, out: np.ndarray) -> None:
        """Write the generalized force of a step's wrenches, and leave in ``_load`` what each body bears with all below it."""
        terms, columns = step.terms, step.touch.columns
        _react(
            terms.site_xpos[self._first[columns]],
            self._bodies[columns],
            step.site_wrenches,
            terms.subtree_com,
            terms.root,
            terms.parent,
            terms.cdof,
            self._dof_body,
            self._load,
            out,
        )

    def _pushed(self, step: Step) -> np.ndarray:
        """Return the wrenches (K, 6) of pushes on floating trees, about their centres of mass.

        A generalized force on a free base is a force at its origin in world axes, and a torque in body axes.
        """
        terms, bases = step.terms, self._bases
        push = step.applied[self._base_dofs[:, None] + np.arange(6)]
        turn = terms.xmat[bases].reshape(-1, 3, 3)
        arm = terms.xpos[bases] - terms.subtree_com[bases]
        torque = np.einsum("kij,kj->ki", turn, push[:, 3:]) + np.cross(arm, push[:, :3])
        return np.concatenate([push[:, :3], torque], axis=1)


@numba.njit(cache=True)
def _react(points, bodies, wrenches, com, root, parent, cdof, dof_body, load, out):
    """Sum wrenches at points, + on the first body and − on the second, down the trees; each DOF gets what its axis feels.

    That is another way than the program's, which multiplies with the Jacobians of relative motion.
    """
    load[:] = 0.0
    for k in range(bodies.shape[0]):
        f, torque = wrenches[k, :3], wrenches[k, 3:]
        for side in range(2):
            b, sign = bodies[k, side], 1.0 - 2.0 * side
            r = points[k] - com[root[b]]
            for i in range(3):
                j, h = (i + 1) % 3, (i + 2) % 3
                load[b, i] += sign * f[i]
                load[b, 3 + i] += sign * (torque[i] + r[j] * f[h] - r[h] * f[j])
    for b in range(parent.shape[0] - 1, 0, -1):
        if parent[b]:  # a tree's wrenches are all about one point: its centre of mass
            load[parent[b]] += load[b]
    for d in range(out.shape[0]):
        b = dof_body[d]
        out[d] = 0.0
        for i in range(3):
            out[d] += cdof[d, 3 + i] * load[b, i] + cdof[d, i] * load[b, 3 + i]
