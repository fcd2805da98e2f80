"""Those who carry something together walk a bend: they turn about one point, and what they carry turns with them."""

import numpy as np
from numpy.testing import assert_allclose

import interplay as ip

GRASPS = {
    "ann/left_grip": "table/rear_right_grip",
    "ann/right_grip": "table/front_right_grip",
    "ben/left_grip": "table/front_left_grip",
    "ben/right_grip": "table/rear_left_grip",
}
SOLES = {w: tuple(f"{w}/{side}_sole" for side in ("left", "right")) for w in ("ann", "ben")}


def carriers(lift=0.05):
    """Two face each other over a table that is in their hands already; ben stands at its far end."""
    scene = ip.Scene()
    scene.add(ip.Humanoid(1.70, 62, "female"), "ann", pos=(0, -0.96), yaw=np.pi / 2)
    scene.add(ip.Humanoid(1.76, 76, "male"), "ben", pos=(0, 0.96), yaw=-np.pi / 2)
    scene.add(ip.Table((0.8, 1.2, 0.74), 14), "table", pos=(0, 0, lift))
    for walker in SOLES:
        first, second = [pair for pair in GRASPS.items() if pair[0].startswith(walker)]
        scene.reach(*first, second)
    sim = ip.Simulation(scene)
    for soles in SOLES.values():
        for sole in soles:
            sim.contacts.add(sole, ip.GROUND, friction=1.0)
    for grip, handle in GRASPS.items():
        sim.contacts.add(grip, handle, grip_torque=40.0, force_cost=1e-4)
    sim.objectives += [ip.Posture("ann", "ben", weight=0.1), *(ip.AngularMomentum(w, weight=0.002) for w in SOLES)]
    return sim


def pose(sim, body):
    return ip.Pose.value(*ip.Frame(sim.scene, body).pose(sim.terms))


def test_carriers_walk_a_bend():
    sim, turn, steps = carriers(), 0.07, 5
    begun = {w: sim.middle(*soles) for w, soles in SOLES.items()}
    table = np.zeros(7)

    def level(sim, walk):
        return [ip.Pose("table", walk.along(pose(sim, "table"), "y"), weight=30.0, stiffness=40.0, max_speed=np.inf)]

    gait = ip.Gait(stride=0.2, turn=turn, swing=0.8, double=0.5, arm_swing=0.0, lower=0.03)
    walkers = [ip.Walker("ann"), ip.Walker("ben", backward=True)]
    walk = ip.Walk("walk", walkers, steps, gait, carried=("table",), extra=level)

    def over_the_feet(sim):
        return [
            ip.Com("ann", "ben", "table", reference=sim.middle(*SOLES["ann"], *SOLES["ben"])[:2], axes="xy", weight=100)
        ]

    stand, rest = (ip.Phase(name, over_the_feet, seconds=1.5) for name in ("stand", "rest"))
    sim.behaviour = ip.Machine([stand, *walk.phases(), rest])
    given = 0
    while not sim.behaviour.done:
        given += len(sim.step().conflicts)
        table = pose(sim, "table") if sim.time < 1.5 else table
        assert not sim.behaviour.failure
    assert given == 0
    angle, pivot = (steps - 1) * turn, np.mean(list(begun.values()), axis=0)
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    headings = np.pi / 2 + turn * (np.arange(steps - 1) + 0.5)
    goal = pivot + 0.2 * np.array([np.cos(headings).sum(), np.sin(headings).sum(), 0])
    for walker, soles in SOLES.items():  # as a rigid body would
        assert_allclose(sim.middle(*soles)[:2], (goal + R @ (begun[walker] - pivot))[:2], atol=0.01)
    now = pose(sim, "table")
    turned = 2 * np.arctan2(now[6], now[3]) - 2 * np.arctan2(table[6], table[3])
    assert abs((turned - angle + np.pi) % (2 * np.pi) - np.pi) < 0.03
    assert_allclose(now[:2], (goal + R @ (table[:3] - pivot))[:2], atol=0.04)
