"""Composing from Python: words for what characters do and what must hold, and the motion of least effort that does it.

from interplay.spacetime.words import compose, reach, run, walk

scene = ip.Scene().add(ip.Humanoid(1.74, 68), "ann")
motion = compose(scene, {"ann": [walk(1.3), run(3.0)]}, [reach("ann/right_palm", (1.0, -0.3, 1.2), when=2)])
motion.write("out/run_up")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from math import tau

from interplay.errors import InputError, flag, number, pick, short, vector, whole
from interplay.motion.clip import Clip
from interplay.scene.scene import Scene
from interplay.spacetime.actions import Action, Jump, Pivot, Run, Stand, Walk
from interplay.spacetime.body import Body
from interplay.spacetime.captured import Captured
from interplay.spacetime.composing import FREE, Score, check_asked, composed_all, scored
from interplay.spacetime.encounters import dodges, passes, raised, score_of, tackles
from interplay.spacetime.gaits import GAITS
from interplay.spacetime.hand_in_hand import Hands, hand_in_hand
from interplay.spacetime.interrupting import listening
from interplay.spacetime.laws import AtTime, Reaches
from interplay.spacetime.performing import Performance, perform
from interplay.spacetime.problem import Law
from interplay.spacetime.solving import Progress
from interplay.spacetime.tackling import outcomes

SPEEDS, AHEAD, UP, STANDING, MARGINS, MOST_STEPS = (0.2, 8.0), (0.0, 3.0), (-1.0, 1.5), (1e-3, 100.0), (0.0, 1.0), 50
"""Bounds of what may be asked: speeds [m/s], jumps ahead and up [m], times [s], margins [m], and steps at a time."""

Held = Callable[[Mapping[str, Score]], Sequence[Law]]
"""What must hold: laws, once it is known who does what."""


def walk(speed: float, steps: int = 2) -> Action:
    """Return steps of a walk at a speed [m/s]."""
    return Walk(_speed("walk", speed), _steps("walk", steps))


def run(speed: float, steps: int = 2) -> Action:
    """Return steps of a run at a speed [m/s]."""
    return Run(_speed("run", speed), _steps("run", steps))


def turn(angle: float, steps: int = 2, speed: float = 1.2) -> Action:
    """Return steps of a walk that turns by an angle [rad], to the left where it is positive."""
    return Walk(_speed("turn", speed), _steps("turn", steps), number("turn: angle", angle, -tau, tau, "rad"))


def pivot(angle: float, speed: float = 0.5) -> Action:
    """Return short steps that turn nearly on the spot by an angle [rad]."""
    return Pivot(number("pivot: angle", angle, -tau, tau, "rad"), _speed("pivot", speed))


def stand(seconds: float = 0.5) -> Action:
    """Return standing, or a last step and then standing."""
    return Stand(number("stand: seconds", seconds, *STANDING, "s"))


def jump(ahead: float, up: float = 0.0) -> Action:
    """Return a jump with both feet, from standing to standing, so far ahead and so much higher [m]."""
    return Jump(number("jump: ahead", ahead, *AHEAD, "m"), number("jump: up", up, *UP, "m"))


def captured(clip: Clip, like: str = "walk", who: str | None = None) -> Action:
    """Return what a character of a clip does, made physical; from there on in the manner of a gait, ``walk`` or ``run``."""
    if not isinstance(clip, Clip):
        raise InputError(f"captured: expected a clip, such as ip.Clip.load(FOLDER), got {short(clip)}")
    return Captured(clip, pick("gait", like, dict.fromkeys(GAITS, like)), who)


def reach(surface: str, at: Sequence[float], when: str | int, still: bool = False) -> Held:
    """Return that a surface, such as ``ann/right_palm``, is at a place [m] at ``begin``, ``end``, or when the foot of a step lands."""
    who, _, site = _text("reach: surface", surface).partition("/")
    x, y, z = vector("reach: at", at, 3).tolist()
    flag("reach: still", still)

    def held(scores: Mapping[str, Score]) -> Sequence[Law]:
        score = score_of(who, scores)
        score.doing.body.scene.site(surface)
        return [Reaches(who, site, score.when(when), (x, y, z), still)]

    return held


def at_time(who: str, when: str | int, seconds: float) -> Held:
    """Return that the foot of a step lands, or the motion ends, at a real time [s]."""
    number("at_time: seconds", seconds, *STANDING, "s")
    return lambda scores: [AtTime(who, score_of(who, scores).when(when), seconds)]


def on_height(who: str, when: str | int, height: float) -> Held:
    """Return that the feet which land then do so at a height [m], on what is there."""
    return lambda scores: raised(scores, who, when, height)


def pass_by(one: str, other: str, margin: float = 0.1) -> Held:
    """Return that two pass each other by: so far from each other at least [m], whoever gives way."""
    number("pass_by: margin", margin, *MARGINS, "m")
    return lambda scores: passes(scores, one, other, margin)


def tackle(he: str, she: str, speed: float = 3.5) -> Held:
    """Return that one meets another's chest with his at the end, at a speed [m/s], hands around it; of ``schedule="horizon"``."""
    _speed("tackle", speed)
    return lambda scores: tackles(scores, he, she, speed)


def dodge(she: str, he: str, margin: float = 0.2) -> Held:
    """Return that one is out of a tackler's bounding sphere at the end, by a margin [m]; of ``schedule="horizon"``."""
    number("dodge: margin", margin, *MARGINS, "m")
    return lambda scores: dodges(scores, she, he, margin)


def hold_hands(*names: str, leader: str | None = None) -> Hands:
    """Return that all who act walk hand in hand, from right to left, each with one walk of an even number of steps in the time of all.

    They walk along x, side by side, wherever they stand in the scene. ``leader``: whose own way of walking counts more.
    """
    return Hands(tuple(_text("hold_hands", who) for who in names), leader)


def _takes_scores(held: object) -> bool:
    """Return whether it can be told who does what: a word itself, which nobody has called, cannot."""
    try:
        signature(held).bind({})  # pyright: ignore[reportArgumentType]
    except TypeError:
        return False
    return True


def _speed(word: str, speed: float) -> float:
    return number(f"{word}: speed", speed, *SPEEDS, "m/s")


def _steps(word: str, steps: int) -> int:
    return whole(f"{word}: steps", steps, 1, MOST_STEPS)


def _text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"{what}: expected a name, got {short(value)}")
    return value


def compose(
    scene: Scene,
    actions: Mapping[str, Sequence[Action]],
    hold: Sequence[Held | Hands] = (),
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
            against what the others have planned, later and later, where somebody tackles; ``alternating``, one after another, of held hands.
        free: what else than the motion is found: ``timing``, ``footprints``.
        seconds: how long it lasts; by default as long as is best.
        last: who adjusts last in a horizon, and decides; by default who is tackled.
        progress: is told of every iteration.
        name: what the motion is called.
    """
    _check(scene, actions, hold, seconds)
    ends = schedule != "horizon"
    if hands := [held for held in hold if isinstance(held, Hands)]:
        if len(hold) > 1:
            raise InputError("hold_hands: expected that nothing else must hold")
        alternating = pick("schedule of held hands", schedule, {"joint": False, "alternating": True})
        walkers, speed = hands[0].walkers(scene, actions)
        with listening():
            return hand_in_hand(walkers, speed, hands[0].leader, alternating=alternating, progress=progress, name=name)
    words = [held for held in hold if not isinstance(held, Hands)]
    with listening():
        scores, laws = dict[str, Score](), list[Law]()
        for crude in (True, False):
            scores = {
                who: scored(Body(scene, who), doing, progress, free=free, seconds=seconds, ends=ends, crude=crude)
                for who, doing in actions.items()
            }
            laws = [law for held in words for law in held(scores)]
            if crude:
                check_asked(scores, laws, schedule, last)
        return perform(name, composed_all(scores, laws, schedule, progress, last), between=outcomes)


def _check(
    scene: Scene, actions: Mapping[str, Sequence[Action]], hold: Sequence[Held | Hands], seconds: float | None
) -> None:
    """Refuse what is none of what is expected."""
    if not isinstance(scene, Scene):
        raise InputError(f"compose: expected a scene, got {short(scene)}")
    if not isinstance(actions, Mapping) or not actions:
        raise InputError(f"compose: expected actions of at least one character, by name, got {short(actions)}")
    for who, doing in actions.items():
        if not isinstance(doing, list | tuple) or not all(hasattr(one, "after") for one in doing):
            raise InputError(f"{who}: expected a list of actions, such as [walk(1.3), run(3.0)], got {short(doing)}")
    if not isinstance(hold, list | tuple) or not all(isinstance(h, Hands) or _takes_scores(h) for h in hold):
        raise InputError(f"compose: expected a list of what must hold, such as [reach(...)], got {short(hold)}")
    if seconds is not None:
        number("compose: seconds", seconds, *STANDING, "s")
