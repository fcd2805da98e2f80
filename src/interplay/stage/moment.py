"""A frame: one moment of a simulation with all that overlays and plots show. It reads what the step has computed already."""

from __future__ import annotations

import time as clocks
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import mujoco
import numpy as np

from interplay.constraints.collision import ActivePairs
from interplay.constraints.collision_set import Pair
from interplay.constraints.contact import Contact
from interplay.constraints.stability import free_trees, stability_region
from interplay.io.grips import Grips
from interplay.models.motors import torque_limits
from interplay.motion.behaviour import Listener
from interplay.objectives.base import Objective
from interplay.scene.kinematics import Kinematics
from interplay.simulation import Simulation
from interplay.stage.messages import ControlView, Moment, ObjectiveView, Pace, PullView, SkillsView, StabilityView

STABILITY_EVERY, STABILITY_SHARE, STABILITY_TOLERANCE = 0.2, 0.05, 2e-3
"""Regions of stability are as old as this [s] or take so much of the time, whichever is less work; their edges [m]."""


class Status(NamedTuple):
    """What a frame says about the performance, beside the moment itself."""

    pace: Pace
    playing: bool
    live: bool
    span: tuple[float, float]
    speed: float
    ended: str


class MomentMaker:
    """Makes the parts of frames of one scene."""

    def __init__(self, model: mujoco.MjModel):
        """Find out what belongs to what."""
        self._model = m = model
        limit = torque_limits(m)
        self._powered = np.flatnonzero(np.isfinite(limit))
        self._limit, self._joint_body = limit[self._powered], m.dof_bodyid[self._powered]
        roots = m.tree_bodyadr.astype(int)
        owner = [m.body(int(body)).name.split("/")[0] for body in roots]
        self.models = tuple(dict.fromkeys(owner))
        """Names of the placed models that move."""
        self._roots = [roots[[name == o for o in owner]] for name in self.models]
        self._shapes = [m.geom(k).name for k in range(m.ngeom)]
        moved = {int(m.body_treeid[m.jnt_bodyid[joint]]) for joint in m.actuator_trnid[:, 0]}
        self._actors = [tree for tree in free_trees(m) if tree in moved and m.opt.gravity[2] < 0.0]
        """Trees of those who have motors, and whom nothing but contacts keeps from falling."""
        self._regions: tuple[StabilityView, ...] = ()
        self._regions_due = 0.0
        self._grips = Grips(m)
        self._contacts: Sequence[Contact] | None = None
        self._laid_out: dict[str, Any] = {}

    def live(self, sim: Simulation, relaxed: Iterable[str], status: Status, stability: bool) -> Moment:
        """Return the frame of a simulation as it is now, with the forces of its last step, and regions of stability if asked."""
        terms, time, behaviour, felt = sim.terms, sim.time, sim.behaviour, sim.state.memory.felt
        demands = sim.demands
        self._grips.note(time, demands.contacts, demands.coming or ())
        return Moment(
            time=time,
            phase=behaviour.label if behaviour else "",
            coming=behaviour.coming if behaviour else (),
            qpos=sim.state.qpos,
            body_load=self.load(sim.outcome.tau if sim.outcome else None),
            com=self.com(terms),
            **self.contacts(terms, felt.contacts, felt.wrenches),
            grips=self._grips.at(time),
            **self.pairs(terms, sim.state.memory.pairs, sim.collisions.pairs),
            stability=self.stability(terms, felt.contacts, status.playing) if stability else (),
            objectives=objective_views(demands.objectives, terms, time),
            relaxed=tuple(relaxed),
            **control_values(sim),
            pull=pull_view(sim),
            **status._asdict(),
            frictions={**sim.scene.frictions, **sim.live.frictions.changed} if sim.world.finds_contacts else {},
            skills=tuple(skills_view(*named) for named in behaviour.listeners.items()) if behaviour else (),
        )

    def load(self, tau: np.ndarray | None) -> np.ndarray:
        """Return the largest |τ|/limit of the joints by which each body hangs on its parent (nbody,)."""
        out = np.zeros(self._model.nbody)
        if tau is not None:
            np.maximum.at(out, self._joint_body, np.abs(tau[self._powered]) / self._limit)
        return np.minimum(out, 1.0)

    def com(self, terms: Kinematics) -> np.ndarray:
        """Return the centres of mass of the models (n, 3) [m]."""
        out = np.empty((len(self._roots), 3))
        for k, roots in enumerate(self._roots):
            mass = terms.subtree_mass[roots]
            out[k] = mass @ terms.subtree_com[roots] / mass.sum()
        return out

    def contacts(self, terms: Kinematics, contacts: Sequence[Contact], wrenches: np.ndarray) -> dict[str, Any]:
        """Return the fields of a frame about contacts; ``wrenches`` (n, 6) are in contact axes."""
        if contacts is not self._contacts:
            self._contacts, self._laid_out = contacts, _laid_out(contacts)
        fixed, n = self._laid_out, len(contacts)
        place = terms.xmat[fixed["body"]].reshape(n, 3, 3)
        position = np.einsum("kij,kj->ki", place, fixed["p"]) + terms.xpos[fixed["body"]]
        turn = terms.xmat[fixed["turning"]].reshape(n, 3, 3) @ fixed["R"]
        pose = np.empty((n, 7))
        pose[:, :3] = position
        for k in range(n):
            mujoco.mju_mat2Quat(pose[k, 3:], turn[k].reshape(-1))
        force = wrenches[:, :3]
        return {
            "contacts": fixed["names"],
            "contact_pose": pose,
            "contact_size": fixed["size"],
            "contact_force": np.einsum("kij,kj->ki", turn, force),
            "contact_normal": np.where(fixed["grasp"], np.sqrt((force**2).sum(axis=1)), force[:, 2]),
            "grounded": fixed["grounded"],
        }

    def stability(self, terms: Kinematics, contacts: Sequence[Contact], playing: bool) -> tuple[StabilityView, ...]:
        """Return the regions of stability of the characters: while time runs, those found not long ago."""
        begin = clocks.perf_counter()
        if not playing or begin >= self._regions_due:
            self._regions = tuple(view for tree in self._actors if (view := self._region(terms, contacts, tree)))
            self._regions_due = begin + max(STABILITY_EVERY, (clocks.perf_counter() - begin) / STABILITY_SHARE)
        return self._regions

    def _region(self, terms: Kinematics, contacts: Sequence[Contact], tree: int) -> StabilityView | None:
        """Return the region of one character at the height of its lowest contact; None where there is none."""
        found = stability_region(terms, contacts, [tree], tolerance=STABILITY_TOLERANCE)
        if found.empty:
            return None
        root, body_tree = int(self._model.tree_bodyadr[tree]), self._model.body_treeid
        sides = [(s.body, p) for c in contacts for s, p in ((c.first, c.p1), (c.second, c.p2))]
        height = min(terms.xpos[b, 2] + terms.xmat[b, 6:] @ p for b, p in sides if body_tree[b] == tree)
        outline = np.column_stack([found.corners, np.full(len(found.corners), height)])
        return StabilityView(outline, found.margin(terms.subtree_com[root]) >= 0.0)

    def pairs(self, terms: Kinematics, active: ActivePairs, pairs: Sequence[Pair]) -> dict[str, Any]:
        """Return the fields of a frame about pairs inside their influence distance.

        Their witness points are those of the step, carried along with the bodies.
        """
        m, n = self._model, len(active.geoms)
        geoms = active.geoms % m.ngeom  # late perceivers' pairs are counted on
        bodies = m.geom_bodyid[geoms]
        local = active.points[:, 0]
        points = np.einsum("ksij,ksj->ksi", terms.xmat[bodies].reshape(n, 2, 3, 3), local) + terms.xpos[bodies]
        security = {(p.geom1, p.geom2): p.security for p in pairs} if n else {}
        names = geoms.tolist()
        return {
            "pairs": tuple((self._shapes[a], self._shapes[b]) for a, b in names),
            "pair_points": points,
            "pair_distance": np.column_stack(
                [
                    np.einsum("ki,ki->k", active.u, points[:, 0] - points[:, 1]),
                    np.array([security.get((a, b), 0.0) for a, b in names]),
                ]
            ),
        }


def _laid_out(contacts: Sequence[Contact]) -> dict[str, Any]:
    """Return what does not change about contacts, as arrays; a point contact has the axes of its second body."""
    n, point = len(contacts), np.array([c.kind == "point" for c in contacts], bool)
    first, second = (np.array([getattr(c, side).body for c in contacts], int) for side in ("first", "second"))
    return {
        "names": tuple((c.first.name, c.second.name) for c in contacts),
        "body": first,
        "p": np.array([c.p1 for c in contacts]).reshape(n, 3),
        "turning": np.where(point, second, first),
        "R": np.array([c.R2 if c.kind == "point" else c.R1 for c in contacts]).reshape(n, 3, 3),
        "size": np.array([c.half if c.kind == "planar" else (0.0, 0.0) for c in contacts], float).reshape(n, 2),
        "grasp": np.array([c.kind == "grasp" for c in contacts], bool),
        "grounded": np.array([c.second.fixed for c in contacts], bool),
    }


def objective_views(objectives: Iterable[Objective], terms: Kinematics, time: float) -> tuple[ObjectiveView, ...]:
    """Return what the objectives in force ask for, and how far they are from it."""
    out = []
    for o in objectives:
        error, places = o.error(terms, time), o.places(terms, time)
        now, goal = places or (None, None)
        size = float(np.sqrt(error @ error))
        out.append(ObjectiveView(o.label, o.weight, o.stiffness, o.damping, o.level(time), size, now, goal))
    return tuple(out)


def skills_view(who: str, heard: Listener) -> SkillsView:
    """Return what a character that is moved by skills does, and why."""
    bids = tuple((name, value, why) for name, (value, why) in heard.bids.items())
    return SkillsView(who, heard.doing, bids, tuple((*pair, count) for pair, count in heard.moves.items()))


def pull_view(sim: Simulation) -> PullView | None:
    """Return what the user's hand holds."""
    if sim.live.held is None:
        return None
    point, force = sim.live.held.force(sim.terms, sim.dt)
    return PullView(sim.scene.model.body(sim.live.held.body).name, point, sim.live.held.goal, force)


def control_values(sim: Simulation) -> dict[str, dict[str, np.ndarray]]:
    """Return the fields of a frame about the live controls."""
    return {
        "controls": {name: np.array(c.at(sim.time).value, float) for name, c in sim.live.controls.items()},
        "wanted": {name: np.array(c.value, float) for name, c in sim.live.controls.items()},
    }


def control_views(sim: Simulation) -> tuple[ControlView, ...]:
    """Return the live controls as declared."""
    return tuple(
        ControlView(c.name, c.kind, c.value.copy(), c.low.copy(), c.high.copy(), c.unit, c.help)
        for c in sim.live.controls.values()
    )
