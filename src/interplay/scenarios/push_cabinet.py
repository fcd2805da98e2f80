"""PushCabinet: two hands of an operator show that a cabinet is to be pushed; she steps up, leans, presses and pushes (liu2012, VI.A)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

import interplay as ip
from interplay import figure
from interplay import scenario as base

if TYPE_CHECKING:
    import mujoco
    from matplotlib.axes import Axes

_READY = {"shoulder_flexion": 0.3, "elbow_flexion": 1.9, "shoulder_abduction": 0.15}
"""Her arms [rad]."""


class PushCabinet(base.Scenario):
    """Pushing by force control."""

    name: ClassVar[str] = "push_cabinet"
    summary: ClassVar[str] = "an operator's two hands show her to push a cabinet; she steps up, leans and pushes"
    world: ClassVar[str | None] = "simulated"
    controller: ClassVar[str] = "force"
    longest_dt: ClassVar[float] = 0.01
    camera: ClassVar[base.Camera] = base.Camera(lookat=(0.6, 0, 0.8), distance=4.0, azimuth=100)

    class Parameters(base.Parameters):
        """The cabinet, and what the operator does."""

        mass: float = Field(40.0, ge=1, le=200, description="mass of the cabinet [kg]")
        friction: float = Field(0.1, ge=0.02, le=1, description="between the cabinet and what it touches")
        depth: float = Field(0.8, ge=0.2, le=2, description="of the cabinet [m]; a shallow one tips")
        step: float = Field(0.25, ge=0, le=0.4, description="how far she steps ahead while she approaches [m]; 0: not")
        leans: bool = Field(True, description="whether her centre of mass goes where the hands' forces want it")
        push: float = Field(0.45, ge=0, le=1, description="how far the operator's hands go on where the cabinet is [m]")
        speed: float = Field(0.1, ge=0.01, le=1, description="of these hands [m/s]")
        tremor: float = Field(0.0, ge=0, le=0.03, description="of the operator's hands, root mean square [m]")
        dropouts: float = Field(0.0, ge=0, le=2, description="how often a second nothing is heard of them for a while")
        height: float = Field(1.25, ge=0.8, le=1.6, description="of these hands [m]")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place her before the cabinet."""
        arms = {f"{side}_{joint}": angle for side in ("left", "right") for joint, angle in _READY.items()}
        scene = self.add_character(ip.Scene(), "ann", ip.Humanoid(1.74, 68, "female"), posture=arms)
        k = self.scale(1.74)
        cabinet = ip.Box((self.p.depth, 0.9, 1.6), self.p.mass, color=(0.62, 0.5, 0.36))
        return scene.add(cabinet, "cabinet", pos=(0.8 * k + 0.5 * self.p.depth, 0), friction=self.p.friction)

    def start(self, sim: ip.Simulation) -> None:
        """Let an operator's hands lead hers."""
        for side in ("left", "right"):
            sim.contacts.add(f"ann/{side}_sole", ip.GROUND, friction=1.0)
        hands = ip.operator_hands(sim, "ann", (-0.5, -1.0, 0.3), (3.0, 1.0, 2.0))
        sim.behaviour = ip.Operated("ann", ["cabinet"], hands, leans=self.p.leans, step=self.p.step)
        k = self.scale(1.74)
        face, seconds, high = 0.8 * k, self.p.push / self.p.speed, k * self.p.height

        def at(time: float, x: float) -> ip.Waypoint:
            return ip.Waypoint(time, (x, 0.0, high), 0.0, 0.2 * k)

        on = face + self.p.push
        ways = [
            at(1.5, face - 0.12),
            at(4.0, face - 0.12),
            at(4.0 + 0.12 / self.p.speed, face),
            at(4.0 + 0.12 / self.p.speed + seconds, on),
        ]
        last = ways[-1].time
        ways += [at(last + 1.0, on), at(last + 3.0, face - 0.3)]
        ip.lead_hands(
            sim,
            "ann",
            ways,
            fingers=(0, 0, 1),
            facing=(1, 0, 0),
            manner=ip.OperatorManner(self.p.tremor, self.p.dropouts),
        )

    def figures(self, out: Path) -> None:
        """Draw what hands press with and how the cabinet moves, and her centre of mass against her feet (Fig. 5)."""
        recording = ip.Recording(out)

        def pushed(axis: Axes, m: mujoco.MjModel) -> None:
            cabinet, time = m.body("cabinet/box").id, recording["time"]
            hands = {m.body(f"ann/{side}_hand").id for side in ("left", "right")}
            axis.plot(time, -figure.pressed(recording, hands, {cabinet})[:, 0], color="C0", lw=0.8, label="hands")
            holds = self.p.friction * self.p.mass * 9.81
            axis.axhline(holds, color="C0", ls=":", label="what friction holds")
            axis.set_ylabel("pushed with [N]")
            other = axis.twinx()
            place = recording["qpos"][:, m.jnt_qposadr[m.body_jntadr[cabinet]]]
            other.plot(time, 100 * (place - place[0]), color="C1", label="the cabinet")
            other.set_ylabel("the cabinet has moved [cm]")
            lines = [line for one in (axis, other) for line in one.get_lines()]
            axis.legend(lines, [str(line.get_label()) for line in lines], loc="upper left")

        figure.draw_balance(recording, out / "push.png", "ann", pushed)
