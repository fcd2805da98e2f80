"""Long runs (make test-slow): nothing relaxes, nothing grows, nothing drifts."""

import resource

import numpy as np
import pytest

import plain
from interplay.catalogue import scenario
from interplay.io.export import export
from interplay.maths.rotations import turned
from interplay.runs.run import run

STEPS = 1_000_000


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.slow
def test_a_million_steps_of_stand():
    sim = scenario("stand")().simulation()
    while sim.behaviour is None or plain.machine(sim).phase is None or not plain.machine(sim).phase.interactive:
        sim.step()
    sim.run(10.0)
    home, memory, drift = sim.com("alice")[0], 0, 0.0
    fallbacks = 0
    while sim.steps < STEPS:
        fallbacks += sim.step().fallback
        if sim.steps == 50_000:
            memory = resident_bytes()
        if sim.steps % 1000 == 0:
            drift = max(drift, float(np.linalg.norm(sim.com("alice")[0] - home)))
    growth = resident_bytes() / memory - 1
    print(f"\n{STEPS} steps: {fallbacks} fallbacks, COM drift {1e3 * drift:.4f} mm, memory {100 * growth:+.2f} %")
    assert fallbacks == 0
    assert drift < 5e-3
    assert growth < 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dt"), plain.RUNS)
def test_a_minute_of_every_scenario(name, dt, tmp_path):
    targets = {
        "stand": "com,0.05,-0.05,0.8",
        "box": "box,0.4,0.1,1.2,0.98,0.1,0.1,0.1",
        "door": "door,0.5",
        "valve": "valve,-2.0",
        "lever": "lever,-0.4",
        "ring": "com,0.05,-0.05,0.9",
        "king": "reach,2.5,-0.5,1.1",
        "funambulist": "left_weight,6",
        "sword": "sword,-0.2,0.05,1.1,0.97,0,-0.25,0",
        "acrobats": "com,0,0.1,3.8",
    }[name]
    (tmp_path / "targets.csv").write_text(f"time,control,values\n30,{targets}\n")
    report = run(name, tmp_path / "run", dt=dt, seconds=60, targets=tmp_path / "targets.csv")
    export(tmp_path / "run", tmp_path / "run" / "run.npz")
    checked = plain.Run(tmp_path / "run")
    drift = checked.drift()
    eom = third = 0.0
    for t in range(0, checked.T, 7):
        checked.at(t)
        eom, third = max(eom, checked.eom_residual(t)), max(third, checked.third_law_residual(t))
    print(f"\n{name} {dt}: drift {1e3 * drift:.4f} mm, eom {eom:.1e}, third law {third:.1e}, {report['certificate']}")
    assert report["failure"] is None
    assert report["fallbacks"] == 0
    assert drift < 1e-3
    assert eom < 1e-6
    assert third < 1e-8
    assert report["certificate"]["penetration_mm"] < 1.0


INTERACTIVE = ["stand", "box", "door", "valve", "lever", "ring", "king", "funambulist", "sword", "acrobats"]
JUMPS = {"rad": 0.5, "kg": 5.0}
"""How far a scalar control jumps at most, by its unit; places jump by 0.5 m and turn by 0.5 rad."""


@pytest.mark.slow
@pytest.mark.parametrize("name", INTERACTIVE)
def test_two_hundred_jumps_of_the_targets(name):
    """Every half second a live control jumps at random: nobody falls, nothing gives way."""
    sim = scenario(name)().simulation()
    while plain.machine(sim).phase is None or not plain.machine(sim).phase.interactive:
        sim.step()
        assert not sim.behaviour.failure
    rng, gave = np.random.default_rng(7), {}
    cast = [n for n in sim.scene.names if sim.scene.kind(n) == "character"]
    nominal = {n: sim.com(n)[0][2] for n in cast}
    for _ in range(200):
        control = list(sim.live.controls.values())[rng.integers(len(sim.live.controls))]
        value = control.value.copy()
        if control.kind == "scalar":
            value += rng.uniform(-1, 1, 1) * JUMPS.get(control.unit, 0.5)
        else:
            way = rng.normal(size=3)
            value[:3] += 0.5 * rng.uniform() * way / np.linalg.norm(way)
        if control.kind == "pose":
            turn = rng.normal(size=3)
            value[3:] = turned(0.5 * rng.uniform() * turn / np.linalg.norm(turn), value[3:])
        sim.live.set(control.name, value)
        for _ in range(round(0.5 / sim.dt)):
            for conflict in sim.step().conflicts:
                gave[conflict.kind, conflict.name] = gave.get((conflict.kind, conflict.name), 0) + 1
        assert np.isfinite(sim.state.qpos).all()
        for n in cast:
            assert abs(sim.com(n)[0][2] - nominal[n]) < 0.3 * nominal[n]
    print(f"\n{name}: gave way {gave}")
    assert not gave


@pytest.mark.slow
def test_a_minute_of_two_dozen(tmp_path):
    """Ring(24): nothing relaxes, no safeguard, and the process stays small."""
    report = run("ring", tmp_path, seconds=60, parameters={"n": 24, "turns": 14})
    c, peak = report["certificate"], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"\nring of 24: {c}, {peak:.0f} MB")
    assert report["fallbacks"] == 0
    assert c["eom_residual"] < 1e-6
    assert c["third_law_residual"] < 1e-8
    assert c["contact_drift_mm"] < 0.5
