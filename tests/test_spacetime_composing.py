"""Words that compose: rows, laws, schedules and files; what cannot be is refused with a reason, what was made holds in plain MuJoCo."""

import os
import signal

import numpy as np
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

import interplay as ip
from interplay.cli import app

ca = pytest.importorskip("casadi")

from interplay.compositions import composition  # noqa: E402
from interplay.script.check import check  # noqa: E402
from interplay.script.composing import load_composition  # noqa: E402
from interplay.script.reader import ScriptError  # noqa: E402
from interplay.spacetime import actions  # noqa: E402
from interplay.spacetime.blocks import Program  # noqa: E402
from interplay.spacetime.body import Body  # noqa: E402
from interplay.spacetime.checking import figures  # noqa: E402
from interplay.spacetime.composing import composed, scored  # noqa: E402
from interplay.spacetime.ends import moved, place_of  # noqa: E402
from interplay.spacetime.gaits import GAITS, guess  # noqa: E402
from interplay.spacetime.laws import (  # noqa: E402
    AtTime,
    Between,
    Fixed,
    Heads,
    InAll,
    OnTop,
    PerDistance,
    Prints,
    Reaches,
    Within,
)
from interplay.spacetime.performing import perform  # noqa: E402
from interplay.spacetime.physical import physical  # noqa: E402
from interplay.spacetime.problem import END, Problem, Stage, When, find  # noqa: E402
from interplay.spacetime.rows import phases_of, row_of  # noqa: E402
from interplay.spacetime.schedules import Layered  # noqa: E402
from interplay.spacetime.styles import style  # noqa: E402
from interplay.spacetime.words import hold_hands, pass_by, walk  # noqa: E402


@pytest.fixture(scope="module")
def body():
    return Body(ip.Scene().add(ip.Humanoid(1.74, 68), "ann"), "ann")


@pytest.fixture(scope="module")
def crude(body):
    """Half a cycle that nobody solved."""
    return row_of(body, GAITS["walk"][1.3], guess(body, GAITS["walk"][1.3], 1.3), style(body))


def test_a_mirror_image_of_a_mirror_image_is_the_row(body, crude):
    other = crude.mirrored(body)
    assert [p.left for p in other.phases] == [p.right for p in crude.phases]
    for one, twice in zip(crude.knots, other.mirrored(body).knots, strict=True):
        assert_allclose(twice, one, atol=1e-12)
    left, right = (
        body.frames(ca.DM(row.knots.q[3]))[body.point(f"{side}_sole").link]
        for row, side in ((crude, "left"), (other, "right"))
    )
    assert_allclose(np.asarray(right[1]).ravel(), np.asarray(left[1]).ravel() * [1, -1, 1], atol=1e-9)


def test_rows_go_on_where_they_ended_and_bend_by_an_angle(body, crude):
    bent = crude.bent(0.5)
    assert bent.knots.q[-1, 3] - crude.knots.q[-1, 3] == pytest.approx(0.5)
    length = [np.linalg.norm(np.diff(row.knots.q[:, :2], axis=0), axis=1).sum() for row in (crude, bent)]
    assert length[1] == pytest.approx(length[0], rel=0.01)
    both = bent.then(crude.mirrored(body))
    assert_allclose(both.knots.q[len(bent.knots.q) - 1, :2], bent.knots.q[-1, :2])
    assert len(both.phases) == 2 * len(crude.phases)
    assert len(both.knots.q) == 2 * len(crude.knots.q) - 1


def test_phases_of_a_clip_are_what_touches(body):
    clip = ip.Clip.load("squat")
    who = next(iter(clip.motions))
    touches = [
        ip.Touch(f"{who}/left_sole", "ground", 0.0, clip.duration),
        ip.Touch(f"{who}/right_sole", "ground", 0.0, 0.5),
        ip.Touch(f"{who}/right_toes", "ground", 0.5, 0.7),
    ]
    found = phases_of(clip.with_touches(touches))
    assert [(p.left, p.right) for p in found] == [("flat", "flat"), ("flat", "toe"), ("flat", "swing")]
    assert sum(p.seconds for p in found) == pytest.approx(clip.duration)
    assert found[0].seconds == pytest.approx(0.5, abs=0.05)


def staged(body, row, *laws):
    problem = Problem({"ann": row.role(body, style(body))}, laws)
    stage = Stage(problem, problem.whole())
    return stage, stage.blocks()


def test_laws_bound_what_they_say(body, crude):
    laws = (
        Between("ann", END, (0,), 0.5, 0.6),
        Prints("ann", 0, low=(-0.2, -1.0), side="left"),
        OnTop("ann", 0, 0.3),
        Fixed("ann", timing=True),
    )
    stage, _ = staged(body, crude, *laws)
    part, unknowns = stage.parts["ann"], stage.unknowns
    assert (unknowns.low[part.q[-1, 0]], unknowns.high[part.q[-1, 0]]) == (0.5, 0.6)
    assert_allclose(unknowns.low[part.rate], unknowns.high[part.rate])
    assert set(part.ground) == {0.3}
    at = [k for k, (side, first, _) in enumerate(part.stances) if side == "left" and first == 0]
    assert (unknowns.low[part.prints[at, 0]] == -0.2).all()


def test_a_reach_is_zero_where_the_hand_is_and_a_spring_where_it_is_soft(body, crude):
    hand = body.point("right_palm")
    knot = len(crude.knots.q) - 1
    R, p = body.frames(ca.DM(crude.knots.q[knot]))[hand.link]
    place = tuple(np.asarray(p + R @ ca.DM(hand.place)).ravel())
    law = Reaches("ann", "right_palm", END, place)
    stage, blocks = staged(body, crude, law)
    block = next(b for b in blocks if b.kernel.name == "reach")
    _, rows = Program(stage.unknowns, [block]).values(stage.unknowns.guess)
    assert_allclose(rows, 0.0, atol=1e-9)
    with pytest.raises(ip.InputError, match="from where it would be then"):
        staged(body, crude, law._replace(place=(6.0, 0.0, 1.0)))


def test_effort_is_the_same_however_it_counts(body, crude):
    """Per second, per metre or as a whole: the objective times what it is divided by."""
    found = []
    for laws in ((), (PerDistance("ann"),), (InAll("ann"),)):
        stage, blocks = staged(body, crude, *laws)
        guess = stage.unknowns.guess
        found.append(Program(stage.unknowns, blocks).values(guess)[0] * guess[stage.parts["ann"].over][0])
    assert_allclose(found, found[0], rtol=1e-9)


def test_who_heads_somewhere_goes_and_lands_there_but_where_her_state_is_given(body, crude):
    row = crude.then(crude.mirrored(body))
    landing = len(crude.phases)
    law = Heads("ann", When(landing), 0.5, 0.4)
    stage, blocks = staged(body, row, law)
    part, unknowns = stage.parts["ann"], stage.unknowns
    block = next(b for b in blocks if b.kernel.name == "equal")
    x, knot = unknowns.guess.copy(), stage.knot("ann", law.when)
    x[part.q[knot, 3]], x[part.v[knot, :2]] = 0.5, 1.3 * np.array([np.cos(0.4), np.sin(0.4)])
    assert_allclose(block.values(x), 0.0, atol=1e-12)
    x[part.q[knot, 3]] += 0.1
    assert_allclose(block.values(x)[0], [0.1, 0.0], atol=1e-12)
    (mine,) = [k for k, (_, first, _) in enumerate(part.stances) if first == landing]
    assert unknowns.low[part.prints[mine, 2]] == pytest.approx(0.35)
    part.given.add(knot)
    assert law(stage) == []


def test_what_the_warp_cannot_do_is_refused(body, crude):
    with pytest.raises(ip.InputError, match="hurried or drawn out"):
        staged(body, crude, AtTime("ann", END, 9.0))
    staged(body, crude, AtTime("ann", END, 0.6), Within("ann", "left_sole", (1, 0, 0), When(2), END))


def test_a_layered_schedule_is_across_before_after():
    turns = list(Layered("ann", 6, 12).turns(None))
    assert [(w.first, w.end) for turn in turns for w in turn.free] == [(6, 12), (0, 6), (12, None)]
    assert [turn.near for turn in turns] == [False, True, True]


def test_rows_fade_into_each_other(body, crude):
    other = crude._replace(knots=crude.knots._replace(v=crude.knots.v * 1.5))
    knots, at = crude.then(other).knots, len(crude.knots.q) - 1
    assert_allclose(knots.v[at], (crude.knots.v[-1] + moved_v(crude, other)) / 2, atol=1e-9)
    assert_allclose(knots.v[0], crude.knots.v[0], atol=1e-9)
    assert_allclose(knots.v[-1, 2:], other.knots.v[-1, 2:], atol=1e-9)


def moved_v(row, other):
    """Return how another row begins where a row ends."""
    return moved(other.knots, place_of(other.knots.q[0]), place_of(row.knots.q[-1])).v[0]


def test_a_ramped_row_begins_as_slowly_as_asked(crude):
    ramped = crude.ramped(2.0)
    assert_allclose(ramped.knots.v[0], crude.knots.v[0] / 2, atol=1e-9)
    assert_allclose(ramped.knots.v[-1], crude.knots.v[-1], atol=1e-9)
    assert_allclose(ramped.knots.q[[0, -1]], crude.knots.q[[0, -1]], atol=1e-9)
    assert sum(p.seconds for p in ramped.phases) > 1.2 * sum(p.seconds for p in crude.phases)


@pytest.fixture(scope="module")
def walked(body):
    """One step from an optimal walk into the same."""
    score = scored(body, [actions.Walk(1.3, 1)])
    return composed(score), score


@pytest.mark.slow
def test_an_action_from_a_gait_into_itself_is_the_gait(walked):
    """Its ends are given; the best between them is what was there."""
    found, score = walked
    assert found.solved
    assert_allclose(found.x[found.parts["ann"].q[0]], score.doing.row.knots.q[0], atol=1e-9)
    worth = figures(found.parts["ann"], found.x)
    assert worth.root_worst < 0.1
    assert worth.slip < 1.5e-3


@pytest.mark.slow
def test_a_motion_that_obeys_physics_is_hardly_changed_by_being_made_physical(body, walked):
    """A clip of a walk that was found: joints stay within a few hundredths of a radian, and it holds."""
    made = physical({"ann": body}, perform("walk", walked[0]).clip())
    found, change = made.found, made.changes["ann"]
    assert found.solved
    assert change.joints < 0.05
    assert change.root < 0.02
    assert figures(found.parts["ann"], found.x).root_worst < 0.1


@pytest.mark.slow
def test_who_jumps_crouches_first_and_does_not_wait(body):
    """Hips go down by a fifth; no more than half of the time has gone when she does, and it holds in plain MuJoCo."""
    found = composed(scored(body, [actions.Jump(0.5)]))
    assert found.solved
    part = found.parts["ann"]
    q, times = found.x[part.q], part.times(found.x)
    lowest = int(q[: len(q) // 2, 2].argmin())
    assert q[lowest, 2] <= 0.8 * q[0, 2] + 1e-6
    assert times[lowest] < times[-1] / 2
    assert q[-1, 0] - q[0, 0] == pytest.approx(0.5, abs=1e-6)
    worth = figures(part, found.x)
    assert worth.root_worst < 0.1
    assert worth.slip < 1.5e-3
    assert worth.torque_ratio < 1.0


def test_an_interrupt_between_solves_leaves_what_there_is(body, crude):
    class Interrupted:
        def turns(self, problem):
            os.kill(os.getpid(), signal.SIGINT)
            yield problem.whole()

    found = find(Problem({"ann": crude.role(body, style(body))}), Interrupted())
    assert not found.solved
    assert found.solutions[-1].status == "interrupted"
    assert len(perform("crude", found).time) > 20


GOOD = """
models:
  ann: {humanoid: {height: 1.7}}
actions:
  ann:
    - {walk: 1.2, steps: 2}
hold:
  - {reach: ann/right_palm, at: [0.8, -0.3, 1.2], when: 2}
"""
BAD = [
    ("walk: 1.2", "wlak: 1.2", "did you mean 'walk'"),
    ("walk: 1.2", "walk: 40", "less than or equal to 8"),
    ("walk: 1.2", "walk: fast", "number"),
    ("steps: 2", "steps: 0", "greater than or equal to 1"),
    ("reach: ann/right_palm", "reach: bob/right_palm", "unknown model that acts 'bob'"),
    ("when: 2", "when: later", "expected 'begin' or 'end'"),
    ("actions:\n  ann:", "actions:\n  anna:", "unknown model 'anna'; did you mean 'ann'"),
    ("  ann: {humanoid: {height: 1.7}}", "  ann: {humanoid: {height: 1.7}}\n  bob: {humanoid: {}}", "inside"),
    ("hold:", "seconds: 0.8\nhold:\n  - {time: 0.85, of: ann, when: 2}", "later at a later"),
    ("models:\n  ann: {humanoid: {height: 1.7}}", "models:\n  ann: {ball: {}}", "no left_sole"),
    ("hold:", "schedul: joint\nhold:", "did you mean 'schedule'"),
]


@pytest.mark.parametrize(("old", "new", "said"), BAD)
def test_a_bad_file_is_refused_with_a_line_and_a_reason(tmp_path, old, new, said):
    path = tmp_path / "bad.yaml"
    path.write_text(GOOD.replace(old, new))
    problems = check(path, composition)
    assert problems
    assert any(said in p.message for p in problems), problems
    assert all(p.line >= 1 for p in problems)


def test_a_good_file_can_be_composed(tmp_path):
    path = tmp_path / "good.yaml"
    path.write_text(GOOD)
    assert check(path, composition) == []
    assert load_composition(path)().file.schedule == "joint"
    with pytest.raises(ip.InputError, match="speed"):
        load_composition(path)({"speed": 3})
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(GOOD.replace("walk", "wlak"))
    said = CliRunner().invoke(app, ["compose", str(wrong), "--out", str(tmp_path / "out")])
    assert isinstance(said.exception, ScriptError)
    assert said.exception.problems[0].line == 6


def test_what_is_no_walk_is_refused_by_name(body, monkeypatch):
    """A gait that is not found is named, with a speed at which there is one."""
    from interplay.spacetime.solving import Solution

    lost = Solution(np.zeros(1), False, 0.0, 1.0, ("speed",), "Infeasible_Problem_Detected", 9, 0.1)
    monkeypatch.setattr(actions, "gait", lambda *a, **k: type("Lost", (), {"solutions": (lost,)})())
    with pytest.raises(ip.InputError, match=r"no walk at 7 m/s.*speed.*such as 1.3"):
        scored(body, [actions.Walk(7.0, 1)])


def held(**changes):
    """Return what a file says of two who hold hands, but for some changes."""
    said = {
        "mother": "{walk: 1.0, steps: 4}",
        "child": "{walk: 1.0, steps: 6}",
        "hold": "{hold_hands: [mother, child]}",
    }
    said |= {"schedule": "joint"} | changes
    return (
        "models:\n  mother: {humanoid: {height: 1.68, mass: 60}}\n  child: {humanoid: {height: 1.15, mass: 21}}\n"
        f"actions:\n  mother: [{said['mother']}]\n  child: [{said['child']}]\nhold:\n  - {said['hold']}\n"
        f"schedule: {said['schedule']}\n"
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"child": "{walk: 1.0, steps: 5}"}, "steps of child: expected an even number, got 5"),
        ({"child": "{walk: 1.2, steps: 6}"}, "at one speed, got 1, 1.2 m/s"),
        ({"child": "{run: 3.0, steps: 6}"}, "expected one walk of child"),
        ({"hold": "{hold_hands: [mother, mother]}"}, "each once"),
        ({"hold": "{hold_hands: [mother, child], leader: father}"}, "father"),
        ({"schedule": "layered"}, "expected joint or alternating"),
    ],
)
def test_hands_that_cannot_be_held_are_refused_before_anything_is_solved(tmp_path, changes, told):
    path = tmp_path / "hands.yaml"
    path.write_text(held())
    assert check(path, composition) == []
    path.write_text(held(**changes))
    assert told in " ".join(str(problem) for problem in check(path, composition))


def test_held_hands_from_python():
    scene = ip.Scene().add(ip.Humanoid(1.68, 60.0), "mother").add(ip.Humanoid(1.15, 21.0), "child", pos=(0, 1))
    doing = {"mother": [walk(1.0, 4)], "child": [walk(1.0, 6)]}
    walkers, speed = hold_hands("mother", "child", leader="child").walkers(scene, doing)
    assert [(one.name, one.steps, one.leads) for one in walkers] == [("mother", 4, "left"), ("child", 6, "right")]
    assert speed == 1.0
    assert walkers[1].model is scene.placed("child")
    with pytest.raises(ip.InputError, match="nothing else must hold"):
        ip.compose(scene, doing, [hold_hands("mother", "child"), pass_by("mother", "child")])
    with pytest.raises(ip.InputError, match="all who act hold hands"):
        ip.compose(scene, {**doing, "dog": [walk(1.0)]}, [hold_hands("mother", "child")])


def test_a_clip_is_an_action_of_a_file(tmp_path):
    said = (
        "models:\n  ann: {humanoid: {height: 1.74, mass: 68}}\nactions:\n  ann: [{clip: CLIP, end: 1.1}, {run: 2.5}]\n"
    )
    path = tmp_path / "on.yaml"
    ip.Clip.load("walk").save(tmp_path / "mine.clip")
    for name in ("walk", "mine.clip"):
        path.write_text(said.replace("CLIP", name))
        assert check(path, composition) == []
        scores, _ = load_composition(path)().asked(crude=True)
        row = scores["ann"].doing.row
        assert sum(phase.seconds for phase in row.phases) > 1.1  # the clip, then two steps of a run
        assert scores["ann"].doing.seams
    for name, told in (("wolk", "did you mean 'walk'"), ("../mine.clip", "folder"), ("none.clip", "none.clip")):
        path.write_text(said.replace("CLIP", name))
        assert told in " ".join(str(problem) for problem in check(path, composition))
