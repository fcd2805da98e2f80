"""Many measurements at once: what is found is the same, whoever works, and whoever dies."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

import interplay as ip
from interplay.runs.pool import measured, pool


def drawn(seed):
    return np.random.default_rng(seed).normal(size=4).tobytes()


def dies_once(case):
    """Die of the third case, unless it has been seen before."""
    folder, seed = case
    if seed == 3 and not (seen := Path(folder) / "seen").exists():
        seen.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return drawn(seed)


def dies(case):
    os._exit(7)


def fails(case):
    raise ip.InputError(f"expected better, got {case}")


def threads(case):
    return [os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")]


def whose(case):
    return os.getpid()


def found(workers, measure=drawn, cases=range(8)):
    with pool(workers) as many:
        return in_order(many, measure, cases)


def in_order(many, measure=drawn, cases=range(8)):
    return [result for _, result in sorted(many.done(measure, list(cases)))]


@pytest.fixture(scope="module")
def two():
    """Return two processes."""
    with pool("2") as many:
        yield many


def test_workers_change_nothing(two):
    assert in_order(two) == found(1) == found("1") == [drawn(seed) for seed in range(8)]
    assert list(measured(drawn, [1, 2], 1)) == [drawn(1), drawn(2)]


def test_processes_stay_for_the_next_call(two):
    first = set(in_order(two, whose, range(20)))
    assert set(in_order(two, whose, range(20))) <= first
    assert len(first) <= 2
    assert os.getpid() not in first


def test_a_worker_that_dies_loses_nothing(tmp_path):
    cases = [(str(tmp_path), seed) for seed in range(8)]
    assert found(2, dies_once, cases) == found(1)
    assert (tmp_path / "seen").exists()


def test_what_always_kills_is_given_up(monkeypatch):
    monkeypatch.setattr("interplay.runs.pool.DEATHS", 1)
    with pytest.raises(ip.InterplayError, match=r"1 workers in a row have died of case 0 \(exit code 7\)"):
        found(2, dies, [0])


def test_one_thread_each_and_none_of_ours(two):
    before = dict(os.environ)
    assert in_order(two, threads, [0, 1]) == [["1", "1"], ["1", "1"]]
    assert dict(os.environ) == before


def test_errors_come_back(two):
    for many in (two, 1):
        with pytest.raises(ip.InputError, match="expected better, got 5"):
            found(many, fails, [5]) if many == 1 else in_order(many, fails, [5])
    assert in_order(two) == found(1)  # with other processes


@pytest.mark.parametrize("workers", [0, 65, "many", "2.5", True])
def test_workers_that_cannot_be(workers):
    with pytest.raises(ip.InputError, match="workers: expected"):
        found(workers)


def test_dask_does_the_same(tmp_path):
    """The scheduler of a cluster, one of whose workers is killed on the way."""
    distributed = pytest.importorskip("distributed")
    options = {"dashboard_address": None, "protocol": "tcp", "host": "127.0.0.1"}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tcp://")
        cases = [(str(tmp_path), seed) for seed in range(8)]
        assert found(address, dies_once, cases) == found(1)
        assert (tmp_path / "seen").exists()
        with pytest.raises(ip.InputError, match="expected better, got 5"):
            found(address, fails, [5])


def test_a_scheduler_that_is_not_there(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("interplay.runs.pool.ANSWERS_WITHIN", "1s")
    with pytest.raises(ip.InputError, match="dask scheduler"):
        found("tcp://127.0.0.1:9")
