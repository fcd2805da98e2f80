"""Random problems that cannot be (`bad_problems`): each refused at once, with a reason, or ended with what fights named; nothing else."""

import functools
import time

import numpy as np
import pytest

import interplay as ip

pytest.importorskip("casadi")

from bad_problems import bad
from interplay.spacetime import problem
from interplay.spacetime.solving import solve

DOZEN, HUNDRED = range(12), range(1000, 1100)
AT_ONCE = 2.0
"""Within which what is refused is refused, of one processor [s]."""
ITERATIONS = 40
"""What is not refused is given so many iterations: that it ends, and names what is violated, does not depend on how many."""


def check(seed, folder):
    """Return whether a problem was refused; it must not be solved, and no message may be without a reason."""
    made = bad(seed)
    begin = time.process_time()
    try:
        motion = made.run(folder)
    except ip.InputError as error:
        said = str(error)
        assert time.process_time() - begin < AT_ONCE, (seed, made)
        assert any(word in said for word in ("expected", "unknown", "Input should", "cannot read", "taken")), (
            seed,
            said,
        )
        return True
    assert made.fights, (seed, made, motion.solutions[-1])
    last = motion.solutions[-1]
    assert not motion.solved, (seed, made)
    assert last.worst or motion.failures, (seed, made)
    assert last.iterations <= ITERATIONS + 1
    assert np.isfinite(motion.qpos).all()
    motion.write(folder / "left")
    assert np.isfinite(ip.Recording(folder / "left")["qpos"]).all()
    return False


@pytest.mark.parametrize("seed", DOZEN)
def test_a_bad_problem_is_refused_at_once(seed, tmp_path):
    if bad(seed).fights:
        pytest.skip("only a solver can tell")
    assert check(seed, tmp_path)


@pytest.mark.slow
def test_a_hundred_bad_problems_end_with_a_reason(monkeypatch, tmp_path):
    monkeypatch.setattr(problem, "solve", functools.partial(solve, patience=ITERATIONS))
    refused = []
    for seed in HUNDRED:
        folder = tmp_path / str(seed)
        folder.mkdir()
        refused.append(check(seed, folder))
    assert 60 < sum(refused) < 100
