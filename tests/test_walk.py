"""Walking: plans, swings, preview; on ground, in curves, sideways, on stairs; alone and together; as sure as it is fast."""

from typing import ClassVar

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay.catalogue import scenario
from interplay.maths.rotations import rotation, turn_from
from interplay.models.base import Model, new_spec, patch, solid
from interplay.models.motors import torque_limits
from interplay.motion.footsteps import Footprint, Swing, footsteps
from interplay.motion.preview import GRID, Track, preview


def walker(scene=None, dt=0.005):
    scene = scene or ip.Scene().add(ip.Humanoid(1.7, 65, "female"), "ann")
    sim = ip.Simulation(scene, dt)
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", ip.GROUND, friction=1.0)
    sim.objectives += [ip.Posture("ann", weight=0.05), ip.AngularMomentum("ann", weight=0.002)]
    return sim


def go(sim, walk):
    """Walk to the end; return drift of contacts [m], torque over limit, what gave way, seconds from first lift to last landing."""
    sim.behaviour = ip.Machine([*walk.phases(), ip.blocks.hold("rest", 0.5, balance=("ann",))])
    limit = torque_limits(sim.scene.model)
    powered, drift, load, given = np.isfinite(limit), 0.0, 0.0, 0
    begun, landed = np.inf, 0.0
    while not sim.behaviour.done:
        solution = sim.step()
        assert not sim.behaviour.failure
        given += solution.fallback
        drift = max(drift, sim.contacts.drift().max(initial=0.0))
        load = max(load, (np.abs(solution.tau[powered]) / limit[powered]).max())
        phase, entered = sim.behaviour.phase.name, sim.behaviour.entries[-1].time
        begun = min(begun, entered) if "lift" in phase else begun
        landed = entered if "land" in phase else landed
    return drift, load, given, landed - begun


def soles(sim):
    return {s: sim.terms.site_xpos[sim.scene.site(f"ann/{s}_sole")].copy() for s in ("left", "right")}


@pytest.fixture(scope="module")
def straight():
    """The same footsteps in both styles: certificate, seconds, where the feet were and are."""
    out = {}
    for style in ("static", "preview"):
        sim = walker()
        start = soles(sim)
        out[style] = (*go(sim, ip.Walk("walk", "ann", 6, ip.Gait(style=style, stride=0.3))), start, soles(sim))
    return out


def test_both_styles_hold_the_same_certificate(straight):
    for drift, load, given, *_ in straight.values():
        assert given == 0
        assert drift < 2e-4
        assert load <= 1 + 1e-6


def test_preview_is_much_faster_over_ground(straight):
    """Measured between the first lifting and the last landing, over the same footsteps."""
    speeds = {}
    for style, (*_, seconds, start, end) in straight.items():
        way = end["left"][0] - start["left"][0]
        speeds[style] = way / seconds
        assert way == pytest.approx(5 * 0.3, abs=0.01)
    assert speeds["preview"] > 2.5 * speeds["static"]


@pytest.mark.parametrize(
    ("gait", "steps"),
    [
        (ip.Gait(stride=0.35, turn=0.25), 7),
        (ip.Gait(stride=0.0, sideways=0.2), 6),
        (ip.Gait(stride=-0.25), 5),
        (ip.Gait(stride=0.3, width=0.3, arm_swing=0.0, clearance=0.1), 5),
    ],
    ids=["curved", "sideways", "backward", "wide"],
)
def test_feet_land_where_planned(gait, steps):
    sim = walker()
    planned = {p.side: p for p in footsteps(sim, "ann", steps, gait, "left")}
    _, load, given, _ = go(sim, ip.Walk("walk", "ann", steps, gait))
    assert given == 0
    assert load <= 1 + 1e-6
    for side, place in soles(sim).items():
        assert_allclose(place, planned[side].place, atol=0.012)
    heading = sim.terms.xmat[sim.scene.body("ann/pelvis")].reshape(3, 3)[:, 0]
    assert abs(np.arctan2(heading[1], heading[0]) - planned["left"].heading) < 0.1


def test_stairs_are_climbed():
    scene = ip.Scene().add(ip.Humanoid(1.7, 65, "female"), "ann").add(ip.Stairs(3, 0.16, 0.30), "stairs", pos=(0.2, 0))
    sim = walker(scene)
    height = sim.com("ann")[0][2]
    gait = ip.Gait(stride=0.30, clearance=0.07, swing=0.8, double=0.35, arm_swing=0.1, lower=0.03, toe=0.1)
    surfaces = [f"stairs/step_{k}" for k in (1, 2, 3, 3)]
    _, _, given, _ = go(sim, ip.Walk("walk", ip.Walker("ann", surfaces=surfaces), 4, gait))
    assert given == 0
    assert sim.com("ann")[0][2] - height == pytest.approx(0.48, abs=0.03)


def test_a_walk_resumes_where_it_was():
    """A checkpoint within a swing leads to the same walk."""
    runs = []
    for stop in (None, 1.1):
        sim = walker()
        sim.behaviour = ip.Machine(ip.Walk("walk", "ann", 3, ip.Gait()).phases())
        while sim.time < 2.2:
            if stop is not None and sim.time >= stop:
                saved, stop = sim.checkpoint(), None
                sim = walker()
                sim.behaviour = ip.Machine(ip.Walk("walk", "ann", 3, ip.Gait()).phases())
                sim.restore(saved)
            sim.step()
        runs.append(sim.state.qpos)
    assert_allclose(*runs, atol=1e-5)


@pytest.mark.parametrize(("name", "moments"), [("funambulist", (1.9, 2.6)), ("king", (6.0, 8.0))])
def test_scenarios_resume_in_mid_walk(name, moments):
    """Also where masses change and several walk: what began before is made again as it was."""
    runs = []
    for stop in (None, moments[0]):
        sim = scenario(name)().simulation()
        while sim.time < moments[1]:
            if stop is not None and sim.time >= stop:
                saved, stop = sim.checkpoint(), None
                sim = scenario(name)().simulation()
                sim.restore(saved)
            sim.step()
        runs.append(sim.state.qpos)
    assert_allclose(*runs, atol=1e-5)


def test_preview_presses_where_it_shall():
    """x − ẍ h/g follows the plan; it begins as it is and ends at rest over the last place."""
    time = GRID * np.arange(800)
    pressed = np.zeros((800, 2))
    pressed[time > 1.5, 1] = 0.1
    pressed[time > 2.3] = (0.4, -0.1)
    pressed[time > 3.1] = (0.4, 0.0)
    begin, speed, height = np.array([0.02, -0.01]), np.array([0.05, 0.0]), 0.9
    way = preview(pressed, begin, speed, height, 9.81)
    assert_allclose(way[0], begin, atol=1e-12)
    assert_allclose((way[1] - way[0]) / GRID, speed, atol=1e-9)
    assert_allclose(way[-1], pressed[-1], atol=1e-3)
    felt = way[1:-1] - (way[2:] - 2 * way[1:-1] + way[:-2]) / GRID**2 * height / 9.81
    late = np.abs(felt - pressed[1:-1])
    calm = time[1:-1] > 1.0  # it does not begin as a pendulum at rest would
    for change in (1.5, 2.3, 3.1):
        calm &= np.abs(time[1:-1] - change) > 0.2
    assert late[calm].max() < 0.01


def test_references_carry_their_derivatives():
    start = Footprint("left", np.array([0.0, 0.1, 0.0]), 0.2)
    end = Footprint("left", np.array([0.5, 0.2, 0.16]), 0.7)
    swing, h = Swing(start, end, 1.0, ip.Gait(aside=0.05, toe=0.4)), 1e-5
    for time in np.linspace(1.05, 1.55, 9):
        before, now, after = (swing.at(time + s) for s in (-h, 0, h))
        linear = (after.value[:3] - before.value[:3]) / (2 * h)
        angular = turn_from(before.value[3:], rotation(after.value[3:])) / (2 * h)
        assert_allclose(now.velocity, np.concatenate([linear, angular]), atol=1e-6)
        assert_allclose(now.acceleration, (after.velocity - before.velocity) / (2 * h), atol=1e-4)
    track = Track(np.sin(GRID * np.arange(300))[:, None])
    x, v, a = track.at(1.234)
    assert_allclose([x[0], v[0], a[0]], [np.sin(1.234), np.cos(1.234), -np.sin(1.234)], atol=1e-4)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ip.Gait(style="statik"), "statik"),
        (lambda: ip.Gait(stride=float("nan")), "stride"),
        (lambda: ip.Gait(swing=0.01), "swing"),
        (lambda: ip.Walk("w", [], 3), "at least one"),
        (lambda: ip.Walk("w", "ann", 0), "steps"),
        (lambda: ip.Walk("w", "ann", 2.5), "steps"),
        (lambda: ip.Walk("w", [ip.Walker("ann"), ip.Walker("ann")], 3), "once"),
        (lambda: ip.Walk("w", ip.Walker("ann", delay=float("nan")), 3), "delay"),
        (lambda: ip.Walk("w", "ann", 3, friction=float("nan")), "friction"),
        (lambda: ip.Walk("w", "ann", 3, ip.Gait(style="static"), begin=0.2), "begin"),
        (lambda: go(walker(), ip.Walk("w", ip.Walker("ann", first="lef"), 3)), "lef"),
        (lambda: go(walker(), ip.Walk("w", ip.Walker("ann", surfaces=["ground"]), 3)), "3 steps"),
        (lambda: go(walker(), ip.Walk("w", "anne", 3)), "anne"),
    ],
)
def test_bad_walks_are_refused(make, words):
    with pytest.raises(ip.InterplayError, match=words):
        make()


@pytest.mark.parametrize("offset", [0.0, 0.25])
def test_carriers_step_together_or_in_turns(offset):
    """King's phase offset: the litter arrives, whoever steps first."""
    sim = scenario("king")({"offset": offset, "steps": 2}).simulation()
    start = sim.terms.xpos[sim.scene.body("litter")].copy()
    lifted = []
    while sim.behaviour.phase is None or sim.behaviour.phase.name != "lower":
        assert not sim.step().fallback
        assert not sim.behaviour.failure
        if sim.behaviour.phase.name not in lifted:
            lifted.append(sim.behaviour.phase.name)
    assert sim.terms.xpos[sim.scene.body("litter")][0] - start[0] == pytest.approx(0.3, abs=0.05)
    together = any("front lift" in name and "rear lift" in name for name in lifted)
    assert together == (offset == 0.0)


def test_nothing_jumps_on_the_beam_in_the_last_step():
    """Torques change by less than a quarter of their limits between two steps of 5 ms (1.1 where the foot reaches out for its place)."""
    sim = scenario("funambulist")({"steps": 6}).simulation(seed=0)
    limit = torque_limits(sim.scene.model)
    powered, last, jump = np.isfinite(limit), None, 0.0
    while sim.behaviour.phase is None or not sim.behaviour.phase.interactive:
        tau = sim.step().tau
        if last is not None:
            jump = max(jump, float((np.abs(tau - last)[powered] / limit[powered]).max()))
        last = tau
    assert jump < 0.25


class Floor(Model):
    """A floor of 1.5 cm, with a hole before the left foot that its patch ``top`` does not know of."""

    kind: ClassVar[str] = "environment"
    floating: ClassVar[bool] = False

    def build(self):
        spec, body = new_spec("floor")
        for name, begin, end, right in (("before", -1, 0.95, 1), ("beside", 0.95, 1.65, 0), ("behind", 1.65, 5, 1)):
            half, middle = [(end - begin) / 2, (1 + right) / 2, 0.0075], ((begin + end) / 2, (right - 1) / 2, 0.0075)
            solid(body, mujoco.mjtGeom.mjGEOM_BOX, half, name=name, rgba=[0.7, 0.7, 0.7, 1], mass=1, pos=middle)
        patch(body, "top", (2.0, 0, 0.015), (0, 0, 1), (3.0, 1.0))
        return spec


@pytest.mark.parametrize(("what", "raised"), [("board", 0.015), ("hole", -0.015)])
def test_feet_land_where_they_feel_the_ground(what, raised):
    """In MuJoCo's contacts, on a board and into a hole of 1.5 cm that the plan does not know of; and the walk goes on."""
    hole = what == "hole"
    scene = ip.Scene().add(ip.Humanoid(1.7, 65, "female"), "ann", pos=(0, 0, 0.015 if hole else 0.0))
    on = "floor/top" if hole else ip.GROUND
    scene = (
        scene.add(Floor(), "floor") if hole else scene.add(ip.Platform((0.36, 0.16, 0.015)), "board", pos=(1.13, 0.1))
    )
    sim = ip.Simulation(scene, 0.01, world="simulated")
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", on, friction=1.0)
    sim.objectives += [ip.Posture("ann", weight=0.05), ip.AngularMomentum("ann", weight=0.002)]
    walk = ip.Walk("walk", ip.Walker("ann", surfaces=on), 8)
    sim.behaviour = ip.Machine([*walk.phases(), ip.blocks.hold("rest", 0.5, balance=("ann",))])
    floor, landed = 0.015 if hole else 0.0, {}
    while not sim.behaviour.done:
        sim.step()
        assert not sim.failure
        for contact in sim.contacts:
            if contact.first.name == "ann/left_sole" and sim.time - contact.made_at < 0.15:
                landed[contact.made_at] = sim.middle("ann/left_sole")[2] - floor

    heights = [height for time, height in landed.items() if time > 0]
    assert heights[1] == pytest.approx(raised, abs=0.003)
    assert np.abs(np.delete(heights, 1)).max() < 0.003
    assert sim.com("ann")[0][0] == pytest.approx(7 * 0.36 + 0.05, abs=0.05)
