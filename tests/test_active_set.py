"""The active-set solver on its own: random, degenerate and redundant problems, infeasible ones, and sequences of problems."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from interplay.qp.active_set import ActiveSet
from interplay.qp.problem import QP, QPSolution
from interplay.qp.solvers import Piqp


class NoSafeguard:
    """Stands in for PIQP where the method must settle by itself."""

    name = "none"

    def solve(self, qp):
        return QPSolution(np.zeros(len(qp.c)), False, "not settled", 0, np.inf, np.inf, np.inf, 0.0)


def alone():
    return ActiveSet(NoSafeguard())


def make(P, c, A=None, b=(), G=None, low=(), high=(), x_l=None, x_u=None, pattern=None):
    n = len(c)
    csc = sparse.csc_matrix
    return QP(
        csc(np.triu(P)),
        np.asarray(c, float),
        csc(np.zeros((0, n)) if A is None else A),
        np.asarray(b, float),
        csc(np.zeros((0, n)) if G is None else G),
        np.asarray(low, float),
        np.asarray(high, float),
        np.full(n, -np.inf) if x_l is None else np.asarray(x_l, float),
        np.full(n, np.inf) if x_u is None else np.asarray(x_u, float),
        pattern,
    )


def random_qp(rng, n=20, eq=5, rows=30, density=0.4, feasible=True):
    """A strictly convex QP; feasible ones hold at a random point, with some rows tight there."""
    L = rng.normal(size=(n, n)) * (rng.random((n, n)) < density)
    P = L @ L.T + 10.0 ** rng.uniform(-4, 0) * np.eye(n)
    A, G = (rng.normal(size=(k, n)) * (rng.random((k, n)) < density) for k in (eq, rows))
    x = rng.normal(size=n)
    slack = np.where(rng.random(rows) < 0.3, 0.0, rng.exponential(1.0, rows))
    low, high = G @ x - slack, G @ x + rng.exponential(2.0, rows)
    low[rng.random(rows) < 0.3], high[rng.random(rows) < 0.3] = -np.inf, np.inf
    x_l = np.where(rng.random(n) < 0.5, x - rng.exponential(0.3, n), -np.inf)
    x_u = np.where(rng.random(n) < 0.5, x + rng.exponential(0.3, n), np.inf)
    if not feasible:
        G = np.vstack([G, G[0]])
        low, high = np.append(low, G[0] @ x + 5.0), np.append(high, np.inf)
        high[0] = G[0] @ x + 1.0
    return make(P, 10.0 * rng.normal(size=n), A, A @ x, G, low, high, x_l, x_u)


def check_optimal(qp, found, tol=1e-7):
    """The optimality conditions, by another solver's objective: feasible, and not worse."""
    assert found.solved, found.status
    assert qp.violation(found.x) < tol * 10
    best = Piqp(1e-10).solve(qp)
    assert best.solved
    value = qp.objective(best.x)
    assert qp.objective(found.x) <= value + tol * (1 + abs(value))
    assert_allclose(found.x, best.x, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("seed", range(200))
def test_random_problems(seed):
    rng = np.random.default_rng(seed)
    qp = random_qp(rng, n=int(rng.integers(1, 40)), eq=int(rng.integers(0, 1)), rows=int(rng.integers(0, 60)))
    check_optimal(qp, alone().solve(qp))


@pytest.mark.parametrize("seed", range(100))
def test_random_problems_with_equalities(seed):
    rng = np.random.default_rng(1000 + seed)
    qp = random_qp(rng, n=30, eq=int(rng.integers(1, 15)), rows=int(rng.integers(0, 60)))
    check_optimal(qp, alone().solve(qp))


@pytest.mark.parametrize("seed", range(50))
def test_redundant_equalities(seed):
    """Equalities that repeat and combine others change nothing."""
    rng = np.random.default_rng(2000 + seed)
    qp = random_qp(rng, n=20, eq=6, rows=20)
    mix = rng.normal(size=(5, 6))
    A = np.vstack([qp.A.toarray(), mix @ qp.A.toarray(), qp.A.toarray()[:2]])
    more = qp._replace(A=sparse.csc_matrix(A), b=np.concatenate([qp.b, mix @ qp.b, qp.b[:2]]))
    check_optimal(more, alone().solve(more))
    assert_allclose(alone().solve(more).x, alone().solve(qp).x, atol=1e-6)


@pytest.mark.parametrize("seed", range(50))
def test_degenerate_problems(seed):
    """More rows hold at the solution than there are variables: repeated, scaled and combined rows."""
    rng = np.random.default_rng(3000 + seed)
    qp = random_qp(rng, n=12, eq=2, rows=15)
    G, scale = qp.G.toarray(), rng.uniform(0.5, 2.0, 15)[:, None]
    more = qp._replace(
        G=sparse.csc_matrix(np.vstack([G, scale * G, G])),
        h_l=np.concatenate([qp.h_l, scale[:, 0] * qp.h_l, qp.h_l]),
        h_u=np.concatenate([qp.h_u, scale[:, 0] * qp.h_u, qp.h_u]),
    )
    check_optimal(more, alone().solve(more))


def test_a_vertex_with_many_facets():
    """The apex of a cone of 200 facets is the solution: every row holds, three would do."""
    angle = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    G = np.column_stack([np.cos(angle), np.sin(angle), np.ones(200)])
    qp = make(np.eye(3), [0.3, -0.2, 5.0], G=G, low=np.zeros(200), high=np.full(200, np.inf))
    found = alone().solve(qp)
    assert found.solved
    assert_allclose(found.x, 0, atol=1e-9)


@pytest.mark.parametrize("seed", range(100))
def test_infeasible_problems_are_detected(seed):
    rng = np.random.default_rng(4000 + seed)
    qp = random_qp(rng, n=20, eq=int(rng.integers(0, 10)), rows=30, feasible=False)
    found = alone().solve(qp)
    assert not found.solved
    assert found.status == "infeasible"


def test_crossed_bounds_and_empty_rows():
    qp = make(np.eye(2), [1.0, 1.0], x_l=[1.0, 0.0], x_u=[0.0, 1.0])
    assert alone().solve(qp).status == "infeasible"
    qp = make(np.eye(2), [1.0, 1.0], G=np.zeros((1, 2)), low=[-1.0], high=[np.inf])
    assert_allclose(alone().solve(qp).x, [-1, -1], atol=1e-9)
    qp = make(np.eye(2), [1.0, 1.0], G=np.zeros((1, 2)), low=[1.0], high=[np.inf])
    assert alone().solve(qp).status == "infeasible"


def test_contradicting_equalities_are_left_to_the_safeguard():
    A = np.array([[1.0, 1.0], [1.0, 1.0]])
    found = ActiveSet(Piqp()).solve(make(np.eye(2), [0.0, 0.0], A, [1.0, 2.0]))
    assert not found.solved


def test_a_problem_without_curvature_is_left_to_the_safeguard():
    """A linear program is not what the method is for; the safeguard solves it, and the status says so."""
    qp = make(
        np.zeros((2, 2)), [-1.0, -2.0], G=np.array([[1.0, 1.0]]), low=[-np.inf], high=[1.0], x_l=[0, 0], x_u=[1, 1]
    )
    found = ActiveSet(Piqp()).solve(qp)
    assert found.solved
    assert_allclose(found.x, [0, 1], atol=1e-6)


def test_fixed_variables_and_rows_of_one_bound():
    qp = make(np.eye(3), [0, 0, 1.0], G=[[1.0, 1.0, 0]], low=[2.0], high=[2.0], x_l=[0.5, -9, -9], x_u=[0.5, 9, 9])
    assert_allclose(alone().solve(qp).x, [0.5, 1.5, -1.0], atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_a_sequence_starts_from_the_last_working_set(seed):
    """Slowly changing problems of one pattern: each is solved, and after the first with few changes."""
    rng = np.random.default_rng(5000 + seed)
    qp, drift = random_qp(rng, n=30, eq=6, rows=50, density=0.3), rng.normal(size=30)
    key, solver, changes = object(), alone(), []
    for k in range(40):
        step = qp._replace(c=qp.c + 0.02 * k * drift, pattern=key)
        found = solver.solve(step)
        check_optimal(step, found)
        changes.append(found.iterations)
    assert sum(changes[1:]) / 39 < 2
    assert sum(changes[1:]) / 39 <= changes[0]


@pytest.mark.parametrize("seed", range(5))
def test_long_rows_come_and_go(seed):
    """Rows over all variables are a border of the factorised matrix; more than it holds are left to the safeguard."""
    rng = np.random.default_rng(6000 + seed)
    n = 60
    x = rng.normal(size=n)
    G = rng.normal(size=(100, n))
    key, solver = object(), ActiveSet(Piqp())
    for scale in (0.1, 1.0, 10.0, 1.0, 0.0):
        qp = make(np.eye(n), scale * rng.normal(size=n) - x, G=G, low=G @ x - 0.01, high=G @ x + 1.0, pattern=key)
        check_optimal(qp, solver.solve(qp))


def test_many_long_rows_are_kept_from_problem_to_problem():
    """Each of 40 long rows holds; the next problem starts with all of them."""
    rng = np.random.default_rng(7)
    n = 60
    G = np.linalg.qr(rng.normal(size=(n, n)))[0][:40]
    key, solver = object(), alone()
    changes = []
    for _ in range(4):
        qp = make(np.eye(n), np.zeros(n), G=G, low=np.ones(40), high=np.full(40, np.inf), pattern=key)
        found = solver.solve(qp)
        assert found.solved, found.status
        changes.append(found.iterations)
    assert changes[0] == 40
    assert changes[1:] == [0, 0, 0]


def test_what_seems_infeasible_is_confirmed():
    """A row that hardly moves is not one that cannot."""
    A, G = np.array([[1.0, 0.0]]), np.array([[1.0, 2e-4]])
    found = ActiveSet(Piqp()).solve(make(np.eye(2), [0.0, 0.0], A, [0.0], G, [0.01], [np.inf]))
    assert found.solved
    assert_allclose(found.x, [0.0, 50.0], rtol=1e-4, atol=1e-4)


def test_identical_long_rows_do_not_raise():
    row = np.ones((1, 12))
    qp = make(1e-6 * np.eye(12), np.ones(12), G=np.vstack([row, row]), low=[1.0, 1.0], high=[1.0, 1.0])
    found = ActiveSet(Piqp()).solve(qp)
    assert found.solved
    assert row @ found.x == pytest.approx(1.0, abs=1e-5)
