"""The performer: runs a simulation (or plays a recording) at real time, shows frames of it, and obeys commands.

It knows nothing of processes and browsers: messages go to functions it is given, and its loop is turned by :mod:`.link`. Whatever
goes wrong in a scenario or a command becomes a notice; the performer itself goes on.
"""

from __future__ import annotations

import time as clocks
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from interplay.catalogue import registry, scenario
from interplay.errors import InputError, InterplayError, number, pick, unknown_name, whole
from interplay.models.loader import BodyFile
from interplay.motion.pushes import hand_push, movable
from interplay.rehearsal import keep_what_is_loaded
from interplay.script.writer import edited
from interplay.simulation import Simulation
from interplay.stage import messages
from interplay.stage.live import LiveAct
from interplay.stage.messages import (
    FASTEST,
    HEAVIEST_BALL,
    LIGHTEST_BALL,
    SLOWEST,
    Command,
    Download,
    Notice,
    Opening,
    Pace,
    Played,
)
from interplay.stage.moment import Status
from interplay.stage.recorded import RecordedAct

RATE = 30.0
"""Frames per second."""

BACKLOG = 0.1
"""Seconds the performance may be late; what it is more than that is dropped."""

Say = Callable[[Opening | Notice | Download | Played], None]


@dataclass(frozen=True)
class Playbill:
    """What may be performed: scenarios by name, and what the user pointed at. Nothing else is ever opened."""

    first: str
    """What is opened at the start, by the name under which it is offered."""
    offers: Mapping[str, str] = field(default_factory=dict)
    """By name: a scenario's name, a scenario file, or the folder of a recording."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the first one; it also has the following, the others their own."""
    dt: float | None = None
    seed: int = 0
    character: str | None = None
    world: str | None = None


def playbill(target: str | Path, **options: Any) -> Playbill:
    """Return what is offered when the user asks for a scenario, a scenario file or a recording: that, and all scenarios."""
    names, target = {name: name for name in registry()}, str(target)
    if target in names:
        return Playbill(target, names, **options)
    path = Path(target).resolve()
    if _is_recording(path):
        given = [name for name, value in options.items() if value]
        if given:
            raise InputError(
                f"{target!r} is a recording, which keeps what it was made with: {', '.join(given)} cannot change"
            )
        folder = path.parent if path.is_file() else path
        return Playbill(folder.name, {folder.name: str(folder)} | names)
    if path.suffix.lower() in (".yaml", ".yml"):
        return Playbill(path.name, {path.name: str(path)} | names, **options)
    if path.is_dir():
        raise InputError(f"{target!r} holds no recording: expected the folder of a run")
    raise unknown_name("scenario (or file, or folder of a recording)", target, names)


def _is_recording(path: Path) -> bool:
    return (path / "recording").is_file() or (path.is_file() and path.name == "recording")


class Performer:
    """Turn it (``turn``) as often as it asks to be, and let it obey commands in between."""

    def __init__(
        self, bill: Playbill, say: Say, show: Callable[[bytes], None], clock: Callable[[], float] = clocks.perf_counter
    ):
        """Take what may be performed, where messages and (pickled) frames go, and a clock [s]."""
        self._bill, self._say, self._show, self._clock = bill, say, show, clock
        self.act: LiveAct | RecordedAct | None = None
        self.name = ""
        self.playing, self.closed = False, False
        self.speed, self.looping, self.stability = 1.0, True, False
        self._start = (0.0, 0.0)  # clock and simulated time since which the pace is kept
        self._frame_due, self._changed = 0.0, True
        self._past: deque[tuple[float, float]] = deque()

    # -- time ----------------------------------------------------------------------------------------------------------

    def turn(self) -> float:
        """Do what is due and return the seconds until something is due again."""
        act = self.act
        if act is None:
            return 1.0
        try:
            return self._turn(act)
        except Exception as error:
            self._fail(error)
            return 0.0

    def _turn(self, act: LiveAct | RecordedAct) -> float:
        if self.playing:
            self._advance(act)
        while act.notices:
            self._say(act.notices.popleft())
        if not self.playing and not self._changed:
            return 0.2
        if self._clock() >= self._frame_due:
            self._shoot(act)
        wait = self._frame_due - self._clock()
        if self.playing:
            wait = min(wait, act.dt / self.speed - self._late(act))
        return max(wait, 0.0)

    def _advance(self, act: LiveAct | RecordedAct) -> None:
        """Step if it is time to."""
        late, step = self._late(act), act.dt / self.speed
        if late < step - 1e-6:
            return
        if late > BACKLOG + step:
            self._keep_pace(step)  # the backlog is dropped
        act.step()
        if act.ended and self.looping and isinstance(act, RecordedAct):
            act.reset()
            self._past.clear()
            self._keep_pace()
        elif act.ended:
            self.playing, self._changed = False, True
            if act.ended != "finished":
                self._say(Notice("error", f"{self.name} stopped at {act.time:.2f} s: {act.ended}"))

    def _late(self, act: LiveAct | RecordedAct) -> float:
        """Return by how many seconds the act is behind its pace."""
        began, since = self._start
        return self._clock() - began - (act.time - since) / self.speed

    def _keep_pace(self, late: float = 0.0) -> None:
        """Keep the pace from now on, as if the act were late by so many seconds."""
        self._start = self._clock() - late, self.act.time if self.act else 0.0

    def _shoot(self, act: LiveAct | RecordedAct) -> None:
        """Show a frame."""
        now = self._clock()
        self._past.append((now, act.time))
        while len(self._past) > 2 and self._past[0][0] < now - 1.0:
            self._past.popleft()
        (t0, s0), (t1, s1) = self._past[0], self._past[-1]
        factor = (s1 - s0) / (t1 - t0) if self.playing and t1 > t0 else 0.0
        pace = Pace(act.take_step_ms(), max(factor, 0.0))
        self._show(act.frame(Status(pace, self.playing, act.live, act.span, self.speed, act.ended), self.stability))
        self._changed = False
        self._frame_due = max(self._frame_due + 1.0 / RATE, now)

    def _fail(self, error: Exception) -> None:
        """Stop after something that should not have happened."""
        self.playing = self._changed = False
        reason = str(error) if isinstance(error, InterplayError) else f"{type(error).__name__}: {error}"
        if isinstance(self.act, LiveAct):
            self.act.ended = self.act.ended or reason
        self._say(Notice("error", f"{self.name} stopped: {reason}"))

    # -- commands ------------------------------------------------------------------------------------------------------

    def obey(self, command: Command) -> None:
        """Do what a command says, or say why not."""
        try:
            self._obey(command)
        except InterplayError as error:
            self._say(Notice("warning", str(error)))
        except Exception as error:  # nothing that comes in may end the performance
            self._say(Notice("error", f"{type(command).__name__}: {type(error).__name__}: {error}"))
        self._changed = True

    def _obey(self, command: Command) -> None:
        match command:
            case messages.Close():
                self.closed = True
            case messages.Open(name, parameters):
                self.open(name, parameters)
            case messages.Play():
                self._act.resume()
                self.playing = not self._act.ended
                if self._act.ended:
                    raise InputError(f"{self.name} has ended ({self._act.ended}): reset it, or go back in time")
                self._past.clear()
                self._keep_pace()
            case messages.Pause():
                self.playing = False
            case messages.StepOnce():
                self.playing = False
                self._act.step()
            case messages.Reset():
                self._act.reset()
                self._past.clear()
                self._shoot(self._act)
                self._keep_pace()
            case messages.Seek(time):
                self._act.seek(number("seek", time, unit="s"))
                self.playing = False
            case messages.Speed(factor):
                self.speed = float(np.clip(number("speed", factor), SLOWEST, FASTEST))
                self._keep_pace()
            case messages.Loop(on):
                self.looping = bool(on)
            case messages.Stability(on):
                self.stability = bool(on)
            case messages.SetControl(name, value):
                self._touch(lambda sim: sim.live.set(name, value))
            case messages.Pull(body, local, goal):
                self._touch(lambda sim: sim.live.pull(body, local, goal))
            case messages.LetGo():
                self._touch(lambda sim: sim.live.let_go())
            case messages.Push(body, local, impulse):
                self._touch(lambda sim: _push(sim, body, local, impulse))
            case messages.Throw(ball, mass, position, velocity):
                self._touch(lambda sim: _throw(sim, ball, mass, position, velocity))
            case messages.SetFriction(model, friction):
                self._touch(lambda sim: sim.live.set_friction(model, friction))
            case messages.Tell(who, skill):
                self._touch(lambda sim: sim.live.tell(str(who), str(skill)))
            case messages.Adjust(label, weight, stiffness, damping):
                if not isinstance(label, str):
                    raise InputError(f"adjust: expected the label of an objective, got {label!r}")
                gains: dict[str, Any] = {"weight": weight, "stiffness": stiffness, "damping": damping}
                self._touch(lambda sim: sim.live.adjust(label, **gains))
            case messages.Swap(folder):
                if not isinstance(self._act, RecordedAct):
                    raise InputError("what is on stage is simulated: nothing can stand for it")
                self._act.swap(folder)
            case messages.Save(client, what):
                self._save(whole("client", client, 0), what)
            case messages.Fetch(order, folder):
                self._fetch(order, folder)
            case _:
                raise InputError(f"expected a command, got {type(command).__name__}")

    @property
    def _act(self) -> LiveAct | RecordedAct:
        if self.act is None:
            raise InputError("nothing is on stage: open a scenario first")
        return self.act

    def _touch(self, deed: Callable[[Simulation], None]) -> None:
        if not isinstance(self._act, LiveAct):
            raise InputError("this is a recording: it can be played, but not touched")
        self._act.act(deed)

    def open(self, name: str, parameters: Any = None) -> None:
        """Set up what is offered under a name; what is on stage stays there if that fails."""
        bill = self._bill
        target = pick("scenario", name, dict(bill.offers))
        given = parameters or {}
        if not isinstance(given, dict) or not all(isinstance(key, str) for key in given):
            raise InputError(f"parameters of {name!r}: expected values by name, got {str(given)[:80]!r}")
        self._say(Notice("info", f"setting up {name} …"))
        self.playing = False
        try:
            act = self._set_up(name, target, given)
        except Exception as error:
            reason = str(error) if isinstance(error, InterplayError) else f"{type(error).__name__}: {error}"
            raise InputError(f"{name} cannot be opened: {reason}") from error
        self.close()
        self.act, self.name = act, name
        self._past.clear()
        self._frame_due = self._clock()
        keep_what_is_loaded()
        self._say(act.opening)
        self._shoot(act)

    def close(self) -> None:
        """Clear away what is on stage."""
        if isinstance(self.act, LiveAct):
            self.act.close()

    def _set_up(self, name: str, target: str, given: dict[str, Any]) -> LiveAct | RecordedAct:
        if _is_recording(Path(target)) and target not in registry():
            return RecordedAct(name, target)
        bill, own = self._bill, name == self._bill.first
        values = {**bill.parameters, **given} if own else given
        character = BodyFile(bill.character) if own and bill.character else None
        chosen = scenario(target)(values, character)
        options: dict[str, Any] = {"dt": bill.dt, "seed": bill.seed, "world": bill.world} if own else {}
        return LiveAct(name, chosen, chosen.simulation(**options))

    def _save(self, client: int, what: str) -> None:
        if not isinstance(self._act, LiveAct):
            raise InputError("this is a recording: its live input is written by interplay export DIR OUT.targets.csv")
        act, stem = self._act, Path(self.name).stem
        texts: dict[str, tuple[str, Callable[[], str]]] = {
            "targets": (f"{stem}-performance.csv", act.targets),
            "scenario": (f"{stem}-edited.yaml", lambda: edited(act.scenario, act.sim.live.adjustments.gains)),
        }
        name, text = pick("thing to save", what, texts)
        self._say(Download(client, name, text().encode()))

    def _fetch(self, order: int, folder: str) -> None:
        try:
            source, (begin, end) = self._act.played(Path(folder))
        except (InterplayError, OSError) as error:
            self._say(Played(order, "", "", str(error)))
            return
        span = f"{round(begin, 1):g}-{round(end, 1):g}s"
        self._say(Played(order, str(source), f"{Path(self.name).stem}_{span}"))


def _push(sim: Simulation, body: Any, local: Any, impulse: Any) -> None:
    """Push as a hand does: no harder than the body can stand, unless she steps or gets up again; objectives give way."""
    index = movable(sim.scene, body)
    catches = sim.behaviour is not None and body.split("/")[0] in sim.behaviour.catching
    force, seconds = hand_push(sim.scene.model, index, impulse, sim.dt, catches)
    sim.live.push(body, force, seconds, local=local, given_way=True)


def _throw(sim: Simulation, ball: Any, mass: Any, position: Any, velocity: Any) -> None:
    """Throw a ball that weighs what the user wants."""
    mass = number("mass of a ball", mass, LIGHTEST_BALL, HEAVIEST_BALL, "kg")
    sim.live.throw(ball, position, velocity)
    if mass != sim.scene.model.body_mass[sim.scene.body(ball)]:
        sim.live.set_mass(ball, mass)
