"""One browser's panel: who controls, what happens, and for the holder all switches and fields.

Each browser has a panel of its own (``client.gui``), so that a forged message reaches nobody else's.
"""

from __future__ import annotations

import html
import math
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import viser

from interplay.stage.downloads import DownloadView, forms
from interplay.stage.edit_tab import EditTab
from interplay.stage.editor import Edit
from interplay.stage.hands import STRONGEST, Aim
from interplay.stage.messages import (
    FASTEST,
    FASTEST_BALL,
    HEAVIEST_BALL,
    LIGHTEST_BALL,
    SLOWEST,
    Adjust,
    Command,
    ControlView,
    Moment,
    ObjectiveView,
    Open,
    Opening,
    Pause,
    Play,
    Reset,
    Save,
    Seek,
    SetControl,
    SetFriction,
    Speed,
    StepOnce,
    Tell,
)
from interplay.stage.overlays import Overlay
from interplay.stage.plots import History, Plots
from interplay.stage.skills_tab import SkillsTab
from interplay.stage.status import status

DIRECTIONS: dict[str, np.ndarray | None] = {
    "away from me": None,
    "+x": np.array([1.0, 0, 0]),
    "−x": np.array([-1.0, 0, 0]),
    "+y": np.array([0, 1.0, 0]),
    "−y": np.array([0, -1.0, 0]),
    "up": np.array([0, 0, 1.0]),
}
"""Ways to push."""

HEAVIEST, STIFFEST = 1e6, 1e4
"""Bounds of weights and stiffnesses that can be set live."""

_ROUGH = 1.5  # largest friction that can be set live
_QUIET = 0.8  # seconds after the user has moved a field before frames move it again


class Director(Protocol):
    """What a panel can ask of the stage."""

    looping: bool

    def post(self, client: int | None, action: Callable[[], None]) -> None:
        """Queue an action of a browser; it is done if the browser holds control."""

    def send(self, command: Command) -> None:
        """Send a command to the performer."""

    def take(self, client: int) -> None:
        """Give control to a browser."""

    def switch(self, overlay: str, on: bool) -> None:
        """Switch an overlay."""

    def loop(self, on: bool) -> None:
        """Begin a recording again at its end."""

    def follow(self, client: int, on: bool) -> None:
        """Let a browser's camera go along."""

    def download(self, client: int, form: str) -> None:
        """Send what has been played to a browser."""

    def cancel(self, client: int) -> None:
        """Give up a download."""

    def let_go(self) -> None:
        """Open the hand."""

    def push(self, strength: float, direction: np.ndarray | None) -> None:
        """Push the clicked body."""

    def take_aim(self, aim: Aim | None) -> None:
        """Let clicks throw balls, or hold bodies."""

    def edit(self, command: Edit) -> None:
        """Ask the editor of a composed motion for something."""


def within(value: Any, low: float, high: float) -> float | None:
    """Return a number clamped to bounds, or None where it is not one."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return min(max(number, low), high) if math.isfinite(number) else None


class Panel:
    """The panel of one browser, made anew when control changes hands or a scenario is opened."""

    def __init__(
        self,
        client: viser.ClientHandle,
        director: Director,
        opening: Opening,
        *,
        holds: bool,
        offers: tuple[str, ...],
        overlays: dict[str, Overlay],
        switched: dict[str, bool],
        following: bool,
    ):
        """Fill the panel: everything for the holder, a button to take control for the others."""
        self._client, self._do, self._opening, self.holds = client, director, opening, holds
        self._gui = gui = client.gui
        self._roots: list[Any] = []
        self._touched: dict[int, float] = {}
        self._shown = ""
        self.plots: Plots | None = None
        self._scalars: dict[str, Any] = {}
        self._frictions: dict[str, Any] = {}
        self._objectives: dict[str, ObjectiveView] = {}
        self._skills: SkillsTab | None = None
        self.edits: EditTab | None = None
        if holds:
            self._pick = self._root(gui.add_dropdown("Scenario", offers, initial_value=_offered(opening, offers)))
            self._on(self._pick, lambda value: self._do.send(Open(value)) if value in offers else None)
        self._status = self._root(gui.add_html(""))
        if not holds:
            button = self._root(gui.add_button("Take control", icon=viser.Icon.HAND_GRAB))
            number = client.client_id
            button.on_click(lambda event: director.take(number) if event.client_id == number else None)
            self._camera(following)
            self._download()
            return
        self._transport()
        tabs = self._root(gui.add_tab_group())
        if not opening.recorded:
            with tabs.add_tab("Touch"):
                self._touch()
        if opening.composed:
            with tabs.add_tab("Edit"):
                self.edits = EditTab(gui, self._on, self._press, self._do.edit)
        if opening.skills:
            with tabs.add_tab("Skills"):
                self._skills = SkillsTab(gui, opening.skills, self._tells)
        with tabs.add_tab("Show"):
            for name, overlay in overlays.items():
                box = gui.add_checkbox(overlay.title, switched[name], hint=overlay.help)
                self._on(box, lambda value, name=name: self._do.switch(name, bool(value)))
            self._camera(following)
        with tabs.add_tab("Plots") as tab:
            shown = gui.add_checkbox("Live plots", False, hint="Drawn three times a second.")
            self.plots = plots = Plots(gui, tab, opening.dt)
            self._on(shown, lambda value: plots.switch(bool(value)))
        if not opening.recorded:
            with tabs.add_tab("Tune"):
                self._tune()
        self._download()

    def _root(self, handle: Any) -> Any:
        self._roots.append(handle)
        return handle

    def _on(self, handle: Any, act: Callable[[Any], None]) -> None:
        """Do something with a field's new value when the user (not a frame) has changed it."""

        async def update(event: Any) -> None:
            if event.client_id is not None:
                value = event.target.value
                self._touched[id(handle)] = time.monotonic()
                self._do.post(event.client_id, lambda: act(value))

        handle.on_update(update)

    def _press(self, handle: Any, act: Callable[[], None]) -> None:
        async def click(event: Any) -> None:
            self._do.post(event.client_id, act)

        handle.on_click(click)

    def _idle(self, handle: Any) -> bool:
        return time.monotonic() - self._touched.get(id(handle), -math.inf) > _QUIET

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _transport(self) -> None:
        gui, recorded = self._gui, self._opening.recorded
        commands: dict[str, Callable[[], Command]] = {"Play": Play, "Pause": Pause, "Step": StepOnce}
        if not recorded:
            commands["Reset"] = Reset
        buttons = self._root(gui.add_button_group("", tuple(commands)))

        async def click(event: Any) -> None:
            chosen = commands.get(event.target.value)
            if chosen is not None:
                self._do.post(event.client_id, lambda: self._do.send(chosen()))

        buttons.on_click(click)
        self._time = self._root(
            gui.add_slider("Time", 0.0, 1.0, 0.01, 0.0, hint="Drag to look at the past; Play goes on from there.")
        )
        self._on(self._time, self._seek)
        self._speed = self._root(
            gui.add_slider("Speed", SLOWEST, FASTEST, 0.05, 1.0, hint="Simulated seconds per second.")
        )
        self._on(self._speed, self._hurry)
        if recorded:
            again = self._root(gui.add_checkbox("Loop", self._do.looping, hint="Begin again at the end."))
            self._on(again, lambda value: self._do.loop(bool(value)))

    def _seek(self, value: Any) -> None:
        moment = within(value, 0.0, 1e6)
        if moment is not None:
            self._do.send(Seek(moment))

    def _hurry(self, value: Any) -> None:
        factor = within(value, SLOWEST, FASTEST)
        if factor is not None:
            self._do.send(Speed(factor))

    def _touch(self) -> None:
        gui = self._gui
        dragged = [c for c in self._opening.controls if c.kind != "scalar"]
        for control in self._opening.controls:
            if control.kind == "scalar":
                self._scalars[control.name] = field = self._scalar(control)
                self._on(field, lambda value, control=control: self._set(control, value))
        for model, friction in self._opening.frictions.items():
            hint = "Of whatever touches it."
            field = gui.add_slider(f"Friction of {model}", 0.0, _ROUGH, 0.01, min(friction, _ROUGH), hint=hint)
            self._frictions[model] = field
            self._on(field, lambda value, model=model: self._rub(model, value))
        if dragged:
            items = "".join(f"<li><b>{html.escape(c.name)}</b>: {html.escape(c.help)}</li>" for c in dragged)
            gui.add_html(f"<div style='{_SMALL}'>Drag the handles:<ul style='{_LIST}'>{items}</ul></div>")
        gui.add_html(f"<div style='{_SMALL}'>Click a body to hold it, and drag its handle to pull.</div>")
        self._hold = gui.add_button("Let go", disabled=True, icon=viser.Icon.HAND_OFF)
        self._press(self._hold, self._do.let_go)
        self._strength = gui.add_slider("Push [N·s]", 1.0, STRONGEST, 1.0, 20.0, hint="Impulse of a push.")
        self._way = gui.add_dropdown("Towards", tuple(DIRECTIONS), initial_value="away from me")
        self._press(gui.add_button("Push", hint="Pushes where you clicked last."), self._push)
        if self._opening.balls:
            self._throwing()

    def _tells(self, buttons: Any, who: str) -> None:
        """Let buttons tell a character what to do."""

        async def click(event: Any) -> None:
            skill = event.target.value
            if skill in self._opening.skills[who]:
                self._do.post(event.client_id, lambda: self._do.send(Tell(who, skill)))

        buttons.on_click(click)

    def _throwing(self) -> None:
        gui = self._gui
        self._throws = gui.add_checkbox("Throw balls", False, hint="Clicks throw a ball at what they meet.")
        self._ball = gui.add_slider("Ball [kg]", LIGHTEST_BALL, HEAVIEST_BALL, 0.05, 0.6)
        self._fast = gui.add_slider("Ball [m/s]", 1.0, FASTEST_BALL, 0.5, 8.0)
        for field in (self._throws, self._ball, self._fast):
            self._on(field, lambda _: self._take_aim())

    def _take_aim(self) -> None:
        mass, speed = (
            within(self._ball.value, LIGHTEST_BALL, HEAVIEST_BALL),
            within(self._fast.value, 1.0, FASTEST_BALL),
        )
        if mass is not None and speed is not None:
            self._do.take_aim(Aim(mass, speed) if self._throws.value is True else None)

    def _rub(self, model: str, value: Any) -> None:
        friction = within(value, 0.0, _ROUGH)
        if friction is not None:
            self._do.send(SetFriction(model, friction))

    def _scalar(self, control: ControlView) -> Any:
        label = f"{control.name} [{control.unit}]" if control.unit else control.name
        low, high, value = float(control.low[0]), float(control.high[0]), float(control.value[0])
        if math.isfinite(low) and math.isfinite(high) and low < high:
            step = 10.0 ** math.floor(math.log10((high - low) / 100.0))
            return self._gui.add_slider(label, low, high, step, value, hint=control.help or None)
        bounds: dict[str, Any] = {
            "min": low if math.isfinite(low) else None,
            "max": high if math.isfinite(high) else None,
        }
        return self._gui.add_number(label, value, **bounds, hint=control.help or None)

    def _set(self, control: ControlView, value: Any) -> None:
        number = within(value, float(control.low[0]), float(control.high[0]))
        if number is not None:
            self._do.send(SetControl(control.name, (number,)))

    def _push(self) -> None:
        strength = within(self._strength.value, 0.0, STRONGEST)
        if strength is not None and self._way.value in DIRECTIONS:
            self._do.push(strength, DIRECTIONS[self._way.value])

    def _tune(self) -> None:
        gui = self._gui
        self._which: Any = gui.add_dropdown(
            "Objective", ("–",), hint="Objectives so far; what is changed holds whenever they come."
        )
        self._on(self._which, lambda _: self._choose())
        self._weight = gui.add_number("Weight", 0.0, min=0.0, max=HEAVIEST, step=0.001)
        self._stiff = gui.add_number("Stiffness [1/s²]", 0.0, min=0.0, max=STIFFEST, step=0.1)
        self._on(self._weight, lambda value: self._adjust("weight", within(value, 0.0, HEAVIEST)))
        self._on(self._stiff, lambda value: self._adjust("stiffness", within(value, 0.0, STIFFEST)))
        number = self._client.client_id
        for label, what in (("Save scenario", "scenario"), ("Save performance", "targets")):
            button = gui.add_button(label, icon=viser.Icon.DOWNLOAD)
            self._press(button, lambda what=what: self._do.send(Save(number, what)))

    def _choose(self) -> None:
        for field in (self._weight, self._stiff):
            self._touched.pop(id(field), None)
        self._show_gains()

    def _adjust(self, gain: str, value: float | None) -> None:
        if value is not None and self._which.value in self._objectives:
            self._do.send(Adjust(self._which.value, **{gain: value}))

    def _camera(self, following: bool) -> None:
        box = self._gui.add_checkbox(
            "Camera follows", following, hint="The camera goes along with the scene; turn it and zoom as you like."
        )
        if not self.holds:
            self._root(box)
        number = self._client.client_id

        async def update(event: Any) -> None:
            if event.client_id == number:
                self._do.follow(number, bool(event.target.value))

        box.on_update(update)

    def _download(self) -> None:
        gui, number = self._gui, self._client.client_id
        with self._root(gui.add_folder("Download", expand_by_default=False)):
            self._form = gui.add_dropdown("Format", tuple(forms()), initial_value="glb")
            self._get = gui.add_button("Download what was played", icon=viser.Icon.DOWNLOAD)
            self._bar = gui.add_progress_bar(0.0, visible=False)
            self._stop = gui.add_button("Cancel", visible=False)
            self._word = gui.add_html("")
        self._told: DownloadView | None = None

        async def ask(event: Any) -> None:
            if event.client_id == number:
                self._do.download(number, self._form.value)

        async def cancel(event: Any) -> None:
            if event.client_id == number:
                self._do.cancel(number)

        self._get.on_click(ask)
        self._stop.on_click(cancel)

    # -- frames --------------------------------------------------------------------------------------------------------

    def follow(self, frame: Moment, note: str, holding: bool) -> None:
        """Show a frame's numbers; called a few times a second."""
        text = status(self._opening, frame, note)
        if text != self._shown:
            self._status.content = self._shown = text
        if not self.holds:
            return
        first = round(float(frame.span[0]), 2)
        last = max(round(float(frame.span[1]), 2), first + 0.01)
        if (self._time.min, self._time.max) != (first, last):
            self._time.min, self._time.max = first, last
        self._put(self._time, round(float(frame.time), 2))
        self._put(self._speed, round(float(frame.speed), 2))
        for name, field in self._scalars.items():
            if name in frame.wanted:
                self._put(field, round(float(frame.wanted[name][0]), 4))
        for model, field in self._frictions.items():
            if model in frame.frictions:
                self._put(field, round(frame.frictions[model], 2))
        if self._skills is not None:
            self._skills.follow(frame.skills)
        if self.edits is not None:
            self.edits.follow()
        if not self._opening.recorded:
            if self._hold.disabled == holding:
                self._hold.disabled = not holding
            self._objectives |= {
                o.label: o for o in frame.objectives
            }  # those of past phases stay: none is chosen unasked
            labels = tuple(self._objectives) or ("–",)
            if self._which.options != labels:
                kept = self._which.value
                self._which.options = labels
                self._which.value = kept if kept in labels else labels[0]
            self._show_gains()

    def show_download(self, view: DownloadView) -> None:
        """Show how far a download is, or what has become of the last one."""
        if view == self._told:
            return
        self._told = view
        under_way = view.done is not None
        self._get.disabled, self._bar.visible, self._stop.visible = under_way, under_way, view.may_cancel
        self._bar.value = 100.0 * (view.done or 0.0)
        colour = "#b03020" if view.failed else "#5a6472"
        self._word.content = f"<div style='{_SMALL};color:{colour}'>{html.escape(view.text)}</div>"

    def _put(self, field: Any, value: float) -> None:
        """Show a number in a field, once the user has left that alone.

        What was on its way to the browser when she moved it has come after her own, so it is said again even if nothing changes.
        """
        if self._idle(field):
            if self._touched.pop(id(field), None) is not None:
                field.value = value + 1.0  # viser does not say what it has heard
            field.value = value

    def _show_gains(self) -> None:
        chosen = self._objectives.get(self._which.value)
        if chosen is not None:
            self._put(self._weight, round(float(chosen.weight), 6))
            self._put(self._stiff, round(float(chosen.stiffness), 6))

    def draw(self, history: History) -> None:
        """Draw the plots, if they are shown."""
        if self.plots is not None:
            self.plots.draw(history)

    def remove(self) -> None:
        """Take the panel away."""
        for root in self._roots:
            root.remove()
        self._roots = []


_SMALL = "font-size:0.8em;color:#5a6472;line-height:1.35;padding:0 0.75em;margin:0.2em 0"
_LIST = "margin:0.1em 0;padding-left:1.2em"


def _offered(opening: Opening, offers: tuple[str, ...]) -> str:
    return opening.scenario if opening.scenario in offers else offers[0]
