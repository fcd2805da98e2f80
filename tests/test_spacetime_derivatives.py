"""Gradient, Jacobian and Hessian of every kind of block that there is, beside central differences."""

import re
from pathlib import Path

import mujoco
import numpy as np
import pytest

import interplay as ip

pytest.importorskip("casadi")

from interplay.compositions import composition
from interplay.spacetime import actions, problem, words
from interplay.spacetime.blocks import Program, Unknowns
from interplay.spacetime.body import Body
from interplay.spacetime.feet import feet_stand
from interplay.spacetime.gaits import guess, paced
from interplay.spacetime.part import FLAT, Part
from interplay.spacetime.physical import physical
from interplay.spacetime.rounds import Walker, together
from interplay.spacetime.solving import Solution
from interplay.spacetime.styles import style

SOURCES = Path(problem.__file__).parent
STEP = 1e-5


class Recorded(dict):
    """The first block of each kind, with its unknowns, of problems that nobody solves."""

    def solve(self, unknowns, blocks, **_):
        for block in blocks:
            self.setdefault(block.kernel.name, (unknowns, block))
        return Solution(unknowns.guess, True, 0.0, 0.0, (), "solved", 0, 0.0)


@pytest.fixture
def recorded(monkeypatch):
    """What is solved, of gaits that are guessed, each on one mesh."""
    found, begin = Recorded(), actions.Gaits.__init__
    monkeypatch.setattr(problem, "solve", found.solve)
    monkeypatch.setattr(problem, "refine", lambda *_: False)
    monkeypatch.setattr(
        actions.Gaits, "__init__", lambda self, body, progress=None, crude=False: begin(self, body, None, True)
    )
    return found


def alone():
    composition("run")({"steps": 2, "shoes": True}).compose()
    scene = ip.Scene().add(ip.Humanoid(1.74, 68), "ann")
    held = [words.reach("ann/right_palm", (0.9, -0.3, 1.2), 2), words.at_time("ann", 2, 0.55)]
    words.compose(scene, {"ann": [words.walk(1.3), words.turn(0.5), words.run(3.0)]}, held)
    words.compose(scene, {"ann": [words.walk(1.3), words.run(3.0)]}, schedule="layered")
    composition("jump")({"onto": "box"}).compose()


def clips():
    clip = words.compose(ip.Scene().add(ip.Humanoid(1.74, 68), "ann"), {"ann": [words.walk(1.3)]}).clip()
    physical({"ann": Body(ip.Scene().add(ip.Humanoid(1.74, 68), "ann"), "ann")}, clip)


def hands():
    walkers = [Walker("ann", ip.Humanoid(1.68, 60), 2, "left"), Walker("ben", ip.Humanoid(1.8, 75), 2, "right")]
    together(walkers, 1.0)
    together(walkers, 1.0, alternating=True)


def encounters():
    composition("cross")({}).compose()
    composition("tackled")({}).compose()


def differs(unknowns, block, rng):
    """Return by how much each derivative of a block is off, of its largest value."""
    whole = Program(unknowns, [block])
    x = unknowns.guess + 0.01 * rng.normal(size=unknowns.size)
    begun = unknowns.guess
    x = np.where((begun != 0) & (x * begun < 0.5 * begun**2), begun, x)  # rates of time keep their sign
    way, lam = rng.normal(size=unknowns.size) * (np.abs(x) + 0.1), rng.normal(size=len(whole.low))

    def jacobian(at):
        pattern = whole.jacobian_pattern.copy()
        pattern.data = whole.jacobian(at)
        return pattern

    def off(found, expected):
        return float(np.abs(found - expected).max(initial=0.0) / max(np.abs(expected).max(initial=0.0), 1e-3))

    ahead, behind = x + STEP * way, x - STEP * way
    (f1, g1), (f0, g0) = whole.values(ahead), whole.values(behind)
    half = whole.hessian_pattern.copy()
    half.data = whole.hessian(x, 0.7, lam)
    slopes = [0.7 * whole.gradient(at) + jacobian(at).T @ lam for at in (ahead, behind)]
    bent = (slopes[0] - slopes[1]) / (2 * STEP)
    return (
        off(np.atleast_1d(whole.gradient(x) @ way), np.atleast_1d((f1 - f0) / (2 * STEP))),
        off(jacobian(x) @ way, (g1 - g0) / (2 * STEP)),
        off(half @ way + half.T @ way - half.diagonal() * way, bent),
    )


@pytest.mark.slow
def test_every_kind_of_block_has_the_derivatives_of_central_differences(recorded):
    for composed in (alone, clips, hands, encounters):
        composed()
    source = "\n".join(path.read_text() for path in SOURCES.glob("*.py"))
    kinds = set(re.findall(r'Kernel\(\s*"([a-z ]+)"', source))
    assert kinds - set(recorded) <= set(), f"not looked at: {sorted(kinds - set(recorded))}"
    rng, wrong = np.random.default_rng(8), {}
    for name, (unknowns, block) in recorded.items():
        found = differs(unknowns, block, rng)
        if max(found) > 1e-5:
            wrong[name] = found
    assert not wrong


@pytest.fixture(scope="module")
def part():
    body = Body(ip.Scene().add(ip.Humanoid(1.74, 68), "ann"), "ann")
    phases = paced(body, "walk", 1.2)
    return Part(body, phases, style(body), Unknowns(), guess(body, phases, 1.2))


@pytest.mark.parametrize(
    ("force", "held"),
    [
        ((0.0, 0.0, 1.0), True),
        ((0.55, 0.55, 1.0), True),
        ((0.58, 0.0, 1.0), False),
        ((-0.58, 0.0, 1.0), False),
        ((0.0, 0.58, 1.0), False),
        ((0.0, -0.58, 1.0), False),
        ((0.0, 0.0, -1.0), False),
    ],
)
def test_friction_holds_what_a_cone_of_0_8_holds_and_nothing_beyond(part, force, held):
    """The pyramid within the cone: sides at 0.8/√2 of what presses."""
    block, x = part._friction(), part.unknowns.guess.copy()
    x[block.where] = force
    values = block.values(x)
    assert ((values >= block.low) & (values <= block.high)).all() == held


def test_a_foot_that_stands_is_where_its_footprint_is(part):
    """Rows of a flat foot say by how much it is ahead of it, beside it, above the ground, and how fast it goes: beside MuJoCo's own places."""
    body, unknowns = part.body, part.unknowns
    knot = next(
        k for k in range(1, part.intervals) if {part.phases[part.phase_of[i]].left for i in (k - 1, k)} == {FLAT}
    )
    block, x = feet_stand(part)[0], unknowns.guess.copy()
    m, d = body.scene.model, mujoco.MjData(body.scene.model)
    d.qpos[:] = body.scene.qpos
    d.qpos[body.qpos_start : body.qpos_start + body.n + 1] = body.configuration(x[part.q[knot]])
    d.qvel[body.dof_start : body.dof_start + body.n] = body.twist(x[part.q[knot]], x[part.v[knot]])
    mujoco.mj_kinematics(m, d)
    mujoco.mj_comPos(m, d)
    stance = next(k for k, (side, _, _) in enumerate(part.stances) if side == "left")
    x0, y0, yaw = x[part.prints[stance]] = np.array([0.3, 0.2, 0.1])
    place = list(block.where[:, 0]).index(part.q[knot][0])
    rows = block.values(x)[place]
    half = np.linalg.norm(part.sole("left", 1.0).place - part.sole("left", -1.0).place) / 2
    jac = np.zeros((3, m.nv))
    for first, ahead in ((0, -1.0), (3, 1.0)):  # heel, then toes
        point = part.sole("left", ahead)
        b = body.bodies[point.link]
        p = d.xpos[b] + d.xmat[b].reshape(3, 3) @ point.place
        expected = p - [x0 + ahead * half * np.cos(yaw), y0 + ahead * half * np.sin(yaw), 0.0]
        np.testing.assert_allclose(rows[first : first + 3], expected, atol=1e-10)
        mujoco.mj_jac(m, d, jac, None, p, b)
        np.testing.assert_allclose(rows[8 + first : 11 + first], jac @ d.qvel, atol=1e-8)
    assert (block.low[place][:3] == 0.0).all()
    assert (block.high[place][:3] == 0.0).all()
