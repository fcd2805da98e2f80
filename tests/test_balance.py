"""Balance: the capture point stays over the feet, whatever else is asked."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay.objectives.balance import outside

SOLES = ("ann/left_sole", "ann/right_sole")


def test_distance_from_a_polygon():
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    for point, expected in (((0.5, 0.5), (0, 0)), ((1.5, 0.5), (0.5, 0)), ((-1, -2), (-1, -2)), ((0.3, 1.2), (0, 0.2))):
        assert_allclose(outside(square, np.array(point)), expected, atol=1e-12)


def standing(guarded):
    """A character whose hand is dragged far out to the side."""
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.7, 65, "female"), "ann"))
    for sole in SOLES:
        sim.contacts.add(sole, ip.GROUND)
    sim.objectives += [ip.Posture("ann", weight=0.1), ip.AngularMomentum("ann")]
    if guarded:
        sim.objectives += [ip.Balance("ann", on=SOLES, terms=sim.terms)]
    start = sim.terms.site_xpos[sim.scene.site("ann/left_palm")].copy()
    far = ip.MinimumJerk(start, start + [0.3, 1.2, 0.0], 0.0, 2.5)
    sim.objectives += [ip.Point("ann/left_palm", far, weight=30.0)]
    return sim


def test_it_yields_before_it_falls():
    """The reach that topples one without it leaves one with it standing, her capture point inside the soles."""
    guarded, other = standing(True), standing(False)
    height = guarded.com("ann")[0][2]
    fallbacks = 0
    for _ in range(900):
        fallbacks += guarded.step().fallback
    assert fallbacks == 0
    com, velocity = guarded.com("ann")
    assert abs(com[2] - height) < 0.1
    edge = max(abs(guarded.terms.site_xpos[guarded.scene.site(s)][1]) for s in SOLES) + 0.0475
    assert abs(com[1] + velocity[1] * np.sqrt(com[2] / 9.81)) < edge
    assert any(other.step().fallback for _ in range(900))


def test_it_has_no_weight_while_all_is_well():
    runs = []
    for guarded in (True, False):
        sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.7, 65, "female"), "ann"))
        for sole in SOLES:
            sim.contacts.add(sole, ip.GROUND)
        sim.objectives += [ip.Posture("ann", weight=0.1), ip.Com("ann")]
        if guarded:
            sim.objectives += [ip.Balance("ann", on=SOLES, terms=sim.terms)]
        sim.run(0.5)
        runs.append(sim.state.qpos)
    assert_allclose(*runs, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_seen_from_what_one_stands_on(seed):
    """Velocity and acceleration of the feature are those of the centre of mass relative to the first surface."""
    scene = ip.Scene().add(ip.Humanoid(1.7, 65, "female"), "ann")
    terms, rng = scene.kinematics(), np.random.default_rng(seed)
    guard, com, sole = ip.Balance("ann", on=SOLES, terms=terms), ip.Com("ann"), ip.Point(SOLES[0])
    for objective in (guard, com, sole):
        objective.attach(scene)
    v = rng.normal(0, 1.0, scene.model.nv)
    v[1] += 3.0  # well outside
    terms.update(scene.qpos, v)
    qacc = rng.normal(0, 1.0, scene.model.nv)
    x, c, s = (o.feature(terms, 0.0) for o in (guard, com, sole))
    relative = c.jacobian @ qacc[com.dofs] + c.bias - s.jacobian @ qacc[sole.dofs] - s.bias
    away = outside(
        guard.polygon, com.position(terms)[:2] + (c.velocity - s.velocity)[:2] / np.sqrt(9.81 / com.position(terms)[2])
    )
    u = away / np.linalg.norm(away)
    got = x.jacobian @ qacc[guard.dofs] + x.bias
    assert_allclose(got[:2], u * (u @ relative[:2]), atol=1e-9)
    assert_allclose(got[2], relative[2], atol=1e-9)


def test_bad_guards_are_refused():
    scene = ip.Scene().add(ip.Humanoid(1.7, 65), "ann").add(ip.Humanoid(1.7, 65), "bob", pos=(1, 0))
    terms = scene.kinematics()
    with pytest.raises(ip.InputError, match="none"):
        ip.Balance("ann", on=(), terms=terms)
    with pytest.raises(ip.InputError, match="bob/left_sole"):
        ip.Balance("ann", on=("bob/left_sole",), terms=terms).attach(scene)
    with pytest.raises(ip.InputError, match="left_sol"):
        ip.Balance("ann", on=("ann/left_sol",), terms=terms)
