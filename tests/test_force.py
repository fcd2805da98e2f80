"""Force control by Jacobian transpose, the operator's hands, and what they mean (liu2012)."""

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay.catalogue import scenario
from interplay.control.force import gravity
from interplay.handling.intention import (
    APPROACHING,
    IDLE,
    MANIPULATING,
    RELEASING,
    TIGHTENING,
    Intention,
    Seen,
    Thresholds,
    decide,
)
from interplay.handling.thing import Thing
from interplay.motion.upright import soles, upright
from interplay.objectives.pose import quaternion_of

G = 9.81


def standing(*more, **options):
    """Return one who stands by force control, her centre of mass over the middle of her feet."""
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.74, 68), "ann"), dt=0.005, controller="force", **options)
    for sole in soles("ann"):
        sim.contacts.add(sole, ip.GROUND, friction=1.0)
    over = {"over": soles("ann"), "stiffness": 30.0, "max_speed": None}
    middle = ip.ComOver("ann", reference=(0.0, 0.0), **over)
    sim.objectives = [*upright(sim, "ann"), middle, ip.ComOver("ann", axes="z", **over), *more]
    return sim


def somewhere(sim, seed=1):
    """Return a state in any posture, at rest."""
    m, rng = sim.scene.model, np.random.default_rng(seed)
    qpos = sim.state.qpos.copy()
    for joint in range(1, m.njnt):
        low, high = m.jnt_range[joint]
        qpos[m.jnt_qposadr[joint]] = rng.uniform(0.7 * low + 0.3 * high, 0.3 * low + 0.7 * high)
    return sim.state.with_(qpos=qpos, qvel=np.zeros(m.nv))


def test_gravity_is_what_holds_a_body_at_rest():
    sim = standing()
    for seed in range(5):
        terms = sim.controller.at(somewhere(sim, seed))
        found = gravity(terms.crb, terms.cdof, terms.model.dof_bodyid, terms.model.opt.gravity)
        assert_allclose(found, terms.qfrc_bias, atol=1e-10)  # MuJoCo's own, by another way


def test_torques_are_those_of_statics():
    """τ = γ + Σ Jᵀ W − Jᵀ_c w_c (11), by MuJoCo's Jacobians: wishes that feet can carry are met, in joints and at the root."""
    sim = standing()
    m, site = sim.scene.model, sim.scene.site("ann/left_palm")
    place = np.concatenate([sim.terms.site_xpos[site] + [0.02, 0.0, 0.01], [1, 0, 0, 0]])
    palm = ip.Handling("ann/left_palm", place, offset=(8.0, 0.0, -10.0, 0, 0, 0), torque=(0.0, 0.0))
    centre = ip.Com("ann", reference=sim.com("ann")[0] + [0.012, 0.004, 0.0], max_speed=None)
    sim.objectives = [palm, centre]
    terms, plan = sim.terms, sim.controller.solve(sim.state, sim.demands)
    d, jp, jr, jc = mujoco.MjData(m), np.zeros((3, m.nv)), np.zeros((3, m.nv)), np.zeros((3, m.nv))
    d.qpos[:] = sim.state.qpos
    mujoco.mj_forward(m, d)
    mujoco.mj_jacSite(m, d, jp, jr, site)
    mujoco.mj_jacSubtreeCom(m, d, jc, 1)
    hand, com = palm.effort(terms, 0.0).wrench, centre.effort(terms, 0.0).wrench
    assert_allclose(hand[:3], np.array([0.02, 0.0, 0.01]) * 400.0 + [8.0, 0.0, -10.0], atol=1e-9)
    assert_allclose(com, 68 * 20.0 * (centre.reference.at(0.0).value - d.subtree_com[1]), rtol=1e-3, atol=1e-6)
    expected = d.qfrc_bias + jp.T @ hand[:3] + jc.T @ com - plan.qfrc_contact
    assert_allclose(plan.tau, expected, atol=0.5)  # gravity weighs 10⁵, the centre of mass 10⁴, hands 2000, contacts 1
    assert np.abs(plan.tau).max() > 10.0
    for wrench in plan.wrenches:  # both feet press, within friction
        assert wrench[2] > 0.0
        assert np.abs(wrench[:2]).max() <= 1.0 / np.sqrt(2.0) * wrench[2] + 1e-6


def test_what_a_hand_presses_is_felt_by_its_joints_and_by_the_feet():
    """Two plans at one state differ by Jᵀ of the offset in the arm, and by minus the offset at the feet."""
    plans = []
    for offset in (np.zeros(6), np.array([25.0, 0, 0, 0, 0, 0])):
        sim = standing()
        pose = np.concatenate([sim.terms.site_xpos[sim.scene.site("ann/left_palm")], [1, 0, 0, 0]])
        sim.objectives = [*sim.objectives, ip.Handling("ann/left_palm", pose, offset=offset, torque=(0.0, 0.0))]
        plans.append(sim.controller.solve(sim.state, sim.demands))
    m, terms = sim.scene.model, sim.terms
    more = plans[1].tau - plans[0].tau
    body = int(m.site_bodyid[sim.scene.site("ann/left_palm")])
    _, _, jacobian = terms.point(body, terms.site_xpos[sim.scene.site("ann/left_palm")])
    arm = [k for k, dof in enumerate(terms.chain(body)) if "left_" in m.joint(m.dof_jntid[dof]).name]
    expected = 25.0 * jacobian[0, arm]
    assert_allclose(more[terms.chain(body)[arm]], expected, atol=0.12 * np.abs(expected).max())
    assert_allclose(plans[1].qfrc_contact[:3] - plans[0].qfrc_contact[:3], [25.0, 0.0, 0.0], atol=2.5)


def test_she_stands():
    sim = standing()
    sim.run(1.0)
    places = []
    for _ in range(400):
        sim.step()
        places.append(sim.com("ann")[0])
    assert not sim.fallen
    assert np.ptp(places, axis=0).max() < 5e-3
    assert np.linalg.norm(sim.com("ann")[0][:2] - sim.middle(*soles("ann"))[:2]) < 5e-3


def pushed(until, **parameters):
    """Push the cabinet until a time; return the simulation, and hands' force, cabinet and centre of mass along x over time."""
    sim = scenario("push_cabinet")(parameters).simulation(seed=1)
    body, rows = sim.scene.body("cabinet"), []
    while sim.time < until - 1e-9:
        sim.step()
        force = -sum(hand.felt[0] for hand in sim.behaviour.hands.values())
        rows.append((sim.time, force, sim.terms.xpos[body][0], sim.com("ann")[0][0]))
    return sim, np.array(rows).T


def test_a_cabinet_slides_when_hands_press_as_friction_holds():
    sim, (time, force, place, com) = pushed(8.5, mass=40, push=0.3)
    assert not sim.fallen
    moved = place - place[0]
    assert moved[-1] > 0.1
    slides = np.gradient(place, time) > 0.02
    assert force[slides].mean() == pytest.approx(0.1 * 40 * G, rel=0.1)
    first = np.argmax(moved > 1e-3)
    assert force[:first].max() < 1.35 * 0.1 * 40 * G  # filtered over a twentieth of a second
    pressed = np.argmax(force > 1.0)
    assert com[first] > com[pressed] + 0.002  # she has begun to lean by then
    assert sim.behaviour.label in (TIGHTENING, MANIPULATING)


@pytest.mark.slow
def test_what_is_heavy_asks_her_to_lean_out_of_her_feet():
    heavy = {"mass": 60, "friction": 0.3, "step": 0.15, "push": 0.3, "speed": 0.07}
    sim, (_, _, place, com) = pushed(20.0, **heavy)
    toes = max(sim.terms.site_xpos[sim.scene.site(s)][0] for s in soles("ann"))
    toes += sim.scene.model.site_size[sim.scene.site("ann/right_sole"), 0]
    assert not sim.fallen
    assert place[-1] - place[0] > 0.01
    assert com.max() - toes > 0.03
    assert abs(com[-1] - sim.middle(*soles("ann"))[0]) < 0.02  # and back
    upright, (_, _, place, com) = pushed(20.0, **heavy, leans=False)
    assert not upright.fallen
    assert place.max() - place[0] < 3e-3
    assert com.max() < toes


def test_a_box_is_lifted_and_follows():
    sim = scenario("carry_box")({}).simulation(seed=1)
    box = sim.scene.body("box")
    sim.run(3.9)
    before, hands = sim.terms.xpos[box].copy(), sim.middle("ann/left_palm", "ann/right_palm")
    sim.run(2.6)
    assert not sim.fallen
    assert sim.behaviour.label == MANIPULATING
    assert sim.terms.xpos[box][2] - before[2] > 0.2
    slipped = (sim.terms.xpos[box] - before) - (sim.middle("ann/left_palm", "ann/right_palm") - hands)
    assert np.linalg.norm(slipped) < 0.02
    aims = np.mean([hand.marker(sim)[:3] for hand in sim.behaviour.hands.values()], axis=0)
    assert np.linalg.norm(sim.middle("ann/left_palm", "ann/right_palm") - aims) < 0.03
    assert sim.terms.xmat[box].reshape(3, 3)[2, 2] > np.cos(np.radians(6.0))
    for hand in sim.behaviour.hands.values():
        assert hand.carried == pytest.approx(5 * G, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1005))
def test_a_trembling_operator_does_not_drop_it(seed):
    sim = scenario("carry_box")({"tremor": 0.003, "dropouts": 0.3}).simulation(seed=seed)
    box, table = sim.scene.body("box"), 0.92
    sim.run(6.0)
    while sim.time < 12.0:
        sim.step()
        assert sim.terms.xpos[box][2] > table + 0.13 + 0.15
    sim.run(8.0)
    assert not sim.fallen
    assert sim.terms.xpos[box][2] == pytest.approx(table + 0.13, abs=0.01)  # where it belongs, upright
    assert sim.terms.xmat[box].reshape(3, 3)[2, 2] > 0.99


T = Thresholds()


@pytest.mark.parametrize(
    ("seen", "means"),
    [
        (Seen(0.3, 0.1, False, 0.0), APPROACHING),
        (Seen(0.3, -0.1, False, 0.0), IDLE),
        (Seen(0.3, 0.0, False, 0.0), IDLE),
        (Seen(0.0, 0.0, True, 0.3), TIGHTENING),
        (Seen(-0.1, 0.0, True, 1.2), MANIPULATING),
        (Seen(0.1, -0.1, True, 1.2), RELEASING),
        (Seen(0.0, 0.0, False, 0.0), IDLE),
    ],
)
def test_algorithm_1(seen, means):
    assert decide(seen, T)[0] == means


def test_an_intention_does_not_chatter():
    """Readings that jump about each threshold change nothing; what stays does, after a tenth of a second."""
    rng, intention, changes = np.random.default_rng(1), Intention(), []
    for k in range(2000):
        noise = rng.normal(0.0, 0.3)
        before = intention.means
        touches = k > 200
        intention.update(
            Seen(T.near + 0.004 * rng.normal() - 0.01 * touches, noise, touches, 0.7 + 0.04 * noise), 0.005 * k
        )
        if intention.means != before:
            changes.append((k, intention.means))
    assert [means for _, means in changes][-1] in (TIGHTENING, MANIPULATING)
    assert len(changes) <= 4
    begun = Intention()
    for k in range(40):
        begun.update(Seen(0.3, 0.2, False, 0.0), 0.005 * k)
        assert begun.means == (IDLE if k < 20 else APPROACHING)


def test_a_thing_knows_its_faces():
    scene = ip.Scene().add(ip.Box((0.4, 0.6, 1.0), 20.0), "box", pos=(1.0, 0.0), yaw=np.pi / 2)
    thing, terms = Thing(scene, "box"), scene.rest
    assert thing.weight == pytest.approx(20 * 9.81, rel=1e-3)
    beside = thing.face(terms, np.array([0.5, 0.0, 0.5]), np.array([0.5, 0.0, 0.5]))
    assert_allclose(beside.normal, (-1, 0, 0), atol=1e-9)
    assert beside.distance == pytest.approx(0.2)  # it is turned: 0.6 m along x
    assert_allclose(beside.place, (0.7, 0.0, 0.5), atol=1e-9)
    inside = thing.face(terms, np.array([0.95, 0.05, 0.5]), np.array([0.6, 0.0, 0.5]))
    assert inside.distance == pytest.approx(-0.25)
    assert_allclose(inside.normal, (-1, 0, 0), atol=1e-9)
    with pytest.raises(ip.InputError, match="shape of a box"):
        Thing(ip.Scene().add(ip.Ball(), "ball"), "ball")


def test_hands_go_no_farther_than_arms_reach_and_no_faster_than_hands():
    sim = scenario("push_cabinet")({}).simulation(seed=1)
    sim.live.targets = []
    turn = quaternion_of(np.eye(3))
    sim.run(0.05)
    for k, place in enumerate([(3, 1, 2), (-0.5, -1, 0.3), (3, -1, 0.3), (0.2, 1, 2)]):
        for side in ("left", "right"):
            sim.live.set(f"ann {side} hand", [*place, *turn])
        before = [hand.aim.pose.copy() for hand in sim.behaviour.hands.values()]
        for _ in range(100):
            sim.step()
            now = [hand.aim.pose.copy() for hand in sim.behaviour.hands.values()]
            assert max(np.linalg.norm(a[:3] - b[:3]) for a, b in zip(now, before, strict=True)) <= 1.5 * sim.dt + 1e-9
            before = now
        for hand in sim.behaviour.hands.values():
            shoulder = sim.terms.xpos[hand._shoulder]
            assert np.linalg.norm(hand.marker(sim)[:3] - shoulder) <= 0.97 * hand._reach + 0.25 + 1e-9
        assert not sim.fallen, k
    with pytest.raises(ip.InputError, match="ann left hand"):
        sim.live.set("ann left hand", [np.nan] * 7)


def test_an_operated_run_resumes_to_the_bit_in_the_middle_of_a_step():
    sim = scenario("push_cabinet")({}).simulation(seed=1)
    sim.run(2.0)
    while sim.steps % sim.afresh:
        sim.step()
    assert sim.behaviour._step is not None
    kept = sim.checkpoint()
    sim.run(1.5)
    other = scenario("push_cabinet")({}).simulation(seed=1)
    other.restore(kept)
    other.run(1.5)
    assert (other.state.qpos == sim.state.qpos).all()
    assert (other.state.qvel == sim.state.qvel).all()


def test_what_is_wrong_is_told():
    scene = ip.Scene().add(ip.Humanoid(1.74, 68), "ann").add(ip.Box(), "box", pos=(1, 0))
    sim = ip.Simulation(scene, controller="force")
    hands = ip.operator_hands(sim, "ann", (-1, -1, 0), (2, 1, 2))
    with pytest.raises(ip.InputError, match="at least one thing"):
        ip.Operated("ann", [], hands)
    with pytest.raises(ip.InputError, match="left and right"):
        ip.Operated("ann", ["box"], {"left": hands["left"]})
    with pytest.raises(ip.InputError, match="ascending times"):
        ip.lead_hands(sim, "ann", [ip.Waypoint(1.0, (0, 0, 1)), ip.Waypoint(0.5, (0, 0, 1))], fingers=(1, 0, 0))
    direct = ip.Simulation(ip.Scene().add(ip.Humanoid(1.74, 68), "ann").add(ip.Box(), "box", pos=(1, 0)))
    direct.behaviour = ip.Operated("ann", ["box"], ip.operator_hands(direct, "ann", (-1, -1, 0), (2, 1, 2)))
    with pytest.raises(ip.InputError, match="simulated"):
        direct.step()
    with pytest.raises(ip.InputError, match="no motion"):
        ip.Simulation(scene, controller="force", world="direct")
