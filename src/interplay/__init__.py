"""Interplay: physics-based animation of characters that touch, carry, push, climb on, dodge and help each other."""

import interplay.headless  # noqa: F401 - must come before MuJoCo
from interplay.control.controller import Controller, Demands
from interplay.control.dump import load_dump
from interplay.control.plan import Plan
from interplay.control.state import State
from interplay.errors import ContactError, FallError, InputError, InterplayError, SceneError, SolverError, StateError
from interplay.models.base import Model
from interplay.models.environment import Beam, Platform, Stairs, Wall
from interplay.models.humanoid import Humanoid
from interplay.models.loader import Character
from interplay.models.mechanisms import Door, Lever, Slider, Valve
from interplay.models.objects import Ball, Barbell, Box, Litter, Sword, Table
from interplay.motion import blocks, conditions
from interplay.motion.behaviour import Behaviour, Together
from interplay.motion.controls import Control
from interplay.motion.footsteps import Gait
from interplay.motion.machine import Entry, Machine, Phase
from interplay.motion.targets import Target
from interplay.motion.walk import Walk, Walker
from interplay.objectives.balance import Balance
from interplay.objectives.base import Feature, Objective
from interplay.objectives.com import Com
from interplay.objectives.com_over import ComOver
from interplay.objectives.custom import Custom
from interplay.objectives.force import ContactForce
from interplay.objectives.frame import Frame
from interplay.objectives.gaze import Gaze
from interplay.objectives.joint import JointAngle
from interplay.objectives.line_balance import LineBalance
from interplay.objectives.meet import Meet
from interplay.objectives.momentum import AngularMomentum
from interplay.objectives.path import PosePath
from interplay.objectives.pose import Orientation, Point, Pose, pose_value
from interplay.objectives.posture import Posture
from interplay.objectives.reference import Constant, MinimumJerk, Part, Reference, Sample, TimeFunction
from interplay.objectives.relative import RelativePose
from interplay.scene.scene import GROUND, Scene
from interplay.simulation import Simulation
from interplay.worlds.world import Outcome, World

__version__ = "0.4.0"

__all__ = [
    "GROUND",
    "AngularMomentum",
    "Balance",
    "Ball",
    "Barbell",
    "Beam",
    "Behaviour",
    "Box",
    "Character",
    "Com",
    "ComOver",
    "Constant",
    "ContactError",
    "ContactForce",
    "Control",
    "Controller",
    "Custom",
    "Demands",
    "Door",
    "Entry",
    "FallError",
    "Feature",
    "Frame",
    "Gait",
    "Gaze",
    "Humanoid",
    "InputError",
    "InterplayError",
    "JointAngle",
    "Lever",
    "LineBalance",
    "Litter",
    "Machine",
    "Meet",
    "MinimumJerk",
    "Model",
    "Objective",
    "Orientation",
    "Outcome",
    "Part",
    "Phase",
    "Plan",
    "Platform",
    "Point",
    "Pose",
    "PosePath",
    "Posture",
    "Reference",
    "RelativePose",
    "Sample",
    "Scene",
    "SceneError",
    "Simulation",
    "Slider",
    "SolverError",
    "Stairs",
    "State",
    "StateError",
    "Sword",
    "Table",
    "Target",
    "TimeFunction",
    "Together",
    "Valve",
    "Walk",
    "Walker",
    "Wall",
    "World",
    "blocks",
    "conditions",
    "load_dump",
    "pose_value",
]
