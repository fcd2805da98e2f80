"""The integrated QP: against MuJoCo's forward dynamics, against itself with everything swapped, and its purity."""

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay.control.state import load_state
from interplay.qp.solvers import SOLVERS, make_solver


def pair_scene(order):
    """Two people and a box between them, placed in a given order."""
    models = {
        "ann": (ip.Humanoid(1.7, 62, "female"), (-0.45, 0, 0), 0.0),
        "ben": (ip.Humanoid(1.8, 80), (0.45, 0, 0), np.pi),
        "door": (ip.Door(), (0, 3, 0), 0.0),
    }
    scene = ip.Scene()
    for name in order:
        model, pos, yaw = models[name]
        scene.add(model, name, pos=pos, yaw=yaw)
    scene.reach("ann/right_grip", (0.0, -0.05, 1.0))
    site = scene.site("ann/right_grip")
    terms = scene.kinematics()
    scene.reach("ben/left_grip", tuple(terms.site_xpos[site]))
    return scene


def hand_in_hand(order=("ann", "ben", "door"), swap=False, dt=0.005):
    scene = pair_scene(order)
    sim = ip.Simulation(scene, dt)
    for name in ("ann", "ben"):
        for side in ("left", "right"):
            pair = (f"{name}/{side}_sole", ip.GROUND)
            sim.contacts.add(*(pair[::-1] if swap else pair))
    sim.objectives += [
        ip.Posture("ann", "ben"),
        ip.Com("ann", "ben", reference=(0.0, 0.03, 0.9), axes="xyz", weight=50.0),
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
            sim.push("ann/chest", rng.normal(0, 40, 3), 0.1)
        sim.step()
        state, solution = seen[-1][:2]
        d.qpos[:], d.qvel[:] = state.qpos, state.qvel
        d.qfrc_applied[:] = solution.tau + solution.qfrc_contact + state.applied
        mujoco.mj_forward(m, d)
        assert_allclose(d.qacc, solution.qacc, atol=1e-6 * max(1, np.abs(solution.qacc).max()))
    assert any(state.applied.any() for state, _, _ in seen)


def test_order_of_subsystems_and_sides_changes_nothing():
    runs = []
    for order, swap in (
        (("ann", "ben", "door"), False),
        (("door", "ben", "ann"), False),
        (("ann", "ben", "door"), True),
    ):
        sim = hand_in_hand(order, swap)
        for _ in range(60):
            solution = sim.step()
        runs.append((by_name(sim, solution.qacc), by_name(sim, sim.state.qvel), by_name(sim, solution.tau)))
    for other in runs[1:]:
        for ours, theirs, tolerance in zip(runs[0], other, (1e-4, 1e-6, 1e-3), strict=True):
            for key, value in ours.items():
                assert theirs[key] == pytest.approx(value, abs=tolerance), key


def test_solve_is_pure():
    sim = hand_in_hand()
    for _ in range(5):
        sim.step()
    first = sim.controller.solve(sim.state)
    sim.controller.solve(sim.state.with_(qvel=sim.state.qvel + 0.01))
    again = sim.controller.solve(sim.state.with_())
    assert_allclose(again.qacc, first.qacc, atol=1e-9)
    assert_allclose(again.wrenches, first.wrenches, atol=1e-7)
    assert np.array_equal(again.memory.limits, first.memory.limits)


@pytest.mark.parametrize("name", sorted(set(SOLVERS) - {"piqp"}))
def test_other_solvers_agree(name):
    sim = hand_in_hand()
    for _ in range(10):
        sim.step()
    qp = sim.controller.problem(sim.state)
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
    sim.set_mass("bar/left_weight", 9.0)
    after, _ = sim.com("bar")
    total = 4.0 + 9.0 + 3.0
    assert_allclose(after[1] - before[1], (9.0 - 3.0) * 0.9 / total, atol=1e-6)
    solution = sim.step()
    assert_allclose(solution.qacc[:3], [0, 0, -9.81], atol=1e-6)  # it falls freely, and its frame does not turn
    assert_allclose(solution.qacc[3:6], 0, atol=1e-6)


def test_a_push_is_newtons():
    scene = ip.Scene().add(ip.Box(mass=2.0), "box", pos=(0, 0, 1))
    sim = ip.Simulation(scene)
    sim.push("box", (4.0, 0, 19.62), seconds=0.1)
    solution = sim.step()
    assert_allclose(solution.qacc[:3], [2.0, 0, 0], atol=1e-6)
    sim.run(0.2)
    assert_allclose(sim.state.qvel[0], 0.2, atol=1e-6)


def test_nonsense_states_raise_and_can_be_replayed(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    sim = hand_in_hand()
    bad = sim.state.qpos.copy()
    bad[3] = np.nan
    with pytest.raises(ip.StateError, match="finite") as caught:
        sim.controller.solve(sim.state.with_(qpos=bad))
    replay = load_state(caught.value.dump)
    assert np.isnan(replay.qpos[3])
    assert_allclose(replay.qvel, sim.state.qvel)
    with pytest.raises(ip.StateError, match="no body moves"):
        sim.controller.solve(sim.state.with_(qvel=np.full_like(sim.state.qvel, 1e9)))
    with pytest.raises(ip.StateError, match="expected"):
        sim.controller.solve(sim.state.with_(qpos=sim.state.qpos[:-1]))
