"""Interplay: physics-based animation of characters that touch, carry, push, climb on, dodge and help each other."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import interplay.startup  # noqa: F401 - must come before MuJoCo and NumPy
from interplay.constraints.base import GivesWay, Limit, LimitRows
from interplay.constraints.contact import Contact
from interplay.constraints.speed import SpeedLimit
from interplay.constraints.stability import StabilityRegion
from interplay.constraints.within import KeepWithin
from interplay.control.controller import Controller, Demands
from interplay.control.dump import load_dump
from interplay.control.plan import Plan, Servo
from interplay.control.state import State, Touching
from interplay.errors import ContactError, FallError, InputError, InterplayError, SceneError, SolverError, StateError
from interplay.handling.operated import Operated
from interplay.handling.operator import Manner as OperatorManner
from interplay.handling.operator import Waypoint, lead_hands, operator_hands
from interplay.io.arrays import write_recording
from interplay.io.recorder import Recorder
from interplay.io.recording import Recording
from interplay.models.base import Model
from interplay.models.environment import Beam, Platform, Stairs, Wall
from interplay.models.humanoid import Humanoid
from interplay.models.loader import BodyFile
from interplay.models.mechanisms import Door, DropLeaf, Lever, MovingPlatform, Slider, Valve
from interplay.models.objects import Ball, Barbell, Box, Litter, Sword, Table
from interplay.motion import blocks, conditions
from interplay.motion.behaviour import Behaviour, Together
from interplay.motion.clip import Clip, Touch
from interplay.motion.controls import Control
from interplay.motion.footsteps import Gait
from interplay.motion.machine import Entry, Machine, Phase
from interplay.motion.recovery import Recovery
from interplay.motion.targets import Target
from interplay.motion.walk import Walk, Walker
from interplay.objectives.balance import Balance
from interplay.objectives.base import Feature, Objective
from interplay.objectives.com import Com
from interplay.objectives.com_over import ComOver
from interplay.objectives.custom import Custom
from interplay.objectives.force import ContactForce
from interplay.objectives.gaze import Gaze
from interplay.objectives.handling import Handling
from interplay.objectives.joint import JointAngle
from interplay.objectives.line_balance import LineBalance
from interplay.objectives.loose import Loose
from interplay.objectives.meet import Meet
from interplay.objectives.momentum import AngularMomentum
from interplay.objectives.path import PosePath
from interplay.objectives.pose import Orientation, Point, Pose, pose_value
from interplay.objectives.posture import Posture
from interplay.objectives.reference import Constant, MinimumJerk, Part, Reference, Sample, TimeFunction
from interplay.objectives.relative import RelativePose
from interplay.objectives.track import Playback, Track, TrackFrame, track
from interplay.scene.frame import Frame
from interplay.scene.scene import GROUND, Scene
from interplay.simulation import Simulation
from interplay.skills.learned import Learned
from interplay.skills.repertoire import repertoire
from interplay.skills.sensing import Sensed
from interplay.skills.skill import Bid, Skill
from interplay.skills.supervisor import Supervisor
from interplay.view.camera import Camera
from interplay.worlds.world import Outcome, World

if TYPE_CHECKING:
    from interplay.io.clips.importing import import_files
    from interplay.io.clips.recorded import clip_from_recording
    from interplay.io.export import export
    from interplay.runs.run import run

__version__ = "0.5.0"

__all__ = [
    "GROUND",
    "AngularMomentum",
    "Balance",
    "Ball",
    "Barbell",
    "Beam",
    "Behaviour",
    "Bid",
    "BodyFile",
    "Box",
    "Camera",
    "Clip",
    "Com",
    "ComOver",
    "Constant",
    "Contact",
    "ContactError",
    "ContactForce",
    "Control",
    "Controller",
    "Custom",
    "Demands",
    "Door",
    "DropLeaf",
    "Entry",
    "FallError",
    "Feature",
    "Frame",
    "Gait",
    "Gaze",
    "GivesWay",
    "Handling",
    "Humanoid",
    "InputError",
    "InterplayError",
    "JointAngle",
    "KeepWithin",
    "Learned",
    "Lever",
    "Limit",
    "LimitRows",
    "LineBalance",
    "Litter",
    "Loose",
    "Machine",
    "Meet",
    "MinimumJerk",
    "Model",
    "MovingPlatform",
    "Objective",
    "Operated",
    "OperatorManner",
    "Orientation",
    "Outcome",
    "Part",
    "Phase",
    "Plan",
    "Platform",
    "Playback",
    "Point",
    "Pose",
    "PosePath",
    "Posture",
    "Recorder",
    "Recording",
    "Recovery",
    "Reference",
    "RelativePose",
    "Sample",
    "Scene",
    "SceneError",
    "Sensed",
    "Servo",
    "Simulation",
    "Skill",
    "Slider",
    "SolverError",
    "SpeedLimit",
    "StabilityRegion",
    "Stairs",
    "State",
    "StateError",
    "Supervisor",
    "Sword",
    "Table",
    "Target",
    "TimeFunction",
    "Together",
    "Touch",
    "Touching",
    "Track",
    "TrackFrame",
    "Valve",
    "Walk",
    "Walker",
    "Wall",
    "Waypoint",
    "World",
    "blocks",
    "clip_from_recording",
    "conditions",
    "export",
    "import_files",
    "lead_hands",
    "load_dump",
    "operator_hands",
    "pose_value",
    "repertoire",
    "run",
    "track",
    "write_recording",
]

_WHEN_ASKED_FOR = {
    "run": "interplay.runs.run",
    "export": "interplay.io.export",
    "import_files": "interplay.io.clips.importing",
    "clip_from_recording": "interplay.io.clips.recorded",
    "compose": "interplay.spacetime.words",
    "Editing": "interplay.spacetime.editing",
}
"""What stands above the rest and needs time to load: pages, pictures, all scenarios."""


def __getattr__(name: str) -> Any:
    """Load what is seldom needed when it is asked for."""
    if name not in _WHEN_ASKED_FOR:
        raise AttributeError(f"module 'interplay' has no attribute {name!r}")
    try:
        return getattr(import_module(_WHEN_ASKED_FOR[name]), name)
    except ModuleNotFoundError as error:
        if error.name != "casadi":
            raise
        raise InputError(f"{name}: CasADi is missing; install it with: pip install 'interplay[spacetime]'") from None
