"""What of a contact can be counted on: cones of what is left of a patch, against forces at its corners."""

import itertools

import numpy as np
import pytest

import interplay as ip
from interplay.constraints.contact import cone, point_cone
from interplay.constraints.footing import LIFTED, THINNEST, TOUCHING, counted_on, region
from interplay.scenario import stands

HALF = np.array([0.12, 0.045])


def tilted(gap, tilt_x=0.0, tilt_y=0.0):
    """Drift (1, 6) of a patch whose middle has lifted by a gap, and which has tilted; contact axes are the world's."""
    return np.array([[0.0, 0.0, -gap, tilt_x, tilt_y, 0.0]])


def cone_of(drift, friction=0.8, shrink=0.0):
    out = np.zeros(96)
    counted_on(np.array([6]), HALF[None], np.array([[friction, shrink]]), np.eye(3)[None], drift, out)
    return out.reshape(16, 6)


def wrench(corners, forces):
    """Force and torque about the middle of forces (n, 3) at corners (n, 2)."""
    places = np.column_stack([corners, np.zeros(len(corners))])
    return np.concatenate([forces.sum(0), np.cross(places, forces).sum(0)])


def random_forces(rng, n, friction):
    fz = rng.uniform(1, 100, n)
    return np.column_stack([rng.uniform(-1, 1, (n, 2)) * friction / np.sqrt(2) * fz[:, None], fz])


def test_a_patch_that_lies_flat_is_the_whole_of_it():
    np.testing.assert_allclose(cone_of(tilted(0.0)), cone(HALF, 0.8))
    np.testing.assert_allclose(cone_of(tilted(0.5 * TOUCHING)), cone(HALF, 0.8))
    np.testing.assert_allclose(cone_of(tilted(0.0), shrink=0.3), cone(0.7 * HALF, 0.8))


@pytest.mark.parametrize("edge", ["toe", "heel", "left", "right"])
def test_on_an_edge_the_remaining_corners_span_the_cone(edge):
    """Tipped far about an edge: wrenches of forces there are within (all but its breadth), those of lifted corners are not."""
    angle = 0.5 if edge in ("left", "right") else 0.25
    axis, side = (
        (0, 1.0 if edge == "toe" else -1.0) if edge in ("toe", "heel") else (1, 1.0 if edge == "left" else -1.0)
    )
    # The gap of a point (x, y) is middle + θ_y x − θ_x y: zero on the edge.
    drift = tilted(angle * HALF[axis], **({"tilt_y": -side * angle} if axis == 0 else {"tilt_x": side * angle}))
    assert 2 * angle * HALF[axis] > LIFTED
    E, rng = cone_of(drift), np.random.default_rng(1)
    corners = np.array(list(itertools.product((-1, 1), (-1, 1)))) * HALF
    down = corners[:, axis] * side > 0
    inner = corners[down].copy()
    inner[:, axis] -= side * THINNEST
    for _ in range(50):
        assert (E @ wrench(inner, random_forces(rng, 2, 0.8)) >= -1e-9).all()
        assert (E @ wrench(corners[~down], random_forces(rng, 2, 0.8))).min() < 0


def test_a_corner_that_has_lifted_a_little_carries_without_friction():
    gap = 0.5 * (TOUCHING + LIFTED)
    E = cone_of(tilted(gap))  # all four
    assert (E @ [0, 0, 10.0, 0, 0, 0] >= 0).all()
    assert (E @ [1.0, 0, 10.0, 0, 0, 0]).min() < 0
    # Two of four rub: half of the friction.
    rest = np.zeros(4)
    share = region(HALF, 0.0, np.array([[0.0, 0.0], [gap, gap]]), rest)
    assert share == 0.5
    np.testing.assert_allclose(rest, [0, 0, *HALF])


def test_on_one_corner_there_is_no_torque_about_it():
    rest = np.zeros(4)
    share = region(HALF, 0.2, np.array([[1.0, 1.0], [1.0, 0.0]]), rest)
    assert share == 1.0
    np.testing.assert_allclose(rest, [*(HALF - THINNEST), THINNEST, THINNEST])
    assert region(HALF, 0.0, np.full((2, 2), 1.0), rest) == 0.0


def test_a_point_that_has_lifted_has_no_friction():
    out = point_cone(0.8).ravel().copy()
    args = np.array([3]), np.zeros((1, 2)), np.array([[0.8, 0.0]]), np.eye(3)[None]
    counted_on(*args, tilted(0.0), out)
    np.testing.assert_allclose(out.reshape(4, 3), point_cone(0.8))
    counted_on(*args, tilted(2 * TOUCHING), out)
    np.testing.assert_allclose(out.reshape(4, 3)[:, 2], 0.0)


def test_a_tipped_foot_comes_down_again():
    """Tilted about its toes by 3° on one foot, in the simulated world: the plan pulls the heel down."""
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.74, 68), "ann"), dt=0.01, world="simulated")
    stands(sim, "ann", steps=False)
    sim.run(0.5)
    foot = sim.scene.joint("ann/right_ankle_flexion")
    q = sim.state.qpos.copy()
    q[sim.scene.model.jnt_qposadr[foot]] += 0.06
    sim._state = sim.state.with_(qpos=q)
    opened = sim.controller.solve(sim.state, sim.demands).opened
    assert opened > TOUCHING
    sim.run(0.5)
    assert sim.outcome is not None
    assert sim.outcome.plan.opened < TOUCHING
    assert not sim.fallen


def test_shrink_is_the_worlds_unless_it_is_said():
    scene = ip.Scene().add(ip.Humanoid(1.74, 68), "ann")
    sim = ip.Simulation(scene, world="simulated")
    left = sim.contacts.add("ann/left_sole", ip.GROUND)
    right = sim.contacts.add("ann/right_sole", ip.GROUND, shrink=0.3)
    assert (left.shrink, right.shrink) == (sim.world.manner.shrink, 0.3)
    np.testing.assert_allclose(right.counted_on(), cone(0.7 * right.half, right.friction))
    np.testing.assert_allclose(right.cone(), cone(right.half, right.friction))  # the law is the whole patch
    sim.contacts.remove("ann/left_sole")
    with pytest.raises(ip.InputError, match="shrink"):
        sim.contacts.add("ann/left_sole", ip.GROUND, shrink=1.5)
