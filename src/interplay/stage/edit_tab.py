"""The tab in which a composed motion is edited: when steps land, undo and redo, saving, and how it goes."""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from typing import Any

import viser

from interplay.stage.editor import Edit, Keep, Marks, MarkView, MoveTime, Prepare, Redo, Undo

HURRY = 0.15
"""How much earlier or later a step can be made to land at once [s]."""

_RESTS = 0.6  # seconds after which a slider that was moved counts as let go
_SMALL = "font-size:0.8em;line-height:1.35;padding:0 0.75em;margin:0.2em 0"
_NONE = "–"


class EditTab:
    """What the tab of one browser holds."""

    def __init__(
        self,
        gui: Any,
        on: Callable[[Any, Callable[[Any], None]], None],
        press: Callable[[Any, Callable[[], None]], None],
        edit: Callable[[Edit], None],
    ):
        """Fill the tab; ``on`` and ``press`` tell when fields and buttons are used, ``edit`` asks the editor for something."""
        self._edit = edit
        self._marks: dict[str, MarkView] = {}
        self._moved: tuple[str, float, float] | None = None  # which step, to when, and since when it is asked for
        gui.add_html(f"<div style='{_SMALL};color:#5a6472'>Drag footprints and targets of hands.</div>")
        self._which: Any = gui.add_dropdown("Step", (_NONE,), hint="Whose time is moved.")
        self._when: Any = gui.add_slider("Lands at [s]", 0.0, 1.0, 0.01, 0.0, disabled=True)
        self._undo = gui.add_button("Undo", icon=viser.Icon.ARROW_BACK_UP, disabled=True)
        self._redo = gui.add_button("Redo", icon=viser.Icon.ARROW_FORWARD_UP, disabled=True)
        self._keep = gui.add_button("Save motion", icon=viser.Icon.DEVICE_FLOPPY, hint="Into its own folder.")
        self._bar = gui.add_progress_bar(100.0, animated=True, visible=False)
        self._word = gui.add_html("")
        on(self._which, lambda _: self._choose())
        on(self._when, self._slide)
        press(self._undo, lambda: edit(Undo()))
        press(self._redo, lambda: edit(Redo()))
        press(self._keep, lambda: edit(Keep()))

    def show(self, marks: Marks) -> None:
        """Show what can be moved now, and how editing goes."""
        self._marks = {view.name: view for view in marks.marks if view.kind == "footprint" and not view.why}
        options = tuple(self._marks) or (_NONE,)
        if self._which.options != options:
            self._which.options = options
        self._undo.disabled, self._redo.disabled = marks.undo == 0, marks.redo == 0
        self._bar.visible = bool(marks.doing)
        colour, text = ("#b03020" if marks.refused else "#5a6472"), marks.doing or marks.said
        self._word.content = (
            f"<div style='{_SMALL};color:{colour if not marks.doing else '#5a6472'}'>{html.escape(text)}</div>"
        )
        if not marks.doing and self._moved is None:
            self._choose()

    def follow(self) -> None:
        """Ask for a time once its slider has been left alone."""
        if self._moved is not None and time.monotonic() > self._moved[2] + _RESTS:
            name, when, _ = self._moved
            self._moved = None
            self._edit(MoveTime(name, when))

    def _choose(self) -> None:
        view = self._marks.get(self._which.value)
        self._moved, self._when.disabled = None, view is None
        if view is not None:
            self._when.min, self._when.max = round(view.time - HURRY, 2), round(view.time + HURRY, 2)
            self._when.value = round(view.time, 2)

    def _slide(self, value: Any) -> None:
        if self._which.value in self._marks and isinstance(value, int | float):
            if self._moved is None or self._moved[0] != self._which.value:
                self._edit(Prepare(self._which.value))
            self._moved = self._which.value, float(value), time.monotonic()
