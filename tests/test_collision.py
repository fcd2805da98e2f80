"""Collision avoidance: distances and their derivatives, activation without chatter, never through."""

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay.constraints.collision import ActivePairs, CollisionRows
from interplay.constraints.damper import braking_speed, damper_gain
from interplay.constraints.limits import JointLimits
from interplay.scene.penetration import Solids


def balls(gap=0.05, radius=0.1):
    scene = (
        ip.Scene(gravity=0.0)
        .add(ip.Ball(radius, 1.0), "a", pos=(0, 0, 1))
        .add(ip.Ball(radius, 1.0), "b", pos=(2 * radius + gap, 0, 1))
    )
    sim = ip.Simulation(scene)
    sim.collisions.add("a", "b", influence=0.1, security=0.02)
    return sim


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shapes", [("ball", "ball"), ("ball", "capsule"), ("capsule", "capsule")])
def test_row_against_central_differences(shapes, seed):
    """uᵀ(J1 − J2) is the distance's gradient and the bias its second derivative along q̈ = 0, on smooth pairs."""
    make = {"ball": lambda: ip.Ball(0.1, 1.0), "capsule": lambda: ip.Humanoid(1.6)}
    names = {"ball": "hull", "capsule": "left_forearm_hull"}
    rng = np.random.default_rng(seed)
    scene = ip.Scene().add(make[shapes[0]](), "a", pos=(0, 0, 0.2)).add(make[shapes[1]](), "b", pos=(0.8, 0.1, 0.3))
    sim = ip.Simulation(scene)
    sim.collisions.clear()
    sim.collisions.add(f"a/{names[shapes[0]]}", f"b/{names[shapes[1]]}", influence=3.0, security=0.01)
    m, terms = scene.model, sim.terms
    q = scene.qpos
    mujoco.mj_integratePos(m, q, rng.normal(0, 0.1, m.nv), 1.0)
    v = rng.normal(0, 0.7, m.nv)
    terms.update(q, v)
    rows = CollisionRows(terms, sim.collisions.pairs)
    found, _ = rows.update(terms, 1e-3, ActivePairs.none(), ())
    pair, jac = sim.collisions.pairs[0], np.zeros(m.nv)
    rows.jacobian(terms, found.first(1), np.zeros(1, int), jac)

    def distance(direction, s):
        moved, d, fromto = q.copy(), mujoco.MjData(m), np.zeros(6)
        mujoco.mj_integratePos(m, moved, direction, s)
        d.qpos[:] = moved
        mujoco.mj_kinematics(m, d)
        return mujoco.mj_geomDistance(m, d, pair.geom1, pair.geom2, 10, fromto)

    for _ in range(3):
        direction, h = rng.normal(size=m.nv), 1e-5
        assert_allclose(jac @ direction, (distance(direction, h) - distance(direction, -h)) / (2 * h), atol=1e-5)
    h = 1e-3
    expected = (distance(v, h) - 2 * distance(v, 0) + distance(v, -h)) / h**2
    assert_allclose(found.bias[0], expected, rtol=1e-5, atol=1e-6)


def test_sliding_past_a_face_has_no_bias():
    """A ball sliding along a face at 1 m/s and 1 cm: body-fixed witness points would give 100 m/s²; the distance's own is 0."""
    scene = ip.Scene(gravity=0.0).add(ip.Ball(0.1, 1.0), "ball", pos=(0, 0, 0.01)).add(ip.Humanoid(), "bob", pos=(5, 0))
    sim = ip.Simulation(scene)
    sim.collisions.add("ball", "ground", influence=0.1, security=0.005)
    state = sim.state.with_(qvel=np.concatenate([[1.0, 0, 0, 0, 0, 0], np.zeros(36)]))
    terms = sim.controller.at(state)
    rows = CollisionRows(terms, [p for p in sim.collisions.pairs if "ball" in p.name])
    found, _ = rows.update(terms, 0.005, ActivePairs.none(), ())
    assert abs(found.bias[0]) < 1e-6


@pytest.mark.parametrize("dt", [0.002, 0.005, 0.033])
@pytest.mark.parametrize("speed", [0.1, 1.0, 3.0])
def test_a_reaching_hand_stops_before_a_block(dt, speed):
    """An objective pulls the hand into the block; hand and forearm come to rest at the security distance, without chatter."""
    scene = ip.Scene().add(ip.Humanoid(1.7), "ann").add(ip.Platform((0.3, 0.6, 0.9)), "block", pos=(0.62, 0))
    sim = ip.Simulation(scene, dt)
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", ip.GROUND)
    for part in ("hand", "forearm"):
        sim.collisions.add("block", f"ann/right_{part}", influence=0.08, security=0.02)
    sim.objectives += [
        ip.Posture("ann"),
        ip.Com("ann"),
        ip.Point("ann/right_palm", (0.6, -0.1, 0.7), weight=100, max_speed=speed),
    ]
    shapes = [scene.geom(f"ann/right_{part}_hull") for part in ("hand", "forearm")]
    closest, fromto, late = np.inf, np.zeros(6), []
    for _ in range(round(4.0 / dt)):
        solution = sim.step()
        assert not solution.conflicts
        terms = sim.terms
        closest = min(
            closest,
            *(
                mujoco.mj_geomDistance(scene.model, terms.data, scene.geom("block/hull"), g, 1.0, fromto)
                for g in shapes
            ),
        )
        if sim.time > 3.0:
            late.append(np.abs(solution.qacc).max())
    assert closest > (0.02 - 1e-3 if dt < 0.01 else 0.0)
    if speed >= 1.0:
        assert closest < 0.03
        assert np.median(late) < 3.0


def test_entering_the_zone_does_not_brake_at_once():
    """On activation ξ is chosen so that the present speed is still allowed; it is kept until the pair leaves, so nothing chatters."""
    for distance, rate in ((0.099, 2.0), (0.05, 1.0), (0.09, 0.01)):
        xi = damper_gain(0.0, distance, rate, 0.1, 0.02, 0.3, 0.1, 0.001)
        allowed = xi * (distance - 0.02) / 0.08
        assert allowed >= rate
        assert damper_gain(xi, 0.04, 0.1, 0.1, 0.02, 0.3, 0.1, 0.001) == xi
    assert damper_gain(1.0, 0.11, 1.0, 0.1, 0.02, 0.3, 0.1, 0.001) == 0.0


def test_braking_speed_leaves_room_to_stop():
    for room in (0.01, 0.1, 1.0):
        for dt in (0.001, 0.033):
            v = braking_speed(room, 20.0, dt)
            assert v * dt + v * v / 40.0 == pytest.approx(room)
    assert braking_speed(-0.1, 20.0, 0.005) == 0.0


def test_direction_is_kept_when_touching():
    sim = balls(gap=0.0)
    state = sim.controller.initial_state()
    sim.controller.at(state)
    rows = CollisionRows(sim.terms, sim.collisions.pairs)
    found, _ = rows.update(sim.terms, 0.005, ActivePairs.none(), ())
    assert_allclose(np.abs(found.u[0]), [1, 0, 0], atol=1e-6)
    assert np.isfinite(found.bound[0])


def test_touching_a_plane_far_from_its_centre_parts_upward():
    scene = ip.Scene().add(ip.Ball(0.1, 1.0), "ball", pos=(5, 0, 0)).add(ip.Box((0.2, 0.2, 0.2)), "box", pos=(7, 3, 0))
    sim = ip.Simulation(scene)
    for name in ("ball", "box"):
        sim.collisions.add(name, "ground", influence=0.05, security=0.002)
    rows = CollisionRows(sim.terms, sim.collisions.pairs)
    found, _ = rows.update(sim.terms, 0.005, ActivePairs.none(), ())
    assert len(found.pair) == 2
    assert_allclose(np.abs(found.u), [[0, 0, 1], [0, 0, 1]], atol=1e-6)


def test_memory_belongs_to_shapes_not_to_places_in_a_list():
    sim = balls(gap=0.05)
    sim.step()
    (near,) = [p for p in sim.collisions.pairs if "ground" not in p.name]
    assert sim.state.memory.pairs.geoms.tolist() == [[near.geom1, near.geom2]]


def test_pairs_in_contact_do_not_avoid_each_other():
    scene = ip.Scene().add(ip.Box((0.2, 0.2, 0.2)), "a").add(ip.Box((0.2, 0.2, 0.2)), "b", pos=(0, 0, 0.2))
    sim = ip.Simulation(scene)
    sim.collisions.add("a", "b")
    sim.contacts.add("b/bottom", "a/top")
    sim.contacts.add("a/bottom", ip.GROUND)
    for _ in range(20):
        assert not sim.step().fallback


def test_self_collision_pairs_leave_neighbours_alone():
    scene = ip.Scene().add(ip.Humanoid(), "bob")
    pairs = {frozenset(p.name.replace("bob/", "").split(" – ")) for p in ip.Simulation(scene).collisions.pairs}
    assert frozenset(("left_thigh_hull", "left_shank_hull")) not in pairs
    assert frozenset(("left_forearm_hull", "right_forearm_hull")) in pairs
    assert frozenset(("left_hand_hull", "head_hull")) in pairs
    assert frozenset(("left_shank_hull", "right_shank_hull")) in pairs


@pytest.mark.parametrize("dt", [0.005, 0.033])
def test_joints_never_leave_their_range(dt):
    """A posture far outside the range pulls; every joint stops inside its limits and within its speed."""
    scene = ip.Scene().add(ip.Humanoid(1.7), "ann")
    sim = ip.Simulation(scene, dt)
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", ip.GROUND)
    m = scene.model
    joints = [
        f"ann/{s}_{j}"
        for s in ("left", "right")
        for j in ("elbow_flexion", "wrist_flexion", "shoulder_abduction", "forearm_rotation")
    ]
    sim.objectives += [
        ip.Posture("ann"),
        ip.Com("ann"),
        *(ip.JointAngle(j, 9.0, weight=20, max_speed=8.0) for j in joints),
    ]
    limits = JointLimits.of(m)
    for _ in range(round(2.0 / dt)):
        solution = sim.step()
        assert not solution.fallback
        q = sim.state.qpos[limits.adr]
        assert (q >= limits.low - 1e-6).all()
        assert (q <= limits.high + 1e-6).all()
        assert (np.abs(sim.state.qvel) <= limits.speed + 1e-6).all()


@pytest.mark.parametrize("seed", range(6))
def test_broad_phase_leaves_out_nothing_near(seed):
    """In random configurations, every pair within its distance is a candidate; far ones mostly are not."""
    scene = (
        ip.Scene()
        .add(ip.Humanoid(), "a")
        .add(ip.Humanoid(1.6), "b", pos=(0.25, 0.1))
        .add(ip.Box(), "box", pos=(0.3, 0.5))
    )
    sim = ip.Simulation(scene)
    sim.collisions.add("a", "b", influence=0.1, security=0.01)
    for name in ("a", "b"):
        sim.collisions.add("box", name, influence=0.1, security=0.01)
        sim.collisions.add("ground", f"{name}/left_hand", influence=0.1, security=0.01)
    m, rng = scene.model, np.random.default_rng(seed)
    q = scene.qpos
    mujoco.mj_integratePos(m, q, rng.normal(0, 0.4, m.nv), 1.0)
    terms = sim.terms
    terms.update(q, np.zeros(m.nv))
    rows = CollisionRows(terms, sim.collisions.pairs)
    rows.update(terms, 0.005, ActivePairs.none(), ())
    chosen = set(rows.near(terms, 0.005).tolist())
    fromto, near = np.zeros(6), set()
    for k, p in enumerate(sim.collisions.pairs):
        if mujoco.mj_geomDistance(m, terms.data, p.geom1, p.geom2, 1.0, fromto) < p.influence:
            near.add(k)
    assert near <= chosen
    assert len(chosen) < 0.5 * len(sim.collisions.pairs)


def test_what_is_added_later_counts():
    """Distances given for a pair that is there already (limbs avoid each other from the start) replace those it had."""
    scene = ip.Scene().add(ip.Humanoid(1.7, 65), "ann")
    pairs = ip.Simulation(scene).collisions
    count, before = len(pairs.pairs), pairs.pairs
    assert pairs.add("ann/left_hand", "ann/right_hand", influence=0.07, security=0.01) == 0
    found = [p for p in pairs.pairs if "left_hand" in p.name and "right_hand" in p.name]
    assert [(p.influence, p.security) for p in found] == [(0.07, 0.01)]
    assert len(pairs.pairs) == count
    assert pairs.pairs is not before  # by which controllers know
    assert pairs.remove("ann/left_hand", "ann/right_hand") == 1
    assert pairs.add("ann/left_hand", "ann/right_hand") == 1


def carrying():
    """Return a simulation in which she holds a bar by her grips."""
    scene = ip.Scene().add(ip.Humanoid(1.68, 58, "female"), "ann").add(ip.Barbell(1.6), "bar", pos=(0.34, 0, 1.0))
    scene.reach("ann/left_grip", "bar/left_grip", ("ann/right_grip", "bar/right_grip"))
    sim = ip.Simulation(scene)
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", ip.GROUND)
    return sim


def names(sim):
    return {frozenset(p.name.split(" – ")) for p in sim.collisions.pairs}


def test_what_is_held_keeps_off_its_holder():
    sim = carrying()
    belly = frozenset(("ann/pelvis_hull", "bar/bar_hull"))
    arm = frozenset(("ann/right_forearm_hull", "bar/bar_hull"))
    before = names(sim)
    assert belly not in before
    sim.contacts.add("ann/left_grip", "bar/left_grip", grip_force=300.0)
    assert {belly, arm, frozenset(("ann/left_thigh_hull", "bar/bar_hull"))} <= names(sim)
    assert frozenset(("ann/left_forearm_hull", "bar/bar_hull")) not in names(sim)  # the arm that holds it
    assert sim.collisions.pairs is sim.collisions.pairs
    sim.contacts.remove("ann/left_grip")
    assert names(sim) == before


def test_what_is_held_does_not_pass_her_even_if_it_is_pulled_there():
    """The bar is asked for behind her belly: without the default it would pass through."""
    depths = {}
    for default in (True, False):
        sim = carrying()
        for side in ("left", "right"):
            sim.contacts.add(f"ann/{side}_grip", f"bar/{side}_grip", grip_force=300.0)
        if not default:
            sim.collisions.remove("ann", "bar")
        sim.objectives += [ip.Posture("ann", weight=0.1), ip.Com("ann", "bar", weight=100.0)]
        sim.objectives += [ip.Point("bar", (-0.1, 0, 1.0), weight=20.0, max_speed=0.4)]
        solids, deepest = Solids(sim.scene.model), 0.0
        for _ in range(300):
            sim.step()
            found = solids.overlaps(sim.terms.data)
            trunk = [o.depth for o in found if "bar/bar" in o.pair and "hand" not in o.pair]
            deepest = max(deepest, *trunk, 0.0)
        depths[default] = deepest
    assert depths[True] < 1e-4
    assert depths[False] > 0.02


def test_nothing_passes_the_ground():
    """The bar is asked for below the floor: its discs come down on it, and stop there. Feet are to land, and have no pair."""
    sim = carrying()
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_grip", f"bar/{side}_grip", grip_force=300.0)
    assert frozenset(("ground", "bar/left_disc")) in names(sim)
    assert frozenset(("ground", "ann/left_foot_hull")) not in names(sim)
    sim.objectives += [ip.Posture("ann", weight=0.02), ip.Com("ann", "bar", axes="xy", weight=100.0)]
    sim.objectives += [ip.Point("bar", (0.35, 0, -0.06), weight=20.0, max_speed=0.5)]
    solids, lowest = Solids(sim.scene.model), 1.0
    for _ in range(800):
        assert not sim.step().fallback
        found = [o.depth for o in solids.overlaps(sim.terms.data) if "disc" in o.pair]
        assert max(found, default=0.0) < 1e-4
        lowest = min(lowest, sim.terms.xpos[sim.scene.body("bar"), 2])
    assert lowest < 0.13
