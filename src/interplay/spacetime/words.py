"""Composing from Python: words for what characters do and what must hold, and the motion of least effort that does it.

from interplay.spacetime.words import compose, reach, run, walk

scene = ip.Scene().add(ip.Humanoid(1.74, 68), "ann")
motion = compose(scene, {"ann": [walk(1.3), run(3.0)]}, [reach("ann/right_palm", (1.0, -0.3, 1.2), when=2)])
motion.write("out/run_up")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from interplay.errors import InputError
from interplay.motion.clip import Clip
from interplay.scene.scene import Scene
from interplay.spacetime.actions import Action, Jump, Pivot, Run, Stand, Walk
from interplay.spacetime.body import Body
from interplay.spacetime.captured import Captured
from interplay.spacetime.composing import FREE, Score, composed_all, scored
from interplay.spacetime.encounters import dodges, passes, score_of, tackles
from interplay.spacetime.laws import AtTime, OnTop, Reaches
from interplay.spacetime.performing import Performance, perform
from interplay.spacetime.problem import Law
from interplay.spacetime.solving import Progress
from interplay.spacetime.tackling import outcomes

Held = Callable[[Mapping[str, Score]], Sequence[Law]]
"""What must hold: laws, once it is known who does what."""


def walk(speed: float, steps: int = 2) -> Action:
    """Return steps of a walk at a speed [m/s]."""
    return Walk(speed, steps)


def run(speed: float, steps: int = 2) -> Action:
    """Return steps of a run at a speed [m/s]."""
    return Run(speed, steps)


def turn(angle: float, steps: int = 2, speed: float = 1.2) -> Action:
    """Return steps of a walk that turns by an angle [rad], to the left where it is positive."""
    return Walk(speed, steps, angle)


def pivot(angle: float, speed: float = 0.5) -> Action:
    """Return short steps that turn nearly on the spot by an angle [rad]."""
    return Pivot(angle, speed)


def stand(seconds: float = 0.5) -> Action:
    """Return standing, or a last step and then standing."""
    return Stand(seconds)


def jump(ahead: float, up: float = 0.0) -> Action:
    """Return a jump with both feet, from standing to standing, so far ahead and so much higher [m]."""
    return Jump(ahead, up)


def captured(clip: Clip, like: str = "walk", who: str | None = None) -> Action:
    """Return what a character of a clip does, made physical; from there on in the manner of a gait, ``walk`` or ``run``."""
    return Captured(clip, like, who)


def reach(surface: str, at: Sequence[float], when: str | int, still: bool = False) -> Held:
    """Return that a surface, such as ``ann/right_palm``, is at a place [m] at ``begin``, ``end``, or when the foot of a step lands."""
    who, _, site = surface.partition("/")
    x, y, z = at

    def held(scores: Mapping[str, Score]) -> Sequence[Law]:
        score = score_of(who, scores)
        score.doing.body.scene.site(surface)
        return [Reaches(who, site, score.when(when), (x, y, z), still)]

    return held


def at_time(who: str, when: str | int, seconds: float) -> Held:
    """Return that the foot of a step lands, or the motion ends, at a real time [s]."""
    return lambda scores: [AtTime(who, score_of(who, scores).when(when), seconds)]


def on_height(who: str, when: str | int, height: float) -> Held:
    """Return that the feet which land then do so at a height [m], on what is there."""
    return lambda scores: [OnTop(who, score_of(who, scores).when(when).phase, height)]


def pass_by(one: str, other: str, margin: float = 0.1) -> Held:
    """Return that two pass each other by: so far from each other at least [m], whoever gives way."""
    return lambda scores: passes(scores, one, other, margin)


def tackle(he: str, she: str, speed: float = 3.5) -> Held:
    """Return that one meets another's chest with his at the end, at a speed [m/s], hands around it; of ``schedule="horizon"``."""
    return lambda scores: tackles(scores, he, she, speed)


def dodge(she: str, he: str, margin: float = 0.2) -> Held:
    """Return that one is out of a tackler's bounding sphere at the end, by a margin [m]; of ``schedule="horizon"``."""
    return lambda scores: dodges(scores, she, he, margin)


def compose(
    scene: Scene,
    actions: Mapping[str, Sequence[Action]],
    hold: Sequence[Held] = (),
    *,
    schedule: str = "joint",
    free: Sequence[str] = FREE,
    seconds: float | None = None,
    last: str | None = None,
    progress: Progress | None = None,
    name: str = "composed",
) -> Performance:
    """Return the motion of least effort in which characters of a scene do one thing after another, and what must hold does.

    Args:
        scene: who and what is there.
        actions: what each does, by name.
        hold: what must hold when.
        schedule: ``joint``, all at once; ``layered``, before, after and across the first seam of one character's actions; ``horizon``, each
            against what the others have planned, later and later, where somebody tackles.
        free: what else than the motion is found: ``timing``, ``footprints``.
        seconds: how long it lasts; by default as long as is best.
        last: who adjusts last in a horizon, and decides; by default who is tackled.
        progress: is told of every iteration.
        name: what the motion is called.
    """
    if not actions:
        raise InputError("compose: expected actions of at least one character")
    scores = {
        who: scored(Body(scene, who), list(doing), progress, free=free, seconds=seconds, ends=schedule != "horizon")
        for who, doing in actions.items()
    }
    laws = [law for held in hold for law in held(scores)]
    return perform(name, composed_all(scores, laws, schedule, progress, last), between=outcomes)
