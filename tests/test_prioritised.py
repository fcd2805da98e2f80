"""Strict priorities: who is served first is served as if nobody came after."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay.catalogue import scenario
from interplay.control.prioritised import PrioritisedController, by_priority

SOLES = ("alice/left_sole", "alice/right_sole")


def standing(controller="prioritised", dt=0.01, force_cost=1e-6, min_force=0.0, **options):
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.74, 68), "alice"), dt=dt, controller=controller, **options)
    for sole in SOLES:
        sim.contacts.add(sole, ip.GROUND, force_cost=force_cost, min_force=min_force)
    sim.objectives += [
        ip.Posture("alice", weight=0.3),
        ip.AngularMomentum("alice", weight=0.005),
        ip.Com("alice", weight=60),
        ip.Orientation("alice/chest", weight=5),
    ]
    return sim


def with_priority(objective, priority):
    objective.priority = priority
    return objective


def acceleration(sim, plan, objective):
    """Return J q̈ of an objective's feature."""
    return objective.feature(sim.terms, sim.time).jacobian @ plan.qacc[objective.dofs]


def moving(sim, steps=20):
    """Push her, so that everything moves."""
    sim.live.push("alice/chest", (25, 15, 0), 0.1)
    for _ in range(steps):
        sim.step()
    return sim


def test_objectives_have_an_order_of_their_own():
    sim = standing()
    balance = ip.Balance("alice", on=SOLES, terms=sim.terms)
    levels = by_priority([*sim.objectives, balance])
    assert [[type(o).__name__ for o in those] for _, those in levels] == [
        ["Balance"],
        ["Com", "Orientation"],
        ["Posture", "AngularMomentum"],
    ]


def test_of_one_priority_it_is_the_integrated_controller():
    one, other = standing(), standing("integrated")
    for sim in (one, other):
        for objective in sim.objectives:
            objective.priority = 3
        moving(sim)
    assert_allclose(one.state.qpos, other.state.qpos, atol=1e-9)
    a, b = (sim.controller.solve(sim.state, sim.demands) for sim in (one, other))
    assert_allclose(a.qacc, b.qacc, atol=1e-6)


@pytest.mark.parametrize("weight", [1e-2, 1.0, 1e3, 1e6])
def test_who_comes_after_changes_nothing(weight):
    """Her hand is pulled two ways, and her centre of mass down: whoever comes first gets what it would get alone."""
    sim = moving(standing())
    hand = with_priority(ip.Point("alice/right_palm", (0.2, -0.3, 1.9), weight=20), 0)
    against = ip.Point("alice/right_palm", (0.2, -0.3, 0.3), weight=weight)
    com = ip.Com("alice", reference=(0.05, 0.05, 0.6), weight=weight)
    sim.objectives += [hand]
    before = sim.controller.solve(sim.state, sim.demands)
    sim.objectives += [against, com]
    after = sim.controller.solve(sim.state, sim.demands)
    assert_allclose(acceleration(sim, after, hand), acceleration(sim, before, hand), atol=1e-5)
    assert np.abs(after.qacc - before.qacc).max() > 0.01  # it does matter where nobody was served before
    hand.priority, against.priority = 1, 0
    other = sim.controller.solve(sim.state, sim.demands)
    assert (acceleration(sim, other, hand) - acceleration(sim, before, hand))[2] < -5.0


def test_what_is_first_is_reached_whatever_is_heavier():
    """A light objective that comes first is fulfilled to the last digits, against one that weighs a million times as much."""
    sim = moving(standing())
    hand = with_priority(ip.Point("alice/right_palm", (0.3, -0.3, 1.2), weight=1.0, max_speed=np.inf), 0)
    against = with_priority(ip.Point("alice/right_palm", (-0.3, -0.3, 1.2), weight=1e6), 1)
    sim.objectives += [hand, against]
    plan = sim.controller.solve(sim.state, sim.demands)
    x = hand.feature(sim.terms, sim.time)
    wanted = -hand.stiffness * x.error - hand.damping * x.velocity - x.bias
    assert_allclose(acceleration(sim, plan, hand), wanted, atol=1e-4)


def test_laws_hold():
    """Newton for the whole body, no-slip, cones and motors, while priorities are in conflict and someone pushes."""
    sim = standing()
    sim.objectives += [with_priority(ip.Point("alice/right_palm", (0.7, -0.4, 1.3), weight=20), 0)]
    sim.live.push("alice/chest", (30, 20, 0), 0.1)
    limits = sim.controller.programs.limits.torque
    for _ in range(60):
        state = sim.state
        plan = sim.controller.solve(state, sim.demands)
        terms = sim.controller.at(state)
        motor = terms.mass_times(plan.qacc) + terms.qfrc_bias - terms.qfrc_passive - state.applied - plan.qfrc_contact
        free = np.isnan(limits)
        assert np.abs(motor[free]).max() < 1e-6
        assert (np.abs(plan.tau[~free]) <= limits[~free] + 1e-6).all()
        for contact, wrench in zip(plan.contacts, plan.wrenches, strict=True):
            assert (contact.cone() @ wrench).min() > -1e-6
        assert not plan.conflicts
        sim.step()
    assert not sim.fallen


def null_space(A):
    _, s, Vt = np.linalg.svd(A)
    return Vt[int((s > 1e-9 * s[0]).sum()) :].T


def test_it_is_a_sequence_of_projections():
    """Where no limit is in the way: least squares in the null space of all that came before, computed densely."""
    sim = moving(standing(force_cost=1e-8), 40)
    hand = with_priority(ip.Point("alice/right_palm", (0.3, -0.25, 1.1), weight=20), 0)
    com = with_priority(ip.Com("alice", weight=60), 1)
    posture = with_priority(ip.Posture("alice", weight=0.3), 2)
    sim.objectives = [posture, com, hand]
    plan = sim.controller.solve(sim.state, sim.demands)
    qp, nv = sim.controller.problem(sim.state, sim.demands), sim.scene.model.nv
    A, x = qp.A.toarray(), np.linalg.lstsq(qp.A.toarray(), qp.b, rcond=None)[0]
    Z = null_space(A)
    for objective in (hand, com, posture):
        J, feature = np.zeros((objective.dim, A.shape[1])), objective.feature(sim.terms, sim.time)
        J[:, objective.dofs] = feature.jacobian
        rate = feature.bias + objective.stiffness * feature.error + objective.damping * feature.velocity
        x = x + Z @ np.linalg.lstsq(J @ Z, -rate - J @ x, rcond=1e-9)[0]
        Z = Z @ null_space(J @ Z)
        assert_allclose(J[:, :nv] @ plan.qacc, J @ x, atol=1e-3)
    assert_allclose(plan.qacc, x[:nv], atol=1e-3)


@pytest.mark.parametrize("world", ["direct", "simulated"])
def test_she_stands(world):
    sim = scenario("stand")().simulation(0.01, controller="prioritised", world=world)
    sim.run(1.0)
    assert not sim.fallen
    assert sim.com("alice")[0][2] > 0.9


def test_what_gives_way_does_for_all():
    """Soles that should press with tons: the same rows give way as for the integrated controller; what never does holds."""
    given = []
    for controller in ("integrated", "prioritised"):
        sim = standing(controller, min_force=5e4)
        plan = sim.controller.solve(sim.state, sim.demands)
        given.append({c.kind for c in plan.conflicts})
        for contact, wrench in zip(plan.contacts, plan.wrenches, strict=True):
            assert (contact.cone() @ wrench).min() > -1e-5
    assert given[0] == given[1] != set()


def test_a_priority_is_a_whole_number():
    sim = standing()
    sim.objectives[0].priority = "high"
    with pytest.raises(ip.InputError, match="priority"):
        sim.step()


def test_a_plan_has_no_hidden_input():
    """A solver that comes from other states finds what a new one does."""
    sim = moving(standing())
    warm = sim.controller.solve(sim.state, sim.demands)
    cold = PrioritisedController(sim.scene, sim.dt).solve(sim.state, sim.demands)
    assert_allclose(warm.qacc, cold.qacc, atol=1e-7)


def test_files_name_priorities_and_pins(tmp_path):
    path = tmp_path / "play.yaml"
    path.write_text("""\
title: she stands
models:
  alice: {humanoid: {}}
contacts:
  - {touch: {alice/left_sole: ground, alice/right_sole: ground}, pinned: true}
background:
  - {posture: alice, weight: 0.2, priority: 5}
  - {com: alice, weight: 60}
phases:
  - {hold: wait, seconds: 0.1, balance: alice}
""")
    sim = scenario(path)().simulation(controller="prioritised")
    sim.step()
    assert all(contact.pinned for contact in sim.contacts)
    assert [objective.priority for objective in sim.objectives] == [5, 1]
