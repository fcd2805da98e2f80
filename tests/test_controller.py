"""The integrated QP: against MuJoCo's forward dynamics, against itself with everything swapped, and its purity."""

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay.control.integrated import IntegratedController
from interplay.qp.solvers import SOLVERS, make_solver
from plain import machine

GRASPS = (("ann/right_grip", "pole/left_grip"), ("ben/left_grip", "pole/right_grip"))


def pair_scene(order):
    """Two people with a bar between them and a block on a table's top, placed in a given order."""
    models = {
        "ann": (ip.Humanoid(1.7, 62, "female"), (0.0, 0.75, 0), -np.pi / 2),
        "ben": (ip.Humanoid(1.8, 80), (0.0, -0.75, 0), np.pi / 2),
        "pole": (ip.Barbell(1.3, 3.0, 1.0, 2.0, grip_at=0.3), (0.25, 0, 0.95), 0.0),
        "base": (ip.Box((0.4, 0.3, 0.2), 9.0), (3.0, 0, 0), 0.0),
        "block": (ip.Box((0.2, 0.25, 0.2), 4.0), (3.03, 0.02, 0.2), 0.4),
    }
    scene = ip.Scene()
    for name in order:
        model, pos, yaw = models[name]
        scene.add(model, name, pos=pos, yaw=yaw)
    for hand, handle in GRASPS:
        scene.reach(hand, handle)
    return scene


ORDER = ("ann", "ben", "pole", "base", "block")


def hand_in_hand(order=ORDER, swap=False, dt=0.005):
    """Grasps between characters and a bar, a planar contact between two boxes, soles and a box on the ground."""
    sim = ip.Simulation(pair_scene(order), dt)
    pairs = [(f"{name}/{side}_sole", ip.GROUND) for name in ("ann", "ben") for side in ("left", "right")]
    for pair in (*pairs, *GRASPS, ("base/bottom", ip.GROUND), ("block/bottom", "base/top")):
        sim.contacts.add(*(pair[::-1] if swap else pair))
    sim.objectives += [
        ip.Posture("ann", "ben"),
        ip.Com("ann", "ben", "pole", weight=50.0, reference=lambda t: (0.02 * np.sin(t), 0.03 * np.sin(2 * t), 0.9)),
        ip.ContactForce("pole/left_grip", (5.0, -3.0, 2.0), weight=1e-3),
        ip.ContactForce("base/top", (0.0, 0.0, 45.0), weight=1e-3),
    ]
    return sim


def by_name(sim, vector):
    """Joint-space values keyed by joint name and component."""
    m, out = sim.scene.model, {}
    for j in range(m.njnt):
        adr = m.jnt_dofadr[j]
        width = 6 if m.jnt_type[j] == 0 else 1
        for k in range(width):
            out[m.joint(j).name, k] = vector[adr + k]
    return out


def test_solution_is_what_mujoco_moves():
    """τ and the contact forces applied in MuJoCo's own forward dynamics give the accelerations of the program."""
    sim = hand_in_hand()
    rng = np.random.default_rng(3)
    m = sim.scene.model
    d = mujoco.MjData(m)
    seen = []
    sim.observers.append(lambda *step: seen.append(step))
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    for _ in range(40):
        if rng.random() < 0.3:
            sim.live.push("ann/chest", rng.normal(0, 40, 3), 0.1)
        sim.step()
        state, solution = seen[-1][:2]
        d.qpos[:], d.qvel[:] = state.qpos, state.qvel
        d.qfrc_applied[:] = solution.tau + solution.qfrc_contact + state.applied
        mujoco.mj_forward(m, d)
        assert_allclose(d.qacc, solution.qacc, atol=1e-6 * max(1, np.abs(solution.qacc).max()))
    assert any(state.applied.any() for state, _, _ in seen)


def test_order_of_subsystems_and_sides_changes_nothing():
    runs = []
    for order, swap in ((ORDER, False), (ORDER[::-1], False), (ORDER, True)):
        sim = hand_in_hand(order, swap)
        for _ in range(60):
            solution = sim.step()
        assert not solution.fallback
        runs.append((by_name(sim, solution.qacc), by_name(sim, sim.state.qvel), by_name(sim, solution.tau)))
    for other in runs[1:]:
        for ours, theirs, tolerance in zip(runs[0], other, (1e-4, 1e-6, 1e-3), strict=True):
            for key, value in ours.items():
                assert theirs[key] == pytest.approx(value, abs=tolerance), key


def test_one_objective_belongs_to_one_simulation():
    scene, objective = ip.Scene().add(ip.Humanoid(), "bob"), ip.Com("bob")
    ip.Simulation(scene).objectives = [objective]
    with pytest.raises(ip.InputError, match="another simulation"):
        ip.Simulation(scene).objectives = [objective]


def test_contact_force_shifts_the_load():
    """Asking for a force under the left sole moves the load there."""
    for wanted in (200.0, 500.0):
        sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.74, 70), "bob"))
        for side in ("left", "right"):
            sim.contacts.add(f"bob/{side}_sole", ip.GROUND)
        sim.objectives += [
            ip.Posture("bob"),
            ip.Com("bob", axes="z"),
            ip.ContactForce("bob/left_sole", (0, 0, wanted), weight=1e-2),
        ]
        sim.step()
        assert sim.force("bob/left_sole")[2] == pytest.approx(wanted, abs=60.0)


def test_a_minimum_force_fades_with_its_contact():
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.74, 70), "bob"))
    for side in ("left", "right"):
        sim.contacts.add(f"bob/{side}_sole", ip.GROUND, min_force=50.0)
    sim.objectives += [ip.Posture("bob")]
    sim.step()
    assert sim.force("bob/right_sole")[2] >= 50.0 - 1e-6
    sim.behaviour = ip.Machine(
        [
            ip.blocks.shift_com("shift", "bob", "bob/left_sole"),
            ip.blocks.remove_contact("lift", "bob/right_sole", balance=("bob",)),
            ip.Phase("end", interactive=True, timeout=None),
        ]
    )
    sim.run(3.0)
    assert [c.first.name for c in sim.contacts] == ["bob/left_sole"]


def test_simulations_of_one_scene_do_not_share_masses():
    scene = ip.Scene().add(ip.Box(mass=2.0), "box", pos=(0, 0, 1))
    first, second = ip.Simulation(scene), ip.Simulation(scene)
    first.live.set_mass("box", 50.0)
    second.live.push("box", (2.0, 0, 0), 1.0)
    assert second.step().qacc[0] == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["box", "door", "stand"])
def test_solving_another_state_is_physics_too(name):
    """In every phase: a solve at a state that is not the simulation's own obeys the equation of motion there, and changes nothing."""
    from interplay.catalogue import scenario

    sim = scenario(name)().simulation()
    m, rng, seen = sim.scene.model, np.random.default_rng(0), set()
    while not (machine(sim).phase and machine(sim).phase.interactive) and sim.time < 40:
        sim.step()
        if machine(sim).phase.name in seen:
            continue
        seen.add(machine(sim).phase.name)
        before = sim.controller.solve(sim.state, sim.demands)
        q = sim.state.qpos.copy()
        mujoco.mj_integratePos(m, q, rng.normal(0, 0.01, m.nv), 1.0)
        other = sim.state.with_(qpos=q)
        solution = sim.controller.solve(other, sim.demands)
        d = mujoco.MjData(m)
        d.qpos[:], d.qvel[:] = other.qpos, other.qvel
        mujoco.mj_fwdPosition(m, d)
        mujoco.mj_fwdVelocity(m, d)
        M = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, d, M)
        terms = [M @ solution.qacc, d.qfrc_bias, -d.qfrc_passive, -solution.qfrc_contact, -solution.tau]
        assert np.abs(sum(terms)).max() < 1e-6 * max(np.abs(x).max() for x in terms)
        assert_allclose(sim.controller.solve(sim.state, sim.demands).qacc, before.qacc, atol=1e-6)
    assert len(seen) > 4


def test_solve_is_pure():
    sim = hand_in_hand()
    for _ in range(5):
        sim.step()
    first = sim.controller.solve(sim.state, sim.demands)
    sim.controller.solve(sim.state.with_(qvel=sim.state.qvel + 0.01), sim.demands)
    again = sim.controller.solve(sim.state.with_(), sim.demands)
    assert_allclose(again.qacc, first.qacc, atol=1e-6)
    assert_allclose(again.wrenches, first.wrenches, atol=1e-4)
    assert np.array_equal(again.memory.limits, first.memory.limits)


@pytest.mark.parametrize("name", sorted(set(SOLVERS) - {"piqp"}))
def test_other_solvers_agree(name):
    sim = hand_in_hand()
    for _ in range(10):
        sim.step()
    qp = sim.controller.problem(sim.state, sim.demands)
    ours, theirs = make_solver("piqp").solve(qp), make_solver(name).solve(qp)
    assert ours.solved
    assert theirs.solved
    assert qp.objective(theirs.x) == pytest.approx(qp.objective(ours.x), rel=1e-6)
    n = sim.scene.model.nv
    assert_allclose(theirs.x[:n], ours.x[:n], atol=1e-4)


def test_mass_can_change_while_running():
    scene = ip.Scene().add(ip.Barbell(), "bar", pos=(0, 0, 1))
    sim = ip.Simulation(scene)
    before, _ = sim.com("bar")
    sim.live.set_mass("bar/left_weight", 9.0)
    after, _ = sim.com("bar")
    total = 4.0 + 9.0 + 3.0
    assert_allclose(after[1] - before[1], (9.0 - 3.0) * 0.9 / total, atol=1e-6)
    solution = sim.step()
    assert_allclose(solution.qacc[:3], [0, 0, -9.81], atol=1e-6)  # it falls freely, and its frame does not turn
    assert_allclose(solution.qacc[3:6], 0, atol=1e-6)


def test_a_push_is_newtons():
    scene = ip.Scene().add(ip.Box(mass=2.0), "box", pos=(0, 0, 1))
    sim = ip.Simulation(scene)
    sim.live.push("box", (4.0, 0, 19.62), seconds=0.1)
    solution = sim.step()
    assert_allclose(solution.qacc[:3], [2.0, 0, 0], atol=1e-6)
    sim.run(0.2)
    assert_allclose(sim.state.qvel[0], 0.2, atol=1e-6)


def test_nonsense_states_raise():
    sim = hand_in_hand()
    bad = sim.state.qpos.copy()
    bad[3] = np.nan
    for changes, words in (
        ({"qpos": bad}, "finite"),
        ({"qvel": np.full_like(sim.state.qvel, 1e9)}, "no body moves"),
        ({"qpos": sim.state.qpos[:-1]}, "expected"),
    ):
        with pytest.raises(ip.StateError, match=words):
            sim.controller.solve(sim.state.with_(**changes), sim.demands)


def test_a_step_that_fails_can_be_replayed(tmp_path, monkeypatch):
    """The dump holds scene, masses, state, contacts, pairs, the hand that was given way to, and what had given way before."""
    monkeypatch.setenv("INTERPLAY_DUMPS", str(tmp_path))
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(), "bob"))
    for side in ("left", "right"):
        sim.contacts.add(f"bob/{side}_sole", ip.GROUND)
    sim.objectives += [ip.Com("bob", reference=lambda t: [0.0, 0.0, 0.9 if t < 0.03 else np.nan], name="drifting")]
    sim.perceive("bob", 0.01)
    sim.live.set_mass("bob/left_hand", 2.0)
    sim.live.pull("bob/head", (0, 0, 0), (0.5, 0, 1.6))
    with pytest.raises(ip.SolverError, match="drifting") as caught:
        sim.run(0.1)
    assert caught.value.dump.startswith(str(tmp_path))
    dump = ip.load_dump(caught.value.dump)
    assert dump.objectives == ("drifting",)
    assert np.array_equal(dump.state.qpos, sim.state.qpos)
    assert np.array_equal(dump.state.applied, sim.state.applied)
    assert np.array_equal(dump.model().body_mass, sim.scene.model.body_mass)
    assert dump.demands.ceded_acceleration.any()
    assert dump.demands.late == {"bob": 2}
    assert len(dump.state.memory.past) == 2
    again = dump.demands._replace(objectives=tuple(sim.objectives))
    with pytest.raises(ip.SolverError, match="drifting"):
        sim.controller.solve(dump.state, again)
    sound = again._replace(objectives=(ip.Posture("bob"),))
    fresh = IntegratedController(sim.scene, sim.dt)
    mine = sim.demands._replace(objectives=sound.objectives, ceded_acceleration=dump.demands.ceded_acceleration)
    assert_allclose(fresh.solve(dump.state, sound).qacc, sim.controller.solve(sim.state, mine).qacc, atol=1e-9)
