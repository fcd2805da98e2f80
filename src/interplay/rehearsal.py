"""A rehearsal: every compiled kernel is called once before the first simulation begins.

Kernels are compiled once and kept on disk, but to load one takes some milliseconds the first time it is called in a process. A
step in which a contact is made, a pair comes near or a row is hit for the first time would take that much longer.
"""

from __future__ import annotations

import gc

import numpy as np
from scipy import sparse

_done: list[bool] = []


def rehearse() -> None:
    """Call every kernel once; only the first call in a process does anything."""
    if _done:
        return
    _done.append(True)  # the simulation in it comes here again
    try:
        _hit_a_row()
        _play()
    except BaseException:
        _done.clear()
        raise


def keep_what_is_loaded() -> None:
    """Tell the garbage collector not to look through what is loaded by now: that takes 70 ms in the middle of a run.

    What was loaded the last time, and is not used any more, is given up.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _play() -> None:
    """Let two boxes before a door go through what can happen."""
    import interplay as ip
    from interplay.maths.rotations import turned
    from interplay.motion.footsteps import Footprint, Swing
    from interplay.motion.preview import Track

    Track(np.zeros((5, 2))).at(0.01)
    foot = Footprint("left", np.zeros(3), 0.0)
    Swing(foot, foot, 0.0, ip.Gait()).at(0.1)
    turned(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))

    scene = ip.Scene().add(ip.Door(), "door").add(ip.Box(), "a", pos=(-1.0, 0)).add(ip.Box(), "b", pos=(-1.305, 0.1))
    sim = ip.Simulation(scene)
    sim.live.set_mass("a", 2.0)
    sim.contacts.add("a/bottom", ip.GROUND)
    sim.collisions.add("a", "b")
    sim.collisions.add("b", "ground")
    here = sim.terms.site_xpos[scene.site("b/top")].copy()
    pose = ip.pose_value(here)
    sim.objectives += [
        ip.Com("a"),
        ip.Com("a", "b", reference=ip.MinimumJerk(np.zeros(3), np.zeros(3), -0.5, 1.0)),
        ip.ComOver("a", over=("a/bottom",), reference=(0.0, 0.0)),
        ip.Balance("a", on=("a/bottom",), terms=sim.terms),
        ip.AngularMomentum("a"),
        ip.Point("b/top"),
        ip.Orientation("b/top"),
        ip.Pose("b/top", ip.PosePath(pose, pose, 0.0, 1.0)),
        ip.RelativePose("a", "b"),
        ip.Gaze("a", "b/top"),
        ip.Meet("b/left", "a/right", sim.terms, 0.0, 1.0),
        ip.JointAngle("door/hinge", 0.0),
        ip.Posture("door"),
    ]
    sim.limits += [ip.SpeedLimit("b", 100.0), ip.KeepWithin("b", (-9.0,) * 3, (9.0,) * 3)]
    sim.objectives[0].fades = ((0.0, 1.0, 2.0, 1.0),)
    sim.step()
    sim.contacts.add("b/bottom", ip.GROUND)
    sim.contacts.add("b/front", "a/rear")
    sim.step()


def _hit_a_row() -> None:
    """Solve ½‖x‖² with x₁ + x₂ ≥ 1: the row that is violated comes into the working set."""
    from interplay.qp.problem import QP
    from interplay.qp.solvers import make_solver

    none, free = np.zeros(0), np.full(2, np.inf)
    nothing, row = sparse.csc_matrix((0, 2)), sparse.csc_matrix(np.ones((1, 2)))
    one = sparse.csc_matrix(np.eye(2))
    make_solver("active_set").solve(
        QP(one, np.zeros(2), nothing, none, row, np.ones(1), np.full(1, np.inf), -free, free, None)
    )
