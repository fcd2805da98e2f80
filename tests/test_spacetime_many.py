"""Several characters in one problem: what they share is a function of real time, forces are opposite, bodies keep off each other."""

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip

ca = pytest.importorskip("casadi")

from interplay.compositions import composition  # noqa: E402
from interplay.spacetime import rounds  # noqa: E402
from interplay.spacetime.avoiding import BETWEEN, balls, side_by_side  # noqa: E402
from interplay.spacetime.blocks import Program, Unknowns  # noqa: E402
from interplay.spacetime.body import Body  # noqa: E402
from interplay.spacetime.checking import sampled  # noqa: E402
from interplay.spacetime.gaits import GAITS, guess  # noqa: E402
from interplay.spacetime.holding import hold_hands, meeting_hands  # noqa: E402
from interplay.spacetime.meeting import meet, places  # noqa: E402
from interplay.spacetime.part import PULL, Part, Phase  # noqa: E402
from interplay.spacetime.problem import Problem, Role, Stage  # noqa: E402
from interplay.spacetime.rounds import Alternating  # noqa: E402
from interplay.spacetime.rows import row_of  # noqa: E402
from interplay.spacetime.sharing import Clock, Curve  # noqa: E402
from interplay.spacetime.styles import style  # noqa: E402

WALK = GAITS["walk"][1.3]
OTHER = tuple(phase._replace(intervals=phase.intervals + 1, seconds=1.07 * phase.seconds) for phase in WALK)


@pytest.fixture(scope="module")
def pair():
    """Two people side by side, whose knots come at different times, pulled at the hands that are next to each other."""
    scene = ip.Scene().add(ip.Humanoid(1.68, 60), "ann").add(ip.Humanoid(1.8, 75), "ben", pos=(0, 0.5))
    roles = {}
    for name, phases, side in (("ann", WALK, "left"), ("ben", OTHER, "right")):
        body = Body(scene, name)
        begin = guess(body, phases, 1.0)
        roles[name] = Role(body, phases, style(body), begin, None, (body.point(f"{side}_palm"),))
    return roles


def test_a_curve_is_what_it_was_fitted_to():
    """A smooth way, open, and one that closes into itself but for how far it comes; read at any time."""
    unknowns = Unknowns()
    duration, travel = unknowns.add("duration", np.array([2.0])), unknowns.add("travel", np.array([1.5]))
    times = np.linspace(0.0, 2.0, 200)
    turn = np.pi * times
    values = np.stack([0.75 * times + 0.1 * np.sin(turn), np.cos(turn), times * 0], axis=1)
    for closed in (False, True):
        curve = Curve(unknowns, duration, times / 2.0, values, 20, travel if closed else None, (0,) if closed else ())
        assert_allclose(curve.at(unknowns.guess, times), values, atol=2e-3)
    begin, end = curve.at(unknowns.guess, np.array([0.0, 2.0 - 1e-12]))
    assert_allclose(end - begin, [1.5, 0.0, 0.0], atol=1e-9)


def test_two_clocks_read_the_same_curve(pair):
    """The same real time is the same value, whoever reads it, by symbols and by numbers."""
    unknowns = Unknowns()
    parts = [Part(role.body, role.phases, role.style, unknowns, role.begin) for role in pair.values()]
    span = max(float(unknowns.guess[part.span[0]]) for part in parts)
    duration = unknowns.add("duration", np.array([span]))
    times = np.linspace(0.0, span, 50)
    curve = Curve(unknowns, duration, times / span, np.sin(3 * times)[:, None], 12)
    for part in parts:
        clock = Clock(part)
        read, constants = curve.window(clock.points())
        z, c = ca.SX.sym("z", curve.width), ca.SX.sym("c", 2)
        value = ca.Function("value", [z, c], [curve.value(z, c)[0]])
        found = np.asarray(value.map(len(read))(unknowns.guess[read].T, constants.T)).ravel()
        at = part.course(unknowns.guess)[0].time
        assert_allclose(found, curve.at(unknowns.guess, at)[:, 0], atol=1e-12)
        assert_allclose(found, np.sin(3 * at), atol=5e-3)


def test_held_hands_pull_with_opposite_forces_at_the_same_real_time(pair):
    """Rows of the law vanish where both hands are on one way and forces are opposite, and only there; derivatives are exact."""
    stage = Stage(Problem(pair, []), Problem(pair, []).whole())
    blocks = meet(hold_hands(("ann", 0), ("ben", 0)))(stage)
    x = stage.unknowns.guess.copy()
    pulls = [block for block in blocks if block.kernel.name == "pulls"]
    force = np.unique(pulls[0].where[:, 3 + 2 : 3 + 2 + 18])
    rng = np.random.default_rng(3)
    x[force] = rng.normal(size=force.size)
    program = Program(stage.unknowns, pulls)
    found = program.values(x)[1].reshape(-1, 4)[:, :3]
    count = len(pulls[0].where)
    mine, hers = found[:count], found[count:]
    clocks = [stage.parts[who].course(x)[0].time for who in ("ann", "ben")]
    common = np.linspace(0.1, 0.9 * min(c[-1] for c in clocks), 20)
    read = [
        np.stack([np.interp(common, t, column) for column in one.T])
        for t, one in zip(clocks, (mine, hers), strict=True)
    ]
    assert_allclose(read[0], -read[1], atol=0.35)  # read between points of different times
    x0, h = x + 1e-3 * rng.normal(size=x.size), 1e-6
    direction = rng.normal(size=x.size)
    ahead, back = (program.values(x0 + s * h * direction)[1] for s in (1, -1))
    jacobian = program.jacobian_pattern.copy()
    jacobian.data = program.jacobian(x0)
    assert_allclose(jacobian @ direction, (ahead - back) / (2 * h), atol=1e-6)


def test_nothing_is_asked_twice_of_a_cycle(pair):
    """Its end follows from its beginning, and so does where its hand is then: rows that say it again have no multipliers."""
    for cycle in (False, True):
        stage = Stage(Problem(pair, []), Problem(pair, []).whole())
        blocks = [b for b in meet(hold_hands(("ann", 0), ("ben", 0)), cycle=cycle)(stage) if b.kernel.name == "keeps"]
        counts = [part.intervals + (not cycle) for part in stage.parts.values()]
        assert [len(block.where) for block in blocks] == counts


def test_a_pull_is_a_force_at_a_point_in_plain_mujoco(pair):
    """Who is pulled needs other torques, by the Jacobian of that point: those of the check, which knows nothing of symbols."""
    role, unknowns = pair["ann"], Unknowns()
    part = Part(role.body, (Phase(3, 0.1, "flat", "flat"),), role.style, unknowns, role.begin, role.pulled)
    x = unknowns.guess.copy()
    plain = sampled(part, x)
    pull = np.array([10.0, -5.0, 20.0])
    x[part.pull] = pull / PULL
    drawn = sampled(part, x)
    m, point = role.body.scene.model, role.pulled[0]
    d, jac = mujoco.MjData(m), np.zeros((3, m.nv))
    own, b = slice(role.body.dof_start, role.body.dof_start + role.body.n), role.body.bodies[point.link]
    for k in range(0, len(plain.time), 5):
        d.qpos[:] = plain.qpos[k]
        mujoco.mj_fwdPosition(m, d)
        mujoco.mj_jac(m, d, jac, None, d.xpos[b] + d.xmat[b].reshape(3, 3) @ point.place, b)
        expected = -(jac.T @ pull)[own]
        assert_allclose((drawn.residual - plain.residual)[k], expected[:6], atol=1e-9)
        assert_allclose((drawn.torque - plain.torque)[k, own][6:], expected[6:], atol=1e-9)


@pytest.mark.parametrize("heights", [(1.68, 1.80), (1.68, 1.15), (1.15, 1.80)])
def test_hands_meet_with_forearms_beside_each_other(heights):
    """Palm to palm, as MuJoCo places them: nothing of both overlaps but hands, and no arm is in the body that it hangs from."""
    scene = ip.Scene()
    for name, height, y in zip(("one", "other"), heights, (0.0, 0.18 * sum(heights)), strict=True):
        scene = scene.add((ip.Humanoid.child if height < 1.35 else ip.Humanoid)(height), name, pos=(0, y))
    bodies = [Body(scene, name) for name in ("one", "other")]
    (one, other), (q, p) = bodies, (body.coordinates(scene.qpos) for body in bodies)
    met = meeting_hands(one, other, q, p)
    m, d = scene.model, mujoco.MjData(scene.model)
    d.qpos[:] = scene.qpos
    for body, q in zip(bodies, met, strict=True):
        d.qpos[body.qpos_start : body.qpos_start + body.n + 1] = body.configuration(q[None])[0]
        assert (q[6:] >= body.low).all()
        assert (q[6:] <= body.high).all()
    mujoco.mj_fwdPosition(m, d)
    grips = []
    for body, side in zip(bodies, ("left", "right"), strict=True):
        point = body.point(f"{side}_grip")
        b = body.bodies[point.link]
        grips.append(d.xpos[b] + d.xmat[b].reshape(3, 3) @ point.place)
    assert np.linalg.norm(grips[0] - grips[1]) < 5e-3
    for contact in d.contact:
        names = [m.body(int(m.geom_bodyid[g])).name for g in contact.geom]
        assert contact.dist > 0 or all("hand" in name for name in names) or "world" in names, names


def test_balls_are_where_bodies_are(pair):
    """Each lies in the link that it stands for, as MuJoCo places it."""
    body = pair["ann"].body
    m, d = body.scene.model, mujoco.MjData(body.scene.model)
    d.qpos[:] = body.scene.qpos
    mujoco.mj_fwdPosition(m, d)
    mine = balls(body)
    at = places(body, [ball.point for ball in mine], body.coordinates(body.scene.qpos)[None]).reshape(-1, 3)
    for ball, place in zip(mine, at, strict=True):
        b = body.bodies[ball.point.link]
        assert_allclose(d.xpos[b] + d.xmat[b].reshape(3, 3) @ ball.point.place, place, atol=1e-12)
        assert 0.02 < ball.radius < 0.25


def test_who_stays_on_her_side_of_a_wall_goes_through_nobody(pair):
    """Rows hold exactly where all balls are on their sides: by the places that MuJoCo gives; hands that are held are left out."""
    stage = Stage(Problem(pair, []), Problem(pair, []).whole())
    blocks = [
        b for b in meet(side_by_side("ann", "ben", ("left_hand", "right_hand")))(stage) if b.kernel.name == "wall"
    ]
    assert len(blocks) == 2
    unknowns = stage.unknowns
    ((_, at, _),) = (one for one in unknowns.names if one[0] == "wall")
    for block, (who, side) in zip(blocks, (("ann", 1.0), ("ben", -1.0)), strict=True):
        body = pair[who].body
        m, d = body.scene.model, mujoco.MjData(body.scene.model)
        q = unknowns.guess[block.where[0, :-1]]
        d.qpos[:] = body.scene.qpos
        d.qpos[body.qpos_start : body.qpos_start + body.n + 1] = body.configuration(q[None])[0]
        mujoco.mj_kinematics(m, d)
        room = []
        for ball in balls(body):
            b = body.bodies[ball.point.link]
            y = (d.xpos[b] + d.xmat[b].reshape(3, 3) @ ball.point.place)[1]
            room.append((side * (unknowns.guess[at] - y), ball.radius + BETWEEN, body.links[ball.point.link].name))
        found, low = block.values(unknowns.guess)[0], block.low[0]
        for r, (value, least) in enumerate(zip(found, low, strict=True)):
            link = block.label(0, r).split()[0]
            assert "hand" not in link
            assert any(np.allclose((value, least), one[:2], atol=1e-9) and link == one[2] for one in room)
        assert any("forearm" in block.label(0, r) for r in range(len(low)))


def test_rubber_bands_stiffen():
    """From turn to turn, by the same in each cycle; who has more turns has them in each cycle."""
    turns = list(Alternating(("ann", "ben"), 3, 100.0).turns(None))  # pyright: ignore[reportArgumentType]
    assert [turn.free[0].who for turn in turns] == ["ann", "ben"] * 3
    assert_allclose([turn.soft["hands"] for turn in turns], [50, 100, 150, 200, 250, 300])
    turns = list(Alternating(("mother", "mother", "child"), 2, 90.0).turns(None))  # pyright: ignore[reportArgumentType]
    assert [turn.free[0].who for turn in turns] == ["mother", "mother", "child"] * 2
    assert_allclose([turn.soft["hands"] for turn in turns], [30, 60, 90, 120, 150, 180])


def test_who_leads_counts_more_and_held_arms_need_not_swing(monkeypatch):
    """What is minimised in all phases is that of one whose hands are held, not of the gait she begins with; three have four held hands."""
    asked: list[Problem] = []

    def gait_of(gaits, kind, speed, steps, leads):
        manner, begin = style(gaits.body), guess(gaits.body, WALK, speed)
        row = row_of(gaits.body, [phase._replace(manner=manner) for phase in WALK], begin, manner)
        return row.repeated(gaits.body, steps)

    def found(problem, *_, **__):
        asked.append(problem)

    monkeypatch.setattr(rounds, "walked", gait_of)
    monkeypatch.setattr(rounds, "find", found)
    walkers = [rounds.Walker(name, ip.Humanoid(1.7, 65), 2) for name in ("ann", "ben", "cem")]
    for leader in (None, "ben"):
        rounds.together(walkers, 1.0, leader)
    plain, led = (Stage(problem, problem.whole()).parts for problem in asked)
    for who, sides in (("ann", ["left"]), ("ben", ["right", "left"]), ("cem", ["right"])):
        part = plain[who]
        assert [point.link for point in part.pulled] == [part.body.point(f"{side}_grip").link for side in sides]
        held = {part.body.joints.index(f"{side}_shoulder_flexion") + 6 for side in sides}
        factor = 10.0 if who == "ben" else 1.0
        for manner, more in zip(part.manners, led[who].manners, strict=True):
            assert not held & {tie.parts[0][0] for tie in manner.ties}
            assert_allclose(more.effort, factor * manner.effort)
            assert_allclose(more.posture, factor * manner.posture)
            assert [tie.weight for tie in more.ties] == [factor * tie.weight for tie in manner.ties]


@pytest.mark.slow
@pytest.mark.parametrize("who", ["equal", "three", "family"])
def test_people_walk_hand_in_hand(who):
    """Gap below a centimetre between knots, too; all physical in plain MuJoCo; nothing goes through anything but hand and hand."""
    found = composition("hand_in_hand")({"who": who, "rounds": 1}).compose()
    assert found.solutions[-1].solved
    for worth in found.worth.values():
        assert worth.root_mean < 0.01
        assert worth.root_worst < 0.1
        assert worth.slip < 1.5e-3
        assert worth.torque_ratio < 1.0
        assert worth.limit_violation == 0.0
        assert worth.depth < 5e-3
    gaps = [value for name, value in found.between.items() if "gap" in name]
    assert len(gaps) == len(found.worth) - 1
    assert max(gaps) < 0.01
    for who in found.worth:  # together it costs about what it does alone: more, but for arms that need not swing
        assert 0.9 < found.between[f"{who}: cost"] / found.between[f"{who}: cost alone"] < 1.3
