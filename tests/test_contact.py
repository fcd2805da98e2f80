"""Contacts: the closed-form cone, where surfaces meet, order of the two sides."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog

import interplay as ip
from interplay.constraints.contact import cone
from interplay.maths.steps import smooth_step
from interplay.scene.surfaces import _largest_rectangle

sizes = st.floats(0.01, 0.3)


def corner_generators(half, friction):
    """Wrenches (6, 16) of the pyramid edges of the four corner forces."""
    mu = friction / np.sqrt(2)
    columns = []
    for sx in (1, -1):
        for sy in (1, -1):
            p = np.array([sx * half[0], sy * half[1], 0.0])
            for a in (1, -1):
                for b in (1, -1):
                    f = np.array([a * mu, b * mu, 1.0])
                    columns.append(np.concatenate([f, np.cross(p, f)]))
    return np.array(columns).T


@settings(max_examples=60, deadline=None)
@given(sizes, sizes, st.floats(0.1, 1.5), st.integers(0, 10**6))
def test_cone_is_the_hull_of_four_corner_forces(x, y, friction, seed):
    rng = np.random.default_rng(seed)
    half = np.array([x, y])
    generators, facets = corner_generators(half, friction), cone(half, friction)
    assert facets.shape == (16, 6)
    inside = generators @ rng.exponential(1.0, 16)
    assert (facets @ inside >= -1e-9).all()
    # A random wrench is inside the facets exactly when corner forces can make it.
    w = np.concatenate([rng.normal(0, 0.5, 2), [1.0], rng.normal(0, 0.7, 3) * [y, x, x + y]])
    slack = (facets @ w).min()
    if abs(slack) > 1e-6:
        made = linprog(np.zeros(16), A_eq=generators, b_eq=w, bounds=[(0, None)] * 16)
        assert (made.status == 0) == (slack > 0)


@settings(max_examples=40, deadline=None)
@given(sizes, sizes, sizes, sizes, st.floats(-1.5, 1.5), st.floats(-0.1, 0.1), st.floats(-0.1, 0.1))
def test_largest_rectangle_lies_in_both_and_cannot_grow(a, b, c, d, turn, dx, dy):
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    small, large = corners * [a, b], (corners * [c, d]) @ R.T + [dx, dy]
    found = _largest_rectangle(small, large)
    if found is None:
        return
    centre, half = found
    points = centre + corners * half

    def excess(points):
        local = (points - [dx, dy]) @ R
        return max(np.abs(points / [a, b]).max(), np.abs(local / [c, d]).max()) - 1

    assert excess(points) < 1e-5
    grown = centre + corners * (half * 1.02 + 1e-4)
    assert excess(grown) > 0


def two_boxes(first="a", second="b", turn=0.0):
    scene = ip.Scene()
    scene.add(ip.Box((0.4, 0.3, 0.2)), first)
    scene.add(ip.Box((0.2, 0.25, 0.2)), second, pos=(0.03, 0.02, 0.2), yaw=turn)
    return scene


@pytest.mark.parametrize("turn", [0.0, 0.4])
def test_order_of_the_two_sides_does_not_matter(turn):
    frames = []
    for swap in (False, True):
        sim = ip.Simulation(two_boxes(turn=turn))
        pair = ("b/bottom", "a/top") if not swap else ("a/top", "b/bottom")
        contact = sim.contacts.add(*pair)
        body = contact.first.body
        frames.append((sim.terms.xpos[body] + sim.terms.xmat[body].reshape(3, 3) @ contact.p1, contact.half))
    assert_allclose(frames[0][0][:2], frames[1][0][:2], atol=1e-6)
    assert_allclose(frames[0][1], frames[1][1], atol=1e-6)


def test_a_foot_on_a_beam_touches_only_the_beam():
    scene = (
        ip.Scene().add(ip.Beam(width=0.05, height=0.4), "beam").add(ip.Box((0.25, 0.1, 0.1)), "foot", pos=(0, 0, 0.4))
    )
    sim = ip.Simulation(scene)
    contact = sim.contacts.add("foot/bottom", "beam/top")
    assert_allclose(sorted(contact.half), [0.025, 0.125], atol=1e-4)
    assert contact.label == ("foot/bottom", "world")


@pytest.mark.parametrize(("place", "words"), [((0, 0, 0.5), "apart"), ((3, 0, 0.2), "overlap")])
def test_surfaces_that_do_not_meet_are_refused(place, words):
    scene = ip.Scene().add(ip.Box((0.4, 0.3, 0.2)), "a").add(ip.Box((0.2, 0.2, 0.2)), "b", pos=place)
    with pytest.raises(ip.ContactError, match=words):
        ip.Simulation(scene).contacts.add("b/bottom", "a/top")


def test_wrong_pairs_are_refused():
    scene = ip.Scene().add(ip.Humanoid(), "bob").add(ip.Box(), "box", pos=(1, 0))
    sim = ip.Simulation(scene)
    with pytest.raises(ip.ContactError, match="grasp"):
        sim.contacts.add("bob/left_grip", "box/left")
    with pytest.raises(ip.ContactError, match="face"):
        sim.contacts.add("bob/left_palm", "box/top")
    sim.contacts.add("bob/left_sole", ip.GROUND)
    with pytest.raises(ip.ContactError, match="already"):
        sim.contacts.add(ip.GROUND, "bob/left_sole")


def test_fade_is_smooth_and_ends_without_force():
    t = np.linspace(0, 1, 2001)
    s = np.array([smooth_step(x) for x in t])
    assert s[0] == 0
    assert s[-1] == 1
    assert np.abs(np.diff(s, 2)).max() < 2e-5
    scene = ip.Scene().add(ip.Box(mass=3.0), "a").add(ip.Humanoid(), "bob", pos=(1, 0))
    sim = ip.Simulation(scene)
    for side in ("left", "right"):
        sim.contacts.add(f"bob/{side}_sole", ip.GROUND)
    sim.contacts.add("a/bottom", ip.GROUND)
    left = ip.conditions.com_over("bob", "bob/left_sole")
    sim.behaviour = ip.Machine(
        [
            ip.blocks.shift_com("shift", "bob", "bob/left_sole"),
            ip.blocks.remove_contact("lift", "bob/right_sole", balance=("bob",)),
            ip.Phase("end", interactive=True, timeout=None),
        ]
    )
    sim.objectives += [ip.Posture("bob")]
    last = []
    while sim.behaviour.phase is None or sim.behaviour.phase.name != "end":
        sim.step()
        assert sim.time < 10
        if len(sim.contacts) == 3:
            last.append(np.linalg.norm(sim.force("bob/right_sole")))
    assert left(sim)
    assert last[-1] < 20.0
    assert max(np.abs(np.diff(last))[-60:]) < 40.0
