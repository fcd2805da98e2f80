"""What keeps a step short: patterns are laid out once, what held before is the first guess, no kernel is loaded in a run."""

import logging
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay import rehearsal
from interplay.control.integrated import IntegratedController
from interplay.qp import kkt
from interplay.qp.problem import compress

WALK = """
import sys
import interplay as ip
from interplay.control.integrated import IntegratedController
from numba.core.registry import CPUDispatcher

def kernels():
    return {
        (name, key): len(value.overloads)
        for name, module in list(sys.modules.items()) if name.startswith("interplay")
        for key, value in vars(module).items() if isinstance(value, CPUDispatcher)
    }

scene = ip.Scene().add(ip.Humanoid(1.70, 65, "female"), "ann").add(ip.Box(), "box", pos=(0.6, 0.3))
sim = ip.Simulation(scene)
before = kernels()
for side in ("left", "right"):
    sim.contacts.add(f"ann/{side}_sole", ip.GROUND, friction=1.0)
sim.contacts.add("box/bottom", ip.GROUND)
sim.collisions.add("ann", "box")
sim.objectives += [ip.Posture("ann", weight=0.2), ip.AngularMomentum("ann"), ip.Orientation("ann/chest", weight=5)]
sim.behaviour = ip.Machine(ip.Walk("walk", "ann", 1, ip.Gait(stride=0.2)).phases())
while not sim.behaviour.done:
    sim.step()
    assert not sim.behaviour.failure
sim.live.push("ann/chest", (120, 0, 0), 0.2)
changes = 0
for _ in range(100):
    changes += sim.step().plan.proof.iterations
late = [key for key, count in kernels().items() if count != before.get(key, 0)]
print("changes", changes > 0, "late", late)
"""


def test_no_kernel_is_loaded_in_a_run():
    """In a process of its own: a step, a push that rows must give, a box that is near, after the rehearsal alone."""
    done = subprocess.run([sys.executable, "-c", WALK], capture_output=True, text=True, timeout=300)
    assert done.stdout == "changes True late []\n", done.stdout + done.stderr


REHEARSAL = """
from interplay import rehearsal

told = []
rehearsal.MOST_PROCESSES = {processes}
rehearsal.rehearse(lambda *now: told.append(now))
kernels = rehearsal.kernels()
counts = [len(kernel.overloads) for kernel in kernels.values()]
rising = all(a[0] <= b[0] for a, b in zip(told, told[1:]))
known = all(total == len(kernels) and what in kernels for _, total, what in told)
print(len(told), told[-1:] and told[-1][0] == len(kernels), rising, known, max(counts))
"""


def _rehearse(processes=1, **environment):
    """Rehearse in a process of its own; return how often it told of a kernel, and what else it found."""
    done = subprocess.run(
        [sys.executable, "-c", REHEARSAL.format(processes=processes)],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    count, *rest = done.stdout.split()
    assert done.stderr == ""
    return int(count), rest


def test_a_warm_rehearsal_compiles_nothing():
    rehearsal.rehearse()
    assert _rehearse() == (0, ["[]", "True", "True", "1"])


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_a_cold_rehearsal_tells_of_each_kernel(tmp_path, processes):
    """Each is compiled for one signature only, and the next process finds them all; a helper takes some off its hands."""
    count, rest = _rehearse(processes, NUMBA_CACHE_DIR=str(tmp_path))
    assert rest == ["True", "True", "True", "1"]
    assert count == len(rehearsal.kernels()) if processes == 1 else 0 < count <= len(rehearsal.kernels())
    assert _rehearse(NUMBA_CACHE_DIR=str(tmp_path))[0] == 0


def test_compiling_is_told_once_where_there_is_no_terminal(caplog, capsys):
    with caplog.at_level(logging.INFO), rehearsal._progress_shown() as show:
        show(1, 2, "one")
        show(2, 2, "another")
    assert caplog.messages == [rehearsal.MESSAGE]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("seed", range(5))
def test_compressed_columns(seed):
    rng = np.random.default_rng(seed)
    rows, cols, values = rng.integers(0, 7, 60), rng.integers(0, 9, 60), rng.normal(size=60)
    pointers, indices, position = compress(rows, cols, 7, 9)
    dense, data = np.zeros((7, 9)), np.zeros(len(indices))
    np.add.at(dense, (rows, cols), values)
    np.add.at(data, position, values)
    for j in range(9):
        column = slice(pointers[j], pointers[j + 1])
        assert (np.diff(indices[column]) > 0).all()
        assert_allclose(dense[indices[column], j], data[column])
    assert len(indices) == len(set(zip(rows.tolist(), cols.tolist(), strict=True)))


def test_rows_keep_their_sides_by_name():
    names, side = np.array([5, -3, 8, 2]), np.array([1, 0, -1, 2])
    assert kkt.carried(names, side, np.array([8, 7, 2, 5, -3])).tolist() == [-1, 0, 2, 1, 0]
    assert kkt.carried(np.zeros(0, np.int64), side, np.array([8])).tolist() == [0]


@pytest.fixture
def sim():
    """A character on her feet."""
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.70, 65, "female"), "ann"))
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", ip.GROUND)
    sim.objectives += [ip.Posture("ann"), ip.Com("ann")]
    sim.step()
    return sim


def structure(sim):
    return sim.controller.programs.assembly.structure


def check_against_a_fresh_one(sim):
    """The next step is that of a simulation which knows nothing of the patterns before."""
    fresh = IntegratedController(sim.scene, sim.dt)
    assert_allclose(fresh.solve(sim.state, sim.demands).qacc, sim.step().qacc, atol=1e-9)


def test_what_objectives_want_is_no_structure(sim):
    """Objectives of a tree come and go, contacts fade, on one pattern; its values are those of the objectives in force."""
    first = structure(sim)
    sim.objectives = [
        *sim.objectives,
        ip.Orientation("ann/chest", weight=5),
        ip.Point("ann/right_palm", (0.4, -0.2, 1.0)),
    ]
    sim.step()
    assert structure(sim) is first
    check_against_a_fresh_one(sim)
    sim.contacts.release("ann/left_sole")
    sim.step()
    assert structure(sim) is first
    check_against_a_fresh_one(sim)


def test_a_pattern_that_comes_back_is_known(sim):
    both, solver = structure(sim), sim.controller.solver
    layout = solver._layout
    sim.contacts.remove("ann/left_sole")
    sim.step()
    assert structure(sim) is not both
    assert solver._layout is not layout
    sim.contacts.add("ann/left_sole", ip.GROUND)
    sim.step()
    assert structure(sim) is both
    assert solver._layout is layout
    check_against_a_fresh_one(sim)


def _walk(foresee):
    """Walk two steps; return the last state, and how many patterns were laid out in steps that changed the contacts."""
    scene = ip.Scene().add(ip.Humanoid(1.70, 65, "female"), "ann")
    sim = ip.Simulation(scene)
    if not foresee:
        sim.controller.programs.ahead = lambda demands: None
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", ip.GROUND, friction=1.0)
    sim.objectives += [ip.Posture("ann", weight=0.2), ip.AngularMomentum("ann"), ip.Orientation("ann/chest", weight=5)]
    sim.behaviour = ip.Machine(ip.Walk("walk", "ann", 2, ip.Gait(stride=0.2)).phases())
    late, made = 0, []
    layouts = sim.controller.solver._layouts  # type: ignore[attr-defined]
    while not sim.behaviour.done:
        contacts, known = sim.contacts.items, set(layouts)
        sim.step()
        changed = {c.first.name for c in contacts} != {c.first.name for c in sim.contacts.items}
        made.append(changed)
        late += changed and set(layouts) != known
    assert sum(made) >= 4
    return sim.state.qpos, late


def test_patterns_are_laid_out_before_they_are_needed():
    (foreseen, on_time), (surprised, late) = _walk(True), _walk(False)
    assert (on_time, late > 0) == (0, True)
    assert np.array_equal(foreseen, surprised)  # it changes when, not what
