"""Live plots of the last seconds: step time, contact forces, objective errors."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import viser
from viser import uplot

from interplay.stage.messages import Frame

SECONDS = 8.0
"""How much of the past the plots show [s]."""
LINES = 6
"""Most curves in one plot."""

_COLOURS = ("#2e5e8c", "#e27026", "#3c8c50", "#8e54b2", "#c03030", "#148296")


class History:
    """What the plots show, kept from frame to frame; the same for all browsers."""

    def __init__(self) -> None:
        """Begin empty."""
        self._frames: deque[tuple[float, float, dict[str, float], dict[str, float]]] = deque()

    def add(self, frame: Frame) -> None:
        """Keep what a frame shows; going back in time forgets what came after."""
        while self._frames and self._frames[-1][0] >= frame.time - 1e-9:
            self._frames.pop()
        while self._frames and self._frames[0][0] < frame.time - SECONDS:
            self._frames.popleft()
        step = float(np.max(frame.pace.step_ms)) if len(frame.pace.step_ms) else np.nan
        normal = {f"{a} – {b}": float(n) for (a, b), n in zip(frame.contacts, frame.contact_normal, strict=True)}
        weighty = sorted(frame.objectives, key=lambda o: -o.weight * o.level)[:LINES]
        self._frames.append((frame.time, step, normal, {o.label: o.error for o in weighty if o.level > 0.01}))

    def clear(self) -> None:
        """Forget everything."""
        self._frames.clear()

    def times(self) -> np.ndarray:
        """Return the times [s]."""
        return np.array([entry[0] for entry in self._frames])

    def steps(self) -> np.ndarray:
        """Return the slowest step of each frame [ms]."""
        return np.array([entry[1] for entry in self._frames])

    def curves(self, part: int) -> dict[str, np.ndarray]:
        """Return the curves of contact forces (2) or objective errors (3) that matter most, NaN where there was none."""
        last = self._frames[-1][part] if self._frames else {}
        names = sorted(last, key=lambda name: -last[name])[:LINES]
        return {n: np.array([entry[part].get(n, np.nan) for entry in self._frames]) for n in sorted(names)}


class Plots:
    """The plots of one browser, in the container that is open when they are made."""

    def __init__(self, gui: viser.GuiApi, dt: float):
        """Add the plots, hidden until they are switched on."""
        self._dt, self._on = dt, False
        none = np.array([0.0, 1.0])

        def plot(title: str, names: list[str]) -> Any:
            return gui.add_uplot(
                (none, *(none * np.nan for _ in names)),
                _series(names),
                title=title,
                height=150,
                visible=False,
                scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
                legend=uplot.Legend(show=True, live=False),
                cursor=uplot.Cursor(show=False),
            )

        self._step = plot("step time [ms] against Δt", ["slowest step", "Δt"])
        self._force = plot("contact normal forces [N]", ["–"])
        self._error = plot("objective errors [m, rad]", ["–"])
        self._names: dict[int, list[str]] = {2: ["–"], 3: ["–"]}

    @property
    def on(self) -> bool:
        """Whether they are shown; hidden plots cost nothing."""
        return self._on

    def switch(self, on: bool) -> None:
        """Show or hide them."""
        self._on = on
        for plot in (self._step, self._force, self._error):
            plot.visible = on

    def draw(self, history: History) -> None:
        """Draw the last seconds."""
        times = history.times()
        if not self._on or len(times) < 2:
            return
        self._step.data = (times, history.steps(), np.full(len(times), 1e3 * self._dt))
        for part, plot in ((2, self._force), (3, self._error)):
            curves = history.curves(part)
            if curves:
                if list(curves) != self._names[part]:
                    self._names[part] = list(curves)
                    plot.series = _series(list(curves))
                plot.data = (times, *curves.values())


def _series(names: list[str]) -> tuple[uplot.Series, ...]:
    drawn = (
        uplot.Series(label=short(name), stroke=_COLOURS[i % len(_COLOURS)], width=1.5, points={"show": False})
        for i, name in enumerate(names)
    )
    return (uplot.Series(label="t [s]"), *drawn)


def short(name: str, most: int = 30) -> str:
    """Return a name that fits a legend."""
    return name if len(name) <= most else name[: most - 1] + "…"
