"""Learning where a skill succeeds (faloutsos2001, section 4.2): samples, machines, and how well they do on samples they have not seen.

A sample: from where she lies or stands undisturbed, so that the skill can begin, she is pushed for 0.3 s at her pelvis, in a random
direction by a random bounded force, while servos drive her joints to random bounded offsets; then the skill acts, whatever it would bid,
and it succeeds or fails. Each follows from its seed. What is kept is what she sensed as the skill began, and the label.
"""

from __future__ import annotations

import json
import time as clock
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from interplay.control.plan import Servo
from interplay.errors import InputError, number, whole
from interplay.runs.bodies import ADULT, Body
from interplay.runs.pool import pool
from interplay.runs.rollouts import WHO, followed, ground, skill_of
from interplay.runs.run import make_folder
from interplay.runs.starts import Start, nominal
from interplay.runs.sweep import Progress
from interplay.simulation import Simulation
from interplay.skills.key_poses import Poses, driven, read
from interplay.skills.learned import Learned, features
from interplay.skills.repertoire.settle import Settle
from interplay.skills.sensing import Sensed, Senses
from interplay.skills.skill import MOST, RUNNING, SUCCEEDED, Bid, Skill
from interplay.skills.supervisor import Supervisor

SHAKEN = 0.3
"""How long she is pushed [s]."""
PUSH, OFFSET = 60.0, 0.6
"""Largest impulse of the push [N·s for 68 kg], and largest offset of a joint [rad]."""
FEWEST, SOME = 0.2, 0.8
"""Parts of samples that should succeed."""
KEEP = 100
"""After so many samples they are written."""
FOLDS, TRIED = 3, 1500
"""Parts of cross-validation, and most samples that it takes."""
C, GAMMA, DEGREES = (0.1, 1.0, 10.0, 100.0), (0.2, 1.0, 5.0), (2, 3)
"""What machines are tried with: the price of errors; γ over that of 1/d; degrees of polynomials."""


class Case(NamedTuple):
    """What a sample is drawn from."""

    body: Body
    skill: str | Poses
    starts: tuple[Start, ...]
    """Where she is undisturbed: one of these."""
    push: float
    offset: float
    seed: int


class Sample(NamedTuple):
    """What was sensed as the skill began, and whether it succeeded."""

    state: np.ndarray
    succeeded: bool


class Learnt(NamedTuple):
    """What came of it: the file of the best machine, and how well each did."""

    file: Path
    rows: list[dict[str, Any]]
    told: dict[str, Any]


# -- samples -----------------------------------------------------------------------------------------------------------


class Shake(Skill):
    """Servos drive all joints towards offsets."""

    name = "shake"  # type: ignore[misc]

    def __init__(self, sim: Simulation, offsets: np.ndarray):
        """Take the offsets (k,) of all joints that have motors [rad]."""
        super().__init__(WHO)
        m = sim.scene.model
        _, dofs = driven(sim, WHO)
        joints = m.dof_jntid[dofs]
        wanted = sim.state.qpos[m.jnt_qposadr[joints]] + offsets
        low, high = np.where(m.jnt_limited[joints][:, None], m.jnt_range[joints], (-np.inf, np.inf)).T
        self._servo = Servo(dofs, np.clip(wanted, low, high), np.zeros(len(dofs)))

    def bid(self, sensed: Sensed) -> Bid:
        """Bid most."""
        return Bid(MOST, "she is shaken")

    def update(self, sim: Simulation, sensed: Sensed) -> str:
        """Go on."""
        return RUNNING

    def servo(self, sim: Simulation) -> Servo:
        """Return the servos."""
        return self._servo


def sampled(case: Case) -> Sample:
    """Make a sample."""
    rng, place = np.random.default_rng([case.seed, 2001]), ground(case.body)
    start = case.starts[int(rng.integers(len(case.starts)))]
    sim = place.begin([Settle(WHO)], start.qpos, start.qvel)
    offsets = case.offset * rng.uniform(-1.0, 1.0, len(driven(sim, WHO)[1]))
    away, root = rng.normal(size=3), place.root
    size = case.push * float(sim.scene.model.body_mass.sum()) / ADULT["mass"] / SHAKEN * rng.uniform()
    sim.behaviour = Supervisor(WHO, [Shake(sim, offsets)])
    sim.live.push(root, size * away / np.linalg.norm(away), SHAKEN)
    sim.run(SHAKEN)
    return Sample(features(Senses(sim, WHO).look(sim))[1], followed(place, sim, case.skill).said == SUCCEEDED)


class Data(NamedTuple):
    """Samples: numbers (n, d) and labels (n,), by seed from 0 on."""

    states: np.ndarray
    succeeded: np.ndarray

    def part(self, chosen: slice) -> Data:
        """Return some of them."""
        return Data(self.states[chosen], self.succeeded[chosen])

    @property
    def share(self) -> float:
        """What part succeeded."""
        return float(self.succeeded.mean())


def samples(
    cases: Sequence[Case], file: Path, settings: str, workers: int | str, resume: bool, tell: Progress
) -> tuple[Data, float]:
    """Make samples, keep them as they are made, and return them with the seconds that those took which were made now."""
    found = _kept(file, settings) if resume else {}
    found = {seed: one for seed, one in found.items() if seed < len(cases)}
    missing = [case for case in cases if case.seed not in found]
    begin = clock.perf_counter()
    try:
        with pool(workers) as many:
            for k, one in many.done(sampled, missing):
                found[missing[k].seed] = one
                share = np.mean([one.succeeded for one in found.values()])
                tell(len(found), len(cases), f"{100 * share:.0f} % succeed")
                if not len(found) % KEEP:
                    _keep(file, settings, found)
    finally:
        if found:
            _keep(file, settings, found)
    return _in_order(found), clock.perf_counter() - begin


def _in_order(found: dict[int, Sample]) -> Data:
    ordered = [found[seed] for seed in sorted(found)]
    return Data(np.array([one.state for one in ordered]), np.array([one.succeeded for one in ordered]))


def _keep(file: Path, settings: str, found: dict[int, Sample]) -> None:
    data, half = _in_order(found), file.with_suffix(".new")
    with half.open("wb") as to:
        np.savez(to, seeds=np.array(sorted(found)), settings=np.array(settings), **data._asdict())
    half.replace(file)


def _kept(file: Path, settings: str) -> dict[int, Sample]:
    try:
        with np.load(file, allow_pickle=False) as kept:
            if str(kept["settings"]) != settings:
                raise InputError(f"--resume: {file} is of another skill, body, or way of shaking; expected the same")
            rows = zip(kept["seeds"].tolist(), kept["states"], kept["succeeded"].tolist(), strict=True)
            return {seed: Sample(state, well) for seed, state, well in rows}
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"--resume: expected samples in {file}: {error}") from None


# -- machines ----------------------------------------------------------------------------------------------------------


def machines(data: Data, names: Sequence[str], tell: Progress) -> dict[str, tuple[Learned, dict[str, Any]]]:
    """Return the machines that are learned from data, by kind, each with what was chosen and how long that and the training took [s]."""
    try:
        from sklearn.model_selection import GridSearchCV
        from sklearn.svm import SVC
    except ImportError:
        raise InputError("learn: scikit-learn is missing; install it with: pip install 'interplay[skills]'") from None
    mean, spread = data.states.mean(0), data.states.std(0)
    spread = np.where(spread > 1e-9, spread, 1.0)
    z, labels = (data.states - mean) / spread, np.where(data.succeeded, 1, -1)
    gammas = [gamma / z.shape[1] for gamma in GAMMA]
    grids: dict[str, dict[str, Any]] = {
        "linear": {"C": C[:3]},
        "poly": {"C": C, "gamma": gammas, "degree": DEGREES},
        "rbf": {"C": C, "gamma": gammas},
    }
    out: dict[str, tuple[Learned, dict[str, Any]]] = {}
    common = tuple(names), mean, spread
    for n, (kind, grid) in enumerate(grids.items()):
        tell(n, len(grids), f"{kind} machine")
        begin = clock.process_time()
        machine = SVC(kernel=kind, coef0=1.0, class_weight="balanced", cache_size=500)  # type: ignore[arg-type]
        search = GridSearchCV(machine, grid, scoring="balanced_accuracy", cv=FOLDS, refit=False)
        search.fit(z[:TRIED], labels[:TRIED])
        chosen, searched = search.best_params_, clock.process_time()
        machine.set_params(**chosen).fit(z, labels)
        told = {
            "C": chosen["C"],
            "gamma": chosen.get("gamma"),
            "degree": chosen.get("degree"),
            "cross-validated": float(search.best_score_),
            "search_seconds": searched - begin,
            "training_seconds": clock.process_time() - searched,
        }
        weights, vectors = machine.dual_coef_[0], machine.support_vectors_
        told["vectors"] = len(vectors)
        if kind == "linear":
            weights, vectors = np.ones(1), machine.coef_
        gamma, degree = float(chosen.get("gamma", 0.0)), int(chosen.get("degree", 0))
        out[kind] = Learned(kind, *common, vectors, weights, float(machine.intercept_[0]), gamma, degree), told
    out["nearest"] = Learned("nearest", *common, z, labels.astype(float)), {"vectors": len(z)}
    return out


def judged(learned: Learned, data: Data) -> dict[str, float]:
    """Return accuracy and balanced accuracy on data."""
    right = (learned.decide(data.states) > 0.0) == data.succeeded
    of_each = [
        float(right[data.succeeded == label].mean()) for label in (True, False) if (data.succeeded == label).any()
    ]
    return {"accuracy": float(right.mean()), "balanced": float(np.mean(of_each))}


def learn(
    skill: str | Path,
    out: str | Path,
    *,
    body: Body = Body(),  # noqa: B008 - it is a tuple
    train: int = 1000,
    test: int = 1000,
    push: float = PUSH,
    offset: float = OFFSET,
    workers: int | str = 2,
    resume: bool = False,
    progress: Progress | None = None,
) -> Learnt:
    """Learn from which states a skill succeeds: write ``SKILL.npz``, ``samples.npz`` and ``report.json``, and return them.

    Args:
        skill: its name, or its file of key poses.
        out: the folder.
        body: whose skill it is.
        train, test: numbers of samples (seeds from 0 on) to learn from, and to judge by.
        push: largest impulse of the push [N·s for 68 kg].
        offset: largest offset of a joint [rad].
        workers: processes, or the address of a dask scheduler.
        resume: go on with the samples in the folder.
        progress: called with (done, total, what).
    """
    given: str | Poses = read(skill) if str(skill).endswith((".yaml", ".yml")) else skill_of(str(skill)).name
    name = given if isinstance(given, str) else given.name
    whole("samples to learn from", train, 2 * FOLDS, 10**7)
    whole("samples to judge by", test, 1, 10**7)
    number("push", push, 0.0, 1000.0, "N·s")
    number("offset", offset, 0.0, 3.0, "rad")
    out, tell = Path(out), progress or (lambda done, total, what: None)
    make_folder(out)
    with pool(1) as here:
        begun = nominal(here, body, given)
    cases = [Case(body, given, tuple(begun.values()), push, offset, seed) for seed in range(train + test)]
    said = given if isinstance(given, str) else given.model_dump(mode="json")
    settings = json.dumps([said, body.character, list(map(list, body.options)), push, offset])
    data, seconds = samples(cases, out / "samples.npz", settings, workers, resume, tell)
    place = ground(body)
    names = features(Senses(place.sim, WHO).look(place.sim))[0]
    known, unseen = data.part(slice(train)), data.part(slice(train, None))
    few = min(int(known.succeeded.sum()), int((~known.succeeded).sum()))
    if few < FOLDS:
        raise InputError(
            f"learn: expected some samples that succeed and some that fail, got {100 * known.share:.1f} % that succeed of {train}; "
            "push and offset change that"
        )
    found = machines(known, names, tell)
    rows = [{"machine": kind, **judged(one, unseen), **told} for kind, (one, told) in found.items()]
    best = max((one for one in found if one != "nearest"), key=lambda kind: found[kind][1]["cross-validated"])
    file = out / f"{name}.npz"
    found[best][0].write(file)
    report = {
        "skill": name, "body": body.label, "places": list(begun), "push": push, "offset": offset,
        "training": train, "test": test, "positive": data.share, "seconds": seconds, "best": best, "machines": rows,
    }  # fmt: skip
    (out / "report.json").write_text(json.dumps(report, indent=1, allow_nan=False) + "\n", "utf-8")
    return Learnt(file, rows, report)
