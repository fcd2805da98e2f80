"""Tapes against CasADi's own machine and central differences; what is kept on disk; problems that cannot be solved, or not in time."""

import threading
import time as clock

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import interplay as ip

ca = pytest.importorskip("casadi")

from interplay.spacetime import keeping, kernels  # noqa: E402
from interplay.spacetime.blocks import Block, Kernel, Unknowns  # noqa: E402
from interplay.spacetime.body import ROOT, Body  # noqa: E402
from interplay.spacetime.solving import solve  # noqa: E402
from interplay.spacetime.tapes import LANES, tape  # noqa: E402


def test_a_tape_gives_what_casadi_gives_to_the_bit():
    """Second derivatives of a function with about every operation, at numbers of places that fill batches and do not."""
    x, y = ca.SX.sym("x", 4), ca.SX.sym("y", 2)
    a, b, c, d = ca.vertsplit(x)
    u, v = ca.vertsplit(y)
    whole = ca.sin(a * b) * ca.exp(-c) + ca.sqrt(1 + d**2) / (2 + ca.cos(u)) + ca.atan2(a + 3, b) * ca.log(2 + v**2)
    whole += ca.fmax(a, b) * ca.if_else(c > d, c, 2 * d) + ca.fabs(u) * ca.tanh(v) + ca.tan(0.1 * a) ** 3
    f = ca.Function("f", [x, y], [whole, ca.gradient(whole, x), ca.triu(ca.hessian(whole, x)[0])])
    written, rng = tape(f), np.random.default_rng(1)
    for places in (1, LANES, 2 * LANES + 3):
        given = rng.normal(size=(6, places))
        found = written.run(given, np.zeros(0))[:, :places]
        for k in range(places):
            expected = np.concatenate([np.array(one.nonzeros()) for one in f(given[:4, k], given[4:, k])])
            assert_array_equal(found[:, k], expected)


def test_what_is_not_known_to_tapes_is_named():
    x = ca.SX.sym("x")
    with pytest.raises(NotImplementedError, match="OP_ERF"):
        tape(ca.Function("f", [x], [ca.erf(x)]))


def dynamics(body):
    """Inverse dynamics as rows, with a cost."""
    n = body.n
    return Kernel(
        "dynamics", 3 * n, 0, lambda y, c: (ca.sumsqr(y), body.inverse_dynamics(y[:n], y[n : 2 * n], y[2 * n :]))
    )


def bodies(*sizes):
    return [Body(ip.Scene().add(ip.Humanoid(*size), "ann"), "ann") for size in sizes]


def test_bodies_of_the_same_joints_share_derivatives():
    """Which are those of each: first and second ones against central differences of values that CasADi gives."""
    found = [(body, dynamics(body)) for body in bodies((1.74, 68), (1.2, 25))]
    assert found[0][1].tapes is found[1][1].tapes
    rng, h = np.random.default_rng(2), 1e-5
    for body, kernel in found:
        n = body.n
        q = ca.SX.sym("q", 3 * n)
        plain = ca.Function("f", [q], [body.inverse_dynamics(q[:n], q[n : 2 * n], q[2 * n :])])
        z, way, lam = 0.5 * rng.normal(size=3 * n), rng.normal(size=3 * n), rng.normal(size=n)
        value, ahead, curve = kernel.tapes.value, kernel.tapes.jacobian, kernel.tapes.hessian
        rows = value.run(z[:, None], kernel.blanks)[1:, 0]
        assert_allclose(rows, np.asarray(plain(z)).ravel(), rtol=1e-12, atol=1e-12 * np.abs(rows).max())

        def slope(at, ahead=ahead, kernel=kernel, lam=lam):
            entries, out = ahead.run(at[:, None], kernel.blanks)[:, 0], np.zeros((len(lam), len(at)))
            out[ahead.row, ahead.column] = entries
            return out

        differences = np.asarray(plain(z + h * way) - plain(z - h * way)).ravel() / (2 * h)
        assert_allclose(slope(z) @ way, differences, atol=1e-6 * np.abs(differences).max())
        entries = curve.run(np.concatenate([z, [0.0], lam])[:, None], kernel.blanks)[:, 0]
        half = np.zeros((3 * n, 3 * n))
        half[curve.row, curve.column] = entries
        bent = (half + half.T - np.diag(half.diagonal())) @ way
        differences = (lam @ slope(z + h * way) - lam @ slope(z - h * way)) / (2 * h)
        assert_allclose(bent, differences, atol=1e-5 * np.abs(differences).max())


def test_what_is_kept_is_read_again_and_made_anew_where_it_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kernels, "LONG", 0.0)
    monkeypatch.setattr(kernels, "_made", {})

    def kernel():
        kernels._made.clear()
        return Kernel("small", 3, 1, lambda y, c: (ca.sumsqr(y) * 0.3, ca.sin(y) * c[0] * 1.7))

    first = kernel()
    (file,) = keeping.folder().glob("*.npz")
    whole, rng = file.read_bytes(), np.random.default_rng(3)

    def same(other):
        for one, two in zip(first.tapes, other.tapes, strict=True):
            given = rng.normal(size=(one.inputs, 5))
            assert_array_equal(one.run(given, first.blanks), two.run(given, other.blanks))

    monkeypatch.setattr(kernels, "_derived", lambda *_: pytest.fail("it was kept"))
    same(kernel())
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kernels, "LONG", 0.0)
    for damaged in (whole[: len(whole) // 2], b"", whole[:200] + bytes(100) + whole[300:]):
        file.write_bytes(damaged)
        same(kernel())
        assert len(file.read_bytes()) == len(whole)  # written anew
    crowd = [threading.Thread(target=keeping.keep, args=("one", {"a": np.full(50_000, k)})) for k in range(8)]
    for writer in crowd:
        writer.start()
    while any(writer.is_alive() for writer in crowd):
        found = keeping.kept("one")
        assert found is None or len(np.unique(found["a"])) == 1
    assert not list(keeping.folder().glob("*.new"))


def test_where_nothing_can_be_kept_it_is_derived(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(kernels, "LONG", 0.0)
    assert Kernel("odd", 2, 0, lambda y, c: (y[0] ** 2, y[1] * 0.123)).tapes.value.outputs == 2


def fighting():
    """Three points of which one is to be on the circles of radius 0.2 and 1, the others on one each."""
    unknowns = Unknowns()
    where = unknowns.add("x", np.full((3, 2), 0.1))
    kernel = Kernel("value", 2, 1, lambda y, c: (ca.sumsqr(y - 0.3), ca.sumsqr(y) - c[0] ** 2))
    zero = np.zeros((1, 1))

    def block(place, value, name):
        return Block(kernel, where[place : place + 1], np.array([[value]]), zero, zero, lambda p, r: name)

    return unknowns, [block(0, 0.2, "here"), block(0, 1.0, "there"), block(1, 0.5, "elsewhere"), block(2, 2.0, "far")]


def test_laws_that_fight_are_named_and_no_others():
    found = solve(*fighting())
    assert not found.solved
    assert found.status == "infeasible"
    assert set(found.worst) <= {"here", "there"}
    assert found.worst


def test_a_limit_of_time_is_kept_and_said():
    """It is one of the processor: what only takes long by the clock, as on a machine that computes much else, is solved."""
    unknowns = Unknowns()
    where = unknowns.add("x", np.full((1, 2), -1.5))
    valley = Kernel("valley", 2, 0, lambda y, c: (100 * (y[1] - y[0] ** 2) ** 2 + (1 - y[0]) ** 2, y[0] + y[1]))
    block = Block(valley, where, np.zeros((1, 0)), np.full((1, 1), -9.0), np.full((1, 1), 9.0), lambda p, r: "sum")
    assert solve(unknowns, [block]).status == "solved"
    late = solve(unknowns, [block], seconds=0.0)
    assert late.status == "out of time"
    assert np.isfinite(late.x).all()
    assert solve(unknowns, [block], patience=2).status == "out of iterations"

    def busy(*_):
        until = clock.process_time() + 0.1
        while clock.process_time() < until:
            pass

    slow = solve(unknowns, [block], seconds=0.5, progress=lambda *_: clock.sleep(0.05))
    assert slow.status == "solved"
    assert slow.seconds > 0.5
    late = solve(unknowns, [block], seconds=0.5, progress=busy)
    assert late.status == "out of time"
    assert late.iterations <= 6


def balls_on_a_line(begin):
    """Two balls of radius 0.5 that like to be at 0 and at 0.2, and must keep off each other; and one that likes 9."""
    unknowns = Unknowns()
    where = unknowns.add("x", np.array(begin)[:, None])
    zero, none = np.zeros((3, 1)), np.zeros((3, 0))
    likes = Kernel("likes", 1, 1, lambda y, c: ((y[0] - c[0]) ** 2, ca.SX(0, 1)))
    apart = Kernel("apart", 2, 0, lambda y, c: (0, 1.01 / ((y[1] - y[0]) ** 2 + 0.01)))
    pairs, high = where[[[0, 1], [1, 2], [0, 2]], 0], np.ones((3, 1))
    free = np.zeros((3, 0))
    return unknowns, [
        Block(likes, where, np.array([[0.0], [0.2], [9.0]]), free, free, lambda p, r: ""),
        Block(apart, pairs, none, zero - np.inf, high, lambda p, r: f"pair {p}", 0.7),
    ]


def test_rows_that_sleep_wake_where_what_was_found_violates_them():
    """The same solution, whether a pair is near at first or not; who is never near stays asleep."""
    for begin in ([-0.5, 0.6, 8.0], [-3.0, 3.0, 9.0]):
        unknowns, blocks = balls_on_a_line(begin)
        assert list(blocks[1].near(unknowns.guess)[:, 0]) == [begin[0] > -1, False, False]
        found = solve(unknowns, blocks)
        assert found.solved
        assert_allclose(found.x, [-0.4, 0.6, 9.0], atol=2e-3)
        assert found.violation < 1e-6


def test_rows_that_sleep_are_told_where_there_is_no_time_to_wake():
    unknowns, blocks = balls_on_a_line([-3.0, 3.0, 9.0])
    asleep = solve(unknowns, blocks).iterations
    for patience in range(1, asleep):
        found = solve(unknowns, blocks, patience=patience)
        if not found.solved:
            assert found.worst == ("pair 0",)
            assert found.violation > 1e-5
            break
    else:
        pytest.fail("there was always time")


def test_torques_to_begin_with_are_those_that_the_motion_takes():
    """Where nothing is known of them: rows of the hinges then hold but for what motors cannot give."""
    from interplay.spacetime.gaits import GAITS, guess
    from interplay.spacetime.part import Part
    from interplay.spacetime.styles import style

    (body,) = bodies((1.74, 68))
    unknowns, phases = Unknowns(), [phase._replace(intervals=2) for phase in GAITS["walk"][1.3]]
    part = Part(body, phases, style(body), unknowns, guess(body, phases, 1.2))
    rows = part.blocks()[0].values(unknowns.guess)[:, ROOT:]
    able = np.abs(unknowns.guess[part.tau]) < unknowns.high[part.tau] - 1e-9
    assert able.mean() > 0.9
    assert_allclose(rows[able], 0.0, atol=1e-12)


def test_forces_to_begin_with_are_those_that_the_motion_takes():
    """Less than half as much is left of the root's equations of motion as where corners share the weight; friction can hold them."""
    from interplay.spacetime.gaits import GAITS, guess
    from interplay.spacetime.part import FORCE, FRICTION, Part
    from interplay.spacetime.styles import style

    (body,) = bodies((1.74, 68))
    for kind, speed in (("walk", 1.3), ("run", 3.0)):
        unknowns, phases = Unknowns(), GAITS[kind][speed]
        part = Part(body, phases, style(body, kind, speed=speed), unknowns, guess(body, phases, speed))
        shared, stands = unknowns.guess.copy(), unknowns.high[part.force[..., 2]] > 0
        moves = part.blocks()[0]
        left, before = (np.linalg.norm(moves.values(x)[:, :ROOT], axis=1) for x in (unknowns.guess, shared))
        assert left.mean() < 0.5 * before.mean()
        force = unknowns.guess[part.force]
        assert (force[~stands] == 0).all()
        assert (np.linalg.norm(force[..., :2], axis=-1) <= FRICTION * force[..., 2] + 1e-12).all()
        seconds = np.repeat([p.seconds / p.intervals / 2 for p in phases for _ in range(p.intervals)], 2)
        carried = FORCE * force[..., 2].sum(axis=(1, 2)) @ seconds / sum(p.seconds for p in phases)
        assert carried == pytest.approx(body.mass * body.gravity, rel=0.1)
