"""A rehearsal: every compiled kernel is called once before the first simulation begins.

Kernels are compiled once and kept on disk, but to load one takes some milliseconds the first time it is called in a process. A
step in which a contact is made, a pair comes near or a row is hit for the first time would take that much longer.

Where kernels are not on disk yet (after an installation), other processes help to compile them: numba compiles one at a time
in a process. All go through the same parts in different orders and find on disk what another one has done, so they need not
agree on who does what, and a helper that fails costs time only.
"""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numba.core import event
from numba.core.registry import CPUDispatcher
from scipy import sparse

from interplay.constraints.base import Limit
from interplay.constraints.collision_set import CollisionSet
from interplay.constraints.contact import ContactRows
from interplay.constraints.contact_set import ContactSet
from interplay.constraints.speed import SpeedLimit
from interplay.constraints.stability import free_trees, stability_region
from interplay.constraints.within import KeepWithin
from interplay.control.controller import Demands
from interplay.control.integrated import IntegratedController
from interplay.maths.linear import range_beyond
from interplay.maths.rotations import turned
from interplay.models.mechanisms import Door
from interplay.models.objects import Box
from interplay.motion.footsteps import Footprint, Gait, Swing
from interplay.motion.masses import Masses
from interplay.motion.preview import Track
from interplay.objectives.balance import Balance
from interplay.objectives.base import Objective
from interplay.objectives.com import Com
from interplay.objectives.com_over import ComOver
from interplay.objectives.gaze import Gaze
from interplay.objectives.joint import JointAngle
from interplay.objectives.meet import Meet
from interplay.objectives.momentum import AngularMomentum
from interplay.objectives.path import PosePath
from interplay.objectives.pose import Orientation, Point, Pose, pose_value
from interplay.objectives.posture import Posture
from interplay.objectives.reference import MinimumJerk
from interplay.objectives.relative import RelativePose
from interplay.qp.problem import QP
from interplay.qp.solvers import make_solver
from interplay.scene.scene import GROUND, Scene
from interplay.worlds.simulated import SimulatedWorld

Progress = Callable[[int, int, str], None]
"""Called with (kernels that are ready, all kernels, the one that was compiled last)."""

MESSAGE = "compiling kernels (once after an installation)"

MOST_PROCESSES = 3
"""Compile in at most so many processes: each takes 400 MB, and the longest part cannot be shared out."""

_log = logging.getLogger(__name__)
_done: list[bool] = []


def rehearse(progress: Progress | None = None) -> None:
    """Call every kernel once; only the first call in a process does anything.

    ``progress`` is called for each kernel that has to be compiled. Without it, there is a bar if the standard error stream is a
    terminal, and otherwise one line in the log. Where all are on disk, nothing is called or shown.
    """
    if _done:
        return
    shown = _progress_shown() if progress is None else nullcontext(progress)
    with shown as show, _Compiling(show), _seldom_collected():
        for part in _parts():
            part()
    _done.append(True)


def keep_what_is_loaded() -> None:
    """Tell the garbage collector not to look through what is loaded by now: that takes 70 ms in the middle of a run.

    What was loaded the last time, and is not used any more, is given up.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def kernels() -> dict[str, Any]:
    """Return the kernels of all modules that are loaded, by module and name."""
    loaded = [module for name, module in list(sys.modules.items()) if name.startswith("interplay.")]
    found = [k for module in loaded for k in vars(module).values() if isinstance(k, CPUDispatcher)]
    return {_name(kernel): kernel for kernel in found}


# -- what is compiled, by whom -----------------------------------------------------------------------------------------


class _Compiling(event.Listener):
    """While it is entered: when the first kernel has to be compiled it calls for help, and it tells of each that is ready."""

    def __init__(self, show: Progress):
        """Take what to tell it."""
        self._show, self._kernels = show, kernels()
        self._ready: set[str] = set()
        self._helpers: list[subprocess.Popen[str]] | None = None

    def __enter__(self) -> None:
        event.register("numba:compile", self)

    def __exit__(self, *_: object) -> None:
        event.unregister("numba:compile", self)
        for helper in self._helpers or ():
            helper.kill()
            helper.wait()

    def on_start(self, event: Any) -> None:
        """Call for help the first time."""
        if self._helpers is None:
            self._helpers = []
            for turn in range(1, min(_processors(), MOST_PROCESSES)):
                self._call_helper(turn)

    def on_end(self, event: Any) -> None:
        """Tell of a kernel."""
        name = _name(event.data["dispatcher"])
        if name in self._kernels:  # and not a part of numba that it needs
            self._ready |= {name} | {key for key, kernel in self._kernels.items() if kernel.overloads}
            self._show(len(self._ready), len(self._kernels), name)

    def _call_helper(self, turn: int) -> None:
        """Start a process that compiles too. It writes the name of each kernel, and so ends when nobody reads that any more."""
        path = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
        try:
            helper = subprocess.Popen(
                [sys.executable, "-c", f"from interplay.rehearsal import help_compiling; help_compiling({turn})"],
                env=os.environ | {"PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        except OSError as error:
            _log.info("no process to help compiling: %s", error)
            return
        self._helpers = [*(self._helpers or ()), helper]
        threading.Thread(target=self._listen, args=(helper,), daemon=True).start()

    def _listen(self, helper: subprocess.Popen[str]) -> None:
        """Note what a helper has compiled."""
        with helper.stdout or nullcontext(()) as lines:
            for line in lines:
                self._ready |= {line.strip()} & self._kernels.keys()


def help_compiling(turn: int) -> None:
    """Go through all parts in an order of one's own: backward, or from the middle on. To be called in a process of its own."""
    *parts, _ = _parts()  # the whole, last, needs what the others have
    half = len(parts) // 2

    class Tell(event.Listener):
        """Writes the name of each kernel."""

        def on_start(self, event: Any) -> None:
            """Do nothing."""

        def on_end(self, event: Any) -> None:
            """Write it."""
            print(_name(event.data["dispatcher"]), flush=True)

    with event.install_listener("numba:compile", Tell()), _seldom_collected():
        for part in parts[::-1] if turn == 1 else parts[half:] + parts[:half]:
            part()


def _name(kernel: Any) -> str:
    return f"{kernel.py_func.__module__}.{kernel.py_func.__name__}".removeprefix("interplay.")


def _processors() -> int:
    """Return how many processes may compile: as many as there are processors, one where another Python cannot be started."""
    python = Path(sys.executable or "").stem.lower().startswith("python") and not getattr(sys, "frozen", False)
    if not python:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Look for garbage less often: the compiler makes many objects and keeps most of them."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def _progress_shown() -> Iterator[Progress]:
    """Yield what shows a bar from its first call on, or writes one line into the log."""
    bars: list[Any] = []

    def show(done: int, total: int, what: str) -> None:
        if not bars:
            bars.append(_bar() if sys.stderr is not None and sys.stderr.isatty() else None)
            if bars[0] is None:
                _log.info(MESSAGE)
        if bars[0] is not None:
            bars[0].update(0, completed=done, total=total)

    try:
        yield show
    finally:
        if bars and bars[0] is not None:
            bars[0].stop()


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(MESSAGE, total=None)
    bar.start()
    return bar


# -- what is rehearsed -------------------------------------------------------------------------------------------------


def _parts() -> list[Callable[[], object]]:
    """Let two boxes before a door go through what can happen; the parts can be called in any order, the last one after all."""
    scene = Scene().add(Door(), "door").add(Box(), "a", pos=(-1.0, 0)).add(Box(), "b", pos=(-1.305, 0.1))
    controller, collisions = IntegratedController(scene, 0.005), CollisionSet(scene)
    collisions.add("a", "b")
    collisions.add("b", "ground")
    state = controller.initial_state()
    terms = controller.at(state)

    def contacts(*pairs: tuple[str, str]) -> ContactSet:
        made = ContactSet(scene, lambda: terms, lambda: 0.0)
        for pair in pairs:
            made.add(*pair)
        return made

    def touch() -> None:
        rows = ContactRows(terms, contacts(("a/bottom", GROUND), ("b/front", "a/rear")).items)
        rows.contacts[0].cone()
        rows.entries()
        jacobian = np.zeros((2, 6, rows.width))
        rows.update(terms, 0.0, controller.dt, jacobian)
        rows.forces(terms, np.zeros(rows.size), jacobian)
        stability_region(terms, rows.contacts, free_trees(scene.model))

    def move() -> None:
        Track(np.zeros((5, 2))).at(0.01)
        foot = Footprint("left", np.zeros(3), 0.0)
        Swing(foot, foot, 0.0, Gait()).at(0.1)
        turned(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
        range_beyond(np.eye(2), np.zeros((1, 2)), 0.1)
        Masses(scene, lambda: None).set("a", 2.0)

    def want(objective: Objective) -> Callable[[], object]:
        objective.attach(scene)
        return lambda: objective.feature(terms, 0.0)

    def limit(limit: Limit) -> Callable[[], object]:
        limit.attach(scene)
        return lambda: limit.rows(terms, 0.0, controller.dt)

    def program() -> None:
        simple = Posture("door")
        simple.fades = ((0.0, 1.0, 2.0, 1.0),)
        controller.problem(state, Demands(objectives=(simple, Point("b/top")), pairs=collisions.pairs))

    def whole() -> None:
        for pairs in ((("a/bottom", GROUND),), (("a/bottom", GROUND), ("b/bottom", GROUND), ("b/front", "a/rear"))):
            controller.solve(state, Demands(contacts(*pairs).items, objectives, collisions.pairs, limits=limits))

    def simulate() -> None:
        world = SimulatedWorld(SimulatedWorld.prepared(scene, controller.dt), controller.dt)
        plan = controller.solve(state, Demands(contacts(("a/bottom", GROUND)).items))
        world.advance(state, plan, controller.at(state), controller.dt)

    pose = pose_value(terms.site_xpos[scene.site("b/top")].copy())
    limits = SpeedLimit("b", 100.0), KeepWithin("b", (-9.0,) * 3, (9.0,) * 3)
    objectives: tuple[Objective, ...] = (
        Com("a"),
        Com("a", "b", reference=MinimumJerk(np.zeros(3), np.zeros(3), -0.5, 1.0)),
        ComOver("a", over=("a/bottom",), reference=(0.0, 0.0)),
        Balance("a", on=("a/bottom",), terms=terms),
        AngularMomentum("a"),
        Point("b/top"),
        Orientation("b/top"),
        Pose("b/top", PosePath(pose, pose, 0.0, 1.0)),
        RelativePose("a", "b"),
        Gaze("a", "b/top"),
        Meet("b/left", "a/right", terms, 0.0, 1.0),
        JointAngle("door/hinge", 0.0),
        Posture("door"),
    )
    near = partial(controller.near, state, Demands(pairs=collisions.pairs))
    return [_hit_a_row, touch, near, *map(want, objectives), *map(limit, limits), move, program, simulate, whole]


def _hit_a_row() -> None:
    """Solve ½‖x‖² with x₁ + x₂ ≥ 1: the row that is violated comes into the working set."""
    none, free = np.zeros(0), np.full(2, np.inf)
    nothing, row = sparse.csc_matrix((0, 2)), sparse.csc_matrix(np.ones((1, 2)))
    one = sparse.csc_matrix(np.eye(2))
    make_solver("active_set").solve(
        QP(one, np.zeros(2), nothing, none, row, np.ones(1), np.full(1, np.inf), -free, free, None)
    )
