"""How long edits of a walk take: python tools/measure_editing.py [DIR]; CPU seconds, solver's iterations, what the motion is worth."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import interplay as ip
from interplay.compositions import composition
from interplay.spacetime.editing import Editing
from interplay.spacetime.marks import Footprint, HandTarget
from interplay.spacetime.performing import Performance

STEP = 3
PLACES = (
    (0.05, 0.0),
    (0.1, 0.0),
    (-0.05, 0.0),
    (-0.1, 0.0),
    (0.0, 0.05),
    (0.0, 0.1),
    (0.0, -0.05),
    (0.0, -0.1),
    (0.3, 0.0),
)
TIMES = (0.03, -0.03, 0.06, -0.06)
HANDS = ((0.05, 0.0, 0.0), (0.0, 0.0, 0.1), (0.1, -0.1, 0.1))


def main() -> None:
    """Move the third step, in place and time, and a hand's target; prepared and unprepared; print a table."""
    walk = Editing(sys.argv[1]).performance if sys.argv[1:] else composition("walk")({}).compose()
    who = next(iter(walk.worth))
    foot = _foot(Editing(walk), who)
    Editing(walk).prepare(foot)  # derivatives are found on disk, tapes are loaded
    print(
        "| moved by | iterations | CPU seconds | prepared: iterations | CPU seconds | to prepare | root: mean / worst [%] | slip [mm] |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for x, y in PLACES:
        place = foot.place[0] + x, foot.place[1] + y
        name = f"{100 * x:+.0f}, {100 * y:+.0f} cm"
        _row(name, walk, who, foot, lambda motion, place=place: motion.move_footprint(who, STEP, place))
    for seconds in TIMES:
        name = f"{1e3 * seconds:+.0f} ms"
        _row(name, walk, who, foot, lambda motion, to=foot.lands + seconds: motion.move_time(who, STEP, to))
    motion, palm = Editing(walk), f"{who}/right_palm"
    there = motion.hand(palm, STEP)
    with_target = motion.move_hand(palm, STEP, there)
    (target,) = motion.hands()
    for way in HANDS:
        place = [a + b for a, b in zip(there, way, strict=True)]
        name = f"hand {', '.join(f'{100 * one:+.0f}' for one in way)} cm"
        _row(name, with_target, who, target, lambda motion, place=place: motion.move_hand(palm, "target", place))


def _row(
    name: str, before: Performance, who: str, mark: Footprint | HandTarget, move: Callable[[Editing], Performance]
) -> None:
    cells, worth, preparing = list[str](), "– | –", 0.0
    for prepared in (False, True):
        motion, begin = Editing(before), time.process_time()
        if prepared:
            motion.prepare(mark)
            preparing, begin = time.process_time() - begin, time.process_time()
        try:
            made = move(motion)
        except ip.InputError as error:
            cells += ["–", f"{time.process_time() - begin:.1f}: {error}"]
            continue
        cells += [f"{sum(one.iterations for one in made.solutions)}", f"{time.process_time() - begin:.2f}"]
        of = made.worth[who]
        worth = f"{100 * of.root_mean:.2f} / {100 * of.root_worst:.1f} | {1e3 * of.slip:.2f}"
    print(f"| {name} | {' | '.join(cells)} | {preparing:.1f} | {worth} |", flush=True)


def _foot(motion: Editing, who: str) -> Footprint:
    return next(mark for mark in motion.footprints() if mark.who == who and mark.step == STEP)


if __name__ == "__main__":
    main()
