"""Learning where a skill succeeds: samples, machines by numpy alone, and what supervisors make of them."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import interplay as ip
from interplay.cli import app
from interplay.runs.bodies import Body
from interplay.runs.learn import Case, Data, judged, learn, machines, sampled, samples
from interplay.runs.rollouts import WHO, ground
from interplay.runs.starts import Start
from interplay.runs.tune import tune
from interplay.skills.key_poses import read
from interplay.skills.learned import Learned, features
from interplay.skills.sensing import Senses

ADULT = Body()
BOW = "{name: bow, summary: bows, bid: 19, when: {upright: [0.9, null]}, until: {capture: [null, 0.1]}, keys: [%s]}"
BOW %= "{seconds: 0.1, pose: {torso_flexion: 0.3}}"
"""It fails if she has been pushed so hard that she leaves her feet."""
QUIET = lambda done, total, what: None  # noqa: E731


@pytest.fixture
def bow(tmp_path):
    (tmp_path / "bow.yaml").write_text(BOW)
    return tmp_path / "bow.yaml"


@pytest.fixture
def cases(bow):
    still = np.zeros(ground(ADULT).sim.scene.model.nv)
    start = (Start(ground(ADULT).sim.scene.qpos, still, 1),)
    return [Case(ADULT, read(bow), start, 150.0, 0.1, seed) for seed in range(6)]


def dies_once(case):
    """Make a sample; die of the third, unless that has happened."""
    seen = Path(os.environ["SEEN"])
    if case.seed == 3 and not seen.exists():
        seen.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return sampled(case)


def kept(tmp_path, cases, workers, **options):
    data, _ = samples(cases, tmp_path / "samples.npz", "these", workers, options.get("resume", False), QUIET)
    return [part.tobytes() for part in data]


def test_samples_are_the_same_with_any_workers(tmp_path, cases, monkeypatch):
    """One worker, two, one of which is killed, a search that is resumed, and a dask cluster: bit for bit."""
    alone = kept(tmp_path, cases, 1)
    monkeypatch.setenv("SEEN", str(tmp_path / "seen"))
    monkeypatch.setattr("interplay.runs.learn.sampled", dies_once)
    assert kept(tmp_path, cases, 2) == alone
    assert (tmp_path / "seen").exists()
    kept(tmp_path, cases[:2], 1)
    assert kept(tmp_path, cases, 1, resume=True) == alone


def test_samples_are_the_same_through_dask(tmp_path, cases):
    distributed = pytest.importorskip("distributed")
    alone = kept(tmp_path, cases[:3], 1)
    options = {"dashboard_address": None, "protocol": "tcp", "host": "127.0.0.1"}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, **options) as cluster:
        assert kept(tmp_path, cases[:3], cluster.scheduler_address) == alone


def test_a_sample_is_shaken_within_bounds(cases):
    """Unpushed and with no offsets she stands as she did; what was sensed is finite, and named."""
    still = sampled(cases[0]._replace(push=0.0, offset=0.0))
    place = ground(ADULT)
    names, values = features(Senses(place.sim, WHO).look(place.sim))
    assert still.succeeded
    assert len(still.state) == len(names) == len(values)
    assert np.isfinite(still.state).all()
    assert abs(still.state[names.index("speed")]) < 0.1
    assert {"capture", "left_knee_flexion", "left_knee_flexion speed", "turning about y"} <= set(names)
    hard = [sampled(case) for case in cases]
    assert max(one.state[names.index("speed")] for one in hard) > 0.5


@pytest.fixture(scope="module")
def rings():
    """Return states within a ring that succeed: no plane parts them."""
    rng = np.random.default_rng(1)
    states = rng.normal(size=(400, 5)) * [1, 3, 1, 1, 0]
    return Data(states, states[:, 0] ** 2 + (states[:, 1] / 3) ** 2 < 1.2)


def test_machines_are_those_of_scikit_learn(rings, tmp_path):
    """Decisions by numpy are those of the library, and a file holds all of them."""
    svm = pytest.importorskip("sklearn.svm")
    neighbors = pytest.importorskip("sklearn.neighbors")
    known, unseen = rings.part(slice(250)), rings.part(slice(250, None))
    found = machines(known, list("abcde"), QUIET)
    z = (unseen.states - found["rbf"][0].mean) / found["rbf"][0].spread
    trained = (known.states - found["rbf"][0].mean) / found["rbf"][0].spread
    for kind, (learned, told) in found.items():
        learned.write(tmp_path / "kept.npz")
        again = Learned.read(tmp_path / "kept.npz")
        assert (again.decide(unseen.states) == learned.decide(unseen.states)).all()
        if kind == "nearest":
            labels = np.where(known.succeeded, 1, -1)
            theirs = neighbors.KNeighborsClassifier(1).fit(trained, labels).predict(z)
        else:
            given = {key: told[key] for key in ("C", "gamma", "degree") if told[key] is not None}
            machine = svm.SVC(kernel=kind, coef0=1.0, class_weight="balanced", **given)
            theirs = machine.fit(trained, known.succeeded).decision_function(z)
        assert learned.decide(unseen.states) == pytest.approx(theirs, abs=1e-9)
    right = {kind: judged(learned, unseen) for kind, (learned, _) in found.items()}
    assert right["rbf"]["balanced"] > 0.9
    assert right["poly"]["balanced"] > 0.9
    assert right["linear"]["balanced"] < 0.7


def constant(value):
    """Return a pre-condition that always decides the same."""
    place = ground(ADULT)
    names = features(Senses(place.sim, WHO).look(place.sim))[0]
    d = len(names)
    return Learned("linear", tuple(names), np.zeros(d), np.ones(d), np.zeros((1, d)), np.ones(1), value)


def test_what_is_learned_is_a_pre_condition_beside_the_own_one(tmp_path, bow):
    """The supervisor's log tells it."""
    constant(-0.5).write(tmp_path / "never.npz")
    bow.write_text(BOW.replace("keys:", "learned: never.npz, keys:"))
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.74, 68, "female"), "ann"), dt=0.01, world="simulated")
    sim.behaviour = ip.Supervisor("ann", ip.repertoire("ann", bow))
    sim.step()
    assert sim.behaviour.label == "balance"
    assert sim.behaviour.bids["bow"] == (0.0, "it has learned to fail from here (-0.50), though its conditions hold")
    constant(0.5).write(tmp_path / "never.npz")
    sim.behaviour = ip.Supervisor("ann", ip.repertoire("ann", bow))
    sim.step()
    assert sim.behaviour.label == "bow"
    assert "learned to succeed from here (0.50)" in sim.behaviour.bids["bow"].why


def test_another_body_is_refused():
    child = ip.Simulation(ip.Scene().add(ip.Humanoid(1.74, 68, joints=34), "ann"), dt=0.01, world="simulated")
    child.behaviour = ip.Supervisor("ann", ip.repertoire("ann"))
    child.behaviour.skills["balance"].learned = constant(1.0)
    with pytest.raises(ip.InputError, match="expected a body with the joints that it was learned with"):
        child.step()


def test_the_command(tmp_path, bow):
    pytest.importorskip("sklearn")
    told = CliRunner().invoke(
        app,
        ["learn", str(bow), "--train", "12", "--test", "4", "--push", "150", "--offset", "0.1", "--workers", "1"]
        + ["--out", str(tmp_path)],
    )
    assert told.exit_code == 0, (told.output, told.exception)
    report = json.loads((tmp_path / "report.json").read_text())
    assert {row["machine"] for row in report["machines"]} == {"linear", "poly", "rbf", "nearest"}
    assert Learned.read(tmp_path / "bow.npz").kind == report["best"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"train": 1}, "samples to learn from"),
        ({"push": -1}, "push"),
        ({"offset": float("nan")}, "offset"),
        ({"skill": "balanse"}, "did you mean 'balance'"),
        ({"resume": True}, "--resume: expected samples"),
        ({"push": 0.0, "offset": 0.0, "train": 6, "test": 1}, "some samples that succeed and some that fail"),
    ],
)
def test_what_cannot_be(tmp_path, bow, changes, said):
    with pytest.raises(ip.InputError, match=said):
        learn(**{"skill": bow, "out": tmp_path, "workers": 1, **changes})


def test_interrupted_it_keeps_the_samples_that_are_made(tmp_path, cases):
    def stop(done, total, what):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        samples(cases[:3], tmp_path / "samples.npz", "these", 1, False, stop)
    assert len(np.load(tmp_path / "samples.npz")["seeds"]) == 2
    made = []
    samples(cases[:3], tmp_path / "samples.npz", "these", 1, True, lambda done, total, what: made.append(done))
    assert made == [3]
    with pytest.raises(ip.InputError, match="of another skill, body, or way of shaking"):
        samples(cases[:3], tmp_path / "samples.npz", "others", 1, True, QUIET)


@pytest.mark.parametrize("missing", ["cma", "sklearn.svm", "distributed"])
def test_what_is_not_installed_is_named(tmp_path, bow, monkeypatch, rings, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    does = {
        "cma": lambda: tune(bow, tmp_path / "out", evaluations=1, workers=1),
        "sklearn.svm": lambda: machines(rings, list("abcde"), QUIET),
        "distributed": lambda: learn(bow, tmp_path / "out", workers="tcp://127.0.0.1:1"),
    }
    with pytest.raises(ip.InputError, match=r"is missing; install it with: pip install 'interplay\[(skills|dask)\]'"):
        does[missing]()


def test_files_that_are_none(tmp_path):
    with pytest.raises(ip.InputError, match="expected what `interplay learn` has written"):
        Learned.read(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("no")
    with pytest.raises(ip.InputError, match="expected what `interplay learn` has written"):
        Learned.read(tmp_path / "text.npz")
    constant(float("nan")).write(tmp_path / "nan.npz")
    with pytest.raises(ip.InputError, match="expected finite numbers"):
        Learned.read(tmp_path / "nan.npz")
