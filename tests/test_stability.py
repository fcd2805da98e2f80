"""Where a centre of mass may be: against the soles, against statics by hand, and against linear programs of another form."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

import interplay as ip
from interplay.constraints.contact import Contact
from interplay.constraints.stability import stability_region
from interplay.maths.hull import convex_hull
from interplay.maths.simplex import LinearProgram
from interplay.runs.run import run
from interplay.scene.surfaces import surface
from interplay.stage.messages import Play, Stability
from stage_tools import House

MASS, WEIGHT = 68.0, 68.0 * 9.81


@pytest.fixture(scope="module")
def ann():
    scene = ip.Scene().add(ip.Humanoid(1.74, MASS), "ann").add(ip.Box((0.3, 0.3, 0.3), mass=10.0), "box", pos=(0, 0, 1))
    sim = ip.Simulation(scene)
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", ip.GROUND)
    return sim


def turned(axis, angle):
    x, y, z = np.asarray(axis, float) / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def facing(normal):
    """Axes whose z is a normal."""
    z = np.asarray(normal, float) / np.linalg.norm(normal)
    x = np.cross([0, 1, 0], z) if abs(z[1]) < 0.9 else np.cross([1, 0, 0], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def touching(sim, like, place, axes, kind="planar", second=None, **options):
    """A contact of a body wherever it is to be, as if surfaces met there."""
    one, terms, frames = sim.contacts.find(like), sim.terms, []
    second = second or one.second
    for body in (one.first.body, second.body):
        R = terms.xmat[body].reshape(3, 3)
        frames += [R.T @ (np.asarray(place, float) - terms.xpos[body]), R.T @ axes]
    half = np.array(options.pop("half", (0.1, 0.04)))
    return Contact(one.first, second, kind, half, *frames, **options)


def region(sim, contacts, *models, **options):
    trees = [t for name in models or ("ann",) for t in sim.scene.trees(name)]
    return stability_region(sim.terms, contacts, trees, **options)


def oracle(sim, contacts, models=("ann",), forces=()):
    """Return whether wrenches in the program's own cones hold everyone at rest, with the models' centre of mass at a place."""
    m, terms = sim.scene.model, sim.terms
    own = [t for name in models for t in sim.scene.trees(name)]
    others = sorted({int(m.body_treeid[s.body]) for c in contacts for s in (c.first, c.second)} - {-1, *own})
    party = dict.fromkeys(own, 0) | {t: k for k, t in enumerate(others, 1)}
    columns, facets, bounds, load = [], [], [], np.zeros(6 * (1 + len(others)))
    for c in contacts:
        R1, R2 = (terms.xmat[s.body].reshape(3, 3) for s in (c.first, c.second))
        p = terms.xpos[c.first.body] + R1 @ c.p1
        R = R2 @ c.R2 if c.kind == "point" else R1 @ c.R1
        part = np.zeros((6, c.dim))
        part[:3, :3] = R
        part[3:, :3] = np.column_stack([np.cross(p, R[:, k]) for k in range(3)])
        if c.dim == 6:
            part[3:, 3:] = R
        block = np.zeros((len(load), c.dim))
        for side, sense in ((c.first, 1), (c.second, -1)):
            tree = int(m.body_treeid[side.body])
            if tree >= 0:
                block[6 * party[tree] : 6 * party[tree] + 6] += sense * part
        columns.append(block)
        facets.append(c.cone())
        strong = [(-c.grip_force, c.grip_force)] * 3 + [(-c.grip_torque, c.grip_torque)] * 3
        bounds += strong if c.kind == "grasp" else [(None, None)] * c.dim
    A, n = np.hstack(columns), sum(c.dim for c in contacts)
    E, row, col = np.zeros((sum(map(len, facets)), n)), 0, 0
    for c, facet in zip(contacts, facets, strict=True):
        E[row : row + len(facet), col : col + c.dim] = facet
        row, col = row + len(facet), col + c.dim
    for tree in others:
        root = int(m.tree_bodyadr[tree])
        weight = 9.81 * terms.subtree_mass[root]
        x, y, _ = terms.subtree_com[root]
        load[6 * party[tree] : 6 * party[tree] + 6] = 0, 0, weight, y * weight, -x * weight, 0
    weight = 9.81 * sum(float(terms.subtree_mass[m.tree_bodyadr[t]]) for t in own)

    def stable(place):
        wanted = load.copy()
        wanted[:6] = 0, 0, weight, place[1] * weight, -place[0] * weight, 0
        for at, force in forces:
            wanted[:6] -= np.concatenate([force, np.cross(at, force)])
        found = linprog(np.zeros(n), -E, np.zeros(len(E)), A / 100, wanted / 100, bounds)
        return found.status == 0

    return stable


def agrees(found, stable, middle, spread, seed, count=60):
    """Compare a region with an oracle at random places; not nearer to the edge than numbers can tell."""
    rng, inside = np.random.default_rng(seed), 0
    places = np.asarray(middle)[:2] + rng.uniform(-spread, spread, (count, 2))
    edges = [c + s * (c - found.centre) for c in found.corners for s in (-0.02, 0.02)] if not found.empty else []
    for place in [*places, *edges]:
        margin = found.margin(place)
        if abs(margin) > 5e-4:
            assert stable(place) == (margin > 0), (place, margin)
            inside += margin > 0
    return inside


def test_level_soles_give_their_hull(ann):
    corners = []
    for c in ann.contacts:
        R = ann.terms.xmat[c.first.body].reshape(3, 3)
        for s in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            corners.append(ann.terms.xpos[c.first.body] + R @ (c.p1 + c.R1[:, :2] @ (s * c.half)))
    found = ann.stability_region("ann")
    soles = np.reshape(corners, (2, 4, 3)).mean(axis=1)[:, :2]
    hull = convex_hull(np.round(corners, 9)[:, :2])
    assert len(found.corners) == len(hull) == 4
    assert_allclose(found.corners, hull, atol=1e-8)
    assert_allclose(found.centre, hull.mean(axis=0), atol=1e-8)
    assert found.margin(hull[0] + [-0.03, -0.04]) == pytest.approx(-0.05)
    assert found.margin(found.centre) == pytest.approx(np.ptp(hull, axis=0).min() / 2)
    # Friction does not matter there, nor does what is known to hold no more than itself.
    assert_allclose(
        ann.stability_region("ann", contacts=[ann.contacts.find("ann/left_sole")]).centre, soles[0], atol=1e-8
    )
    smooth = [replace(c, friction=0.0) for c in ann.contacts]
    assert_allclose(region(ann, smooth).corners, hull, atol=1e-8)


@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_a_hand_on_a_wall_moves_the_edge_by_what_statics_says(ann, friction):
    """One sole whose friction holds F at most, a smooth wall at height z: F z = m g Δx at F = μ' m g."""
    height, x, half = 1.3, 0.5, 0.02
    sole = touching(ann, "ann/left_sole", (0, 0, 0), np.eye(3), half=(0.12, 0.05), friction=friction)
    palm = touching(
        ann, "ann/right_sole", (x, 0, height), facing((-1, 0, 0)), half=(half, half), friction=0.0
    )  # the wall stands before her: it pushes her back
    alone, both = region(ann, [sole]), region(ann, [sole, palm])
    assert_allclose([alone.corners.min(axis=0), alone.corners.max(axis=0)], [[-0.12, -0.05], [0.12, 0.05]], atol=1e-8)
    more = friction / np.sqrt(2) * (height + half)  # at the upper edge of the palm
    assert both.corners[:, 0].max() == pytest.approx(0.12 + more, abs=2e-4)
    assert both.corners[:, 0].min() == pytest.approx(-0.12, abs=2e-4)
    if friction:
        agrees(both, oracle(ann, [sole, palm]), (0.3, 0), 0.5, 1)


def test_a_known_force_moves_the_region(ann):
    """A hand that pushes back with F at height z allows her to lean forward by F z/(m g)."""
    soles, at, force = list(ann.contacts), np.array([0.4, 0.1, 1.3]), np.array([-60.0, 0.0, 0.0])
    before, after = region(ann, soles), region(ann, soles, forces=[(at, force)])
    ahead = 60.0 * 1.3 / WEIGHT
    assert after.corners[:, 0].max() - before.corners[:, 0].max() == pytest.approx(ahead, abs=1e-6)
    assert agrees(after, oracle(ann, soles, forces=[(at, force)]), before.centre, 0.3, 2) > 3
    too_much = region(ann, soles, forces=[(at, 10 * force)])  # more than friction holds
    assert too_much.empty


CASES = {
    "hand on a wall": lambda s: [
        *s.contacts,
        touching(s, "ann/right_sole", (0.5, -0.2, 1.3), facing((-1, 0, 0)), half=(0.05, 0.04)),
    ],
    "a foot on a slope": lambda s: [
        s.contacts.find("ann/left_sole"),
        touching(s, "ann/right_sole", (0.2, -0.25, 0.2), turned((1, 0.5, 0), 0.5), friction=0.6),
    ],
    "both feet on slopes": lambda s: [
        touching(s, "ann/left_sole", (0.1, 0.3, 0.1), turned((1, 0, 0), 0.6), friction=0.4),
        touching(s, "ann/right_sole", (0, -0.3, 0.15), turned((1, 0, 0), -0.6), friction=0.4),
    ],
    "points": lambda s: [
        touching(s, "ann/left_sole", (0.2, 0.1, 0), np.eye(3), "point"),
        touching(s, "ann/right_sole", (0, -0.2, 0.3), turned((1, 0, 0), 0.3), "point"),
        touching(s, "ann/right_sole", (-0.3, 0.2, 0.1), turned((0, 1, 0), -0.2), "point"),
    ],
    "a foot and a rung": lambda s: [
        s.contacts.find("ann/left_sole"),
        touching(s, "ann/right_sole", (0.4, -0.2, 1.6), np.eye(3), "grasp", grip_force=150.0, grip_torque=5.0),
    ],
    "two rungs": lambda s: [
        touching(s, "ann/left_sole", (0.0, 0.3, 2.0), turned((1, 2, 3), 1), "grasp", grip_force=600.0),
        touching(s, "ann/right_sole", (0.1, -0.3, 2.1), turned((2, 0, 1), 2), "grasp", grip_force=600.0),
    ],
}


@pytest.mark.parametrize("case", CASES)
def test_inside_and_outside_agree_with_programs_over_facets(ann, case):
    contacts = CASES[case](ann)
    found = region(ann, contacts)
    assert not found.empty
    assert agrees(found, oracle(ann, contacts), found.centre, 1.2 * np.ptp(found.corners, axis=0).max(), 3) > 3


@pytest.mark.parametrize("seed", range(12))
def test_contacts_at_random(ann, seed):
    rng, contacts = np.random.default_rng(seed), []
    for k in range(rng.integers(1, 5)):
        side = ("left", "right")[k % 2]
        kind = rng.choice(["planar", "point", "grasp"], p=[0.6, 0.2, 0.2])
        axes = turned(rng.normal(size=3), rng.uniform(0, 0.9))
        contacts.append(
            touching(
                ann,
                f"ann/{side}_sole",
                rng.uniform(-0.5, 0.5, 3) + [0, 0, 0.5],
                axes,
                str(kind),
                half=rng.uniform(0.01, 0.15, 2),
                friction=rng.uniform(0.1, 1.2),
                grip_force=rng.uniform(50, 900),
                grip_torque=rng.uniform(1, 60),
            )
        )
    found = region(ann, contacts)
    agrees(found, oracle(ann, contacts), (0, 0), 0.8, seed, 40)


def test_what_is_free_must_be_held_too(ann):
    """A box in her hands is no support: it shifts the region against itself, as its weight does."""
    soles = list(ann.contacts)
    box = ann.scene.model.site("box/top").id
    grip = replace(
        touching(ann, "ann/right_sole", (0.0, 0.0, 1.0), np.eye(3), "grasp", second=surface(ann.scene.model, box)),
        grip_force=400.0,
        grip_torque=80.0,
    )
    found, alone = region(ann, [*soles, grip]), region(ann, soles)
    x, y = ann.com("box")[0][:2]
    # (m c + m_box b)/(m + m_box) must be over the soles.
    shifted = alone.corners + (alone.corners - [x, y]) * 10.0 / MASS
    assert_allclose(found.corners, shifted, atol=1e-6)
    assert agrees(found, oracle(ann, [*soles, grip]), (0, 0), 0.3, 5) > 3
    # Both together: the grip is between them, and cancels out.
    together = region(ann, [*soles, grip], "ann", "box")
    assert_allclose(together.corners, alone.corners, atol=1e-8)
    # A grip too weak for the box holds nothing at rest.
    assert region(ann, [*soles, replace(grip, grip_force=50.0)]).empty
    # Third law: which of the two comes first does not matter.
    swapped = Contact(
        grip.second, grip.first, "grasp", grip.half, grip.p2, grip.R2, grip.p1, grip.R1, grip_force=400, grip_torque=80
    )
    assert_allclose(region(ann, [*soles, swapped]).corners, found.corners, atol=1e-8)


def test_degenerate_contacts(ann):
    assert region(ann, []).empty
    point = touching(ann, "ann/left_sole", (0.2, 0.1, 0), np.eye(3), "point")
    one = region(ann, [point])
    assert_allclose(one.corners, [[0.2, 0.1]], atol=1e-8)
    assert_allclose(one.centre, [0.2, 0.1], atol=1e-8)
    assert one.margin((0.2, 0.4)) == pytest.approx(-0.3)
    two = region(ann, [point, touching(ann, "ann/right_sole", (-0.2, 0.1, 0), np.eye(3), "point")])
    assert_allclose(two.corners, [[-0.2, 0.1], [0.2, 0.1]], atol=1e-8)
    # Smooth walls carry nothing; nor do slopes without friction, alone.
    palm = touching(ann, "ann/right_sole", (0.5, 0, 1.3), facing((-1, 0, 0)), friction=0.0)
    rear = touching(ann, "ann/left_sole", (-0.5, 0, 1.0), facing((1, 0, 0)), friction=0.0)
    assert region(ann, [palm]).empty
    assert region(ann, [palm, rear]).empty
    assert region(ann, [touching(ann, "ann/left_sole", (0, 0, 0), turned((1, 0, 0), 0.2), friction=0.0)]).empty
    with pytest.raises(ip.InputError, match="empty has no centre"):
        _ = region(ann, []).centre
    assert region(ann, []).margin((0, 0)) == -np.inf
    # Between two rough walls she may hang anywhere, as far as is looked.
    rough = region(ann, [replace(palm, friction=1.0), replace(rear, friction=1.0)], reach=1.5)
    assert_allclose(rough.corners.max(axis=0), [1.5, 1.5], atol=1e-6)


def test_bad_input_is_named(ann):
    with pytest.raises(ip.InputError, match="an"):
        ann.stability_region("an")
    with pytest.raises(ip.InputError, match="free to move"):
        ann.stability_region()
    with pytest.raises(ip.InputError, match="force"):
        ann.stability_region("ann", forces=[((0, 0, 1), (np.nan, 0, 0))])


def test_it_depends_on_where_things_are_only():
    sims = []
    for _ in range(2):
        sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.7, 60), "ann"))
        for side in ("left", "right"):
            sim.contacts.add(f"ann/{side}_sole", ip.GROUND)
        sims.append(sim)
    first = sims[0].stability_region("ann").corners
    moved = sims[1].scene.qpos
    sims[1].set_state(moved, np.full(len(sims[1].state.qvel), 0.3))
    for _ in range(3):
        assert_allclose(sims[1].stability_region("ann").corners, first, atol=0)


@pytest.mark.parametrize("seed", range(20))
def test_small_programs_against_highs(seed):
    rng = np.random.default_rng(seed)
    rows, n = int(rng.integers(2, 9)), int(rng.integers(9, 40))
    A = rng.normal(size=(rows, n)) * (rng.random((rows, n)) < 0.5)
    if seed % 3 == 0:
        A[-1] = A[0]  # a row that says what another one says
    upper = np.where(rng.random(n) < 0.5, rng.uniform(0.1, 2.0, n), 5.0)
    b = A @ (upper * rng.random(n)) if seed % 4 else rng.normal(size=rows) * 4
    program = LinearProgram(A, b, upper)
    for _ in range(6):
        goal = rng.normal(size=n)
        expected = linprog(-goal, A_eq=A, b_eq=b, bounds=np.column_stack([np.zeros(n), upper]))
        assert program.feasible == (expected.status == 0)
        if program.feasible:
            x = program.best(goal)
            assert goal @ x == pytest.approx(-expected.fun, abs=1e-7)
            assert_allclose(A @ x, b, atol=1e-9)
            assert (x >= -1e-9).all()
            assert (x <= upper + 1e-9).all()


# -- the objective -----------------------------------------------------------------------------------------------------


def test_com_over_pulls_with_the_root_of_the_distance(ann):
    """abe2007: k_s ∝ 1/√‖x_d − x‖, bounded near the goal; at each distance the pull is the one of another stiffness."""
    soles = ("ann/left_sole", "ann/right_sole")
    now = (ann.com("ann")[0] - ann.middle(*soles))[:2]
    for away, share in ((0.01, 1.0), (0.02, 1.0), (0.08, 0.5), (0.32, 0.25)):
        goal = now + away * np.array([0.6, 0.8])
        pulls = []
        for near, stiffness in ((0.02, 40.0), (None, 40.0 * share)):
            objective = ip.ComOver(
                "ann", over=soles, reference=goal, near=near, stiffness=stiffness, max_speed=None, weight=1.0
            )
            objective.attach(ann.scene)
            assert_allclose(objective.error(ann.terms, 0.0), now - goal, atol=1e-12)  # as it is
            pulls.append(_Pull().of(objective, ann.terms))
        assert_allclose(pulls[0], pulls[1], rtol=1e-12)


class _Pull:
    """A cost that keeps the pull it is given."""

    def of(self, objective, terms):
        objective.add_to(terms, 0.0, self)
        return self.pull

    def add(self, objective, weight, x):
        self.pull = objective.stiffness * x.error


def test_she_stands_through_a_push_in_the_simulated_world():
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.74, MASS), "ann"), dt=0.01, world="simulated")
    soles = ("ann/left_sole", "ann/right_sole")
    for sole in soles:
        sim.contacts.add(sole, ip.GROUND)
    goal = sim.stability_region("ann").centre - sim.middle(*soles)[:2]
    sim.objectives += [
        ip.Posture("ann", weight=0.3),
        ip.AngularMomentum("ann", weight=0.005),
        ip.ComOver("ann", over=soles, reference=goal, near=0.02, weight=60, stiffness=40.0, max_speed=None),
        ip.Com("ann", axes="z", weight=60),
        ip.Orientation("ann/pelvis", weight=1),
        ip.Orientation("ann/chest", weight=1),
    ]
    sim.run(2.0)
    assert sim.stability_region("ann").margin(sim.com("ann")[0]) > 0.12
    sim.live.push("ann/chest", (200.0, 0.0, 0.0), 0.1)
    margins = []
    for _ in range(400):
        sim.step()
        margins.append(sim.stability_region("ann").margin(sim.com("ann")[0]))
    assert not sim.fallen
    assert min(margins) < 0.09  # it was a push
    place = sim.com("ann")[0] - sim.middle(*soles)
    assert_allclose(place[:2], goal, atol=0.005)
    assert_allclose(sim.com("ann")[1], 0.0, atol=0.01)


# -- on the stage ------------------------------------------------------------------------------------------------------


def test_the_stage_finds_regions_while_somebody_looks(tmp_path):
    run("stand", tmp_path / "run", seconds=0.5)
    for target in ("stand", tmp_path / "run"):
        house = House(target)
        house.do(Play())
        house.wait(0.2)
        assert house.frames[-1].stability == ()
        house.do(Stability(True))
        house.wait(0.2)
        (shown,) = house.frames[-1].stability
        assert shown.stable
        assert shown.outline.shape == (4, 3)
        assert_allclose(shown.outline[:, 2], 0.0, atol=1e-3)
        assert_allclose(shown.outline[:, :2].mean(axis=0), house.frames[-1].contact_pose[:, :2].mean(axis=0), atol=1e-3)
        house.do(Stability(False))
        house.wait(0.1)
        assert house.frames[-1].stability == ()
