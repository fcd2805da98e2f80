"""Tuning: the poses and durations of a skill by CMA-ES, on a pool of perturbed starts, for any body.

One evaluation is a candidate tried from ``BATCH`` starts, which are the same for all candidates of a generation and others in the next
one, out of the pool: who is tuned on one start learns that start. What counts first is success, by the skill's own post-conditions; then
how far failures are from them, what the file rewards ``along`` the way, torques, and the time above joints' speed limits.

Every generation's costs are kept at once (``tuning.jsonl``). Candidates follow from the seed and the costs before them, so that a run
that was interrupted goes on by being told them again.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from interplay.errors import InputError, number, whole
from interplay.runs.bodies import Body
from interplay.runs.pool import Pool, pool
from interplay.runs.rollouts import Result, Rollout, ground, rolled, skill_of
from interplay.runs.run import make_folder
from interplay.runs.starts import Start, nominal, starts
from interplay.runs.sweep import Progress
from interplay.skills.key_poses import Key, KeyPoses, Poses, driven, read, spelled, written
from interplay.skills.skill import SUCCEEDED

POOL, FRESH = range(100), 1000
"""Seeds of the starts by which skills are tuned, and the first of those by which they are measured."""
BATCH, FINALS = 6, 24
"""From how many starts a candidate is tried, and the last few against what they came from."""
FAILED, SHORT, EFFORT, FAST, SECONDS = 10.0, 3.0, 1.0, 2.0, 0.1
"""What counts: a failure, how far it is from success, mean square of torques over their limits, part of the time above speed limits, a
second."""
BRIEFEST, LONGEST = 0.06, 3.0
"""A key's seconds, at least and at most."""
NOISES = (0.1, 0.3, 0.5)
"""Noise of starts by which skills are measured."""


class Tuned(NamedTuple):
    """What came of it: the file, and the measures of the skill as it was and as it is, by noise."""

    file: Path
    rows: list[dict[str, Any]]


class Numbers:
    """The poses and durations of a skill as a vector: angles [rad] of joints that move in it, and logarithms of seconds."""

    def __init__(self, poses: Poses, body: Body):
        """Take the skill, and whose it is."""
        sim = ground(body).sim
        joints = driven(sim, "ann")[0]
        m = sim.scene.model
        self.poses = poses
        angles: dict[str, set[float]] = {}
        for key in poses.keys:
            spelled(key.pose, joints, False, poses.name)  # which refuses joints that the body lacks
            for name, angle in key.pose.items():
                angles.setdefault(name, set()).add(angle)
        self.places = [(k, j) for k, key in enumerate(poses.keys) for j in key.pose if len(angles[j]) > 1]
        """Which numbers they are: key and joint; the durations of all keys come after them."""
        bounds = []
        for _, joint in self.places:
            found = next(iter(spelled({joint: 0.0}, joints, False, poses.name)))
            index = m.joint(f"ann/{found}").id
            bounds.append(m.jnt_range[index] if m.jnt_limited[index] else (-math.pi, math.pi))
        bounds += [(math.log(BRIEFEST), math.log(LONGEST))] * len(poses.keys)
        self.bounds = np.array(bounds, float).T
        first = [poses.keys[k].pose[j] for k, j in self.places] + [math.log(key.seconds) for key in poses.keys]
        self.first = np.clip(first, self.bounds[0] + 1e-6, self.bounds[1] - 1e-6)

    def skill(self, x: np.ndarray) -> Poses:
        """Return the skill that a vector stands for."""
        angles, seconds = x[: len(self.places)], np.exp(x[len(self.places) :])
        made = [dict(key.pose) for key in self.poses.keys]
        for (k, joint), angle in zip(self.places, angles.tolist(), strict=True):
            made[k][joint] = round(angle, 3)
        keys = [Key(seconds=round(s, 3), pose=pose) for s, pose in zip(seconds.tolist(), made, strict=True)]
        return self.poses.model_copy(update={"keys": keys})


def cost(found: Sequence[Result]) -> float:
    """Return what a candidate costs, by its rollouts."""
    return float(np.mean([_cost(one) for one in found]))


def _cost(one: Result) -> float:
    missed = 0.0 if one.said == SUCCEEDED else FAILED + SHORT * one.short
    return missed - one.along + EFFORT * one.effort + FAST * one.fast + SECONDS * one.seconds


def tune(
    skill: str | Path,
    out: str | Path,
    *,
    body: Body = Body(),  # noqa: B008 - it is a tuple
    evaluations: int = 200,
    noise: float = 0.5,
    sigma: float = 0.12,
    seed: int = 0,
    batch: int = BATCH,
    fresh: int = 200,
    noises: Sequence[float] = NOISES,
    then: Sequence[str] = (),
    workers: int | str = 2,
    resume: bool = False,
    progress: Progress | None = None,
) -> Tuned:
    """Tune a skill of key poses, write it as a file, and measure it on fresh starts beside what it was.

    Args:
        skill: its name, or its file.
        out: the folder of ``NAME.yaml``, ``report.json`` and ``tuning.jsonl``.
        body: whose skill it is.
        evaluations: how many candidates are tried (0: it is only measured).
        noise: of the starts by which it is tuned.
        sigma: how far candidates are from the first guess at first [rad], and of durations (its logarithm).
        seed: of the search.
        batch: from how many starts a candidate is tried.
        fresh: from how many fresh starts the skill is measured at each noise (0: it is not).
        noises: of these starts.
        then: skills that follow when it is measured: how often the last of them is reached and lasts is told, too.
        workers: processes, or the address of a dask scheduler.
        resume: go on with what is in the folder.
        progress: called with (done, total, what).
    """
    poses = poses_of(skill)
    whole("evaluations", evaluations, 0, 10**7)
    whole("batch", batch, 1, len(POOL))
    whole("fresh starts", fresh, 0, 10**6)
    for one in (noise, *noises):
        number("noise", one, 0.0, 5.0)
    number("sigma", sigma, 1e-4, 2.0, "rad")
    numbers = Numbers(poses, body)
    out = Path(out)
    make_folder(out)
    tell: Progress = progress or (lambda done, total, what: None)
    file = out / f"{poses.name}.yaml"
    with pool(workers) as many:
        tuned, places = poses, tuple(nominal(many, body, poses))
        if evaluations:
            search = _Search(numbers, body, places, out, noise, sigma, seed, batch, many, resume)
            tuned = search.run(evaluations, tell)
            remarks = f"Tuned by `interplay tune` for {body.label}: {search.evaluations} candidates, noise {noise:g}, seed {seed}."
            file.write_text(written(tuned, remarks), "utf-8")
        shown = {"as it was": poses, "tuned": tuned} if evaluations else {"as it is": poses}
        rows = [
            {
                "skill": which,
                "body": body.label,
                "noise": level,
                **measure(many, one, body, places, level, fresh, then, tell),
            }
            for level in (noises if fresh else ())
            for which, one in shown.items()
        ]
    told = {
        "skill": poses.name,
        "body": body.label,
        "evaluations": evaluations,
        "noise": noise,
        "seed": seed,
        "rows": rows,
    }
    (out / "report.json").write_text(json.dumps(told, indent=1, allow_nan=False) + "\n", "utf-8")
    return Tuned(file, rows)


def poses_of(skill: str | Path) -> Poses:
    """Return the key poses of a skill by name or file."""
    if str(skill).endswith((".yaml", ".yml")):
        return read(skill)
    found = skill_of(str(skill))
    if not isinstance(found, KeyPoses):
        raise InputError(f"tune: expected a skill of key poses, got {found.name!r}, which is none")
    return found.poses


def measure(
    many: Pool,
    poses: Poses,
    body: Body,
    places: tuple[str, ...],
    noise: float,
    count: int,
    then: Sequence[str],
    tell: Progress,
) -> dict[str, Any]:
    """Return how a skill does from fresh starts."""
    begun = starts(many, body, poses, places, noise, range(FRESH, FRESH + count))
    cases = [Rollout(body, poses, one.qpos, one.qvel, tuple(then)) for one in begun]
    results: dict[int, Result] = {}
    for k, found in many.done(rolled, cases):
        results[k] = found
        well = sum(one.said == SUCCEEDED for one in results.values())
        tell(len(results), count, f"noise {noise:g}: {well} of {len(results)} succeed")
    ordered = [results[k] for k in range(count)]
    row: dict[str, Any] = {
        "starts": count,
        "draws": sum(one.draws for one in begun),
        "succeeded": sum(one.said == SUCCEEDED for one in ordered),
    }
    if then:
        row[f"then {then[-1]}"] = sum(one.after is not None for one in ordered)
    return row | {
        "seconds": round(float(np.mean([one.seconds for one in ordered])), 3),
        "effort": round(float(np.mean([one.effort for one in ordered])), 4),
        "too fast": round(float(np.mean([one.fast for one in ordered])), 4),
        "fastest": round(max(one.fastest for one in ordered), 2),
    }


class _Search:
    """The search: generations of candidates, kept as they are done."""

    def __init__(
        self,
        numbers: Numbers,
        body: Body,
        places: tuple[str, ...],
        out: Path,
        noise: float,
        sigma: float,
        seed: int,
        batch: int,
        many: Pool,
        resume: bool,
    ):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it could plot, had it matplotlib
                import cma
        except ImportError:
            raise InputError("tune: cma is missing; install it with: pip install 'interplay[skills]'") from None
        self._numbers, self._body, self._places, self._many = numbers, body, places, many
        self._noise, self._batch = noise, batch
        self._seed, self._file = seed, out / "tuning.jsonl"
        options = {"seed": seed + 1, "bounds": list(numbers.bounds), "verbose": -9, "tolfun": 0, "tolx": 0}
        self._es = cma.CMAEvolutionStrategy(numbers.first, sigma, options)
        self._pool: dict[int, Start] = {}
        self.evaluations = self.generation = 0
        self._best: list[tuple[float, np.ndarray]] = []
        """The best of each generation."""
        settings = {
            "skill": numbers.poses.model_dump(mode="json"),
            "body": [body.character, list(map(list, body.options))],
            "search": [noise, sigma, seed, batch],
        }
        if not resume:
            self._file.write_text(json.dumps(settings) + "\n", "utf-8")
            return
        try:
            first, *lines = self._file.read_text("utf-8").splitlines()
            if json.loads(first) != settings:
                raise InputError(
                    f"--resume: {self._file} is of another skill, body, or search; expected the same command"
                )
            for line in lines:
                self._tell(self._es.ask(), json.loads(line))
        except (OSError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"--resume: expected what a run has kept in {self._file}: {error}") from None

    def run(self, evaluations: int, tell: Progress) -> Poses:
        """Try so many candidates; return the best, or what they came from if none is better."""
        size = self._es.popsize
        while self.evaluations < evaluations:
            candidates = self._es.ask()
            chosen = np.random.default_rng([self._seed, self.generation]).choice(len(POOL), self._batch, replace=False)
            costs, well = self._try([self._numbers.skill(x) for x in candidates], chosen.tolist())
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(costs) + "\n")
            self._tell(candidates, costs)
            what = f"{100 * max(well):.0f} % at best, {100 * np.mean(well):.0f} % on average, σ {self._es.sigma:.3f}"
            tell(self.evaluations, max(evaluations, self.evaluations), f"generation {self.generation}: {what}")
        last = [x for _, x in sorted(self._best[-size:], key=lambda one: one[0])[:4]]
        finals = [self._numbers.poses, self._numbers.skill(self._es.result.xfavorite), *map(self._numbers.skill, last)]
        costs, _ = self._try(finals, list(range(FINALS)))
        return finals[int(np.argmin(costs))]

    def _tell(self, candidates: list[np.ndarray], costs: list[float]) -> None:
        self._es.tell(candidates, costs)
        self.generation += 1
        self.evaluations += len(costs)
        k = int(np.argmin(costs))
        self._best.append((costs[k], candidates[k]))

    def _try(self, skills: Sequence[Poses], seeds: Sequence[int]) -> tuple[list[float], list[float]]:
        """Return what each skill costs from the starts of some seeds, and the parts of them in which it succeeds."""
        new = [seed for seed in seeds if seed not in self._pool]
        found = starts(self._many, self._body, self._numbers.poses, self._places, self._noise, new)
        self._pool.update(zip(new, found, strict=True))
        begun = [self._pool[seed] for seed in seeds]
        cases = [Rollout(self._body, skill, one.qpos, one.qvel) for skill in skills for one in begun]
        done = dict(self._many.done(rolled, cases))
        groups = [[done[n * len(begun) + k] for k in range(len(begun))] for n in range(len(skills))]
        return [cost(group) for group in groups], [
            sum(one.said == SUCCEEDED for one in group) / len(group) for group in groups
        ]
