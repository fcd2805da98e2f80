"""Sword: every swipe would hit, none does, and it is the dodger who yields; measured from the states alone."""

import json
from typing import NamedTuple

import mujoco
import numpy as np
import pytest

from interplay.catalogue import scenario
from interplay.scenarios.sword import SECURITY, SWIPES

ALONG = (0.0, 0.5, 0.98)
"""Points of the sword whose paths are compared [m along it]."""


class Run(NamedTuple):
    """A run: smallest distance less what is demanded (margin) and smallest distance itself, by phase; the sword's path."""

    margin: dict
    distance: dict
    path: np.ndarray
    fallbacks: int
    feet: float


def observe(dt: float, avoid: bool) -> Run:
    sim = scenario("sword")({"avoid": avoid}).simulation(dt)
    m = sim.scene.model
    d, fromto, path, fallbacks = mujoco.MjData(m), np.zeros(6), [], 0
    margin, distance = {}, {}
    blade = [m.geom(f"sword/blade_{k}").id for k in range(3)]
    hers = {m.geom(f"alice/{part}_hull").id: security for part, security in SECURITY.items()}
    soles = [m.site(f"{name}/{side}_sole").id for name in ("alice", "bob") for side in ("left", "right")]
    home, feet = sim.terms.site_xpos[soles].copy(), 0.0
    while not (sim.behaviour.phase and sim.behaviour.phase.interactive):
        fallbacks += sim.step().fallback
        assert not sim.behaviour.failure
        d.qpos[:] = sim.state.qpos
        mujoco.mj_kinematics(m, d)
        phase = sim.behaviour.phase.name
        for part, security in hers.items():
            apart = min(mujoco.mj_geomDistance(m, d, b, part, 1.0, fromto) for b in blade)
            distance[phase] = min(distance.get(phase, 1.0), apart)
            margin[phase] = min(margin.get(phase, 1.0), apart - security)
        body = m.body("sword/sword").id
        path.append(d.xpos[body] + np.outer(ALONG, d.xmat[body].reshape(3, 3)[:, 0]))
        feet = max(feet, np.abs(d.site_xpos[soles] - home).max())
    return Run(margin, distance, np.array(path), fallbacks, feet)


@pytest.fixture(scope="module", params=[0.010, 0.005])
def runs(request):
    return observe(request.param, avoid=False), observe(request.param, avoid=True)


def test_every_swipe_would_hit(runs):
    assert len(SWIPES) >= 6
    for name in SWIPES:
        assert runs[0].distance[name] < 0, name


def test_none_does(runs):
    assert min(runs[1].margin.values()) > -0.001
    assert runs[1].fallbacks == 0
    assert runs[1].feet < 0.001


def test_the_sword_does_not_yield(runs):
    away = np.linalg.norm(runs[1].path - runs[0].path, axis=2)
    assert np.sqrt((away**2).mean(axis=0)).max() < 0.03


def test_nothing_but_the_sword_is_scripted():
    """Phases move the sword alone; the dodger has a posture, her balance and what keeps the blade away."""
    sim = scenario("sword")().simulation()
    m, sword = sim.scene.model, sim.scene.trees("sword")[0]
    blades = {f"sword/blade_{k}" for k in range(3)}
    for phase in sim.behaviour.phases.values():
        made = phase.objectives(sim) if callable(phase.objectives) else phase.objectives
        for objective in made:
            objective.attach(sim.scene)
        assert {int(m.dof_treeid[k]) for o in made for k in o.dofs} == {sword}
    bodies = [f"alice/{part}" for part in SECURITY]
    between = {
        (p.geom1, p.body2) if m.geom(p.geom1).name in blades else (p.geom2, p.body1)
        for p in sim.collisions.pairs
        if {m.geom(p.geom1).name, m.geom(p.geom2).name} & blades
        and any(m.body(b).name in bodies for b in (p.body1, p.body2))
    }
    assert len(between) == 3 * len(SECURITY)


def test_it_is_counted_as_in_table_1(finished):
    """The paper prints 317 inequalities; its own rule gives 217."""
    size = json.loads((finished("sword") / "report.json").read_text())["size"]
    expected = {
        "subsystems": 3,
        "dofs": 78,
        "actuated": 60,
        "planar_points": 16,
        "grasp_points": 8,
        "collision_pairs": 33,
        "paper_qp": 234,
        "paper_eq": 150,
        "paper_ineq": 217,
    }
    assert {key: size[key] for key in expected} == expected


def test_the_live_sword_stays_before_the_swordsman():
    """Targets that jump out of all bounds, about the room and to any orientation: nobody falls, nothing is relaxed."""
    sim = scenario("sword")({"speed": 3.0}).simulation()
    while not sim.behaviour.phase or not sim.behaviour.phase.interactive:
        sim.step()
    rng, heights = np.random.default_rng(4), {name: sim.com(name)[0][2] for name in ("bob", "alice")}
    for _ in range(12):
        sim.live.set("sword", np.concatenate([rng.uniform(-1, 3, 3), rng.normal(size=4)]))
        for _ in range(50):
            assert not sim.step().fallback
        for name, height in heights.items():
            assert abs(sim.com(name)[0][2] - height) < 0.3 * height
