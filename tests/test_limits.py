"""Limits: every one's Jacobian against central differences; what they hold, in which order they give way, how they are named."""

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay.constraints.speed import _DIRECTIONS, _INSIDE

INF = np.inf
PALM = "ann/right_palm"


def point_of(name):
    """Where a site or the frame of a body is."""

    def place(scene, terms):
        site = mujoco.mj_name2id(scene.model, mujoco.mjtObj.mjOBJ_SITE, name)
        return terms.site_xpos[site] if site >= 0 else terms.xpos[scene.body(name)]

    return place


def along_directions(name):
    return lambda scene, terms: _DIRECTIONS @ point_of(name)(scene, terms)


LIMITS = {
    "speed": (lambda: ip.SpeedLimit(PALM, 0.7), along_directions(PALM)),
    "speed-object": (lambda: ip.SpeedLimit("box", 2.0), along_directions("box")),
    "within": (lambda: ip.KeepWithin(PALM, (0, -1, 0.2), (0.5, 0.3, 1.8)), point_of(PALM)),
    "within-open": (lambda: ip.KeepWithin("ann/head", (-INF, -INF, 1.0), (INF, INF, INF)), point_of("ann/head")),
}
"""Every limit, and the quantity (dim,) whose velocity its rows turn: that of which they bound the acceleration."""


@pytest.fixture(scope="module")
def scene():
    s = ip.Scene()
    s.add(ip.Humanoid(1.7, 65, "female"), "ann")
    s.add(ip.Box(), "box", pos=(0.5, 0, 1))
    return s


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", LIMITS)
def test_jacobian_against_central_differences(scene, name, seed):
    make, quantity = LIMITS[name]
    limit, terms, m, rng, h = make(), scene.kinematics(), scene.model, np.random.default_rng(seed), 1e-6
    limit.attach(scene)
    q = scene.qpos
    mujoco.mj_integratePos(m, q, rng.normal(0, 0.3, m.nv), 1.0)
    terms.update(q, rng.normal(0, 1.0, m.nv))
    J, lower, upper = limit.checked_rows(terms, 0.0, 0.005)
    assert J.shape == (limit.dim, len(limit.dofs))
    assert (np.diff(limit.dofs) > 0).all()
    assert (lower <= upper).all()
    for _ in range(4):
        direction, ends = rng.normal(size=m.nv), []
        for s in (h, -h):
            moved = q.copy()
            mujoco.mj_integratePos(m, moved, direction, s)
            terms.place(moved)
            ends.append(np.array(quantity(scene, terms)))
        assert_allclose(J @ direction[limit.dofs], (ends[0] - ends[1]) / (2 * h), atol=2e-7)
    assert [limit.row_name(k).startswith(limit.label) for k in range(limit.dim)] == [True] * limit.dim


# -- the speed of a point ----------------------------------------------------------------------------------------------


def circling(t):
    return 0.45, -0.2 + 0.35 * np.sin(6 * t), 1.1 + 0.3 * np.sin(4 * t)


def reaching(limits, dt=0.005, goal=circling, **options):
    """Someone whose hand is asked to follow something fast."""
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.7), "ann"), dt, **options)
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", ip.GROUND)
    sim.objectives += [
        ip.Posture("ann"),
        ip.Com("ann"),
        ip.Point(PALM, goal, weight=200.0, stiffness=200.0, max_speed=INF),
    ]
    sim.limits += limits
    return sim


def way(sim, seconds, kinds=frozenset()):
    """Positions (T, 3) of the palm at every step; nothing gives way but what may."""
    site = sim.scene.site(PALM)
    places = [sim.terms.site_xpos[site].copy()]
    for _ in range(round(seconds / sim.dt)):
        assert {c.kind for c in sim.step().conflicts} <= kinds
        places.append(sim.terms.site_xpos[site].copy())
    return np.array(places)


def fastest(sim, seconds, **options):
    """Largest speed of the palm between two steps."""
    return np.linalg.norm(np.diff(way(sim, seconds, **options), axis=0), axis=1).max() / sim.dt


@pytest.mark.parametrize("goal", [circling, lambda t: (0.1, -0.3, 1.9)], ids=["circling", "far"])
@pytest.mark.parametrize("most", [0.3, 0.6, 1.5])
@pytest.mark.parametrize("dt", [0.002, 0.005])
def test_a_hand_stays_below_its_speed_limit(dt, most, goal):
    assert 0.88 * most < fastest(reaching([ip.SpeedLimit(PALM, most)], dt, goal), 1.0) <= most


def test_without_a_limit_it_would_not():
    assert fastest(reaching([]), 0.4) > 3.0


def test_long_steps_know_less_of_the_way():
    assert fastest(reaching([ip.SpeedLimit(PALM, 0.6)], 0.02), 1.0) <= 1.05 * 0.6


def test_programs_of_their_own_obey_too():
    """Of one program per character physics makes what it can: her soles slip a little."""
    sim = reaching([ip.SpeedLimit(PALM, 0.6)], controller="independent")
    assert fastest(sim, 0.3, kinds={"slip"}) <= 0.61


def test_the_polyhedron_is_as_tight_as_it_says():
    """In every direction the largest speed lies between 0.886 and 1 of the limit, and both are reached."""
    rng = np.random.default_rng(0)
    ways = rng.normal(size=(20000, 3))
    corner = np.array([1.0, np.sqrt(2) - 1, np.sqrt(3) - np.sqrt(2)])
    ways = np.vstack([ways, _DIRECTIONS, corner, -corner[::-1]])
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    speed = _INSIDE / np.abs(ways @ _DIRECTIONS.T).max(axis=1)
    assert speed.max() == pytest.approx(1.0, abs=1e-12)
    assert speed.min() == pytest.approx(_INSIDE) == pytest.approx(0.886, abs=1e-3)


# -- a room for a point ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [0.002, 0.005])
def test_a_hand_stays_in_its_room(dt):
    """It begins outside, is brought back at its pace, then stays however fast it is asked to leave."""
    low, high = np.array([0.2, -0.4, 0.95]), np.array([0.42, 0.0, INF])
    places = way(reaching([ip.KeepWithin(PALM, low, high)], dt), 3.0)
    assert (places[0] < low).any()
    inside = ((places >= low) & (places <= high)).all(axis=1)
    assert inside[round(1.0 / dt) :].all()
    assert places[-round(1.0 / dt) :, 0].max() > high[0] - 0.01  # the goal lies beyond
    assert places[:, 2].max() > 1.35  # and that side is open


def test_a_narrow_room_far_away_does_not_contradict_itself(scene):
    limit, terms = ip.KeepWithin(PALM, (5, 5, 5), (5.02, 5.02, 5.02)), scene.kinematics()
    limit.attach(scene)
    for speed in (0.0, 30.0, -30.0):
        terms.update(scene.qpos, np.full(scene.model.nv, speed))
        limit.checked_rows(terms, 0.0, 0.033)


# -- what gives way ----------------------------------------------------------------------------------------------------


def test_a_falling_box_breaks_its_limit_and_says_so():
    """The equation of motion never gives way: the speed limit does, by what gravity adds, with its unit."""
    sim = ip.Simulation(ip.Scene().add(ip.Box(mass=3.0), "box", pos=(0, 0, 2)))
    sim.limits += [ip.SpeedLimit("box", 0.5)]
    allowed = _INSIDE * 0.5  # straight down is across a face
    while sim.state.qvel[2] - 9.81 * sim.dt > -allowed:
        assert not sim.step().conflicts
    for _ in range(3):
        solution = sim.step()
        assert_allclose(solution.qacc[2], -9.81, atol=1e-6)
        (conflict,) = solution.conflicts
        assert conflict[:2] + conflict[3:] == ("speed", "SpeedLimit box", "m/s²")
        assert conflict.amount == pytest.approx((-sim.state.qvel[2] - allowed) / sim.dt, rel=1e-3)


def test_weak_arms_cannot_stop_and_the_limit_gives_way_before_their_motors():
    for strength, expected in ((1.0, set()), (0.05, {("speed", "SpeedLimit ann/left_palm", "m/s²")})):
        sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.7, strength=strength), "ann"))
        for side in ("left", "right"):
            sim.contacts.add(f"ann/{side}_sole", ip.GROUND)
        sim.objectives += [ip.Posture("ann")]
        sim.limits += [ip.SpeedLimit("ann/left_palm", 0.3)]
        v = np.zeros(sim.scene.model.nv)
        v[sim.scene.model.jnt_dofadr[sim.scene.joint("ann/left_elbow_flexion")]] = 5.0
        found = sim.controller.solve(sim.state.with_(qvel=v), sim.demands).conflicts
        assert {(c.kind, c.name, c.unit) for c in found} == expected


def test_a_room_gives_way_before_a_speed_limit():
    sim = reaching([])
    here = sim.terms.site_xpos[sim.scene.site(PALM)]
    room = ip.KeepWithin(PALM, here + [0.1, -0.3, -0.3], here + [0.4, 0.3, 0.3], name="the cell")
    sim.limits = [ip.SpeedLimit(PALM, 0.05), room]
    (conflict,) = sim.step().conflicts
    assert conflict[:2] + conflict[3:] == ("within", "the cell x", "m/s²")


class Between(ip.Limit):
    """The acceleration of a joint lies between two numbers."""

    def __init__(self, joint, low, high, kind, order, cap=INF):
        super().__init__()
        self.joint, self.bounds = joint, (low, high)
        self.gives_way = ip.GivesWay(kind, order, cap, "rad/s²")

    def about(self):
        return (self.gives_way.kind,)

    def bind(self, scene):
        self.dofs, self.dim = np.array([scene.model.jnt_dofadr[scene.joint(self.joint)]]), 1

    def rows(self, terms, time, dt):
        low, high = self.bounds
        return ip.LimitRows(np.ones((1, 1)), np.array([low]), np.array([high]))


def feeble(*limits):
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(strength=0.02), "bob"))
    sim.limits += [Between(*limit) for limit in limits]
    return sim


KNEE = "bob/left_knee_flexion"


@pytest.mark.parametrize(("first", "second", "gives"), [(1, 2.5, "up"), (2.5, 1, "down"), (0.2, 0.4, "up")])
def test_orders_are_where_limits_declare_them(first, second, gives):
    sim = feeble((KNEE, 1.0, INF, "up", first), (KNEE, -INF, -1.0, "down", second))
    (conflict,) = sim.explain()
    assert conflict[:2] + conflict[3:] == (gives, f"Between {gives}", "rad/s²")
    assert conflict.amount == pytest.approx(2.0, rel=1e-3)


def test_beyond_its_cap_the_next_order_gives_way_too():
    sim = feeble((KNEE, 1.0, INF, "up", 1, 0.5), (KNEE, -INF, -1.0, "down", 2))
    found = {c.kind: c.amount for c in sim.explain()}
    assert found == {"up": pytest.approx(0.5, rel=1e-3), "down": pytest.approx(1.5, rel=1e-3)}


def test_those_of_one_order_share():
    sim = feeble((KNEE, 1.0, INF, "up", 1), (KNEE, -INF, -1.0, "down", 1))
    found = {c.kind: c.amount for c in sim.explain()}
    assert found == {"up": pytest.approx(1.0, rel=1e-3), "down": pytest.approx(1.0, rel=1e-3)}


@pytest.mark.parametrize(("order", "gives"), [(2.9, "fast"), (3.1, "torque")])
def test_limits_stand_among_the_kinds_that_are_there(order, gives):
    """A knee that must accelerate as its motor cannot: the limit gives way, or the motor's if the limit says so."""
    sim = feeble((KNEE, 1000.0, INF, "fast", order, 1e5))
    found = {c.kind for c in sim.explain()}
    assert found & {"fast", "torque"} == {gives}


# -- in the program ----------------------------------------------------------------------------------------------------


def test_limits_come_and_go():
    """Their rows count; without them the program is the one it was, on the same pattern."""
    sim = reaching([])
    sim.step()
    before, size = sim.controller.programs.assembly.structure, sim.controller.size()
    program = sim.controller.problem(sim.state, sim.demands)
    sim.limits = [ip.SpeedLimit(PALM, 50.0), ip.KeepWithin(PALM, (-9, -9, -9), (9, 9, 9))]
    limited = sim.controller.problem(sim.state, sim.demands)
    assert sim.controller.size() == {**size, "ineq": size["ineq"] + 16}
    assert len(limited.names) == len(limited.h_l) + len(limited.c)
    assert len(np.unique(limited.names)) == len(limited.names)
    g = len(program.h_l)
    assert np.array_equal(limited.G[:g].toarray(), program.G.toarray())
    assert np.array_equal(limited.h_l[:g], program.h_l)
    assert not sim.step().fallback
    sim.limits = []
    sim.step()
    assert sim.controller.programs.assembly.structure is before
    assert sim.controller.size() == size


def test_a_limit_that_is_not_reached_changes_nothing():
    from interplay.catalogue import scenario

    plain, limited = (scenario("stand")().simulation() for _ in range(2))
    limited.limits += [ip.SpeedLimit(f"{limited.scene.names[0]}/right_palm", 100.0)]
    for _ in range(300):  # with contacts that are foreseen
        a, b = plain.step(), limited.step()
        assert_allclose(b.qacc, a.qacc, atol=1e-5)
    assert_allclose(limited.state.qpos, plain.state.qpos, atol=1e-8)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ((np.full((1, 1), np.nan), np.zeros(1), np.ones(1)), "not finite"),
        ((np.ones((1, 1)), np.full(1, np.nan), np.ones(1)), "NaN"),
        ((np.ones((1, 1)), np.ones(1), np.zeros(1)), "cross"),
        ((np.ones((1, 1)), np.full(1, INF), np.full(1, INF)), "NaN or cross"),
        ((np.ones((1, 2)), np.zeros(1), np.ones(1)), "expected"),
    ],
)
def test_rows_that_make_no_sense_are_refused_with_the_limits_name(rows, words):
    sim = feeble((KNEE, 0.0, 1.0, "odd", 1))
    sim.limits[0].rows = lambda *_: ip.LimitRows(*rows)
    with pytest.raises(ip.SolverError, match=f"'Between odd'.*{words}"):
        sim.step()


def test_bad_limits_are_refused():
    sim = reaching([])
    for limit, words in (
        (lambda: ip.SpeedLimit(PALM, 0.0), "most"),
        (lambda: ip.SpeedLimit(PALM, np.nan), "most"),
        (lambda: ip.SpeedLimit(PALM, 1.0, name=" "), "name"),
        (lambda: ip.SpeedLimit("ann/right_plam", 1.0), "right_plam"),
        (lambda: ip.SpeedLimit(ip.GROUND, 1.0), "cannot move"),
        (lambda: ip.KeepWithin(PALM, (0, 0), (1, 1, 1)), "low"),
        (lambda: ip.KeepWithin(PALM, (0, 0, 0), (1, 1, np.nan)), "high"),
        (lambda: ip.KeepWithin(PALM, "here", (1, 1, 1)), "low"),
        (lambda: ip.KeepWithin(PALM, (0, 0, 0), (1, 1, 0.01)), "low"),
        (lambda: ip.KeepWithin(PALM, (INF, 0, 0), (INF, 1, 1)), "low"),
        (lambda: ip.KeepWithin(ip.GROUND, (0, 0, 0), (1, 1, 1)), "cannot move"),
        (lambda: ip.Com("ann"), "limits: expected limits"),
    ):
        with pytest.raises(ip.InputError, match=words):
            sim.limits = [limit()]
    mine = ip.SpeedLimit(PALM, 1.0)
    sim.limits = [mine]
    with pytest.raises(ip.InputError, match=r"limit .* another simulation"):
        ip.Simulation(sim.scene).limits = [mine]


def test_an_unfinished_limit_says_what_it_lacks():
    class Nothing(ip.Limit):
        pass

    class Vague(ip.Limit):
        gives_way = ip.GivesWay("vague", 1, 1.0, "m/s²")

    sim = reaching([])
    with pytest.raises(TypeError, match="Nothing does not declare gives_way"):
        sim.limits = [Nothing()]
    with pytest.raises(TypeError, match=r"Vague does not define bind\(\)"):
        sim.limits = [Vague()]
    with pytest.raises(TypeError, match=r"Vague does not define rows\(\)"):
        Vague().rows(sim.terms, 0.0, 0.005)
