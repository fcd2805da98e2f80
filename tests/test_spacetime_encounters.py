"""Encounters: a wall turns between those who pass, a tackler meets his target's chest, who adjusts last decides."""

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip

ca = pytest.importorskip("casadi")

from interplay.compositions import composition  # noqa: E402
from interplay.script.check import check  # noqa: E402
from interplay.spacetime import encounters  # noqa: E402
from interplay.spacetime.actions import Doing, Gaits, Walk  # noqa: E402
from interplay.spacetime.avoiding import balls  # noqa: E402
from interplay.spacetime.blocks import Program  # noqa: E402
from interplay.spacetime.body import Body  # noqa: E402
from interplay.spacetime.clearing import ARM, LATE, LEG, SPARE, ArmsClear, LegsClear, beads, names  # noqa: E402
from interplay.spacetime.composing import Score, composed_all  # noqa: E402
from interplay.spacetime.ends import moved  # noqa: E402
from interplay.spacetime.gaits import GAITS, guess  # noqa: E402
from interplay.spacetime.meeting import bonds_of, meet, places  # noqa: E402
from interplay.spacetime.passing import apart, between, passing  # noqa: E402
from interplay.spacetime.problem import Problem, Stage, Turn, Window  # noqa: E402
from interplay.spacetime.rows import Row, row_of  # noqa: E402
from interplay.spacetime.schedules import Horizon  # noqa: E402
from interplay.spacetime.splicing import headed  # noqa: E402
from interplay.spacetime.styles import style  # noqa: E402
from interplay.spacetime.tackling import EVERY, TRUNK, Dodge, Tackle, horizon, sphere  # noqa: E402

WALK = GAITS["walk"][1.3]


def placed(name, scene, x, y, yaw):
    """Two crude steps of somebody, from a place."""
    body = Body(scene, name)
    half = row_of(body, WALK, guess(body, WALK, 1.3), style(body))
    row = half.then(half.mirrored(body))
    return Row(row.phases, moved(row.knots, np.zeros(3), np.array([x, y, yaw]))).role(body, headed(style(body), yaw))


@pytest.fixture(scope="module")
def crossing():
    """Two on a collision course at a right angle."""
    scene = ip.Scene().add(ip.Humanoid(1.68, 60), "ann").add(ip.Humanoid(1.8, 75), "ben", pos=(0, 2))
    return {"ann": placed("ann", scene, -0.7, 0, 0), "ben": placed("ben", scene, 0, -0.7, np.pi / 2)}


def staged(roles, bond, free=None):
    problem = Problem(roles)
    stage = Stage(problem, Turn(tuple(Window(who) for who in free or roles)))
    return stage, meet(bond)(stage)


def differs(stage, blocks):
    """Return by how much exact first derivatives are off differences, along a direction."""
    program, rng = Program(stage.unknowns, blocks), np.random.default_rng(1)
    x, h = stage.unknowns.guess + 1e-3 * rng.normal(size=stage.unknowns.size), 1e-6
    direction = rng.normal(size=x.size)
    ahead, back = (program.values(x + s * h * direction) for s in (1, -1))
    jacobian = program.jacobian_pattern.copy()
    jacobian.data = program.jacobian(x)
    slope = program.gradient(x) @ direction - (ahead[0] - back[0]) / (2 * h)
    return max(float(np.abs(jacobian @ direction - (ahead[1] - back[1]) / (2 * h)).max()), abs(slope))


def test_ways_that_cross_are_guessed_apart():
    """Who would walk through another swerves by half each, others do not; walls are then between their balls."""
    times = np.linspace(0.0, 2.0, 101)
    one = np.stack([times - 1.0, 0 * times], axis=1)
    ways = np.stack([one, one[:, ::-1]])
    gone = apart(times, ways, 0.6)
    assert np.linalg.norm(gone[1] - gone[0], axis=1).min() == pytest.approx(0.6, abs=0.02)
    far = np.stack([one, one + [0.0, 2.0]])
    assert_allclose(apart(times, far, 0.6), far)
    radii = [np.array([0.2]), np.array([0.2])]
    angle, offset = between([way[:, None] for way in gone], radii, np.zeros(2)).T
    normal = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    assert np.abs(np.diff(angle)).max() < 0.5
    assert ((gone[0] * normal).sum(axis=1) + 0.2 <= offset + 1e-9).all()
    assert ((gone[1] * normal).sum(axis=1) - 0.2 >= offset - 1e-9).all()


def test_a_wall_holds_where_nothing_is_short(crossing):
    """Derivatives are exact; where rows hold and nobody falls short, MuJoCo finds no overlap."""
    stage, blocks = staged(crossing, passing("ann", "ben"))
    walls = [b for b in blocks if b.kernel.name in ("turning wall", "short", "steady wall")]
    assert [b.kernel.name for b in walls].count("turning wall") == 2
    assert differs(stage, walls) < 1e-5
    x = stage.unknowns.guess
    ((_, short, _),) = (one for one in stage.unknowns.names if one[0] == "short")
    assert x[short] > 0.1  # they would walk through each other
    program = Program(stage.unknowns, walls)
    assert (program.values(x)[1] >= program.low - 0.02).all()


@pytest.mark.parametrize("free", ["ann", "ben"])
def test_a_wall_keeps_off_who_is_known(crossing, free):
    """Of two of whom one moves, the other's balls are where they are known to be: rows of both, and his states do not matter."""
    roles = dict(crossing)
    stage, blocks = staged(roles, passing("ann", "ben"), [free])
    walls = [b for b in blocks if b.kernel.name == "turning wall"]
    assert len(walls) == 2
    assert differs(stage, walls) < 1e-5
    sizes = {b.label(0, 0).split(" of ")[1].split()[0]: b.where.shape[1] for b in walls}
    other = "ben" if free == "ann" else "ann"
    assert sizes[free] - sizes[other] == stage.parts[free].body.n


def test_a_tackle_and_a_dodge_hold_against_what_is_known(crossing):
    """Each says nothing where not exactly one of both is free; derivatives are exact, names say who and what."""
    for bond, free in ((Tackle("ben", "ann", 3.0), "ben"), (Dodge("ann", "ben", 0.2), "ann")):
        stage, blocks = staged(crossing, bond, [free])
        mine = [b for b in blocks if b.kernel.name in ("tackle", "arms off", "dodge")]
        assert mine
        assert differs(stage, mine) < 1e-4
        assert "ann" in mine[0].label(0, 0)
        both, _ = staged(crossing, bond)
        assert not [b for b in meet(bond)(both) if b.kernel.name in ("tackle", "arms off", "dodge")]


def test_two_who_tackle_keep_off_each_other(crossing):
    """Who plans second keeps arms and trunk off the first one's, who is known: derivatives are exact, names say whose; without one, nothing."""
    ben = crossing["ben"]
    carl = ben._replace(knots=moved(ben.knots, np.zeros(3), np.array([0.6, 0.3, 0.2])))
    bonds = [Tackle("ben", "ann", 3.0), Tackle("carl", "ann", 3.0)]
    found = {}
    for count, roles in ((1, crossing), (2, {**crossing, "carl": carl})):
        problem = Problem(roles, [meet(*bonds[:count])])
        stage = Stage(problem, Turn((Window("ben"),)))
        found[count] = [b for b in problem.laws[0](stage) if b.kernel.name == "arms off"]
    assert [len(found[count]) for count in (1, 2)] == [1, 4]  # two of each: at knots, and between them
    assert differs(stage, found[2]) < 1e-4
    labels = [found[2][2].label(0, row) for row in range(found[2][2].kernel.rows)]
    assert all(label.endswith("of carl") for label in labels)
    assert "chest of ben off chest of carl" in labels
    assert "chest of ben off chest of ann" not in [found[2][0].label(0, row) for row in range(found[2][0].kernel.rows)]


def test_arms_keep_off_between_knots(crossing):
    """Rows are how near beads are where cubics of both are, at moments that leave no room to slip through, and as the clock shifts."""
    carl = crossing["ann"]
    problem = Problem({**crossing, "carl": carl}, [meet(Tackle("ben", "ann", 3.0), Tackle("carl", "ann", 3.0))])
    stage = Stage(problem, Turn((Window("ben"),)))
    at_knots, between_them = [b for b in problem.laws[0](stage) if b.kernel.name == "arms off"][2:]
    part, x = stage.parts["ben"], stage.unknowns.guess.copy()
    looked = np.sort(np.concatenate([block.constants[:, -2] for block in (at_knots, between_them)]))
    assert np.diff(looked).max() <= EVERY + 1e-9
    assert looked[-1] == pytest.approx(part.times(x)[-1])
    assert looked[0] < looked[-1] - LATE + EVERY
    times = carl.knots.course(carl.phases).time
    balls_of = [beads(body, (*ARM, *TRUNK)) for body in (part.body, carl.body)]
    least = np.add.outer(*([ball.radius for ball in of] for of in balls_of)) + SPARE
    clock = next(first for name, first, _ in stage.unknowns.names if name == "clock")
    for later in (0.0, 1e-3):
        x[clock : clock + part.intervals + 1] = stage.unknowns.guess[clock : clock + part.intervals + 1] + later
        for block in (at_knots, between_them):
            moments = block.constants[:, -2]
            mine = places(part.body, [ball.point for ball in balls_of[0]], part.course(x, moments)[0].q)
            his = places(carl.body, [ball.point for ball in balls_of[1]], carl.knots.at(times, moments + later)[0])
            off = mine.reshape(len(moments), -1, 1, 3) - his.reshape(len(moments), 1, -1, 3)
            near = 1.01 / ((off**2).sum(axis=-1) / least**2 + 0.01)
            assert_allclose(block.values(x), near.reshape(len(moments), -1), rtol=2e-3)


def test_limbs_keep_clear(crossing):
    """Of whoever is free; derivatives are exact, a stride is clear, and names say what is near what."""
    stage, _ = staged(crossing, passing("ann", "ben"), ["ann"])
    for law in (ArmsClear, LegsClear):
        assert law("ben")(stage) == []
        blocks = law("ann")(stage)
        assert differs(stage, blocks) < 1e-4
        program = Program(stage.unknowns, blocks)
        assert (program.values(stage.unknowns.guess)[1] <= program.high + 0.6).all()
        assert blocks[0].label(0, 0).endswith("of ann")


def test_nothing_fits_between_beads(crossing):
    """Two limbs whose beads keep off each other as far as they are told to are apart all along."""
    body = crossing["ben"].body
    for links in (ARM, LEG):
        mine = beads(body, links)
        assert set(names(body, mine)) == {name for side in ("left", "right") for name in (f"{side}_{x}" for x in links)}
        for ball in mine:
            others = [b for b in mine if b.point.link == ball.point.link and b is not ball]
            gap = min((np.linalg.norm(b.point.place - ball.point.place) for b in others), default=0.0)
            assert np.hypot(2 * ball.radius, gap / 2) <= 2 * ball.radius + SPARE + 2e-3


def test_a_bounding_sphere_holds_trunk_and_head(crossing):
    """Every ball of trunk and head is in it, and one touches it."""
    role = crossing["ben"]
    q = role.knots.q[-1]
    centre, radius = sphere(role.body, q)
    m, d = role.body.scene.model, mujoco.MjData(role.body.scene.model)
    d.qpos[role.body.qpos_start : role.body.qpos_start + role.body.n + 1] = role.body.configuration(q[None])[0]
    mujoco.mj_kinematics(m, d)
    ends = []
    for ball in balls(role.body):
        b = role.body.bodies[ball.point.link]
        if role.body.links[ball.point.link].name in ("pelvis", "abdomen", "chest", "neck", "head"):
            place = d.xpos[b] + d.xmat[b].reshape(3, 3) @ ball.point.place
            ends.append(np.linalg.norm(place - centre) + ball.radius)
    assert max(ends) == pytest.approx(radius)


def test_who_adjusts_last_and_how_the_horizon_decreases(crossing):
    """The target plans half of what the others did, then it halves; the last one to plan is the one who was said."""
    problem = Problem(crossing)
    shares = []
    for last in ("ben", "ann"):
        turns = [turn.free[0] for turn in Horizon(("ben", "ann"), last, 1).turns(problem)]
        assert turns[-1].who == last
        shares.append([])
        for window in turns:
            seconds = [phase.seconds for phase in problem.roles[window.who].phases]
            shares[-1].append(sum(seconds[window.first :]) / sum(seconds))
    assert_allclose(shares[0], [1.0, 0.5, 0.5], atol=0.15)
    assert_allclose(shares[1], [1.0, 0.5], atol=0.15)


def test_schedules_of_contests_say_what_is_missing():
    hits, dodges = meet(Tackle("ben", "ann", 3.0)), meet(Dodge("ann", "ben", 0.2))
    assert horizon([hits, dodges], None) == Horizon(("ben", "ann"), "ann")
    assert horizon([hits, dodges], "ben").last == "ben"
    for laws, last, told in (
        ([hits], None, "expected that ann dodges each of ben"),
        ([dodges], None, "tackles of one target, got 0"),
        ([hits, dodges], "carl", "expected one of ben, ann"),
        ([hits, dodges, meet(Tackle("ben", "eva", 3.0))], None, "got 2 targets"),
    ):
        with pytest.raises(ip.InputError, match=told):
            horizon(laws, last)
    assert len(bonds_of([hits, dodges])) == 2


def test_words_refuse_what_cannot_be(crossing):
    """Who does not act, one alone, a tackler too far away, and schedules that do not go with what is asked."""
    scores = {}
    for who, role in crossing.items():
        row = Row(role.phases, role.knots)
        scores[who] = Score(Doing(Gaits(role.body), row, end=(row.knots.q[-1], row.knots.v[-1])), ())
    with pytest.raises(ip.InputError, match="character that acts 'eva'"):
        encounters.passes(scores, "ann", "eva", 0.1)
    with pytest.raises(ip.InputError, match="expected two characters"):
        encounters.dodges(scores, "ann", "ann", 0.1)
    hits = encounters.tackles(scores, "ben", "ann", 3.0)
    far = {**scores, "ben": scores["ben"]._replace(doing=scores["ben"].doing._replace(end=(row.knots.q[-1] + 5.0, 0)))}
    with pytest.raises(ip.InputError, match="place him where his way meets hers"):
        encounters.tackles(far, "ben", "ann", 3.0)
    with pytest.raises(ip.InputError, match="expected horizon where somebody tackles"):
        composed_all(scores, hits)
    with pytest.raises(ip.InputError, match="only with the schedule horizon"):
        composed_all(scores, [], last="ann")


FILE = """
models:
  ann: {{humanoid: {{height: 1.7}}}}
  ben: {{humanoid: {{height: 1.8}}, at: [3, 1, 0], facing: 180 deg}}
actions:
  ann: [{{walk: 1.3}}]
  ben: [{{run: 3.0}}]
hold:
  - {hold}
"""


@pytest.mark.parametrize(
    ("hold", "told"),
    [
        ("{pass_by: [ann, ben], margin: 0.2}", ""),
        ("{pass_by: [ann], margin: 0.2}", "at least 2"),
        ("{pass_by: [ann, eva]}", "eva"),
        ("{tackle: ann, by: ben, speed: 3.5}", "schedule: horizon"),
        ("{dodge: ben, by: ann, margin: -1}", "margin"),
    ],
)
def test_files_say_what_is_wrong_with_encounters(tmp_path, hold, told):
    path = tmp_path / "meeting.yaml"
    path.write_text(FILE.format(hold=hold))
    problems = [str(p) for p in check(path, composition)]
    assert (not problems) if not told else any(told in p for p in problems), problems


def test_rows_begin_where_models_are(monkeypatch):
    """Who stands elsewhere and faces another way walks from there."""
    body = Body(ip.Scene().add(ip.Humanoid(1.74, 68), "ann", pos=(2.0, -1.0, 0.0), yaw=1.0), "ann")
    half = row_of(body, WALK, guess(body, WALK, 1.3), style(body))
    monkeypatch.setattr(Gaits, "half", lambda self, kind, speed, leads: half)
    row = Walk(1.3, 2).after(Doing(Gaits(body))).row
    begin, end = row.knots.q[0], row.knots.q[-1]
    assert_allclose(begin[:2], [2.0, -1.0], atol=0.1)
    assert begin[3] - half.knots.q[0, 3] == pytest.approx(1.0, abs=0.01)
    assert np.arctan2(end[1] - begin[1], end[0] - begin[0]) == pytest.approx(1.0, abs=0.1)


def sound(performance, depth=5e-3):
    assert performance.solutions[-1].solved
    for worth in performance.worth.values():
        assert worth.root_mean < 0.01
        assert worth.root_worst < 0.1
        assert worth.slip < 1.5e-3
        assert worth.torque_ratio < 1.0
        assert worth.limit_violation == 0.0
        assert worth.depth < depth


@pytest.mark.slow
def test_two_who_cross_do_not_touch():
    performance = composition("cross")({}).compose()
    sound(performance)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "hits"),
    [("tackled", True), ("dodged", False), ("two_tacklers", False)],
)
def test_who_adjusts_last_decides(name, hits):
    """He meets her at the speed that was asked, or she is out of his sphere, or of both, by the margin."""
    performance = composition(name)({}).compose()
    sound(performance)

    def said(word):
        return [value for key, value in performance.between.items() if word in key]

    if hits:
        assert max(said("chest")) < 0.05
        assert_allclose(said("closes"), 3.5, atol=1e-3)
    else:
        assert len(said("out of")) == len(performance.worth) - 1
        assert min(said("out of")) > 0.2 - 1e-3
