"""Live plots of the last seconds: step time, contact forces, objective errors."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
import viser
from viser import uplot

from interplay.stage.messages import Moment

SECONDS = 8.0
"""How much of the past the plots show [s]."""
LINES = 6
"""Most curves in one plot."""

_COLOURS = ("#2e5e8c", "#e27026", "#3c8c50", "#8e54b2", "#c03030", "#148296")


class _Reading(NamedTuple):
    time: float
    step: float
    forces: dict[str, float]
    errors: dict[str, float]


class History:
    """What the plots show, kept from frame to frame; the same for all browsers."""

    def __init__(self) -> None:
        """Begin empty."""
        self._frames: deque[_Reading] = deque()
        self._forces: list[str] = []
        self._errors: list[str] = []

    def add(self, frame: Moment) -> None:
        """Keep what a frame shows; going back in time forgets what came after."""
        while self._frames and self._frames[-1].time >= frame.time - 1e-9:
            self._frames.pop()
        while self._frames and self._frames[0].time < frame.time - SECONDS:
            self._frames.popleft()
        step = float(np.max(frame.pace.step_ms)) if len(frame.pace.step_ms) else np.nan
        normal = {f"{a} – {b}": float(n) for (a, b), n in zip(frame.contacts, frame.contact_normal, strict=True)}
        weighty = sorted(frame.objectives, key=lambda o: -o.weight * o.level)[:LINES]
        errors = {o.label: float(o.error) for o in weighty if o.level > 0.01}
        self._frames.append(_Reading(frame.time, step, normal, errors))

    def clear(self) -> None:
        """Forget everything."""
        self._frames.clear()

    def times(self) -> np.ndarray:
        """Return the times [s]."""
        return np.array([moment.time for moment in self._frames])

    def steps(self) -> np.ndarray:
        """Return the slowest step of each frame [ms]."""
        return np.array([moment.step for moment in self._frames])

    def forces(self) -> dict[str, np.ndarray]:
        """Return the normal forces of the contacts that carry most [N], NaN where there was none."""
        return _curves([moment.forces for moment in self._frames], self._forces)

    def errors(self) -> dict[str, np.ndarray]:
        """Return the errors of the objectives with most weight."""
        return _curves([moment.errors for moment in self._frames], self._errors)


def _curves(values: list[dict[str, float]], shown: list[str]) -> dict[str, np.ndarray]:
    """Return the largest curves; one that is shown stays while it exists, as a plot with other curves is a new plot."""
    last = values[-1] if values else {}
    largest = sorted(last, key=lambda name: -last[name])
    shown[:] = sorted(list(dict.fromkeys([*(name for name in shown if name in last), *largest]))[:LINES])
    return {name: np.array([value.get(name, np.nan) for value in values]) for name in shown}


_TITLES = ("step time [ms] against Δt", "contact normal forces [N]", "objective errors [m, rad]")


class Plots:
    """The plots of one browser, in a tab of its panel."""

    def __init__(self, gui: viser.GuiApi, tab: Any, dt: float):
        """Take the tab; nothing is drawn before the plots are switched on."""
        self._gui, self._tab, self._dt = gui, tab, dt
        self._on = False
        self._plots: dict[str, tuple[list[str], Any]] = {}

    @property
    def on(self) -> bool:
        """Whether they are shown; hidden plots cost nothing."""
        return self._on

    def switch(self, on: bool) -> None:
        """Show or hide them."""
        self._on = on
        for _, plot in self._plots.values():
            plot.visible = on

    def draw(self, history: History) -> None:
        """Draw the last seconds."""
        times = history.times()
        if not self._on or len(times) < 2:
            return
        steps = {"slowest step": history.steps(), "Δt": np.full(len(times), 1e3 * self._dt)}
        for title, curves in zip(_TITLES, (steps, history.forces(), history.errors()), strict=True):
            if curves:
                self._draw(title, list(curves), (times, *curves.values()))

    def _draw(self, title: str, names: list[str], data: tuple[np.ndarray, ...]) -> None:
        """Draw one plot; with other curves it is made anew, as viser's loses its scale of time when they change."""
        drawn, plot = self._plots.get(title, ([], None))
        if drawn == names:
            plot.data = data
            return
        if plot is not None:
            plot.remove()
        with self._tab:
            plot = self._gui.add_uplot(
                data,
                _series(names),
                title=title,
                height=150,
                scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
                legend=uplot.Legend(show=True, live=False),
                cursor=uplot.Cursor(show=False),
                order=1e6 + _TITLES.index(title),  # below the switch, each in its place
            )
        self._plots[title] = (names, plot)


def _series(names: list[str]) -> tuple[uplot.Series, ...]:
    drawn = (
        uplot.Series(label=short(name), stroke=_COLOURS[i % len(_COLOURS)], width=1.5, points={"show": False})
        for i, name in enumerate(names)
    )
    return (uplot.Series(label="t [s]"), *drawn)


def short(name: str, most: int = 30) -> str:
    """Return a name that fits a legend."""
    return name if len(name) <= most else name[: most - 1] + "…"
