"""How long edits of a walk take: python tools/measure_editing.py [DIR]; CPU seconds, solver's iterations, what the motion is worth."""

from __future__ import annotations

import sys
import time

import interplay as ip
from interplay.compositions import composition
from interplay.spacetime.editing import Editing

MOVES = ((0.05, 0.0), (0.1, 0.0), (-0.05, 0.0), (-0.1, 0.0), (0.0, 0.05), (0.0, 0.1), (0.0, -0.1), (0.3, 0.0))


def main() -> None:
    """Move the third step, prepared, unprepared, and in time; print a table."""
    walk = Editing(sys.argv[1]).performance if sys.argv[1:] else composition("walk")({}).compose()
    who = next(iter(walk.worth))
    Editing(walk).prepare(_mark(Editing(walk), who))  # derivatives are found on disk, tapes are loaded
    print(
        "| moved | iterations | CPU seconds | after preparing: iterations | CPU seconds | root: mean / worst [%] | slip [mm] |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for x, y in MOVES:
        row, cells = f"({100 * x:+.0f}, {100 * y:+.0f}) cm", list[str]()
        for prepared in (False, True):
            motion = Editing(walk)
            mark = _mark(motion, who)
            if prepared:
                motion.prepare(mark)
            begin = time.process_time()
            try:
                made = motion.move_footprint(who, mark.step, (mark.place[0] + x, mark.place[1] + y))
            except ip.InputError as error:
                cells += ["–", f"{time.process_time() - begin:.1f}: {error}"]
                continue
            cells += [f"{sum(one.iterations for one in made.solutions)}", f"{time.process_time() - begin:.1f}"]
            worth = made.worth[who]
        print(
            f"| {row} | {' | '.join(cells)} | {100 * worth.root_mean:.2f} / {100 * worth.root_worst:.1f} | {1e3 * worth.slip:.2f} |"
        )


def _mark(motion: Editing, who: str):
    return next(mark for mark in motion.footprints() if mark.who == who and mark.step == 3)


if __name__ == "__main__":
    main()
