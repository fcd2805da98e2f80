"""Pinned contacts: plans count on glue (abe2007, figure 4). In the direct world it holds; in a simulator there is none."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay.constraints.contact_set import contact_from

SOLES = ("ann/left_sole", "ann/right_sole")


def standing(pinned, world="direct"):
    scene = ip.Scene().add(ip.Humanoid(1.74, 68), "ann")
    sim = ip.Simulation(scene, dt=0.01, world=world, on_fall="continue")
    for sole in SOLES:
        sim.contacts.add(sole, ip.GROUND, pinned=pinned)
    sim.objectives += [
        ip.Posture("ann", weight=0.3),
        ip.AngularMomentum("ann", weight=0.005),
        ip.Orientation("ann/chest", weight=0.3),
    ]
    return sim


def reaching(sim, target):
    now = sim.terms.site_xpos[sim.scene.site("ann/right_palm")].copy()
    sim.objectives += [ip.Point("ann/right_palm", ip.MinimumJerk(now, target, 0.0, 2.0), weight=20)]
    while sim.time < 4.0 and not sim.fallen:
        sim.step()
    return float(np.linalg.norm(sim.terms.site_xpos[sim.scene.site("ann/right_palm")] - target))


def test_a_pinned_sole_bears_tension():
    """Pulled up by more than her weight she stays where she is, and the ground pulls with what is left of the force."""
    sim = standing(True)
    sim.objectives += [ip.Com("ann", weight=60)]
    weight, pull = 9.81 * sim.scene.model.body_mass.sum(), 1000.0
    sim.live.push("ann/pelvis", (0, 0, pull), 1.0)
    for _ in range(80):
        outcome = sim.step()
        assert not outcome.fallback
    total = sum(sim.force(sole)[2] for sole in SOLES)
    assert total == pytest.approx(weight - pull, abs=5.0)
    assert np.abs(sim.contacts.drift()).max() < 1e-6


def test_an_honest_sole_does_not():
    sim = standing(False)
    sim.objectives += [ip.Com("ann", weight=60)]
    sim.live.push("ann/pelvis", (0, 0, 1000), 0.3)
    for _ in range(30):
        sim.step()
        assert all(sim.force(sole)[2] > -1e-6 for sole in SOLES)
    assert sim.contacts.drift().max() > 0.01 or sim.fallen


def test_as_if_her_feet_were_glued():
    """Without anything that keeps her balance she leans half a foot's length beyond her toes, and reaches it."""
    sim = standing(True)
    assert reaching(sim, (1.1, -0.2, 0.9)) < 0.05
    assert not sim.fallen
    assert sim.com("ann")[0][0] > 0.3


@pytest.mark.parametrize("pinned", [False, True])
def test_nothing_is_glued_in_a_simulator(pinned):
    """The same objectives, a far reach: who knows what her feet can do stands and reaches, who counts on glue falls."""
    sim = standing(pinned, "simulated")
    sim.objectives += [ip.Com("ann", weight=2), ip.Balance("ann", on=SOLES, terms=sim.terms)]
    left = reaching(sim, (0.8, -0.2, 1.1))
    assert bool(sim.fallen) == pinned
    if not pinned:
        assert left < 0.05


def test_it_is_remembered():
    sim = standing(True)
    for contact in sim.contacts:
        again = contact_from(sim.scene.model, contact.checkpoint())
        assert again.pinned
        assert len(again.cone()) == 0
        assert_allclose(again.p1, contact.p1)
    sim.contacts.remove("ann/left_sole")
    with pytest.raises(ip.InputError, match="pinned"):
        sim.contacts.add("ann/left_sole", ip.GROUND, pinned=1.5)
