"""One test file over the whole registry: each loads, is finite, repeats, ends where it declares, answers to its controls."""

import json

import numpy as np
import pytest

from interplay.catalogue import registry
from interplay.runs.run import run
from plain import machine

NAMES = sorted(name for name, found in registry().items() if found.world is None)
"""Those of the direct world, whose laws hold exactly; others have tests of their own."""


def test_registry_has_what_was_promised():
    assert {"stand", "box", "door", "valve", "lever", "ring", "push_two_bodies", "acrobats"} <= set(NAMES)
    assert {"platform", "sobriety", "wall"} <= set(registry()) - set(NAMES)
    for name, scenario in registry().items():
        assert scenario.name == name
        assert scenario.summary
        for field in scenario.Parameters.model_fields.values():
            assert field.description


OTHER_STEPS = [n for n in NAMES if registry()[n].dt != 0.005]


@pytest.mark.parametrize(
    ("name", "dt"),
    [*((n, None) for n in NAMES), *(pytest.param(n, 0.005, marks=pytest.mark.slow) for n in OTHER_STEPS)],
)
def test_it_finishes_without_relaxing_anything(name, dt, finished):
    report = json.loads((finished(name, dt) / "report.json").read_text())
    assert report["finished"]
    assert report["fallbacks"] == 0
    phases = list(machine(registry()[name]().simulation()).phases)
    assert report["states_visited"] == phases
    c = report["certificate"]
    assert c["eom_residual"] < 1e-6
    assert c["momentum_residual"] < 1e-6
    assert c["third_law_residual"] < 1e-8
    assert c["contact_drift_mm"] < 0.5
    assert c["penetration_mm"] < 2  # of all pairs
    assert c["friction_violation"] < 1e-6
    assert c["torque_ratio"] <= 1 + 1e-6
    assert c["limit_violation"] < 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_controls_answer_to_a_targets_file(name, tmp_path):
    """Random jumps of every live control, from a file: finite, upright, and the feature follows it home."""
    sim = registry()[name]().simulation()
    rng = np.random.default_rng(1)
    control = next(iter(sim.live.controls.values()))
    home = control.value.copy()
    lines = []
    for time in np.arange(0.5, 8.0, 0.75):
        value = control.value.copy()
        n = len(control.low)
        value[:n] = rng.uniform(control.low, control.high)
        if control.kind == "pose":
            value[3:] += rng.normal(0, 0.15, 4)
        lines.append(f"{time},{control.name}," + ",".join(f"{v:.6f}" for v in value))
    lines.append(f"8.0,{control.name}," + ",".join(f"{v:.6f}" for v in home))
    (tmp_path / "targets.csv").write_text("\n".join(lines))
    from interplay.motion.targets import read_targets

    while not machine(sim).phase or not machine(sim).phase.interactive:
        sim.step()
        assert not sim.behaviour.failure
    begin = sim.time
    cast = [name for name in sim.scene.names if sim.scene.kind(name) == "character"]
    heights = [sim.com(name)[0][2] for name in cast]
    sim.live.targets = [t._replace(time=t.time + begin) for t in read_targets(tmp_path / "targets.csv", sim)]
    fallbacks = 0
    while sim.time < begin + 12.0:
        fallbacks += sim.step().fallback
    assert np.isfinite(sim.state.qpos).all()
    for name, height in zip(cast, heights, strict=True):
        assert abs(sim.com(name)[0][2] - height) < 0.3 * height
    if control.unit == "kg":
        assert sim.scene.model.body(f"bar/{control.name}").mass[0] == pytest.approx(home[0], abs=1e-6)
    followed = machine(sim).entries[-1].objectives[0]
    assert np.linalg.norm(followed.error(sim.terms, sim.time)[:3]) < 0.05
    assert fallbacks == 0


def test_door_is_counted_as_in_table_1(finished):
    size = json.loads((finished("door") / "report.json").read_text())["size"]
    expected = {
        "subsystems": 2,
        "dofs": 38,
        "actuated": 30,
        "planar_points": 8,
        "grasp_points": 4,
        "collision_pairs": 1,
        "paper_qp": 116,
        "paper_eq": 74,
        "paper_ineq": 93,
    }
    assert {key: size[key] for key in expected} == expected


def test_seconds_cut_short_and_hold_the_last_phase(tmp_path):
    short = run("stand", tmp_path / "short", seconds=0.5)
    assert (short["finished"], short["steps"], short["failure"]) == (False, 100, None)
    long = run("stand", tmp_path / "long", seconds=14.0)
    assert (long["finished"], long["steps"]) == (True, 2800)
    assert long["states_visited"][-1] == "follow"


def test_only_the_integrated_program_pushes_the_load_to_its_goal():
    """Appendix B: alone it under-actuates, after a kinematic plan it never touches, enforced it exceeds the thruster."""
    scenario = registry()["push_two_bodies"]()
    found = scenario.summary_of(scenario.strategies())
    assert found["integrated"]["final_error_m"] < 0.001
    assert found["integrated"]["thrust_over_limit"] <= 1 + 1e-6
    assert found["integrated"]["largest_gap_m"] < 1e-6
    # At rest the cart alone lacks the load's weight: k m₁ e = m₂ g sin(slope).
    p = scenario.p
    expected = p.load * 9.81 * np.sin(p.slope) / (20.0 * p.cart)
    assert found["independent"]["final_error_m"] == pytest.approx(expected, rel=0.05)
    assert found["kinematic"]["largest_gap_m"] > 0.05
    assert found["kinematic"]["thrust_over_limit"] == pytest.approx(1.0, abs=1e-3)
    assert found["enforced"]["thrust_over_limit"] > 2


@pytest.mark.parametrize(("n", "hands"), [(1, 0), (2, 1), (3, 3), (5, 5)])
def test_a_ring_is_closed_from_three(n, hands):
    """One objective for all: the common centre of mass follows it, and every member moves."""
    ring = registry()["ring"]({"n": n})
    sim = ring.simulation()
    assert sum(c.kind == "grasp" for c in sim.contacts) == hands
    assert len(sim.objectives) == 1
    start = [sim.com(f"c{k}")[0] for k in range(n)]
    for _ in range(600):
        assert not sim.step().fallback
    shared = sim.behaviour.objectives[0]
    assert np.linalg.norm(shared.error(sim.terms, sim.time)) < 0.01
    moved = [np.linalg.norm(sim.com(f"c{k}")[0] - start[k]) for k in range(n)]
    assert min(moved) > 0.02
