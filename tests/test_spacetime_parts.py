"""Parts with ends, and problems of any number of them: what is given is kept, windows join, what repeats repeats, judged by plain MuJoCo."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip

ca = pytest.importorskip("casadi")

from interplay.spacetime.body import Body  # noqa: E402
from interplay.spacetime.checking import figures  # noqa: E402
from interplay.spacetime.ends import Knots, again, knots_of, moved, place_of  # noqa: E402
from interplay.spacetime.gaits import GAITS, gait, guess  # noqa: E402
from interplay.spacetime.part import Course  # noqa: E402
from interplay.spacetime.performing import perform  # noqa: E402
from interplay.spacetime.problem import BEGIN, END, Problem, Role, Stage, Turn, When, Window, find, refine  # noqa: E402
from interplay.spacetime.styles import style  # noqa: E402


@pytest.fixture(scope="module")
def walked():
    """Half a cycle of a walk, as a role that begins there and ends there."""
    body = Body(ip.Scene().add(ip.Humanoid(1.74, 68), "ann"), "ann")
    found = gait(body, "walk", 1.3)
    knots = knots_of(found.part, found.x)
    return Role(body, tuple(found.part.phases), found.part.style, knots.course(found.part.phases), knots), found


def test_a_window_keeps_its_ends_and_all_else(walked):
    """The last two phases anew, a little disturbed: what was found before and at the ends stays, and it holds again."""
    role, _ = walked
    first = sum(p.intervals for p in role.phases[:2])
    q = role.knots.q.copy()
    q[first + 2 : -2, 10:] += 0.02
    problem = Problem({"ann": role._replace(knots=role.knots._replace(q=q))})

    class Last:
        def turns(self, problem):
            return [Turn((Window("ann", first=2),), near=True)]

    def ends(stage):
        from interplay.spacetime.ends import hold

        return hold(stage.parts["ann"], stage.parts["ann"].intervals)

    problem.laws.append(ends)
    found = find(problem, Last())
    assert found.solved
    part = found.parts["ann"]
    knots = knots_of(part, found.x)
    assert_allclose(knots.q[: first + 1], role.knots.q[: first + 1], atol=1e-12)
    assert_allclose(knots.q[-1], role.knots.q[-1], atol=1e-9)
    assert_allclose(knots.v[-1], role.knots.v[-1], atol=1e-9)
    worth = figures(part, found.x)
    assert worth.root_worst < 0.1
    assert worth.slip < 1.5e-3
    performed = perform("window", found)
    assert performed.time[-1] == pytest.approx(part.times(found.x)[-1], abs=0.011)


def test_what_follows_a_loose_window_moves_along(walked):
    """Moved and turned as a whole: places by the turn, velocities and forces turned with it, heights and joints as they were."""
    role, _ = walked
    there = np.array([2.0, -1.0, 0.7])
    gone = moved(role.knots, place_of(role.knots.q[0]), there)
    assert_allclose(place_of(gone.q[0]), there)
    travelled, was = gone.q[-1, :2] - gone.q[0, :2], role.knots.q[-1, :2] - role.knots.q[0, :2]
    turn = 0.7 - role.knots.q[0, 3]
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    assert_allclose(travelled, R @ was, atol=1e-12)
    assert_allclose(gone.v[:, :2], role.knots.v[:, :2] @ R.T, atol=1e-12)
    assert_allclose(gone.q[:, 4:], role.knots.q[:, 4:])
    assert_allclose(np.linalg.norm(gone.force, axis=-1), np.linalg.norm(role.knots.force, axis=-1), atol=1e-12)


def test_knots_on_another_mesh_are_the_same_motion(walked):
    role, _ = walked
    finer = tuple(p._replace(intervals=2 * p.intervals) for p in role.phases)
    fine = role.knots.on(role.phases, finer)
    assert_allclose(fine.q[::2], role.knots.q, atol=1e-12)
    assert_allclose(fine.v[::2], role.knots.v, atol=1e-10)
    assert_allclose(Knots.joined([fine.between(finer, 0, 2), fine.between(finer, 2, None)]).q, fine.q)
    assert fine.course(finer).time[-1] == pytest.approx(role.knots.course(role.phases).time[-1])


@pytest.mark.slow
def test_a_mesh_becomes_finer_where_it_is_rough_and_coarser_nowhere(walked):
    """Of a motion that holds, as a sketch, no phase loses intervals; where one is so coarse that it does not hold, it gets more."""
    role, _ = walked
    problem = Problem({"ann": role})
    stage = Stage(problem, problem.whole())
    assert refine(problem, stage, stage.unknowns.guess, sketch=True)
    assert all(
        new.intervals >= old.intervals for new, old in zip(problem.roles["ann"].phases, role.phases, strict=True)
    )
    coarse = tuple(phase._replace(intervals=2) for phase in role.phases)
    problem = Problem({"ann": role._replace(phases=coarse, knots=role.knots.on(role.phases, coarse))})
    stage = Stage(problem, problem.whole())
    assert refine(problem, stage, stage.unknowns.guess)
    assert sum(phase.intervals for phase in problem.roles["ann"].phases) > sum(phase.intervals for phase in coarse)


def test_a_full_cycle_begins_again_where_it_ends():
    """A whole cycle of a walk at 1.2 m/s, without mirror image, that ends a quarter of a radian to the left."""
    body = Body(ip.Scene().add(ip.Humanoid(1.74, 68), "ann"), "ann")
    half = tuple(phase._replace(intervals=min(phase.intervals, 4)) for phase in GAITS["walk"][1.3])
    other = tuple(p._replace(left=p.right, right=p.left) for p in half)
    begin = guess(body, half, 1.2)
    order, sign = body.mirror()
    q = np.concatenate([begin.q, (sign * begin.q[:, order])[1:]])
    q[len(begin.q) :, 0] += begin.q[-1, 0]
    times = np.concatenate([begin.time, begin.time[-1] + begin.time[1:]])
    role = Role(body, (*half, *other), style(body), Course(times, q, np.gradient(q, times, axis=0)))

    def cycle(stage):
        part, unknowns = stage.parts["ann"], stage.unknowns
        for where, value in (*zip(part.q[0, :2], (0.0, 0.0), strict=True), (part.q[-1, 3], 0.25), (part.q[0, 3], 0.0)):
            unknowns.low[where] = unknowns.high[where] = value
        unknowns.low[part.q[-1, 0]] = unknowns.high[part.q[-1, 0]] = 1.2
        return again(part)

    found = find(Problem({"ann": role}, [cycle]), meshes=1)
    assert found.solved
    part = found.parts["ann"]
    knots = knots_of(part, found.x)
    rolled = moved(knots, place_of(knots.q[0]), place_of(knots.q[-1]))
    assert_allclose(rolled.q[0], knots.q[-1], atol=1e-6)
    assert_allclose(rolled.v[0], knots.v[-1], atol=1e-5)
    assert figures(part, found.x).slip < 1.5e-3


def test_moments_are_found_in_their_window(walked):
    """By phase of the whole row, wherever the window begins."""
    role, _ = walked
    problem = Problem({"ann": role})
    stage, late = Stage(problem, problem.whole()), Stage(problem, Turn((Window("ann", first=2),)))
    assert stage.knot("ann", BEGIN) == 0
    assert stage.knot("ann", END) == stage.parts["ann"].intervals
    assert late.knot("ann", When(1)) is None
    assert late.knot("ann", When(2)) == 0
    assert late.knot("ann", When(2, 1.0)) == role.phases[2].intervals
    assert late.knot("bob", END) is None
