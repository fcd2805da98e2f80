"""The first example of the README: a character opens a door that has no motor of its own."""

import interplay as ip

scene = ip.Scene()
scene.add(ip.Humanoid(height=1.65, mass=58), name="alice")
scene.add(ip.Door(width=0.9), name="door", pos=(0.7, 0, 0))
scene.reach("alice/right_grip", "door/knob_grip")  # initial pose by inverse kinematics
sim = ip.Simulation(scene, dt=0.005)
sim.contacts.add("alice/left_sole", ip.GROUND)
sim.contacts.add("alice/right_sole", ip.GROUND)
sim.contacts.add("alice/right_grip", "door/knob_grip")
sim.objectives += [
    ip.Posture("alice", weight=0.1),
    ip.Com("alice", weight=100),
    ip.JointAngle("door/hinge", 1.2, weight=10),
]
sim.run(seconds=5, progress=True)
print(f"the door stands open by {sim.state.qpos[-2]:.2f} rad; conflicts: {sim.explain() or 'none'}")
