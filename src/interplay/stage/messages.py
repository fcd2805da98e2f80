"""What the stage's two processes say to each other.

The *performer* runs the simulation (or plays a recording) at real time; the *viewer* shows it in browsers and passes on what users
do. The performer sends one :class:`Opening` when a scenario has been set up, then :class:`Moment` s (about 30 a second; a late one
is replaced by the next, so a slow viewer never slows the performer) and :class:`Notice` s. The viewer sends commands. Everything a
command carries has come from a browser: the performer checks it once more, and answers what it cannot use with a notice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from interplay.view.camera import Camera
from interplay.view.fingers import Grip

# -- from the performer ------------------------------------------------------------------------------------------------


class ControlView(NamedTuple):
    """A live control as declared: see :class:`interplay.Control`; bounds may be infinite."""

    name: str
    kind: str
    """scalar, point or pose."""
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    unit: str
    help: str


@dataclass(frozen=True)
class Opening:
    """A scenario that has just been set up."""

    scenario: str
    """Name or title shown to the user."""
    parameters: dict[str, Any]
    dt: float
    """Control step [s]."""
    xml: str
    """The scene, from which the viewer compiles a model of its own for drawing."""
    assets: dict[str, bytes]
    """Mesh files that the scene names."""
    models: tuple[str, ...]
    """Names of the placed models that move, in order."""
    phases: tuple[str, ...]
    interactive: tuple[str, ...]
    """Phases in which things follow the live controls; none: always."""
    controls: tuple[ControlView, ...]
    camera: Camera
    recorded: bool
    """Whether this is a recording: it can be played and scrubbed, but not touched."""
    duration: float | None
    """Length of a recording [s]."""
    balls: tuple[str, ...] = ()
    """What can be thrown: balls, in a world where things bump into each other."""
    frictions: dict[str, float] = field(default_factory=dict)
    """Friction of the models for which it is stated, in such a world."""
    skills: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What characters can be told to do, by their names."""
    composed: str = ""
    """The folder of a composed motion, which can be edited."""


class ObjectiveView(NamedTuple):
    """An objective in force: what it is about, its gains, how far it is from its target."""

    label: str
    """Stable name, by which it can be adjusted (``Objective.label``)."""
    weight: float
    stiffness: float
    damping: float
    level: float
    """Part of the weight in force, 0 to 1: phases hand over smoothly."""
    error: float
    """‖x ⊖ x_ref‖ in the unit of the feature."""
    now: np.ndarray | None
    """Where the thing is (3) [m], for objectives that have a place in the world."""
    goal: np.ndarray | None
    """Where it should be (3) [m]."""


class PullView(NamedTuple):
    """A body held by the user's spring: the held point, where it is pulled to (3) [m], the force (3) [N]."""

    body: str
    point: np.ndarray
    goal: np.ndarray
    force: np.ndarray


class StabilityView(NamedTuple):
    """Where a character's centre of mass may be at rest."""

    outline: np.ndarray
    """Corners of the region (k, 3) [m], at the height of its lowest contact."""
    stable: bool
    """Whether the centre of mass is over it."""


class SkillsView(NamedTuple):
    """A character that is moved by skills: which is active, all bids of the last arbitration, what has followed what how often."""

    who: str
    active: str
    bids: tuple[tuple[str, float, str], ...]
    moves: tuple[tuple[str, str, int], ...]


class Pace(NamedTuple):
    """How fast the simulation runs: milliseconds per step since the last frame, real-time factor over the last second."""

    step_ms: np.ndarray
    factor: float


@dataclass(frozen=True)
class Moment:
    """One moment, with all that overlays and plots show."""

    time: float
    phase: str
    coming: tuple[str, ...]
    """Phases to come, the next first."""
    qpos: np.ndarray
    body_load: np.ndarray
    """Largest |τ|/limit of the joints by which each body hangs on its parent (nbody,), 0 to 1."""
    com: np.ndarray
    """Centres of mass of ``Opening.models`` (n, 3) [m]."""
    contacts: tuple[tuple[str, str], ...]
    """Names of the two surfaces of each contact."""
    contact_pose: np.ndarray
    """Contact frames (c, 7): position and quaternion; z points out of the second into the first."""
    contact_size: np.ndarray
    """Half sizes of the patches along x and y (c, 2) [m]; zero for a grasp or a point."""
    contact_force: np.ndarray
    """Forces ON the first BY the second (c, 3) [N], world axes."""
    contact_normal: np.ndarray
    """Normal forces (c,) [N]; the size of the force for a grasp."""
    grounded: np.ndarray
    """Whether the second surface belongs to the fixed world (c,) bool."""
    grips: tuple[Grip, ...]
    """What hands hold, and how far their fingers are closed around it."""
    pairs: tuple[tuple[str, str], ...]
    """Names of the shapes of the pairs inside their influence distance."""
    pair_points: np.ndarray
    """Their witness points (k, 2, 3) [m]."""
    pair_distance: np.ndarray
    """Distance and security distance (k, 2) [m]."""
    stability: tuple[StabilityView, ...]
    """Of each character that touches something, as of a moment ago; none while nobody looks."""
    objectives: tuple[ObjectiveView, ...]
    relaxed: tuple[str, ...]
    """What had to be relaxed since the last frame."""
    controls: dict[str, np.ndarray]
    """Present values of the smooth references of the live controls."""
    wanted: dict[str, np.ndarray]
    """Where the live controls are asked to be; their references are on the way there."""
    pull: PullView | None
    pace: Pace
    playing: bool
    """Whether time runs."""
    live: bool
    """False while a moment of the past is shown."""
    span: tuple[float, float]
    """First and last moment [s] that can be shown."""
    speed: float
    """Simulated seconds per second that are asked for."""
    ended: str
    """Empty while the scenario goes on; else why it stopped (finished, or what failed)."""
    frictions: dict[str, float] = field(default_factory=dict)
    """The same as they are now."""
    skills: tuple[SkillsView, ...] = ()


class Notice(NamedTuple):
    """Something to tell the user; ``level`` is info, warning or error."""

    level: str
    text: str


class Download(NamedTuple):
    """A file for the browser that asked for it: the live input as targets, or the edited scenario as YAML."""

    client: int
    name: str
    content: bytes


class Played(NamedTuple):
    """What has been played, as the folder of a recording: the answer to a :class:`Fetch` of that number."""

    order: int
    folder: str
    name: str
    """Of the scenario, with the seconds from when to when; good for a file."""
    problem: str = ""
    """Why there is none, in which case the others are empty."""


# -- from the viewer ---------------------------------------------------------------------------------------------------


class Open(NamedTuple):
    """Set up a scenario (one of those the user was offered) from its beginning."""

    scenario: str
    parameters: dict[str, Any] = {}  # noqa: RUF012


class Play(NamedTuple):
    """Let time run; from a moment of the past that is shown, the simulation goes on from there and forgets what came after."""


class Pause(NamedTuple):
    """Stop time."""


class StepOnce(NamedTuple):
    """Advance by one control step and stop."""


class Reset(NamedTuple):
    """Begin again, with the gains as they are now."""


class Seek(NamedTuple):
    """Show a moment of the past, or of a recording."""

    time: float


SLOWEST, FASTEST = 0.05, 2.0
"""Bounds of the speed, simulated seconds per second."""


class Speed(NamedTuple):
    """Run at so many simulated seconds per second, within ``SLOWEST`` and ``FASTEST``."""

    factor: float


class Loop(NamedTuple):
    """Begin recordings again when they come to their end, or not."""

    on: bool


class Stability(NamedTuple):
    """Find out where centres of mass may be at rest, or do not: it takes time, so it is done while somebody looks."""

    on: bool


class SetControl(NamedTuple):
    """Move a live control; clamped and rate-limited by the control itself."""

    name: str
    value: tuple[float, ...]


class Pull(NamedTuple):
    """Hold a body at a point (in its own frame) by a spring and pull it to a place in the world."""

    body: str
    local: tuple[float, float, float]
    goal: tuple[float, float, float]


class LetGo(NamedTuple):
    """Take the spring away."""


class Push(NamedTuple):
    """Push a body with an impulse [N·s], world axes, at a point in its own frame."""

    body: str
    local: tuple[float, float, float]
    impulse: tuple[float, float, float]


LIGHTEST_BALL, HEAVIEST_BALL, FASTEST_BALL = 0.05, 20.0, 30.0
"""Masses [kg] and speed [m/s] of balls that a user throws."""


class Throw(NamedTuple):
    """Throw a ball of some mass [kg] from a place [m] with a velocity [m/s]."""

    ball: str
    mass: float
    position: tuple[float, float, float]
    velocity: tuple[float, float, float]


class SetFriction(NamedTuple):
    """Change the friction of a model."""

    model: str
    friction: float


class Tell(NamedTuple):
    """Tell a character which of its skills to use."""

    who: str
    skill: str


class Adjust(NamedTuple):
    """Change gains of an objective by its label, in all phases; None leaves a gain as it is."""

    objective: str
    weight: float | None = None
    stiffness: float | None = None
    damping: float | None = None


class Swap(NamedTuple):
    """Play what has become of a composed motion, from its folder; the viewer's editor asks for it, no browser can."""

    folder: str


class Save(NamedTuple):
    """Ask for a :class:`Download`: ``what`` is targets (CSV) or scenario (YAML)."""

    client: int
    what: str


class Fetch(NamedTuple):
    """Ask for what has been :class:`Played`; of a live performance it is copied into a folder, as that goes on."""

    order: int
    folder: str


class Close(NamedTuple):
    """End the process."""


Command = (
    Open
    | Play
    | Pause
    | StepOnce
    | Reset
    | Seek
    | Speed
    | Loop
    | Stability
    | SetControl
    | Tell
    | Pull
    | LetGo
    | Push
    | Throw
    | SetFriction
    | Adjust
    | Swap
    | Save
    | Fetch
    | Close
)
