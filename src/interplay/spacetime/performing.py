"""Optimal motions as recordings and clips: they play and export like everything else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from interplay.control.state import Touching as Wrenches
from interplay.errors import cannot_write
from interplay.io.arrays import write_recording
from interplay.motion.clip import Clip, Touch
from interplay.motion.clip_file import CLIP_FILE
from interplay.motion.clip_model import clip_from_configurations
from interplay.scene.scene import Scene
from interplay.spacetime.body import SIDES, Body
from interplay.spacetime.checking import Figures, Touching, figures, overlap, sampled
from interplay.spacetime.contacts import Seen, wrenches
from interplay.spacetime.gaits import Gait
from interplay.spacetime.holding import ALWAYS, Held
from interplay.spacetime.interrupting import Unfinished
from interplay.spacetime.laws import Given
from interplay.spacetime.part import FLAT, HEEL, SWING, TOE, Phase
from interplay.spacetime.problem import BEGIN, END, Found, Law, Problem, Stage
from interplay.spacetime.rows import Row
from interplay.spacetime.saving import Saved, save_problem
from interplay.spacetime.solving import Solution
from interplay.view.camera import Camera

FPS = 100.0
"""Frames per second of what is written."""
BESIDE = 1.0
"""Who begin no farther apart walk side by side [m]."""
_PARTS = {HEEL: "heel", FLAT: "sole", TOE: "toes"}


Between = Callable[[Found], Mapping[str, float]]


class Performance(NamedTuple):
    """A motion of a scene: times [s], configurations, velocities, accelerations, torques, who touches what, and what it is worth."""

    name: str
    scene: Scene
    time: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    qacc: np.ndarray
    tau: np.ndarray
    phases: list[str]
    touches: list[Touch]
    worth: dict[str, Figures]
    solutions: tuple[Solution, ...]
    between: Mapping[str, float] = {}
    """What else is to be said of it, by name."""
    problem: Problem | None = None
    """What was solved, and its solution."""
    cycles: int = 1
    """How often what was solved, a full cycle, is repeated."""
    touching: Touching = ()
    """Pairs of bodies that touch on purpose."""
    contacts: Sequence[Wrenches] | None = None
    """What touches in each frame, and how hard, where that is known."""

    @property
    def failures(self) -> dict[str, tuple[str, ...]]:
        """What of whom is not as it must be between the points at which equations hold."""
        found = {who: one.failures() for who, one in self.worth.items()}
        return {who: failing for who, failing in found.items() if failing}

    @property
    def solved(self) -> bool:
        """Whether all that was asked holds, and what is checked, too."""
        return all(one.solved for one in self.solutions[-1:]) and not self.failures

    def clip(self) -> Clip:
        """Return it as a clip."""
        return clip_from_configurations(
            self.scene.model,
            self.time,
            self.qpos,
            list(self.worth),
            touches=self.touches,
            title=self.name,
            source="spacetime optimisation",
        )

    def _camera(self) -> Camera:
        """Return one that sees who is alone from the side, and several so that nobody hides another; who meet, about from the front."""
        names = list(self.worth)
        bodies = [Body(self.scene, who) for who in names]
        starts, roots = [body.qpos_start for body in bodies], [body.links[0].name for body in bodies]
        ways = np.stack([self.qpos[:, start : start + 2] for start in starts])
        apart = ways[1:, 0] - ways[0, 0]
        far = float(np.linalg.norm(apart, axis=1).max(initial=0.0))
        if far < BESIDE:
            return Camera(follow=f"{names[0]}/{roots[0]}", distance=3.2, azimuth=110.0 if len(names) == 1 else 215.0)
        gone = ways[:, -1] - ways[:, 0]
        slowest = int(np.argmin(np.linalg.norm(gone, axis=1)))
        ahead = ways[0 if slowest else 1, 0] - ways[slowest, 0]
        across = np.array([-ahead[1], ahead[0]])
        x, y = ahead - 0.7 * across * (np.sign(across @ gone.sum(axis=0)) or 1.0)  # others come from behind her, aside
        azimuth = float(np.degrees(np.arctan2(y, x)))
        return Camera(follow=f"{names[slowest]}/{roots[slowest]}", distance=3.2 + 0.2 * far, azimuth=azimuth)

    def write(self, folder: str | Path, parameters: dict[str, Any] | None = None) -> Path:
        """Write recording, scene, clip and report into a folder."""
        folder = Path(folder)
        arrays = (self.time, self.qpos, self.qvel, self.qacc, self.tau)
        write_recording(
            folder,
            self.scene,
            *arrays,
            touching=self.contacts,
            phases=self.phases,
            name=self.name,
            camera=self._camera(),
        )
        self.clip().save(folder / CLIP_FILE)
        if self.problem is not None and all(role.knots is not None for role in self.problem.roles.values()):
            touching = tuple((one, other) for one, other in self.touching)
            save_problem(folder, Saved(self.name, self.problem, self.solutions, self.cycles, touching))
        report = {
            "composition": self.name,
            "parameters": parameters or {},
            "seconds": float(self.time[-1]),
            "solved": self.solved,
            "worst": list(self.solutions[-1].worst),
            "failures": {who: list(failing) for who, failing in self.failures.items()},
            "solver": [
                {
                    "status": one.status,
                    "iterations": one.iterations,
                    "seconds": one.seconds,
                    "objective": _known(one.objective),
                    "violation": _known(one.violation),
                }
                for one in self.solutions
            ],
            "figures": {who: one._asdict() for who, one in self.worth.items()},
            "between": dict(self.between),
        }
        try:
            (folder / "report.json").write_text(json.dumps(report, indent=1, allow_nan=False) + "\n")
        except OSError as error:
            raise cannot_write(folder, error) from None
        return folder


def _known(value: float) -> float | None:
    """Return a number, or None where nobody looked."""
    return value if np.isfinite(value) else None


def perform_gait(name: str, gait: Gait, steps: int) -> Performance:
    """Return so many steps of a gait: half a cycle and its mirror image in turn."""
    problem = walked_on(gait, steps)
    stage = Stage(problem, problem.whole())
    return perform(name, Found(problem, stage.parts, stage.unknowns.guess, gait.solutions))


def walked_on(gait: Gait, steps: int) -> Problem:
    """Return so many steps of a gait as a problem that is solved: a row that begins and ends as they do."""
    body = gait.part.body
    row = Row.found(gait.part, gait.x).repeated(body, steps)
    laws: list[Law] = [Given(body.name, when, row.knots.q[k], row.knots.v[k]) for when, k in ((BEGIN, 0), (END, -1))]
    return Problem({body.name: row.role(body, gait.part.style)}, laws)


def perform(
    name: str,
    found: Found,
    cycles: int = 1,
    touching: Touching = (),
    between: Between | None = None,
    held: Sequence[Held] = (),
    worth: Mapping[str, Figures] | None = None,
) -> Performance:
    """Return all parts of what was found, in their scene, at one real time, until the first of them ends.

    ``cycles``: how often, of full cycles; ``touching``: pairs of bodies that touch on purpose; ``between``: what is to be said of more than
    one of them; ``held``: who holds whom, whose bodies touch on purpose, too; ``worth``: what each is worth alone, if that is known.
    """
    parts, x = found.parts, found.x
    scene = next(iter(parts.values())).body.scene
    span = min(part.times(x)[-1] for part in parts.values())
    whole = np.arange(0.0, cycles * span, 1.0 / FPS)
    cycle, time = np.divmod(whole, span)
    qpos = np.tile(scene.qpos, (len(time), 1))
    qvel, qacc, tau = (np.zeros((len(time), scene.model.nv)) for _ in range(3))
    words: list[list[str]] = []
    touches = [touch for one in held for touch in _grasps(one, cycles, span)]
    touching = (*touching, *(_bodies(scene, one.surfaces) for one in held))
    looked: dict[str, Seen] = {}
    for who, part in parts.items():
        body, seen = part.body, sampled(part, x, time)
        looked[who] = Seen(part, seen)
        own = slice(body.qpos_start, body.qpos_start + body.n + 1)
        qpos[:, own] = seen.qpos[:, own]
        own = slice(body.dof_start, body.dof_start + body.n)
        for to, of in ((qvel, seen.qvel), (qacc, seen.qacc), (tau, seen.torque)):
            to[:, own] = of[:, own]
        qpos[:, body.qpos_start : body.qpos_start + 2] += cycle[:, None] * (x[part.q[-1, :2]] - x[part.q[0, :2]])
        spans = [float(x[part.rate[k]]) * phase.intervals for k, phase in enumerate(part.phases)]
        touches += _touches(who, part.phases * cycles, spans * cycles)
        said = [f"left {part.phases[k].left}, right {part.phases[k].right}" for k in seen.phase]
        words.append([f"{who}: {word}" if len(parts) > 1 else word for word in said])
    worth = {who: figures(part, x) for who, part in parts.items()} if worth is None else dict(worth)
    if len(parts) > 1:
        depth = overlap(scene, qpos, list(parts.values()), touching)
        worth = {who: one._replace(depth=max(one.depth, depth)) for who, one in worth.items()}
    phases = ["; ".join(each) for each in zip(*words, strict=True)]
    try:
        said = {} if between is None else between(found)
    except Unfinished:  # an interrupt has asked: the motion is kept, what it would take long to say of it is not
        said = {}
    made = (scene, whole, qpos, qvel, qacc, tau, phases, touches, worth, found.solutions, said)
    contacts = wrenches(scene, time, qpos, qvel, looked, held)
    return Performance(name, *made, found.problem, cycles, touching, contacts)


def _bodies(scene: Scene, surfaces: tuple[str, str]) -> tuple[str, str]:
    """Return the bodies that have two surfaces."""
    m = scene.model
    one, other = (m.body(int(m.site_bodyid[scene.site(name)])).name for name in surfaces)
    return one, other


def _grasps(held: Held, cycles: int, span: float) -> list[Touch]:
    """Return from when to when two hold each other."""
    if held.during == ALWAYS:
        return [Touch(*held.surfaces, 0.0, cycles * span)]
    spans = [(k * span + begin, k * span + end) for k in range(cycles) for begin, end in held.during]
    return [Touch(*held.surfaces, begin, end) for begin, end in spans]


def _touches(name: str, phases: Sequence[Phase], spans: Sequence[float]) -> list[Touch]:
    """Return what feet touch the ground with, from when to when."""
    out, ends = [], np.cumsum([0.0, *spans])
    for side in SIDES:
        modes = [phase.mode(side) for phase in phases]
        for k, mode in enumerate(modes):
            if mode != SWING and (k == 0 or modes[k - 1] != mode):
                last = k
                while last + 1 < len(modes) and modes[last + 1] == mode:
                    last += 1
                out.append(Touch(f"{name}/{side}_{_PARTS[mode]}", "ground", float(ends[k]), float(ends[last + 1])))
    return out
