"""Acrobats: a tower of three, each storey carrying what stands on it; the ones below answer to the top one."""

import itertools
import json

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay.catalogue import scenario
from interplay.io.recording import Recording

CAST = ("bottom", "middle", "top")
SIDES = ("left", "right")


@pytest.fixture(scope="module")
def tower(finished):
    """The finished tower, and the least distance [m] of each lifted foot from the block it leaves and the head it passes."""
    record = Recording(finished("acrobats"))
    m, d, near = record.model, mujoco.MjData(record.model), {}
    for phase, qpos in zip(record.phases, record["qpos"], strict=True):
        climber, _, doing = phase.partition(": ")
        if doing.startswith("swing"):
            d.qpos[:] = qpos
            mujoco.mj_kinematics(m, d)
            foot = m.geom(f"{climber}/{doing.split()[1]}_foot_hull").id
            carrier = CAST[CAST.index(climber) - 1]
            for other in (f"block_{climber}/hull", f"{carrier}/head_hull"):
                apart = mujoco.mj_geomDistance(m, d, foot, m.geom(other).id, 1.0, np.zeros(6))
                near[phase, other] = min(apart, near.get((phase, other), 1.0))
    sim = scenario("acrobats")().simulation()
    sim.restore(record.checkpoint)
    sim.step()
    return sim, near


def pressed(sim, name):
    """Return the force [N] into each sole."""
    return np.array([sim.force(f"{name}/{side}_sole")[2] for side in SIDES])


def test_each_storey_carries_what_stands_on_it(tower):
    sim, _ = tower
    m = sim.scene.model
    weight = {name: 9.81 * m.body_subtreemass[sim.scene.body(name)] for name in CAST}
    for k, name in enumerate(CAST):
        assert_allclose(pressed(sim, name).sum(), sum(weight[n] for n in CAST[k:]), rtol=2e-3)
        assert pressed(sim, name).min() > 0.3 * pressed(sim, name).sum()
    touching = {c.label for c in sim.contacts}
    assert len(touching) == 6
    for carrier, climber in itertools.pairwise(CAST):
        for side in SIDES:
            assert (f"{climber}/{side}_sole", f"{carrier}/{side}_shoulder") in touching


def test_lifted_feet_clear_block_and_head(tower):
    _, near = tower
    assert len(near) == 8
    for (phase, other), apart in near.items():
        # A foot starts on its block: it may not sink into it by more than a millimetre while it tilts off.
        assert apart > (-1e-3 if "block" in other else 3e-3), f"{phase}: {other} at {1e3 * apart:.2f} mm"


def test_the_ones_below_answer_to_the_top_one(tower):
    """She moves to the left: the pressure under the strong man goes along, and nobody falls."""
    sim, _ = tower
    before = {name: sim.com(name)[0] for name in CAST}
    share = pressed(sim, "bottom")
    control = sim.live.controls["com"]
    sim.live.set("com", control.value + [0, 0.15, 0])
    for _ in range(300):
        assert not sim.step().fallback
    after = {name: sim.com(name)[0] for name in CAST}
    assert after["top"][1] - before["top"][1] > 0.10
    assert after["middle"][1] - before["middle"][1] > 0.02
    left, right = pressed(sim, "bottom")
    assert left - right > share[0] - share[1] + 200
    assert_allclose(left + right, share.sum(), rtol=5e-3)
    for name in CAST:
        assert abs(after[name][2] - before[name][2]) < 0.05


def test_no_other_body_plays():
    with pytest.raises(ip.InputError, match="cast of its own"):
        scenario("acrobats")(None, ip.Humanoid()).simulation()


def test_counts_are_those_of_table_1(finished):
    size = json.loads((finished("acrobats") / "report.json").read_text())["size"]
    expected = {
        "subsystems": 3,
        "dofs": 108,
        "actuated": 90,
        "planar_points": 24,
        "grasp_points": 0,
        "collision_pairs": 6,
        "paper_qp": 294,
        "paper_eq": 180,
        "paper_ineq": 282,
    }
    assert {key: size[key] for key in expected} == expected
