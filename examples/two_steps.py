"""Building blocks: a character takes two steps; the run is recorded and drawn as a film strip under out/two_steps."""

from pathlib import Path

import interplay as ip
from interplay.io.export import export
from interplay.io.recording import Recorder

scene = ip.Scene().add(ip.Humanoid(1.70, 65, "female"), "ann")
sim = ip.Simulation(scene)
for side in ("left", "right"):
    sim.contacts.add(f"ann/{side}_sole", ip.GROUND, friction=1.0)
sim.objectives += [ip.Posture("ann", weight=0.2), ip.AngularMomentum("ann")]
sim.objectives += [ip.Orientation(f"ann/{part}", weight=5) for part in ("pelvis", "chest")]
place = {s: sim.terms.site_xpos[scene.site(f"ann/{s}_sole")].copy() for s in ("left", "right")}
sim.machine = ip.Machine(
    [
        *ip.blocks.step("first step", "ann", "right", place["right"] + [0.25, 0, 0]),
        *ip.blocks.step("second step", "ann", "left", place["left"] + [0.25, 0, 0]),
        ip.blocks.hold("rest", 0.5, balance=("ann",)),
    ]
)

out = Path("out/two_steps")
scene.save(out / "scene.xml")
recorder = Recorder(out / "recording", sim, {"scenario": "two steps", "dt": sim.dt, "parameters": {}})
sim.observers.append(recorder)
while not sim.machine.done:
    sim.step()
recorder.close()
print("written:", export(out, out / "strip.png"))
