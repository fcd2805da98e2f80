"""Spacetime: symbols against MuJoCo, derivatives against central differences, gaits against what they must be between their points."""

import json

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

import interplay as ip
from interplay.cli import app
from interplay.io.recording import Recording
from test_characters import character

ca = pytest.importorskip("casadi")

from interplay.compositions import composition, compositions  # noqa: E402
from interplay.spacetime.blocks import Block, Kernel, Program, Unknowns  # noqa: E402
from interplay.spacetime.body import Body  # noqa: E402
from interplay.spacetime.gaits import gait, guess, mirrored, paced  # noqa: E402
from interplay.spacetime.part import MIRRORED, Part  # noqa: E402
from interplay.spacetime.performing import perform_gait  # noqa: E402
from interplay.spacetime.solving import solve  # noqa: E402
from interplay.spacetime.styles import style  # noqa: E402

BODIES = {
    "30 joints": lambda: ip.Humanoid(1.74, 68, springs=True),
    "31 joints": lambda: ip.Humanoid(1.74, 68, joints=31),
    "34 joints": lambda: ip.Humanoid(1.74, 68, joints=34),
    "child": lambda: ip.Humanoid.child(1.15),
    "robot": lambda: ip.BodyFile(character("talos")),
}


@pytest.mark.parametrize("kind", BODIES)
def test_inverse_dynamics_are_those_of_mujoco(kind):
    """Of any body, with a force at a corner of a sole: mj_inverse less Jᵀf."""
    scene = ip.Scene().add(BODIES[kind](), "ann")
    body, m, rng = Body(scene, "ann"), scene.model, np.random.default_rng(1)
    q, v, a, f = (ca.SX.sym(name, size) for name, size in (("q", body.n), ("v", body.n), ("a", body.n), ("f", 3)))
    point = body.point("left_sole", (1, -1, 0))
    ours = ca.Function("ours", [q, v, a, f], [body.inverse_dynamics(q, v, a, {point.link: [(point, f)]})])
    data, own, jac = mujoco.MjData(m), body.bodies[point.link], np.zeros((3, m.nv))
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT) | int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
    for _ in range(5):
        x, force = rng.normal(size=(3, body.n)), 100.0 * rng.normal(size=3)
        x[0, 3:6] *= 0.4
        data.qpos[:], data.qvel[:] = body.configuration(x[0]), body.twist(x[0], x[1])
        data.qacc[:] = body.spun(*x)
        assert_allclose(body.coordinates(data.qpos), x[0], atol=1e-12)
        mujoco.mj_inverse(m, data)
        mujoco.mj_jac(m, data, jac, None, data.xpos[own] + data.xmat[own].reshape(3, 3) @ point.place, own)
        expected = data.qfrc_inverse - jac.T @ force
        assert_allclose(np.asarray(ours(*x, force)).ravel(), expected, atol=1e-10 * np.abs(expected).max())


def test_coordinates_rates_and_accelerations_go_together():
    """What MuJoCo calls velocity and acceleration of a motion, by central differences of its configurations."""
    scene = ip.Scene().add(ip.Humanoid(), "ann")
    body, m, rng = Body(scene, "ann"), scene.model, np.random.default_rng(2)
    c = 0.3 * rng.normal(size=(3, body.n))
    h = 1e-4

    def at(t):
        return c[0] + c[1] * t + c[2] * t**2 / 2, c[1] + c[2] * t

    found = np.empty(m.nv)
    mujoco.mj_differentiatePos(m, found, 2 * h, body.configuration(at(-h)[0]), body.configuration(at(h)[0]))
    assert_allclose(body.twist(*at(0.0)), found, atol=1e-6)
    assert_allclose(body.spun(*at(0.0), c[2]), (body.twist(*at(h)) - body.twist(*at(-h))) / (2 * h), atol=1e-6)


def walk_problem(kind="walk", speed=1.2, shoes=False):
    body = Body(ip.Scene().add(ip.Humanoid(1.74, 68, springs=True, shoes=shoes), "ann"), "ann")
    unknowns = Unknowns()
    phases = [phase._replace(intervals=3, seconds=max(phase.seconds, 0.1)) for phase in paced(body, kind, speed)]
    part = Part(body, phases, style(body), unknowns, guess(body, phases, speed))
    part.wraps = MIRRORED
    step = unknowns.add("step", np.array([0.6]), 0.1, 2.0)
    return part, unknowns, [*part.blocks(), *mirrored(part, step, speed)]


@pytest.mark.parametrize("shoes", [False, True])
def test_derivatives_of_the_whole_program_are_those_of_central_differences(shoes):
    part, unknowns, blocks = walk_problem(shoes=shoes)
    whole, rng = Program(unknowns, blocks), np.random.default_rng(3)
    x = unknowns.guess + 0.02 * rng.normal(size=unknowns.size)
    x[part.rate] = unknowns.guess[part.rate]  # changed at random they would pass zero
    lam, way, h = rng.normal(size=len(whole.low)), rng.normal(size=unknowns.size), 1e-5

    def jacobian(at):
        pattern = whole.jacobian_pattern.copy()
        pattern.data = whole.jacobian(at)
        return pattern

    (f1, g1), (f0, g0) = (whole.values(x + k * h * way) for k in (1, -1))
    assert_allclose(whole.gradient(x) @ way, (f1 - f0) / (2 * h), rtol=1e-6)
    rows = (g1 - g0) / (2 * h)
    assert_allclose(jacobian(x) @ way, rows, atol=1e-6 * np.abs(rows).max())
    half = whole.hessian_pattern.copy()
    half.data = whole.hessian(x, 0.7, lam)
    assert (half.indices <= np.repeat(np.arange(x.size), np.diff(half.indptr))).all()  # above its diagonal
    slopes = [0.7 * whole.gradient(at) + jacobian(at).T @ lam for at in (x + h * way, x - h * way)]
    bent = (slopes[0] - slopes[1]) / (2 * h)
    found = half @ way + half.T @ way - half.diagonal() * way
    assert_allclose(found, bent, atol=1e-5 * np.abs(bent).max())


@pytest.fixture(scope="module")
def walk():
    body = Body(ip.Scene().add(ip.Humanoid(1.74, 68, springs=True), "ann"), "ann")
    return perform_gait("walk", gait(body, "walk", 1.3), 4)


def test_a_walk_holds_between_its_points(walk):
    """Judged by plain MuJoCo at eight moments of each interval."""
    (worth,) = walk.worth.values()
    assert walk.solutions[-1].solved
    assert walk.solutions[-1].violation < 1e-6
    assert worth.root_mean < 0.01
    assert worth.root_worst < 0.1
    assert worth.slip < 1.5e-3
    assert worth.torque_ratio < 1.0
    assert worth.limit_violation < 1e-9
    assert worth.depth < 5e-3


def test_shoes_give_what_they_carry():
    """Where the equations hold, what is under a heel or toes is stiffness times how deep MuJoCo finds them; feet land and leave without force."""
    body = Body(ip.Scene().add(ip.Humanoid(1.74, 68, springs=True, shoes=True), "ann"), "ann")
    found = gait(body, "walk", 1.3)
    part, m = found.part, body.scene.model
    course, _, phases = part.course(found.x)
    data, soles = mujoco.MjData(m), [m.site(f"ann/{side}_sole").id for side in ("left", "right")]
    stiffness = m.site_user[soles[0], 0]
    assert stiffness == pytest.approx(125e3 * 68 / 75, rel=1e-5)
    sunk = []
    for q, force, phase in zip(course.q, np.asarray(course.force), phases, strict=True):
        data.qpos[:] = body.configuration(q)
        mujoco.mj_kinematics(m, data)
        for side, sole in enumerate(soles):
            mode = part.phases[phase][2 + side]
            ahead = data.site_xmat[sole].reshape(3, 3)[:, 0] * m.site_size[sole, 0]
            for way, corners, modes in ((-1, [2, 3], ("heel", "flat")), (1, [0, 1], ("toe", "flat"))):
                depth = -float((data.site_xpos[sole] + way * ahead)[2])
                if mode in modes:
                    assert force[side, corners, 2].sum() == pytest.approx(stiffness * depth, abs=0.1)
                    sunk.append(depth)
                else:
                    assert not force[side, corners].any()
    assert 3e-3 < max(sunk) < 10e-3
    (worth,) = perform_gait("walk", found, 1).worth.values()
    assert worth.off_springs < 0.35
    assert worth.root_worst < 0.1
    assert worth.slip < 1.5e-3
    assert worth.depth < 5e-3


def test_a_walk_is_as_fast_as_it_was_asked_and_as_people_walk(walk):
    """Steps of 0.55 to 0.8 m at 1.3 m/s; a knee that bends by 40° to 75° in its swing; forces of up to 1.8 times the weight."""
    (worth,) = walk.worth.values()
    travelled = walk.qpos[-1, 0] - walk.qpos[0, 0]
    assert travelled / walk.time[-1] == pytest.approx(1.3, rel=0.1)
    knee = walk.scene.model.jnt_qposadr[walk.scene.joint("ann/right_knee_flexion")]
    assert 40 < np.degrees(walk.qpos[:, knee].max()) < 75
    left = [t for t in walk.touches if t.first in ("ann/left_heel", "ann/left_sole", "ann/left_toes")]
    right = [t for t in walk.touches if t.first.startswith("ann/right")]
    assert len(left) >= 4
    assert len(right) >= 4
    assert 1.0 < worth.peak_force < 1.8


def test_velocities_of_a_performance_are_those_of_its_motion(walk):
    """Across the seam between half a cycle and its mirror image, too."""
    m, found, off = walk.scene.model, np.empty(walk.scene.model.nv), []
    for k in range(1, len(walk.time) - 1):
        mujoco.mj_differentiatePos(m, found, walk.time[k + 1] - walk.time[k - 1], walk.qpos[k - 1], walk.qpos[k + 1])
        off.append(np.abs(found - walk.qvel[k]))
    off = np.array(off)  # differences over 20 ms
    assert off.mean() < 0.1
    assert off[:, :3].max() < 0.15


def test_a_course_is_its_own_derivative():
    part, unknowns, _ = walk_problem()
    x, rng = unknowns.guess + 0.01 * np.random.default_rng(4).normal(size=unknowns.size), np.random.default_rng(5)
    times, h = rng.uniform(0.02, 0.4, 30), 1e-6
    (course, acceleration, _), ahead, behind = (part.course(x, times + k * h) for k in (0, 1, -1))
    assert_allclose((ahead[0].q - behind[0].q) / (2 * h), course.v, atol=1e-4 * np.abs(course.v).max())
    assert_allclose((ahead[0].v - behind[0].v) / (2 * h), acceleration, atol=1e-3 * np.abs(acceleration).max())


def test_a_composition_is_a_recording_and_a_clip(walk, tmp_path):
    walk.write(tmp_path / "walk", {"speed": 1.3})
    recording = Recording(tmp_path / "walk")
    assert_allclose(recording["qpos"], walk.qpos)
    clip = ip.Clip.load(tmp_path / "walk")
    assert clip.duration == pytest.approx(walk.time[-1])
    report = json.loads((tmp_path / "walk/report.json").read_text())
    assert report["solved"]
    assert report["figures"]["ann"]["root_worst"] < 0.1


def test_what_cannot_be_is_named():
    """Two rows that fight, of which the worst violated is told."""
    unknowns = Unknowns()
    where = unknowns.add("x", np.zeros(3))[None]
    kernel = Kernel("value", 3, 1, lambda y, c: (ca.sumsqr(y), y[0] - c[0]))
    zero = np.zeros((1, 1))
    blocks = [
        Block(kernel, where, np.array([[value]]), zero, zero, lambda place, row, name=name: name)
        for name, value in (("here", 0.0), ("there", 1.0))
    ]
    found = solve(unknowns, blocks)
    assert not found.solved
    assert set(found.worst) <= {"here", "there"}
    assert found.worst


def test_an_interrupt_keeps_the_best_so_far():
    """Asked to stop at the fifth iteration, as Ctrl-C does."""
    import os
    import signal

    _, unknowns, blocks = walk_problem()
    told = []

    def progress(iteration, objective, violation, worst):
        told.append((iteration, violation, worst))
        if iteration == 5:
            os.kill(os.getpid(), signal.SIGINT)

    found = solve(unknowns, blocks, progress=progress)
    assert found.status == "interrupted"
    assert 5 <= len(told) <= 9
    assert np.isfinite(found.x).all()
    assert found.violation <= min(v for _, v, _ in told) * 1.001
    assert any("ann" in worst for _, _, worst in told)


def test_the_command(tmp_path):
    runner = CliRunner()
    listed = runner.invoke(app, ["compose"])
    assert listed.exit_code == 0
    assert set(compositions()) <= set(listed.output.replace(":", " ").split())
    wrong = runner.invoke(app, ["compose", "wlak", "--out", str(tmp_path)])
    assert wrong.exit_code != 0
    with pytest.raises(ip.InputError, match="speed"):
        composition("walk")({"speed": "nan"})
    with pytest.raises(ip.InputError, match="did you mean 'walk'"):
        composition("wlak")
