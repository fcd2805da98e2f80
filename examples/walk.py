"""A walk: a character walks a curve; the run is recorded and drawn as a film strip under out/walk."""

from pathlib import Path

import interplay as ip

scene = ip.Scene().add(ip.Humanoid(1.70, 65, "female"), "ann")
sim = ip.Simulation(scene)
for side in ("left", "right"):
    sim.contacts.add(f"ann/{side}_sole", ip.GROUND, friction=1.0)
sim.objectives += [ip.Posture("ann", weight=0.05), ip.AngularMomentum("ann", weight=0.002)]
gait = ip.Gait(stride=0.4, turn=0.12, arm_swing=0.35)
sim.behaviour = ip.Machine([*ip.Walk("walk", "ann", 8, gait).phases(), ip.blocks.hold("rest", 0.5, balance=("ann",))])

out = Path("out/walk")
scene.save(out / "scene.xml")
recorder = ip.Recorder(out / "recording", sim, {"scenario": "walk"})
sim.observers.append(recorder)
while not sim.behaviour.done:
    sim.step()
recorder.close()
camera = ip.Camera(lookat=(0, 0, 0.85), distance=2.8, azimuth=120, follow="ann/pelvis")
print("written:", *ip.export(out, out / "strip.png", camera=camera, columns=6))
